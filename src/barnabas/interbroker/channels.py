"""The ways to all brokers: to each one connection, opened when it is needed, and a queue before it.

The same way leads to this broker itself: its own requests arrive like those of any other one.

Invariants: to one broker one request is on its way at a time, in the order in which they came; every request ends, with
its answer or with an error (NETWORK_EXCEPTION), and is never sent a second time here: who sent it
knows whether that does harm.

Source: semantics, controller (requests to one broker), WriteTxnMarkers; `request.timeout.ms`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from barnabas.cluster.image import ClusterView
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.pending import Pending, Spawner
from barnabas.core.timers import Timer, Timers
from barnabas.interbroker.connection import BrokerConnection
from barnabas.net.channel import Channel, Network
from barnabas.protocol.header import decode_response_header, encode_request_header
from barnabas.protocol.wire import Message, WireBuffer

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)

_SIZE_PLACE = bytes(4)


class _Request:
    """One request and who waits for its answer."""

    __slots__ = ("answered", "failed", "request", "version")

    def __init__(
        self,
        request: Message,
        version: int,
        answered: Callable[[memoryview, int], object],
        failed: Callable[[KafkaError], object],
    ) -> None:
        self.request = request
        self.version = version
        self.answered = answered
        self.failed = failed


class BrokerChannels:
    """The ways to all brokers, this one too. Belongs to the event loop's thread."""

    def __init__(
        self,
        network: Network,
        cluster: ClusterView,
        listener_name: Callable[[], str],
        client_id: str,
        timers: Timers,
        spawner: Spawner,
        timeout_ms: Callable[[], int],
    ) -> None:
        """Args:
        network: Where the brokers are.
        cluster: Says where each listens.
        listener_name: The listener that brokers use among themselves.
        client_id: What this broker calls itself.
        timeout_ms: How long a broker may take to answer.
        """
        self._network = network
        self._cluster = cluster
        self._listener_name = listener_name
        self.client_id = client_id
        self.timers = timers
        self._spawner = spawner
        self.timeout_ms = timeout_ms
        self._links: dict[int, _Link] = {}
        self._is_closed = False

    def send(self, broker_id: int, request: Message, version: int, answer: type[R]) -> Pending[R]:
        """Send a request to a broker.

        Args:
            version: That of inter.broker.protocol.version.
            answer: The class of its answer.

        Returns:
            The answer; fails with KafkaError (NETWORK_EXCEPTION: the request may have arrived nevertheless), or with
            ProtocolError where the answer is none.
        """
        pending: Pending[R] = Pending()

        def answered(frame: memoryview, correlation_id: int) -> None:
            try:
                got, position = decode_response_header(frame, request.API_KEY, version)
                if got != correlation_id:
                    raise ProtocolError(f"an answer to request {got} instead of {correlation_id}")
                decoded = answer.decode(version, frame, position)[0]
            except ProtocolError as error:
                pending.fail(error)
                raise
            pending.complete(decoded)

        if self._is_closed:
            pending.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the broker stops"))
            return pending
        link = self._links.get(broker_id)
        if link is None:
            link = self._links[broker_id] = _Link(self, broker_id)
        link.add(_Request(request, version, answered, pending.fail))
        return pending

    def close(self) -> None:
        """Close all connections; who waits is told."""
        self._is_closed = True
        for link in self._links.values():
            link.close()

    def dial(self, broker_id: int) -> Pending[Channel | None]:
        """Connect to a broker; None: nobody is there, or nobody knows where it is."""
        return self._spawner.spawn(self._dial(broker_id), lambda error: None)

    async def _dial(self, broker_id: int) -> Channel | None:
        broker = self._cluster.image.brokers.get(broker_id)
        endpoint = None if broker is None else broker.endpoints.get(self._listener_name())
        if endpoint is None:
            log.warning("cannot send to broker %d: nobody knows where it is", broker_id)
            return None
        channel: Channel | None = None
        try:
            async with asyncio.timeout(self.timeout_ms() / 1000):
                channel = await self._network.connect(*endpoint)
        except OSError as error:
            log.warning("cannot connect to broker %d at %s:%d: %s", broker_id, *endpoint, error)
        if channel is not None and self._is_closed:
            channel.close()
            return None
        return channel


class _Link:
    """The queue and the connection of one broker."""

    __slots__ = (
        "_broker_id",
        "_channels",
        "_connection",
        "_correlation_id",
        "_is_dialling",
        "_queue",
        "_sent",
        "_timer",
    )

    def __init__(self, channels: BrokerChannels, broker_id: int) -> None:
        self._channels = channels
        self._broker_id = broker_id
        self._queue: deque[_Request] = deque()
        self._sent: _Request | None = None
        self._connection: BrokerConnection | None = None
        self._is_dialling = False
        self._timer: Timer | None = None
        self._correlation_id = 0

    def add(self, request: _Request) -> None:
        self._queue.append(request)
        self._go_on()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close("the broker stops")
        self._fail_all(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the broker stops"))

    def _go_on(self) -> None:
        if self._sent is not None or self._is_dialling or not self._queue:
            return
        if self._connection is None:
            self._is_dialling = True
            self._channels.dial(self._broker_id).then(self._dialled, lambda error: self._dialled(None))
            return
        self._send(self._connection)

    def _send(self, connection: BrokerConnection) -> None:
        request = self._sent = self._queue.popleft()
        correlation_id = self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        frame = WireBuffer(_SIZE_PLACE)
        encode_request_header(frame, request.request.API_KEY, request.version, correlation_id, self._channels.client_id)
        request.request.encode(request.version, frame)
        frame[:4] = (len(frame) - 4).to_bytes(4, "big")
        self._set_timer()
        connection.send(frame, lambda answer: self._answered(request, answer, correlation_id))

    def _answered(self, request: _Request, frame: memoryview, correlation_id: int) -> None:
        self._cancel_timer()
        self._sent = None
        try:
            request.answered(frame, correlation_id)
        except ProtocolError as error:
            log.error("broker %d: %s", self._broker_id, error)
            if self._connection is not None:
                self._connection.close(str(error))
            return
        self._go_on()

    def _dialled(self, channel: Channel | None) -> None:
        self._is_dialling = False
        if channel is None:
            self._fail_all(KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {self._broker_id} can't be reached"))
            return
        self._connection = BrokerConnection(channel, self._lost)
        self._go_on()

    def _lost(self, error: KafkaError) -> None:
        self._cancel_timer()
        self._connection = None
        sent, self._sent = self._sent, None
        if sent is not None:
            sent.failed(error)
        self._go_on()

    def _fail_all(self, error: KafkaError) -> None:
        queue, self._queue = self._queue, deque()
        for request in queue:
            request.failed(error)

    def _set_timer(self) -> None:
        self._timer = self._channels.timers.call_later(self._channels.timeout_ms(), self._late)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._connection is not None:
            self._connection.close("it does not answer in time")
