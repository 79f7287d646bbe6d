"""ListGroups (API key 16, v0-4): the groups that this broker coordinates.

Source: protocol guide, ListGroups; KIP-518 (states).
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


@in_slices
def list_groups(ctx: RequestContext, request: ListGroupsRequest) -> Steps[ListGroupsResponse]:
    """List the groups, or those in some states; without rights on the cluster, only the describable ones."""
    error_code, groups = ctx.services.groups.list_groups(request.states_filter)
    if len(groups) > MOST_ELEMENTS_AT_ONCE:
        ctx.is_large = True
    may_describe_all = ctx.may_unlogged(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER)
    listed = []
    for group in groups:
        if may_describe_all or ctx.may_unlogged(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            listed.append(ListedGroup(group.group_id, group.protocol_type or "", group.phase.value))
        if ctx.is_large:
            yield MORE
    yield ListGroupsResponse(error_code=error_code, groups=listed)


def refuse(ctx: RequestContext, request: ListGroupsRequest, error_code: ErrorCode) -> ListGroupsResponse:
    """Return the error response: the request failed as a whole."""
    return ListGroupsResponse(error_code=error_code)


HANDLER = Handler(ListGroupsRequest, 0, 4, list_groups, refuse)
