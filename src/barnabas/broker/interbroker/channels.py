"""Channels to all brokers, in lanes: each lane has a queue and one connection, opened when needed.

The broker sends requests to itself in the same way, and receives them like requests from other brokers.

Invariants:
- Each lane to a broker has one request in flight at a time, in the order of submission; lanes do not wait for each
  other.
- Every request completes, with its response or with an error (NETWORK_EXCEPTION). This module never repeats a request,
  because only the caller knows whether that is safe.
- A request goes to the broker's current address: after a change of the address, a new connection is opened.

Source: semantics, controller (requests to one broker), WriteTxnMarkers; `request.timeout.ms`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from barnabas.broker.interbroker.connection import MAX_ANSWER_BYTES, BrokerConnection
from barnabas.broker.net.channel import Channel, Network
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, ConfigError, KafkaError, ProtocolError
from barnabas.core.pending import Pending, Spawner
from barnabas.core.timers import Timer, Timers
from barnabas.wire.protocol.header import decode_response_header, encode_request_header
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.protocol.wire import Message, WireBuffer

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from barnabas.clients.login import Login

R = TypeVar("R", bound=Message)

_SIZE_PLACE = bytes(4)

CONTROL_LANE: Final = ""
"""Lane for the controller's requests."""
ISR_LANE: Final = "isr"
"""Lane for requests to the controller that change in-sync replicas."""
MARKER_LANE: Final = "txn-marker-sender"
FETCHER_LANE: Final = "fetcher-"
"""Prefix of a fetcher's lane; its number follows."""

AddressOf = Callable[[int], tuple[str, int] | None]
"""Returns the address of a broker's inter-broker listener; None if unknown."""


class LinkSecurity(Protocol):
    """TLS and authentication for connections to brokers."""

    def wrap(self, channel: Channel, host: str) -> Channel:
        """Return the opened connection, with TLS if it is configured."""
        ...

    def new_login(self, where: str) -> "Login | None":
        """Return the login to use at a broker; None without authentication. Raises ConfigError."""
        ...


class InTheClear:
    """Connections without TLS and authentication."""

    __slots__ = ()

    def wrap(self, channel: Channel, host: str) -> Channel:
        return channel

    def new_login(self, where: str) -> "Login | None":
        return None


class LinkFigures:
    """Figures of one lane to one broker, over all its connections.

    Attributes:
        is_connected: Whether a connection is open.
        connection_count, request_count, answer_count: Numbers of connections, requests and answers so far.
        sent_bytes, received_bytes: Bytes of requests and answers, including their size fields.
    """

    __slots__ = (
        "answer_count",
        "broker_id",
        "connection_count",
        "is_connected",
        "lane",
        "received_bytes",
        "request_count",
        "sent_bytes",
    )

    def __init__(self, broker_id: int, lane: str) -> None:
        self.broker_id = broker_id
        self.lane = lane
        self.is_connected = False
        self.connection_count = self.request_count = self.answer_count = 0
        self.sent_bytes = self.received_bytes = 0


class _Request:
    """A request, with the pending result for its answer."""

    __slots__ = ("answer", "max_bytes", "pending", "request", "timeout_ms", "version")

    def __init__(
        self,
        request: Message,
        version: int,
        answer: type[Message],
        timeout_ms: int,
        max_bytes: int,
        # Any: each answer has its own class.
        pending: Pending[Any],
    ) -> None:
        self.request = request
        self.version = version
        self.answer = answer
        self.timeout_ms = timeout_ms
        self.max_bytes = max_bytes
        self.pending = pending

    def answered(self, frame: memoryview, correlation_id: int) -> None:
        """Decode the answer, and complete the pending result. Raises ProtocolError."""
        try:
            got, position = decode_response_header(frame, self.request.API_KEY, self.version)
            if got != correlation_id:
                raise ProtocolError(f"response to request {got}, expected {correlation_id}")
            decoded, _ = self.answer.decode(self.version, frame, position)
        except ProtocolError as error:
            self.pending.fail(error)
            raise
        self.pending.complete(decoded)


