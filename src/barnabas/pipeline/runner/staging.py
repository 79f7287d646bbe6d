"""Rows of a batch on their way from the tasks that read them to Spark: Parquet files of the checkpoint's directory.

What a killed run leaves is deleted by the next one. Executors must reach the checkpoint, as they must reach the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.data_files import DataFile, FileSink, absolute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import Sink


class Staging:
    """The staged files of one run, of one batch at a time."""

    def __init__(self, spark: SparkSession, directory: str, storage_options: dict[str, str]) -> None:
        """Args:
        spark: The session.
        directory: Of the files: a path, or the address of an object store or HDFS.
        storage_options: Login and endpoint of the store, as delta-rs takes them.
        """
        self._spark = spark
        self._sink = FileSink(absolute(directory), storage_options)
        self._is_clear = False

    def sink(self) -> Sink:
        """Return what tasks write rows with."""
        self._is_clear = False
        return self._sink

    def read(self, files: Sequence[DataFile], columns: StructType) -> DataFrame:
        """Return the rows of staged files, which have these columns."""
        if not files:
            return self._spark.createDataFrame([], columns)
        # Spark would look for a path without a scheme in the cluster's default file system.
        root = self._sink.directory if "://" in self._sink.directory else f"file:{self._sink.directory}"
        paths = [f"{root}/{each.path}" for each in files]
        return self._spark.read.schema(columns).parquet(*paths)

    def clear(self) -> None:
        """Delete all staged files, those of an earlier run that was killed among them; later, if that fails now."""
        if self._is_clear:
            return
        with suppress(OSError):
            self._sink.clear()
            self._is_clear = True
