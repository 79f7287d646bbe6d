"""When a task stops reading: at the end of its ranges, though no record stands there, and at an offset that is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from barnabas.pipeline.ingest import source
from barnabas.pipeline.ingest.source import OffsetRange, ReadError, Source


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
