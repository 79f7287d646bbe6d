"""Times of a slow request by stage, and the reason for its wait. Computed only for requests that were slow, so others
cost nothing (except fetches with a large answer, whose sending must be measured).

| stage  | from                         | to                                                           |
| ------ | ---------------------------- | ------------------------------------------------------------ |
| queue  | its bytes were received      | its handling begins                                          |
| local  | its handling begins          | its answer is complete, or the handler waits                 |
| remote | the handler waits            | its answer is complete                                       |
| send   | its answer is complete       | the socket has taken all of it; None: the client disconnected |

A fetch that waits for records is not slow during the wait that it requested. A fetch with a large answer is also slow
if its client takes long to read it, or disconnects after a long time.
"""

from collections.abc import Callable
from typing import Final, Protocol

from barnabas.broker.diagnostics import Row
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import FETCH_KEY
from barnabas.wire.protocol.messages.fetch import FetchRequest

_NS_PER_MS: Final = 1_000_000
# By API key, the reason for the handler's wait; Produce and Fetch set it themselves.
_WAIT_FOR: Final = {
    **dict.fromkeys((8, 12, 22, 24, 25, 26, 28), "coordinator"),
    **dict.fromkeys((3, 19, 20, 37, 43, 45, 46), "controller"),
    **dict.fromkeys((29, 30, 31, 33, 38, 39, 40, 44, 49, 51), "registry"),
    FETCH_KEY: "records",
}


class Api(Protocol):
    """An API in one version: `Route`."""

    api_key: int
    api_name: str
    slow_ns: int


class Finished(Protocol):
    """A request with a complete answer: `Exchange`."""

    services: Services
    connection: ConnectionInfo
    client_id: str
    api_version: int
    throttle_time_ms: int
    waited_for: str
    admitted_ns: int
    handled_ns: int

    @property
    def route(self) -> Api: ...

    @property
    def request(self) -> object: ...


class Sends(Protocol):
    """The connection of a request: `Session`."""

    @property
    def received_ns(self) -> int: ...

    def when_sent(self, then: Callable[[int | None], object]) -> None: ...


def note_slow(request: Finished, connection: Sends, now_ns: int) -> None:
    """Record a request that is slow, or whose answer is read slowly, after the answer was sent or the client left."""
    diagnostics, slow_ns = request.services.diagnostics, request.route.slow_ns
    if diagnostics is None:
        return
    is_slow = now_ns - request.admitted_ns - _asked_for_ns(request, now_ns) > slow_ns
    # For a pipelined request this is when the connection's last bytes arrived.
    received_ns = min(connection.received_ns, request.admitted_ns) or request.admitted_ns
    clock = request.services.clock
    began_ms = clock.now_ms() - (now_ns - received_ns) // _NS_PER_MS

    def sent(sent_ns: int | None) -> None:
        # A client that disconnected had this time to read it.
        sending_ns = (sent_ns or max(clock.monotonic_ns(), now_ns)) - now_ns
        is_taken_slowly = sending_ns > slow_ns
        if is_slow or is_taken_slowly:
            is_known = sent_ns is not None or is_taken_slowly
            row = _row(request, received_ns, now_ns, sending_ns if is_known else None, is_slow)
            diagnostics.requests.add({"at_ms": began_ms, **row})

    connection.when_sent(sent)


def _row(request: Finished, received_ns: int, now_ns: int, sending_ns: int | None, is_slow: bool) -> Row:
    """Return the row of a request with its times.

    Args:
        now_ns: When its answer was complete.
        is_slow: Whether it was slow by then. If not, its wait was short or requested, and is omitted.
    """
    info, handled_ns = request.connection, request.handled_ns or now_ns
    waited_ns = now_ns - handled_ns if is_slow else 0
    waited_for = request.waited_for or _WAIT_FOR.get(request.route.api_key, "executor")
    return {
        "api": request.route.api_name,
        "version": request.api_version,
        "user": info.principal.name,
        "client_id": request.client_id,
        "host": info.host,
        "software": info.software or None,
        "total_ms": (handled_ns - received_ns + waited_ns + (sending_ns or 0)) // _NS_PER_MS,
        "queue_ms": (request.admitted_ns - received_ns) // _NS_PER_MS,
        "local_ms": (handled_ns - request.admitted_ns) // _NS_PER_MS,
        "remote_ms": waited_ns // _NS_PER_MS,
        "send_ms": None if sending_ns is None else sending_ns // _NS_PER_MS,
        "waited_for": waited_for if request.handled_ns and is_slow else None,
        "throttle_ms": request.throttle_time_ms,
    }


def _asked_for_ns(request: Finished, now_ns: int) -> int:
    """Return the part of a fetch's wait that it requested."""
    if request.route.api_key != FETCH_KEY or not request.handled_ns or request.waited_for:
        return 0
    waited_ns = now_ns - request.handled_ns
    # A large request is released when its answer is made.
    wanted = request.request
    return min(waited_ns, wanted.max_wait_ms * _NS_PER_MS) if isinstance(wanted, FetchRequest) else waited_ns
