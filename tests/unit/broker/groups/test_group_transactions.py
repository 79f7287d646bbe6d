"""Offsets that are committed in transactions, and deletion, as the pure group and the coordinator see them."""

import pytest

from barnabas.broker.groups.events import (
    REBALANCE_TIMER,
    Answer,
    AnswerDeletion,
    AppendTombstones,
    Commit,
    CommitAppended,
    CommitFailed,
    DeleteGroup,
    DeleteOffsets,
    DeletionAnswer,
    ExpireOffsets,
    ForgetGroup,
    RemoveTopics,
    StoreOffsets,
    TimerFired,
    TransactionEnded,
    TxnCommit,
    Unloaded,
)
from barnabas.broker.groups.group import CommittedOffset, Phase
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
U0 = TopicPartition("u", 0)
SUBSCRIBED_TO_T = b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff"
P = 7


def txn_commit(story, offset, producer_id=P, append_offset=None, key=T0):
    """Commit in a transaction; the append is confirmed where its offset is given."""
    offsets = {key: CommittedOffset(offset)}
    story.happen(TxnCommit(producer_id, 0, "", -1, offsets))
    if append_offset is not None:
        story.happen(CommitAppended(offsets, append_offset, producer_id))
    return offsets


def plain_commit(story, offset, append_offset, key=T0):
    offsets = {key: CommittedOffset(offset)}
    story.happen(Commit("", -1, offsets))
    story.happen(CommitAppended(offsets, append_offset))


def counting(story):
    return {key: each.offset for key, each in story.group.offsets.items()}


def test_offsets_count_once_the_transaction_is_committed(story):
    offsets = {T0: CommittedOffset(5)}
    assert story.happen(TxnCommit(P, 3, "", -1, offsets)) == [StoreOffsets(offsets, P, 3)]
    story.happen(CommitAppended(offsets, 10, P))
    assert counting(story) == {}
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {T0: 5}
    assert not story.group.pending_transactions


def test_offsets_of_an_aborted_transaction_never_count(story):
    txn_commit(story, 5, append_offset=10)
    story.happen(TransactionEnded(P, False))
    assert counting(story) == {}
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {}


def test_the_transaction_of_one_producer_ends_alone(story):
    txn_commit(story, 5, 1, append_offset=10)
    txn_commit(story, 6, 2, append_offset=11, key=T1)
    story.happen(TransactionEnded(2, True))
    assert counting(story) == {T1: 6}
    story.happen(TransactionEnded(1, True))
    assert counting(story) == {T0: 5, T1: 6}


def test_a_later_record_wins_whenever_the_transaction_ends(story):
    txn_commit(story, 5, append_offset=10)
    plain_commit(story, 9, 11)
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {T0: 9}
    txn_commit(story, 12, append_offset=12)
    txn_commit(story, 13, append_offset=13)
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {T0: 13}


def test_an_append_that_is_confirmed_after_the_marker_still_counts(story):
    offsets = txn_commit(story, 5)
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {}
    assert story.group.has_offsets
    story.happen(CommitAppended(offsets, 10, P))
    assert counting(story) == {T0: 5}
    assert not story.group.pending_commits
    offsets = txn_commit(story, 6)
    story.happen(TransactionEnded(P, False))
    story.happen(CommitAppended(offsets, 11, P))
    assert counting(story) == {T0: 5}


def test_commits_that_could_not_be_stored_are_forgotten(story):
    txn_commit(story, 5, append_offset=10)
    offsets = txn_commit(story, 6, key=T1)
    story.happen(CommitFailed(offsets, P))
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {T0: 5}
    offsets = txn_commit(story, 7)
    story.happen(CommitFailed(offsets, P))
    assert not story.group.pending_transactions


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        (["second"], {T0: 7}),
        (["third"], {T0: 6}),
        (["second", "third"], {T0: 5}),
        (["third", "second"], {T0: 5}),
        (["first", "second", "third"], {}),
    ],
)
def test_a_commit_that_could_not_be_stored_leaves_the_one_before_it(story, failing, expected):
    commits = {"first": txn_commit(story, 5), "second": txn_commit(story, 6), "third": txn_commit(story, 7)}
    for name in failing:
        story.happen(CommitFailed(commits.pop(name), P))
    for append_offset, offsets in enumerate(commits.values()):
        story.happen(CommitAppended(offsets, append_offset, P))
    story.happen(TransactionEnded(P, True))
    assert counting(story) == expected
    assert not story.group.pending_transactions


