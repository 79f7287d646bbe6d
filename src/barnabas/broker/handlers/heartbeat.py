"""Heartbeat (API key 12, v0-2): a group member says that it is alive.

Source: protocol guide, Heartbeat; design page, consumer group membership.
"""

from barnabas.broker.context import RequestContext
from barnabas.broker.table import Handler
from barnabas.groups.events import Heartbeat
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend a member's session, or tell it why it must rejoin."""
    event = Heartbeat(request.member_id, request.generation_id)
    return HeartbeatResponse(0, ctx.services.groups.heartbeat(request.group_id, event))


HANDLER = Handler(HeartbeatRequest, 0, 2, heartbeat)
