"""DescribeUserScramCredentials (API key 50, v0): the mechanisms and iterations of users' SCRAM credentials, no secrets.

Source: protocol guide, DescribeUserScramCredentials; KIP-554; semantics, SCRAM.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def describe_user_scram_credentials(
    ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse | Pending[DescribeUserScramCredentialsResponse]:
    """Return mechanisms and iterations of the requested users, or of all."""
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.spawner.spawn(_describe(ctx, request))


async def _describe(
    ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    users = None if request.users is None else [each.name for each in request.users]
    results = await ctx.services.scram_admin().describe(users)
    return DescribeUserScramCredentialsResponse(
        results=[
            DescribeUserScramCredentialsResult(
                user,
                result.error_code,
                result.message,
                [
                    CredentialInfo(mechanism.code, credential.iterations)
                    for mechanism, credential in result.credentials.items()
                ],
            )
            async for user, result in in_time_slices(results.items())
        ]
    )


def refuse(
    ctx: RequestContext, request: DescribeUserScramCredentialsRequest, error_code: ErrorCode
) -> DescribeUserScramCredentialsResponse:
    """Return the error response: the request failed as a whole."""
    return DescribeUserScramCredentialsResponse(error_code=error_code, error_message=None)


HANDLER = Handler(DescribeUserScramCredentialsRequest, 0, 0, describe_user_scram_credentials, refuse)
