"""Offsets committed within a transaction: they become valid when it is committed, and never if it is aborted.

    TxnOffsetCommit --append--> pending for its producer --commit marker--> valid, unless a later record is
                                                         --abort marker---> discarded

Invariant: of two commits for a partition, the one whose record was appended later is valid, whatever the order in which
their transactions ended.

Source: KIP-98; KIP-447 (fencing by member id and generation); protocol guide, TxnOffsetCommit.
"""

from barnabas.broker.groups.events import (
    NO_MEMBER_ID,
    Answer,
    CommitAppended,
    CommitFailed,
    Effect,
    StoreOffsets,
    TransactionEnded,
    TxnCommit,
)
from barnabas.broker.groups.group import Group, Phase
from barnabas.broker.groups.offsets import take_newer, unstage
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_OFFSET


def txn_commit(group: Group, event: TxnCommit) -> list[Effect]:
    """Check that the caller may commit, and store the commits as part of the producer's transaction."""
    error_code = _refusal(group, event)
    if error_code is not ErrorCode.NONE or not event.offsets:
        return [Answer(error_code)]
    pending = group.pending_transactions.setdefault(event.producer_id, {})
    for topic_partition, committed in event.offsets.items():
        committed.replaced = pending.get(topic_partition)
        pending[topic_partition] = committed
    return [StoreOffsets(event.offsets, event.producer_id, event.producer_epoch)]


def txn_commit_appended(group: Group, event: CommitAppended) -> list[Effect]:
    """Record the offsets of the appended records; the commits become valid only when the transaction is committed."""
    if group.phase is Phase.DEAD:
        return []
    for topic_partition, committed in event.offsets.items():
        committed.append_offset = event.append_offset
        committed.replaced = None
        if unstage(group, topic_partition, committed):
            # The transaction was committed before this append was confirmed.
            take_newer(group, topic_partition, committed)
    return []


def txn_commit_failed(group: Group, event: CommitFailed) -> list[Effect]:
    """Discard commits that could not be stored, and restore the commits that they replaced."""
    pending = group.pending_transactions.get(event.producer_id, {})
    for topic_partition, committed in event.offsets.items():
        newer = pending.get(topic_partition)
        if newer is committed:
            # differs from Kafka (fenced-offsets): in Kafka the replaced commit, which may be of a newer producer epoch,
            # is discarded as well.
            if committed.replaced is None:
                del pending[topic_partition]
            else:
                pending[topic_partition] = committed.replaced
        while newer is not None:
            if newer.replaced is committed:
                newer.replaced = committed.replaced
            newer = newer.replaced
        unstage(group, topic_partition, committed)
    if not pending:
        group.pending_transactions.pop(event.producer_id, None)
    return []


def transaction_ended(group: Group, event: TransactionEnded) -> list[Effect]:
    """Apply the offsets of a committed transaction, or discard the offsets of an aborted one."""
    if group.phase is Phase.DEAD:
        return []
    pending = group.pending_transactions.pop(event.producer_id, {})
    if event.is_committed:
        for topic_partition, committed in pending.items():
            if committed.append_offset == NO_OFFSET:
                # The commit is before the marker in the log, but its append is not confirmed yet.
                group.pending_commits.setdefault(topic_partition, []).append(committed)
            else:
                take_newer(group, topic_partition, committed)
    return []


def _refusal(group: Group, event: TxnCommit) -> ErrorCode:
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if group.is_fenced(event.member_id, event.group_instance_id):
        return ErrorCode.FENCED_INSTANCE_ID
    if event.member_id != NO_MEMBER_ID and event.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if event.generation >= 0 and event.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE
