"""ListGroups (API key 16, v0-4): the groups that this broker coordinates.

Source: protocol guide, ListGroups; KIP-518 (states).
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def list_groups(ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the groups, or those in some states; without rights on the cluster, only the describable ones."""
    error_code, groups = ctx.services.groups.list_groups(request.states_filter)
    if not ctx.may_unlogged(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        groups = [group for group in groups if ctx.may_unlogged(Operation.DESCRIBE, ResourceType.GROUP, group.group_id)]
    return ListGroupsResponse(
        error_code=error_code,
        groups=[ListedGroup(group.group_id, group.protocol_type or "", group.phase.value) for group in groups],
    )


def refuse(ctx: RequestContext, request: ListGroupsRequest, error_code: ErrorCode) -> ListGroupsResponse:
    """Return the error response: the request failed as a whole."""
    return ListGroupsResponse(error_code=error_code)


HANDLER = Handler(ListGroupsRequest, 0, 4, list_groups, refuse)
