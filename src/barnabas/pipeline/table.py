"""The table that a job writes: Parquet files and the sink's own list of those that count.

Invariants: Spark's file sink writes a batch's files first and then, in one rename, their names into `_spark_metadata`.
Files of a batch that was killed in between stay behind and count nowhere: Spark leaves them out when it reads the
directory. `sweep` takes them away, so that any other reader of Parquet sees the same rows as Spark.

Source: Spark, Structured Streaming programming guide, file sink.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from barnabas.pipeline.plain_count import Counts, write_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIST_OF_FILES = "_spark_metadata"


def read_page_views(spark: SparkSession, directory: Path) -> Counts:
    """Read the job's table through Spark: views per (minute, page).

    A row that stands twice counts twice, so that a doubled window shows.
    """
    counts: Counts = Counts()
    if not has_rows(directory):
        return counts
    table = spark.read.parquet(str(directory))
    rows = table.selectExpr("date_format(minute, \"yyyy-MM-dd'T'HH:mm:ss'Z'\") AS minute", "page", "views")
    for row in rows.toLocalIterator():
        counts[row["minute"], row["page"]] += row["views"]
    return counts


def has_rows(directory: Path) -> bool:
    """Tell whether the sink has committed a file yet."""
    return any(directory.glob(f"{_LIST_OF_FILES}/[0-9]*")) and any(directory.glob("*.parquet"))


def write_summary(spark: SparkSession, directory: Path, summary: Path) -> Counts:
    """Write the table as one CSV file beside it, for people without Spark, and give what is in it."""
    counts = read_page_views(spark, directory)
    write_counts(summary, counts)
    return counts


def sweep(spark: SparkSession, directory: Path) -> int:
    """Take away files that no batch has committed; gives their number.

    No query may be writing to the directory.
    """
    if not has_rows(directory):
        return 0
    committed = {Path(unquote(urlparse(file).path)).name for file in spark.read.parquet(str(directory)).inputFiles()}
    strays = [file for file in directory.glob("*.parquet") if file.name not in committed]
    for file in strays:
        file.unlink()
        # Hadoop's checksum of it.
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return len(strays)
