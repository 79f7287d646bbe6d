"""AlterUserScramCredentials (API key 51, v0): create or delete SCRAM credentials of users.

Source: protocol guide, AlterUserScramCredentials; KIP-554; semantics, SCRAM.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def alter_user_scram_credentials(
    ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse | Pending[AlterUserScramCredentialsResponse]:
    """Apply the valid changes; each user has its own result."""
    if not ctx.services.topics.is_controller:
        return shaped(ctx, lambda: refuse(ctx, request, ErrorCode.NOT_CONTROLLER))
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return shaped(ctx, lambda: refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    return ctx.services.spawner.spawn(_alter(ctx, request))


async def _alter(ctx: RequestContext, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    from barnabas.broker.administration.scram import Deletion, Upsertion  # imports hashes; not needed at start

    deletions = [Deletion(each.name, each.mechanism) async for each in in_time_slices(request.deletions)]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        async for each in in_time_slices(request.upsertions)
    ]
    results = await ctx.services.scram_admin().alter([*deletions, *upsertions])
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user, result.error_code, result.message)
            async for user, result in in_time_slices(results.items())
        ]
    )


def refuse(
    ctx: RequestContext, request: AlterUserScramCredentialsRequest, error_code: ErrorCode
) -> AlterUserScramCredentialsResponse:
    """Return the same answer for all users: the request failed as a whole."""
    users = dict.fromkeys([each.name for each in request.deletions] + [each.name for each in request.upsertions])
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user, error_code, None) for user in users]
    )


HANDLER = Handler(AlterUserScramCredentialsRequest, 0, 0, alter_user_scram_credentials, refuse)
