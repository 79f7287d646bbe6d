"""Events as a job's inputs: frames with the event's columns and the place's, from a few fields or from a generator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.events import EventType
from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.job import Job, TopicInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 3, 6, 8, tzinfo=UTC)

Event = tuple[EventType, Mapping[str, object]]


def frames_of(spark: SparkSession, job: Job, events: Iterable[Event], directory: Path) -> dict[str, DataFrame]:
    """Give the frames of all the job's inputs; the events lie in `directory` as long as they are read.

    An event that has no id gets its number.
    """
    inputs = [each for each in job.inputs if isinstance(each, TopicInput) and each.event is not None]
    paths = {each.name: directory / f"{each.name}.jsonl" for each in inputs}
    files = {name: path.open("w") for name, path in paths.items()}
    for number, (event_type, fields) in enumerate(events):
        if event_type.name in files:
            value = encode_json(event_type, {"id": str(number), **fields}).decode()
            files[event_type.name].write(json.dumps({"value": value, "offset": number}) + "\n")
    for file in files.values():
        file.close()
    return {each.name: _frame(spark, each.event, paths[each.name]) for each in inputs if each.event is not None}


def _frame(spark: SparkSession, event_type: EventType, path: Path) -> DataFrame:
    from pyspark.sql import functions as F

    records = spark.read.schema("value STRING, offset BIGINT").json(str(path))
    return records.select(
        F.from_json("value", event_type.ddl).alias("event"),
        F.lit(event_type.topic).alias("_topic"),
        F.lit(0).alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("event.time").alias("_timestamp"),
    ).select("event.*", "_topic", "_partition", "_offset", "_timestamp")
