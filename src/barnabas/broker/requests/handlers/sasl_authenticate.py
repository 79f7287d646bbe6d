"""SaslAuthenticate (API key 36, v0-2): a token of a login.

`broker/requests/authentication.py` handles the tokens of a login; a token that arrives here belongs to no login.

Source: protocol guide, SaslAuthenticate; KIP-152, KIP-368; semantics, authentication.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def sasl_authenticate(ctx: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    """Refuse the request: no login is in progress."""
    return SaslAuthenticateResponse(
        ErrorCode.ILLEGAL_SASL_STATE, "SaslAuthenticate request received after successful authentication"
    )


def refuse(ctx: RequestContext, request: SaslAuthenticateRequest, error_code: ErrorCode) -> SaslAuthenticateResponse:
    """Return the error response: the request failed as a whole."""
    return SaslAuthenticateResponse(error_code)


HANDLER = Handler(SaslAuthenticateRequest, 0, 2, sasl_authenticate, refuse)
