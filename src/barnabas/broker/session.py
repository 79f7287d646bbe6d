"""One connection's requests: frame ─► header ─► route ─► decode ─► handle ─► encode ─► answer.

Invariants:
- Answers leave in the order of the requests: while one is pending no further frame is taken.
- Whatever is wrong with a frame costs its own connection and one log line.
- A request other than Produce with more than `max_array_elements` array elements in all is refused.

Source: semantics, connections and requests; ApiVersions.
"""

import logging
from struct import Struct

from barnabas.broker.context import ConnectionInfo, RequestContext, Services
from barnabas.broker.table import API_VERSIONS_KEY, Route, RouteTable
from barnabas.core.errors import ProtocolError
from barnabas.core.pending import Pending
from barnabas.net.transport import Connection
from barnabas.protocol.header import decode_request_header
from barnabas.protocol.wire import MALFORMED, Budget, WireBuffer

log = logging.getLogger(__name__)

# A partition of a produce request holds a batch of at least 61 bytes and has a topic at most to itself: two elements in
# 75 bytes. More elements than bytes allow are empty ones, which only a hostile peer sends.
# differs from Kafka (produce-array-elements): memory is its only limit.
LEAST_PRODUCE_ELEMENT_BYTES = 32
# And however large the frame is, so many times the limit of other requests: what is beyond holds up the loop.
MOST_PRODUCE_ELEMENTS_FACTOR = 2
_SIZE = Struct(">i")
_START = b"\0\0\0\0"


class Session:
    """The frame handler of one connection."""

    __slots__ = ("_budget", "_connection", "_info", "_max_array_elements", "_pending", "_routes", "_services")

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
        self._routes = routes
        self._max_array_elements = max_array_elements
        self._budget = Budget(max_array_elements)
        self._pending: Pending[object] | None = None

    def on_frame(self, frame: memoryview) -> None:
        """Answer one request, now or later.

        Raises:
            ProtocolError: The frame is no request that this broker serves; nothing was changed by it.
        """
        # hot path: benchmarks/load (every request)
        api_key, api_version, correlation_id, client_id, position = decode_request_header(frame)
        route = self._routes.find(api_key, api_version)
        if route is None:
            if api_key != API_VERSIONS_KEY:
                raise ProtocolError(f"API key {api_key} version {api_version} is not served")
            # A newer client asks first of all what there is; it reads this answer in version 0 whatever it asked.
            route = self._routes.unsupported_api_versions
            request: object = None
        else:
            most_elements = self._max_array_elements
            if not route.is_limited:
                most_elements = min(
                    len(frame) // LEAST_PRODUCE_ELEMENT_BYTES, MOST_PRODUCE_ELEMENTS_FACTOR * most_elements
                )
            # One for all requests of the connection: only one is decoded at a time.
            budget = self._budget
            budget.elements_left = most_elements
            try:
                request, _ = route.decode(frame, position, budget)
            except (*MALFORMED, ProtocolError) as error:
                raise ProtocolError(f"{route.name} version {api_version} is malformed: {error}") from None
        context = RequestContext(self._services, self._info, client_id or "", api_version, correlation_id)
        try:
            answer = route.handle(context, request)
        except ProtocolError:
            raise
        # differs from Kafka (handler-exception): it answers with an error in the shape of the request.
        except Exception:
            log.exception("%s version %d failed; the connection closes", route.name, api_version)
            raise ProtocolError("the request could not be handled") from None
        if isinstance(answer, Pending):
            self._wait_for(answer, route, correlation_id)
        elif answer is not None:
            self._connection.send(encode_answer(route, correlation_id, answer))

    def on_closed(self) -> None:
        """The peer is gone: nobody waits for the pending answer."""
        # differs from Kafka (leaving-peer): it notices when the answer is sent.
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()

    def _wait_for(self, pending: Pending[object], route: Route, correlation_id: int) -> None:
        if pending.is_done:
            self._connection.send(encode_answer(route, correlation_id, pending.value))
            return
        self._pending = pending
        self._connection.hold()

        def answer(response: object) -> None:
            self._pending = None
            if response is None:
                self._connection.release()
            else:
                self._connection.send(encode_answer(route, correlation_id, response))

        pending.then(answer)


def encode_answer(route: Route, correlation_id: int, response: object) -> WireBuffer:
    """A whole answer: size, header, body.

    Args:
        response: An instance of the route's response class.
    """
    out = WireBuffer(_START)
    out += _SIZE.pack(correlation_id)
    if route.has_tagged_header:
        out.append(0)
    route.encode(response, out)
    _SIZE.pack_into(out, 0, out.total_bytes() - 4)
    return out
