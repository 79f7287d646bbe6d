"""The receive buffer of one connection: bytes in, whole frames out.

Format of a frame:

| field | type | meaning |
| --- | --- | --- |
| size | int32, big-endian | bytes that follow; 0 .. socket.request.max.bytes |
| payload | bytes | request header and body |

Invariants:

- The buffer takes at most twice the memory of the data that has arrived, whatever size a frame claims. From 1 MiB on it
  is a memory mapping as long as the frame, so that no byte is copied again while the rest arrives. A mapping only takes
  memory where it was written, and `space` exposes no more of it than that factor allows.
- It grows beyond its first size only as far as the shared receive memory allows.
- A frame is a writable view into the buffer, valid until the next call of `space`. To use it longer, copy it, or
  transfer the buffer to it (`hand_over`).

Source: protocol guide, common request and response structure; design page, network layer.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from barnabas.broker.net.memory import ReceiveMemory
from barnabas.core.errors import ProtocolError

if TYPE_CHECKING:
    import mmap

# differs from Kafka (receive-buffer): Kafka allocates a frame's claimed size before the frame has arrived.
FIRST_BUFFER_BYTES: Final = 16 * 1024
# Up to this size the buffer also grows when a single receive fills it: larger reads, fewer system calls.
READ_AHEAD_BYTES: Final = 256 * 1024
# A larger buffer is released once it is empty; a smaller one is kept for the next frame.
KEPT_BUFFER_BYTES: Final = 4 * 1024 * 1024
_LEAST_SPACE_BYTES: Final = 4 * 1024
# Up to this size growing copies the received data: a fraction of a millisecond.
COPIED_BUFFER_BYTES: Final = 1024 * 1024

# The first bytes of a TLS handshake: record type and version, then the first byte of the length.
_TLS_HELLOS: Final = (0x160301, 0x160302, 0x160303)

_SIZE: Final = Struct(">i").unpack_from


class ReceiveBuffer:
    """Collects received bytes and splits them into frames. Pure: it never touches a socket.

    Attributes:
        start, end: Position in the buffer of bytes received and not yet handed out; read-only.
        max_frame_bytes: As given; may change between frames.
    """

    __slots__ = ("_buffer", "_capacity", "_memory", "_view", "end", "extra_bytes", "max_frame_bytes", "start")

    _buffer: "bytearray | mmap.mmap"

    def __init__(self, max_frame_bytes: int, memory: ReceiveMemory) -> None:
        """Args:
        max_frame_bytes: `socket.request.max.bytes`; a larger size is a protocol error.
        memory: Told of each change in the bytes beyond the first size.
        """
        self.max_frame_bytes = max_frame_bytes
        self._memory = memory
        self.start = self.end = 0
        self.extra_bytes = 0
        # A peer that never sends data takes no memory.
        self._capacity = 0
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)

    def _allocate(self, capacity: int) -> None:
        self._buffer = bytearray(capacity) if capacity <= COPIED_BUFFER_BYTES else self._mapping(capacity)
        self._use(capacity)

    def _mapping(self, capacity: int) -> "bytearray | mmap.mmap":
        """Return `capacity` bytes of memory, with address space for the whole first frame."""
        # Imported here: small requests do not need it.
        import mmap

        try:
            # Longer than the frame: otherwise its last bytes would be less than `_LEAST_SPACE_BYTES`.
            length = max(capacity, self._first_frame_bytes + FIRST_BUFFER_BYTES)
            return mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            # The system counts address space as memory: use a buffer that is copied to grow.
            return bytearray(capacity)

    def _use(self, capacity: int) -> None:
        """Make the first `capacity` bytes of the buffer writable."""
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
    def has_whole_frame(self) -> bool:
        """Whether `next_frame` returns a frame, or refuses its size."""
        received = self.end - self.start
        return received >= 4 and 4 + int(_SIZE(self._view, self.start)[0]) <= received

    @property
    def capacity_bytes(self) -> int:
        """Current size of the buffer in bytes; `extra_bytes` of them beyond its first size."""
        return self._capacity

    @property
    def lacking_bytes(self) -> int:
        """The bytes by which the buffer must grow for its first frame; 0: the frame is complete, or fits.

        At most the current size, and no more than the frame needs.
        """
        return max(0, min(self._first_frame_bytes, 2 * self._capacity) - self._capacity)

    @property
    def _first_frame_bytes(self) -> int:
        """The size of the first frame in the buffer; 0 if unknown or above the limit."""
        if self.end - self.start < 4:
            return 0
        size: int = _SIZE(self._view, self.start)[0]
        return -(-(4 + size) // FIRST_BUFFER_BYTES) * FIRST_BUFFER_BYTES if size <= self.max_frame_bytes else 0

    def space(self) -> memoryview:
        """Return the space for the next received bytes. Frames handed out earlier become invalid.

        Returns:
            Empty if the buffer is full and no memory can be spared. Then either take out the complete frames first, or,
            if the first frame is incomplete, call `grow` for `lacking_bytes` more.
        """
        if self.start == self.end:
            self.start = self.end = 0
            if self._capacity > KEPT_BUFFER_BYTES:
                self._allocate(READ_AHEAD_BYTES)
            elif not self._capacity:
                # First use, or the buffer was released by `rest`.
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
        """Return the next complete frame without its size field, or None until more bytes arrive.

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
                # It does not fit at this position: move it while few of its bytes have arrived.
                self._move(self._capacity)
            return None
        self.start = end
        return self._view[start + 4 : end]

    def part(self) -> tuple[memoryview, int]:
        """Return the received part of an incomplete frame, without its size field, and the frame's size."""
        return self._view[self.start + 4 : self.end], _SIZE(self._view, self.start)[0]

    def put_back(self, frame: memoryview) -> None:
        """Put back the frame that was handed out last, to be handed out again."""
        self.start -= 4 + len(frame)

    def grow(self) -> None:
        """Grow by `lacking_bytes`. Call it only if the receive memory allows it."""
        self._move(self._capacity + self.lacking_bytes)

    def fit(self) -> None:
        """Shrink the buffer to the unread bytes."""
        unread = self.end - self.start
        capacity = -(-max(unread, 1) // FIRST_BUFFER_BYTES) * FIRST_BUFFER_BYTES
        if capacity < self._capacity:
            self._move(capacity)

    def hand_over(self) -> int:
        """Transfer the buffer to the frames handed out, and continue with a new one.

        Returns:
            The extra bytes of the old buffer in the receive memory, which the new owner must release.

        Raises:
            MemoryError: There is no memory for a new buffer; nothing has changed.
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
        """Grow beyond `READ_AHEAD_BYTES` while no frame is taken out; return whether memory could be spared."""
        return 0 < self._capacity < KEPT_BUFFER_BYTES and self._spread()

    def move_to(self, memory: ReceiveMemory) -> None:
        """Count the buffer in another receive memory."""
        self._memory.resized(-self.extra_bytes)
        memory.resized(self.extra_bytes)
        self._memory = memory

    def rest(self) -> bool:
        """Release the buffer until the next `space`; return whether it was released: not if it contains unread bytes.

        Frames that were handed out stay valid.
        """
        if self.start != self.end or not self._capacity:
            return False
        self.free()
        return True

    def free(self) -> None:
        """Release all memory."""
        self.start = self.end = self._capacity = 0
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        extra_bytes, self.extra_bytes = self.extra_bytes, 0
        if extra_bytes:
            self._memory.resized(-extra_bytes)

    def _make_room(self) -> None:
        """Move unread bytes to the front, into a buffer of twice the size if they fill more than half of this one."""
        if self.end - self.start <= self._capacity // 2:
            self._move(self._capacity)
        elif not self._spread() and self.start and not self.lacking_bytes:
            # Memory is short: use every byte, even at the cost of more moves.
            self._move(self._capacity)

    def _spread(self) -> bool:
        """Double the buffer, or use the rest of its mapping, if memory can be spared; return whether it could."""
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
            # Replaced, not resized: views of the old one may still exist.
            self._allocate(capacity)
        # Source and target may overlap: memoryview copies like memmove. A copy onto the same bytes is skipped.
        if self.start or unread.obj is not self._buffer:
            self._view[: len(unread)] = unread
        self.start, self.end = 0, len(unread)
