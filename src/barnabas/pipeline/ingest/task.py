"""A task of the ingest: reads its offset ranges, parses records, writes rows through the tables' sinks, and reports.

Several jobs may need the same records. The task reads a record once, and parses it once for all jobs with the same
parser.

A task can end before the end of its ranges: after some seconds, bytes read, or bytes of rejected records. This bounds a
batch for any record size, quota and backlog. A batch ends at the offsets where its tasks ended.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

# Records of a topic are parsed together once they reach one of these limits.
_PARSED_COUNT, _PARSED_BYTES = 10_000, 8 << 20
# Rows are written together, as a row group of a file, once they reach one of these limits.
_WRITTEN_COUNT, _WRITTEN_BYTES = 200_000, 64 << 20
# Limits of a task.
TASK_BYTES, TASK_S = 64 << 20, 10.0
_REFUSED_BYTES = 16 << 20
# Exceptions that an unforeseen record may cause.
_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class TopicTask:
    """The processing of a topic's records in a task, for one job.

    Attributes:
        parser: Converts records to rows.
        output: Name of the output. Several topics may have the same output; each task opens it once.
        sink: Sink of the output.
        convert: Converts parsed rows to the output's rows; None: parsed rows are written unchanged.
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
        ranges: At most one for each partition.
        topics: For each job, its processing by topic.
        starts: For each job, the first offset that it needs of each partition, by topic.
        seconds: Maximum reading time once there is progress (`Source.read`).
    """

    consumer: Mapping[str, str | int | bool] = field(repr=False)
    ranges: tuple[OffsetRange, ...]
    topics: Sequence[Mapping[str, TopicTask]]
    starts: Sequence[Mapping[str, Mapping[int, int]]]
    seconds: float = TASK_S


@dataclass(slots=True)
class Result:
    """The figures of a task or a batch for one job: records read and rows written.

    Attributes:
        ends: By topic and partition, the end offset of the records read, exclusive.
        marks: The last record of each partition.
        files: Files written, by output.
        refused: Rejected records.
        shapes: By topic, counts of the shapes of records that need columns which the table lacks.
        waits: Counts of records by the step of their wait (`freshness.count_steps`).
        failure: Reason why a task ended without a result, which may be temporary; the batch then has no result.
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
        """Add another task's result."""
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


def run_tasks(tasks: Iterable[Task]) -> Iterator[list[Result]]:
    """Run the tasks of a Spark partition, which has one."""
    for task in tasks:
        yield run_task(task)


def run_task(task: Task) -> list[Result]:
    """Read, parse and write one task's records; return a result for each job."""
    try:
        return _run(task)
    except (ReadError, RegistryError) as error:
        # Returned as one line: an exception would reach the driver as a worker's traceback.
        return [Result(failure=str(error), is_of_registry=isinstance(error, RegistryError)) for _ in task.topics]


def _run(task: Task) -> list[Result]:
    results = [Result() for _ in task.topics]
    outputs: dict[tuple[int, str], _Output] = {}
    topics: dict[str, dict[int, _Topic]] = {}
    for number, of_job in enumerate(task.topics):
        for name, each in of_job.items():
            output = outputs.setdefault((number, each.output), _Output(each.sink))
            # Parsers that are the same object on the driver are the same object here.
            topic = topics.setdefault(name, {}).setdefault(id(each.parser), _Topic(name, each.parser))
            topic.jobs.append(_JobTopic(each, task.starts[number][name], output, results[number]))
    source = Source(task.consumer, task.ranges)
    read_bytes = refused_bytes = 0
    try:
        for records in source.read(task.seconds):
            chunk = _Chunk(records)
            read_bytes += chunk.size
            for topic in topics[records.topic].values():
                refused_bytes += topic.add(chunk)
            if read_bytes >= TASK_BYTES or refused_bytes >= _REFUSED_BYTES:
                break
        for by_parser in topics.values():
            for topic in by_parser.values():
                topic.parse()
        for (number, name), output in outputs.items():
            if files := output.close():
                results[number].files[name] = files
    except BaseException:
        for output in outputs.values():
            output.abort()
        raise
    for result, starts in zip(results, task.starts, strict=True):
        for (name, partition), position in source.positions.items():
            if partition in starts.get(name, {}):
                result.ends.setdefault(name, {})[partition] = max(position, starts[name][partition])
    return results


class _Chunk:
    """Records of one partition with their figures: bytes, waits, and the mark of the last record."""

    def __init__(self, records: Records) -> None:
        # hot path: benchmarks/pipeline (every record)
        self.records = records
        self.partition = records.partitions[-1]
        self.size = sum(map(len, filter(None, records.values))) + sum(map(len, filter(None, records.keys)))
        self.waits = count_steps(records.timestamps_ms, time.time())
        self.mark = mark_of_record(records.offsets[-1], records.timestamps_ms[-1], records.keys[-1], records.values[-1])


