"""When a task stops reading: at the end of its ranges, though no record stands there, and at an offset that is gone.

And where it begins: at the record that was read last, which it compares.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from barnabas.pipeline.ingest import source
from barnabas.pipeline.ingest.source import OffsetRange, ReadError, Source
from barnabas.pipeline.runner.cluster import mark_of_record
from barnabas.pipeline.tables.table import Mark


def message(offset: int, error: KafkaError | None = None) -> Any:
    """A record, or what librdkafka says of an offset."""
    return SimpleNamespace(
        topic=lambda: "t",
        partition=lambda: 0,
        offset=lambda: offset,
        error=lambda: error,
        timestamp=lambda: (1, 1_000),
        key=lambda: None,
        value=lambda: b"value",
    )


def end_at(offset: int) -> Any:
    return message(offset, KafkaError(KafkaError._PARTITION_EOF))


def reading(monkeypatch: pytest.MonkeyPatch, *polls: list[Any]) -> Source:
    """A source of offsets 0 to 4, to which each poll gives one of these; a further poll is an error."""
    left = list(polls)
    consumer = SimpleNamespace(
        assign=lambda partitions: None,
        unassign=lambda: None,
        consume=lambda count, timeout_s: left.pop(0),
    )
    client = SimpleNamespace(failure="", consumer=consumer)
    monkeypatch.setattr(source, "_client", lambda options: client)
    return Source({}, [OffsetRange("t", 0, 0, 5)])


def test_a_range_ends_with_its_partition_where_no_record_is(monkeypatch: pytest.MonkeyPatch) -> None:
    own = reading(monkeypatch, [message(0), message(1)], [end_at(5)])
    assert [records.offsets for records in own.read(60)] == [[0, 1]]
    assert own.positions == {("t", 0): 5}


def test_the_end_of_a_partition_that_grows_is_not_that_of_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    own = reading(monkeypatch, [message(0), end_at(3)], [message(3), message(4)])
    assert [records.offsets for records in own.read(60)] == [[0], [3, 4]]
    assert own.positions == {("t", 0): 5}


def test_a_read_is_not_over_before_a_range_has_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    own = reading(monkeypatch, [], [], [message(3)])
    assert [records.offsets for records in own.read(0)] == [[3]]
    assert own.positions == {("t", 0): 4}


def test_a_read_without_progress_ends_after_an_error_or_a_longer_time(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = message(-1, KafkaError(KafkaError._TRANSPORT))
    with pytest.raises(ReadError):
        list(reading(monkeypatch, [], [failed]).read(0))
    monkeypatch.setattr(source, "_SKIP_S", 0)
    assert list(reading(monkeypatch).read(0)) == []


def test_a_reader_needs_no_right_on_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = message(-1, KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    own = reading(monkeypatch, [refused], [message(0), end_at(5)])
    assert [records.offsets for records in own.read(0)] == [[0]]


def test_an_offset_that_is_gone_ends_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = message(0, KafkaError(KafkaError._AUTO_OFFSET_RESET))
    with pytest.raises(ReadError, match="partition t-0: offset 0 is out of range"):
        list(reading(monkeypatch, [gone]).read(60))


def same(offset: int) -> Mark:
    return mark_of_record(offset, 1_000, None, b"value")


def other(offset: int) -> Mark:
    return mark_of_record(offset, 1_000, None, b"of the topic before")


def reading_on(
    monkeypatch: pytest.MonkeyPatch, assigned: list[int], marks: list[Mark], *polls: list[Any], start: int = 20
) -> Source:
    """A source of five offsets, after records that jobs have read."""
    left = list(polls)

    def assign(partitions: list[TopicPartition]) -> None:
        assigned.extend(each.offset for each in partitions)

    consumer = SimpleNamespace(
        assign=assign,
        incremental_assign=assign,
        incremental_unassign=lambda partitions: None,
        unassign=lambda: None,
        consume=lambda count, timeout_s: left.pop(0),
    )
    monkeypatch.setattr(source, "_client", lambda options: SimpleNamespace(failure="", consumer=consumer))
    return Source({}, [OffsetRange("t", 0, start, start + 5, frozenset(marks))])


@pytest.mark.parametrize(
    ("marks", "begins_at", "offsets"),
    [
        ([], 20, [20, 24]),
        ([same(19)], 19, [19, 20, 24]),
        # Markers of transactions, and jobs that share a read.
        ([same(17), same(19)], 17, [17, 18, 19, 20, 24]),
        # Of a job that is ahead.
        ([same(21)], 20, [20, 21, 24]),
        # The record that was read last is compacted away.
        ([other(18)], 18, [19, 20, 24]),
        ([other(18)], 18, [20, 24]),
        # Too many offsets are between, of aborted transactions.
        ([other(9)], 20, [20, 24]),
    ],
)
@pytest.mark.parametrize("is_one_chunk", [True, False])
def test_a_read_compares_the_records_that_were_read_last_and_does_not_return_them_again(
    monkeypatch: pytest.MonkeyPatch, marks: list[Mark], begins_at: int, offsets: list[int], is_one_chunk: bool
) -> None:
    monkeypatch.setattr(source, "_MARK_DISTANCE", 10)
    messages, assigned = [message(each) for each in offsets], list[int]()
    polls = [messages] if is_one_chunk else [[each] for each in messages]
    own = reading_on(monkeypatch, assigned, marks, *polls)
    assert [each for records in own.read(60) for each in records.offsets] == [each for each in offsets if each >= 20]
    assert (assigned, own.positions) == ([begins_at], {("t", 0): 25})


@pytest.mark.parametrize("marks", [[other(19)], [same(19), other(21)], [same(17), other(19)]])
def test_a_topic_that_was_created_again_ends_the_task(monkeypatch: pytest.MonkeyPatch, marks: list[Mark]) -> None:
    own = reading_on(monkeypatch, [], marks, [message(each) for each in range(17, 25)])
    with pytest.raises(ReadError, match="partition t-0: another record is at offset"):
        list(own.read(60))


def test_a_record_that_was_read_last_may_be_deleted_by_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(offset: int) -> Any:
        return message(offset, KafkaError(KafkaError._AUTO_OFFSET_RESET))

    assigned: list[int] = []
    own = reading_on(monkeypatch, assigned, [same(19)], [gone(19)], [message(20), message(24)])
    assert [records.offsets for records in own.read(60)] == [[20, 24]]
    assert assigned == [19, 20]
    with pytest.raises(ReadError, match="partition t-0: offset 20 is out of range"):
        list(reading_on(monkeypatch, [], [same(19)], [gone(19)], [gone(20)]).read(60))
