"""An Iceberg table; its commits are compare-and-swaps that check the sequence.

Spark writes data files and commits nothing (`iceberg_files.py`). The driver then builds one transaction of schema,
files, summary and properties on the metadata that it has read, checked the run's sequence in, and lets the table's
catalog (`iceberg_catalogs.py`) swap it for the new, which fails when others have committed meanwhile. So what was
checked is what was there when the commit came; a writer that was overtaken begins again from what is there then. Data
files that a killed one leaves belong to no snapshot.

The progress of every run stands, as a JSON array, in the snapshot's summary under `barnabas.progress`: a table that is
rolled back to a snapshot takes up where that ended. The table's property of the same name has it as of the last commit:
it is read when others have compacted the table and expired every snapshot of ours.

Source: Iceberg 1.10.0, `BaseTransaction`, `TableOperations`, `UpdateRequirements`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import aligned, quoted, type_difference, with_all_columns
from barnabas.pipeline.tables.iceberg_catalogs import CatalogEntry, exception_name, is_lock_held
from barnabas.pipeline.tables.iceberg_files import DataFiles, Java
from barnabas.pipeline.tables.layout import PLAIN, Layout
from barnabas.pipeline.tables.rules import (
    check_division,
    check_layout,
    check_sequence,
    condition_of_cut,
    is_later,
    with_rest,
)
from barnabas.pipeline.tables.table import USUAL_LIMITS, Compaction, Progress, TableError, TableUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PROGRESS = "barnabas.progress"
_MAX_ATTEMPTS = 100
_HISTORY = "history.expire.max-snapshot-age-ms"
# The list of all snapshots is written with each commit, and one in ten seconds makes 2,160 of them.
_USUAL_HISTORY_S = 6 * 3_600
# Columns that rows do not have, in objects as well, are null.
_ANY_SCHEMA = {"write.spark.accept-any-schema": "true"}
_LOCK_HELD = (
    "Hive's metastore holds a lock on it: of a writer at work, or of one that was killed, and that stays until the "
    "metastore takes it away, which not every one does; docs/pipeline/iceberg.md says how to do without locks"
)
# Not where a rename decides: a writer that slept would find its next version free.
_OLD_METADATA_GO = {"write.metadata.delete-after-commit.enabled": "true"}


class IcebergTable:
    """One Iceberg table by its name in a catalog, or by its directory (see `iceberg_catalogs.py`): `Table`, see there.

    Columns whose names Iceberg keeps for itself (`_partition`, `_file`, `_pos`, ...) are stored with an underscore
    behind, and `read` gives them their own names.
    """

    column_limits = USUAL_LIMITS

    def __init__(self, spark: SparkSession, location: str, layout: Layout = PLAIN) -> None:
        """Name a table; nothing is read yet.

        Raises:
            TableError: there is no such catalog, or nothing decides between two commits there.
        """
        self._spark = spark
        self._files = DataFiles(spark)
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "the session has ended"
        self._iceberg: Java = jvm.org.apache.iceberg
        self._entry = CatalogEntry(spark, location)
        self._layout = layout
        self._location = self._entry.location

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
        table = self._entry.load()
        return table is not None and table.currentSnapshot() is not None

    def read(self) -> DataFrame:
        """Return all rows of the latest commit, which stays the same however late they are asked for."""
        table = self._entry.load()
        if table is None or table.currentSnapshot() is None:
            raise TableError(f"there is no Iceberg table at {self._location}")
        # Nobody else has this object, so it stays at what it is now.
        with self._files.rows_of(table) as rows:
            return rows.selectExpr(*(f"{quoted(name)} AS {quoted(self._decoded_name(name))}" for name in rows.columns))

    def progress(self, run: str) -> Progress | None:
        """Return how far a run has come; None when it has committed nothing."""
        table = self._entry.load()
        return None if table is None else _known(table.operations().current()).get(run)

    def append(self, rows: DataFrame, progress: Progress) -> None:
        """Add rows, see `Table.append`."""
        written: tuple[Java, Java, list[Java]] | None = None

        def change(transaction: Java | None) -> Java:
            nonlocal written
            new = self._aligned(rows, transaction, widens=True)
            transaction = self._widened(transaction, new)
            table = transaction.table()
            # Files fit the table as long as its columns are the ones that they were written with.
            if written is None or not written[0].sameSchema(table.schema()) or written[1] != table.spec():
                written = table.schema(), table.spec(), self._write(new, table)
            update = transaction.newAppend()
            for file in written[2]:
                update.appendFile(file)
            self._finish(transaction, update, progress)
            return transaction

        self._commit(change, progress)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        """Put each row in the place of the one with the same key, or add it, see `Table.update`.

        The files that hold one of the keys are written anew; the rest of the table is only looked through for them.
        """
        # Looked at twice: both must see the same rows.
        rows = rows.persist()

        def change(transaction: Java | None) -> Java:
            new = self._aligned(rows, transaction, widens=True)
            living = new.where(f"NOT ({gone or 'false'})")
            names = [self._encoded_name(name) for name in key]
            if missing := [name for name in names if name not in new.columns]:
                raise TableError(f"{self._location}: rows have no column {missing[0]} of the key")
            keys = new.select(*(new[quoted(name)].alias(f"key_{place}") for place, name in enumerate(names)))

            def part(there: DataFrame, is_kept: bool) -> DataFrame:
                # Null equals null.
                same = [there[quoted(name)].eqNullSafe(keys[f"key_{place}"]) for place, name in enumerate(names)]
                return there.join(keys, same, "left_anti" if is_kept else "left_semi")

            def merged(there: DataFrame) -> DataFrame:
                marked = [self._encoded_name(name) for name in marks]
                return _with_latest(there, new, names[0], self._encoded_name("_partition"), gone, marked)

            widened = self._widened(transaction, new)
            update = widened.newOverwrite()
            self._rewrite(widened, update, part, living, merged if gone else None)
            self._finish(widened, update, progress)
            return widened

        try:
            self._commit(change, progress)
        finally:
            rows.unpersist()

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        """Put rows in the place of all that are there; columns and layout become theirs and the one given here."""
        if where:
            rows = with_rest(rows, self.read(), where)

        def change(transaction: Java | None) -> Java:
            new = self._aligned(rows, None)
            if transaction is not None and not self._has_layout(transaction.table(), new):
                schema, spec, order = self._parts(new)
                # Not the catalog's own way, by which one in REST would not look who has committed meanwhile.
                base, operations = transaction.startMetadata(), transaction.underlyingOps()
                start = base.buildReplacement(schema, spec, order, base.location(), _ANY_SCHEMA)
                transaction = self._iceberg.Transactions.replaceTableTransaction(self._location, operations, start)
            transaction = self._widened(transaction, new)
            added = self._write(new, transaction.table())
            update = transaction.newOverwrite()
            update.overwriteByRowFilter(self._iceberg.expressions.Expressions.alwaysTrue())
            for file in added:
                update.addFile(file)
            self._finish(transaction, update, progress)
            return transaction

        self._commit(change, progress)

    def cut(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        """Take away the rows of these partitions from these offsets on, and say how many, see `Table.cut`."""
        count = 0

        def change(transaction: Java | None) -> Java:
            nonlocal count
            if transaction is None:
                raise TableError(f"there is no Iceberg table at {self._location}")
            schema = self._decoded_schema(transaction.table())
            condition = where or condition_of_cut(offsets, schema, self._location)
            condition = f"coalesce({self._encoded(condition, schema.names)}, false)"
            update = transaction.newOverwrite()
            count = self._rewrite(
                transaction, update, lambda rows, is_kept: rows.where(f"NOT {condition}" if is_kept else condition)
            )
            self._finish(transaction, update, progress)
            return transaction

        self._commit(change, progress)
        return count

    def compact(self) -> Compaction:
        """Write small files together into larger ones, see `Table.compact`; sorted, where the table is."""
        result = Compaction(0, 0)
        actions = self._iceberg.spark.actions.SparkActions.get(self._spark._jsparkSession)

        def change(transaction: Java | None) -> Java | None:
            nonlocal result
            if transaction is None:
                raise TableError(f"there is no Iceberg table at {self._location}")
            # Unlike the transaction's own, it can be read; what is committed to it goes into the transaction.
            table = self._iceberg.BaseTable(transaction.table().operations(), self._location)
            count = len(self._files.tasks_of(table))
            text = _text_of(_known(transaction.startMetadata()))
            options = {"target-file-size-bytes": str(self._layout.file_bytes), "min-input-files": "2"}
            rewriting = actions.rewriteDataFiles(table).options(options).snapshotProperty(_PROGRESS, text)
            if table.sortOrder().isSorted():
                rewriting = rewriting.sort()
            done = rewriting.execute()
            result = Compaction(count, count - done.rewrittenDataFilesCount() + done.addedDataFilesCount())
            if not done.rewrittenDataFilesCount():
                return None
            transaction.updateProperties().set(_PROGRESS, text).commit()
            return transaction

        self._commit(change, None)
        return result

    def trim_history(self) -> None:
        """Expire snapshots, see `Table.trim_history`."""
        table = self._entry.load()
        kept_s = self._layout.keep_history_s
        if table is None or kept_s == inf:
            return
        there = table.properties().get(_HISTORY)
        if kept_s is not None and there != str(int(kept_s * 1000)):
            table.updateProperties().set(_HISTORY, str(int(kept_s * 1000))).commit()
        elif there is None:
            # Who has made it without has not asked for that.
            return
        actions = self._iceberg.spark.actions.SparkActions.get(self._spark._jsparkSession)
        # It commits by itself. (The one without Spark leaves what the latest commit has put aside.)
        actions.expireSnapshots(table).execute()

    def _commit(self, change: Callable[[Java | None], Java | None], progress: Progress | None) -> None:
        """Make a change on what is there, and again on what is there then, until nobody came in between.

        Args:
            change: Is given a transaction that nothing was done in yet, None when there is no table; gives the one
                to commit, or None when there is nothing to do.
            progress: What the run commits; None for a commit that belongs to no run.
        """
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        for _ in range(_MAX_ATTEMPTS):
            table = self._entry.load()
            transaction = None if table is None else table.newTransaction()
            if progress is not None:
                known = {} if transaction is None else _known(transaction.startMetadata())
                check_sequence(known.get(progress.run), progress, self._location)
            try:
                transaction = change(transaction)
            except Py4JJavaError as error:
                # Another writer has made the table meanwhile.
                if table is None and exception_name(error) == "AlreadyExistsException":
                    continue
                raise
            if transaction is None or self._swap(transaction):
                return
        raise TableError(f"{self._location}: other writers came first {_MAX_ATTEMPTS} times: try again")

    def _swap(self, transaction: Java) -> bool:
        """Put a transaction's metadata into the place of those it was begun on; False when they are there no more."""
        from py4j.protocol import Py4JJavaError

        base, new = transaction.startMetadata(), transaction.currentMetadata()
        try:
            transaction.underlyingOps().commit(base, new)
        except Py4JJavaError as error:
            # A catalog may have committed and not come to say so.
            there = self._entry.load()
            if there is not None and there.snapshot(new.currentSnapshot().snapshotId()) is not None:
                return True
            # Another writer was first, whatever the catalog makes of that.
            is_overtaken = _version(base) != _version(None if there is None else there.operations().current())
            if not is_overtaken and is_lock_held(error):
                raise TableUnavailableError(f"{self._location}: {_LOCK_HELD}") from error
            if is_overtaken or exception_name(error) in ("CommitFailedException", "AlreadyExistsException"):
                return False
            raise
        return True

    def _finish(self, transaction: Java, update: Java, progress: Progress) -> None:
        """Put the progress of all runs into a transaction, beside its files."""
        base = transaction.startMetadata()
        known = {} if base is None else _known(base)
        # Of a replaced table, too: what was checked is what this transaction begins on.
        check_sequence(known.get(progress.run), progress, self._location)
        text = _text_of({**known, progress.run: progress})
        update.set(_PROGRESS, text)
        update.commit()
        transaction.updateProperties().set(_PROGRESS, text).commit()

    def _rewrite(
        self,
        transaction: Java,
        update: Java,
        part: Callable[[DataFrame, bool], DataFrame],
        new: DataFrame | None = None,
        merged: Callable[[DataFrame], DataFrame] | None = None,
    ) -> int:
        """Write those files anew that have rows which go, as part of an update, and new rows with them.

        Args:
            transaction: With the columns that the table is to have.
            update: Is given the files.
            part: Takes some of the table's rows, and returns those that go, or (True) those that are kept.
            new: Rows to be added.
            merged: Gives what becomes of the rows of those files; None: those that are kept stay, and new ones come.

        Returns:
            How many rows go.
        """
        found, tasks = [], []
        if transaction.startMetadata() is not None:
            # As it was when the transaction was begun.
            table = self._iceberg.BaseTable(transaction.underlyingOps(), self._location)
            with self._files.rows_of(table) as everything:
                found = part(everything, False).groupBy("_file").count().collect()
            paths = {row["_file"] for row in found}
            tasks = [task for task in self._files.tasks_of(table) if str(task.file().location()) in paths]
        if tasks:
            with self._files.rows_of(table, tasks) as touched:
                if merged is None:
                    kept = part(touched, True)
                    rows = kept if new is None else kept.unionByName(new, allowMissingColumns=True)
                else:
                    rows = merged(touched)
                added = self._write(rows, transaction.table())
        else:
            added = [] if new is None else self._write(new, transaction.table())
        for task in tasks:
            update.deleteFile(task.file())
        for file in added:
            update.addFile(file)
        return sum(row["count"] for row in found)

    def _write(self, rows: DataFrame, table: Java) -> list[Java]:
        """Write rows into data files; what divides or sorts a table of others is null where rows have none."""
        return self._files.write(with_all_columns(rows, self._schema_of(table)), table)

    def _aligned(self, rows: DataFrame, transaction: Java | None, *, widens: bool = False) -> DataFrame:
        """Return rows as the table has them: names, spelling, and Iceberg's own types."""
        rows = self._in_types_of_iceberg(rows)
        schema = None if transaction is None else self._decoded_schema(transaction.table())
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

    def _widened(self, transaction: Java | None, rows: DataFrame) -> Java:
        """Return a transaction in which the table is there, with all columns of rows."""
        if transaction is None:
            schema, spec, order = self._parts(rows)
            properties = _ANY_SCHEMA if self._entry.is_hadoop else {**_ANY_SCHEMA, **_OLD_METADATA_GO}
            kept_s = _USUAL_HISTORY_S if self._layout.keep_history_s is None else self._layout.keep_history_s
            if kept_s != inf:
                properties = {**properties, _HISTORY: str(int(kept_s * 1000))}
            return self._entry.create(schema, spec, order, {"format-version": "2", **properties})
        names = [str(field.name()) for field in transaction.table().spec().fields()]
        check_division([self._decoded_name(name) for name in names], self._layout, self._location)
        # Somebody else may have made the table.
        if transaction.table().properties().get("write.spark.accept-any-schema") != "true":
            transaction.updateProperties().set("write.spark.accept-any-schema", "true").commit()
        transaction.updateSchema().caseSensitive(False).unionByNameWith(self._converted(rows)).commit()
        return transaction

    def _converted(self, rows: DataFrame) -> Java:
        """Return Iceberg's schema of rows.

        Raises:
            TableError: it has no such types.
        """
        from pyspark.errors import PySparkException

        try:
            return self._iceberg.spark.SparkSchemaUtil.convert(rows._jdf.schema().asNullable())
        except PySparkException as error:
            raise TableError(f"{self._location}: Iceberg can't hold these columns: {error}") from None

    def _parts(self, rows: DataFrame) -> tuple[Java, Java, Java]:
        """Return what a new table for rows is made of: schema, partitions and order of the layout."""
        from py4j.protocol import Py4JJavaError

        schema = self._converted(rows)
        partitions, order = self._iceberg.PartitionSpec.builderFor(schema), self._iceberg.SortOrder.builderFor(schema)
        check_layout(self._layout, [self._decoded_name(name) for name in rows.columns], self._location)
        for each in self._layout.divided_by:
            arguments = [self._encoded_name(each.column), *([each.number] if each.number else [])]
            getattr(partitions, each.transform)(*arguments)
        for name in self._layout.sorted_by:
            order.asc(self._encoded_name(name))
        try:
            return schema, partitions.build(), order.build()
        except Py4JJavaError as error:
            wanted = ", ".join(map(str, self._layout.divided_by))
            reason = error.java_exception.getMessage()
            raise TableError(f"{self._location}: can't be divided by {wanted}: {reason}") from None

    def _has_layout(self, table: Java, rows: DataFrame) -> bool:
        specs = (table.spec(), self._parts(rows)[1])
        there, wanted = ([(str(each.name()), str(each.transform())) for each in spec.fields()] for spec in specs)
        if there != wanted:
            return False
        old, new = self._schema_of(table), rows.schema
        return sorted(old.names) == sorted(new.names) and type_difference(old, new, "") is None

    def _schema_of(self, table: Java) -> StructType:
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self._iceberg.spark.SparkSchemaUtil.convert(table.schema()).json()))

    def _decoded_schema(self, table: Java) -> StructType:
        schema = self._schema_of(table)
        for field in schema.fields:
            field.name = self._decoded_name(field.name)
        schema.names = [field.name for field in schema.fields]
        return schema

    def _is_reserved(self, name: str) -> bool:
        return bool(self._iceberg.MetadataColumns.isMetadataColumn(name.rstrip("_").lower()))

    def _encoded_name(self, name: str) -> str:
        return name + "_" if self._is_reserved(name) else name

    def _encoded(self, condition: str, names: Sequence[str]) -> str:
        """Return a condition with the columns' names as they are stored; what it says of their values stays."""
        stored = {name: self._encoded_name(name) for name in names}
        return re.sub(r"'(?:[^'\\]|\\.)*'|\w+", lambda found: stored.get(found[0], found[0]), condition)

    def _decoded_name(self, name: str) -> str:
        return name[:-1] if name.endswith("_") and self._is_reserved(name) else name


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


def _text_of(known: Mapping[str, Progress]) -> str:
    return json.dumps(
        [json.loads(known[run].to_json()) for run in sorted(known)], separators=(",", ":"), sort_keys=True
    )


def _with_latest(
    kept: DataFrame, new: DataFrame, key: str, partition: str, gone: str, marks: Sequence[str]
) -> DataFrame:
    """Return the rows that were there after new ones of their keys, see `Table.update`."""
    from pyspark.sql import functions as F

    there, later = kept.alias("there"), new.alias("new")
    same = f"there.{quoted(key)} = new.{quoted(key)}"
    comes_later = is_later("new", "there", quoted(partition))
    is_new = F.expr(f"{same} AND {comes_later}")
    is_late = F.expr(f"{same} AND NOT {comes_later}")
    result = there.join(later, is_new, "left_anti")
    added = later.where(f"NOT ({gone})").join(there, is_late, "left_anti")
    result = result.unionByName(added, allowMissingColumns=True)
    if marks:
        columns = [f"{'new' if name in marks else 'there'}.{quoted(name)}" for name in kept.columns]
        marked = there.join(later.where(gone), is_new).selectExpr(*columns)
        result = result.unionByName(marked, allowMissingColumns=True)
    return result
