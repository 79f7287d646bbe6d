"""One micro-batch of a job: ingest, dead letters, new columns of tables, commits.

Tasks of one Spark job read the batch (`ingest/`). They write unchanged rows and a job's `facts` directly to the table's
files, which the driver commits. Rows that need a Spark query first (a job's `transform`, tables by key) are staged as
Parquet files.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from barnabas.clients.positions import offset_count
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.schema_registry import SchemaRegistry
from barnabas.pipeline.events.types import Format
from barnabas.pipeline.ingest.ingest import Request
from barnabas.pipeline.ingest.parse import OP, STAGED_OP, RecordParser, event_parser
from barnabas.pipeline.ingest.shared import SharedIngest
from barnabas.pipeline.ingest.task import Result, TopicTask
from barnabas.pipeline.job import DELETED, KEY, PLACE, Job, MakeFacts, Mode, Parameters, TableOutput, TopicInput
from barnabas.pipeline.runner.dead_letters import DeadLetters
from barnabas.pipeline.runner.freshness import Waits, waits_of
from barnabas.pipeline.runner.outputs import TableWriter, at_or_after, write_rows
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import ProgressFile, Span, newest_marks
from barnabas.pipeline.runner.staging import Staging
from barnabas.pipeline.runner.topic_output import TopicWriter
from barnabas.pipeline.runner.upserts import truncated
from barnabas.pipeline.tables.columns import widened
from barnabas.pipeline.tables.layout import Layout
from barnabas.pipeline.tables.schema_evolution import RESERVED
from barnabas.pipeline.tables.table import Offsets, RowsRefusedError, Table, TableError, TableUnavailableError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from barnabas.pipeline.events.types import EventType
    from barnabas.pipeline.ingest.parse import Reader
    from barnabas.pipeline.tables.data_files import DataFile

_BY_TOPIC = {event.topic: event for event in EVENT_TYPES.values()}
_PLACE = "_topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The figures of a completed batch: records, dead letters, bytes of keys and values, seconds, waits by count."""

    record_count: int
    dead_letter_count: int
    payload_bytes: int
    duration_s: float
    ends: Offsets
    waits: Waits = field(default_factory=dict)


