"""ListGroups (API key 16, v0-4): the groups that this broker coordinates.

Source: protocol guide, ListGroups; KIP-518 (states).
"""

from barnabas.core.error_code import ErrorCode
from barnabas.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from barnabas.requests.context import RequestContext
from barnabas.requests.table import Handler


def list_groups(ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the groups, or those in some states."""
    error_code, groups = ctx.services.groups.list_groups(request.states_filter)
    return ListGroupsResponse(
        error_code=error_code,
        groups=[ListedGroup(group.group_id, group.protocol_type or "", group.phase.value) for group in groups],
    )


def refuse(ctx: RequestContext, request: ListGroupsRequest, error_code: ErrorCode) -> ListGroupsResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return ListGroupsResponse(error_code=error_code)


HANDLER = Handler(ListGroupsRequest, 0, 4, list_groups, refuse)
