"""The made-up site's events as a job's inputs, read from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.job import Job, TopicInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def inputs_from(spark: SparkSession, job: Job, directory: Path) -> dict[str, DataFrame]:
    """Give what `transform` is given, from what `sources.social.write_jsonl` wrote without broken records."""
    from pyspark.sql import functions as F

    frames = {}
    for each in job.inputs:
        if not isinstance(each, TopicInput):
            continue
        assert each.event is not None
        events = spark.read.schema(each.event.ddl).json(str(directory / f"{each.event.topic}.jsonl"))
        frames[each.name] = events.select(
            "*",
            F.lit(each.event.topic).alias("_topic"),
            F.lit(0).alias("_partition"),
            F.monotonically_increasing_id().alias("_offset"),
            F.col("time").alias("_timestamp"),
        )
    return frames
