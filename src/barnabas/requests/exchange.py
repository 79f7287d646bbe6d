"""The life of one request, from a decoded frame to the last byte of its answer.

    admit ─► handle ─► settle(answer | error) ─► throttle ─► encode ─► send ─► measure
                │ waits        ▲
                └── Pending ───┘ at the end of the turn in which it ended

`Session` admits it: a header, a route and a body. The rest happens here, and here alone:

- **Every failure, early or late**, becomes an error answer in the request's own shape: an exception in the handler,
  after a wait, in an executor or in the encoding of the answer. Where no answer can be made (acks=0, or the refusal
  can't be encoded either) the connection closes. Nothing ends in silence.
- **The throttle time** is stamped into whatever answer leaves, and the connection takes no further request until it is
  over. The answer itself leaves at once, as in Kafka since 2.0.
- **The times** of each stage are noted, for Kafka's request metrics.

Invariants: an exchange settles once; what it waited for is settled at the end of the turn, never inside of the call
that completed it; who leaves cancels what his request waits for.

Source: semantics, connections and requests, quotas; KIP-219 (throttling after the answer).
"""

import logging
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError, StorageError, UnanswerableError
from barnabas.core.executor import submit
from barnabas.core.pending import Pending
from barnabas.protocol.wire import WireBuffer
from barnabas.records.errors import CorruptRecordsError
from barnabas.requests.context import ConnectionInfo, RequestContext
from barnabas.requests.services import Services

if TYPE_CHECKING:
    from barnabas.requests.table import Route

log = logging.getLogger(__name__)

_SIZE_AND_CORRELATION_ID = Struct(">ii").pack_into
_START = bytes(8)


def _nothing() -> None:
    return


class Conversation(Protocol):
    """What an exchange asks of the connection that it came in through: `Session`."""

    now_ns: Callable[[], int]

    def hold(self, exchange: "Exchange") -> None:
        """Its answer is pending: take no further request."""
        ...

    def keep_frame(self) -> Callable[[], object]:
        """See `RequestContext.keep_frame`."""
        ...

    def settle_soon(self, outcome: object) -> None:
        """What the exchange on hold waited for has ended: call its `settle_late` at the end of this turn."""
        ...

    def finish(self, exchange: "Exchange", answer: WireBuffer | None) -> None:
        """Send its answer (None: the protocol knows none), and go on with the next request."""
        ...


