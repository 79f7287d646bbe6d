"""The receive buffer of one connection: bytes in, whole frames out.

Format of a frame:

| field | type | meaning |
| --- | --- | --- |
| size | int32, big-endian | bytes that follow; 0 .. socket.request.max.bytes |
| payload | bytes | request header and body |

Invariants:

- The buffer never holds more memory than twice what has arrived, whatever size a frame claims. From 1 MiB on it is a
  mapping as long as the frame, so that no byte is copied again while the rest arrives: a mapping takes memory where it
  was written, and `space` gives no more of it than that factor allows.
- It grows beyond its first size only as far as the receive memory that all share allows.
- A frame is a writable view into the buffer and is valid until the next call of `space`: copy what must outlive that,
  or let the frame have the buffer (`hand_over`).

Source: protocol guide, common request and response structure; design page, network layer.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from barnabas.broker.net.memory import ReceiveMemory
from barnabas.core.errors import ProtocolError

if TYPE_CHECKING:
    import mmap

# differs from Kafka (receive-buffer): it allocates what a frame claims before that has arrived.
FIRST_BUFFER_BYTES: Final = 16 * 1024
# Up to here the buffer also grows when a single receive fills it: larger reads, fewer system calls.
READ_AHEAD_BYTES: Final = 256 * 1024
# A larger buffer is given back once it is empty; up to here it is kept for the next frame.
KEPT_BUFFER_BYTES: Final = 4 * 1024 * 1024
_LEAST_SPACE_BYTES: Final = 4 * 1024
# Up to here growing copies what has arrived: a fraction of a millisecond.
COPIED_BUFFER_BYTES: Final = 1024 * 1024

# How a TLS handshake begins: its record type and version, then the length's first byte.
_TLS_HELLOS: Final = (0x160301, 0x160302, 0x160303)

_SIZE: Final = Struct(">i").unpack_from


class ReceiveBuffer:
    """Collects what a socket receives and cuts it into frames. Pure: it never touches a socket.

    Attributes:
        start, end: Where what was received and not yet handed out as frames lies in the buffer; for looking at alone.
        max_frame_bytes: As given; may change between frames.
    """

    __slots__ = ("_buffer", "_capacity", "_memory", "_view", "end", "extra_bytes", "max_frame_bytes", "start")

    _buffer: "bytearray | mmap.mmap"

    def __init__(self, max_frame_bytes: int, memory: ReceiveMemory) -> None:
        """Args:
        max_frame_bytes: `socket.request.max.bytes`; a larger size is a protocol error.
        memory: Told of every byte beyond the first size.
        """
        self.max_frame_bytes = max_frame_bytes
        self._memory = memory
        self.start = self.end = 0
        self.extra_bytes = 0
        # Who never says anything holds no memory.
        self._capacity = 0
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)

    def _allocate(self, capacity: int) -> None:
        self._buffer = bytearray(capacity) if capacity <= COPIED_BUFFER_BYTES else self._mapping(capacity)
        self._use(capacity)

    def _mapping(self, capacity: int) -> "bytearray | mmap.mmap":
        """Memory for so many bytes, and addresses for the whole of the first frame."""
        # Here: small requests do without it.
        import mmap

        try:
            # A little more, or its last bytes would seem too little room to receive into.
            length = max(capacity, self._first_frame_bytes + FIRST_BUFFER_BYTES)
            return mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            # Where the system counts addresses as memory: then growing copies.
            return bytearray(capacity)

    def _use(self, capacity: int) -> None:
        """Let so many bytes of the buffer be written."""
        self._view = memoryview(self._buffer)[:capacity]
        self._capacity = capacity
        change = capacity - FIRST_BUFFER_BYTES - self.extra_bytes
        if change:
            self.extra_bytes += change
            self._memory.resized(change)

    @property
    def buffered_bytes(self) -> int:
        """Bytes received and not yet handed out as frames."""
        return self.end - self.start

    @property
    def capacity_bytes(self) -> int:
        """Bytes the buffer holds at the moment; `extra_bytes` of them beyond its first size."""
        return self._capacity

    @property
    def lacking_bytes(self) -> int:
        """The bytes that the buffer must grow by to go on with its first frame; 0: the frame is whole, or fits.

        At most as much as has arrived already, and no more than the frame needs.
        """
        return max(0, min(self._first_frame_bytes, 2 * self._capacity) - self._capacity)

    @property
    def _first_frame_bytes(self) -> int:
        """The first frame's bytes of a buffer; 0 where that is not known yet, or too much."""
        if self.end - self.start < 4:
            return 0
        size: int = _SIZE(self._view, self.start)[0]
        return -(-(4 + size) // FIRST_BUFFER_BYTES) * FIRST_BUFFER_BYTES if size <= self.max_frame_bytes else 0

    def space(self) -> memoryview:
        """Return the space for the next received bytes. Frames handed out before are void after this call.

        Returns:
            Empty where the buffer is full and there is no memory to spare: then either whole frames have to be taken
            out first, or the first frame is a half one, and `grow` makes room for `lacking_bytes` more of it.
        """
        if self.start == self.end:
            self.start = self.end = 0
            if self._capacity > KEPT_BUFFER_BYTES:
                self._allocate(READ_AHEAD_BYTES)
            elif not self._capacity:
                # It is the first time, or it rested.
                self._allocate(FIRST_BUFFER_BYTES)
            return self._view
        if self._capacity - self.end < _LEAST_SPACE_BYTES:
            self._make_room()
        return self._view[self.end :]

    def received(self, count: int) -> None:
        """Note that `count` bytes were written into `space()`."""
        self.end += count
        if self.end == self._capacity and self.start == 0 and self._capacity < READ_AHEAD_BYTES:
            self._spread()

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size field, or None until more bytes arrive.

        Raises:
            ProtocolError: The size is negative or above the limit.
        """
        start = self.start
        available = self.end - start
        if available < 4:
            return None
        (size,) = _SIZE(self._buffer, start)
        if size < 0 or size > self.max_frame_bytes:
            if size >> 8 in _TLS_HELLOS:
                raise ProtocolError("it speaks TLS, and this listener does not")
            raise ProtocolError(
                f"a frame of {size} bytes, and {self.max_frame_bytes} is the most "
                "(socket.request.max.bytes; before a login sasl.server.max.receive.size)"
            )
        end = start + 4 + size
        if end > self.end:
            if end > self._capacity and start and 4 + size <= self._capacity:
                # It will not fit behind what was read: move it while little of it has arrived.
                self._move(self._capacity)
            return None
        self.start = end
        return self._view[start + 4 : end]

    def part(self) -> tuple[memoryview, int]:
        """Return what there is of an incomplete frame, without its size field, and the frame's size."""
        return self._view[self.start + 4 : self.end], _SIZE(self._view, self.start)[0]

    def put_back(self, frame: memoryview) -> None:
        """Hand the frame that was handed out last out once more."""
        self.start -= 4 + len(frame)

    def grow(self) -> None:
        """Take what is lacking: the receive memory allows it."""
        self._move(self._capacity + self.lacking_bytes)

    def fit(self) -> None:
        """Give back what the bytes that wait do not need."""
        unread = self.end - self.start
        capacity = -(-max(unread, 1) // FIRST_BUFFER_BYTES) * FIRST_BUFFER_BYTES
        if capacity < self._capacity:
            self._move(capacity)

    def hand_over(self) -> int:
        """Leave the buffer to the frames that were handed out, and go on in a new one.

        Returns:
            How much of the receive memory it took, which now is the new owner's to give back.

        Raises:
            MemoryError: There is none for a new one; nothing has changed.
        """
        unread = self._view[self.start : self.end]
        capacity = -(-max(len(unread), 1) // FIRST_BUFFER_BYTES) * FIRST_BUFFER_BYTES
        buffer = bytearray(capacity)
        buffer[: len(unread)] = unread
        handed_over_bytes, self.extra_bytes = self.extra_bytes, capacity - FIRST_BUFFER_BYTES
        self._buffer, self._view, self._capacity = buffer, memoryview(buffer), capacity
        self.start, self.end = 0, len(unread)
        if self.extra_bytes:
            self._memory.resized(self.extra_bytes)
        return handed_over_bytes

    def spread(self) -> bool:
        """Make room for more than `READ_AHEAD_BYTES` while nothing is taken out; whether there was memory to spare."""
        return 0 < self._capacity < KEPT_BUFFER_BYTES and self._spread()

    def move_to(self, memory: ReceiveMemory) -> None:
        """Have another receive memory count what the buffer takes."""
        self._memory.resized(-self.extra_bytes)
        memory.resized(self.extra_bytes)
        self._memory = memory

    def rest(self) -> bool:
        """Hold no memory until `space` is asked for again; whether that was possible: nothing waits in it.

        Frames that were handed out stay valid.
        """
        if self.start != self.end or not self._capacity:
            return False
        self.free()
        return True

    def free(self) -> None:
        """Give back everything."""
        self.start = self.end = self._capacity = 0
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        extra_bytes, self.extra_bytes = self.extra_bytes, 0
        if extra_bytes:
            self._memory.resized(-extra_bytes)

    def _make_room(self) -> None:
        """Move what is unread to the front; into a buffer twice as large where it fills more than half of this one."""
        if self.end - self.start <= self._capacity // 2:
            self._move(self._capacity)
        elif not self._spread() and self.start and not self.lacking_bytes:
            # Every byte counts now, also where they cost more moves.
            self._move(self._capacity)

    def _spread(self) -> bool:
        """Double the buffer, or use the whole of its mapping, if there is memory to spare; whether there was."""
        capacity, length = self._capacity, len(self._buffer)
        more_bytes = min(capacity, length - capacity) if length > capacity else capacity
        is_spare = self._memory.may_spare(more_bytes)
        if is_spare:
            self._move(capacity + more_bytes)
        return is_spare

    def _move(self, capacity: int) -> None:
        unread = self._view[self.start : self.end]
        if self._capacity < capacity <= len(self._buffer):
            self._use(capacity)
        elif capacity != self._capacity:
            # Replaced, not resized: views of the old one may still be alive.
            self._allocate(capacity)
        # The two may overlap: memoryview copies as memmove does. To where it stands already it would copy, too.
        if self.start or unread.obj is not self._buffer:
            self._view[: len(unread)] = unread
        self.start, self.end = 0, len(unread)
