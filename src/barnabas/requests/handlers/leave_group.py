"""LeaveGroup (API key 13, v0-2): a member goes, and need not be waited for.

Source: protocol guide, LeaveGroup; semantics, group coordinator.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.groups.events import Leave
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from barnabas.requests.context import RequestContext
from barnabas.requests.table import Handler


def leave_group(ctx: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Remove a member."""
    return LeaveGroupResponse(error_code=ctx.services.groups.leave(request.group_id, Leave(request.member_id)))


def refuse(ctx: RequestContext, request: LeaveGroupRequest, error_code: ErrorCode) -> LeaveGroupResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return LeaveGroupResponse(error_code=error_code)


HANDLER = Handler(LeaveGroupRequest, 0, 2, leave_group, refuse)
