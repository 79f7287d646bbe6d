"""A task of the ingest: reads its offset ranges, parses, writes through the tables' sinks, and reports.

A task can end before its ranges do: after some seconds, bytes, or refused records. So a batch has a bound whatever the
records' sizes, the brokers' quotas and the backlog are, and its end is where its tasks ended.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.pipeline.events.schema_registry import RegistryError
from barnabas.pipeline.ingest.parse import RecordParser, Refusal
from barnabas.pipeline.ingest.source import OffsetRange, ReadError, Records, Source
from barnabas.pipeline.runner.cluster import mark_of_record
from barnabas.pipeline.runner.dead_letters import DeadLetter
from barnabas.pipeline.runner.freshness import count_steps
from barnabas.pipeline.tables.table import Mark

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    from barnabas.pipeline.tables.data_files import DataFile, Sink, SinkWriter

# Records of a topic that are parsed at once: as many columns are made of them.
_PARSED_COUNT, _PARSED_BYTES = 10_000, 8 << 20
# Rows that are written at once, as a row group of a file.
_WRITTEN_COUNT, _WRITTEN_BYTES = 200_000, 64 << 20
# Bounds of a task.
TASK_BYTES, TASK_S = 64 << 20, 10.0
_REFUSED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class TopicTask:
    """What a task does with a topic's records.

    Attributes:
        parser: Makes rows of them.
        output: Name of what the rows are written to. Several topics may have the same; each task opens it once.
        sink: Of the output.
        convert: Makes the output's rows of the parsed ones; None: they are written as they are.
    """

    parser: RecordParser
    output: str
    sink: Sink
    convert: Callable[[pa.Table], pa.Table] | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The part of a batch that one task reads.

    Attributes:
        consumer: librdkafka's options.
        ranges: At most one of each partition.
        topics: By topic.
        seconds: How long it may read.
    """

    consumer: Mapping[str, str | int | bool] = field(repr=False)
    ranges: tuple[OffsetRange, ...]
    topics: Mapping[str, TopicTask]
    seconds: float = TASK_S


@dataclass(slots=True)
class Result:
    """What a task, or a batch, has read and written.

    Attributes:
        ends: By topic and partition, the offset up to which it was read.
        marks: The last record of each partition.
        files: By output.
        refused: Records that are no rows.
        shapes: By topic, shapes of records that need columns which the table does not have, with counts.
        waits: Counts of records by the step of their wait (`freshness.count_steps`).
        failure: Why a task has ended without a result, which may pass; nothing of the batch counts then.
        is_of_registry: Whether the schema registry failed.
    """

    ends: dict[str, dict[int, int]] = field(default_factory=dict)
    marks: dict[str, dict[int, Mark]] = field(default_factory=dict)
    files: dict[str, list[DataFile]] = field(default_factory=dict)
    refused: list[DeadLetter] = field(default_factory=list)
    shapes: dict[str, Counter[str]] = field(default_factory=dict)
    waits: Counter[int | None] = field(default_factory=Counter)
    record_count: int = 0
    payload_bytes: int = 0
    failure: str = ""
    is_of_registry: bool = False

    def add(self, other: Result) -> None:
        """Take in another task's result."""
        for topic, ends in other.ends.items():
            self.ends.setdefault(topic, {}).update(ends)
        for topic, marks in other.marks.items():
            self.marks.setdefault(topic, {}).update(marks)
        for output, files in other.files.items():
            self.files.setdefault(output, []).extend(files)
        for topic, shapes in other.shapes.items():
            self.shapes.setdefault(topic, Counter()).update(shapes)
        self.refused += other.refused
        self.waits.update(other.waits)
        self.record_count += other.record_count
        self.payload_bytes += other.payload_bytes
        self.failure = self.failure or other.failure
        self.is_of_registry |= other.is_of_registry


def run_tasks(tasks: Iterable[Task]) -> Iterator[Result]:
    """Run the tasks of a Spark partition: it has one."""
    for task in tasks:
        yield run_task(task)


def run_task(task: Task) -> Result:
    """Read, parse and write one task's records."""
    try:
        return _run(task)
    except (ReadError, RegistryError) as error:
        # In one line to the driver, which a traceback out of a worker is not.
        return Result(failure=str(error), is_of_registry=isinstance(error, RegistryError))


def _run(task: Task) -> Result:
    result = Result()
    outputs = {each.output: _Output(each.sink) for each in task.topics.values()}
    topics = {name: _Topic(name, each, outputs[each.output], result) for name, each in task.topics.items()}
    source = Source(task.consumer, task.ranges)
    refused_bytes = 0
    try:
        for records in source.read(task.seconds):
            topic = topics[records.topic]
            refused_bytes += topic.add(records)
            if result.payload_bytes >= TASK_BYTES or refused_bytes >= _REFUSED_BYTES:
                break
        for topic in topics.values():
            topic.close()
        result.files = {name: files for name, each in outputs.items() if (files := each.close())}
    except BaseException:
        for each in outputs.values():
            each.abort()
        raise
    for (name, partition), end in source.positions.items():
        result.ends.setdefault(name, {})[partition] = end
    return result


