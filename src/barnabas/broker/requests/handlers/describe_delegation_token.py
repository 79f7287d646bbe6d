"""DescribeDelegationToken (API key 41, v0-2): the tokens visible to the requester, with their secrets.

Source: protocol guide, DescribeDelegationToken; KIP-48; semantics, delegation tokens.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.broker.requests.token_requests import check_asker, token_manager
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal


def describe_delegation_token(
    ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """Return the requester's own tokens, those that it may renew, and those that it may describe."""
    check_asker(ctx)
    manager = token_manager(ctx)
    owners = None
    if request.owners is not None:
        owners = {Principal(each.principal_type, each.principal_name) for each in request.owners}

    def may_describe(token_id: str) -> bool:
        return ctx.may(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token_id)

    return DescribeDelegationTokenResponse(
        tokens=[
            DescribedDelegationToken(
                token.owner.kind,
                token.owner.name,
                token.issue_ms,
                token.expiry_ms,
                token.max_ms,
                token.token_id,
                manager.secret(token),
                [DescribedDelegationTokenRenewer(each.kind, each.name) for each in token.renewers],
            )
            for token in manager.visible(ctx.connection.principal, owners, may_describe)
        ]
    )


def refuse(
    ctx: RequestContext, request: DescribeDelegationTokenRequest, error_code: ErrorCode
) -> DescribeDelegationTokenResponse:
    """Return the error response: the request failed as a whole."""
    return DescribeDelegationTokenResponse(error_code)


HANDLER = Handler(DescribeDelegationTokenRequest, 0, 2, describe_delegation_token, refuse)