@pytest.mark.parametrize(
    ("member_id", "generation", "error_code"),
    [
        ("", -1, ErrorCode.NONE),
        ("m1", -1, ErrorCode.NONE),
        ("m1", 1, ErrorCode.NONE),
        ("", 1, ErrorCode.NONE),
        ("stranger", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("m1", 2, ErrorCode.ILLEGAL_GENERATION),
        ("", 0, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_who_may_commit(stable_story, member_id, generation, error_code):
    assert stable_story.happen(TxnCommit(P, 0, member_id, generation, {})) == [Answer(error_code)]


def test_a_dead_group_takes_nothing(story):
    offsets = txn_commit(story, 5)
    story.happen(Unloaded())
    assert story.happen(TxnCommit(P, 0, "", -1, {})) == [Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    assert story.happen(CommitAppended(offsets, 10, P)) == []
    assert story.happen(TransactionEnded(P, True)) == []
    assert story.happen(DeleteGroup()) == [Answer(ErrorCode.GROUP_ID_NOT_FOUND)]
    assert story.happen(DeleteOffsets((T0,))) == [AnswerDeletion(DeletionAnswer(ErrorCode.GROUP_ID_NOT_FOUND))]


def test_a_group_with_an_open_transaction_does_not_expire(story):
    txn_commit(story, 5, append_offset=10)
    story.now_ms = 10_000
    assert story.happen(ExpireOffsets(1)) == []
    story.happen(TransactionEnded(P, False))
    assert ForgetGroup() in story.happen(ExpireOffsets(1))


def test_a_deleted_topic_is_taken_out_of_transactions(story):
    txn_commit(story, 5, append_offset=10)
    txn_commit(story, 6, append_offset=11, key=U0)
    story.happen(RemoveTopics(frozenset({"t"})))
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {U0: 6}
    txn_commit(story, 7, append_offset=12)
    story.happen(RemoveTopics(frozenset({"t"})))
    assert not story.group.pending_transactions


def test_a_group_is_deleted_with_all_it_has(story):
    plain_commit(story, 1, 0)
    txn_commit(story, 5, append_offset=10, key=T1)
    effects = story.happen(DeleteGroup())
    assert effects == [AppendTombstones((T0,), False), ForgetGroup(), Answer(ErrorCode.NONE)]
    assert story.group.phase is Phase.DEAD
    assert not story.group.has_offsets


def test_a_group_with_members_is_not_deleted(stable_story):
    assert stable_story.happen(DeleteGroup()) == [Answer(ErrorCode.NON_EMPTY_GROUP)]


def test_offsets_of_topics_that_members_read_are_not_deleted(story, make_join):
    story.happen(make_join(new_member_id="m1", protocols=(("range", SUBSCRIBED_TO_T),)))
    offsets = {T0: CommittedOffset(1), U0: CommittedOffset(2)}
    story.group.offsets.update(offsets)
    story.now_ms = 3_000
    story.happen(TimerFired(REBALANCE_TIMER))
    story.now_ms = 6_000
    story.happen(TimerFired(REBALANCE_TIMER))
    assert story.group.subscribed_topics == {"t"}
    effects = story.happen(DeleteOffsets((T0, U0)))
    assert effects == [AppendTombstones((U0,), False), AnswerDeletion(DeletionAnswer(ErrorCode.NONE, frozenset({T0})))]


def test_members_of_another_kind_keep_all_their_offsets(story, make_join):
    story.happen(make_join(new_member_id="m1", protocol_type="connect"))
    assert story.happen(DeleteOffsets((T0,))) == [AnswerDeletion(DeletionAnswer(ErrorCode.NON_EMPTY_GROUP))]


def test_offsets_of_an_empty_group_are_deleted_with_what_is_pending(story):
    plain_commit(story, 1, 0)
    plain_commit(story, 2, 1, U0)
    txn_commit(story, 5, append_offset=10)
    effects = story.happen(DeleteOffsets((T0, T1, T0)))
    assert effects == [AppendTombstones((T0,), False), AnswerDeletion(DeletionAnswer(ErrorCode.NONE))]
    story.happen(TransactionEnded(P, True))
    assert counting(story) == {U0: 2}


# The coordinator


def event(offset, producer_id=P):
    return TxnCommit(producer_id, 2, "", -1, {T0: CommittedOffset(offset)})


def offset_of(groups, group_id="g"):
    found = groups.fetch_offsets(group_id, [T0])[1].get(T0)
    return None if found is None else found.offset


def write_marker(service, is_committed, producer_id=P, group_id="g"):
    kind = MarkerType.COMMIT if is_committed else MarkerType.ABORT
    partition = service.groups.partition_for(group_id)
    log = service.replicas.partitions[TopicPartition("__consumer_offsets", partition)].log
    log.append(build_marker(producer_id, 2, EndTransactionMarker(kind, 0), 0))
    service.groups.transaction_ended(producer_id, partition, is_committed)


def test_the_batch_is_the_producers(service):
    assert service.groups.txn_commit("g", event(5)).value is ErrorCode.NONE
    partition = service.groups.partition_for("g")
    (batch,) = service.replicas.partitions[TopicPartition("__consumer_offsets", partition)].log.data
    header = read_header(memoryview(batch))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (P, 2, 0)
    assert header.is_transactional
    assert not header.is_control


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_marker_ends_it_before_and_after_a_restart(service, is_committed):
    expected = 5 if is_committed else None
    assert service.groups.txn_commit("g", event(5)).value is ErrorCode.NONE
    assert service.restart().unstable_partitions("g") == {T0}
    write_marker(service, is_committed)
    assert offset_of(service.groups) == expected
    assert service.groups.unstable_partitions("g") == frozenset()
    assert offset_of(service.restart()) == expected
    assert service.groups.unstable_partitions("g") == frozenset()


def test_a_marker_is_for_the_groups_of_its_partition_alone(service):
    other = next(name for name in "abcdef" if service.groups.partition_for(name) != service.groups.partition_for("g"))
    for group_id in ("g", other):
        assert service.groups.txn_commit(group_id, event(5)).value is ErrorCode.NONE
    write_marker(service, True)
    assert (offset_of(service.groups), offset_of(service.groups, other)) == (5, None)
    write_marker(service, True, group_id=other)
    assert offset_of(service.groups, other) == 5


def test_an_append_that_fails_leaves_nothing_to_end(service):
    service.replicas.error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    assert service.groups.txn_commit("g", event(5)).value is ErrorCode.INVALID_PRODUCER_EPOCH
    service.replicas.error_code = ErrorCode.NONE
    assert service.groups.unstable_partitions("g") == frozenset()
    write_marker(service, True)
    assert offset_of(service.groups) is None


def test_a_fenced_producer_does_not_discard_the_offsets_of_its_successor(service):
    assert service.groups.txn_commit("g", event(5)).value is ErrorCode.NONE
    service.replicas.error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    assert service.groups.txn_commit("g", event(3)).value is ErrorCode.INVALID_PRODUCER_EPOCH
    service.replicas.error_code = ErrorCode.NONE
    assert service.groups.unstable_partitions("g") == {T0}
    write_marker(service, True)
    assert offset_of(service.groups) == 5


def test_producers_that_are_refused_are_not_remembered(service):
    for producer_id in range(10):
        refused = TxnCommit(producer_id, 0, "stranger", 1, {T0: CommittedOffset(1)})
        assert service.groups.txn_commit("g", refused).value is ErrorCode.UNKNOWN_MEMBER_ID
        assert service.groups.txn_commit("g", TxnCommit(producer_id, 0, "", -1, {})).value is ErrorCode.NONE
    assert len(service.groups.open_transactions) == 0
    service.groups.txn_commit("g", event(5))
    assert len(service.groups.open_transactions) == 1
    write_marker(service, True)
    assert len(service.groups.open_transactions) == 0


class LaterExecutor:
    """Runs what it is given when told."""

    def __init__(self) -> None:
        self.jobs = []

    def run(self, work, then, failed) -> None:
        self.jobs.append((work, then))

    def finish(self) -> None:
        jobs, self.jobs = self.jobs, []
        for work, then in jobs:
            then(work())


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_marker_that_comes_during_a_load_counts_after_it(service, is_committed):
    assert service.groups.txn_commit("g", event(5)).value is ErrorCode.NONE
    service.groups.close()
    executor = LaterExecutor()
    groups = service.groups = service.start(executor)
    # The load reads as far as the log went when it began; the marker comes behind that.
    partition = groups.partition_for("g")
    groups.transaction_ended(P, partition, is_committed)
    executor.finish()
    service.clock.advance(0)
    assert offset_of(groups) == (5 if is_committed else None)
    assert groups.unstable_partitions("g") == frozenset()


def test_a_partition_that_is_given_up_forgets_its_transactions(service):
    assert service.groups.txn_commit("g", event(5)).value is ErrorCode.NONE
    partition = service.groups.partition_for("g")
    service.groups.on_partition_resigned(partition)
    service.groups.transaction_ended(P, partition, True)
    assert service.groups.txn_commit("g", event(6)).value is ErrorCode.NOT_COORDINATOR
