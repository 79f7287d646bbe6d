"""JoinGroup (API key 11, v0-7): join a group, or rejoin for its next generation.

Source: protocol guide, JoinGroup; semantics, group coordinator; KIP-345 (static members).
"""

from functools import partial

from barnabas.broker.groups.events import NO_MEMBER_ID, Join, JoinAnswer
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from barnabas.wire.quotas.entities import kept_name
from barnabas.wire.security.authorizer import Operation, ResourceType

_FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
_FIRST_VERSION_WITH_REQUIRED_MEMBER_ID = 4
_FIRST_VERSION_WITH_NULL_PROTOCOL = 7


def join_group(ctx: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse | Pending[JoinGroupResponse]:
    """Join; the answer is sent when all members have joined."""
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        return _response(ctx.api_version, JoinAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED, NO_MEMBER_ID))
    if ctx.is_large:
        # The request is decoded and may wait long: from now on its memory counts as the group's.
        ctx.keep_frame()()
    has_rebalance_timeout = ctx.api_version >= _FIRST_VERSION_WITH_REBALANCE_TIMEOUT
    groups = ctx.services.groups
    instance_id = request.group_instance_id
    # A client id may be very long, and is kept with the member and in its id.
    client_id = kept_name(ctx.client_id)
    name = client_id if instance_id is None else instance_id
    event = Join(
        request.member_id,
        groups.new_member_id(name) if request.member_id == NO_MEMBER_ID else NO_MEMBER_ID,
        ctx.api_version >= _FIRST_VERSION_WITH_REQUIRED_MEMBER_ID and instance_id is None,
        client_id,
        f"/{ctx.connection.host}",
        request.rebalance_timeout_ms if has_rebalance_timeout else request.session_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        instance_id,
    )
    answer = groups.join(request.group_id, event)
    if answer.is_done and answer.error is None and answer.value.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED:
        _note_full(ctx, request.group_id)
    return answer.shaped(partial(_response, ctx.api_version))


def _note_full(ctx: RequestContext, group_id: str) -> None:
    """Record a refused member as a diagnostic event, since no event of the group will mention it."""
    diagnostics = ctx.services.diagnostics
    if diagnostics is not None:
        user, host, listener = ctx.connection.principal.name, ctx.connection.host, ctx.connection.listener_name
        now_ms = ctx.services.clock.now_ms()
        who = {"user": user, "client_id": ctx.client_id, "listener": listener}
        diagnostics.note_refusal(
            now_ms, "limit", host=host, reason="group.max.size", resource="GROUP", name=group_id, **who
        )


def _response(version: int, answer: JoinAnswer) -> JoinGroupResponse:
    may_be_null = version >= _FIRST_VERSION_WITH_NULL_PROTOCOL
    return JoinGroupResponse(
        error_code=answer.error_code,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name if may_be_null else answer.protocol_name or "",
        leader=answer.leader_id,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(member.member_id, member.group_instance_id, member.metadata)
            for member in answer.members
        ],
    )


def refuse(ctx: RequestContext, request: JoinGroupRequest, error_code: ErrorCode) -> JoinGroupResponse:
    """Return the error response: the request failed as a whole."""
    return _response(ctx.api_version, JoinAnswer(error_code, request.member_id))


HANDLER = Handler(JoinGroupRequest, 0, 7, join_group, refuse)
