"""Rebalances: the start and completion of the join phase, and the removal of members.

    Empty, Stable, CompletingRebalance --prepare--> PreparingRebalance --complete--> CompletingRebalance | Empty

Invariant: in PreparingRebalance the rebalance timer is set, so the phase ends even if no member rejoins. Static members
that do not rejoin stay until their session expires.

Source: design page, consumer group membership; KIP-134 (initial delay), KIP-345 (static members).
"""

from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn
from barnabas.broker.groups.events import (
    NO_MEMBER_ID,
    REBALANCE_TIMER,
    AwaitJoin,
    CancelTimer,
    Effect,
    FinishJoin,
    FinishSync,
    JoinAnswer,
    JoinedMember,
    SetTimer,
    StoreGroup,
    SyncAnswer,
)
from barnabas.broker.groups.group import Group, Member, Phase
from barnabas.core.error_code import ErrorCode

# differs from Kafka (repeated-rebalance-wait): with a rebalance timeout of 0, Kafka checks in a busy loop.
_LEAST_REPEATED_WAIT_MS = 100
"""The shortest interval at which the group checks if a static member has rejoined, even if the timeout is shorter."""


def extend_session(member: Member, now_ms: int) -> SetTimer:
    """Restart a member's session timeout."""
    member.deadline_ms = now_ms + member.session_timeout_ms
    return SetTimer(member.member_id, member.deadline_ms)


def await_join(group: Group, member: Member, effects: list[Effect]) -> None:
    """Make a member's JoinGroup wait for the other members."""
    if member.is_awaiting_join:
        # differs from Kafka (replaced-join): a waiting join is answered when a later join of the same member replaces
        # it. Kafka never answers it, and its connection hangs.
        effects.append(
            FinishJoin(member.member_id, JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)),
        )
    group.set_awaiting_join(member, True)
    group.last_joined_id = member.member_id
    effects.append(AwaitJoin(member.member_id))


def maybe_prepare_rebalance(
    group: Group, reason: Reason, member: Member | None, now_ms: int, effects: list[Effect], heard_ms: int = -1
) -> None:
    """Start a rebalance, unless one already waits for its members.

    Args:
        member: The member that caused it; None: no member.
        heard_ms: See `Note`.
    """
    if group.phase is Phase.PREPARING_REBALANCE or group.phase is Phase.DEAD:
        return
    effects.append(Note(Turn.BEGAN, reason, None if member is None else member.who, heard_ms))
    if group.phase is Phase.COMPLETING_REBALANCE:
        reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms, effects)
    if group.phase is Phase.EMPTY:
        delay_ms = group.settings.initial_rebalance_delay_ms
        group.initial_delay_ms = delay_ms
        group.initial_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.has_new_member = False
    else:
        delay_ms = group.rebalance_timeout_ms
    group.enter(Phase.PREPARING_REBALANCE, now_ms)
    effects.append(SetTimer(REBALANCE_TIMER, now_ms + max(delay_ms, 0)))
    maybe_complete_join(group, now_ms, effects)


def maybe_complete_join(group: Group, now_ms: int, effects: list[Effect]) -> None:
    """Complete the join phase if all members have joined, unless the initial delay runs: it always ends by timeout."""
    if group.phase is not Phase.PREPARING_REBALANCE or group.initial_delay_ms is not None:
        return
    if group.has_all_members_joined:
        effects.append(CancelTimer(REBALANCE_TIMER))
        _complete_join(group, now_ms, effects)


def on_rebalance_timeout(group: Group, now_ms: int, effects: list[Effect]) -> None:
    """Handle the rebalance timeout: continue with the members that joined, or extend the initial delay."""
    if group.phase is not Phase.PREPARING_REBALANCE:
        return
    delay_ms = group.initial_delay_ms
    if delay_ms is not None and group.has_new_member and group.initial_remaining_ms:
        group.has_new_member = False
        group.initial_delay_ms = min(group.settings.initial_rebalance_delay_ms, group.initial_remaining_ms)
        group.initial_remaining_ms = max(group.initial_remaining_ms - delay_ms, 0)
        effects.append(SetTimer(REBALANCE_TIMER, now_ms + group.initial_delay_ms))
        return
    _complete_join(group, now_ms, effects)


