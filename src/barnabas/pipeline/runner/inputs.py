"""Records of topics, and events out of them.

Columns of a record: `key` and `value` (binary), then the place's (`job.PLACE`). Parsing adds `_reason` (text, null
where the record is good) and a struct of the event's fields for each input, under the input's name.

Invariant: a record that is no event of its topic has a reason, and goes to the topic's dead letters; none is lost
silently, and none is counted as an event with its fields null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from barnabas.pipeline.events.parse import Reader, parsed_by_topic
from barnabas.pipeline.events.types import Format
from barnabas.pipeline.job import PLACE, TopicInput
from barnabas.pipeline.runner.cluster import SOURCE_REQUEST_TIMEOUT_MS, KafkaOptions
from barnabas.pipeline.tables.table import Offsets

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


def read_records(
    spark: SparkSession,
    kafka: KafkaOptions,
    starts: Offsets,
    ends: Offsets,
    readers: str,
    fetch_bytes: int | None = None,
) -> DataFrame:
    """Return the records of partitions between offsets.

    Args:
        spark: The session.
        kafka: The cluster.
        starts: Where each partition begins.
        ends: Where each of these ends.
        readers: Names those who read one batch after the other: executors keep their consumers for the next.
        fetch_bytes: Of a partition in one answer; None: as consumers do by default.
    """
    ranges = {
        topic: {
            number: (start, ends[topic][number]) for number, start in numbers.items() if ends[topic][number] > start
        }
        for topic, numbers in starts.items()
    }
    ranges = {topic: numbers for topic, numbers in ranges.items() if numbers}
    sizes: dict[str, int] = {}
    if fetch_bytes is not None:
        sizes = {"kafka.max.partition.fetch.bytes": fetch_bytes, "kafka.fetch.max.bytes": fetch_bytes}
    reader = (
        spark.read.format("kafka")
        # Spark keeps consumers by group and partition, with the options that they were made with.
        .option("kafka.group.id", f"{readers}-{fetch_bytes}" if fetch_bytes else readers)
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
        .option("assign", json.dumps({topic: sorted(numbers) for topic, numbers in ranges.items()}))
        .option("startingOffsets", _places(ranges, 0))
        .option("endingOffsets", _places(ranges, 1))
        # Earlier losses are reported before a batch is read (`losses.py`); a loss from now on fails the batch.
        .option("failOnDataLoss", "true")
    )
    return reader.load().selectExpr(*RECORD)


def _places(ranges: Mapping[str, Mapping[int, tuple[int, int]]], side: int) -> str:
    return json.dumps({topic: {str(n): each[side] for n, each in numbers.items()} for topic, numbers in ranges.items()})


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


def at_or_after(rows: DataFrame, starts: Mapping[str, Mapping[int, int]]) -> DataFrame:
    """Return the rows whose place is at or after these offsets; partitions that are not named are kept whole."""
    from pyspark.sql import functions as F

    is_before: Column = F.lit(False)
    for topic, partitions in starts.items():
        for number, offset in partitions.items():
            is_there = (F.col("_topic") == topic) & (F.col("_partition") == number)
            is_before = is_before | (is_there & (F.col("_offset") < offset))
    return rows.where(~is_before)
