"""The receive buffer of one connection: bytes in, whole frames out.

Format of a frame:

| field | type | meaning |
| --- | --- | --- |
| size | int32, big-endian | bytes that follow; 0 .. socket.request.max.bytes |
| payload | bytes | request header and body |

Invariants: the buffer never grows beyond what has arrived by more than a factor of two, whatever size a frame claims.
A frame is a writable view into the buffer and is valid until the next call of `space`: what outlives that, copies.

Source: protocol guide, common request and response structure; design page, network layer.
"""

from struct import Struct

from barnabas.core.errors import ProtocolError

FIRST_BUFFER_BYTES = 16 * 1024
# Up to here the buffer also grows when a single receive fills it: larger reads, fewer system calls.
READ_AHEAD_BYTES = 256 * 1024
# A larger buffer is given back once it is empty; up to here it is kept for the next frame.
KEPT_BUFFER_BYTES = 4 * 1024 * 1024
_LEAST_SPACE_BYTES = 4 * 1024

_SIZE = Struct(">i").unpack_from


class ReceiveBuffer:
    """Collects what a socket receives and cuts it into frames. Pure: it never touches a socket."""

    __slots__ = ("_buffer", "_capacity", "_end", "_max_frame_bytes", "_start", "_view")

    def __init__(self, max_frame_bytes: int) -> None:
        """Args:
        max_frame_bytes: `socket.request.max.bytes`; a larger size is a protocol error.
        """
        self._max_frame_bytes = max_frame_bytes
        self._start = self._end = 0
        self._allocate(FIRST_BUFFER_BYTES)

    def _allocate(self, capacity: int) -> None:
        self._buffer = bytearray(capacity)
        self._view = memoryview(self._buffer)
        self._capacity = capacity

    @property
    def buffered_bytes(self) -> int:
        """Bytes received and not yet handed out as frames."""
        return self._end - self._start

    @property
    def capacity_bytes(self) -> int:
        """Bytes the buffer holds at the moment."""
        return self._capacity

    def space(self) -> memoryview:
        """Where the next received bytes go; never empty. Frames handed out before are void after this call."""
        if self._start == self._end:
            self._start = self._end = 0
            if self._capacity > KEPT_BUFFER_BYTES:
                self._allocate(READ_AHEAD_BYTES)
        elif self._capacity - self._end < _LEAST_SPACE_BYTES:
            self._make_room()
        return self._view[self._end :]

    def received(self, count: int) -> None:
        """Note that `count` bytes were written into `space()`."""
        self._end += count
        if self._end == self._capacity and self._start == 0 and self._capacity < READ_AHEAD_BYTES:
            self._move(2 * self._capacity)

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size field, or None until more bytes arrive.

        Raises:
            ProtocolError: The size is negative or above the limit.
        """
        start = self._start
        available = self._end - start
        if available < 4:
            return None
        (size,) = _SIZE(self._buffer, start)
        if size < 0 or size > self._max_frame_bytes:
            raise ProtocolError(f"a frame of {size} bytes (socket.request.max.bytes is {self._max_frame_bytes})")
        end = start + 4 + size
        if end > self._end:
            if end > self._capacity and start and 4 + size <= self._capacity:
                # It will not fit behind what was read: move it while little of it has arrived.
                self._move(self._capacity)
            return None
        self._start = end
        return self._view[start + 4 : end]

    def _make_room(self) -> None:
        """Move what is unread to the front; into a buffer twice as large where it fills more than half of this one."""
        unread = self._end - self._start
        self._move(self._capacity if unread <= self._capacity // 2 else 2 * self._capacity)

    def _move(self, capacity: int) -> None:
        unread = bytes(self._view[self._start : self._end])
        if capacity != self._capacity:
            # Replaced, not resized: views of the old one may still be alive.
            self._allocate(capacity)
        self._buffer[: len(unread)] = unread
        self._start, self._end = 0, len(unread)
