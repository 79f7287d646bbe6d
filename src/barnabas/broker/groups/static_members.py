"""Static members (KIP-345): a static member that rejoins keeps its membership under a new id; the old id is fenced.

A stable group keeps its generation. The new id is stored with the group before the member is answered; if it cannot be
stored, the old id is restored.

Source: KIP-345; semantics, JoinGroup.
"""

from barnabas.broker.diagnostics.rebalances import Reason
from barnabas.broker.groups.events import (
    NO_MEMBER_ID,
    CancelTimer,
    Effect,
    FinishJoin,
    FinishSync,
    Join,
    JoinAnswer,
    Replacement,
    ReplacementStored,
    StoreReplacement,
    SyncAnswer,
)
from barnabas.broker.groups.group import Group, Member, Phase
from barnabas.broker.groups.rebalance import await_join, extend_session, maybe_prepare_rebalance
from barnabas.core.error_code import ErrorCode


def replace_member(group: Group, member: Member, event: Join, now_ms: int, effects: list[Effect]) -> None:
    """Assign a new id to a static member that joins without one; requests waiting under the old id are fenced."""
    old_id = member.member_id
    replacement = Replacement(event.new_member_id, old_id, member.protocols, group.leader_id or NO_MEMBER_ID)
    effects.append(CancelTimer(old_id))
    if member.is_awaiting_join:
        group.set_awaiting_join(member, False)
        effects.append(FinishJoin(old_id, JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, old_id)))
    if member.is_awaiting_sync:
        member.is_awaiting_sync = False
        effects.append(FinishSync(old_id, SyncAnswer(ErrorCode.FENCED_INSTANCE_ID)))
    group.rename(member, event.new_member_id)
    group.replace_protocols(member, event.protocols)
    effects.append(extend_session(member, now_ms))
    await_join(group, member, effects)
    if group.phase is Phase.STABLE and group.select_protocol() == group.protocol_name:
        assignments = {other.member_id: other.assignment for other in group.members.values()}
        effects.append(StoreReplacement(group.generation, assignments, replacement))
    else:
        # The leader may know only the old id, and would assign partitions to it.
        maybe_prepare_rebalance(group, Reason.STATIC_REPLACED, member, now_ms, effects)


def replacement_stored(group: Group, event: ReplacementStored, now_ms: int) -> list[Effect]:
    """Answer the rejoined member with the current generation, or restore its old id."""
    replacement = event.replacement
    member = group.members.get(replacement.member_id)
    is_superseded = group.phase is not Phase.STABLE or group.generation != event.generation
    if member is None or not member.is_awaiting_join or is_superseded:
        # The member left, was replaced again, or a rebalance began meanwhile, which will store its id.
        return []
    group.set_awaiting_join(member, False)
    is_stored = event.error_code is ErrorCode.NONE
    # Return the previous leader id, so that a returning leader does not assign: a stable group accepts no assignment.
    answer = JoinAnswer(
        event.error_code,
        member.member_id if is_stored else NO_MEMBER_ID,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        replacement.leader_id,
    )
    effects: list[Effect] = [FinishJoin(member.member_id, answer)]
    if not is_stored:
        effects.append(CancelTimer(member.member_id))
        group.replace_protocols(member, replacement.old_protocols)
        group.rename(member, replacement.old_member_id)
    effects.append(extend_session(member, now_ms))
    return effects
