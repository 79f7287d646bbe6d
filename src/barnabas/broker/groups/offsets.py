"""Committed offsets: checks of a commit, its application after the append, expiry and deletion.

Invariant: of two commits for a partition, the one whose record was appended later is valid, whatever the order in which
the appends are confirmed.

Source: protocol guide, OffsetCommit, OffsetDelete and DeleteGroups; KIP-211 (expiry), KIP-496 (deletion).
"""

from collections.abc import Iterable

from barnabas.broker.groups.events import (
    Answer,
    AnswerDeletion,
    AppendTombstones,
    CancelTimer,
    Commit,
    CommitAppended,
    CommitFailed,
    DeleteOffsets,
    DeletionAnswer,
    Effect,
    ExpireOffsets,
    ForgetGroup,
    RemoveTopics,
    StoreOffsets,
)
from barnabas.broker.groups.group import CONSUMER_PROTOCOL_TYPE, CommittedOffset, Group, Phase
from barnabas.broker.groups.rebalance import extend_session
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP, TopicPartition


def commit(group: Group, event: Commit, now_ms: int) -> list[Effect]:
    """Check that the caller may commit, and store the commits."""
    error_code = _commit_refusal(group, event)
    if error_code is not ErrorCode.NONE:
        return [Answer(error_code)]
    effects: list[Effect] = []
    member = group.members.get(event.member_id)
    if member is not None:
        effects.append(extend_session(member, now_ms))
    if event.offsets:
        for topic_partition, committed in event.offsets.items():
            group.pending_commits.setdefault(topic_partition, []).append(committed)
        effects.append(StoreOffsets(event.offsets))
    else:
        effects.append(Answer(ErrorCode.NONE))
    return effects


def commit_appended(group: Group, event: CommitAppended) -> list[Effect]:
    """Apply stored commits."""
    if group.phase is Phase.DEAD:
        return []
    for topic_partition, committed in event.offsets.items():
        # If the commit is no longer pending, its topic was deleted meanwhile.
        if unstage(group, topic_partition, committed):
            committed.append_offset = event.append_offset
            take_newer(group, topic_partition, committed)
    return []


def take_newer(group: Group, topic_partition: TopicPartition, committed: CommittedOffset) -> None:
    """Apply a commit, unless a commit appended later is already applied."""
    current = group.offsets.get(topic_partition)
    if current is None or current.append_offset < committed.append_offset:
        group.offsets[topic_partition] = committed


def commit_failed(group: Group, event: CommitFailed) -> list[Effect]:
    """Discard commits that could not be stored."""
    for topic_partition, committed in event.offsets.items():
        unstage(group, topic_partition, committed)
    return []


def expire_offsets(group: Group, event: ExpireOffsets, now_ms: int) -> list[Effect]:
    """Remove the offsets older than the retention time (KIP-211), and the group if it is empty then."""
    expired = [
        topic_partition
        for topic_partition, committed in group.offsets.items()
        if topic_partition not in group.pending_commits
        and _is_expired(group, topic_partition, committed, event, now_ms)
    ]
    return _remove(group, expired, now_ms)


def remove_topics(group: Group, event: RemoveTopics, now_ms: int) -> list[Effect]:
    """Remove the offsets of deleted topics, including pending ones."""
    kept: list[Iterable[TopicPartition]] = [group.offsets, group.pending_commits, *group.pending_transactions.values()]
    named = dict.fromkeys(each for partitions in kept for each in partitions if each.topic in event.names)
    return _delete(group, named, now_ms)


