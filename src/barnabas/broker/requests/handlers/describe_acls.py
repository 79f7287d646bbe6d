"""DescribeAcls (API key 29, v0-2): the access rules that a filter selects.

Source: protocol guide, DescribeAcls; semantics, ACLs; checked against Kafka 2.7.2.
"""

from barnabas.broker.requests.acl_messages import WITHOUT_AUTHORIZER, acl_admin, filter_of
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from barnabas.wire.security.acls import Pattern, PatternType
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


@in_slices
def describe_acls(ctx: RequestContext, request: DescribeAclsRequest) -> Steps[DescribeAclsResponse]:
    """Return the access rules that this broker applies."""
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        yield DescribeAclsResponse(error_code=error_code, error_message=ctx.not_authorized())
        return
    admin = acl_admin(ctx)
    if admin is None:
        yield DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=WITHOUT_AUTHORIZER)
        return
    wanted = filter_of(request)
    by_pattern: dict[Pattern, DescribeAclsResource] = {}
    if wanted is not None:
        for number, (pattern, entry) in enumerate(admin.describe(wanted), 1):
            resource_type, name, pattern_type = pattern
            # Version 0 has no field for the pattern type, and its filter selects only literal patterns.
            assert ctx.api_version > 0 or pattern_type is PatternType.LITERAL
            if pattern not in by_pattern:
                by_pattern[pattern] = DescribeAclsResource(resource_type, name, pattern_type)
            by_pattern[pattern].acls.append(
                AclDescription(str(entry.principal), entry.host, entry.operation, entry.permission)
            )
            if number > MOST_ELEMENTS_AT_ONCE:
                ctx.is_large = True
                yield MORE
    resources = list(by_pattern.values())
    yield DescribeAclsResponse(error_code=ErrorCode.NONE, error_message="", resources=resources)


def refuse(ctx: RequestContext, request: DescribeAclsRequest, error_code: ErrorCode) -> DescribeAclsResponse:
    """Return an error without ACLs."""
    return DescribeAclsResponse(error_code=error_code, error_message=None)


HANDLER = Handler(DescribeAclsRequest, 0, 2, describe_acls, refuse)
