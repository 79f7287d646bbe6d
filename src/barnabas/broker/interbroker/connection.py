"""A connection to a broker: one request at a time goes out, and its answer comes back.

Not a client's channel (`clients/channel.py`): there are no tasks and futures here, as each transaction pays for it, and
no versions are agreed on, as inter.broker.protocol.version says them.

Invariants: at most one request is on its way; each gets its answer or a failure, once; a connection that has failed is
closed and stays so.

Source: protocol guide, common request and response structure.
"""

from collections.abc import Callable
from struct import Struct

from barnabas.broker.net.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.wire import WireBuffer

_SIZE = Struct(">i")
_RECEIVE_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 100 * 1024 * 1024


class BrokerConnection:
    """One connection. Belongs to the event loop's thread.

    Attributes:
        is_open: Whether another request may be sent.
    """

    __slots__ = ("_answered", "_channel", "_lost", "_received", "_space", "_unsent", "is_open")

    def __init__(self, channel: Channel, lost: Callable[[KafkaError], object]) -> None:
        """Args:
        channel: Connected; owned from here on.
        lost: Told once when the connection is gone, whether somebody waits or not.
        """
        self._channel = channel
        self._lost = lost
        self._answered: Callable[[memoryview], object] | None = None
        self._received = bytearray()
        self._space = memoryview(bytearray(_RECEIVE_BYTES))
        self._unsent = bytearray()
        self.is_open = True
        channel.watch_reads(self._readable)

    def send(self, frame: WireBuffer, answered: Callable[[memoryview], object]) -> None:
        """Send a request, its size first; `answered` gets the answer without its size, valid during the call only."""
        assert self.is_open
        assert self._answered is None
        self._answered = answered
        self._unsent += frame
        self._push(is_watched=False)

    def close(self, reason: str = "closed") -> None:
        """End the connection; harmless when it has ended."""
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
        space = self._space
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
        received = self._received
        received += space[:count]
        if len(received) < _SIZE.size:
            return
        (size,) = _SIZE.unpack_from(received)
        if not 0 <= size <= MAX_ANSWER_BYTES or self._answered is None:
            self.close(f"an answer of {size} bytes is none of Kafka's")
            return
        if len(received) < _SIZE.size + size:
            return
        answered, self._answered, self._received = self._answered, None, received[_SIZE.size + size :]
        answered(memoryview(received)[_SIZE.size : _SIZE.size + size])
