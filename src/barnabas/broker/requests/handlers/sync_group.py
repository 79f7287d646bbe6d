"""SyncGroup (API key 14, v0-5): submit assignments as the leader, receive the own assignment.

Source: protocol guide, SyncGroup; semantics, group coordinator; KIP-559 (protocol type and name).
"""

from barnabas.broker.groups.events import Sync, SyncAnswer
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.wire.security.authorizer import Operation, ResourceType

_FIRST_VERSION_WITH_PROTOCOL = 5


def sync_group(ctx: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse | Pending[SyncGroupResponse]:
    """Wait for the member's assignment."""
    is_named = request.protocol_type is not None and request.protocol_name is not None
    if ctx.api_version >= _FIRST_VERSION_WITH_PROTOCOL and not is_named:
        return _response(SyncAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        return _response(SyncAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    assignments = {each.member_id: each.assignment for each in request.assignments}
    event = Sync(
        request.member_id,
        request.generation_id,
        assignments,
        request.group_instance_id,
        request.protocol_type,
        request.protocol_name,
    )
    # The request is kept until the answer, which waits for the leader as long as the members send heartbeats.
    request.assignments = []
    if ctx.is_large:
        ctx.keep_frame()()
    return ctx.services.groups.sync(request.group_id, event).shaped(_response)


def _response(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=answer.error_code,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )


def refuse(ctx: RequestContext, request: SyncGroupRequest, error_code: ErrorCode) -> SyncGroupResponse:
    """Return the error response: the request failed as a whole."""
    return SyncGroupResponse(error_code=error_code)


HANDLER = Handler(SyncGroupRequest, 0, 5, sync_group, refuse)
