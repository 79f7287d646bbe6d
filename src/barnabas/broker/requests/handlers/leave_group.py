"""LeaveGroup (API key 13, v0-4): remove members from a group; several of them since version 3.

Source: protocol guide, LeaveGroup; semantics, group coordinator; KIP-345 (static members).
"""

from barnabas.broker.groups.events import Leave
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from barnabas.wire.quotas.entities import kept_name
from barnabas.wire.security.authorizer import Operation, ResourceType

_FIRST_VERSION_WITH_SEVERAL_MEMBERS = 3


@in_slices
def leave_group(ctx: RequestContext, request: LeaveGroupRequest) -> Steps[LeaveGroupResponse]:
    """Remove members; each has its own answer."""
    groups, group_id = ctx.services.groups, request.group_id
    if not ctx.may(Operation.READ, ResourceType.GROUP, group_id):
        yield LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return
    who = kept_name(ctx.client_id), f"/{ctx.connection.host}"
    if ctx.api_version < _FIRST_VERSION_WITH_SEVERAL_MEMBERS:
        yield LeaveGroupResponse(error_code=groups.leave(group_id, Leave(request.member_id, None, *who)))
        return
    error_code = groups.refusal(group_id)
    if error_code is not ErrorCode.NONE:
        yield LeaveGroupResponse(error_code=error_code)
        return
    answers = []
    for member in request.members:
        left = groups.leave(group_id, Leave(member.member_id, member.group_instance_id, *who))
        answers.append(MemberResponse(member.member_id, member.group_instance_id, left))
        if ctx.is_large:
            yield MORE
    yield LeaveGroupResponse(error_code=ErrorCode.NONE, members=answers)


def refuse(ctx: RequestContext, request: LeaveGroupRequest, error_code: ErrorCode) -> LeaveGroupResponse:
    """Return the error response: the request failed as a whole."""
    return LeaveGroupResponse(error_code=error_code)


HANDLER = Handler(LeaveGroupRequest, 0, 4, leave_group, refuse, goes_on=True)
