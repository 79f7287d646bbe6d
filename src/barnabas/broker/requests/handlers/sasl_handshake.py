"""SaslHandshake (API key 17, v0-1): choose the mechanism of a login.

`broker/requests/authentication.py` handles a connection's first handshake. A handshake that arrives here comes from a
client that has logged in, or on a listener without logins: it begins a re-authentication if sessions expire, and is
refused otherwise.

Source: protocol guide, SaslHandshake; KIP-43, KIP-368; semantics, authentication.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def sasl_handshake(
    ctx: RequestContext, request: SaslHandshakeRequest
) -> SaslHandshakeResponse | Pending[SaslHandshakeResponse]:
    """Begin a re-authentication before the session expires."""
    authentication = ctx.connection.authentication
    answer = authentication.begin_again(ctx, request) if authentication is not None else None
    return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE) if answer is None else answer


def refuse(ctx: RequestContext, request: SaslHandshakeRequest, error_code: ErrorCode) -> SaslHandshakeResponse:
    """Return the error response: the request failed as a whole."""
    return SaslHandshakeResponse(error_code)


HANDLER = Handler(SaslHandshakeRequest, 0, 1, sasl_handshake, refuse)
