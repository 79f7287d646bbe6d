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
from typing import TYPE_CHECKING, Protocol, TypeVar

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.interbroker.connection import BrokerConnection
from barnabas.broker.net.channel import Channel, Network
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, ConfigError, KafkaError, ProtocolError
from barnabas.core.pending import Pending, Spawner
from barnabas.core.timers import Timer, Timers
from barnabas.wire.protocol.header import decode_response_header, encode_request_header
from barnabas.wire.protocol.wire import Message, WireBuffer

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from barnabas.clients.login import Login

R = TypeVar("R", bound=Message)

_SIZE_PLACE = bytes(4)


class LinkSecurity(Protocol):
    """How brokers are reached."""

    def wrap(self, channel: Channel, host: str) -> Channel:
        """A connection that was just opened, with TLS where that is wanted."""
        ...

    def new_login(self, where: str) -> "Login | None":
        """The login at a broker; None: brokers do not log in. Raises ConfigError."""
        ...


class InTheClear:
    """Without TLS, and without a login."""

    __slots__ = ()

    def wrap(self, channel: Channel, host: str) -> Channel:
        return channel

    def new_login(self, where: str) -> "Login | None":
        return None


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
        security: LinkSecurity | None = None,
    ) -> None:
        """Args:
        network: Where the brokers are.
        cluster: Says where each listens.
        listener_name: The listener that brokers use among themselves.
        client_id: What this broker calls itself.
        timeout_ms: How long a broker may take to answer.
        security: How brokers are reached; in the clear where nothing is said.
        """
        self.security = security or InTheClear()
        self._network = network
        self._cluster = cluster
        self._listener_name = listener_name
        self.client_id = client_id
        self.timers = timers
        self.spawner = spawner
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
        return self.spawner.spawn(self._dial(broker_id), lambda error: None)

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
        return None if channel is None else self.security.wrap(channel, endpoint[0])


class _Link:
    """The queue and the connection of one broker."""

    __slots__ = (
        "_broker_id",
        "_channels",
        "_connection",
        "_correlation_id",
        "_is_dialling",
        "_login",
        "_queue",
        "_sent",
        "_talk",
        "_timer",
    )

    def __init__(self, channels: BrokerChannels, broker_id: int) -> None:
        self._channels = channels
        self._broker_id = broker_id
        self._queue: deque[_Request] = deque()
        self._sent: _Request | None = None
        self._connection: BrokerConnection | None = None
        self._is_dialling = False
        self._login: Login | None = None
        self._talk: _Talk | None = None
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
        if self._login is not None and self._login.is_due:
            self._log_in(self._connection, self._login)
            return
        self._send(self._connection)

    def _log_in(self, connection: BrokerConnection, login: "Login") -> None:
        """Log in, the first time or again; what is to be sent waits."""
        self._is_dialling = True
        talk = self._talk = _Talk(connection, self._channels.client_id)
        work = _log_in(talk, login, self._channels.timeout_ms() / 1000)
        self._channels.spawner.spawn(work, lambda error: error).then(self._logged_in, self._logged_in)

    def _logged_in(self, error: object) -> None:
        self._is_dialling = False
        self._talk = None
        if error is None:
            self._go_on()
            return
        log.error("cannot log in at broker %d: %s", self._broker_id, error)
        if self._connection is not None:
            self._connection.close("its login failed")
        self._fail_all(KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {self._broker_id} refuses the login"))

    def _send(self, connection: BrokerConnection) -> None:
        request = self._sent = self._queue.popleft()
        correlation_id = self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        frame = _request_frame(request.request, request.version, correlation_id, self._channels.client_id)
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
        connection = self._connection = BrokerConnection(channel, self._lost)
        try:
            self._login = self._channels.security.new_login(f"broker {self._broker_id}")
        except ConfigError as error:
            self._logged_in(error)
            return
        if self._login is None:
            self._go_on()
        else:
            self._log_in(connection, self._login)

    def _lost(self, error: KafkaError) -> None:
        self._cancel_timer()
        self._connection = None
        if self._talk is not None:
            self._talk.fail(error)
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


class _Talk:
    """Asks a broker one thing after the other while nothing else is sent to it; see `clients.login.Asks`."""

    __slots__ = ("_client_id", "_connection", "_correlation_id", "_waiting")

    def __init__(self, connection: BrokerConnection, client_id: str) -> None:
        self._connection = connection
        self._client_id = client_id
        self._correlation_id = 0
        self._waiting: asyncio.Future[bytes] | None = None

    async def ask(self, request: Message, answer: type[R], *, max_version: int | None = None) -> R:
        """Raises KafkaError, and ProtocolError where the answer is none."""
        if not self._connection.is_open:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "the connection is gone")
        version = answer.MAX_VERSION if max_version is None else max_version
        waiting = self._waiting = asyncio.get_running_loop().create_future()
        self._correlation_id += 1
        frame = _request_frame(request, version, self._correlation_id, self._client_id)

        def answered(got: memoryview) -> None:
            if not waiting.done():
                waiting.set_result(bytes(got))

        self._connection.send(frame, answered)
        got = memoryview(await waiting)
        _, position = decode_response_header(got, request.API_KEY, version)
        return answer.decode(version, got, position)[0]

    def fail(self, error: KafkaError) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


async def _log_in(talk: _Talk, login: "Login", timeout_s: float) -> BaseException | None:
    """Log in; None, or why that failed."""
    try:
        async with asyncio.timeout(timeout_s):
            await login.begin(talk)
    except TimeoutError:
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, "it does not answer in time")
    except BarnabasError as error:
        return error
    return None


def _request_frame(request: Message, version: int, correlation_id: int, client_id: str) -> WireBuffer:
    """A request as it is sent, its size first."""
    frame = WireBuffer(_SIZE_PLACE)
    encode_request_header(frame, request.API_KEY, version, correlation_id, client_id)
    request.encode(version, frame)
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
    return frame