class BatchRunner:
    """Runs the batches of a job, one at a time and in order."""

    def __init__(
        self,
        shared: SharedIngest,
        job: Job,
        parameters: Parameters,
        inputs: Mapping[str, TopicInput],
        event_format: Format,
        writers: Mapping[str, TableWriter],
        topics: Mapping[str, TopicWriter],
        dead_letters: DeadLetters,
        staging: Staging,
        delivery: Delivery,
        progress_file: ProgressFile | None,
        layout_of: Callable[[TableOutput], Layout],
        registry: SchemaRegistry | None = None,
        is_enveloped: bool = False,
    ) -> None:
        """Create a runner.

        Args:
            shared: Reads the topics, for other jobs too.
            job: The job.
            parameters: The run's parameters.
            inputs: The job's inputs, by topic.
            event_format: json or avro.
            writers: The tables that batches write, by output.
            topics: The topics that `transform` fills, by output.
            dead_letters: Writes the refused records.
            staging: Stages rows for Spark.
            delivery: The delivery guarantee.
            progress_file: Stores the run's progress; None: the tables do.
            layout_of: Returns the layout of a table that does not exist yet.
            registry: Decodes values of topics without an event type; None: they are JSON.
            is_enveloped: Whether those values are Debezium's envelopes.
        """
        self._shared = shared
        self._job = job
        self._parameters = parameters
        self._inputs = inputs
        self._event_format: Format = event_format
        self._writers = writers
        self._topics = topics
        self._dead_letters = dead_letters
        self._staging = staging
        self._delivery = delivery
        self._progress_file = progress_file
        self._layout_of = layout_of
        self._registry = registry
        self._is_enveloped = is_enveloped
        # Topics without an event type.
        self._loaded = {topic for topic, declared in inputs.items() if declared.event is None}
        # The loaded topics whose tables are by key.
        self._by_key = {topic for topic in self._loaded if self._writer(topic).declared.mode is Mode.LATEST}
        # Positions of the batch's records with a dead letter: parts of a batch may be read again.
        self._lettered: set[tuple[str, int, int]] = set()
        # Topics whose rows the tasks write directly to a table.
        self._direct: set[str] = set()
        if job.facts is not None:
            self._direct = set(inputs)
        elif job.transform is None:
            self._direct = self._loaded - self._by_key

    def run(self, consumer: Mapping[str, str | int | bool], starts: Offsets, ends: Offsets) -> BatchReport:
        """Run one batch.

        Args:
            consumer: librdkafka's options.
            starts: The batch's start offsets.
            ends: Its end offsets at most; the report has the actual end offsets.
        """
        self._lettered.clear()
        return self._halved(consumer, starts, ends)

    def _halved(self, consumer: Mapping[str, str | int | bool], starts: Offsets, ends: Offsets) -> BatchReport:
        try:
            return self._run(consumer, starts, ends)
        except RowsRefusedError as error:
            # Only the table's system knows the violated rule: bisect the batch to find the records.
            if offset_count(starts, ends) <= 1:
                return self._run(consumer, starts, ends, str(error))
            first = self._halved(consumer, starts, _middle(starts, ends))
            return _joined(first, self._halved(consumer, first.ends, ends))

    def _run(
        self, consumer: Mapping[str, str | int | bool], starts: Offsets, ends: Offsets, refusal: str = ""
    ) -> BatchReport:
        began_s = time.monotonic()
        # Files of tasks, by output, until their commit begins: then they may be part of the table.
        files: dict[str, list[DataFile]] = {}
        try:
            result, known = self._ingested(consumer, self._unread(starts), ends, refusal)
            files.update(result.files)
            counted_s = time.time()
            span = Span(starts, result.ends, result.marks)
            is_noted_first = self._delivery is Delivery.AT_MOST_ONCE
            if self._progress_file is not None and is_noted_first:
                self._progress_file.advance(span)
            places = {(each.topic, each.partition, each.offset): each for each in result.refused}
            if letters := [each for place, each in places.items() if place not in self._lettered]:
                self._dead_letters.write(letters)
            self._lettered |= places.keys()
            for writer, columns in self._written_at_once(known):
                name = writer.declared.name
                own = files.pop(name, [])
                if not writer.has(span.ends) and (own or not self._is_early(name, known.get(name))):
                    writer.write_files(own, columns, span, self._delivery)
            self._write_staged(result, known, span)
            if self._progress_file is not None and not is_noted_first:
                self._progress_file.advance(span)
        except Exception as error:
            # A store that does not answer would delay the report of the failure; maintenance deletes its files.
            if not isinstance(error, TableUnavailableError):
                self._discard(self._direct, files)
            raise
        finally:
            self._staging.clear()
        return BatchReport(
            result.record_count,
            len(result.refused),
            result.payload_bytes,
            time.monotonic() - began_s,
            result.ends,
            waits_of(result.waits, time.time() - counted_s),
        )

    def _unread(self, starts: Offsets) -> Offsets:
        """Return the start offsets to read: records that a directly written table already contains are skipped."""
        unread = dict(starts)
        for topic in self._direct & starts.keys():
            done = self._writer(topic).offsets.get(topic, {})
            unread[topic] = {number: max(start, done.get(number, 0)) for number, start in starts[topic].items()}
        return unread

    def _ingested(
        self, consumer: Mapping[str, str | int | bool], starts: Offsets, ends: Offsets, refusal: str
    ) -> tuple[Result, dict[str, StructType | None]]:
        """Read a batch; read it again if records need new columns, or if a table without columns gets its first rows.

        Returns:
            The result; and the columns of rows by topic without an event type (None: not known yet).
        """
        from barnabas.pipeline.tables.schema_evolution import grown

        known = {topic: self._columns_of(topic) for topic in self._loaded}
        result = self._ingest(consumer, starts, ends, known, refusal, is_final=False)
        loaded = self._direct & self._loaded
        unknown = {topic for topic in loaded if known[topic] is None}
        if result.shapes or any(result.files.get(topic) for topic in unknown):
            self._discard(loaded - unknown, result.files)
            for topic, shapes in result.shapes.items():
                limits = self._table(topic).column_limits
                known[topic] = grown(known[topic], shapes, limits, self._reserved(topic))
            early = {topic for topic in unknown if not result.files.get(topic) and self._is_early(topic, known[topic])}
            result = self._ingest(consumer, starts, result.ends, known, refusal, is_final=True, early=early)
        return result, known

    def _written_at_once(self, known: Mapping[str, StructType | None]) -> list[tuple[TableWriter, StructType]]:
        """Return the tables whose files the tasks write, with their columns."""
        if self._job.facts is not None:
            (writer,) = self._writers.values()
            return [(writer, self._fact_columns())]
        return [(self._writer(topic), self._of_table(known[topic])) for topic in self._direct]

    def _is_early(self, topic: str, columns: StructType | None) -> bool:
        """Return whether a topic's table cannot be created without rows: its layout names columns that they have."""
        if topic not in self._loaded or columns is not None:
            return False
        layout = self._layout_of(self._writer(topic).declared)
        return not {*(each.column for each in layout.partition_columns), *layout.sorted_by} <= set(PLACE)

    def _fact_columns(self) -> StructType:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self._fact_schema)

    @cached_property
    def _fact_schema(self) -> pa.Schema:
        """Return the columns of the facts, by converting an empty table of events."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        assert self._job.facts is not None  # the caller has asked
        declared = next(iter(self._inputs.values()))
        assert declared.event is not None, "facts are made of events of a type"
        events = pa.Table.from_pylist([], to_arrow_schema(with_position(self._schema_of(declared.event))))
        schema = self._job.facts(declared.name, events).schema
        for each in schema:
            if pa.types.is_timestamp(each.type) and each.type.unit != "us":
                raise TableError(
                    f"job {self._job.name}: facts returns column {each.name} as {each.type}: Spark reads microseconds, "
                    "pyarrow.timestamp('us', 'UTC')"
                )
            if pa.types.is_null(each.type):
                raise TableError(
                    f"job {self._job.name}: facts returns column {each.name} without a type if there are no events: "
                    "give it a type, as in pyarrow.array(values, pyarrow.string())"
                )
        return schema

    def _of_table(self, columns: StructType | None) -> StructType:
        return with_position(columns, [OP] if self._is_enveloped else [])

    def _ingest(
        self,
        consumer: Mapping[str, str | int | bool],
        starts: Offsets,
        ends: Offsets,
        known: Mapping[str, StructType | None],
        refusal: str,
        is_final: bool,
        early: Collection[str] = (),
    ) -> Result:
        tasks = {
            topic: self._task_of(topic, known.get(topic), len(starts[topic]), refusal, is_final, topic in early)
            for topic in self._inputs
            if topic in starts
        }
        own = {topic: starts[topic] for topic in tasks}
        # Without columns, rows are staged.
        direct = [topic for topic in self._direct if is_final or topic not in known or known[topic] is not None]
        discard = partial(self._discard, direct)
        kept = self._writers.values() if self._progress_file is None else [self._progress_file]
        marks = newest_marks(each.marks for each in kept)
        return self._shared.run(consumer, Request(tasks, own, {topic: ends[topic] for topic in own}, discard, marks))

    def _task_of(
        self,
        topic: str,
        columns: StructType | None,
        partition_count: int,
        refusal: str,
        is_final: bool,
        is_early: bool,
    ) -> TopicTask:
        # These modules need pyarrow, which an installation of the command line alone does not have.
        from barnabas.pipeline.events.envelope import EnvelopeReader
        from barnabas.pipeline.events.registered import FramedReader
        from barnabas.pipeline.events.rows import RowReader

        declared = self._inputs[topic]
        if declared.event is not None:
            parser = event_parser(declared.event, self._event_format)
            if refusal:
                parser = replace(parser, refusal=refusal)
            if self._job.facts is None:
                return TopicTask(parser, topic, self._staging.sink())
            writer = self._writer(topic)
            sink = writer.table.sink(self._fact_columns())
            convert = partial(facts_of, self._job.facts, self._fact_schema, declared.name)
            return TopicTask(parser, writer.declared.name, sink, convert)
        table, by_key, envelope = self._table(topic), topic in self._by_key, None
        reserved = self._reserved(topic)
        reader: Reader = RowReader(columns, table.column_limits, reserved, is_final)
        if self._registry is not None:
            reader = FramedReader(self._registry, columns, table.column_limits, reserved, is_final)
        elif self._is_enveloped:
            envelope = EnvelopeReader(not by_key or partition_count == 1)
        parser = RecordParser(reader, by_key, envelope, refusal)
        if topic not in self._direct or is_early or (columns is None and not is_final):
            # A table's sink needs the columns: it checks the layout, or creates the table.
            return TopicTask(parser, topic, self._staging.sink())
        return TopicTask(parser, topic, table.sink(self._of_table(columns)))

    def _discard(self, topics: Iterable[str], files: Mapping[str, Sequence[DataFile]]) -> None:
        """Delete the files, by output, that tasks wrote to the tables of topics."""
        for writer in {self._writer(topic) for topic in topics}:
            if own := files.get(writer.declared.name):
                writer.table.discard(own)

    def _write_staged(self, result: Result, known: Mapping[str, StructType | None], span: Span) -> None:
        """Write the staged rows: of tables by key, and of a job with `transform`."""
        staged = {topic: declared.name for topic, declared in self._inputs.items() if topic not in self._direct}
        if not staged:
            return
        frames = {name: self._staged_rows(topic, result, known.get(topic)) for topic, name in staged.items()}
        for each in self._job.inputs:
            if isinstance(each, TopicInput) and each.event is not None and each.name not in frames:
                frames[each.name] = self._staging.read([], with_position(self._schema_of(each.event)))

        def compute(from_offsets: Offsets | None) -> Mapping[str, DataFrame]:
            own = {
                name: rows if from_offsets is None else at_or_after(rows, from_offsets) for name, rows in frames.items()
            }
            return own if self._job.transform is None else self._job.transform(own, self._parameters)

        others = {self._writer(topic).declared.name for topic in self._direct}
        for topic, name in staged.items():
            if self._is_early(topic, known.get(topic)):
                # Deletions alone change nothing in a table that does not exist.
                rows = frames[name].where(f"NOT {DELETED}") if topic in self._by_key else frames[name]
                if rows.isEmpty():
                    others.add(name)
        writers = {name: writer for name, writer in self._writers.items() if name not in others}
        write_rows(self._job, writers, self._topics, compute, span, self._delivery)

    def _staged_rows(self, topic: str, result: Result, known: StructType | None) -> DataFrame:
        files, event = result.files.get(topic, []), self._inputs[topic].event
        if event is not None:
            return self._staging.read(files, with_position(self._schema_of(event)))
        if topic not in self._by_key:
            return self._staging.read(files, self._of_table(known))
        more = [STAGED_OP] if self._is_enveloped else []
        rows = self._staging.read(files, with_position(known, [*more, KEY, DELETED]))
        return truncated(rows, self._table(topic)) if self._is_enveloped else rows

    def _reserved(self, topic: str) -> tuple[str, ...]:
        """Return the columns of a topic's table that no field of a record may use."""
        return (*RESERVED, OP) if self._is_enveloped and topic not in self._by_key else RESERVED

    def _writer(self, topic: str) -> TableWriter:
        """Return the writer of the table of a topic's rows; a job with `facts` has only one."""
        if self._job.facts is not None:
            (writer,) = self._writers.values()
            return writer
        return self._writers[self._inputs[topic].name]

    def _table(self, topic: str) -> Table:
        return self._writer(topic).table

    def _columns_of(self, topic: str) -> StructType | None:
        """Return the columns of a topic's table; before it exists, the columns of the topic's event type, else None.

        Numbers of an event type become BIGINT or DOUBLE, because a column cannot be widened later.
        """
        from pyspark.sql.types import StructType

        event = _BY_TOPIC.get(topic)
        there = self._table(topic).schema()
        if there is not None or event is None:
            return there
        columns = widened(self._schema_of(event))
        assert isinstance(columns, StructType)
        return columns

    def _schema_of(self, event: EventType) -> StructType:
        return _ddl(event.ddl)


