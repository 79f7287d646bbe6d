"""SyncGroup: the leader submits the assignments; each member gets its own once they are stored.

Source: protocol guide, SyncGroup; KIP-345 (static members), KIP-559 (protocol type and name).
"""

from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn
from barnabas.broker.groups.events import (
    AnswerSync,
    AwaitSync,
    Effect,
    FinishSync,
    GroupStored,
    StoreGroup,
    Sync,
    SyncAnswer,
)
from barnabas.broker.groups.group import Group, Phase
from barnabas.broker.groups.rebalance import extend_session, finish_sync, maybe_prepare_rebalance, reset_assignments
from barnabas.core.error_code import ErrorCode


def sync(group: Group, event: Sync, now_ms: int) -> list[Effect]:
    """Return a member's assignment, or make it wait for the leader's."""
    if group.phase is Phase.DEAD:
        return [AnswerSync(SyncAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))]
    if group.is_fenced(event.member_id, event.group_instance_id):
        return [AnswerSync(SyncAnswer(ErrorCode.FENCED_INSTANCE_ID))]
    member = group.members.get(event.member_id)
    if member is None:
        return [AnswerSync(SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID))]
    if event.generation != group.generation:
        return [AnswerSync(SyncAnswer(ErrorCode.ILLEGAL_GENERATION))]
    if event.protocol_type not in (None, group.protocol_type) or event.protocol_name not in (None, group.protocol_name):
        return [AnswerSync(SyncAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))]
    if group.phase is Phase.PREPARING_REBALANCE:
        return [AnswerSync(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))]
    if group.phase is Phase.STABLE:
        answer = SyncAnswer(ErrorCode.NONE, member.assignment, group.protocol_type, group.protocol_name)
        return [AnswerSync(answer), extend_session(member, now_ms)]
    effects: list[Effect] = []
    if member.is_awaiting_sync:
        # differs from Kafka (replaced-sync): a waiting sync is answered when a later sync of the same member replaces
        # it. Kafka never answers it.
        effects.append(FinishSync(member.member_id, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)))
    member.is_awaiting_sync = True
    effects.append(AwaitSync(member.member_id))
    if member.member_id == group.leader_id:
        assignments = {member_id: event.assignments.get(member_id, b"") for member_id in group.members}
        effects.append(StoreGroup(group.generation, assignments))
    return effects


def group_stored(group: Group, event: GroupStored, now_ms: int) -> list[Effect]:
    """Send the stored assignments to the members; if they could not be stored, all members rejoin."""
    effects: list[Effect] = []
    # A member may have joined or left during the append: then the assignments are obsolete.
    if group.phase is not Phase.COMPLETING_REBALANCE or event.generation != group.generation:
        return effects
    if event.error_code is not ErrorCode.NONE:
        reset_assignments(group, event.error_code, now_ms, effects)
        maybe_prepare_rebalance(group, Reason.ASSIGNMENT_NOT_STORED, None, now_ms, effects)
        return effects
    for member in group.members.values():
        group.assign(member, event.assignments[member.member_id])
        answer = SyncAnswer(ErrorCode.NONE, member.assignment, group.protocol_type, group.protocol_name)
        finish_sync(member, answer, now_ms, effects)
    group.enter(Phase.STABLE, now_ms)
    effects.append(Note(Turn.STABLE, generation=group.generation, member_count=len(group.members)))
    return effects
