"""Records of topics as a stream, and events out of them.

Columns of a record: `key` and `value` (binary), then the place's (`job.PLACE`). Parsing adds `_reason` (text, null
where the record is good) and a struct of the event's fields for each input, under the input's name.

Invariant: a record that is no event of its topic has a reason, and goes to the topic's dead letters; none is lost
silently, and none is counted as an event with its fields null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from barnabas.pipeline.events.parse import Reader, parsed_by_topic
from barnabas.pipeline.events.types import Format
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
        # Spark asks a broker where a partition ends after each poll, on the connection on which the consumer has asked
        # for more meanwhile: at the end of a topic that answer waits until the other one has, so that one is not to.
        .option("kafka.fetch.max.wait.ms", 10)
        .option("kafka.max.poll.records", 10_000)
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
    """Reads each record as an event of its topic."""

    def __init__(self, inputs: Mapping[str, TopicInput], event_format: Format) -> None:
        """Args:
        inputs: By topic.
        event_format: json or avro.
        """
        # It needs pyarrow, which is not there where only the command line is.
        from barnabas.pipeline.events.read import EventReader

        self._readers: dict[str, tuple[str, Reader]] = {
            topic: (declared.name, EventReader(declared.event, event_format))
            for topic, declared in inputs.items()
            if declared.event is not None
        }

    def parse(self, records: DataFrame, rows: Mapping[str, Reader] = MappingProxyType({})) -> DataFrame:
        """Parse records.

        Args:
            records: Columns `key`, `value` and those of the place.
            rows: By topic, what reads records that are no events.

        Returns:
            The same columns; `_reason`; and for each input a struct of its fields, null in records of other topics.
        """
        readers = {**self._readers, **{topic: (topic, reader) for topic, reader in rows.items()}}
        if not readers:
            return records.selectExpr("*", f"CAST(NULL AS STRING) AS {REASON}")
        return parsed_by_topic(records, readers, REASON)


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
