"""An Iceberg table in a directory, on a local disk or HDFS; its commits are compare-and-swaps that check the sequence.

Spark writes data files and commits nothing (`iceberg_files.py`). The driver then builds one transaction of schema,
files, summary and properties on the metadata that it has read, checked the run's sequence in, and swaps it for the new:
version n+1 of the metadata comes into its place by a rename that fails when there is one. So what was checked is what
was there when the commit came; a writer that was overtaken begins again from what is there then. Data files that a
killed one leaves belong to no snapshot.

A rename on HDFS never replaces a file. On a local disk it does, so there a commit also holds a lock on a file beside
the table. It is held in Spark's JVM, which does the renaming, and goes with it.

The progress of every run stands, as a JSON array, in the snapshot's summary under `barnabas.progress`: a table that is
rolled back to a snapshot takes up where that ended. The table's property of the same name has it as of the last commit:
it is read when others have compacted the table and expired every snapshot of ours.

Source: Iceberg 1.10.0, `BaseTransaction`, `HadoopTableOperations`.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.tables.columns import aligned, literal, quoted, type_difference
from barnabas.pipeline.tables.iceberg_files import DataFiles, Java, list_tasks, small_tasks
from barnabas.pipeline.tables.rules import with_rest
from barnabas.pipeline.tables.table import (
    COMPACTED_FILE_BYTES,
    Compaction,
    Progress,
    TableError,
    TableMovedError,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PROGRESS = "barnabas.progress"
_LOCK_FILE = ".barnabas-commit.lock"
_LOCK_TIMEOUT_S = 600
_LOCK_LOOK_S = 0.01
_MAX_ATTEMPTS = 100
# A rename there is a copy: two commits could both succeed.
_WITHOUT_RENAME = ("s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "wasb", "wasbs")

_PROPERTIES = {
    "format-version": "2",
    # Columns that rows do not have, in objects as well, are null.
    "write.spark.accept-any-schema": "true",
}
# Old metadata files may only go where the lock is: a writer that slept would find its next version free.
_LOCAL_PROPERTIES = {"write.metadata.delete-after-commit.enabled": "true"}

# By location: a lock on a file is the process's own, and goes when any of its descriptors of the file is closed.
_process_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class IcebergTable:
    """One Iceberg table by its directory: `Table`, see there.

    The directory is that of a Hadoop catalog's table, too: `/data/warehouse/site/views` is `site.views` of the catalog
    whose warehouse is `/data/warehouse`. Columns whose names Iceberg keeps for itself (`_partition`, `_file`, `_pos`,
    ...) are stored with an underscore behind, and `read` gives them their own names.
    """

    def __init__(self, spark: SparkSession, location: str) -> None:
        """Name a table; nothing is read yet.

        Raises:
            TableError: it is on a store without an atomic rename.
        """
        self._spark = spark
        self._files = DataFiles(spark)
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "the session has ended"
        self._jvm: Java = jvm
        self._iceberg: Java = jvm.org.apache.iceberg
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        path = jvm.org.apache.hadoop.fs.Path(location)
        if (scheme := path.toUri().getScheme()) in _WITHOUT_RENAME:
            raise TableError(
                f"{location}: an Iceberg table in a directory needs a file system with an atomic rename (a local disk, "
                f"HDFS), {scheme} has none: write Delta there"
            )
        path = path.getFileSystem(configuration).makeQualified(path)
        self._location = str(path.toString())
        self._local_directory = str(path.toUri().getPath()) if path.toUri().getScheme() == "file" else ""
        self._tables: Java = self._iceberg.hadoop.HadoopTables(configuration)

    @property
    def location(self) -> str:
        """Its place, for people."""
        return self._location

    @property
    def widens(self) -> bool:
        """Whether `append` widens columns of numbers: always."""
        return True

    def exists(self) -> bool:
        """Return whether there is a commit."""
        table = self._load()
        return table is not None and table.currentSnapshot() is not None

    def read(self) -> DataFrame:
        """Return all rows of the latest commit, which stays the same however late they are asked for."""
        table = self._load()
        if table is None or table.currentSnapshot() is None:
            raise TableError(f"there is no Iceberg table at {self._location}")
        rows = (
            self._spark.read.format("iceberg")
            .option("snapshot-id", table.currentSnapshot().snapshotId())
            .load(self._location)
        )
        return self._decoded(rows)

    def progress(self, run: str) -> Progress | None:
        """Return how far a run has come; None when it has committed nothing."""
        table = self._load()
        return None if table is None else _known(table.operations().current()).get(run)

    def append(self, rows: DataFrame, progress: Progress, partition_by: Sequence[str] = ()) -> None:
        """Add rows, see `Table.append`; `partition_by` counts for the first commit."""
        written: tuple[Java, Java, list[Java]] | None = None

        def change(transaction: Java | None) -> Java:
            nonlocal written
            new = self._aligned(rows, transaction, widens=True)
            transaction = self._widened(transaction, new, partition_by)
            table = transaction.table()
            # Files fit the table as long as its columns are the ones that they were written with.
            if written is None or not written[0].sameSchema(table.schema()) or written[1] != table.spec():
                written = table.schema(), table.spec(), self._files.write(new, table)
            update = transaction.newAppend()
            for file in written[2]:
                update.appendFile(file)
            self._finish(transaction, update, progress)
            return transaction

        self._commit(change, progress)

    def update(self, rows: DataFrame, key: Sequence[str], progress: Progress) -> None:
        """Put each row in the place of the one with the same key, or add it, see `Table.update`.

        The files that hold one of the keys are written anew; the rest of the table is only looked through for them.
        """
        # Looked at twice: both must see the same rows.
        rows = rows.persist()

        def change(transaction: Java | None) -> Java:
            new = self._aligned(rows, transaction)
            names = [self._encoded_name(name) for name in key]
            if missing := [name for name in names if name not in new.columns]:
                raise TableError(f"{self._location}: rows have no column {missing[0]} of the key")
            old = None if transaction is None else transaction.startMetadata().currentSnapshot()
            widened = self._widened(transaction, new, ())
            update = widened.newOverwrite()
            if old is None:
                added = self._files.write(new, widened.table())
            else:
                keys = new.select(*(new[quoted(name)].alias(f"key_{place}") for place, name in enumerate(names)))
                table = self._load_version(widened)
                with self._files.rows_of(table) as everything:
                    touched = everything.join(keys, _same_key(everything, keys, names), "left_semi")
                    paths = {row["_file"] for row in touched.select("_file").distinct().collect()}
                tasks = [task for task in list_tasks(table) if str(task.file().location()) in paths]
                with self._files.rows_of(table, tasks) as kept:
                    survivors = kept.join(keys, _same_key(kept, keys, names), "left_anti")
                    added = self._files.write(survivors.unionByName(new, allowMissingColumns=True), widened.table())
                for task in tasks:
                    update.deleteFile(task.file())
            for file in added:
                update.addFile(file)
            self._finish(widened, update, progress)
            return widened

        try:
            self._commit(change, progress)
        finally:
            rows.unpersist()

    def replace(self, rows: DataFrame, progress: Progress, partition_by: Sequence[str] = (), where: str = "") -> None:
        """Put rows in the place of all that are there; the columns and `partition_by` become what is given here."""
        if where:
            rows = with_rest(rows, self.read(), where)

        def change(transaction: Java | None) -> Java:
            new = self._aligned(rows, None)
            if transaction is not None and not self._has_layout(transaction.table(), new, partition_by):
                schema, spec = self._layout(new, partition_by)
                transaction = self._tables.newReplaceTableTransaction(
                    self._location, schema, spec, self._properties(), False
                )
            transaction = self._widened(transaction, new, partition_by)
            added = self._files.write(new, transaction.table())
            update = transaction.newOverwrite()
            update.overwriteByRowFilter(self._iceberg.expressions.Expressions.alwaysTrue())
            for file in added:
                update.addFile(file)
            self._finish(transaction, update, progress)
            return transaction

        self._commit(change, progress)

    def cut(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        """Take away the rows of these partitions from these offsets on, and say how many, see `Table.cut`."""
        partition = self._encoded_name("_partition")
        conditions = [
            f"(_topic = {literal(topic)} AND {quoted(partition)} = {number} AND _offset >= {offset})"
            for topic, partitions in offsets.items()
            for number, offset in partitions.items()
        ]
        where = where.replace("_partition", quoted(partition))
        condition = f"coalesce({where or ' OR '.join(conditions) or 'false'}, false)"
        count = 0

        def change(transaction: Java | None) -> Java:
            nonlocal count
            if transaction is None:
                raise TableError(f"there is no Iceberg table at {self._location}")
            names = [field.name for field in self._schema_of(transaction.table()).fields]
            if not {"_topic", partition, "_offset"} <= set(names):
                raise TableError(
                    f"{self._location} can't be cut: it lacks one of the columns _topic, _partition, _offset"
                )
            table = self._load_version(transaction)
            with self._files.rows_of(table) as everything:
                found = everything.where(condition).groupBy("_file").count().collect()
            count = sum(row["count"] for row in found)
            paths = {row["_file"] for row in found}
            tasks = [task for task in list_tasks(table) if str(task.file().location()) in paths]
            added: list[Java] = []
            if tasks:
                with self._files.rows_of(table, tasks) as touched:
                    added = self._files.write(touched.where(f"NOT {condition}"), transaction.table())
            update = transaction.newOverwrite()
            for task in tasks:
                update.deleteFile(task.file())
            for file in added:
                update.addFile(file)
            self._finish(transaction, update, progress)
            return transaction

        self._commit(change, progress)
        return count

    def compact(self, target_file_bytes: int = COMPACTED_FILE_BYTES, keep_history_s: float | None = None) -> Compaction:
        """Write small files together into larger ones, see `Table.compact`.

        Args:
            target_file_bytes: How large files shall become.
            keep_history_s: Snapshots older than this go, and the files that only they have; None: all stay.
        """
        result = Compaction(0, 0)

        def change(transaction: Java | None) -> Java | None:
            nonlocal result
            if transaction is None:
                raise TableError(f"there is no Iceberg table at {self._location}")
            table = self._load_version(transaction)
            tasks = list_tasks(table)
            result = Compaction(len(tasks), len(tasks))
            small = small_tasks(tasks, target_file_bytes)
            if not small:
                return None
            total_bytes = sum(int(task.file().fileSizeInBytes()) for task in small)
            with self._files.rows_of(table, small) as rows:
                if not table.spec().isPartitioned():
                    rows = rows.coalesce(max(1, math.ceil(total_bytes / target_file_bytes)))
                added = self._files.write(rows, transaction.table(), target_file_bytes)
            update = transaction.newRewrite()
            for task in small:
                update.deleteFile(task.file())
            for file in added:
                update.addFile(file)
            self._finish(transaction, update, None)
            result = Compaction(len(tasks), len(tasks) - len(small) + len(added))
            return transaction

        self._commit(change, None)
        if keep_history_s is not None:
            end_ms = int((time.time() - keep_history_s) * 1000)
            actions = self._iceberg.spark.actions.SparkActions.get(self._spark._jsparkSession)
            # It commits by itself. (The one without Spark leaves what the latest commit has put aside.)
            with self._lock():
                actions.expireSnapshots(self._tables.load(self._location)).expireOlderThan(end_ms).execute()
        return result

    def _commit(self, change: Callable[[Java | None], Java | None], progress: Progress | None) -> None:
        """Make a change on what is there, and again on what is there then, until nobody came in between.

        Args:
            change: Is given a transaction that nothing was done in yet, None when there is no table; gives the one
                to commit, or None when there is nothing to do.
            progress: What the run commits; None for a commit that belongs to no run.
        """
        for _ in range(_MAX_ATTEMPTS):
            table = self._load()
            transaction = None if table is None else table.newTransaction()
            if progress is not None:
                self._check_sequence({} if transaction is None else _known(transaction.startMetadata()), progress)
            transaction = change(transaction)
            if transaction is None or self._swap(transaction):
                return
        raise TableError(f"{self._location}: other writers came first {_MAX_ATTEMPTS} times: try again")

    def _swap(self, transaction: Java) -> bool:
        """Put a transaction's metadata into the place of those it was begun on; False when they are there no more."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        base, new = transaction.startMetadata(), transaction.currentMetadata()
        with self._lock():
            there = self._load()
            # Looked at under the lock; where there is none, this only saves the attempt.
            if _version(base) != _version(None if there is None else there.operations().current()):
                return False
            try:
                transaction.underlyingOps().commit(base, new)
            except Py4JJavaError as error:
                there = self._load()
                if there is not None and there.snapshot(new.currentSnapshot().snapshotId()) is not None:
                    return True
                name = str(error.java_exception.getClass().getSimpleName())
                if name in ("CommitFailedException", "AlreadyExistsException"):
                    return False
                raise TableError(
                    f"{self._location}: the commit failed: {name}: {error.java_exception.getMessage()}"
                ) from None
        return True

    def _check_sequence(self, known: Mapping[str, Progress], progress: Progress) -> None:
        last = known[progress.run].sequence if progress.run in known else 0
        if progress.sequence != last + 1:
            raise TableMovedError(
                f"{self._location}: run {progress.run} has committed number {last}, so {progress.sequence} can't come "
                "now: another writer is at work as the same run"
            )

    def _finish(self, transaction: Java, update: Java, progress: Progress | None) -> None:
        """Put the progress of all runs into a transaction, beside its files."""
        base = transaction.startMetadata()
        known = {} if base is None else _known(base)
        if progress is not None:
            # Of a replaced table, too: what was checked is what this transaction begins on.
            self._check_sequence(known, progress)
            known = {**known, progress.run: progress}
        text = json.dumps(
            [json.loads(known[run].to_json()) for run in sorted(known)], separators=(",", ":"), sort_keys=True
        )
        update.set(_PROGRESS, text)
        update.commit()
        transaction.updateProperties().set(_PROGRESS, text).commit()

    def _load(self) -> Java | None:
        """Return the table as it is now, None when there is none; nobody else has this object."""
        return self._tables.load(self._location) if self._tables.exists(self._location) else None

    def _load_version(self, transaction: Java) -> Java:
        """Return the table as it was when a transaction was begun, for reading."""
        return self._iceberg.BaseTable(transaction.underlyingOps(), self._location)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep other processes on this machine from committing meanwhile, where a rename does not."""
        if not self._local_directory:
            yield
            return
        from py4j.protocol import Py4JJavaError

        java = self._jvm.java
        with _process_locks[self._local_directory]:
            java.io.File(self._local_directory).mkdirs()
            file = java.io.RandomAccessFile(f"{self._local_directory}/{_LOCK_FILE}", "rw")
            try:
                deadline = time.monotonic() + _LOCK_TIMEOUT_S
                while file.getChannel().tryLock() is None:
                    if time.monotonic() > deadline:
                        raise TableError(
                            f"{self._location}: another process holds {_LOCK_FILE} for {_LOCK_TIMEOUT_S} s"
                        )
                    time.sleep(_LOCK_LOOK_S)
                yield
            except Py4JJavaError as error:
                raise TableError(f"{self._location}: {error.java_exception}") from None
            finally:
                file.close()

    def _aligned(self, rows: DataFrame, transaction: Java | None, *, widens: bool = False) -> DataFrame:
        """Return rows as the table has them: names, spelling, and Iceberg's own types."""
        rows = self._in_types_of_iceberg(rows)
        schema = None if transaction is None else self._schema_of(transaction.table())
        if schema is not None:
            for field in schema.fields:
                field.name = self._decoded_name(field.name)
        found = aligned(rows, schema, self._location, widens=widens)
        return found.selectExpr(*(f"{quoted(name)} AS {quoted(self._encoded_name(name))}" for name in found.columns))

    def _in_types_of_iceberg(self, rows: DataFrame) -> DataFrame:
        """Make integers of what is smaller, as Iceberg does."""
        from pyspark.sql.types import ByteType, ShortType

        return rows.selectExpr(
            *(
                f"CAST({quoted(field.name)} AS INT) AS {quoted(field.name)}"
                if isinstance(field.dataType, ByteType | ShortType)
                else quoted(field.name)
                for field in rows.schema.fields
            )
        )

    def _widened(self, transaction: Java | None, rows: DataFrame, partition_by: Sequence[str]) -> Java:
        """Return a transaction in which the table is there, with all columns of rows."""
        schema, spec = self._layout(rows, partition_by)
        if transaction is None:
            return self._tables.newCreateTableTransaction(self._location, schema, spec, self._properties())
        transaction.updateSchema().caseSensitive(False).unionByNameWith(schema).commit()
        return transaction

    def _layout(self, rows: DataFrame, partition_by: Sequence[str]) -> tuple[Java, Java]:
        from pyspark.errors import PySparkException

        names = [self._encoded_name(name) for name in partition_by]
        if missing := [name for name in names if name not in rows.columns]:
            raise TableError(f"{self._location}: rows have no column {missing[0]} to divide files by")
        try:
            schema = self._iceberg.spark.SparkSchemaUtil.convert(rows._jdf.schema().asNullable())
        except PySparkException as error:
            raise TableError(f"{self._location}: Iceberg can't hold these columns: {error}") from None
        builder = self._iceberg.PartitionSpec.builderFor(schema)
        for name in names:
            builder.identity(name)
        return schema, builder.build()

    def _has_layout(self, table: Java, rows: DataFrame, partition_by: Sequence[str]) -> bool:
        if [str(field.name()) for field in table.spec().fields()] != [
            self._encoded_name(name) for name in partition_by
        ]:
            return False
        old, new = self._schema_of(table), rows.schema
        return sorted(old.names) == sorted(new.names) and type_difference(old, new, "") is None

    def _properties(self) -> dict[str, str]:
        return {**_PROPERTIES, **(_LOCAL_PROPERTIES if self._local_directory else {})}

    def _schema_of(self, table: Java) -> StructType:
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self._iceberg.spark.SparkSchemaUtil.convert(table.schema()).json()))

    def _is_reserved(self, name: str) -> bool:
        return bool(self._iceberg.MetadataColumns.isMetadataColumn(name.rstrip("_").lower()))

    def _encoded_name(self, name: str) -> str:
        return name + "_" if self._is_reserved(name) else name

    def _decoded_name(self, name: str) -> str:
        return name[:-1] if name.endswith("_") and self._is_reserved(name) else name

    def _decoded(self, rows: DataFrame) -> DataFrame:
        return rows.selectExpr(*(f"{quoted(name)} AS {quoted(self._decoded_name(name))}" for name in rows.columns))


def _known(metadata: Java) -> dict[str, Progress]:
    """Return the progress of all runs as of a version of the table's metadata."""
    snapshot = metadata.currentSnapshot()
    while snapshot is not None:
        text = snapshot.summary().get(_PROGRESS)
        if text is not None:
            return _parsed(text)
        # One that somebody else has made on top of ours.
        parent = snapshot.parentId()
        if parent is None:
            return {}
        snapshot = metadata.snapshot(parent)
        if snapshot is None:
            return _parsed(metadata.properties().get(_PROGRESS) or "[]")
    return {}


def _parsed(text: str) -> dict[str, Progress]:
    found = [Progress.from_json(json.dumps(one)) for one in json.loads(text)]
    return {progress.run: progress for progress in found}


def _version(metadata: Java | None) -> str | None:
    return None if metadata is None else str(metadata.metadataFileLocation())


def _same_key(rows: DataFrame, keys: DataFrame, names: Sequence[str]) -> list[Any]:
    """Return the conditions under which a row has a key; null equals null."""
    return [rows[quoted(name)].eqNullSafe(keys[f"key_{place}"]) for place, name in enumerate(names)]
