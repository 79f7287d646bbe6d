"""The part of a batch that each task reads, and a batch's result of those of its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.types import FOLLOW
from barnabas.pipeline.ingest import task as task_module
from barnabas.pipeline.ingest.ingest import Request, divided, ingest, ranges_of
from barnabas.pipeline.ingest.parse import event_parser
from barnabas.pipeline.ingest.source import OffsetRange, ReadError, Records, Source
from barnabas.pipeline.ingest.task import Result, Task, TopicTask, run_task
from barnabas.pipeline.runner.dead_letters import DeadLetter
from barnabas.pipeline.tables.data_files import DataFile, FileSink
from barnabas.pipeline.tables.table import Mark, Offsets


def request(starts: Offsets, ends: Offsets) -> Request:
    task = cast(TopicTask, None)
    return Request(dict.fromkeys(starts, task), starts, ends)


def file(name: str) -> DataFile:
    return cast(DataFile, name)


def test_jobs_are_read_for_from_the_first_start_to_the_first_end():
    first = request({"t": {0: 10, 1: 5}}, {"t": {0: 30, 1: 9}})
    second = request({"t": {0: 20}, "u": {0: 1}}, {"t": {0: 50}, "u": {0: 2}})
    assert ranges_of([first, second]) == [
        OffsetRange("t", 0, 10, 30),
        OffsetRange("t", 1, 5, 9),
        OffsetRange("u", 0, 1, 2),
    ]


def test_a_range_has_the_records_that_the_jobs_have_read_last():
    marks = [Mark(9, 1, 1), Mark(19, 1, 2)]
    requests = [
        replace(request({"t": {0: 10}, "u": {0: 0}}, {"t": {0: 30}, "u": {0: 1}}), marks={"t": {0: marks[0]}}),
        replace(request({"t": {0: 20}}, {"t": {0: 30}}), marks={"t": {0: marks[1], 1: marks[1]}, "v": {0: marks[1]}}),
        request({"t": {0: 10}}, {"t": {0: 30}}),
    ]
    assert ranges_of(requests) == [OffsetRange("t", 0, 10, 30, frozenset(marks)), OffsetRange("u", 0, 0, 1)]


def test_a_range_is_not_negative_where_one_job_is_ahead_of_the_other_one_s_end():
    first, second = request({"t": {0: 10}}, {"t": {0: 10}}), request({"t": {0: 12}}, {"t": {0: 20}})
    assert ranges_of([first, second]) == [OffsetRange("t", 0, 10, 10)]


def test_tasks_get_whole_partitions_and_about_as_many_offsets():
    ranges = [OffsetRange("t", number, 0, size) for number, size in enumerate([9_000, 1_000, 8_000, 2_000])]
    assert divided(ranges, 2) == [(ranges[0], ranges[1]), (ranges[2], ranges[3])]


def test_few_offsets_are_one_task_s():
    ranges = [OffsetRange("t", number, 0, 100) for number in range(4)]
    assert divided(ranges, 8) == [tuple(ranges)]


def test_a_batch_has_all_that_its_tasks_have():
    letter = DeadLetter("t", 1, 7, 0, None, b"", "why")
    results = [
        Result(
            {"t": {0: 5}},
            {"t": {0: Mark(4, 0, 1)}},
            {"rows": [file("a")]},
            [],
            {"t": Counter("x")},
            Counter({1: 2}),
            record_count=5,
            payload_bytes=50,
        ),
        Result(
            {"t": {1: 8}, "u": {0: 3}},
            {"t": {1: Mark(7, 0, 2)}},
            {"rows": [file("b")], "others": [file("c")]},
            [letter],
            {"t": Counter("xy")},
            Counter({1: 1, 3: 1}),
            record_count=3,
            payload_bytes=30,
        ),
    ]
    batch = Result()
    for each in results:
        batch.add(each)
    assert batch == Result(
        {"t": {0: 5, 1: 8}, "u": {0: 3}},
        {"t": {0: Mark(4, 0, 1), 1: Mark(7, 0, 2)}},
        {"rows": [file("a"), file("b")], "others": [file("c")]},
        [letter],
        {"t": Counter("xxy")},
        Counter({1: 3, 3: 1}),
        record_count=8,
        payload_bytes=80,
    )


def test_a_task_that_failed_fails_the_batch_whatever_came_before_or_after_it():
    batch = Result()
    for each in (Result(), Result(failure="gone", is_of_registry=True), Result(failure="late"), Result()):
        batch.add(each)
    assert (batch.failure, batch.is_of_registry) == ("gone", True)


FIELDS = {"id": "1", "time": datetime(2026, 3, 6, tzinfo=UTC), "user": "ann", "followee": "bert"}
VALUE = encode_json(FOLLOW, {"type": "follow", "version": 1, **FIELDS, "is_following": True})


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_task_that_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_lost: bool):
    def read(source: Source, seconds: float) -> Iterator[Records]:
        yield Records("t", [0], [0], [-1], [None], [VALUE])
        # Written before all is read, as many rows are.
        assert list(tmp_path.iterdir())
        if is_lost:
            raise ReadError("the broker is gone")

    monkeypatch.setattr(task_module, "_PARSED_COUNT", 1)
    monkeypatch.setattr(task_module, "_WRITTEN_COUNT", 1)
    monkeypatch.setattr(Source, "read", read)
    topics = [{"t": TopicTask(event_parser(FOLLOW, "json"), "rows", FileSink(str(tmp_path), {}))}]
    (result,) = run_task(Task({}, (OffsetRange("t", 0, 0, 2),), topics, [{"t": {0: 0}}]))
    assert result.failure == ("the broker is gone" if is_lost else "")
    assert [path.name for path in tmp_path.iterdir()] == [file.path for file in result.files.get("rows", [])]


def test_a_batch_of_which_a_task_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def read(source: Source, seconds: float) -> Iterator[Records]:
        (each,) = source.positions
        if each[1] == 1:
            raise ReadError("the broker is gone")
        yield Records("t", [0], [0], [-1], [None], [VALUE])

    def run_all(tasks: list[Task], count: int) -> Any:
        found: list[list[Result]] = [run_task(each) for each in tasks]
        written.extend(path for path in tmp_path.rglob("*.parquet"))
        return SimpleNamespace(mapPartitions=lambda run: SimpleNamespace(collect=lambda: found))

    written: list[Path] = []
    monkeypatch.setattr(Source, "read", read)
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2, parallelize=run_all))
    requests = []
    for job in ("a", "b"):
        sink = FileSink(str(tmp_path / job), {})
        topics = {"t": TopicTask(event_parser(FOLLOW, "json"), "rows", sink)}
        ends = {"t": {0: 9_000, 1: 9_000}}
        requests.append(Request(topics, {"t": {0: 0, 1: 0}}, ends, discard_from(sink)))
    with pytest.raises(ReadError, match="the broker is gone"):
        ingest(spark, {}, requests)
    assert len(written) == 2
    assert not any(path.exists() for path in written)


def discard_from(sink: FileSink) -> Callable[[Mapping[str, Sequence[DataFile]]], None]:
    return lambda files: sink.delete(file.path for file in files["rows"])
