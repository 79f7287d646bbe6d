"""Requests that a test kit intercepts: refuses, delays, changes, or only observes.

    request ─► wrapped handler ─► kit: a verdict ─► handler ─► kit: another answer, if requested ─► answer

The routes of the APIs that the kit watches get another handler, which asks the kit first. All unwatched routes have
their original handlers, so interception costs nothing when unused. A verdict leads to an answer, an error that
`Exchange` puts into the request's own shape, or the end of the connection, like any request.

Invariants:
- The kit gets a request before any of it is handled; the request and its connection wait for the verdict.
- After the kit has disconnected, every request is handled as if the kit had never existed.
"""

from collections.abc import Callable
from typing import Any

from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.interception_messages import Fields, Verdict
from barnabas.broker.requests.table import Route, RouteTable
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import UnanswerableError
from barnabas.core.pending import Pending, completed
from barnabas.core.timers import Timers
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.fetch import FetchResponse
from barnabas.wire.protocol.wire import UNLIMITED_ELEMENTS, Budget, Message, WireBuffer

_Handle = Callable[[RequestContext, Any], object]
_AS_IT_CAME = Verdict()
_OF_FETCH_SESSIONS = frozenset({ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH})


class Interceptor:
    """Puts itself before the handlers of the APIs that a kit watches."""

    def __init__(self, routes: RouteTable, timers: Timers, send: Callable[[Fields, bytes | bytearray], object]) -> None:
        """Args:
        send: Sends a message to the kit; see `interception_messages`.
        """
        self._routes = routes
        self._timers = timers
        self._send = send
        self._originals: dict[Route, _Handle] = {}
        self._next_id = 0
        self._requests: dict[int, Pending[tuple[Verdict, bytearray | None]]] = {}
        self._answers: dict[int, Pending[bytearray | None]] = {}

    def on_message(self, fields: Fields, body: bytearray) -> None:
        """Process a message from the kit."""
        match fields["op"]:
            case "watch":
                not_served = self._watch(fields["api_keys"])
                self._send({"op": "watching", "id": fields["id"], "not_served": not_served}, b"")
            case "verdict":
                # Unknown if its client has disconnected meanwhile.
                request = self._requests.pop(fields["id"], None)
                if request is not None:
                    request.complete((Verdict(**fields["verdict"]), body if fields["is_changed"] else None))
            case "answer":
                answer = self._answers.pop(fields["id"], None)
                if answer is not None:
                    answer.complete(body)
            case other:
                raise ValueError(f"no message is called {other}")

    def close(self) -> None:
        """Restore the handlers and continue all requests, because the kit has disconnected."""
        self._restore()
        requests, self._requests = self._requests, {}
        for request in requests.values():
            request.complete((_AS_IT_CAME, None))
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.complete(None)

    def _watch(self, api_keys: list[int]) -> list[int]:
        """Intercept the requests of only these APIs; return those that are not supported."""
        self._restore()
        not_served = []
        for api_key in api_keys:
            routes = self._routes.of(api_key)
            if not routes:
                not_served.append(api_key)
            for route in routes:
                self._wrap(route)
        return not_served

    def _restore(self) -> None:
        for route, handle in self._originals.items():
            route.handle = handle
        self._originals.clear()

    def _wrap(self, route: Route) -> None:
        handle = self._originals[route] = route.handle

        def intercepted(ctx: RequestContext, request: Message) -> object:
            # A copy for the kit and for `_carry_out`: a waiting request loses its bytes in the connection's buffer.
            body = WireBuffer()
            request.encode(route.api_version, body)
            self._next_id += 1
            number = self._next_id
            verdict: Pending[tuple[Verdict, bytearray | None]] = Pending()
            verdict.on_cancel = lambda: self._requests.pop(number, None)
            self._requests[number] = verdict
            self._send(
                {
                    "op": "request",
                    "id": number,
                    "api_key": route.api_key,
                    "api_version": route.api_version,
                    "client_id": ctx.client_id,
                },
                body,
            )

            def carry_out(said: tuple[Verdict, bytearray | None]) -> Pending[Any]:
                return self._carry_out(route, handle, ctx, number, said[0], body if said[1] is None else said[1])

            return verdict.and_then(carry_out)

        route.handle = intercepted

    def _carry_out(
        self, route: Route, handle: _Handle, ctx: RequestContext, number: int, verdict: Verdict, body: bytearray
    ) -> Pending[Any]:
        request, _ = route.decode(memoryview(body), 0, Budget(UNLIMITED_ELEMENTS))
        if _ends(verdict) and not verdict.handles_first:
            return _end(route, ctx, request, verdict)
        answer = handle(ctx, request)
        pending: Pending[Any] = answer if isinstance(answer, Pending) else completed(answer)
        if _ends(verdict):
            return pending.and_then(lambda _: _end(route, ctx, request, verdict))
        if verdict.shows_answer:
            pending = pending.and_then(lambda response: self._ask_for_another(route, ctx, number, response))
        if verdict.delay_ms:
            pending = pending.and_then(lambda response: self._later(response, verdict.delay_ms))
        return pending

    def _ask_for_another(self, route: Route, ctx: RequestContext, number: int, response: Any) -> Pending[Any]:
        if response is None:
            # Produce with acks=0 has no answer.
            return completed(None)
        out = WireBuffer()
        route.encode(response, out)
        answer: Pending[bytearray | None] = Pending()
        answer.on_cancel = lambda: self._answers.pop(number, None)
        self._answers[number] = answer
        self._send({"op": "answer", "id": number}, _flat(out))

        def decode(body: bytearray | None) -> object:
            if body is None:
                return response
            return response_class(route.api_key).decode(route.api_version, memoryview(body))[0]

        return answer.shaped(decode)

    def _later(self, response: Any, delay_ms: float) -> Pending[Any]:
        pending: Pending[Any] = Pending()
        timer = self._timers.call_later(delay_ms, pending.complete, response)
        pending.on_cancel = timer.cancel
        return pending


def _ends(verdict: Verdict) -> bool:
    """Return whether the verdict replaces the handler's answer."""
    return bool(verdict.error_code) or verdict.drops or verdict.ignores


def _end(route: Route, ctx: RequestContext, request: Any, verdict: Verdict) -> Pending[Any]:
    if verdict.error_code:
        return completed(_refusal(route, ctx, request, ErrorCode(verdict.error_code)))
    pending: Pending[Any] = Pending()
    if verdict.drops:
        pending.fail(UnanswerableError("the test kit drops it"))
    return pending


def _refusal(route: Route, ctx: RequestContext, request: Any, error_code: ErrorCode) -> object:
    """Return the error response as a regular broker builds it.

    Raises:
        UnanswerableError: No error answer is possible.
    """
    answer = route.refuse(ctx, request, error_code)
    if isinstance(answer, FetchResponse) and error_code not in _OF_FETCH_SESSIONS:
        # A Fetch that fails as a whole also has a top-level error. Clients then ignore its partitions, drop their
        # session and retry. A regular error of partitions has no top-level error.
        answer.error_code = ErrorCode.NONE
    return answer


def _flat(out: WireBuffer) -> bytearray:
    """Return the encoded bytes with the contents of file regions inserted."""
    flat = bytearray()
    position = 0
    for at, region in out.regions:
        flat += out[position:at]
        assert isinstance(region, FileSlice)
        flat += region.read()
        position = at
    return flat + out[position:]
