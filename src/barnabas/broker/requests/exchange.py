"""The life of one request, from a decoded frame to the last byte of its answer.

    admit ─► handle ─► settle(answer | error) ─► encode ─► count, throttle ─► send ─► measure
                │ waits        ▲
                └── Pending ───┘ at the end of the turn in which it ended

`Session` admits it: a header, a route and a body. All further steps happen here only:

- **Every failure, early or late**, becomes an error answer in the request's own shape: an exception in the handler,
  after a wait, in an executor or in the encoding of the answer. If no answer can be made (acks=0, or the refusal
  cannot be encoded either) the connection closes. No request ends without one of the two.
- **Quotas** (`metering.py`) count the use of the request. The throttle time is set in every answer, and the connection
  reads no further request until it is over. The answer itself is sent at once, as in Kafka since 2.0.
- **The times** of each stage are measured for Kafka's request metrics, if metrics are enabled. Each client's use is
  always counted, as plain sums (`manager.Client`).

Invariants: an exchange settles once; a pending answer is settled at the end of the turn, never inside the call that
completed it; a client that disconnects cancels its pending answer.

Source: semantics, connections and requests, quotas; KIP-219 (throttling after the answer).
"""

import logging
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Any, Final, Protocol, TypeVar

from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.controller_mutations import ControllerMutationQuota
from barnabas.broker.quotas.manager import Client
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.metering import may_fetch, meter
from barnabas.broker.requests.request_times import add_sent
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import FETCH_KEY, PRODUCE_KEY, Route
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError, StorageError, UnanswerableError
from barnabas.core.executor import submit_while_wanted
from barnabas.core.pending import Pending
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.records.errors import CorruptRecordsError

log = logging.getLogger(__name__)

T = TypeVar("T")

_SIZE_AND_CORRELATION_ID: Final = Struct(">ii").pack_into
_START: Final = bytes(8)
# The socket buffers of both sides take an answer of up to this size at once, however slow the peer is.
_TAKEN_AT_ONCE_BYTES: Final = 256 * 1024


def _nothing() -> None:
    return


class Conversation(Protocol):
    """The connection of an exchange: `Session`.

    Attributes:
        received_ns: When its last bytes arrived.
        unsent: Exchanges whose answers are sent next; their times are counted after that.
    """

    @property
    def received_ns(self) -> int: ...

    now_ns: Callable[[], int]
    send: Callable[[WireBuffer, int], object]
    unsent: list["Exchange"]

    def wait_for_answer(self, exchange: "Exchange") -> None:
        """Stop reading requests, because the answer is pending."""
        ...

    def keep_frame(self) -> Callable[[], object]:
        """See `RequestContext.keep_frame`."""
        ...

    def settle_soon(self, outcome: object) -> None:
        """Call the exchange's `settle_late` at the end of this turn, because its pending answer is complete."""
        ...

    def take_network_ns(self) -> int:
        """Return the connection's time for receiving and sending since the last call; measured from the first call."""
        ...

    def throttle(self, exchange: "Exchange") -> None:
        """Stop reading requests until the throttle time is over."""
        ...

    def when_sent(self, then: Callable[[int | None], object]) -> None:
        """Call `then` with the time once the current answer is sent, or with None if it never will be."""
        ...

    def go_on(self) -> None:
        """Continue with the next request, because this one has no answer."""
        ...


