"""Iceberg tables, committed by PyIceberg, without Iceberg's JVM library.

Spark's tasks write the data files of a commit (`iceberg_files.py`); this module commits them, as one snapshot.

Invariants:
- The sequence of a run is checked in the metadata that a commit is based on. The catalog rejects a commit unless it is
  based on the newest snapshot. PyIceberg's own retries, which would commit on a newer snapshot, are off; after a
  conflict this module loads the table, checks the sequence, and commits again.
- Each snapshot has in its summary the progress of every run, as a JSON array under `barnabas.progress`. So after a
  rollback to a snapshot, runs resume from the offsets of this snapshot. The table property of the same name has the
  progress of the latest commit. It is used if other programs compacted the table and expired all snapshots with a
  progress.
- A separate commit creates a table or adds columns, before the commit of the rows.

Source: Iceberg's table specification, snapshots; PyIceberg 0.12, `Transaction`, `UpdateSnapshot`.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform, parse_transform
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructType

from barnabas.pipeline.tables.columns import aligned, merged, quoted, type_difference
from barnabas.pipeline.tables.commit_rules import (
    check_division,
    check_key,
    check_layout,
    check_sequence,
    rewind_condition,
    updated,
    without,
)
from barnabas.pipeline.tables.data_files import read_files, write_files
from barnabas.pipeline.tables.iceberg_catalogs import CatalogEntry, is_locked
from barnabas.pipeline.tables.iceberg_files import (
    IcebergSink,
    iceberg_file,
    name_of,
    rewrite,
    scanned,
    sink_of,
)
from barnabas.pipeline.tables.iceberg_types import (
    columns_without_spark_type,
    iceberg_schema,
    part_of,
    spark_schema,
    stored_name,
)
from barnabas.pipeline.tables.layout import PLAIN, Layout
from barnabas.pipeline.tables.table import (
    FILE_COLUMN,
    Compaction,
    Progress,
    RowsRefusedError,
    Scan,
    Table,
    TableError,
    TableMovedError,
    TableUnavailableError,
)

if TYPE_CHECKING:
    from pyiceberg import table as pyiceberg
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table.metadata import TableMetadata

    from barnabas.pipeline.tables.data_files import DataFile

_PROGRESS = "barnabas.progress"
# Each commit rewrites the list of all snapshots: a commit every ten seconds makes 2,160 snapshots in this time.
_USUAL_HISTORY_S = 6 * 3_600
_PROPERTIES = {
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
}
# Retries after other writers have committed first.
_TRIES = 100
_PAUSE_S = (0.01, 0.2)
# A compaction keeps files of at least this fraction of the target size.
_LARGE = 0.75


@dataclass(frozen=True, slots=True)
class _Change:
    """The content of a commit: files added and files removed."""

    added: Sequence[DataFile]
    removed: Sequence[IcebergFile] = ()


class IcebergTable(Table):
    """One Iceberg table, given by its name in a catalog or by its directory (see `iceberg_catalogs.py`).

    Columns whose names Iceberg reserves (`_partition`, `_file`, `_pos`, ...) are stored with an underscore appended;
    `read` returns them without it.
    """

    def __init__(self, spark: SparkSession, location: str, layout: Layout = PLAIN) -> None:
        """Refer to a table without reading it; raise TableError like `CatalogEntry`."""
        self._spark = spark
        self._layout = layout
        self._entry = CatalogEntry(spark.conf.getAll, location)
        self.location = self._entry.location
        # The latest sink, with the columns and the table's state for which it was created.
        self._sink: tuple[object, IcebergSink] | None = None

    def exists(self) -> bool:
        table = self._load()
        return table is not None and table.current_snapshot() is not None

    def schema(self) -> StructType | None:
        table = self._load()
        # Also of a table without a commit: its creator chose the columns, or a run that was killed before it.
        return None if table is None else spark_schema(table.schema())

    def scan(self) -> Scan:
        """Return the data files of the latest commit; the name of a file changes with its row-level deletes."""
        table = self._load()
        if table is None or table.current_snapshot() is None:
            raise TableError(f"{self.location}: the Iceberg table does not exist")
        return self._scan(table, self._tasks_of(table))

    def progress(self, run: str) -> Progress | None:
        table = self._load()
        return None if table is None else _known(table.metadata).get(run)

    def append(self, rows: DataFrame, progress: Progress) -> None:
        self._check(progress)
        table = self._fitted(rows.schema)
        files = self._written(table, table.metadata, self._aligned(rows, table))
        try:
            self._commit(progress, lambda _table, _transaction: _Change(files))
        except TableMovedError:
            self.discard(files)
            raise

    def sink(self, columns: StructType) -> IcebergSink:
        """Return the sink of rows with these columns, see `Table.sink`; creates the table, or adds columns to it."""
        table = self._load()
        made_for = None if table is None else (columns, table.metadata.table_uuid, table.schema(), table.spec())
        if self._sink is None or self._sink[0] != made_for:
            table = self._fitted(columns)
            new = self._aligned(self._spark.createDataFrame([], columns), table).schema
            places = {name.lower(): number for number, name in enumerate(columns.names)}
            sink = sink_of(
                table, table.metadata, part_of(table.schema(), new), [places[name.lower()] for name in new.names]
            )
            self._sink = (columns, table.metadata.table_uuid, table.schema(), table.spec()), sink
        assert table is not None
        # Refreshed each time: a catalog may issue credentials that expire after an hour.
        return replace(self._sink[1], store=dict(table.io.properties))

    def append_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        if self._load() is None:
            # `sink` creates the table, but may not have been called if there are no files.
            self._fitted(columns)
        self._commit(progress, lambda _table, _transaction: _Change(files))

    def discard(self, files: Sequence[DataFile]) -> None:
        if table := self._load():
            for file in files:
                with suppress(Exception):
                    table.io.delete(file.path)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        """Upsert rows by key, see `Table.update`.

        Files with rows of these keys are rewritten; the other files are only searched for the keys.
        """
        self._check(progress)
        # The rows are read several times, and must be the same each time.
        rows = rows.persist()

        def change(table: pyiceberg.Table, _transaction: pyiceberg.Transaction) -> _Change:
            new = self._aligned(rows, table)
            check_key(key, new.columns, self.location)
            self._check_rewritable(table)
            tasks = self._tasks_of(table)
            removed, result = updated(self._scan(table, tasks), new, key, gone, marks)
            return _Change(self._written(table, table.metadata, result), [tasks[name].file for name in removed])

        try:
            self._fitted(rows.schema)
            self._commit(progress, change)
        finally:
            rows.unpersist()

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        """Replace rows, see `Table.replace`; without `where`, the table gets the columns of the new rows."""
        self._check(progress)

        def change(table: pyiceberg.Table, transaction: pyiceberg.Transaction) -> _Change:
            tasks = self._tasks_of(table)
            if where:
                self._check_rewritable(table)
                removed, kept = without(self._scan(table, tasks), where)
                both = kept.unionByName(self._aligned(rows, table), allowMissingColumns=True)
                return _Change(self._written(table, table.metadata, both), [tasks[name].file for name in removed])
            new = aligned(rows, None, self.location)
            if not self._has_layout(table, new.schema):
                self._reshape(table, transaction, new.schema)
            return _Change(
                self._written(table, transaction.table_metadata, new), [task.file for task in tasks.values()]
            )

        if self._load() is None:
            self._fitted(rows.schema)
        self._commit(progress, change)

    def delete_rows(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        progress: Progress,
        where: str = "",
        ends: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> int:
        count = 0

        def change(table: pyiceberg.Table, _transaction: pyiceberg.Transaction) -> _Change:
            nonlocal count
            self._check_rewritable(table)
            condition = where or rewind_condition(offsets, ends, spark_schema(table.schema()), self.location)
            tasks = self._tasks_of(table)
            scan = self._scan(table, tasks)
            removed, kept = without(scan, condition)
            count = scan.read(removed).where(condition).count() if removed else 0
            files = self._written(table, table.metadata, kept) if removed else []
            return _Change(files, [tasks[name].file for name in removed])

        self._commit(progress, change)
        return count

    def compact(self) -> Compaction:
        result = Compaction(0, 0)
        made: _Change | None = None
        rewritten: set[str] = set()

        def change(table: pyiceberg.Table, _transaction: pyiceberg.Transaction) -> _Change | None:
            nonlocal made, result, rewritten
            tasks = list(self._tasks_of(table).values())
            # The names change if another program deletes rows of these files.
            if made is None or not rewritten <= {name_of(task) for task in tasks}:
                if made is not None:
                    self.discard(made.added)
                groups = self._groups(table, tasks)
                sink = sink_of(table, table.metadata, table.schema(), range(len(table.schema().fields)))
                added = rewrite(self._spark, sink, groups) if groups else []
                made = _Change(added, [task.file for group in groups for task in group])
                rewritten = {name_of(task) for group in groups for task in group}
            result = Compaction(len(tasks), len(tasks) - len(made.removed) + len(made.added))
            return made if made.removed else None

        self._commit(None, change)
        return result

    def trim_history(self) -> None:
        """Expire snapshots and delete the files that only they use, see `Table.trim_history`."""
        kept_s = self._layout.keep_history_s
        for _ in range(_TRIES):
            table = self._load()
            if table is None or kept_s == inf:
                return
            there = table.properties.get(TableProperties.MAX_SNAPSHOT_AGE_MS)
            if kept_s is None and there is None:
                # The table's owner has not asked to expire snapshots.
                return
            kept_ms = int(there or 0) if kept_s is None else int(kept_s * 1000)
            with suppress(CommitFailedException), self._entry.reported():
                if there != str(kept_ms):
                    with table.transaction() as transaction:
                        transaction.set_properties({TableProperties.MAX_SNAPSHOT_AGE_MS: str(kept_ms)})
                before = table.metadata
                end = datetime.now(UTC).replace(tzinfo=None) - timedelta(milliseconds=kept_ms)
                table.maintenance.expire_snapshots().older_than(end).commit()
                _delete_expired(table, before)
                return

    # Reading.

    def _load(self) -> pyiceberg.Table | None:
        table = self._entry.load()
        if table is None:
            return None
        if table.format_version > 2:
            raise TableError(
                f"{self.location}: the table has format version {table.format_version}, which is not supported: "
                "load into a table of version 2"
            )
        # Set only in this object: PyIceberg's retries would commit on a snapshot without a check of the sequence.
        properties = {**_PROPERTIES, **table.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table

    def _there(self) -> pyiceberg.Table:
        table = self._load()
        if table is None:
            raise TableError(f"{self.location}: the Iceberg table does not exist")
        return table

    def _tasks_of(self, table: pyiceberg.Table) -> dict[str, pyiceberg.FileScanTask]:
        """Return a table's data files by name, each with its row-level deletes."""
        with self._entry.reported():
            try:
                return {name_of(task): task for task in table.scan().plan_files()}
            except ValueError as error:
                raise TableError(f"{self.location}: {error}") from None

    def _scan(self, table: pyiceberg.Table, tasks: Mapping[str, pyiceberg.FileScanTask]) -> Scan:
        return Scan(tasks.keys(), lambda names: self._rows_of(table, [tasks[name] for name in names]))

    def _rows_of(self, table: pyiceberg.Table, tasks: Sequence[pyiceberg.FileScanTask]) -> DataFrame:
        """Return the rows of the given files, with the name of their file in the column `FILE_COLUMN`."""
        columns = spark_schema(table.schema(), has_ids=True)
        if not tasks:
            return self._spark.createDataFrame([], spark_schema(table.schema()).add(FILE_COLUMN, StringType()))
        if table.name_mapping() is not None or any(task.delete_files for task in tasks):
            # Spark's reader supports neither.
            schema = part_of(table.schema(), columns)
            sink = sink_of(table, table.metadata, schema, range(len(schema.fields)))
            return scanned(self._spark, sink, tasks, columns.add(FILE_COLUMN, StringType()))
        if other := [task.file for task in tasks if task.file.file_format.value != "PARQUET"]:
            raise TableError(f"{self.location}: the table has files in {other[0].file_format.value}: only Parquet is")
        # Not from directory names: the files contain the partition columns.
        return read_files(self._spark, columns, [task.file.file_path for task in tasks], FILE_COLUMN)

    def _groups(
        self, table: pyiceberg.Table, tasks: Sequence[pyiceberg.FileScanTask]
    ) -> list[list[pyiceberg.FileScanTask]]:
        """Return the groups of small files to compact: each group is of one partition, up to the target size."""
        by_partition: dict[object, list[pyiceberg.FileScanTask]] = {}
        for task in tasks:
            if task.delete_files or task.file.file_size_in_bytes < _LARGE * self._layout.file_bytes:
                # Files of an older spec are repartitioned by the current spec.
                is_present = task.file.spec_id == table.spec().spec_id
                by_partition.setdefault(
                    tuple(map(task.file.partition.__getitem__, range(len(task.file.partition))))
                    if is_present
                    else None,
                    [],
                ).append(task)
        groups: list[list[pyiceberg.FileScanTask]] = []
        for own in by_partition.values():
            group: list[pyiceberg.FileScanTask] = []
            size = 0
            for task in own:
                if group and size + task.file.file_size_in_bytes > self._layout.file_bytes:
                    groups.append(group)
                    group, size = [], 0
                group.append(task)
                size += task.file.file_size_in_bytes
            groups.append(group)
        return [group for group in groups if len(group) > 1 or group[0].delete_files]

    # Writing.

    def _check(self, progress: Progress) -> None:
        """Check a commit's sequence before its rows are computed."""
        table = self._load()
        known = {} if table is None else _known(table.metadata)
        check_sequence(known.get(progress.run), progress, self.location)

    def _check_rewritable(self, table: pyiceberg.Table) -> None:
        """Raise TableError if Spark can't read a column: a rewritten file would have nulls in it."""
        if lacking := columns_without_spark_type(table.schema()):
            name, kind = lacking[0]
            raise TableError(
                f"{self.location}: column {name} has the type {kind}, which Spark lacks: rows can be appended, but not "
                "changed or deleted, because rewritten files would lose the column"
            )

    def _aligned(self, rows: DataFrame, table: pyiceberg.Table) -> DataFrame:
        return aligned(rows, spark_schema(table.schema()), self.location, widens=True)

    def _fitted(self, columns: StructType) -> pyiceberg.Table:
        """Return the table with all of these columns; create it or add columns by a separate commit if needed."""
        empty = self._spark.createDataFrame([], columns)
        for _ in range(_TRIES):
            table = self._load()
            if table is None:
                self._entry.create(*self._parts(aligned(empty, None, self.location).schema), self._new_properties())
                continue
            check_division([field.name for field in table.spec().fields], self._layout, self.location)
            there = spark_schema(table.schema())
            new = self._aligned(empty, table).schema
            # PyIceberg would drop NOT NULL from a column that is optional here.
            required = {field.name.lower() for field in table.schema().fields if field.required}
            fields = iceberg_schema(new, self.location).fields
            wanted = Schema(*(each.model_copy(update={"required": each.name.lower() in required}) for each in fields))
            if merged(there, new) == merged(None, there) and type_difference(there, new, "") is None:
                return table
            with suppress(CommitFailedException), self._entry.reported():
                with table.transaction() as transaction:
                    transaction.update_schema(case_sensitive=False).union_by_name(wanted).commit()
                return table
            time.sleep(random.uniform(*_PAUSE_S))
        raise self._overtaken()

    def _new_properties(self) -> dict[str, str]:
        kept_s = _USUAL_HISTORY_S if self._layout.keep_history_s is None else self._layout.keep_history_s
        history = {} if kept_s == inf else {TableProperties.MAX_SNAPSHOT_AGE_MS: str(int(kept_s * 1000))}
        return {**_PROPERTIES, **history}

    def _parts(self, columns: StructType) -> tuple[Schema, PartitionSpec, SortOrder]:
        """Return the schema, partition spec and sort order of a new table for rows with these columns."""
        check_layout(self._layout, columns.names, self.location)
        schema = iceberg_schema(columns, self.location)
        partitions, order = [], []
        for number, each in enumerate(self._layout.partition_columns):
            source = schema.find_field(stored_name(each.column))
            transform = parse_transform(f"{each.transform}[{each.number}]" if each.number else each.transform)
            if not transform.can_transform(source.field_type):
                raise TableError(
                    f"{self.location}: can't be partitioned by {each}: {each.column} has the type {source.field_type}"
                )
            partitions.append(PartitionField(source.field_id, 1000 + number, transform, stored_name(each.name)))
        for name in self._layout.sorted_by:
            order.append(SortField(schema.find_field(stored_name(name)).field_id, IdentityTransform()))
        return schema, PartitionSpec(*partitions), SortOrder(*order) if order else SortOrder(order_id=0)

    def _has_layout(self, table: pyiceberg.Table, columns: StructType) -> bool:
        """Return whether a table has these columns and the layout's partition columns."""
        there, wanted = spark_schema(table.schema()), self._parts(columns)[1]
        specs = [[(field.name, str(field.transform)) for field in spec.fields] for spec in (table.spec(), wanted)]
        names = sorted(there.names) == sorted(columns.names)
        return names and specs[0] == specs[1] and type_difference(there, columns, "") is None

    def _reshape(self, table: pyiceberg.Table, transaction: pyiceberg.Transaction, columns: StructType) -> None:
        """Change a table's columns, partition spec and sort order (of the layout), as part of a transaction."""
        schema, spec, order = self._parts(columns)
        partitions = transaction.update_spec()
        for each in table.spec().fields:
            partitions.remove_field(each.name)
        partitions.commit()
        update = transaction.update_schema(allow_incompatible_changes=True)
        for field in table.schema().fields:
            update.delete_column((field.name,))
        for field in schema.fields:
            update.add_column((field.name,), field.field_type)
        update.commit()
        partitions = transaction.update_spec()
        for each in spec.fields:
            partitions.add_field(schema.find_field(each.source_id).name, each.transform, each.name)
        partitions.commit()
        sorting = transaction.update_sort_order()
        for key in order.fields:
            sorting.asc(schema.find_field(key.source_id).name, key.transform)
        sorting.commit()

    def _written(self, table: pyiceberg.Table, metadata: TableMetadata, rows: DataFrame) -> list[DataFile]:
        """Write rows to files; a table's metadata contain their columns."""
        schema = part_of(metadata.schema(), rows.schema)
        kinds = spark_schema(schema)
        cast = [rows[quoted(name)].cast(kinds[place].dataType) for place, name in enumerate(rows.columns)]
        return write_files(rows.select(*cast), sink_of(table, metadata, schema, range(len(cast))))

    def _commit(
        self,
        progress: Progress | None,
        change: Callable[[pyiceberg.Table, pyiceberg.Transaction], _Change | None],
    ) -> None:
        """Commit a change of the table with a run's progress; compute it again if another writer commits first.

        Args:
            progress: The run's progress; None for a commit without a run.
            change: Computes the change; returns None if there is nothing to commit. Receives the table to commit on,
                and the transaction, to which it may add schema changes.

        Raises:
            RowsRefusedError: a column that is NOT NULL has a null.
            TableMovedError: another writer has committed as the same run.
            TableUnavailableError: the catalog does not answer, or other writers committed first each time.
        """
        for _ in range(_TRIES):
            table = self._there()
            known = _known(table.metadata)
            if progress is not None:
                check_sequence(known.get(progress.run), progress, self.location)
                known = {**known, progress.run: progress}
            transaction = _light(table).transaction()
            made = change(table, transaction)
            if made is None or self._put(transaction, made, _text_of(known)):
                return
            if progress is not None and made.removed:
                # The next attempt computes the rows again.
                self.discard(made.added)
            time.sleep(random.uniform(*_PAUSE_S))
        raise self._overtaken()

    def _put(self, transaction: pyiceberg.Transaction, made: _Change, progress: str) -> bool:
        """Commit a transaction with files and a progress; return False if another writer committed first."""
        with self._entry.reported():
            transaction.set_properties({_PROGRESS: progress})
            snapshot = transaction.update_snapshot(snapshot_properties={_PROGRESS: progress})
            update = snapshot.overwrite() if made.removed else snapshot.merge_append()
            for removed in made.removed:
                update.delete_data_file(removed)
            for added, null in map(iceberg_file, made.added):
                if null:
                    self.discard(made.added)
                    raise RowsRefusedError(f"column {null} of the table is NOT NULL")
                if added.spec_id != transaction.table_metadata.default_spec_id:
                    # PyIceberg would take its partition values for those of the table's present columns.
                    self.discard(made.added)
                    raise TableUnavailableError(f"{self.location}: another program has changed the partition columns")
                update.append_data_file(added)
            update.commit()
            try:
                transaction.commit_transaction()
            except Exception as error:
                # The commit may have succeeded, but its answer was lost.
                there = self._load()
                if there is not None and there.snapshot_by_id(update.snapshot_id) is not None:
                    return True
                if isinstance(error, CommitFailedException) and not is_locked(error):
                    return False
                raise
        return True

    def _overtaken(self) -> TableUnavailableError:
        return TableUnavailableError(f"{self.location}: other writers were first {_TRIES} times: try again")


