"""Heartbeat (API key 12, v0-4): keep the session of a group member alive.

Source: protocol guide, Heartbeat; design page, consumer group membership.
"""

from barnabas.broker.groups.events import Heartbeat
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.security.authorizer import Operation, ResourceType


def heartbeat(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend a member's session, or return the reason to rejoin."""
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    event = Heartbeat(request.member_id, request.generation_id, request.group_instance_id)
    return HeartbeatResponse(error_code=ctx.services.groups.heartbeat(request.group_id, event))


def refuse(ctx: RequestContext, request: HeartbeatRequest, error_code: ErrorCode) -> HeartbeatResponse:
    """Return the error response: the request failed as a whole."""
    return HeartbeatResponse(error_code=error_code)


HANDLER = Handler(HeartbeatRequest, 0, 4, heartbeat, refuse)