class _Output:
    """What a task writes to one sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows: list[pa.Table] = []
        self._count = self._bytes = 0
        self._writer: SinkWriter | None = None

    def add(self, rows: pa.Table, payload_bytes: int) -> None:
        """Take in rows, and the bytes of the records that they were made of."""
        if rows.num_rows:
            self._rows.append(rows)
            self._count += rows.num_rows
        self._bytes += payload_bytes
        if self._count >= _WRITTEN_COUNT or self._bytes >= _WRITTEN_BYTES:
            self._write()

    def close(self) -> list[DataFile]:
        """Write what is left; return the files."""
        self._write()
        return self._writer.close() if self._writer is not None else []

    def abort(self) -> None:
        """Leave nothing behind."""
        if self._writer is not None:
            self._writer.abort()

    def _write(self) -> None:
        import pyarrow as pa

        if self._rows:
            if self._writer is None:
                self._writer = self._sink.open()
            self._writer.write(pa.concat_tables(self._rows))
        self._rows, self._count, self._bytes = [], 0, 0


class _Topic:
    """One topic's records in a task."""

    def __init__(self, name: str, task: TopicTask, output: _Output, result: Result) -> None:
        self._name = name
        self._parser = task.parser
        self._convert = task.convert
        self._output = output
        self._result = result
        self._waiting = Records(name)
        self._waiting_bytes = 0

    def add(self, records: Records) -> int:
        """Take in records; returns the bytes of those that were refused meanwhile."""
        # hot path: benchmarks/pipeline (every record)
        result, waiting = self._result, self._waiting
        size = sum(map(len, filter(None, records.values))) + sum(map(len, filter(None, records.keys)))
        result.record_count += len(records)
        result.payload_bytes += size
        result.waits.update(count_steps(records.timestamps_ms, time.time()))
        mark = mark_of_record(records.offsets[-1], records.timestamps_ms[-1], records.keys[-1], records.values[-1])
        result.marks.setdefault(self._name, {})[records.partitions[-1]] = mark
        waiting.partitions += records.partitions
        waiting.offsets += records.offsets
        waiting.timestamps_ms += records.timestamps_ms
        waiting.keys += records.keys
        waiting.values += records.values
        self._waiting_bytes += size
        if len(waiting) >= _PARSED_COUNT or self._waiting_bytes >= _PARSED_BYTES:
            return self._parse()
        return 0

    def close(self) -> None:
        """Parse what is left."""
        self._parse()
        if shapes := getattr(self._parser.reader, "shapes", None):
            self._result.shapes[self._name] = shapes

    def _parse(self) -> int:
        records, size = self._waiting, self._waiting_bytes
        if not len(records):
            return 0
        self._waiting, self._waiting_bytes = Records(self._name), 0
        refused_bytes = 0
        for part, rows, refusals in _parsed(self._rows, records):
            letters = [_letter(part, each) for each in refusals]
            self._result.refused += letters
            refused_bytes += sum(len(each.key or b"") + len(each.value or b"") for each in letters)
            self._output.add(rows, 0)
        self._output.add(_no_rows(), size)
        return refused_bytes

    def _rows(self, records: Records) -> tuple[pa.Table, list[Refusal]]:
        rows, refusals = self._parser.parse(records)
        return rows if self._convert is None or not rows.num_rows else self._convert(rows), refusals


def _parsed(
    parse: Callable[[Records], tuple[pa.Table, list[Refusal]]], records: Records
) -> Iterator[tuple[Records, pa.Table, list[Refusal]]]:
    """Parse records; where that fails for a reason that no rule names, find the record and refuse it."""
    try:
        yield records, *parse(records)
        return
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if len(records) == 1:
            yield records, _no_rows(), [Refusal(0, f"the record can't be read: {type(error).__name__}: {error}")]
            return
    middle = len(records) // 2
    for part in (records.part(0, middle), records.part(middle, len(records))):
        yield from _parsed(parse, part)


def _no_rows() -> pa.Table:
    import pyarrow as pa

    return pa.table({})


def _letter(records: Records, refusal: Refusal) -> DeadLetter:
    number = refusal.number
    return DeadLetter(
        records.topic,
        records.partitions[number],
        records.offsets[number],
        records.timestamps_ms[number],
        records.keys[number],
        records.values[number],
        refusal.reason,
    )