class _Output:
    """The rows that a task writes to one sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows: list[pa.Table] = []
        self._count = self._bytes = 0
        self._writer: SinkWriter | None = None

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        self._rows.append(rows)
        self._count += rows.num_rows

    def weigh(self, payload_bytes: int) -> None:
        """Add the bytes of the records that rows came from; write the rows if a limit is reached."""
        self._bytes += payload_bytes
        if self._count >= _WRITTEN_COUNT or self._bytes >= _WRITTEN_BYTES:
            self._write()

    def close(self) -> list[DataFile]:
        """Write the remaining rows; return the files."""
        self._write()
        return self._writer.close() if self._writer is not None else []

    def abort(self) -> None:
        """Delete the files."""
        if self._writer is not None:
            self._writer.abort()

    def _write(self) -> None:
        import pyarrow as pa

        if self._rows:
            if self._writer is None:
                self._writer = self._sink.open()
            self._writer.write(pa.concat_tables(self._rows))
        self._rows, self._count, self._bytes = [], 0, 0


class _JobTopic:
    """One topic's records in a task, for one job."""

    def __init__(self, task: TopicTask, starts: Mapping[int, int], output: _Output, result: Result) -> None:
        self._convert = task.convert
        self._starts = starts
        self._output = output
        self._result = result
        # Whether there were records before this job's starts, which other jobs need.
        self._skips = False

    def count(self, chunk: _Chunk) -> None:
        """Count the records of one partition that the job needs."""
        records, result = chunk.records, self._result
        start = self._starts.get(chunk.partition)
        if start is None or records.offsets[-1] < start:
            self._skips = True
            return
        if records.offsets[0] < start:
            self._skips = True
            chunk = _Chunk(records.part(bisect_left(records.offsets, start), len(records)))
        result.record_count += len(chunk.records)
        result.payload_bytes += chunk.size
        result.waits.update(chunk.waits)
        result.marks.setdefault(records.topic, {})[chunk.partition] = chunk.mark

    def add(self, records: Records, rows: pa.Table, letters: list[DeadLetter]) -> None:
        """Add parsed records: their rows, and dead letters of rejected records."""
        if self._skips:
            letters = [each for each in letters if self._wants(each.partition, each.offset)]
            # Without rows, the columns may be missing as well (`_no_rows`).
            rows = rows.filter([self._wants(*place) for place in _positions(rows)]) if rows.num_rows else rows
        self._result.refused += letters
        self._convert_and_write(records, rows)

    def _convert_and_write(self, records: Records, rows: pa.Table) -> None:
        """Convert rows for the job and write them; if that fails, bisect to find the bad record and reject it."""
        if not rows.num_rows:
            return
        try:
            self._output.add(rows if self._convert is None else self._convert(rows))
        except _UNFORESEEN as error:
            if rows.num_rows == 1:
                number = list(zip(records.partitions, records.offsets, strict=True)).index(_positions(rows)[0])
                self._result.refused.append(_letter(records, _unforeseen(number, error)))
                return
            middle = rows.num_rows // 2
            self._convert_and_write(records, rows.slice(0, middle))
            self._convert_and_write(records, rows.slice(middle))

    def weigh(self, payload_bytes: int) -> None:
        """Add the bytes of the parsed records."""
        self._output.weigh(payload_bytes)

    def note_shapes(self, topic: str, shapes: Counter[str]) -> None:
        """Set the shapes of a topic's records that need new columns."""
        self._result.shapes[topic] = shapes

    def _wants(self, partition: int, offset: int) -> bool:
        start = self._starts.get(partition)
        return start is not None and offset >= start


class _Topic:
    """One topic's records in a task, for all jobs that have the same parser.

    Attributes:
        jobs: The jobs.
    """

    def __init__(self, name: str, parser: RecordParser) -> None:
        self.jobs: list[_JobTopic] = []
        self._name = name
        self._parser = parser
        self._waiting = Records(name)
        self._waiting_bytes = 0

    def add(self, chunk: _Chunk) -> int:
        """Add records of one partition, and parse if a limit is reached; return the bytes of rejected records."""
        for job in self.jobs:
            job.count(chunk)
        records, waiting = chunk.records, self._waiting
        waiting.partitions += records.partitions
        waiting.offsets += records.offsets
        waiting.timestamps_ms += records.timestamps_ms
        waiting.keys += records.keys
        waiting.values += records.values
        self._waiting_bytes += chunk.size
        if len(waiting) >= _PARSED_COUNT or self._waiting_bytes >= _PARSED_BYTES:
            return self.parse()
        return 0

    def parse(self) -> int:
        """Parse the waiting records; return the bytes of rejected records."""
        records, size = self._waiting, self._waiting_bytes
        if not len(records):
            return 0
        self._waiting, self._waiting_bytes = Records(self._name), 0
        refused_bytes = 0
        for part, rows, refusals in _parsed(self._parser, records):
            letters = [_letter(part, each) for each in refusals]
            refused_bytes += sum(len(each.key or b"") + len(each.value or b"") for each in letters)
            for job in self.jobs:
                job.add(part, rows, letters)
        shapes = getattr(self._parser.reader, "shapes", None)
        for job in self.jobs:
            job.weigh(size)
            if shapes:
                job.note_shapes(self._name, shapes)
        return refused_bytes


def _parsed(parser: RecordParser, records: Records) -> Iterator[tuple[Records, pa.Table, list[Refusal]]]:
    """Parse records; if an unforeseen exception occurs, bisect to find the bad record and reject it."""
    try:
        yield records, *parser.parse(records)
        return
    except _UNFORESEEN as error:
        if len(records) == 1:
            yield records, _no_rows(), [_unforeseen(0, error)]
            return
    middle = len(records) // 2
    for part in (records.part(0, middle), records.part(middle, len(records))):
        yield from _parsed(parser, part)


def _unforeseen(number: int, error: Exception) -> Refusal:
    return Refusal(number, f"the record can't be read: {type(error).__name__}: {error}")


def _positions(rows: pa.Table) -> list[tuple[int, int]]:
    return list(zip(rows["_partition"].to_pylist(), rows["_offset"].to_pylist(), strict=True))


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