class BrokerChannels:
    """The channels to all brokers, including this one. Owned by the event loop.

    Attributes:
        figures: Figures of all connections, including closed ones, by broker and lane.
    """

    def __init__(
        self,
        network: Network,
        address_of: AddressOf,
        client_id: str,
        timers: Timers,
        spawner: Spawner,
        timeout_ms: Callable[[], int],
        security: LinkSecurity | None = None,
    ) -> None:
        """Args:
        network: Opens connections.
        address_of: Returns the address of each broker.
        client_id: This broker's client id; on a named lane, followed by a dash and the name.
        timers: Timers for request timeouts.
        spawner: Runs connection attempts and logins.
        timeout_ms: Returns the timeout of logins, and of requests that do not set their own.
        security: TLS and authentication; neither by default.
        """
        self.security = security or InTheClear()
        self.address_of = address_of
        self._network = network
        self._client_id = client_id
        self.timers = timers
        self.spawner = spawner
        self.timeout_ms = timeout_ms
        self._links: dict[tuple[int, str], _Link] = {}
        self.figures: dict[tuple[int, str], LinkFigures] = {}
        self._is_closed = False

    def send(
        self,
        broker_id: int,
        request: Message,
        version: int,
        answer: type[R],
        lane: str = CONTROL_LANE,
        timeout_ms: int | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> Pending[R]:
        """Send a request to a broker.

        Args:
            broker_id: The receiver.
            request: The request.
            version: Its version, for inter.broker.protocol.version.
            answer: The class of its answer.
            lane: The lane; requests on other lanes do not wait for this one.
            timeout_ms: Timeout for the answer.
            max_answer_bytes: Maximum size of the answer; a longer answer fails, and closes the connection.

        Returns:
            The answer; its records are valid until the lane's next request. Fails with KafkaError (NETWORK_EXCEPTION:
            the request may have arrived nevertheless), or with ProtocolError if the answer is malformed.
        """
        pending: Pending[R] = Pending()
        if self._is_closed:
            pending.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the broker stops"))
            return pending
        link = self._links.get((broker_id, lane))
        if link is None:
            client_id = f"{self._client_id}-{lane}" if lane else self._client_id
            figures = self.figures.setdefault((broker_id, lane), LinkFigures(broker_id, lane))
            link = self._links[broker_id, lane] = _Link(self, broker_id, client_id, figures)
        limit_ms = self.timeout_ms() if timeout_ms is None else timeout_ms
        link.add(_Request(request, version, answer, limit_ms, max_answer_bytes, pending))
        return pending

    def drop(self, broker_id: int, lane: str = CONTROL_LANE) -> None:
        """Close a lane's connection; waiting requests fail, and later ones open a new connection."""
        link = self._links.pop((broker_id, lane), None)
        if link is not None:
            link.close("the connection is no longer needed")

    def close(self) -> None:
        """Close all connections; waiting requests fail."""
        self._is_closed = True
        for link in self._links.values():
            link.close("the broker stops")

    async def dial(self, address: tuple[str, int], timeout_ms: int) -> Channel | BaseException:
        """Connect to a broker; return the connection, or the error."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                channel = await self._network.connect(*address)
        except TimeoutError:
            return TimeoutError("it does not answer in time")
        except OSError as error:
            return error
        return self.security.wrap(channel, address[0])


class _Link:
    """The queue and the connection of one lane to one broker."""

    __slots__ = (
        "_address",
        "_broker_id",
        "_channels",
        "_client_id",
        "_connection",
        "_correlation_id",
        "_figures",
        "_is_closed",
        "_is_dialling",
        "_is_unproved",
        "_login",
        "_max_versions",
        "_queue",
        "_reported",
        "_sent",
        "_talk",
        "_timer",
    )

    def __init__(self, channels: BrokerChannels, broker_id: int, client_id: str, figures: LinkFigures) -> None:
        self._channels = channels
        self._figures = figures
        self._broker_id = broker_id
        self._client_id = client_id
        # The address of the connection.
        self._address: tuple[str, int] | None = None
        # The last connection error that was logged.
        self._reported = ""
        self._is_closed = False
        # Whether the connection has not received an answer yet: an error, such as in a TLS handshake, is then logged.
        self._is_unproved = False
        self._queue: deque[_Request] = deque()
        self._sent: _Request | None = None
        self._connection: BrokerConnection | None = None
        self._is_dialling = False
        self._login: Login | None = None
        # What the broker supports; empty before the connection's first login.
        self._max_versions: dict[int, int] = {}
        self._talk: _Talk | None = None
        self._timer: Timer | None = None
        self._correlation_id = 0

    def add(self, request: _Request) -> None:
        self._queue.append(request)
        self._go_on()

    def close(self, reason: str) -> None:
        self._is_closed = True
        if self._connection is not None:
            self._connection.close(reason)
        self._fail_all(KafkaError(ErrorCode.NETWORK_EXCEPTION, reason))

    def _go_on(self) -> None:
        if self._sent is not None or self._is_dialling or self._is_closed or not self._queue:
            return
        address = self._channels.address_of(self._broker_id)
        if self._connection is not None and address not in (None, self._address):
            # `_lost` then calls this method again.
            self._connection.close("the broker has moved")
            return
        if self._connection is None:
            self._dial(address)
            return
        if self._login is not None and self._login.is_due:
            self._log_in(self._connection, self._login)
            return
        self._send(self._connection)

    def _log_in(self, connection: BrokerConnection, login: "Login") -> None:
        """Log in, initially or again; queued requests wait."""
        self._is_dialling = True
        talk = self._talk = _Talk(connection, self._client_id, self._max_versions)
        work = _log_in(talk, login, self._channels.timeout_ms() / 1000)
        self._channels.spawner.spawn(work, lambda error: error).then(self._logged_in, self._logged_in)

    def _logged_in(self, error: object) -> None:
        self._is_dialling = False
        self._talk = None
        if self._is_closed:
            return
        if error is None:
            self._go_on()
            return
        self._is_unproved = False
        if str(error) != self._reported:
            log.error("cannot log in to broker %d: %s", self._broker_id, error)
            self._reported = str(error)
        waiting, self._queue = self._queue, deque()
        if self._connection is not None:
            # With an empty queue, `_lost` does not connect again.
            self._connection.close("the login failed")
        _fail(waiting, KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {self._broker_id} refuses the login"))

    def _send(self, connection: BrokerConnection) -> None:
        # hot path: benchmarks/cluster (every fetch of a follower)
        request = self._sent = self._queue.popleft()
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        frame = _request_frame(request.request, request.version, self._correlation_id, self._client_id)
        self._timer = self._channels.timers.call_later(request.timeout_ms, self._late)
        self._figures.request_count += 1
        self._figures.sent_bytes += len(frame)
        connection.send(frame, self._answered, request.max_bytes)

    def _answered(self, frame: memoryview) -> None:
        self._cancel_timer()
        request, self._sent = self._sent, None
        assert request is not None, "a connection that was given up answers nothing"
        self._figures.answer_count += 1
        self._figures.received_bytes += len(_SIZE_PLACE) + len(frame)
        if self._is_unproved:
            self._is_unproved = False
            self._reported = ""
        try:
            request.answered(frame, self._correlation_id)
        except ProtocolError as error:
            log.error("invalid response from broker %d: %s", self._broker_id, error)
            if self._connection is not None:
                self._connection.close(str(error))
            return
        self._go_on()

    def _dial(self, address: tuple[str, int] | None) -> None:
        if address is None:
            self._not_reached("nobody knows where it is")
            return
        self._address = address
        self._is_dialling = True
        work = self._channels.dial(address, self._queue[0].timeout_ms)
        self._channels.spawner.spawn(work, lambda error: error).then(self._dialled, self._dialled)

    def _not_reached(self, reason: str) -> None:
        self._report(reason)
        self._fail_all(KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {self._broker_id} can't be reached: {reason}"))

    def _report(self, reason: str) -> None:
        if reason != self._reported:
            # Logged once, because connecting is retried many times.
            log.warning("cannot connect to broker %d: %s", self._broker_id, reason)
            self._reported = reason

    def _dialled(self, channel: Channel | BaseException) -> None:
        self._is_dialling = False
        if isinstance(channel, BaseException):
            if not self._is_closed:
                host, port = self._address or ("", 0)
                self._not_reached(f"{host}:{port}: {channel}")
            return
        if self._is_closed:
            channel.close()
            return
        self._figures.is_connected = True
        self._figures.connection_count += 1
        self._is_unproved = True
        self._max_versions = {}
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
        self._figures.is_connected = False
        if self._is_unproved and self._talk is None and not self._is_closed:
            # A failed login logs its own error.
            host, port = self._address or ("", 0)
            self._report(f"{host}:{port}: {error.message}")
        if self._talk is not None:
            self._talk.fail(error)
        sent, self._sent = self._sent, None
        if sent is not None:
            sent.pending.fail(error)
        self._go_on()

    def _fail_all(self, error: KafkaError) -> None:
        waiting, self._queue = self._queue, deque()
        _fail(waiting, error)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._connection is not None:
            self._connection.close("the broker did not answer in time")


def _fail(requests: Iterable[_Request], error: KafkaError) -> None:
    for request in requests:
        request.pending.fail(error)


class _Talk:
    """Exchanges one request at a time with a broker while nothing else is sent to it; see `clients.login.Asks`."""

    __slots__ = ("_client_id", "_connection", "_correlation_id", "_max_versions", "_waiting")

    def __init__(self, connection: BrokerConnection, client_id: str, max_versions: dict[int, int]) -> None:
        self._connection = connection
        self._client_id = client_id
        self._correlation_id = 0
        self._max_versions = max_versions
        self._waiting: asyncio.Future[bytes] | None = None

    async def ask(self, request: Message, answer: type[R], *, max_version: int | None = None) -> R:
        """Send a request and return the response. Raises KafkaError, and ProtocolError if the response is malformed."""
        if not self._connection.is_open:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "the connection is gone")
        version = answer.MAX_VERSION if max_version is None else max_version
        version = min(version, self._max_versions.get(request.API_KEY, version))
        waiting = self._waiting = asyncio.get_running_loop().create_future()
        self._correlation_id += 1
        self._connection.send(_request_frame(request, version, self._correlation_id, self._client_id), self._answered)
        got = memoryview(await waiting)
        _, position = decode_response_header(got, request.API_KEY, version)
        return answer.decode(version, got, position)[0]

    async def learn_versions(self) -> None:
        """Ask for the versions that the broker supports: Kafka before 2.2 has only SaslAuthenticate 0. As in Kafka.

        Asked once per connection: an expired session accepts nothing but a new login.
        """
        if self._max_versions:
            return
        told = await self.ask(ApiVersionsRequest(), ApiVersionsResponse, max_version=0)
        self._max_versions.update((each.api_key, each.max_version) for each in told.api_keys)

    def _answered(self, got: memoryview) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(bytes(got))

    def fail(self, error: KafkaError) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


async def _log_in(talk: _Talk, login: "Login", timeout_s: float) -> BaseException | None:
    """Log in; return None, or the error."""
    try:
        async with asyncio.timeout(timeout_s):
            await talk.learn_versions()
            await login.begin(talk)
    except TimeoutError:
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, "it does not answer in time")
    except BarnabasError as error:
        return error
    return None


def _request_frame(request: Message, version: int, correlation_id: int, client_id: str) -> WireBuffer:
    """Return an encoded request with its size field."""
    frame = WireBuffer(_SIZE_PLACE)
    encode_request_header(frame, request.API_KEY, version, correlation_id, client_id)
    request.encode(version, frame)
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
    return frame
