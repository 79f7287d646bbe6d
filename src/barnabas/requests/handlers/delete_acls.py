"""DeleteAcls (API key 31, v0-2): a broker without an authorizer has no ACLs to delete.

What is here is what Kafka answers without `authorizer.class.name`, which is refused so far; ACLs will take its place.

Source: protocol guide, DeleteAcls; checked against Kafka 2.7.2.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from barnabas.requests.context import RequestContext
from barnabas.requests.fanout import CLUSTER
from barnabas.requests.table import Handler
from barnabas.security.authorizer import Operation, ResourceType

# Kafka ends it with a full stop, and that of DescribeAcls without.
_WITHOUT_AUTHORIZER = "No Authorizer is configured on the broker."


def delete_acls(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """Say to each filter that there is no authorizer."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    result = DeleteAclsFilterResult(ErrorCode.SECURITY_DISABLED, _WITHOUT_AUTHORIZER)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))


def refuse(ctx: RequestContext, request: DeleteAclsRequest, error_code: ErrorCode) -> DeleteAclsResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(error_code, None)] * len(request.filters))


HANDLER = Handler(DeleteAclsRequest, 0, 2, delete_acls, refuse)