def _light(table: pyiceberg.Table) -> pyiceberg.Table:
    """Return a table without its older snapshots, as a transaction copies the metadata about twenty times.

    The oldest entry of the metadata log remains: PyIceberg deletes its file with the commit that removes the entry.
    """
    current = table.current_snapshot()
    rest: dict[str, object] = {
        "snapshots": [current] if current else [],
        "snapshot_log": [],
        "metadata_log": table.metadata.metadata_log[:1],
    }
    light = copy.copy(table)
    light.metadata = table.metadata.model_copy(update=rest)
    return light


def _known(metadata: TableMetadata) -> dict[str, Progress]:
    """Return the progress of all runs in a version of the table's metadata."""
    snapshot = metadata.current_snapshot()
    while snapshot is not None:
        text = snapshot.summary.additional_properties.get(_PROGRESS) if snapshot.summary else None
        if text is not None:
            return _parsed(text)
        # Another program committed on top of the pipeline's snapshots.
        # Format version 1 has no sequence numbers.
        if metadata.format_version > 1 and (snapshot.sequence_number or 0) <= 1:
            return {}
        parent_id = snapshot.parent_snapshot_id
        # PyIceberg removes the id of an expired parent as well.
        snapshot = metadata.snapshot_by_id(parent_id) if parent_id is not None else None
        if snapshot is None:
            return _parsed(metadata.properties.get(_PROGRESS) or "[]")
    return {}


