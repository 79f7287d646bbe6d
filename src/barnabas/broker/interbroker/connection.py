"""A connection to a broker: sends one request at a time and receives its response.

Unlike a client's channel (`clients/channel.py`), it uses no tasks and futures, which would slow down every transaction.
It does not negotiate versions, because inter.broker.protocol.version determines them.

Invariants:
- At most one request is in flight; each gets its response or a failure, once; a failed connection is closed and stays
  closed.
- A response is received into one buffer, and stays there until the next request is sent: a follower's log is written
  from it. The response's length is checked before memory is allocated, and memory is used only as data arrives.

Source: protocol guide, common request and response structure.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from barnabas.broker.net.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.wire import WireBuffer

_SIZE = Struct(">i")
_FIRST_SPACE_BYTES: Final = 64 * 1024
# Maximum size of one receive, so that other connections get their turns.
_RECEIVE_BYTES: Final = 1024 * 1024
# A larger buffer is freed at the first small answer.
_KEPT_SPACE_BYTES: Final = 1024 * 1024
MAX_ANSWER_BYTES: Final = 100 * 1024 * 1024


class BrokerConnection:
    """One connection. Belongs to the event loop's thread.

    Attributes:
        is_open: Whether another request may be sent.
    """

    __slots__ = ("_answered", "_channel", "_end", "_lost", "_max_bytes", "_received", "_space", "_unsent", "is_open")

    def __init__(self, channel: Channel, lost: Callable[[KafkaError], object]) -> None:
        """Args:
        channel: A connected channel, owned by this object from now on.
        lost: Called once when the connection is closed, whether a request waits or not.
        """
        self._channel = channel
        self._lost = lost
        self._answered: Callable[[memoryview], object] | None = None
        self._max_bytes = MAX_ANSWER_BYTES
        # The buffer for an answer with its size field, the number of bytes received, and the number of all bytes (0 if
        # not known yet).
        self._space = memoryview(bytearray(_FIRST_SPACE_BYTES))
        self._received = self._end = 0
        self._unsent = bytearray()
        self.is_open = True
        channel.watch_reads(self._readable)

    def send(
        self, frame: WireBuffer, answered: Callable[[memoryview], object], max_bytes: int = MAX_ANSWER_BYTES
    ) -> None:
        """Send a request.

        Args:
            frame: The request, with its size field.
            answered: Called with the answer without its size field; the answer is valid until the next request.
            max_bytes: Maximum size of the answer; a longer answer closes the connection.
        """
        assert self.is_open
        assert self._answered is None
        self._answered = answered
        self._max_bytes = max_bytes
        self._unsent += frame
        self._push(is_watched=False)

    def close(self, reason: str = "closed") -> None:
        """Close the connection; does nothing if it is closed."""
        if not self.is_open:
            return
        self.is_open = False
        self._answered = None
        self._channel.close()
        self._lost(KafkaError(ErrorCode.NETWORK_EXCEPTION, reason))

    def _writable(self) -> None:
        self._push(is_watched=True)

    def _push(self, is_watched: bool) -> None:
        unsent = self._unsent
        try:
            while unsent:
                del unsent[: self._channel.send(unsent)]
        except BlockingIOError:
            if not is_watched:
                self._channel.watch_writes(self._writable)
            return
        except OSError as error:
            self.close(str(error))
            return
        if is_watched:
            self._channel.stop_writes()

    def _readable(self) -> None:
        # hot path: benchmarks/load (all data that a follower receives)
        received, end = self._received, self._end
        space = self._space[received : min(end or len(self._space), received + _RECEIVE_BYTES)]
        try:
            count = self._channel.recv_into(space)
        except BlockingIOError:
            return
        except OSError as error:
            self.close(str(error))
            return
        if count == 0:
            self.close("the broker closed the connection")
            return
        received = self._received = received + count
        if not end:
            if received < _SIZE.size:
                return
            (size,) = _SIZE.unpack_from(self._space)
            end = self._end = _SIZE.size + size
            if not 0 <= size <= self._max_bytes or received > end or self._answered is None:
                self.close(f"invalid or unexpected response of {size} bytes")
                return
            try:
                self._fit(end)
            except OSError as error:
                self.close(f"no memory for a response of {size} bytes: {error}")
                return
        if received == end and self._answered is not None:
            answered, self._answered = self._answered, None
            self._received = self._end = 0
            answered(self._space[_SIZE.size : end])

    def _fit(self, end: int) -> None:
        """Make the buffer large enough for the whole response, keeping the received part."""
        length = len(self._space)
        if end <= length and (end > _FIRST_SPACE_BYTES or length <= _KEPT_SPACE_BYTES):
            return
        come = self._space[: self._received]
        self._space = memoryview(bytearray(max(_FIRST_SPACE_BYTES, 1 << (end - 1).bit_length())))
        self._space[: len(come)] = come