def remove_member(group: Group, member: Member, reason: Reason, now_ms: int, effects: list[Effect]) -> None:
    """Remove a member, answer its waiting requests, and rebalance the others."""
    heard_ms = member.deadline_ms - member.session_timeout_ms if reason is Reason.SESSION_EXPIRED else -1
    member_id = member.member_id
    effects.append(CancelTimer(member_id))
    drop_waits(group, member, effects)
    group.remove(member_id)
    if group.phase is Phase.STABLE or group.phase is Phase.COMPLETING_REBALANCE:
        maybe_prepare_rebalance(group, reason, member, now_ms, effects, heard_ms)
    else:
        effects.append(Note(Turn.WENT, reason, member.who, heard_ms))
        maybe_complete_join(group, now_ms, effects)


def drop_waits(group: Group, member: Member, effects: list[Effect]) -> None:
    """Answer the waiting requests of a removed member with UNKNOWN_MEMBER_ID."""
    if member.is_awaiting_join:
        effects.append(FinishJoin(member.member_id, JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)))
    if member.is_awaiting_sync:
        # differs from Kafka (removed-member-sync): Kafka never answers the sync of a removed member.
        member.is_awaiting_sync = False
        effects.append(FinishSync(member.member_id, SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID)))


def reset_assignments(group: Group, error_code: ErrorCode, now_ms: int, effects: list[Effect]) -> None:
    """Clear all assignments and answer every waiting SyncGroup with an error."""
    for member in group.members.values():
        group.assign(member, b"")
        finish_sync(member, SyncAnswer(error_code), now_ms, effects)


def finish_sync(member: Member, answer: SyncAnswer, now_ms: int, effects: list[Effect]) -> None:
    """Answer a member's sync, if one waits, and restart its session timeout."""
    if member.is_awaiting_sync:
        member.is_awaiting_sync = False
        effects.append(FinishSync(member.member_id, answer))
        effects.append(extend_session(member, now_ms))


def join_answer(group: Group, member: Member) -> JoinAnswer:
    """Return the JoinGroup answer of the current generation for a member."""
    members: tuple[JoinedMember, ...] = ()
    if member.member_id == group.leader_id:
        members = tuple(
            JoinedMember(other.member_id, other.group_instance_id, other.metadata(group.protocol_name))
            for other in group.members.values()
        )
    return JoinAnswer(
        ErrorCode.NONE,
        member.member_id,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.leader_id or "",
        members,
    )


def _complete_join(group: Group, now_ms: int, effects: list[Effect]) -> None:
    """Begin the next generation with the members that rejoined, and all static members."""
    group.initial_delay_ms = None
    group.has_new_member = False
    for member in [member for member in group.members.values() if _is_given_up(member)]:
        effects.append(CancelTimer(member.member_id))
        drop_waits(group, member, effects)
        group.remove(member.member_id)
        effects.append(Note(Turn.WENT, Reason.POLL_INTERVAL_EXCEEDED, member.who))
    if not group.elect_joined_leader():
        # Only static members are left, and none has rejoined: wait until one rejoins, or their sessions expire.
        wait_ms = max(group.rebalance_timeout_ms, _LEAST_REPEATED_WAIT_MS)
        effects.append(SetTimer(REBALANCE_TIMER, now_ms + wait_ms))
        return
    group.generation += 1
    if not group.members:
        group.protocol_name = None
        group.compute_subscribed_topics()
        group.enter(Phase.EMPTY, now_ms)
        effects.append(Note(Turn.EMPTY, generation=group.generation))
        effects.append(StoreGroup(group.generation, {}))
        return
    group.protocol_name = group.select_protocol()
    group.compute_subscribed_topics()
    group.enter(Phase.COMPLETING_REBALANCE, now_ms)
    last = group.members.get(group.last_joined_id or NO_MEMBER_ID)
    who = None if last is None else last.who
    effects.append(Note(Turn.GATHERED, who=who, generation=group.generation, member_count=len(group.members)))
    for member in group.members.values():
        if member.is_awaiting_join:
            group.set_awaiting_join(member, False)
            effects.append(FinishJoin(member.member_id, join_answer(group, member)))
        member.is_new = False
        effects.append(extend_session(member, now_ms))


def _is_given_up(member: Member) -> bool:
    """Return whether a member is removed before the next generation: a dynamic one that has not rejoined."""
    return not member.is_awaiting_join and member.group_instance_id is None
