"""Checks shared by all delegation token requests: the client may manage tokens, and tokens are enabled.

Source: semantics, delegation tokens; Kafka 2.7.2, KafkaApis.allowTokenRequests.
"""

from typing import TYPE_CHECKING

from barnabas.broker.requests.context import RequestContext
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.security.principals import ANONYMOUS

if TYPE_CHECKING:
    from barnabas.broker.security.tokens.manager import TokenManager


def check_asker(ctx: RequestContext) -> None:
    """Refuse requesters that are unauthenticated or logged in by a token: a token cannot create tokens.

    Raises:
        KafkaError: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
    """
    connection = ctx.connection
    protocol = connection.security_protocol
    is_nobody = protocol == "PLAINTEXT" or (protocol == "SSL" and connection.principal == ANONYMOUS)
    if is_nobody or connection.token_id:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def token_manager(ctx: RequestContext) -> "TokenManager":
    """Return the token manager.

    Raises:
        KafkaError: DELEGATION_TOKEN_AUTH_DISABLED.
    """
    if ctx.services.tokens is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    return ctx.services.tokens
