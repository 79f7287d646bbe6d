"""Heartbeats, LeaveGroup, expiring sessions, and groups that are loaded and unloaded with their partition.

Source: protocol guide, Heartbeat and LeaveGroup; design page, consumer group membership; KIP-345 (static members).
"""

from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn
from barnabas.broker.groups.events import (
    NO_MEMBER_ID,
    REBALANCE_TIMER,
    Answer,
    CancelTimer,
    Effect,
    FinishJoin,
    FinishSync,
    Heartbeat,
    JoinAnswer,
    Leave,
    SyncAnswer,
    TimerFired,
)
from barnabas.broker.groups.group import Group, Member, Phase
from barnabas.broker.groups.rebalance import (
    extend_session,
    maybe_complete_join,
    maybe_prepare_rebalance,
    on_rebalance_timeout,
    remove_member,
)
from barnabas.core.error_code import ErrorCode


def heartbeat(group: Group, event: Heartbeat, now_ms: int) -> list[Effect]:
    """Extend a member's session, or return the reason to rejoin."""
    if group.phase is Phase.DEAD:
        return [Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    if group.is_fenced(event.member_id, event.group_instance_id):
        return [Answer(ErrorCode.FENCED_INSTANCE_ID)]
    member = group.members.get(event.member_id)
    if member is None:
        return [Answer(ErrorCode.UNKNOWN_MEMBER_ID)]
    if event.generation != group.generation:
        return [Answer(ErrorCode.ILLEGAL_GENERATION)]
    is_rebalancing = group.phase is Phase.PREPARING_REBALANCE
    error_code = ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE
    return [extend_session(member, now_ms), Answer(error_code)]


def leave(group: Group, event: Leave, now_ms: int) -> list[Effect]:
    """Remove a member, or a pending member id."""
    if group.phase is Phase.DEAD:
        return [Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    if event.member_id != NO_MEMBER_ID and group.is_fenced(event.member_id, event.group_instance_id):
        return [Answer(ErrorCode.FENCED_INSTANCE_ID)]
    effects: list[Effect] = []
    if event.member_id in group.pending_member_ids:
        if event.group_instance_id is not None:
            # differs from Kafka (pending-static-leave): in Kafka the whole request fails.
            return [Answer(ErrorCode.UNKNOWN_SERVER_ERROR)]
        effects.append(CancelTimer(event.member_id))
        _forget_pending(group, event.member_id, now_ms, effects)
        return [*effects, Answer(ErrorCode.NONE)]
    member = group.static_member(event.group_instance_id) or group.members.get(event.member_id)
    if member is None:
        return [Answer(ErrorCode.UNKNOWN_MEMBER_ID)]
    is_itself = (event.client_id, event.client_host) == (member.client_id, member.client_host)
    remove_member(group, member, Reason.LEFT if is_itself else Reason.REMOVED, now_ms, effects)
    return [*effects, Answer(ErrorCode.NONE)]


def timer_fired(group: Group, event: TimerFired, now_ms: int) -> list[Effect]:
    """Handle the expiry of a session, of a pending member id, or of the rebalance timeout."""
    effects: list[Effect] = []
    if group.phase is Phase.DEAD:
        return effects
    if event.timer == REBALANCE_TIMER:
        on_rebalance_timeout(group, now_ms, effects)
    elif event.timer in group.pending_member_ids:
        _forget_pending(group, event.timer, now_ms, effects)
    else:
        member = group.members.get(event.timer)
        if member is not None and not _is_excused(member):
            remove_member(group, member, Reason.SESSION_EXPIRED, now_ms, effects)
    return effects


def loaded(group: Group, now_ms: int) -> list[Effect]:
    """Take over a stored group: each member has one session timeout to send a request."""
    effects: list[Effect] = [extend_session(member, now_ms) for member in group.members.values()]
    effects.append(Note(Turn.LOADED))
    if len(group.members) > group.settings.max_size:
        maybe_prepare_rebalance(group, Reason.TOO_MANY_MEMBERS, None, now_ms, effects)
    return effects


def unloaded(group: Group, now_ms: int) -> list[Effect]:
    """Unload a group: waiting requests are answered NOT_COORDINATOR."""
    effects: list[Effect] = [CancelTimer(REBALANCE_TIMER)]
    effects.extend(CancelTimer(member_id) for member_id in sorted(group.pending_member_ids))
    for member in group.members.values():
        effects.append(CancelTimer(member.member_id))
        if member.is_awaiting_join:
            answer = JoinAnswer(ErrorCode.NOT_COORDINATOR, member.member_id)
            effects.append(FinishJoin(member.member_id, answer))
            group.set_awaiting_join(member, False)
        if member.is_awaiting_sync:
            member.is_awaiting_sync = False
            effects.append(FinishSync(member.member_id, SyncAnswer(ErrorCode.NOT_COORDINATOR)))
    group.enter(Phase.DEAD, now_ms)
    effects.append(Note(Turn.MOVED))
    return effects


def _is_excused(member: Member) -> bool:
    """Return whether a member need not send heartbeats, because its join or sync waits for the coordinator.

    A new member's first join does not count: its time is limited by `NEW_MEMBER_JOIN_TIMEOUT_MS`.
    """
    return not member.is_new and (member.is_awaiting_join or member.is_awaiting_sync)


def _forget_pending(group: Group, member_id: str, now_ms: int, effects: list[Effect]) -> None:
    group.pending_member_ids.discard(member_id)
    maybe_complete_join(group, now_ms, effects)
