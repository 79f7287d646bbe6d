"""SASL authentication: handles the first frames of a connection until the client has logged in.

    ApiVersions? ─► SaslHandshake v0 ─► token ─► token ...          int32 size and bytes, both ways
                                   v1 ─► SaslAuthenticate v0-2 ...
                                                 └► Session

`Authentication` is the connection's first frame handler, and replaces itself by the `Session` after a login. When a
session expires (connections.max.reauth.ms) a timer replaces the session by `_Expired`, and SaslHandshake restores this
handler. So requests need no check of their own.

Invariants:

- Before the login only ApiVersions (once) and SaslHandshake are served; a frame is at most
  sasl.server.max.receive.size, its memory counts as that of unauthenticated connections (`Connection.confine`), and a
  token is at most as long as its mechanism allows.
- A login takes less than a millisecond on the event loop: signatures are verified in an executor.
- A failed login is answered only after connection.failed.authentication.delay.ms, and the connection closes; until then
  nothing more is read from it.
- Neither answers nor log lines contain a secret, or reveal whether a user exists.

Source: semantics, authentication; KIP-43, KIP-152, KIP-368; Kafka 2.7.2, SaslServerAuthenticator, KafkaChannel.
"""

import logging
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from struct import Struct
from typing import Any

from barnabas.broker.net.connection import Connection, FrameHandler, Pause
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import API_VERSIONS_KEY, Route, RouteTable
from barnabas.broker.security.logins import ListenerLogins
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ProtocolError
from barnabas.core.pending import Pending
from barnabas.core.timers import Timer
from barnabas.wire.protocol.api_keys import APIS, ApiKey
from barnabas.wire.protocol.header import decode_request_header
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.wire.protocol.wire import MALFORMED, Budget, WireBuffer
from barnabas.wire.security.principals import USER, Principal
from barnabas.wire.security.sasl.mechanism import Check, LoginError, SaslServer

log = logging.getLogger(__name__)

# Limit for a request before the login: it is decoded only to refuse it in its own shape.
_MOST_ELEMENTS = 1_000
_LEAST_REAUTHENTICATION_NS = 1_000_000_000
_TOO_MANY = "too many logins at the same time: the client must try again"
_SIZE = Struct(">i")
_START = Struct(">ii")
_HANDSHAKE_KEY = int(ApiKey.SASL_HANDSHAKE)


class _State(Enum):
    FIRST_REQUEST = auto()
    HANDSHAKE = auto()  # ApiVersions was answered
    LOGIN = auto()
    WRONG_MECHANISM = auto()  # of a re-authentication
    LOGGED_IN = auto()
    FAILED = auto()


