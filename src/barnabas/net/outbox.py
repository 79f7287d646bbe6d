"""What waits to be sent on one connection: buffers and slices of files, in order.

A slice of a file goes from the page cache to the socket by `sendfile`. A slice keeps its file open for as long as it
is queued, so that a segment deleted meanwhile still sends its own bytes.

Source: design page, section 4.3 (zero copy); `sendfile(2)`, `send(2)` on MSG_MORE.
"""

import os
import socket
from collections import deque
from typing import TypeAlias

from barnabas.protocol.wire import Region, WireBuffer

# macOS has no MSG_MORE: the header leaves in its own packet, which is only slower.
_MORE = getattr(socket, "MSG_MORE", 0)

Part: TypeAlias = bytearray | memoryview | Region


# Small answers that wait together leave in one system call.
_MERGED_BYTES = 64 * 1024
# After so much the loop looks after the other connections before it goes on with this one.
TURN_BYTES = 4 * 1024 * 1024


class Outbox:
    """Sends parts in order, as far as the socket takes them. Bounded by its user: one turn's answers at a time.

    Attributes:
        parts: What waits; for looking at alone.
    """

    __slots__ = ("_sent", "_sock", "parts")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.parts: deque[Part] = deque()
        self._sent = 0

    def put(self, answer: WireBuffer) -> None:
        """Queue an encoded answer: its bytes and, at their places, its file regions. Owns the buffer from here on."""
        regions = answer.regions
        parts = self.parts
        if not regions:
            last = parts[-1] if parts else None
            if isinstance(last, bytearray) and len(last) + len(answer) <= _MERGED_BYTES:
                last += answer
            else:
                parts.append(answer)
            return
        view = memoryview(answer)
        start = 0
        for position, region in regions:
            if position > start:
                parts.append(view[start:position])
                start = position
            if region.length:
                parts.append(region)
        if start < len(view):
            parts.append(view[start:])

    def flush(self) -> bool:
        """Send until all is sent, the socket is full, or the turn is over.

        Returns:
            Whether everything is sent.

        Raises:
            OSError: The connection is gone, or a file is shorter than a slice of it promised.
        """
        # hot path: benchmarks/load (every answer passes here)
        parts = self.parts
        sock = self._sock
        left_in_turn = TURN_BYTES
        try:
            while parts:
                if left_in_turn <= 0:
                    return False
                part = parts[0]
                if isinstance(part, (bytearray, memoryview)):
                    rest = memoryview(part)[self._sent :] if self._sent else part
                    length = len(rest)
                    sent = sock.send(rest, _MORE if len(parts) > 1 else 0)
                else:
                    length = part.length - self._sent
                    sent = os.sendfile(sock.fileno(), part.fd, part.position + self._sent, length)
                    if sent == 0:
                        raise OSError("a log segment is shorter than promised")
                left_in_turn -= sent
                if sent < length:
                    self._sent += sent
                else:
                    self._sent = 0
                    parts.popleft()
        except BlockingIOError:
            return False
        return True

    def clear(self) -> None:
        """Drop what is queued, and with it the references to files."""
        self.parts.clear()
        self._sent = 0
