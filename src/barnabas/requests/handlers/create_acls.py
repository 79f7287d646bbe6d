"""CreateAcls (API key 30, v0-2): a broker without an authorizer takes no ACLs.

What is here is what Kafka answers without `authorizer.class.name`, which is refused so far; ACLs will take its place.

Source: protocol guide, CreateAcls; checked against Kafka 2.7.2.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ProtocolError
from barnabas.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from barnabas.requests.context import RequestContext
from barnabas.requests.fanout import CLUSTER
from barnabas.requests.table import Handler
from barnabas.security.authorizer import Operation, ResourceType

# Kafka ends it with a full stop, and that of DescribeAcls without.
_WITHOUT_AUTHORIZER = "No Authorizer is configured on the broker."
_UNKNOWN = 0


def create_acls(ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    """Say of each that there is no authorizer.

    Raises:
        ProtocolError: One is of a kind that its own sender calls unknown: to Kafka that is no request.
    """
    if any(map(_has_unknown, request.creations)):
        raise ProtocolError("a CreateAcls request with a resource type, pattern, operation or permission unknown")
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    result = AclCreationResult(ErrorCode.SECURITY_DISABLED, _WITHOUT_AUTHORIZER)
    return CreateAclsResponse(results=[result] * len(request.creations))


def _has_unknown(creation: AclCreation) -> bool:
    return _UNKNOWN in (
        creation.resource_type,
        creation.resource_pattern_type,
        creation.operation,
        creation.permission_type,
    )


def refuse(ctx: RequestContext, request: CreateAclsRequest, error_code: ErrorCode) -> CreateAclsResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return CreateAclsResponse(results=[AclCreationResult(error_code, None)] * len(request.creations))


HANDLER = Handler(CreateAclsRequest, 0, 2, create_acls, refuse)
