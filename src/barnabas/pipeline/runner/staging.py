"""Staged rows of a batch, from the tasks that read them to Spark queries: Parquet files in the checkpoint's directory.

The next run deletes the files of a killed run. Executors must be able to access the checkpoint, like the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.data_files import NO_PATTERNS, DataFile, FileSink, absolute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import Sink


class Staging:
    """The staged files of one run, for one batch at a time."""

    def __init__(self, spark: SparkSession, directory: str, storage_options: dict[str, str]) -> None:
        """Args:
        spark: The session.
        directory: Directory of the files: a path, or the address of an object store or HDFS.
        storage_options: Login and endpoint of the store, as delta-rs takes them.
        """
        self._spark = spark
        self._sink = FileSink(absolute(directory), storage_options)
        self._is_clear = False

    def sink(self) -> Sink:
        """Return the sink to which tasks write rows."""
        self._is_clear = False
        return self._sink

    def read(self, files: Sequence[DataFile], columns: StructType) -> DataFrame:
        """Return the rows of staged files, which have these columns."""
        if not files:
            return self._spark.createDataFrame([], columns)
        # Spark would look for a path without a scheme in the cluster's default file system.
        root = self._sink.directory if "://" in self._sink.directory else f"file:{self._sink.directory}"
        paths = [f"{root}/{each.path}" for each in files]
        return self._spark.read.schema(columns).options(**NO_PATTERNS).parquet(*paths)

    def clear(self) -> None:
        """Delete all staged files, also those of an earlier killed run; after a failure, the next call tries again."""
        if self._is_clear:
            return
        with suppress(OSError):
            self._sink.clear()
            self._is_clear = True
