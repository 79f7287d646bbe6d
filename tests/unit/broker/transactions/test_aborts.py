"""Why transactions were aborted: each reason, repeats counted, bounded."""

import pytest

from barnabas.broker.diagnostics.transactions import Abort, AbortReason, Aborts
from barnabas.broker.transactions.events import AddPartitions, Append, Appended, AppendFailed, End, Initialize, TimeOut
from barnabas.broker.transactions.state import step
from barnabas.broker.transactions.transaction import Transaction, TransactionState
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition

PARTITIONS = frozenset((TopicPartition("t", 0), TopicPartition("t", 1)))


def ongoing(transactional_id: str = "tx") -> Transaction:
    return Transaction(
        transactional_id,
        producer_id=7,
        producer_epoch=0,
        timeout_ms=1_000,
        state=TransactionState.ONGOING,
        partitions=PARTITIONS,
        start_timestamp_ms=100,
    )


@pytest.mark.parametrize(
    ("event", "abort"),
    [
        (End(7, 0, False, "app", "/1.2.3.4"), Abort(AbortReason.PRODUCER, "app", "/1.2.3.4")),
        (End(7, 0, True, "app", "/1.2.3.4"), None),
        (
            Initialize(1_000, client_id="other", client_host="/5.6.7.8"),
            Abort(AbortReason.NEWER_PRODUCER, "other", "/5.6.7.8"),
        ),
        (TimeOut(), Abort(AbortReason.TIMEOUT)),
        (AddPartitions(7, 0, frozenset((TopicPartition("t", 2),))), None),
    ],
)
def test_what_is_stored_says_why_it_aborts(event, abort):
    (effect,) = step(ongoing(), event, 5_000)
    assert isinstance(effect, Append)
    assert effect.abort == abort


def test_a_row():
    aborts = Aborts(1 << 20)
    aborts.note(ongoing(), Abort(AbortReason.TIMEOUT), 5_000)
    assert aborts.rows() == [
        {
            "at_ms": 5_000,
            "first_ms": 5_000,
            "count": 1,
            "began_ms": 100,
            "transactional_id": "tx",
            "producer_id": 7,
            "producer_epoch": 0,
            "timeout_ms": 1_000,
            "outcome": "aborted",
            "reason": "timeout",
            "client_id": None,
            "host": None,
            "partition_count": 2,
        }
    ]
    assert aborts.rows({"other"}) == []
    assert aborts.rows(since_ms=5_001) == []


def test_repeats_within_a_minute_are_counted():
    aborts = Aborts(1 << 20)
    told = []
    aborts.ended = told.append
    for now_ms in (0, 59_000, 118_000, 178_000):
        aborts.note(ongoing(), Abort(AbortReason.PRODUCER, "app", "/h"), now_ms)
    (row,) = aborts.rows()
    assert (row["count"], row["first_ms"], row["at_ms"]) == (1, 178_000, 178_000)
    assert [each["first_ms"] for each in told] == [0, 178_000]


def test_they_are_bounded_in_number_and_in_bytes():
    for aborts in (Aborts(1 << 20, most_rows=10), Aborts(13_000)):
        for number in range(100):
            aborts.note(ongoing(f"tx{number}"), Abort(AbortReason.TIMEOUT), number)
        rows = aborts.rows()
        assert len(rows) <= 11
        assert rows[-1]["transactional_id"] == "tx99"
        assert aborts.left_out == 100 - len(rows)


def test_what_was_told_is_restored():
    aborts, again = Aborts(1 << 20), Aborts(1 << 20)
    aborts.ended = again.restore
    for number in range(3):
        aborts.note(ongoing(f"tx{number}"), Abort(AbortReason.PRODUCER, "app", "/h"), number)
    assert again.rows() == aborts.rows()
    assert again.kept_bytes == aborts.kept_bytes


def test_an_abort_that_is_not_stored_is_none():
    txn = ongoing()
    step(txn, TimeOut(), 5_000)
    assert step(txn, AppendFailed(ErrorCode.KAFKA_STORAGE_ERROR, is_fence=True), 5_000) == []
    (effect,) = step(txn, TimeOut(), 5_001)
    assert isinstance(effect, Append)
    assert effect.abort == Abort(AbortReason.TIMEOUT)
    assert step(txn, Appended(), 5_002)
