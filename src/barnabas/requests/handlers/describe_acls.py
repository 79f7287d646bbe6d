"""DescribeAcls (API key 29, v0-2): a broker without an authorizer has no ACLs to tell of.

What is here is what Kafka answers without `authorizer.class.name`, which is refused so far; ACLs will take its place.

Source: protocol guide, DescribeAcls; checked against Kafka 2.7.2.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from barnabas.requests.context import RequestContext
from barnabas.requests.fanout import CLUSTER
from barnabas.requests.table import Handler
from barnabas.security.authorizer import Operation, ResourceType

_WITHOUT_AUTHORIZER = "No Authorizer is configured on the broker"


def describe_acls(ctx: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """Say that there is no authorizer, whatever the filter asks for."""
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=_WITHOUT_AUTHORIZER)


def refuse(ctx: RequestContext, request: DescribeAclsRequest, error_code: ErrorCode) -> DescribeAclsResponse:
    """No ACLs: the request failed as a whole."""
    return DescribeAclsResponse(error_code=error_code, error_message=None)


HANDLER = Handler(DescribeAclsRequest, 0, 2, describe_acls, refuse)