def facts_of(make: MakeFacts, schema: pa.Schema, name: str, events: pa.Table) -> pa.Table:
    """Return the facts of events, in the order and types of the table's columns: Spark could not read other files.

    Raises:
        TableError: `make` returned other columns than without events.
    """
    rows = make(name, events)
    if rows.schema == schema:
        return rows
    if sorted(rows.column_names) != sorted(schema.names):
        raise TableError(
            f"facts returns other columns than without events: {', '.join(rows.column_names)} instead of "
            f"{', '.join(schema.names)}"
        )
    return rows.select(schema.names).cast(schema)


def with_position(columns: StructType | None, more: Sequence[str] = ()) -> StructType:
    """Return columns of records, then the columns of `PLACE`, then those of the pipeline's columns named in `more`."""
    from pyspark.sql.types import StructField, StructType

    own = [] if columns is None else [each for each in columns.fields if each.name.lower() not in RESERVED]
    places = _ddl(f"{_PLACE}, {OP} STRING, {STAGED_OP} STRING, {KEY} STRING, {DELETED} BOOLEAN").fields
    return StructType(
        [*(StructField(each.name, each.dataType) for each in own)]
        + [each for each in places if each.name in (*PLACE, *more) and each.name not in {field.name for field in own}]
    )


def _ddl(text: str) -> StructType:
    from pyspark.sql.types import StructType

    found = StructType.fromDDL(text)
    assert isinstance(found, StructType)
    return found


def _middle(starts: Offsets, ends: Offsets) -> Offsets:
    """Return the offsets that divide a batch into two halves."""
    left = offset_count(starts, ends) // 2
    middle: Offsets = {}
    for topic, partitions in starts.items():
        for number, start in partitions.items():
            taken = min(left, max(0, ends[topic][number] - start))
            middle.setdefault(topic, {})[number] = start + taken
            left -= taken
    return middle


def _joined(first: BatchReport, second: BatchReport) -> BatchReport:
    waits = Counter(first.waits)
    waits.update(second.waits)
    return BatchReport(
        first.record_count + second.record_count,
        first.dead_letter_count + second.dead_letter_count,
        first.payload_bytes + second.payload_bytes,
        first.duration_s + second.duration_s,
        second.ends,
        waits,
    )
