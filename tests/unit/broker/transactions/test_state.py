"""The transaction machine, transition by transition."""

import pytest

from barnabas.broker.transactions.events import (
    AddPartitions,
    Answer,
    Append,
    Appended,
    AppendFailed,
    AppendTombstone,
    Effect,
    End,
    Event,
    Expire,
    Forget,
    Initialize,
    Loaded,
    MarkersWritten,
    NeedProducerId,
    SendMarkers,
    TimeOut,
)
from barnabas.broker.transactions.state import step
from barnabas.broker.transactions.transaction import Transaction
from barnabas.broker.transactions.transaction import TransactionState as S
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
PID = 7


class Story:
    """One transactional id to which events happen; its log says yes unless it is told otherwise."""

    def __init__(self, **fields) -> None:
        values = {"producer_id": PID, "timeout_ms": 1_000} | fields
        self.txn = Transaction("tx", **values)
        self.now_ms = 10_000
        self.markers: list[Effect] = []

    def happen(self, event: Event) -> list[Effect]:
        return step(self.txn, event, self.now_ms)

    def begin(self, event: Event) -> Append:
        """What is to be appended."""
        (append,) = self.happen(event)
        assert isinstance(append, Append)
        assert self.txn.pending == append.transition
        return append

    def do(self, event: Event) -> Answer:
        """The answer, with all appended on the way."""
        (effect,) = self.happen(event)
        if isinstance(effect, Answer):
            return effect
        assert isinstance(effect, Append)
        self.markers += self.happen(Appended())
        assert effect.answer is not None
        return effect.answer

    def finish(self) -> None:
        """All partitions know how it ended, and that is in the log."""
        self.begin(MarkersWritten())
        assert self.happen(Appended()) == []

    def add(self, *partitions: TopicPartition, epoch: int = 0, producer_id: int = PID) -> E:
        return self.do(AddPartitions(producer_id, epoch, frozenset(partitions))).error_code

    def end(self, is_commit: bool = True, epoch: int = 0, producer_id: int = PID) -> E:
        return self.do(End(producer_id, epoch, is_commit)).error_code


def ready(**fields) -> Story:
    return Story(**({"producer_epoch": 0} | fields))


def test_a_transaction_from_beginning_to_end() -> None:
    story = Story()
    assert story.do(Initialize(500)) == Answer(E.NONE, PID, 0)
    assert (story.txn.state, story.txn.timeout_ms, story.txn.update_timestamp_ms) == (S.EMPTY, 500, 10_000)
    story.now_ms += 5
    assert story.add(P0) == E.NONE
    story.now_ms += 5
    assert story.add(P1) == E.NONE
    assert (story.txn.state, story.txn.start_timestamp_ms) == (S.ONGOING, 10_005)
    assert story.end() == E.NONE
    assert story.txn.state is S.PREPARE_COMMIT
    assert story.markers == [SendMarkers(PID, 0, True, frozenset((P0, P1)))]
    story.finish()
    assert (story.txn.state, story.txn.partitions) == (S.COMPLETE_COMMIT, frozenset())
    assert story.add(P0) == E.NONE
    assert story.end(is_commit=False) == E.NONE
    story.finish()
    assert story.txn.state is S.COMPLETE_ABORT


@pytest.fixture
def story():
    return ready()


def test_partitions_that_are_known_need_no_record(story) -> None:
    assert story.add(P0) == E.NONE
    assert story.happen(AddPartitions(PID, 0, frozenset((P0,)))) == [Answer(E.NONE)]


@pytest.mark.parametrize("event", [AddPartitions(8, 0, frozenset((P0,))), End(8, 0, True)])
def test_another_producer_id_is_none_of_this_id(event: Event) -> None:
    assert ready(state=S.ONGOING).happen(event) == [Answer(E.INVALID_PRODUCER_ID_MAPPING)]


@pytest.mark.parametrize("epoch", [0, 2])
def test_another_epoch_is_fenced(epoch: int) -> None:
    story = ready(producer_epoch=1, state=S.ONGOING)
    assert story.happen(AddPartitions(PID, epoch, frozenset((P0,)))) == [Answer(E.PRODUCER_FENCED)]
    assert story.happen(End(PID, epoch, True)) == [Answer(E.PRODUCER_FENCED)]


