"""One batch of a stateless job: parse, count, put dead letters aside, transform, write."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.clients.positions import offset_count
from barnabas.pipeline.events.schema_registry import SchemaRegistry
from barnabas.pipeline.events.types import Format
from barnabas.pipeline.job import PLACE, Job, Mode, Parameters, TopicInput
from barnabas.pipeline.runner.by_key import ALIVE, KEY_AS_TEXT, judged_keys, tombstones
from barnabas.pipeline.runner.changes import changed_rows, is_truncate, reader_of_changes
from barnabas.pipeline.runner.cluster import mark_of
from barnabas.pipeline.runner.dead_letters import DeadLetters
from barnabas.pipeline.runner.evolving import conformed, reader_of_rows, rows_read
from barnabas.pipeline.runner.freshness import Waits, step_expression, waits_of
from barnabas.pipeline.runner.inputs import REASON, RecordParser, at_or_after, events_of
from barnabas.pipeline.runner.outputs import TableWriter, TopicWriter, write_rows
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import ProgressFile, Span
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import Mark, Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipeline.events.parse import Reader

# Each task of a batch goes over all of its partitions, once for each input, and makes a file. That costs tens of ms of
# CPU whatever it does, so small batches have few; two, as tasks wait for the broker.
_TASKS_PER_CORE = 2
_LEAST_TASKS = 2
_OFFSETS_PER_TASK = 10_000


@dataclass(frozen=True, slots=True)
class BatchReport:
    """A batch that is done: counts of records and dead letters, bytes of keys and values, seconds, waits by count."""

    record_count: int
    dead_letter_count: int
    payload_bytes: int
    duration_s: float
    ends: Offsets
    waits: Waits = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Counted:
    record_count: int
    dead_letter_count: int
    payload_bytes: int
    marks: dict[str, dict[int, Mark]]
    unread: set[str]
    steps: Counter[int | None]


class BatchRunner:
    """Takes a job's batches, one at a time and in order."""

    def __init__(
        self,
        job: Job,
        parameters: Parameters,
        inputs: Mapping[str, TopicInput],
        event_format: Format,
        writers: Mapping[str, TableWriter],
        topics: Mapping[str, TopicWriter],
        dead_letters: DeadLetters,
        absent: Mapping[str, DataFrame],
        delivery: Delivery,
        progress_file: ProgressFile | None,
        registry: SchemaRegistry | None = None,
        is_enveloped: bool = False,
    ) -> None:
        """Describe what is to be done with each batch.

        Args:
            job: The job.
            parameters: Of the run.
            inputs: By topic.
            event_format: json or avro.
            writers: Tables that `transform` fills, by output.
            topics: Topics that `transform` fills, by output.
            dead_letters: Where what is no event goes.
            absent: Empty events of inputs whose topics are not there.
            delivery: How often a row may be there.
            progress_file: Where it is noted how far the run is, if no table says it.
            registry: Whose frames the values of topics without a schema have; None: they are JSON.
            is_enveloped: Whether those values are Debezium's envelopes.
        """
        self._job = job
        self._parameters = parameters
        self._inputs = inputs
        self._parser = RecordParser(inputs, event_format)
        self._writers = writers
        self._by_key = [
            topic
            for topic, declared in inputs.items()
            if declared.name in writers and writers[declared.name].declared.mode is Mode.LATEST
        ]
        self._topics = topics
        self._dead_letters = dead_letters
        self._absent = absent
        self._delivery = delivery
        self._progress_file = progress_file
        self._registry = registry
        self._is_enveloped = is_enveloped

    def run(self, records: DataFrame, starts: Offsets, ends: Offsets) -> BatchReport:
        """Do one batch.

        Args:
            records: The batch's records (`inputs.py`).
            starts: Where it begins.
            ends: Where it ends.
        """
        began_s = time.monotonic()
        most = _TASKS_PER_CORE * records.sparkSession.sparkContext.defaultParallelism
        records = records.coalesce(min(most, max(_LEAST_TASKS, offset_count(starts, ends) // _OFFSETS_PER_TASK)))
        readers = self._readers_of_rows(records, ends)
        parsed = self._parser.parse(records, readers)
        if self._by_key:
            truncates = [is_truncate(topic) for topic in self._by_key if self._is_enveloped]
            parsed = judged_keys(parsed, self._by_key, " OR ".join(truncates) or "false")
        parsed.persist()
        try:
            counted_s = time.time()
            # A change has yet to become a row.
            read_as_rows = () if self._is_enveloped else readers
            counted = _count(parsed, read_as_rows, counted_s)
            span = Span(starts, ends, counted.marks)
            frames, misfits = self._frames(parsed, read_as_rows, counted.unread)
            misfit_count = sum(rows.count() for rows in misfits)

            def compute(from_offsets: Offsets | None) -> Mapping[str, DataFrame]:
                own = {
                    name: rows if from_offsets is None else at_or_after(rows, from_offsets)
                    for name, rows in frames.items()
                }
                return self._job.transform({**own, **self._absent}, self._parameters)

            is_noted_first = self._delivery is Delivery.AT_MOST_ONCE
            if self._progress_file is not None and is_noted_first:
                self._progress_file.advance(span)
            if counted.dead_letter_count:
                self._dead_letters.write(parsed.where(f"{REASON} IS NOT NULL"))
            if misfit_count:
                for rows in misfits:
                    self._dead_letters.write(rows)
            write_rows(self._job, self._writers, self._topics, compute, span, self._delivery)
            if self._progress_file is not None and not is_noted_first:
                self._progress_file.advance(span)
        finally:
            parsed.unpersist()
        return BatchReport(
            counted.record_count,
            counted.dead_letter_count + misfit_count,
            counted.payload_bytes,
            time.monotonic() - began_s,
            ends,
            waits_of(counted.steps, time.time() - counted_s),
        )

    def _readers_of_rows(self, records: DataFrame, ends: Offsets) -> dict[str, Reader]:
        readers: dict[str, Reader] = {}
        for topic, declared in self._inputs.items():
            if declared.event is not None or self._registry is not None:
                continue
            if self._is_enveloped:
                readers[topic] = reader_of_changes(topic not in self._by_key or len(ends[topic]) == 1)
            else:
                reader = reader_of_rows(records, self._writers[declared.name].table, topic)
                if reader is not None:
                    readers[topic] = reader
        return readers

    def _frames(
        self, parsed: DataFrame, readers: Collection[str], unread: Collection[str]
    ) -> tuple[dict[str, DataFrame], list[DataFrame]]:
        """Return each input's good rows by its name; and what does not fit the table of a topic without a schema.

        Args:
            parsed: The batch.
            readers: The topics whose records were read as rows.
            unread: Topics that have records which were read as none.
        """
        frames: dict[str, DataFrame] = {}
        misfits: list[DataFrame] = []
        for topic, declared in self._inputs.items():
            of_record = (KEY_AS_TEXT, ALIVE) if topic in self._by_key else ()
            if self._is_enveloped and declared.event is None:
                rows = parsed.where("false").select(*PLACE)
                if topic in unread:
                    rows, misfit = changed_rows(parsed, topic, self._writers[declared.name].table, of_record)
                    misfits.append(misfit)
            elif topic in readers:
                rows, records = rows_read(parsed, topic, of_record)
                if topic in unread:
                    table = self._writers[declared.name].table
                    others, misfit = conformed(records, table, topic, self._registry, of_record)
                    rows = rows.unionByName(others, allowMissingColumns=True)
                    misfits.append(misfit)
            else:
                rows = events_of(parsed, topic, declared)
                if declared.event is None:
                    table = self._writers[declared.name].table
                    rows = rows.where("value IS NOT NULL") if of_record else rows
                    rows, misfit = conformed(rows, table, topic, self._registry, of_record)
                    misfits.append(misfit)
            if of_record:
                rows = rows.unionByName(tombstones(parsed, topic), allowMissingColumns=True)
            frames[declared.name] = rows
        return frames, misfits


def _count(parsed: DataFrame, readers: Collection[str], now_s: float) -> _Counted:
    """Count a batch's records, in one pass that also puts it into the cache.

    Args:
        parsed: The batch.
        readers: The topics whose records were read as rows.
        now_s: The time of day.
    """
    from pyspark.sql import functions as F

    is_read = F.lit(False)
    for topic in readers:
        is_read = is_read | F.col(quoted(topic)).isNotNull()

    mark = mark_of("_offset", "_timestamp")
    rows = (
        parsed.groupBy("_topic", "_partition", F.expr(step_expression(now_s)).alias("step"))
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.count(REASON).alias("dead_letters"),
            F.count_if(~is_read & F.col(REASON).isNull() & F.col("value").isNotNull()).alias("unread"),
            F.expr("sum(coalesce(length(key), 0) + coalesce(length(value), 0))").alias("bytes"),
            F.expr(f"max_by({mark}, _offset)").alias("mark"),
        )
        .collect()
    )
    marks: dict[str, dict[int, Mark]] = {}
    steps: Counter[int | None] = Counter()
    for row in sorted(rows, key=lambda row: row["mark"][0]):
        marks.setdefault(row["_topic"], {})[row["_partition"]] = Mark(*row["mark"])
        steps[row["step"]] += row["records"]
    return _Counted(
        sum(row["records"] for row in rows),
        sum(row["dead_letters"] for row in rows),
        sum(row["bytes"] for row in rows),
        marks,
        {row["_topic"] for row in rows if row["unread"]},
        steps,
    )