class Authentication:
    """Handles the login of one connection and each re-authentication; see `FrameHandler`."""

    __slots__ = ("_connection", "_has_headers", "_info", "_is_begun", "_last_reauthentication_ns", "_logins",
                 "_max_frame_bytes", "_routes", "_server", "_services", "_session", "_session_timer", "_state",
                 "_wanted", "is_reauthenticating")  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        info: ConnectionInfo,
        session: FrameHandler,
        services: Services,
        routes: RouteTable,
        logins: ListenerLogins,
    ) -> None:
        """Args:
        session: The frame handler after the login.
        """
        self._connection = connection
        self._info = info
        self._session = session
        self._services = services
        self._routes = routes
        self._logins = logins
        self._state = _State.FIRST_REQUEST
        self._server: SaslServer | None = None
        # Whether tokens arrive in SaslAuthenticate requests, or bare.
        self._has_headers = False
        # Whether the client has sent a token in this login.
        self._is_begun = False
        self._wanted = ""
        self._session_timer: Timer | None = None
        self._last_reauthentication_ns: int | None = None
        self.is_reauthenticating = False
        self._max_frame_bytes = connection.max_frame_bytes
        # differs from Kafka (login-frames): 512 KiB there.
        connection.max_frame_bytes = services.config.sasl_server_max_receive_size
        info.authentication = self

    # --- events of the connection

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
        """Process one step of the login.

        Raises:
            ProtocolError: The connection closes at once.
        """
        match self._state:
            case _State.FIRST_REQUEST | _State.HANDSHAKE:
                self._on_request(frame)
            case _State.LOGIN if self._has_headers:
                self._on_authenticate(frame)
            case _State.LOGIN:
                self._on_token(frame)
            case _State.WRONG_MECHANISM:
                self._fail(f"re-authentication with another mechanism: {self._wanted}", None)
            case _:
                raise ProtocolError("frame received after the login failed")

    def on_closed(self) -> None:
        """Notify the session, which calls `on_connection_closed`."""
        self._session.on_closed()

    def on_connection_closed(self) -> None:
        self._stop_timer()
        if self._state is _State.LOGIN and self._is_begun:
            self._logins.rate_limiter.failed()

    # --- requests before the login

    def _on_request(self, frame: memoryview) -> None:
        try:
            api_key, api_version, correlation_id, client_id, position = decode_request_header(frame)
        except ProtocolError as error:
            if self._state is _State.FIRST_REQUEST:
                # A Kerberos token without any request was the first frame before Kafka 0.10.
                self._fail(f"its first frame is not a request ({error}); GSSAPI is not supported", None)
                return
            raise
        if api_key not in (API_VERSIONS_KEY, _HANDSHAKE_KEY):
            self._fail(f"Unexpected Kafka request of type {_api_name(api_key)} during SASL handshake.", None)
            return
        route = self._routes.by_key(api_key << 16 | api_version)
        context = RequestContext(self._services, self._info, client_id or "", api_version, correlation_id)
        if api_key == API_VERSIONS_KEY:
            self._on_api_versions(context, route, frame, position)
        elif route is None:
            raise ProtocolError(f"SaslHandshake version {api_version} is not supported")
        else:
            request = _decode(route, frame, position)
            answer, reason = self._begin(request.mechanism, api_version)
            encoded = _encode(route, answer, correlation_id)
            if reason:
                self._fail(reason, encoded)
            else:
                self._connection.send(encoded)

    def _on_api_versions(self, context: RequestContext, route: Route | None, frame: memoryview, position: int) -> None:
        if self._state is not _State.FIRST_REQUEST:
            raise ProtocolError("second ApiVersions request before the login")
        if route is None:
            route, request = self._routes.unsupported_api_versions, None
        else:
            request = _decode(route, frame, position)
        answer: Any = route.handle(context, request)
        if answer.error_code == ErrorCode.NONE:
            self._state = _State.HANDSHAKE
        self._connection.send(_encode(route, answer, context.correlation_id))

    def _begin(self, mechanism: str, handshake_version: int) -> tuple[SaslHandshakeResponse, str]:
        """Begin a login; return the response and the reason to close the connection after it (empty: do not close)."""
        mechanisms = list(self._logins.mechanisms)
        if mechanism not in mechanisms:
            answer = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms)
            return answer, f"mechanism {mechanism[:40]!r} is not enabled; enabled: {', '.join(mechanisms)}"
        self._has_headers = handshake_version > 0
        self._wanted = mechanism
        if self.is_reauthenticating and mechanism != self._info.sasl_mechanism:
            self._state = _State.WRONG_MECHANISM
        else:
            self._server = self._logins.new_server(mechanism)
            self._is_begun = False
            self._state = _State.LOGIN
        return SaslHandshakeResponse(ErrorCode.NONE, mechanisms), ""

    # --- the login itself

    def _on_token(self, token: memoryview) -> None:
        def answer(challenge: bytes) -> None:
            self._finish_if_complete(can_reauthenticate=False)
            out = WireBuffer(_SIZE.pack(len(challenge)))
            out += challenge
            self._connection.send(out)

        self._take(token, answer, lambda error: self._fail(_reason(error), None))

    def _on_authenticate(self, frame: memoryview) -> None:
        api_key, api_version, correlation_id, client_id, position = decode_request_header(frame)
        route = self._routes.by_key(api_key << 16 | api_version)
        if route is None:
            raise ProtocolError(f"API key {api_key} version {api_version} is not supported")
        request = _decode(route, frame, position)
        if not isinstance(request, SaslAuthenticateRequest):
            context = RequestContext(self._services, self._info, client_id or "", api_version, correlation_id)
            refusal = route.refuse(context, request, ErrorCode.ILLEGAL_SASL_STATE)
            reason = f"Unexpected Kafka request of type {_api_name(api_key)} during SASL authentication."
            self._fail(reason, None if refusal is None else _encode(route, refusal, correlation_id))
            return

        def answer(challenge: bytes) -> None:
            lifetime_ms = self._finish_if_complete(can_reauthenticate=api_version > 0)
            response = SaslAuthenticateResponse(auth_bytes=challenge, session_lifetime_ms=lifetime_ms)
            self._connection.send(_encode(route, response, correlation_id))

        def refuse(error: LoginError) -> None:
            told = str(error) if error.is_told else self._general_reason()
            response = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, told)
            self._fail(_reason(error), _encode(route, response, correlation_id))

        self._take(request.auth_bytes, answer, refuse)

    def _take(
        self, token: bytes | memoryview, answer: Callable[[bytes], None], refuse: Callable[[LoginError], None]
    ) -> None:
        """Process a token from the client.

        Args:
            answer: Called with the next challenge, now or once it is computed.
            refuse: Called with the reason if the token is refused.
        """
        server = self._server
        assert server is not None
        if len(token) > server.most_response_bytes:
            # Refuse it before any use: no user name or token is that long.
            refuse(LoginError(f"its token is longer than {server.most_response_bytes} bytes"))
            return
        step = partial(server.answer, bytes(token))
        if self._is_begun or self.is_reauthenticating:
            self._go_on(step, answer, refuse)
            return
        self._is_begun = True
        self._connection.pause(Pause.ANSWER)
        if not self._logins.rate_limiter.enter(lambda: self._go_on(step, answer, refuse)):
            raise ProtocolError(_TOO_MANY)

    def _go_on(
        self,
        step: Callable[[], bytes | Check],
        answer: Callable[[bytes], None],
        refuse: Callable[[LoginError], None],
    ) -> None:
        if self._connection.is_closed:
            # It closed while an executor computed the challenge.
            return
        try:
            challenge = step()
            self._check_principal()
        except LoginError as error:
            refuse(error)
            return
        assert self._server is not None
        if isinstance(challenge, bytes) and self._server.is_lost:
            # Delay this challenge like any failure, or a client could disconnect here and try again at once.
            self._connection.pause(Pause.AUTH)
            self._services.timers.call_later(self._logins.failure_delay_ms(), self._tell, partial(answer, challenge))
            return
        if isinstance(challenge, bytes):
            answer(challenge)
            return
        self._connection.pause(Pause.ANSWER)
        if not self._logins.checks.run(challenge, lambda then: self._go_on(then, answer, refuse)):
            # No exception: the rate limiter, which starts other logins too, may be the caller.
            self._connection.close(_TOO_MANY)

    def _tell(self, answer: Callable[[], None]) -> None:
        if not self._connection.is_closed:
            answer()
            self._connection.resume(Pause.AUTH)

    def _check_principal(self) -> None:
        """Refuse another principal at re-authentication. Raises LoginError."""
        server = self._server
        assert server is not None
        name = server.identity.name
        before = self._info.principal
        if server.is_complete and self.is_reauthenticating and (before.kind, before.name) != (USER, name):
            raise LoginError(
                f"Cannot change principals during re-authentication from {before.kind}.{before.name}: {USER}.{name}",
                is_told=True,
            )

    def _general_reason(self) -> str:
        what = "re-authentication" if self.is_reauthenticating else "authentication"
        return f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self._wanted}"

    def _finish_if_complete(self, can_reauthenticate: bool) -> int:
        """Hand over to the session when the login is complete.

        Args:
            can_reauthenticate: Whether the client supports re-authentication.

        Returns:
            The session lifetime for the client, in milliseconds; 0: unlimited, or the login is not complete.
        """
        server, self._server = self._server, None
        assert server is not None
        if not server.is_complete:
            self._server = server
            return 0
        info, logins, identity = self._info, self._logins, server.identity
        info.principal = Principal(USER, identity.name)
        info.sasl_mechanism = self._wanted
        info.token_id = identity.token_id
        counts = logins.counts
        if self.is_reauthenticating:
            counts.reauthentication_success_count += 1
        else:
            counts.success_count += 1
        if not can_reauthenticate:
            counts.no_reauthentication_count += 1
        self.is_reauthenticating = False
        self._state = _State.LOGGED_IN
        self._connection.max_frame_bytes = self._max_frame_bytes
        self._connection.handler = self._session
        self._connection.admit()
        services = self._services
        lifetime_ms = logins.session_lifetime_ms(self._wanted, services.clock.now_ms(), identity.expires_ms)
        if lifetime_ms is None:
            return 0
        self._session_timer = services.timers.call_later(lifetime_ms, self._expire)
        return lifetime_ms

    # --- session expiry and re-authentication

    def _expire(self) -> None:
        # Requests in progress are still answered.
        self._connection.handler = _Expired(self._session, self)

    def _stop_timer(self) -> None:
        timer, self._session_timer = self._session_timer, None
        if timer is not None:
            timer.cancel()

    def may_begin_again(self) -> bool:
        """Return whether a handshake begins a new login now: the session can expire, and the last re-authentication
        began at least one second ago.
        """
        last_ns = self._last_reauthentication_ns
        is_long_ago = last_ns is None or self._now_ns() - last_ns >= _LEAST_REAUTHENTICATION_NS
        return self._state is _State.LOGGED_IN and self._session_timer is not None and is_long_ago

    def begin_again(
        self, context: RequestContext, request: SaslHandshakeRequest
    ) -> SaslHandshakeResponse | Pending[SaslHandshakeResponse] | None:
        """Begin the next login for a session's SaslHandshake.

        Returns:
            The answer; None if no login can begin now.
        """
        if not self.may_begin_again():
            return None
        self._last_reauthentication_ns = self._now_ns()
        self._stop_timer()
        self.is_reauthenticating = True
        self._connection.handler = self
        self._connection.max_frame_bytes = self._services.config.sasl_server_max_receive_size
        answer, reason = self._begin(request.mechanism, context.api_version)
        if not reason:
            return answer
        route = self._routes.by_key(_HANDSHAKE_KEY << 16 | context.api_version)
        assert route is not None
        self._fail(reason, _encode(route, answer, context.correlation_id))
        # `_close` sends the answer after the delay.
        return Pending()

    def count_expired(self) -> None:
        self._logins.counts.expired_connection_count += 1

    def _now_ns(self) -> int:
        return self._services.clock.monotonic_ns()

    # --- failure

    def _fail(self, reason: str, answer: WireBuffer | None) -> None:
        """Delay the response, send it and close the connection."""
        server, self._server = self._server, None
        self._state = _State.FAILED
        info, counts = self._info, self._logins.counts
        if self.is_reauthenticating:
            counts.reauthentication_failure_count += 1
        else:
            counts.failure_count += 1
        self._logins.rate_limiter.failed()
        # A call site of its own, as the log limits the lines of each call site, and failed logins may be a flood.
        log.info("login from %s:%d on listener %s failed: %s", info.host, info.port, info.listener_name, reason)
        if self._services.diagnostics is not None:
            # Text in parentheses may come from the client.
            self._services.diagnostics.note_refusal(
                self._services.clock.now_ms(),
                "login",
                user=(info.principal.name if self.is_reauthenticating else server and server.known_user) or None,
                host=info.host,
                listener=info.listener_name,
                mechanism=self._wanted or None,
                reason=reason.partition(" (")[0],
            )
        self._connection.pause(Pause.AUTH)
        self._services.timers.call_later(self._logins.failure_delay_ms(), self._close, answer)

    def _close(self, answer: WireBuffer | None) -> None:
        if answer is not None and not self._connection.is_closed:
            self._connection.send(answer)
        self._connection.close()


