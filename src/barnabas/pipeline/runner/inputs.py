"""Records of topics as a stream, and events out of them.

Columns of a record: `key` and `value` (binary), then the place's (`job.PLACE`). Parsing adds `_reason` (text, null
where the record is good) and a struct of the event's fields for each input, under the input's name.

Invariant: a record that is no event of its topic has a reason, and goes to the topic's dead letters; none is lost
silently, and none is counted as an event with its fields null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.pipeline.events.parse import Format, parsed
from barnabas.pipeline.job import PLACE, TopicInput
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

REASON = "_reason"
_RECORD = (
    "key",
    "value",
    "topic AS _topic",
    "partition AS _partition",
    "offset AS _offset",
    "timestamp AS _timestamp",
)


def read_stream(
    spark: SparkSession, kafka: KafkaOptions, starts: Offsets, max_offsets: int | None, is_per_partition: bool
) -> DataFrame:
    """Give the records of topics as a stream.

    Args:
        spark: The session.
        kafka: The cluster.
        starts: Where to begin, with every partition of each topic; a partition that comes later begins at its start.
        max_offsets: Of one source and trigger; None is no limit.
        is_per_partition: Make one source per partition, so that the limit is each one's own. Partitions that come later
            are not read then.
    """
    if not is_per_partition:
        return _source(spark, kafka, {"subscribe": ",".join(sorted(starts))}, starts, max_offsets)
    frames = [
        _source(spark, kafka, {"assign": json.dumps({topic: [number]})}, {topic: {number: offset}}, max_offsets)
        for topic, partitions in sorted(starts.items())
        for number, offset in sorted(partitions.items())
    ]
    stream = frames[0]
    for frame in frames[1:]:
        stream = stream.unionAll(frame)
    return stream


def _source(
    spark: SparkSession, kafka: KafkaOptions, which: Mapping[str, str], starts: Offsets, max_offsets: int | None
) -> DataFrame:
    reader = (
        spark.readStream.format("kafka")
        # A broker that is restarted is back in a second or two: ask again soon, and give up soon enough to tell.
        .option("kafka.reconnect.backoff.max.ms", 500)
        .option("kafka.request.timeout.ms", 10_000)
        .option("kafka.default.api.timeout.ms", 20_000)
        .options(**kafka.for_spark())
        .options(**which)
        .option("startingOffsets", json.dumps(starts))
        # What is lost is found and told before a query starts (`positions.py`); what is lost while it runs stops it.
        .option("failOnDataLoss", "true")
    )
    if max_offsets is not None:
        reader = reader.option("maxOffsetsPerTrigger", max_offsets)
    return reader.load().selectExpr(*_RECORD)


def parse_records(records: DataFrame, inputs: Mapping[str, TopicInput], event_format: Format) -> DataFrame:
    """Read each record as an event of its topic.

    Args:
        records: Columns `key`, `value` and those of the place.
        inputs: By topic.
        event_format: json or avro.

    Returns:
        The same columns; `_reason`; and for each input a struct of its event's fields, null in records of other topics.
    """
    from pyspark.sql import functions as F  # noqa: N812

    reason: Column = F.lit(None).cast("string")
    structs: dict[str, Column] = {}
    for topic, declared in inputs.items():
        if declared.event is None:
            continue
        struct, why = parsed(F.col("value"), declared.event, event_format)
        if len(inputs) == 1:
            structs[declared.name], reason = struct, why
        else:
            is_own = F.col("_topic") == topic
            structs[declared.name] = F.when(is_own, struct)
            reason = F.when(is_own, why).otherwise(reason)
    return records.withColumns({REASON: reason, **structs})


def events_of(parsed_records: DataFrame, topic: str, declared: TopicInput) -> DataFrame:
    """Give one input's events: its event's columns and the place's; records as they are where it has no event."""
    own = parsed_records.where(f"{REASON} IS NULL")
    own = own.where(own["_topic"] == topic)
    if declared.event is None:
        return own.select("key", "value", *PLACE)
    return own.select(f"{declared.name}.*", *PLACE)


def before(rows: DataFrame, ends: Mapping[str, Mapping[int, int]]) -> DataFrame:
    """Give the rows whose place is before these offsets; partitions that are not named are left out."""
    return rows.where(_is_before(ends))


def at_or_after(rows: DataFrame, starts: Mapping[str, Mapping[int, int]]) -> DataFrame:
    """Give the rows whose place is at or after these offsets; partitions that are not named are kept whole."""
    return rows.where(~_is_before(starts))


def _is_before(offsets: Mapping[str, Mapping[int, int]]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    result: Column = F.lit(False)
    for topic, partitions in offsets.items():
        for number, offset in partitions.items():
            is_there = (F.col("_topic") == topic) & (F.col("_partition") == number)
            result = result | (is_there & (F.col("_offset") < offset))
    return result