class Exchange(RequestContext):
    """One request and its answer; handlers see it as their context.

    Attributes:
        route: The API in its version.
        received_ns, admitted_ns, handled_ns, completed_ns: When each stage ended; see `request_times`. `handled_ns` is
            0 if the answer was never pending: handling then ended at completion. `received_ns` and `completed_ns` are
            set only if metrics are enabled.
        client: Its client.
        request: The decoded request; None before a large request is decoded and after its answer is made.
        is_metered: Whether quotas have counted it.
        throttled_by: The quota that throttles its client after the answer; None: not throttled.
    """

    # Set if metrics are enabled.
    received_ns: int
    completed_ns: int
    # Set when a large answer is encoded: the count of each error code in it.
    _errors: defaultdict[int, int]
    # Set while it waits: the pending answer, and whether that is the refusal of a large request.
    _pending: Pending[Any] | None
    _is_refused: bool

    __slots__ = (
        "_errors",
        "_is_refused",
        "_pending",
        "_release_frame",
        "_session",
        "_worked_elsewhere",
        "admitted_ns",
        "client",
        "completed_ns",
        "handled_ns",
        "is_metered",
        "received_ns",
        "request",
        "resumed_ns",
        "route",
        "throttled_by",
    )

    def __init__(
        self,
        services: Services,
        connection: ConnectionInfo,
        client_id: str,
        api_version: int,
        correlation_id: int,
        route: Route,
        request: object,
        session: "Conversation",
        admitted_ns: int,
        client: Client,
        frame_bytes: int,
    ) -> None:
        # hot path: benchmarks/load (every request); the attributes of the context are set here to save a call
        self.services = services
        self.connection = connection
        self.client_id = client_id
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.is_large = False
        self.throttle_time_ms = 0
        self.waited_for = ""
        self.route = route
        self.admitted_ns = admitted_ns
        self.handled_ns = self.resumed_ns = 0
        # Duration of each piece of its work in an executor, in ns.
        self._worked_elsewhere: list[int] | None = None
        self.client = client
        self.frame_bytes = frame_bytes
        self.is_metered = False
        self.throttled_by: Bucket | None = None
        self.request = request
        self._session = session
        # Releases the frame; None: the frame is valid only during the handler's call.
        self._release_frame: Callable[[], object] | None = None

    @property
    def request_name(self) -> str:
        return self.route.api_name

    def begin(self) -> None:
        """Handle the request: answer it, or begin to wait.

        Raises:
            ProtocolError, UnanswerableError: The connection must close.
        """
        # A callable in a slot is called through a local, here and below: that halves the cost.
        handle = self.route.handle
        try:
            answer = handle(self, self.request)
        except Exception as error:
            self._refuse(error)
            return
        if isinstance(answer, Pending):
            self._wait_for(answer)
        else:
            self._settle(answer)

    def begin_large(self, decode: Callable[[], object], release_frame: Callable[[], object]) -> None:
        """Decode a large request in a thread, then handle it.

        Args:
            release_frame: Called when the request's frame is no longer needed.
        """
        self.is_large = True
        decoding: Pending[object] = Pending()
        timed_decode = self.timed(decode)

        def work() -> object:
            return None if decoding.is_done else timed_decode()

        def ended(tell: Callable[[Any], object], outcome: object) -> None:
            if decoding.is_done:
                # The client has disconnected. The frame was kept until now, because the work refers to it.
                release_frame()
            else:
                self._release_frame = release_frame
                tell(outcome)

        self.services.slices.codec.run(work, partial(ended, decoding.complete), partial(ended, decoding.fail))
        self._wait_for(decoding.and_then(self._handle_large))

    def _handle_large(self, request: object) -> Any:
        self.request = request
        answer = self.route.handle(self, request)
        self.handled_ns = self._session.now_ns()
        return answer

    def keep_frame(self) -> Callable[[], object]:
        release, self._release_frame = self._release_frame, _nothing
        # If the frame is kept already, the handler becomes responsible for its release.
        return self._session.keep_frame() if release is None else release

    def _let_frame_go(self) -> None:
        release, self._release_frame = self._release_frame, None
        if release is not None:
            release()

    def cancel(self) -> None:
        """Cancel the pending answer, because the client disconnected."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if not self.is_metered and self.services.quotas.is_any:
            # The request may be carried out anyway, so count its use for the client's next connection.
            meter(self, self._session.now_ns())
        # An answer that has just completed is not settled any more: release the frame here.
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
        self._session.wait_for_answer(self)
        ended = self._ended if self.is_large else self._session.settle_soon
        pending.then(ended, ended)

    def _ended(self, outcome: object) -> None:
        if self._pending is not None:
            self._session.settle_soon(outcome)
        else:
            # The client has disconnected, but its request was carried out.
            self._let_frame_go()

    def settle_late(self) -> None:
        """Complete an exchange whose answer was pending, after the turn in which it completed.

        Raises:
            ProtocolError, UnanswerableError: The connection must close.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            return
        self.resumed_ns = self._session.now_ns()
        try:
            if pending.error is not None:
                self._refuse(pending.error, self._is_refused)
                return
            answer = pending.value
            if isinstance(answer, WireBuffer):
                self._send_late(answer)
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
        is_counted = self.is_metered or not self.services.quotas.is_any
        if response is None:
            now_ns = self._session.now_ns()
            if not is_counted:
                meter(self, now_ns)
            if self.is_large:
                self._let_frame_go()
            self._finish(None, now_ns)
            return
        route = self.route
        if route.times is not None and route.count_errors is not None:
            route.count_errors(response, route.times.errors)
        clock_ns = self._session.now_ns
        try:
            if self.throttle_time_ms:
                self._stamp(response)
            out = self._encoded(response)
            now_ns = clock_ns()
            if not is_counted and meter(self, now_ns):
                self._stamp(response)
                out = self._encoded(response)
        except Exception as error:
            self._refuse(error, is_refusal)
            return
        self._finish(out, now_ns)

    def _settle_large(self, make_response: Callable[[], Any], is_refusal: bool = False) -> None:
        """Make the answer and encode it, both in a thread."""
        if not self.is_metered and self.services.quotas.is_any:
            meter(self, self._session.now_ns())

        def work() -> WireBuffer:
            response = make_response()
            if self.throttle_time_ms:
                self._stamp(response)
            if self.route.count_errors is not None:
                # The event loop adds these to the route's counts.
                self.route.count_errors(response, errors)
            return self._encoded(response)

        errors = self._errors = defaultdict(int)
        self._wait_for(submit_while_wanted(self.services.slices.codec, self.timed(work)), is_refusal)

    def _stamp(self, response: Any) -> None:
        if self.route.has_throttle_time:
            response.throttle_time_ms = self.throttle_time_ms

    # --- quotas

    def quota_bucket(self, kind: QuotaKind) -> Bucket | None:
        services = self.services
        return self.client.bucket(kind, services.clock.monotonic_ms()) if services.quotas.is_enabled[kind] else None

    def controller_quota(self, first_strict_version: int) -> ControllerMutationQuota:
        bucket = self.quota_bucket(QuotaKind.CONTROLLER_MUTATION)
        is_strict = self.api_version >= first_strict_version
        return ControllerMutationQuota(bucket, is_strict, self.services.clock.monotonic_ms, self.client)

    def throttle_by(self, quota: ControllerMutationQuota) -> None:
        self.throttle_time_ms, self.throttled_by = quota.throttle_ms, quota.bucket

    def may_fetch(self, answer_bytes: int) -> bool:
        return may_fetch(self, answer_bytes, self._session.now_ns())

    def worked_ns(self, now_ns: int) -> int:
        """Return the time that the broker has worked on the request so far, without waits."""
        handled_ns, resumed_ns = self.handled_ns, self.resumed_ns
        elsewhere_ns = sum(self._worked_elsewhere) if self._worked_elsewhere else 0
        if not handled_ns:
            return now_ns - self.admitted_ns + elsewhere_ns
        late_ns = now_ns - resumed_ns if resumed_ns else 0
        return handled_ns - self.admitted_ns + late_ns + elsewhere_ns

    def timed(self, work: Callable[[], T]) -> Callable[[], T]:
        now_ns = self._session.now_ns
        worked = self._worked_elsewhere
        if worked is None:
            worked = self._worked_elsewhere = []

        def timed() -> T:
            started_ns = now_ns()
            try:
                return work()
            finally:
                worked.append(now_ns() - started_ns)

        return timed

    def take_used_ns(self, now_ns: int) -> int:
        """Return the same as `worked_ns`, plus the connection's network time since the last counted request."""
        network_ns = self._session.take_network_ns()
        if self.handled_ns or self._worked_elsewhere:
            return self.worked_ns(now_ns) + network_ns
        return now_ns - self.admitted_ns + network_ns

    def _encoded(self, response: Any) -> WireBuffer:
        out = WireBuffer(_START)
        route = self.route
        if route.has_tagged_header:
            out.append(0)
        encode = route.encode
        encode(response, out)
        size = out.total_bytes() if out.regions else len(out)
        _SIZE_AND_CORRELATION_ID(out, 0, size - 4, self.correlation_id)
        return out

    def _send_late(self, answer: WireBuffer) -> None:
        """Send an answer that was encoded in a thread, or was already encoded."""
        if self.is_large:
            self._let_frame_go()
            if self.route.times is not None:
                counts = self.route.times.errors
                for code, count in self._errors.items():
                    counts[code] += count
            # The request is as large as the answer, and no longer needed.
            self.request = None
        self._finish(answer, self._session.now_ns())

    def _finish(self, answer: WireBuffer | None, now_ns: int) -> None:
        """Send the answer (None: the protocol has none), then let the next request run."""
        # hot path: benchmarks/load (every answer)
        session, route, client = self._session, self.route, self.client
        taken_ns = now_ns - self.admitted_ns
        client.request_ns += self.worked_ns(now_ns) if self.handled_ns else taken_ns
        if route.api_key == PRODUCE_KEY:
            client.produced_bytes += self.frame_bytes
        elif route.api_key == FETCH_KEY and answer is not None:
            answer_bytes = answer.total_bytes()
            client.fetched_bytes += answer_bytes
            if answer_bytes > _TAKEN_AT_ONCE_BYTES and taken_ns <= route.slow_ns:
                # It may become slow, because of its receiver.
                _note_slow(self, session, now_ns)
        if taken_ns > route.slow_ns:
            _note_slow(self, session, now_ns)
        if self.throttle_time_ms:
            session.throttle(self)
        if route.times is not None:
            self.completed_ns = now_ns
            if answer is None:
                add_sent([self], now_ns)
            else:
                session.unsent.append(self)
        if answer is None:
            session.go_on()
        else:
            send = session.send
            send(answer, now_ns)

    def _refuse(self, error: BaseException, is_second: bool = False) -> None:
        """Answer with an error in the request's shape.

        Args:
            is_second: Whether the refusal itself failed.

        Raises:
            ProtocolError, UnanswerableError: No error answer is possible.
        """
        route = self.route
        if isinstance(error, (ProtocolError, UnanswerableError)):
            raise error
        code = error_code_of(error)
        if code is ErrorCode.UNKNOWN_SERVER_ERROR:
            log.error("%s version %d of %s failed", route.name, self.api_version, self.client_id, exc_info=error)
        if is_second:
            raise UnanswerableError(f"{route.name} failed, and so did its error response") from error
        if route.times is not None:
            route.times.failure_count += 1
        if self.is_large:
            self._settle_large(lambda: route.refuse(self, self.request, code), is_refusal=True)
        else:
            self._settle(route.refuse(self, self.request, code), is_refusal=True)


def _note_slow(exchange: Exchange, session: Conversation, now_ns: int) -> None:
    # Imported here, as most brokers have no slow requests.
    from barnabas.broker.requests.slow_requests import note_slow

    note_slow(exchange, session, now_ns)


def error_code_of(error: BaseException) -> ErrorCode:
    """Return the client's error code for an exception; UNKNOWN_SERVER_ERROR for an internal error."""
    match error:
        case KafkaError():
            return error.code
        case StorageError():
            return ErrorCode.KAFKA_STORAGE_ERROR
        case CorruptRecordsError():
            return ErrorCode.CORRUPT_MESSAGE
        case _:
            return ErrorCode.UNKNOWN_SERVER_ERROR
