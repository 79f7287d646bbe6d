"""Shared by the three ACL APIs: access to the ACL administration, and decoding of filters.

Source: protocol guide, DescribeAcls, CreateAcls, DeleteAcls.
"""

from barnabas.broker.administration.acls import AclAdmin
from barnabas.broker.requests.context import RequestContext
from barnabas.wire.protocol.messages.delete_acls import DeleteAclsFilter
from barnabas.wire.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.security.acls import BindingFilter, EntryFilter, PatternFilter, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType

# Kafka's message ends with a full stop if the request changes rules, and without one if it describes them.
WITHOUT_AUTHORIZER = "No Authorizer is configured on the broker"


def acl_admin(ctx: RequestContext) -> AclAdmin | None:
    """Return the administration of access rules; None: ACLs are disabled."""
    return ctx.services.acls


def filter_of(asked: DescribeAclsRequest | DeleteAclsFilter) -> BindingFilter | None:
    """Decode a filter; None: it contains an unknown code, so it selects nothing."""
    try:
        return BindingFilter(
            PatternFilter(
                ResourceType(asked.resource_type_filter),
                asked.resource_name_filter,
                PatternType(asked.pattern_type_filter),
            ),
            EntryFilter(
                asked.principal_filter,
                asked.host_filter,
                Operation(asked.operation),
                Permission(asked.permission_type),
            ),
        )
    except ValueError:
        return None
