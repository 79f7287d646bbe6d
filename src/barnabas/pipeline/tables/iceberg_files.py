"""Data files of an Iceberg table, written and read by Spark without a commit: how Iceberg's own compaction does it.

Spark finds a table that is an object of ours by a name in a cache, writes files under an id instead of committing them,
and reads a chosen set of a table's files.

Source: Iceberg 1.10.0, `SparkBinPackFileRewriteRunner`, `SparkWriteBuilder`, `IcebergSource`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# py4j gives Java's objects no types.
Java = Any


class DataFiles:
    """Writes and reads the data files of Iceberg tables, through one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        _prepare(spark)
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "the session has ended"
        self._jvm: Java = jvm
        self._iceberg: Java = jvm.org.apache.iceberg

    def write(self, rows: DataFrame, table: Java) -> list[Java]:
        """Let Spark write rows into data files of a table that no snapshot has yet."""
        _prepare(rows.sparkSession)
        coordinator = self._iceberg.spark.FileRewriteCoordinator.get()
        with self._cached(table) as name:
            writer = rows.write.format("iceberg").option("check-ordering", "false")
            writer.option("rewritten-file-scan-task-set-id", name).mode("append").save(name)
            files = list(coordinator.fetchNewFiles(table, name))
            coordinator.clearRewrite(table, name)
        return files

    def tasks_of(self, table: Java) -> list[Java]:
        """List a table's data files, each with what is deleted of it."""
        lists = self._iceberg.relocated.com.google.common.collect.Lists
        return list(lists.newArrayList(table.newScan().planFiles()))

    @contextmanager
    def rows_of(self, table: Java, tasks: Sequence[Java] | None = None) -> Iterator[DataFrame]:
        """Provide the rows of a table, or of some of its files, for use inside; each can tell its `_file`."""
        with self._cached(table) as name:
            reader = self._spark.read.format("iceberg")
            if tasks is None:
                yield reader.load(name)
                return
            manager = self._iceberg.spark.ScanTaskSetManager.get()
            staged = self._jvm.java.util.ArrayList()
            for task in tasks:
                staged.add(task)
            manager.stageTasks(table, name, staged)
            try:
                yield reader.option("scan-task-set-id", name).load(name)
            finally:
                manager.removeTasks(table, name)

    @contextmanager
    def _cached(self, table: Java) -> Iterator[str]:
        """Provide the name by which Spark finds a table that is an object of ours."""
        gateway = self._spark.sparkContext._gateway
        assert gateway is not None
        # py4j takes `get()` for the method of an instance that has the same name.
        get = (
            self._iceberg.spark.SparkTableCache()
            .getClass()
            .getMethod("get", gateway.new_array(self._jvm.java.lang.Class, 0))
        )
        cache = get.invoke(None, gateway.new_array(self._jvm.java.lang.Object, 0))
        name = str(uuid.uuid4())
        cache.add(name, table)
        try:
            yield name
        finally:
            cache.remove(name)


def _prepare(session: SparkSession) -> None:
    """Load Iceberg's own catalogs in a session, whatever thread this is: a stream's batches have a session each.

    Iceberg does it in the session that is active in the thread, which may be another one; and in a thread without
    one Spark looks into no session's settings, and finds only catalogs that are loaded.
    """
    jvm = session.sparkContext._jvm
    assert jvm is not None, "the session has ended"
    sessions: Java = jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        catalogs = session._jsparkSession.sessionState().catalogManager()
        catalogs.catalog("default_iceberg")
        catalogs.catalog("default_cache_iceberg")
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