class Exchange(RequestContext):
    """One request and its answer; handlers see it as their context.

    Attributes:
        route: The API in its version.
        received_ns, admitted_ns, handled_ns, completed_ns: When each stage ended; see `request_times`. `handled_ns` is
            0 where the answer did not have to be waited for: that stage ended when it was complete.
        times: Where they are added up.
    """

    # Set while it waits: what for, and whether that is the refusal of a large request.
    _pending: Pending[Any] | None
    _is_refused: bool

    __slots__ = (
        "_is_refused",
        "_pending",
        "_release_frame",
        "_request",
        "_session",
        "admitted_ns",
        "completed_ns",
        "handled_ns",
        "received_ns",
        "route",
        "times",
    )

    def __init__(
        self,
        services: Services,
        connection: ConnectionInfo,
        client_id: str,
        api_version: int,
        correlation_id: int,
        route: "Route",
        request: object,
        session: "Conversation",
        received_ns: int,
        admitted_ns: int,
    ) -> None:
        # hot path: benchmarks/load (every request); the attributes of the context are set here to save a call
        self.services = services
        self.connection = connection
        self.client_id = client_id
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.is_large = False
        self.throttle_time_ms = 0
        self.route = route
        self.times = route.times
        self.received_ns = received_ns
        self.admitted_ns = admitted_ns
        self.handled_ns = 0
        self._request = request
        self._session = session
        # What gives up the frame; None while it is valid during the call only.
        self._release_frame: Callable[[], object] | None = None

    def begin(self) -> None:
        """Handle the request: answer it, or begin to wait.

        Raises:
            ProtocolError, UnanswerableError: The connection must close.
        """
        try:
            answer = self.route.handle(self, self._request)
        except Exception as error:
            self._refuse(error)
            return
        if isinstance(answer, Pending):
            self._wait_for(answer)
        else:
            self._settle(answer)

    def begin_large(self, decoding: Pending[object], release_frame: Callable[[], object]) -> None:
        """Handle a large request once it is decoded.

        Args:
            release_frame: Called when its frame is not needed any more.
        """
        self.is_large = True
        self._release_frame = release_frame
        self._wait_for(decoding.followed(self._handle_large))

    def _handle_large(self, request: object) -> Any:
        self._request = request
        answer = self.route.handle(self, request)
        self.handled_ns = self._session.now_ns()
        return answer

    def keep_frame(self) -> Callable[[], object]:
        release, self._release_frame = self._release_frame, _nothing
        # Where it is kept already, that is the handler's business from now on.
        return self._session.keep_frame() if release is None else release

    def _let_frame_go(self) -> None:
        release, self._release_frame = self._release_frame, None
        if release is not None:
            release()

    def cancel(self) -> None:
        """The peer is gone: nobody waits for the answer."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        # What has ended a moment ago is not settled any more: nobody else gives the frame up.
        if pending.is_done or not (self.is_large and self.route.goes_on):
            pending.cancel()
            self._let_frame_go()

    # --- a late answer

    def _wait_for(self, pending: Pending[Any], is_refusal: bool = False) -> None:
        if pending.is_done and pending.error is None and not self.is_large:
            self._settle(pending.value)
            return
        if not self.handled_ns:
            self.handled_ns = self._session.now_ns()
        self._pending = pending
        self._is_refused = is_refusal
        self._session.hold(self)
        ended = self._ended if self.is_large else self._session.settle_soon
        pending.then(ended, ended)

    def _ended(self, outcome: object) -> None:
        if self._pending is not None:
            self._session.settle_soon(outcome)
        else:
            # The peer has left; what it asked for was carried out all the same.
            self._let_frame_go()

    def settle_late(self) -> None:
        """What was waited for is there, and the turn in which it came is over.

        Raises:
            ProtocolError, UnanswerableError: The connection must close.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            if pending.error is not None:
                self._refuse(pending.error, self._is_refused)
                return
            answer = pending.value
            if isinstance(answer, WireBuffer):
                self._send(answer)
            else:
                self._settle(answer)
        except Exception:
            self._let_frame_go()
            raise

    # --- the answer, or the refusal in its place

    def _settle(self, response: Any, is_refusal: bool = False) -> None:
        # hot path: benchmarks/load (every answer)
        if self.is_large and response is not None:
            self._settle_large(lambda: response)
            return
        if self.throttle_time_ms:
            self._stamp(response)
        if response is None:
            self._send(None)
            return
        try:
            out = self._encoded(response)
        except Exception as error:
            self._refuse(error, is_refusal)
            return
        # As `_send`, without the call.
        session = self._session
        self.completed_ns = session.now_ns()
        session.finish(self, out)

    def _settle_large(self, make_response: Callable[[], Any], is_refusal: bool = False) -> None:
        """Make the answer and encode it, both in a thread."""

        def work() -> WireBuffer:
            response = make_response()
            if self.throttle_time_ms:
                self._stamp(response)
            return self._encoded(response)

        self._wait_for(submit(self.services.slices.codec, work), is_refusal)

    def _stamp(self, response: Any) -> None:
        route = self.route
        if response is not None and route.has_throttle_time:
            response.throttle_time_ms = self.throttle_time_ms
        route.times.throttle_ms += self.throttle_time_ms

    def _encoded(self, response: Any) -> WireBuffer:
        out = WireBuffer(_START)
        if self.route.has_tagged_header:
            out.append(0)
        self.route.encode(response, out)
        size = out.total_bytes() if out.regions else len(out)
        _SIZE_AND_CORRELATION_ID(out, 0, size - 4, self.correlation_id)
        return out

    def _send(self, answer: WireBuffer | None) -> None:
        if self.is_large:
            self._let_frame_go()
            # What it named is as large as the answer, and not needed any more.
            self._request = None
        session = self._session
        self.completed_ns = session.now_ns()
        session.finish(self, answer)

    def _refuse(self, error: BaseException, is_second: bool = False) -> None:
        """Answer with an error in the request's shape.

        Args:
            is_second: It is the refusal itself that failed.

        Raises:
            ProtocolError, UnanswerableError: There is no such answer.
        """
        route = self.route
        if isinstance(error, (ProtocolError, UnanswerableError)):
            raise error
        code = error_code_of(error)
        if code is ErrorCode.UNKNOWN_SERVER_ERROR:
            log.error("%s version %d of %s failed", route.name, self.api_version, self.client_id, exc_info=error)
        if is_second:
            raise UnanswerableError(f"{route.name} failed, and so did saying so") from error
        route.times.failure_count += 1
        if self.is_large:
            self._settle_large(lambda: route.refuse(self, self._request, code), is_refusal=True)
        else:
            self._settle(route.refuse(self, self._request, code), is_refusal=True)


def error_code_of(error: BaseException) -> ErrorCode:
    """What a client is told of an exception; UNKNOWN_SERVER_ERROR where it is a bug of ours."""
    match error:
        case KafkaError():
            return error.code
        case StorageError():
            return ErrorCode.KAFKA_STORAGE_ERROR
        case CorruptRecordsError():
            return ErrorCode.CORRUPT_MESSAGE
        case _:
            return ErrorCode.UNKNOWN_SERVER_ERROR
