"""DescribeDelegationToken (API key 41, v0-2): the tokens visible to the requester, with their secrets.

Source: protocol guide, DescribeDelegationToken; KIP-48; semantics, delegation tokens.
"""

from typing import TYPE_CHECKING

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
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

if TYPE_CHECKING:
    # Most brokers have no tokens: then a start does not load their code.
    from barnabas.broker.security.tokens.token import Token


@in_slices
def describe_delegation_token(
    ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> Steps[DescribeDelegationTokenResponse]:
    """Return the requester's own tokens, those that it may renew, and those that it may describe."""
    check_asker(ctx)
    manager = token_manager(ctx)
    owners: set[Principal] | None = None
    if request.owners is not None:
        owners = set()
        for each in request.owners:
            owners.add(Principal(each.principal_type, each.principal_name))
            if ctx.is_large:
                yield MORE
    described = []
    element_count = 0
    for token in manager.tokens():
        if (owners is None or token.is_of_any(owners)) and _may_describe(ctx, token):
            described.append(_describe(token, manager.secret(token)))
        element_count += 1 + len(token.renewers)
        if element_count > MOST_ELEMENTS_AT_ONCE:
            # The request may be small, but each token may have very many renewers.
            ctx.is_large = True
        if ctx.is_large:
            yield MORE
    yield DescribeDelegationTokenResponse(tokens=described)


def _may_describe(ctx: RequestContext, token: "Token") -> bool:
    # differs from Kafka (delegation-token-denials): not logged, because the request does not name the tokens of others.
    return token.is_of(ctx.connection.principal) or ctx.may_unlogged(
        Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id
    )


def _describe(token: "Token", secret: bytes) -> DescribedDelegationToken:
    return DescribedDelegationToken(
        token.owner.kind,
        token.owner.name,
        token.issue_ms,
        token.expiry_ms,
        token.max_ms,
        token.token_id,
        secret,
        [DescribedDelegationTokenRenewer(each.kind, each.name) for each in token.renewers],
    )


def refuse(
    ctx: RequestContext, request: DescribeDelegationTokenRequest, error_code: ErrorCode
) -> DescribeDelegationTokenResponse:
    """Return the error response: the request failed as a whole."""
    return DescribeDelegationTokenResponse(error_code)


HANDLER = Handler(DescribeDelegationTokenRequest, 0, 2, describe_delegation_token, refuse)
