"""SyncGroup (API key 14, v0-2): hand in the assignments as the leader, get one's own.

Source: protocol guide, SyncGroup; semantics, group coordinator.
"""

from barnabas.broker.context import RequestContext
from barnabas.broker.shaping import shaped
from barnabas.broker.table import Handler
from barnabas.core.pending import Pending
from barnabas.groups.events import Sync, SyncAnswer
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group(ctx: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse | Pending[SyncGroupResponse]:
    """Wait for the member's assignment."""
    assignments = {each.member_id: each.assignment for each in request.assignments}
    event = Sync(request.member_id, request.generation_id, assignments)
    return shaped(ctx.services.groups.sync(request.group_id, event), _response)


def _response(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(0, answer.error_code, answer.protocol_type, answer.protocol_name, answer.assignment)


HANDLER = Handler(SyncGroupRequest, 0, 2, sync_group)
