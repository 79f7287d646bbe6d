"""RenewDelegationToken (API key 39, v0-2): extend the expiry of a token.

Source: protocol guide, RenewDelegationToken; KIP-48; semantics, delegation tokens.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.broker.requests.token_requests import check_asker, token_manager
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def renew_delegation_token(
    ctx: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse | Pending[RenewDelegationTokenResponse]:
    """Extend the lifetime of a token."""
    check_asker(ctx)
    token_manager(ctx)
    return ctx.services.spawner.spawn(_renew(ctx, request))


async def _renew(ctx: RequestContext, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    manager = token_manager(ctx)
    try:
        end_ms = await manager.renew(ctx.connection.principal, bytes(request.hmac), request.renew_period_ms)
    except KafkaError as error:
        return refuse(ctx, request, error.code)
    return RenewDelegationTokenResponse(ErrorCode.NONE, end_ms)


def refuse(
    ctx: RequestContext, request: RenewDelegationTokenRequest, error_code: ErrorCode
) -> RenewDelegationTokenResponse:
    """Return the error: nothing was changed."""
    return RenewDelegationTokenResponse(error_code, -1)


HANDLER = Handler(RenewDelegationTokenRequest, 0, 2, renew_delegation_token, refuse)