class _Expired:
    """Frame handler of a connection whose session has expired: it accepts only a new login."""

    __slots__ = ("_authentication", "_session")

    def __init__(self, session: FrameHandler, authentication: Authentication) -> None:
        self._session = session
        self._authentication = authentication

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
        if decode_request_header(frame)[0] != _HANDSHAKE_KEY or not self._authentication.may_begin_again():
            self._authentication.count_expired()
            raise ProtocolError("its session has expired, and it did not re-authenticate")
        self._session.on_frame(frame, now_ns)

    def on_closed(self) -> None:
        self._session.on_closed()


def _api_name(api_key: int) -> str:
    """Return an API's name for the log; for an unknown API, its key."""
    return ApiKey(api_key).name if api_key in APIS else f"with the key {api_key}"


def _reason(error: LoginError) -> str:
    # The cause contains no text of the token.
    return f"its token is refused: {error.__cause__}" if error.__cause__ is not None else str(error)


def _decode(route: Route, frame: memoryview, position: int) -> Any:
    try:
        return route.decode(frame, position, Budget(_MOST_ELEMENTS))[0]
    except (*MALFORMED, ProtocolError) as error:
        raise ProtocolError(f"{route.name} version {route.api_version} is malformed: {error}") from None


def _encode(route: Route, answer: object, correlation_id: int) -> WireBuffer:
    out = WireBuffer(bytes(_START.size))
    if route.has_tagged_header:
        out.append(0)
    route.encode(answer, out)
    _START.pack_into(out, 0, len(out) - _SIZE.size, correlation_id)
    return out