@pytest.mark.parametrize(
    ("state", "is_commit", "error_code"),
    [
        (S.EMPTY, True, E.INVALID_TXN_STATE),
        (S.EMPTY, False, E.INVALID_TXN_STATE),
        (S.COMPLETE_COMMIT, True, E.NONE),
        (S.COMPLETE_COMMIT, False, E.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, True, E.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, False, E.NONE),
        (S.PREPARE_COMMIT, True, E.CONCURRENT_TRANSACTIONS),
        (S.PREPARE_COMMIT, False, E.INVALID_TXN_STATE),
        (S.PREPARE_ABORT, True, E.INVALID_TXN_STATE),
        (S.PREPARE_ABORT, False, E.CONCURRENT_TRANSACTIONS),
    ],
)
def test_ending_what_is_not_open(state: S, is_commit: bool, error_code: E) -> None:
    assert ready(state=state).end(is_commit) == error_code


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_nothing_begins_while_an_outcome_is_told(state: S) -> None:
    story = ready(state=state)
    assert story.add(P0) == E.CONCURRENT_TRANSACTIONS
    assert story.do(Initialize(1)).error_code == E.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    "event", [Initialize(1), Initialize(1, (99, 99)), AddPartitions(PID, 0, frozenset((P1,))), End(PID, 0, True)]
)
def test_nothing_begins_while_something_is_pending(event: Event) -> None:
    story = ready(partitions=frozenset((P0,)), state=S.ONGOING)
    story.begin(AddPartitions(PID, 0, frozenset((P1,))))
    assert story.happen(event) == [Answer(E.CONCURRENT_TRANSACTIONS)]
    assert story.happen(TimeOut()) == []
    assert story.happen(Expire(0)) == []


def test_an_append_that_fails_changes_nothing(story) -> None:
    story.begin(AddPartitions(PID, 0, frozenset((P0,))))
    assert story.happen(AppendFailed(E.COORDINATOR_NOT_AVAILABLE)) == []
    assert (story.txn.state, story.txn.pending, story.txn.partitions) == (S.EMPTY, None, frozenset())
    assert story.add(P0) == E.NONE


def test_what_is_told_everywhere_is_written_until_it_is_there(story) -> None:
    story.add(P0)
    story.end()
    story.begin(MarkersWritten())
    (again,) = story.happen(AppendFailed(E.COORDINATOR_NOT_AVAILABLE))
    assert isinstance(again, Append)
    assert again.after_ms > 0
    assert story.happen(End(PID, 0, True)) == [Answer(E.CONCURRENT_TRANSACTIONS)]
    assert story.happen(Appended()) == []
    assert story.txn.state is S.COMPLETE_COMMIT


# --- producers that begin


def test_a_new_producer_raises_the_epoch_and_fences_the_old_one(story) -> None:
    assert story.do(Initialize(1)) == Answer(E.NONE, PID, 1)
    assert story.add(P0, epoch=0) == E.PRODUCER_FENCED
    assert (story.txn.last_producer_id, story.txn.last_producer_epoch) == (PID, -1)


def test_a_new_producer_aborts_what_the_old_one_began(story) -> None:
    story.add(P0)
    append = story.begin(Initialize(1))
    assert append.is_fence
    assert (append.transition.state, append.transition.producer_epoch) == (S.PREPARE_ABORT, 1)
    assert append.answer == Answer(E.CONCURRENT_TRANSACTIONS)
    assert story.happen(Appended()) == [SendMarkers(PID, 1, False, frozenset((P0,)))]
    story.finish()
    assert story.do(Initialize(1)) == Answer(E.NONE, PID, 2)


def test_a_fence_that_could_not_be_stored_is_not_raised_again(story) -> None:
    story.add(P0)
    story.begin(Initialize(1))
    story.happen(AppendFailed(E.COORDINATOR_NOT_AVAILABLE, is_fence=True))
    assert (story.txn.state, story.txn.producer_epoch) == (S.ONGOING, 1)
    assert story.end(epoch=0) == E.PRODUCER_FENCED
    assert story.begin(Initialize(1)).transition.producer_epoch == 1
    story.happen(Appended())
    story.finish()
    assert not story.txn.has_failed_fence


