"""The send queue of one connection: buffers and slices of files, in order.

A slice of a file is sent from the page cache to the socket by `sendfile`. Its file stays open while the slice is
queued, so that a segment deleted meanwhile still sends its own bytes.

Source: design page, section 4.3 (zero copy).
"""

from collections import deque
from typing import Final, TypeAlias

from barnabas.broker.net.channel import Channel
from barnabas.wire.protocol.wire import Region, WireBuffer

Part: TypeAlias = bytearray | memoryview | Region


# Small waiting answers up to this size are sent in one system call.
_MERGED_BYTES: Final = 64 * 1024
# After this many bytes the loop serves the other connections first.
TURN_BYTES: Final = 4 * 1024 * 1024
# The least that a part counts: each small slice of a file costs a system call.
_LEAST_PART_BYTES: Final = 64 * 1024


class Outbox:
    """Sends parts in order, as far as the channel accepts them. The user bounds it to one turn's answers.

    Attributes:
        parts: The queue. An answer without regions may be appended directly if the queue is empty; else call `put`.
    """

    __slots__ = ("_channel", "_send", "_sent", "parts")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._send = channel.send
        self.parts: deque[Part] = deque()
        self._sent = 0

    def put(self, answer: WireBuffer) -> None:
        """Queue an encoded answer: its bytes and, in between, its file regions. Takes ownership of the buffer."""
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
        """Send until everything is sent, the channel is full, or the turn ends.

        Returns:
            Whether everything is sent.

        Raises:
            OSError: The connection is lost, or a file is shorter than its slice.
        """
        # hot path: benchmarks/load (every answer passes here)
        parts = self.parts
        channel = self._channel
        left_in_turn = TURN_BYTES
        try:
            if len(parts) == 1 and not self._sent and isinstance(parts[0], bytearray):
                # The usual case: one small answer, accepted at once.
                answer, send = parts[0], self._send
                sent = send(answer)
                if sent == len(answer):
                    parts.clear()
                    return True
                self._sent = sent
                left_in_turn -= sent
            while parts:
                if left_in_turn <= 0:
                    return False
                part = parts[0]
                if isinstance(part, (bytearray, memoryview)):
                    rest = memoryview(part)[self._sent :] if self._sent else part
                    length = len(rest)
                    sent = channel.send(rest) if len(parts) == 1 else channel.send_more(rest)
                else:
                    length = part.length - self._sent
                    sent = channel.send_file(part, self._sent, length)
                left_in_turn -= sent if sent > _LEAST_PART_BYTES else _LEAST_PART_BYTES
                if sent < length:
                    self._sent += sent
                else:
                    self._sent = 0
                    parts.popleft()
        except BlockingIOError:
            return False
        return True

    @property
    def kept_bytes(self) -> int:
        """The memory that the queue takes. A slice of a file takes none."""
        kept_bytes = 0
        for part in self.parts:
            if isinstance(part, (bytearray, memoryview)):
                kept_bytes += len(part)
        return kept_bytes

    def clear(self) -> None:
        """Drop the queue and its references to files."""
        self.parts.clear()
        self._sent = 0