def _parsed(text: str) -> dict[str, Progress]:
    found = [Progress.from_json(json.dumps(one)) for one in json.loads(text)]
    return {progress.run: progress for progress in found}


def _text_of(known: Mapping[str, Progress]) -> str:
    return json.dumps(
        [json.loads(known[run].to_json()) for run in sorted(known)], separators=(",", ":"), sort_keys=True
    )


def _delete_expired(table: pyiceberg.Table, before: TableMetadata) -> None:
    """Delete the files that only expired snapshots use, as far as possible; no files if an older tag or branch is kept.

    Each snapshot lists the files that it removed from its parent. So no kept snapshot has a file that the oldest kept
    snapshot, or an earlier one, removed.

    Args:
        table: The table after the expiry.
        before: Its metadata before the expiry.
    """
    kept = {snapshot.snapshot_id for snapshot in table.snapshots()}
    line = list(ancestors_of(before.current_snapshot(), before))
    remaining = list(takewhile(lambda snapshot: snapshot.snapshot_id in kept, line))
    # Snapshots that a rollback left are not ancestors: files that they removed are in use again.
    expired = [snapshot for snapshot in line if snapshot.snapshot_id not in kept]
    if not expired or len(remaining) != len(kept):
        return
    oldest = remaining[-1]
    ids = {snapshot.snapshot_id for snapshot in (*expired, oldest)}
    used = {manifest.manifest_path for manifest in oldest.manifests(table.io)}
    seen: set[str] = set()
    gone = [snapshot.manifest_list for snapshot in expired]
    for snapshot in (*expired, oldest):
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            if manifest.deleted_files_count and manifest.added_snapshot_id in ids:
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                    if entry.status == ManifestEntryStatus.DELETED and entry.snapshot_id in ids:
                        gone.append(entry.data_file.file_path)
            if manifest.manifest_path not in used:
                gone.append(manifest.manifest_path)
    for path in gone:
        with suppress(OSError):
            table.io.delete(path)
