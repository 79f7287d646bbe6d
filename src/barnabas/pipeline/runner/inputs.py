"""Records of topics as a stream, and events out of them.

Columns of a record: `key` and `value` (binary), then the place's (`job.PLACE`). Parsing adds `_reason` (text, null
where the record is good) and a struct of the event's fields for each input, under the input's name.

Invariant: a record that is no event of its topic has a reason, and goes to the topic's dead letters; none is lost
silently, and none is counted as an event with its fields null.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.events.parse import Format, parsing_steps
from barnabas.pipeline.events.steps import Steps, in_steps, reason_of
from barnabas.pipeline.job import PLACE, TopicInput
from barnabas.pipeline.runner.cluster import SOURCE_REQUEST_TIMEOUT_MS, KafkaOptions
from barnabas.pipeline.runner.source_plan import SourcePlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

REASON = "_reason"
RECORD = (
    "key",
    "value",
    "topic AS _topic",
    "partition AS _partition",
    "offset AS _offset",
    "timestamp AS _timestamp",
)


def read_stream(
    spark: SparkSession, kafka: KafkaOptions, plans: Sequence[SourcePlan], columns: Sequence[str] = RECORD
) -> DataFrame:
    """Return the records of topics as a stream.

    Args:
        spark: The session.
        kafka: The cluster.
        plans: The sources. One that is not assigned has every partition of each of its topics; a partition that comes
            later begins at its start, and is not read by those that are assigned.
        columns: SQL over those of Spark's source, headers included.
    """
    frames = [_source(spark, kafka, plan, columns) for plan in plans]
    stream = frames[0]
    for frame in frames[1:]:
        stream = stream.unionAll(frame)
    return stream


def _source(spark: SparkSession, kafka: KafkaOptions, plan: SourcePlan, columns: Sequence[str]) -> DataFrame:
    if plan.is_assigned:
        assigned = {topic: sorted(partitions) for topic, partitions in plan.starts.items()}
        which = {"assign": json.dumps(assigned)}
    else:
        which = {"subscribe": ",".join(sorted(plan.starts))}
    sizes: dict[str, int] = {}
    if plan.fetch_bytes is not None:
        sizes = {"kafka.max.partition.fetch.bytes": plan.fetch_bytes, "kafka.fetch.max.bytes": plan.fetch_bytes}
    reader = (
        spark.readStream.format("kafka")
        # A broker that is restarted is back in a second or two: ask again soon, and give up soon enough to tell.
        .option("kafka.reconnect.backoff.max.ms", 500)
        .option("kafka.request.timeout.ms", SOURCE_REQUEST_TIMEOUT_MS)
        .option("kafka.default.api.timeout.ms", 20_000)
        .options(**sizes)
        .options(**kafka.for_spark())
        .options(**which)
        .option("startingOffsets", json.dumps(plan.starts))
        # What is lost is found and told before a query starts (`positions.py`); what is lost while it runs stops it.
        .option("failOnDataLoss", "true")
        .option("includeHeaders", str("headers" in columns).lower())
    )
    if plan.max_offsets is not None:
        reader = reader.option("maxOffsetsPerTrigger", plan.max_offsets)
    return reader.load().selectExpr(*columns)


class RecordParser:
    """Reads each record as an event of its topic.

    What that takes is put together once, when it is first needed: thousands of calls of the JVM, which took longer than
    all else of a small batch.
    """

    def __init__(self, inputs: Mapping[str, TopicInput], event_format: Format) -> None:
        """Args:
        inputs: By topic.
        event_format: json or avro.
        """
        self._inputs = inputs
        self._event_format = event_format
        self._steps: Steps = []

    def parse(self, records: DataFrame) -> DataFrame:
        """Parse records.

        Args:
            records: Columns `key`, `value` and those of the place.

        Returns:
            The same columns; `_reason`; and for each input a struct of its event's fields, null in records of other
            topics.
        """
        # hot path: benchmarks/pipeline (every batch)
        if not self._steps:
            self._steps = self._new_steps()
        return in_steps(records, self._steps).select(*records.columns, REASON, *self._names())

    def _names(self) -> list[str]:
        return [declared.name for declared in self._inputs.values() if declared.event is not None]

    def _new_steps(self) -> Steps:
        from pyspark.sql import functions as F

        of_inputs = [
            parsing_steps(declared.name, F.col("_topic") == topic, declared.event, self._event_format)
            for topic, declared in self._inputs.items()
            if declared.event is not None
        ]
        # All inputs go through each step at once.
        steps = [dict(ChainMap(*step)) for step in zip(*of_inputs, strict=True)]
        reasons = [F.col(reason_of(name)) for name in self._names()]
        return [*steps, {REASON: F.coalesce(F.lit(None).cast("string"), *reasons)}]


def events_of(parsed_records: DataFrame, topic: str, declared: TopicInput) -> DataFrame:
    """Return one input's events: its event's columns and the place's; records as they are where it has no event."""
    own = parsed_records.where(f"{REASON} IS NULL")
    own = own.where(own["_topic"] == topic)
    if declared.event is None:
        return own.select("key", "value", *PLACE)
    return own.select(f"{declared.name}.*", *PLACE)


def before(rows: DataFrame, ends: Mapping[str, Mapping[int, int]]) -> DataFrame:
    """Return the rows whose place is before these offsets; partitions that are not named are left out."""
    return rows.where(_is_before(ends))


def at_or_after(rows: DataFrame, starts: Mapping[str, Mapping[int, int]]) -> DataFrame:
    """Return the rows whose place is at or after these offsets; partitions that are not named are kept whole."""
    return rows.where(~_is_before(starts))


def _is_before(offsets: Mapping[str, Mapping[int, int]]) -> Column:
    from pyspark.sql import functions as F

    result: Column = F.lit(False)
    for topic, partitions in offsets.items():
        for number, offset in partitions.items():
            is_there = (F.col("_topic") == topic) & (F.col("_partition") == number)
            result = result | (is_there & (F.col("_offset") < offset))
    return result
