"""JoinGroup: adds members, returns the current generation, or starts a rebalance.

Source: protocol guide, JoinGroup; KIP-394 (member id required), KIP-389 (group.max.size), KIP-345 (static members).
"""

from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn
from barnabas.broker.groups.events import (
    NO_MEMBER_ID,
    AnswerJoin,
    CancelTimer,
    Effect,
    Join,
    JoinAnswer,
    SetTimer,
)
from barnabas.broker.groups.group import Group, Member, Phase
from barnabas.broker.groups.rebalance import (
    await_join,
    drop_waits,
    join_answer,
    maybe_complete_join,
    maybe_prepare_rebalance,
)
from barnabas.broker.groups.static_members import replace_member
from barnabas.core.error_code import ErrorCode

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""The time that a new member is kept while its join waits: it has no id yet, so it cannot send heartbeats."""


def join(group: Group, event: Join, now_ms: int) -> list[Effect]:
    """Add a member, or let it rejoin, or refuse it."""
    effects: list[Effect] = []
    refusal = _refusal(group, event, effects)
    if refusal is not None:
        effects.append(AnswerJoin(refusal))
    elif event.member_id == NO_MEMBER_ID:
        _join_unknown(group, event, now_ms, effects)
    elif event.member_id in group.pending_member_ids:
        if event.group_instance_id is not None:
            # Static members get their ids at once, so this pending id was assigned to a dynamic member.
            return [*effects, AnswerJoin(JoinAnswer(ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID))]
        _add_member(group, event, event.member_id, now_ms, effects)
    else:
        _rejoin(group, event, now_ms, effects)
    # Also after a refusal: the refused member may have been the last one that the rebalance waited for.
    maybe_complete_join(group, now_ms, effects)
    return effects


def _refusal(group: Group, event: Join, effects: list[Effect]) -> JoinAnswer | None:
    if not _has_room(group, event.member_id):
        member = group.members.get(event.member_id)
        if member is not None:
            effects.append(CancelTimer(event.member_id))
            drop_waits(group, member, effects)
            group.remove(event.member_id)
            effects.append(Note(Turn.WENT, Reason.TOO_MANY_MEMBERS, member.who))
        # differs from Kafka (full-group-static-member): a returning static member keeps its instance id. Kafka removes
        # the id, and later accepts a second member with it.
        return JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
    if group.phase is Phase.DEAD:
        return JoinAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE, event.member_id)
    if not group.supports(event.protocol_type, [name for name, _ in event.protocols]):
        return JoinAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, event.member_id)
    return None


def _has_room(group: Group, member_id: str) -> bool:
    """Return whether a joining member keeps the group within `group.max.size`."""
    member = group.members.get(member_id)
    match group.phase:
        case Phase.EMPTY | Phase.DEAD:
            return True
        case Phase.PREPARING_REBALANCE:
            is_waiting = member is not None and member.is_awaiting_join
            return is_waiting or group.awaiting_join_count < group.settings.max_size
        case Phase.COMPLETING_REBALANCE | Phase.STABLE:
            return member is not None or len(group.members) < group.settings.max_size


def _join_unknown(group: Group, event: Join, now_ms: int, effects: list[Effect]) -> None:
    """Assign an id to a caller without one; from JoinGroup v4 on it becomes a member when it rejoins with the id."""
    replaced = group.static_member(event.group_instance_id)
    if replaced is not None:
        replace_member(group, replaced, event, now_ms, effects)
        return
    if not event.is_member_id_required:
        _add_member(group, event, event.new_member_id, now_ms, effects)
        return
    group.pending_member_ids.add(event.new_member_id)
    effects.append(SetTimer(event.new_member_id, now_ms + event.session_timeout_ms))
    effects.append(AnswerJoin(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, event.new_member_id)))


def _add_member(group: Group, event: Join, member_id: str, now_ms: int, effects: list[Effect]) -> None:
    group.pending_member_ids.discard(member_id)
    member = Member(
        member_id,
        event.client_id,
        event.client_host,
        event.rebalance_timeout_ms,
        event.session_timeout_ms,
        event.protocols,
        event.group_instance_id,
        is_new=True,
        deadline_ms=now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS,
    )
    if group.phase is Phase.PREPARING_REBALANCE and group.generation == 0:
        group.has_new_member = True
    group.add(member, event.protocol_type)
    await_join(group, member, effects)
    effects.append(SetTimer(member_id, member.deadline_ms))
    if group.phase is Phase.PREPARING_REBALANCE:
        effects.append(Note(Turn.CAME, Reason.JOINED, member.who))
    maybe_prepare_rebalance(group, Reason.JOINED, member, now_ms, effects)


def _rejoin(group: Group, event: Join, now_ms: int, effects: list[Effect]) -> None:
    instance_id = event.group_instance_id
    if group.is_fenced(event.member_id, instance_id):
        effects.append(AnswerJoin(JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, event.member_id)))
        return
    member = group.members.get(event.member_id)
    if member is None or (instance_id is not None and group.static_member(instance_id) is None):
        effects.append(AnswerJoin(JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, event.member_id)))
        return
    is_unchanged = member.protocols == event.protocols
    is_leader = group.leader_id == member.member_id
    # A member that lost its response retries: answer with the same generation. The leader of a stable group, however,
    # rejoins because it wants a new assignment.
    if is_unchanged and (group.phase is Phase.COMPLETING_REBALANCE or (group.phase is Phase.STABLE and not is_leader)):
        effects.append(AnswerJoin(join_answer(group, member)))
        return
    reason = Reason.SUBSCRIPTION_CHANGED
    # For a group loaded from the log only the selected protocol is known.
    if set(member.protocols) <= set(event.protocols):
        reason = Reason.LEADER_REJOINED if is_leader else Reason.JOINED
    group.replace_protocols(member, event.protocols)
    await_join(group, member, effects)
    maybe_prepare_rebalance(group, reason, member, now_ms, effects)
