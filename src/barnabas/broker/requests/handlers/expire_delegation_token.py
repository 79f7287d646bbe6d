"""ExpireDelegationToken (API key 40, v0-2): change the expiry of a token, or expire it now.

Source: protocol guide, ExpireDelegationToken; KIP-48; semantics, delegation tokens.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.broker.requests.token_requests import check_asker, token_manager
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def expire_delegation_token(
    ctx: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse | Pending[ExpireDelegationTokenResponse]:
    """Make a token expire earlier, or now."""
    check_asker(ctx)
    token_manager(ctx)
    return ctx.services.spawner.spawn(_expire(ctx, request))


async def _expire(ctx: RequestContext, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    manager = token_manager(ctx)
    try:
        end_ms = await manager.expire(ctx.connection.principal, bytes(request.hmac), request.expiry_time_period_ms)
    except KafkaError as error:
        return refuse(ctx, request, error.code)
    return ExpireDelegationTokenResponse(ErrorCode.NONE, end_ms)


def refuse(
    ctx: RequestContext, request: ExpireDelegationTokenRequest, error_code: ErrorCode
) -> ExpireDelegationTokenResponse:
    """Return the error: nothing was changed."""
    return ExpireDelegationTokenResponse(error_code, -1)


HANDLER = Handler(ExpireDelegationTokenRequest, 0, 2, expire_delegation_token, refuse)