def delete_offsets(group: Group, event: DeleteOffsets, now_ms: int) -> list[Effect]:
    """Delete offsets, except those of topics to which members of the group are subscribed."""
    subscribed: frozenset[TopicPartition] = frozenset()
    if group.phase is not Phase.EMPTY:
        if group.phase is Phase.DEAD or group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            is_dead = group.phase is Phase.DEAD
            error_code = ErrorCode.GROUP_ID_NOT_FOUND if is_dead else ErrorCode.NON_EMPTY_GROUP
            return [AnswerDeletion(DeletionAnswer(error_code))]
        subscribed = frozenset(each for each in event.partitions if group.is_subscribed_to(each.topic))
    deleted = [each for each in event.partitions if each not in subscribed]
    return [*_delete(group, deleted, now_ms), AnswerDeletion(DeletionAnswer(ErrorCode.NONE, subscribed))]


def delete_group(group: Group, now_ms: int) -> list[Effect]:
    """Delete a group without members, with all its offsets."""
    if group.phase is Phase.DEAD:
        return [Answer(ErrorCode.GROUP_ID_NOT_FOUND)]
    if group.phase is not Phase.EMPTY:
        return [Answer(ErrorCode.NON_EMPTY_GROUP)]
    group.pending_commits.clear()
    group.pending_transactions.clear()
    return [*_remove(group, list(group.offsets), now_ms), Answer(ErrorCode.NONE)]


def unstage(group: Group, topic_partition: TopicPartition, committed: CommittedOffset) -> bool:
    """Remove a pending commit; return False if it is no longer pending."""
    staged = group.pending_commits.get(topic_partition)
    if staged is None or committed not in staged:
        return False
    staged.remove(committed)
    if not staged:
        del group.pending_commits[topic_partition]
    return True


def _commit_refusal(group: Group, event: Commit) -> ErrorCode:
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if group.is_fenced(event.member_id, event.group_instance_id):
        return ErrorCode.FENCED_INSTANCE_ID
    if event.generation < 0 and group.phase is Phase.EMPTY:
        # The group only stores offsets: its consumers use manual assignment.
        return ErrorCode.NONE
    if event.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if event.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if group.phase is Phase.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _is_expired(
    group: Group, topic_partition: TopicPartition, committed: CommittedOffset, event: ExpireOffsets, now_ms: int
) -> bool:
    base_ms = committed.commit_timestamp_ms
    if group.protocol_type is not None:
        if group.phase is Phase.EMPTY:
            if group.state_timestamp_ms != NO_TIMESTAMP:
                base_ms = group.state_timestamp_ms
        elif group.phase is not Phase.STABLE:
            # differs from Kafka (expiry-in-a-rebalance): not all subscriptions are known yet; as in Kafka 3.2
            # (KAFKA-13636).
            return False
        elif group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.is_subscribed_to(topic_partition.topic):
            return False
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_timestamp_ms
    return now_ms - base_ms >= event.retention_ms


def _delete(group: Group, partitions: Iterable[TopicPartition], now_ms: int) -> list[Effect]:
    """Delete offsets and the pending commits of their partitions."""
    partitions = list(partitions)
    for topic_partition in partitions:
        group.pending_commits.pop(topic_partition, None)
        for pending in group.pending_transactions.values():
            pending.pop(topic_partition, None)
    for producer_id in [producer_id for producer_id, pending in group.pending_transactions.items() if not pending]:
        del group.pending_transactions[producer_id]
    return _remove(group, [each for each in dict.fromkeys(partitions) if each in group.offsets], now_ms)


def _remove(group: Group, partitions: Iterable[TopicPartition], now_ms: int) -> list[Effect]:
    removed = tuple(partitions)
    for topic_partition in removed:
        del group.offsets[topic_partition]
    if group.phase is Phase.EMPTY and not group.has_offsets:
        group.enter(Phase.DEAD, now_ms)
        # Generation 0 was never stored: no tombstone is needed.
        is_stored = group.generation > 0
        effects: list[Effect] = [CancelTimer(member_id) for member_id in sorted(group.pending_member_ids)]
        if removed or is_stored:
            effects.append(AppendTombstones(removed, is_stored))
        return [*effects, ForgetGroup()]
    return [AppendTombstones(removed, False)] if removed else []
