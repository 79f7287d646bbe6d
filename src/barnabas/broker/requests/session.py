"""One connection's requests: frame ─► header ─► route ─► body ─► `Exchange` ─► answer.

Invariants:
- Answers are sent in the order of the requests: while one is pending no further frame is handled.
- A malformed frame closes its own connection and writes one log line; a failed request is answered (`exchange.py`).
- A client over its quota waits once for each throttled request: after its answer, which contains the throttle time, or,
  on another connection, before the request is handled. A large request is not even received before the wait.
- A request other than Produce with more than `max_array_elements` array elements in all is refused; the controller's
  requests in a large cluster may have more.

Source: semantics, connections and requests; ApiVersions.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from barnabas.broker.net.connection import Connection, Pause
from barnabas.broker.net.framing import READ_AHEAD_BYTES
from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.manager import Client
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.exchange import Exchange
from barnabas.broker.requests.metering import is_of_broker, may_control
from barnabas.broker.requests.request_times import add_sent
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.slices import MOST_ELEMENTS_AT_ONCE
from barnabas.broker.requests.table import API_VERSIONS_KEY, CONTROL_KEYS, PRODUCE_KEY, Route, RouteTable
from barnabas.broker.requests.throttled_connections import ThrottledConnection
from barnabas.core.errors import ProtocolError, UnanswerableError
from barnabas.wire.protocol.api_keys import APIS
from barnabas.wire.protocol.header import decode_request_header
from barnabas.wire.protocol.messages.produce import ProduceRequest
from barnabas.wire.protocol.wire import MALFORMED, Budget, WireBuffer
from barnabas.wire.quotas.limits import QuotaKind

log = logging.getLogger(__name__)

# A partition of a produce request contains a message of at least 26 bytes (format 0), and at worst has a topic of its
# own: two elements in 41 bytes. A request with more elements contains empty ones, which only a hostile client sends.
# differs from Kafka (produce-array-elements): memory is Kafka's only limit.
LEAST_PRODUCE_ELEMENT_BYTES: Final = 20
# The most elements of a frame of any size, as a multiple of the limit of other requests.
MOST_PRODUCE_ELEMENTS_FACTOR: Final = 2
# A controller's request about 200,000 partitions with three replicas has two million elements.
MOST_CONTROL_ELEMENTS: Final = 5_000_000
_LEAST_CONTROL_ELEMENT_BYTES: Final = 4

# Saves the lookup of the members in their enums.
_PRODUCE, _REQUEST = QuotaKind.PRODUCE, QuotaKind.REQUEST
_NS_PER_MS: Final = 1_000_000


class Session:
    """The frame handler of one connection.

    Attributes:
        now_ns: The clock that measures requests.
        send: Sends an encoded answer; then the next request runs.
        unsent: See `Conversation`.
    """

    __slots__ = (
        "_budget",
        "_client",
        "_client_id",
        "_connection",
        "_count_sent",
        "_current",
        "_info",
        "_is_new",
        "_max_array_elements",
        "_most_at_once",
        "_most_produced_at_once",
        "_place",
        "_quotas",
        "_route_of",
        "_routes",
        "_services",
        "_throttle",
        "_waited_for",
        "_when_sent",
        "now_ns",
        "send",
        "unsent",
    )

    def __init__(
        self,
        connection: Connection,
        info: ConnectionInfo,
        services: Services,
        routes: RouteTable,
        max_array_elements: int,
    ) -> None:
        self._connection = connection
        self._info = info
        self._services = services
        self._quotas = services.quotas
        self._routes = routes
        self._route_of = routes.by_key
        self._max_array_elements = max_array_elements
        self._most_at_once = min(max_array_elements, MOST_ELEMENTS_AT_ONCE)
        self._most_produced_at_once = min(MOST_PRODUCE_ELEMENTS_FACTOR * max_array_elements, MOST_ELEMENTS_AT_ONCE)
        self._budget = Budget(max_array_elements)
        self._current: Exchange | None = None
        self.unsent: list[Exchange] = []
        self._count_sent: Callable[[int], object] = partial(add_sent, self.unsent)
        self._when_sent: list[Callable[[int | None], object]] = []
        self._client: Client | None = None
        self._client_id: str | None = None
        self._throttle: ThrottledConnection | None = None
        # Whether this connection has handled no request of this client yet.
        self._is_new = False
        # The bucket that it waited for after its last answer; bucket and size of the request that is being received.
        self._waited_for: Bucket | None = None
        self._place: tuple[Bucket, int] | None = None
        self.send: Callable[[WireBuffer, int], object] = connection.send
        connection.on_part = self._on_part
        self.now_ns: Callable[[], int] = services.clock.monotonic_ns

    # --- events of the connection

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
        """Answer one request, now or later.

        Raises:
            ProtocolError: The frame is not a supported request; it has changed nothing.
            UnanswerableError: The request failed, and no error answer is possible.
        """
        # hot path: benchmarks/load (every request)
        try:
            api_key, api_version, correlation_id, client_id, position = decode_request_header(frame)
        except ProtocolError as error:
            raise self._refusal(frame, error) from None
        route_of = self._route_of
        route = route_of(api_key << 16 | api_version)
        request: object = None
        decode_large: Callable[[], object] | None = None
        if route is None:
            if api_key != API_VERSIONS_KEY:
                # Not assigned to a local: the error and this stack frame would be a reference cycle.
                raise self._refusal(frame, _unserved(api_key, api_version))
            # A newer client sends ApiVersions first; it reads this answer in version 0, whatever version it sent.
            route = self._routes.unsupported_api_versions
        else:
            waits_for = route.waits_for
            if waits_for is not None:
                # differs from Kafka (hold-of-client): in Kafka only the connection with the throttled answer waits.
                if self._quotas.throttled_until_ns > now_ns and self._waits(
                    waits_for, client_id, len(frame), now_ns // _NS_PER_MS, True
                ):
                    if len(frame) > READ_AHEAD_BYTES:
                        raise ProtocolError("its request exceeds a quota and is too large to be kept until it may run")
                    self._connection.put_back(frame)
                    return
                self._waited_for = self._place = None
            at_once = self._most_at_once
            if not route.is_limited:
                at_once = self._most_produced_at_once
                most_by_size = len(frame) // LEAST_PRODUCE_ELEMENT_BYTES
                if most_by_size < at_once:
                    at_once = most_by_size
            # One budget for all requests of the connection, because only one is decoded at a time.
            budget = self._budget
            budget.elements_left = at_once
            decode = route.decode
            try:
                request, _ = decode(frame, position, budget)
            except (*MALFORMED, ProtocolError) as error:
                most_elements = self._most_elements(route, frame)
                if budget.elements_left >= 0 or most_elements <= at_once:
                    raise self._refusal(frame, _malformed(route, error)) from None
                decode_large = partial(_decode, route, frame, position, most_elements)
        client = self._client
        if client is None or client_id != self._client_id:
            client = self._enter(client_id)
        if self._is_new and self._waits_for_time(client, route, request):
            self._connection.put_back(frame)
            return
        exchange = Exchange(
            self._services,
            self._info,
            client_id or "",
            api_version,
            correlation_id,
            route,
            request,
            self,
            now_ns,
            client,
            len(frame),
        )
        if route.times is not None:
            connection = self._connection
            exchange.received_ns = connection.received_ns
            connection.on_sent = self._count_sent
        if decode_large is None:
            exchange.begin()
        else:
            # Its records are not copied out of the frame.
            release = self._connection.keep_frame()
            if not self._connection.is_closed:
                exchange.begin_large(decode_large, release)

    @property
    def client(self) -> Client | None:
        """Return the client of the last request; None: there was no request yet, or the connection is closed."""
        return self._client

    def _refusal(self, frame: memoryview, reason: ProtocolError) -> ProtocolError:
        """Return the reason to close the connection after a frame that is not a valid request."""
        services = self._services
        return services.clients_of_0_7.refusal(frame, reason, self._info.host, services.clock.monotonic_ms())

    def _enter(self, client_id: str | None) -> Client:
        """Switch the connection to another client."""
        quotas, now_ms = self._quotas, self._services.clock.monotonic_ms()
        if self._client is not None:
            quotas.leave(self._client, now_ms)
        # Here, so that it does not run for each request.
        self._connection.admit()
        client = self._client = quotas.enter(self._info.principal.name, client_id or "", now_ms)
        # A client id that is too long to be stored is looked up again for each request.
        self._client_id = client.client_id if client_id else client_id
        self._is_new = True
        return client

    def _on_part(self, part: memoryview, size: int) -> None:
        """Delay receiving the rest of a large request, if its client must wait."""
        is_asked = self._place is None and self._quotas.is_enabled[_PRODUCE]
        # Before the login the connection belongs to no client.
        if not is_asked or self._connection.handler is not self:
            return
        try:
            api_key, _, _, client_id, _ = decode_request_header(part)
        except ProtocolError:
            # The header is incomplete, or `on_frame` will refuse it.
            return
        if api_key == PRODUCE_KEY:
            self._waits(_PRODUCE, client_id, size, self._services.clock.monotonic_ms(), False)

    def _waits(self, kind: QuotaKind, client_id: str | None, size: int, now_ms: int, is_whole: bool) -> bool:
        """Delay a request of a client over its limit, unless this connection has waited; return whether it waits."""
        # hot path: benchmarks/load (every produce request while any client is throttled)
        if self._place is not None or not self._quotas.is_enabled[kind]:
            return False
        client = self._client
        if client is None or client_id != self._client_id:
            client = self._enter(client_id)
        bucket = client.bucket(kind, now_ms)
        if is_whole and now_ms >= bucket.used_up_until_ms:
            # This request is counted before any other one.
            return False
        if bucket is self._waited_for:
            self._place = bucket, 0
            return False
        self._place = bucket, size
        self._wait(client, bucket, bucket.reserve_turn(now_ms, size))
        return self._throttle is not None

    def _waits_for_time(self, client: Client, route: Route, request: object) -> bool:
        """Delay a new connection's first request if its client has exceeded the request quota."""
        self._is_new = False
        # As in `metering`, requests without an answer and brokers' own are not throttled for their time.
        if not self._quotas.is_enabled[_REQUEST] or (isinstance(request, ProduceRequest) and not request.acks):
            return False
        now_ms = self._services.clock.monotonic_ms()
        bucket = client.bucket(_REQUEST, now_ms)
        wait_ms = bucket.used_up_until_ms - now_ms
        if wait_ms > 0 and not is_of_broker(self._services, self._info, route.api_key, request):
            self._wait(client, bucket, wait_ms)
        return self._throttle is not None

    def _wait(self, client: Client, bucket: Bucket, wait_ms: int) -> None:
        """Stop reading requests for `wait_ms`, if positive."""
        if wait_ms > 0:
            self._connection.pause(Pause.THROTTLE)
            self._throttle = self._services.throttled.begin(client, bucket, wait_ms, self._let_go)

    def _most_elements(self, route: Route, frame: memoryview) -> int:
        """Return the maximum of array elements in a request."""
        if route.api_key in CONTROL_KEYS and may_control(self._services, self._info):
            return min(len(frame) // _LEAST_CONTROL_ELEMENT_BYTES, MOST_CONTROL_ELEMENTS)
        if route.is_limited:
            return self._max_array_elements
        return min(len(frame) // LEAST_PRODUCE_ELEMENT_BYTES, MOST_PRODUCE_ELEMENTS_FACTOR * self._max_array_elements)

    def on_closed(self) -> None:
        """Drop the pending answer, because the client disconnected."""
        # differs from Kafka (leaving-peer): Kafka notices when it sends the answer.
        current, self._current = self._current, None
        if current is not None:
            current.cancel()
        if self._when_sent:
            self._notify_sent(None)
        authentication = self._info.authentication
        if authentication is not None:
            authentication.on_connection_closed()
        throttle, self._throttle = self._throttle, None
        if throttle is not None:
            throttle.end()
        place, self._place = self._place, None
        if place is not None:
            bucket, size = place
            bucket.release_turn(size)
        client, self._client = self._client, None
        if client is not None:
            self._services.quotas.leave(client, self._services.clock.monotonic_ms())

    # --- called by an exchange

    def wait_for_answer(self, exchange: Exchange) -> None:
        self._current = exchange
        self._connection.pause(Pause.ANSWER)

    def keep_frame(self) -> Callable[[], object]:
        return self._connection.keep_frame()

    def settle_soon(self, outcome: object) -> None:
        """Complete the pending exchange at the end of this turn of the event loop."""
        self._connection.scheduler.add(self._settle_late)

    def _settle_late(self) -> None:
        current, self._current = self._current, None
        if current is None:
            # The client has disconnected meanwhile.
            return
        try:
            current.settle_late()
        except (ProtocolError, UnanswerableError) as error:
            self._connection.close(str(error))
        except Exception:
            # A bug in the refusal itself: close, so that the client does not wait for ever.
            log.exception("cannot send the error response to a request")
            self._connection.close("internal error")

    def go_on(self) -> None:
        self._connection.resume(Pause.ANSWER)

    def throttle(self, exchange: Exchange) -> None:
        if exchange.route.times is not None:
            exchange.route.times.note_throttle(exchange.throttle_time_ms)
        self._connection.pause(Pause.THROTTLE)
        self._throttle = self._services.throttled.begin(
            exchange.client, exchange.throttled_by, exchange.throttle_time_ms, self._let_go
        )

    @property
    def received_ns(self) -> int:
        return self._connection.received_ns

    def when_sent(self, then: Callable[[int | None], object]) -> None:
        if not self._when_sent:
            # Also in `_count_sent`, because a request that arrives meanwhile sets `on_sent` to that.
            self._connection.on_sent = self._count_sent = self._sent
        self._when_sent.append(then)

    def _sent(self, now_ns: int) -> None:
        add_sent(self.unsent, now_ns)
        self._notify_sent(now_ns)
        self._connection.on_sent = self._count_sent if self._routes.times else None

    def _notify_sent(self, now_ns: int | None) -> None:
        waiting, self._when_sent = self._when_sent, []
        self._count_sent = partial(add_sent, self.unsent)
        for then in waiting:
            then(now_ns)

    def _let_go(self) -> None:
        throttle, self._throttle = self._throttle, None
        if throttle is not None and throttle.bucket is not None:
            self._waited_for = throttle.bucket
        self._connection.resume(Pause.THROTTLE)

    def take_network_ns(self) -> int:
        connection = self._connection
        network_ns, connection.network_ns = connection.network_ns, 0
        connection.is_timed = True
        return network_ns


def _decode(route: Route, frame: memoryview, position: int, most_elements: int) -> object:
    """Decode a large request; in a thread.

    Raises:
        ProtocolError: The frame is not a valid request.
    """
    try:
        return route.decode(frame, position, Budget(most_elements))[0]
    except (*MALFORMED, ProtocolError) as error:
        raise _malformed(route, error) from None
    except MemoryError:
        raise ProtocolError(f"no memory for a {route.name} request") from None


def _unserved(api_key: int, api_version: int) -> ProtocolError:
    if api_key in CONTROL_KEYS and api_version > APIS[api_key].max_version:
        # A controller uses the version in its settings and does not send ApiVersions.
        newer = "the controller's inter.broker.protocol.version is above 2.7"
        return ProtocolError(f"{APIS[api_key].message} version {api_version} is not supported: {newer}")
    return ProtocolError(f"API key {api_key} version {api_version} is not supported")


def _malformed(route: Route, error: Exception) -> ProtocolError:
    return ProtocolError(f"{route.name} version {route.api_version} is malformed: {error}")
