"""CreateDelegationToken (API key 38, v0-2): create a secret with which others can log in as the requester for some
time.

Source: protocol guide, CreateDelegationToken; KIP-48; semantics, delegation tokens.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.broker.requests.token_requests import check_asker, token_manager
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.security.principals import USER, Principal


def create_delegation_token(
    ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | Pending[CreateDelegationTokenResponse]:
    """Create a token for the requester."""
    check_asker(ctx)
    if any(each.principal_type != USER for each in request.renewers):
        raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)
    token_manager(ctx)
    return ctx.services.spawner.spawn(_create(ctx, request))


async def _create(ctx: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    manager, owner = token_manager(ctx), ctx.connection.principal
    renewers = [Principal(each.principal_type, each.principal_name) async for each in in_time_slices(request.renewers)]
    token = await manager.create(owner, renewers, request.max_lifetime_ms)
    return CreateDelegationTokenResponse(
        ErrorCode.NONE,
        owner.kind,
        owner.name,
        token.issue_ms,
        token.expiry_ms,
        token.max_ms,
        token.token_id,
        manager.secret(token),
    )


def refuse(
    ctx: RequestContext, request: CreateDelegationTokenRequest, error_code: ErrorCode
) -> CreateDelegationTokenResponse:
    """Return the error with the requester's name, without a token."""
    owner = ctx.connection.principal
    return CreateDelegationTokenResponse(error_code, owner.kind, owner.name, -1, -1, -1)


HANDLER = Handler(CreateDelegationTokenRequest, 0, 2, create_delegation_token, refuse)