def test_a_producer_that_goes_on_gets_the_next_epoch_and_may_ask_twice(story) -> None:
    assert story.do(Initialize(1, (PID, 0))) == Answer(E.NONE, PID, 1)
    assert story.do(Initialize(1, (PID, 0))) == Answer(E.NONE, PID, 1)
    assert story.do(Initialize(1, (PID, 1))) == Answer(E.NONE, PID, 2)
    assert story.do(Initialize(1, (PID, 0))) == Answer(E.PRODUCER_FENCED)
    assert story.do(Initialize(1)) == Answer(E.NONE, PID, 3)
    # Somebody new has begun: nobody goes on from before.
    assert story.do(Initialize(1, (PID, 2))) == Answer(E.PRODUCER_FENCED)


@pytest.mark.parametrize("expected", [(8, 0), (8, 32_766)])
def test_a_producer_of_another_id_is_fenced(expected: tuple[int, int]) -> None:
    assert ready().do(Initialize(1, expected)) == Answer(E.PRODUCER_FENCED)


def test_a_producer_that_nobody_knows_any_more_begins_anew() -> None:
    # Its transactional id has expired: it has got a new producer id.
    assert Story().do(Initialize(1, (99, 3))) == Answer(E.NONE, PID, 0)


@pytest.mark.parametrize("expected", [None, (PID, 32_766)])
def test_exhausted_epochs_need_a_new_producer_id(expected: tuple[int, int] | None) -> None:
    story = ready(producer_epoch=32_766)
    assert story.happen(Initialize(1, expected)) == [NeedProducerId()]
    assert story.do(Initialize(1, expected, 8)) == Answer(E.NONE, 8, 0)
    if expected is not None:
        # It did not get the answer.
        assert story.do(Initialize(1, expected)) == Answer(E.NONE, 8, 0)
    else:
        assert story.do(Initialize(1, (PID, 32_766))) == Answer(E.PRODUCER_FENCED)


def test_who_did_not_get_the_last_epoch_may_ask_again() -> None:
    story = ready(producer_epoch=32_765)
    for _ in range(2):
        assert story.do(Initialize(1, (PID, 32_765))) == Answer(E.NONE, PID, 32_766)


def test_the_last_epoch_is_for_fencing_alone() -> None:
    story = ready(producer_epoch=32_765)
    assert story.do(Initialize(1)) == Answer(E.NONE, PID, 32_766)
    story.add(P0, epoch=32_766)
    story.do(Initialize(1))
    assert story.txn.producer_epoch == 32_767
    story.finish()
    assert story.happen(Initialize(1)) == [NeedProducerId()]


# --- time


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(story) -> None:
    story.add(P0)
    story.now_ms += 1_000
    assert story.happen(TimeOut()) == []
    story.now_ms += 1
    append = story.begin(TimeOut())
    assert (append.answer, append.is_fence) == (None, True)
    assert story.happen(Appended()) == [SendMarkers(PID, 1, False, frozenset((P0,)))]
    story.finish()
    assert story.txn.state is S.COMPLETE_ABORT
    assert story.end() == E.PRODUCER_FENCED


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_an_id_that_nobody_uses_goes(state: S) -> None:
    story = ready(state=state, update_timestamp_ms=9_000)
    assert story.happen(Expire(1_001)) == []
    assert story.happen(Expire(1_000)) == [AppendTombstone()]
    assert story.add(P0) == E.CONCURRENT_TRANSACTIONS
    assert story.happen(AppendFailed(E.NOT_COORDINATOR)) == []
    assert story.txn.state is state
    story.happen(Expire(1_000))
    assert story.happen(Appended()) == [Forget()]


@pytest.mark.parametrize("state", [S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_an_id_with_a_transaction_stays(state: S) -> None:
    assert ready(state=state, update_timestamp_ms=0).happen(Expire(1)) == []


# --- recovery


@pytest.mark.parametrize("state", list(S))
def test_what_is_prepared_is_told_again_after_a_load(state: S) -> None:
    story = ready(state=state, partitions=frozenset((P0,)))
    effects = story.happen(Loaded())
    if state not in (S.PREPARE_COMMIT, S.PREPARE_ABORT):
        assert effects == []
        assert story.txn.pending is None
        return
    is_commit = state is S.PREPARE_COMMIT
    assert effects == [SendMarkers(PID, 0, is_commit, frozenset((P0,)))]
    story.finish()
    assert story.txn.state is (S.COMPLETE_COMMIT if is_commit else S.COMPLETE_ABORT)
