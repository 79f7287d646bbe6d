"""Tables of Delta Lake, committed by delta-rs, without Delta's JVM library.

Spark's tasks write the files of a commit (`data_files.py`); this module commits them, with one atomic log file each.

Invariants:
- The `userMetadata` of each commit of rows is the `_Note` below: the progress of every run as of the version that its
  writer has read (`base`), with the run's new progress. Other writers' commits after `base` are read one by one. So
  the newest note and the commits after its `base` give the progress of every run, even if older log files were deleted.
- A RESTORE undoes the commits after the restored version, and thus their notes.
- Each commit has its run's transaction identifier, with the run's sequence as version. If two commits with the same
  identifier race, delta-rs rejects the second. The sequence is checked against the snapshot that a commit is based on.
- A commit that removes files is rejected if another commit came first, and is computed again from the new version.
- New columns are added by a separate commit, before the commit of the rows.

Source: Delta protocol, commit provenance information and transaction identifiers; deltalake 1.6,
`create_write_transaction`.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

import deltalake
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.pipeline.spark.object_stores import is_object_store, scheme_of
from barnabas.pipeline.tables.columns import aligned, aligned_columns, merged, quoted
from barnabas.pipeline.tables.commit_rules import (
    check_division,
    check_key,
    check_layout,
    check_sequence,
    moved,
    rewind_condition,
    updated,
    without,
)
from barnabas.pipeline.tables.data_files import (
    NAME_BYTES,
    DataFile,
    FileSink,
    absolute,
    generated_column,
    path_of,
    read_files,
    values_of_directories,
    write_files,
)
from barnabas.pipeline.tables.delta_rules import (
    check_features,
    check_not_null,
    check_removable,
    check_rules,
    is_removable,
    schema_of,
)
from barnabas.pipeline.tables.layout import PLAIN, Division, Layout
from barnabas.pipeline.tables.table import (
    FILE_COLUMN,
    Compaction,
    Progress,
    Scan,
    Table,
    TableError,
    TableUnavailableError,
)

_NOTE_KEY = "barnabas"
_NOTE_PROPERTY = "userMetadata"

_HISTORY = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
_LOG_CLEANUP = "delta.enableExpiredLogCleanup"
_USUAL_HISTORY_S = 7 * 86_400
# Delta's default. delta-rs' own default is 100, and a commit reads all log files after the last checkpoint.
_PROPERTIES = {"delta.checkpointInterval": "10"}
_INTERVAL = re.compile(r"interval\s+(\d+)\s+(second|minute|hour|day|week)s?", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_GENERATED = "delta.generationExpression"
# Types and expressions of generated partition columns. Readers derive from the expressions which files a condition on
# the source column can match.
_GENERATIONS = {
    "year": ("integer", "YEAR({column})"),
    "month": ("string", "DATE_FORMAT({column}, 'yyyy-MM')"),
    "day": ("date", "CAST({column} AS DATE)"),
    "hour": ("string", "DATE_FORMAT({column}, 'yyyy-MM-dd-HH')"),
    "truncate": ("string", "SUBSTRING({column}, 1, {number})"),
}

# Retries after another writer has committed first, from the new version.
_TRIES = 10
_PAUSE_S = (0.05, 0.5)
_RACE_RETRIES = 15
_SAME_RUN_CONFLICT = "Concurrent transaction"
_ALREADY_THERE = re.compile("already exists")
# Until an unresponsive store is reported. The run itself retries later.
_STORE_LIMITS = {"max_retries": "3", "retry_timeout": "15s", "timeout": "15s", "connect_timeout": "5s"}
# Settings of Hadoop's S3 client, with delta-rs's names for them.
_S3_SETTINGS = {
    "spark.hadoop.fs.s3a.endpoint": "AWS_ENDPOINT_URL",
    "spark.hadoop.fs.s3a.endpoint.region": "AWS_REGION",
    "spark.hadoop.fs.s3a.access.key": "AWS_ACCESS_KEY_ID",
    "spark.hadoop.fs.s3a.secret.key": "AWS_SECRET_ACCESS_KEY",
    "spark.hadoop.fs.s3a.session.token": "AWS_SESSION_TOKEN",
}
_STORE_SILENT = re.compile(r"after \d+ retries|timed out|error sending request", re.IGNORECASE)
_REFUSED = re.compile(r"(?P<status>\d{3}) [\w ]+ \S+ <.*<Code>(?P<code>\w+)</Code>(?:<Message>(?P<text>[^<]*))?")
# delta-rs asks this address for the credentials of the machine's role if it has no others.
_INSTANCE_METADATA = "http://169.254.169.254/"


@dataclass(frozen=True, slots=True)
class _Note:
    """A commit's note: each run's progress as of version `base`, and by run the id of the attempt that committed it."""

    base: int
    runs: dict[str, Progress]
    writers: dict[str, str]

    def to_json(self) -> str:
        return json.dumps(
            {
                _NOTE_KEY: 1,
                "base": self.base,
                "runs": [progress.to_json() for progress in self.runs.values()],
                "writers": self.writers,
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> _Note | None:
        """Parse a note; return None for the metadata of other programs."""
        try:
            found = json.loads(text)
        except ValueError:
            return None
        if not isinstance(found, dict) or _NOTE_KEY not in found:
            return None
        all_progress = [Progress.from_json(progress) for progress in found["runs"]]
        return cls(found["base"], {progress.run: progress for progress in all_progress}, found["writers"])


_NO_NOTE = _Note(-1, {}, {})


@dataclass(frozen=True, slots=True)
class _Change:
    """The content of a commit: files added, names of files removed, and the columns of a table that it (re)creates."""

    added: Sequence[DataFile]
    removed: Sequence[str] = ()
    replaced_by: StructType | None = None


class DeltaLakeTable(Table):
    """A Delta table in a directory. Not thread-safe."""

    def __init__(self, spark: SparkSession, location: str, layout: Layout = PLAIN) -> None:
        self._spark = spark
        self.location = location
        self._uri = absolute(location)
        # Spark would resolve a path without a scheme in the cluster's default file system.
        self._root = self._uri if "://" in self._uri else f"file:{self._uri}"
        self._layout = layout
        self._store = storage_options(spark, self._uri)
        self._generated = {
            each.name: _generation(each) for each in layout.partition_columns if each.transform != "identity"
        }
        self._table: deltalake.DeltaTable | None = None

    def exists(self) -> bool:
        return self._latest() is not None

    def schema(self) -> StructType | None:
        table = self._latest()
        return None if table is None else schema_of(table)

    def scan(self) -> Scan:
        return self._scan(self._there())

    def progress(self, run: str) -> Progress | None:
        table = self._latest()
        found = None if table is None else self._history(table, run).runs.get(run)
        return found if found is not None and found.sequence else None

    def append(self, rows: DataFrame, progress: Progress) -> None:
        files: list[DataFile] | None = None

        def change(table: deltalake.DeltaTable | None) -> _Change:
            nonlocal files
            if table is None:
                return self._first(rows)
            new = self._prepared(rows, table, progress)
            # The files fit later versions as well, so they are written once.
            files = self._written(new, table) if files is None else files
            return _Change(files)

        self._commit(progress, change, _RACE_RETRIES)

    def sink(self, columns: StructType) -> FileSink:
        table = self._latest()
        if table is None:
            schema, partition_columns = self._new_schema(columns), self._layout.partition_names
        else:
            check_division(table.metadata().partition_columns, self._layout, self.location)
            schema, partition_columns = schema_of(table), table.metadata().partition_columns
            check_rules(table, self.location)
        there = aligned_columns(columns, schema, self.location)
        generated = _generations(schema)
        sink = FileSink(
            self._uri,
            self._store,
            tuple(there.names),
            tuple(partition_columns),
            tuple(name for name in self._layout.sorted_by if name in there.names),
            generated,
            cuts_names=True,
            required=_required(schema),
        )
        for name, text in generated.items():
            try:
                made = generated_column(text, pa.schema(_delta_schema(there).to_arrow()).empty_table())
                if name not in partition_columns and from_arrow_type(made.type) != schema[name].dataType:
                    raise ValueError(f"the generated column {name} of {schema[name].dataType} is not supported")
            except (ValueError, pa.ArrowException) as error:
                raise TableError(f"{self.location}: its files can't be written: {error}") from None
        return sink

    def append_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        def change(table: deltalake.DeltaTable | None) -> _Change:
            wanted = self._layout.partition_names
            if table is not None:
                self._extend(table, aligned_columns(columns, schema_of(table), self.location), progress)
                wanted = table.metadata().partition_columns
            if any(list(file.partition) != wanted for file in files):
                raise TableUnavailableError(
                    f"{self.location}: another writer has created the table, with other partition columns"
                )
            return _Change(files, (), self._new_schema(columns) if table is None else None)

        self._commit(progress, change, _RACE_RETRIES)

    def discard(self, files: Sequence[DataFile]) -> None:
        FileSink(self._uri, self._store).delete(file.path for file in files)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        """Upsert rows by key, see `Table.update`.

        Files with rows of these keys are rewritten; the other files are only searched for the keys.
        """
        # The rows are read three times, and must be the same each time.
        rows = rows.persist()

        def change(table: deltalake.DeltaTable | None) -> _Change:
            if table is None:
                return self._first(rows.where(f"NOT ({gone or 'false'})"))
            new = self._prepared(rows, table, progress)
            check_key(key, new.columns, self.location)
            removed, result = updated(self._scan(table), new, key, gone, marks)
            return _Change(self._written(result, table), removed)

        try:
            self._commit(progress, change)
        finally:
            rows.unpersist()

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        if self._generated:
            raise TableError(f"{self.location}: replaced tables cannot use generated partition columns")

        def change(table: deltalake.DeltaTable | None) -> _Change:
            if table is None:
                return self._first(rows)
            if where:
                new = self._prepared(rows, table, progress)
                removed, kept = without(self._scan(table), where)
                both = kept.unionByName(new, allowMissingColumns=True) if removed else new
                return _Change(self._written(both, table), removed)
            new = aligned(rows, None, self.location)
            if self._has_layout(new, table):
                return _Change(self._written(new, table), self._names_of(_logged_files(table)[0]))
            return self._first(rows)

        self._commit(progress, change)

    def delete_rows(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        progress: Progress,
        where: str = "",
        ends: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> int:
        condition = where or rewind_condition(offsets, ends, schema_of(self._there()), self.location)
        count = 0

        def change(table: deltalake.DeltaTable | None) -> _Change:
            nonlocal count
            if table is None:
                raise TableError(f"{self.location}: the Delta table does not exist")
            scan = self._scan(table)
            removed, kept = without(scan, condition)
            count = scan.read(removed).where(condition).count() if removed else 0
            return _Change(self._written(kept, table) if removed else (), removed)

        self._commit(progress, change)
        return count

    def compact(self) -> Compaction:
        """Merge small files, like Delta's OPTIMIZE; the old files remain until `trim_history`.

        Partitions that delta-rs can't compact are left as they are.
        """
        before = len(self._there().file_uris())
        for last in range(_TRIES - 1, -1, -1):
            try:
                table = self._there()
                left_out = self._left_out(*_logged_files(table))
                if left_out is not None:
                    filters = [(name, "not in", sorted(texts)) for name, texts in left_out.items()]
                    table.optimize.compact(
                        filters or None, self._layout.file_bytes, commit_properties=self._noted(table)
                    )
                break
            except CommitFailedError as error:
                if not last:
                    raise self._failure(error) from error
                time.sleep(random.uniform(*_PAUSE_S))
            except (DeltaError, OSError) as error:
                raise self._failure(error) from error
        return Compaction(before, len(self._there().file_uris()))

    def _left_out(self, paths: Sequence[str], values: pa.Table) -> dict[str, set[str]] | None:
        """Return the values, by partition column, whose partitions delta-rs can't compact; None: it can't any.

        It can't create directories with long names, and can't remove some files of other programs. Its filters only
        compare texts.
        """
        columns = {name: values[name] for name in values.column_names if pa.types.is_string(values[name].type)}
        result: dict[str, set[str]] = {}
        if not is_object_store(self._uri):
            for name, texts in columns.items():
                if long := {text for text in texts.unique().to_pylist() if text and _has_long_name(name, text)}:
                    result[name] = long
        for place, path in enumerate(paths):
            if not is_removable(path):
                own = [(name, text) for name, texts in columns.items() if (text := texts[place].as_py())]
                if not own:
                    return None
                # The cause, if it is one of the values.
                name, text = max(own, key=lambda each: not each[1].isascii())
                result.setdefault(name, set()).add(text)
        return result

    def trim_history(self) -> None:
        """Delete files that only expired versions use, and expired log files, by the table's retention properties."""
        table = self._there()
        try:
            if self._layout.keep_history_s is not None:
                own, wanted = table.metadata().configuration, _history_properties(self._layout)
                changed = {name: text for name, text in wanted.items() if own.get(name) != text}
                if changed:
                    table.alter.set_table_properties(changed, commit_properties=self._noted(table))
                    table = self._there()
            kept = _INTERVAL.fullmatch(table.metadata().configuration.get(_HISTORY[0]) or "")
            # Without the property, the table's owner has not asked to delete anything.
            if self._layout.keep_history_s != inf and kept:
                hours = -(-int(kept[1]) * _SECONDS[kept[2].lower()] // 3600)
                table.vacuum(
                    hours,
                    dry_run=False,
                    enforce_retention_duration=False,
                    full=True,
                    commit_properties=self._noted(table),
                )
                table.cleanup_metadata()
        except (DeltaError, OSError) as error:
            raise self._failure(error) from error

    # Reading.

    def _latest(self) -> deltalake.DeltaTable | None:
        """Return the table's latest version; None if the table does not exist."""
        try:
            if self._table is None:
                self._table = deltalake.DeltaTable(self._uri, storage_options=self._store)
            else:
                self._table.update_incremental()
        except TableNotFoundError:
            self._table = None
        except (DeltaError, OSError) as error:
            self._table = None
            raise self._failure(error) from error
        if self._table is not None:
            check_features(self._table, self.location)
        return self._table

    def _there(self) -> deltalake.DeltaTable:
        table = self._latest()
        if table is None:
            raise TableError(f"{self.location}: the Delta table does not exist")
        return table

    def _scan(self, table: deltalake.DeltaTable) -> Scan:
        """Return the files of a version."""
        paths, values = _logged_files(table)
        places = {name: place for place, name in enumerate(self._names_of(paths))}
        schema, divided_by = schema_of(table), values.column_names
        stored = StructType([field for field in schema.fields if field.name not in divided_by])

        def read(names: Collection[str]) -> DataFrame:
            if not names:
                rows = self._spark.createDataFrame([], schema)
                return rows.selectExpr("*", f"CAST(NULL AS STRING) AS {FILE_COLUMN}")
            own = [places[name] for name in names]
            own_paths, own_values = [unquote(paths[place]) for place in own], values.take(own)
            files = [f"{self._root}/{path}" for path in own_paths]
            if not divided_by:
                return read_files(self._spark, schema, files, FILE_COLUMN)
            if _are_directory_names(own_paths, own_values):
                # Faster than the join; and for a condition on these columns, Spark does not read all files.
                rows = read_files(self._spark, schema, files, FILE_COLUMN, self._root)
            else:
                by_file = own_values.add_column(0, FILE_COLUMN, pa.array(names, pa.string()))
                kinds = StructType([StructField(FILE_COLUMN, StringType()), *(schema[name] for name in divided_by)])
                rows = read_files(self._spark, stored, files, FILE_COLUMN)
                rows = rows.join(F.broadcast(self._spark.createDataFrame(by_file, kinds)), FILE_COLUMN, "left")
            return rows.select(*map(quoted, schema.names), FILE_COLUMN)

        return Scan(places.keys(), read)

    def _names_of(self, paths: Iterable[str]) -> list[str]:
        """Return the names of files in a `Scan`, for their paths in the log."""
        # Whole paths: a converted table may have files of the same name in several partitions.
        return [path_of(f"{self._root}/{unquote(path)}") for path in paths]

    # Writing.

    def _prepared(self, rows: DataFrame, table: deltalake.DeltaTable, progress: Progress) -> DataFrame:
        """Add new columns to the table, and return rows aligned with its columns."""
        check_division(table.metadata().partition_columns, self._layout, self.location)
        schema = schema_of(table)
        # Narrower numbers are widened to the table's type; wider numbers are rejected.
        new = aligned(aligned(rows, schema, self.location, widens=True), schema, self.location)
        self._extend(table, new.schema, progress)
        return new

    def _extend(self, table: deltalake.DeltaTable, columns: StructType, progress: Progress) -> None:
        """Add the columns and the fields of nested objects that the table lacks."""
        schema = schema_of(table)
        wanted = merged(schema, columns).toNullable()
        if wanted != merged(None, schema).toNullable():
            # delta-rs would drop NOT NULL from a column that is nullable here.
            for field in wanted.fields:
                field.nullable = field.name not in schema.names or schema[field.name].nullable
            rows = pa.schema(_delta_schema(wanted).to_arrow()).empty_table()
            deltalake.write_deltalake(
                table, rows, mode="append", schema_mode="merge", commit_properties=self._noted(table)
            )
            table.update_incremental()
            # Another writer may have made this commit of the run before the columns were added.
            self._checked(table, progress)

    def _new_schema(self, columns: StructType) -> StructType:
        """Return the schema of a table that is created for rows of these columns."""
        check_layout(self._layout, columns.names, self.location)
        schema = merged(None, columns).toNullable()
        for name, (kind, text) in self._generated.items():
            schema = schema.add(name, kind, True, {_GENERATED: text})
        return schema

    def _first(self, rows: DataFrame) -> _Change:
        """Write the files of a table that the commit creates or replaces."""
        new = aligned(rows, None, self.location)
        schema = self._new_schema(new.schema)
        return _Change(self._files(new, schema, self._layout.partition_names), (), schema)

    def _written(self, rows: DataFrame, table: deltalake.DeltaTable) -> list[DataFile]:
        """Write rows from `_prepared` to files."""
        return self._files(rows, schema_of(table), table.metadata().partition_columns)

    def _files(self, rows: DataFrame, schema: StructType, partition_columns: Sequence[str]) -> list[DataFile]:
        generated = _generations(schema)
        rows = rows.drop(*generated)
        absent = {
            field.name: F.lit(None).cast(field.dataType)
            for field in schema.fields
            if field.name in partition_columns and field.name not in (*generated, *rows.columns)
        }
        rows = rows.withColumns(absent).withColumns({name: F.expr(text) for name, text in generated.items()})
        if wanted := [name for name in self._layout.sorted_by if name in rows.columns]:
            rows = rows.sortWithinPartitions(*map(quoted, (*partition_columns, *wanted)))
        sink = FileSink(
            self._uri, self._store, None, tuple(partition_columns), cuts_names=True, required=_required(schema)
        )
        return write_files(rows, sink)

    def _has_layout(self, rows: DataFrame, table: deltalake.DeltaTable) -> bool:
        """Return whether a table has the columns of rows and the layout's partition columns."""
        if table.metadata().partition_columns != self._layout.partition_names:
            return False
        there, new = ({field.name: field.dataType for field in each.fields} for each in (schema_of(table), rows.schema))
        return there == new

    def _commit(
        self, progress: Progress, change: Callable[[deltalake.DeltaTable | None], _Change], race_retries: int = 0
    ) -> None:
        """Commit a change of the table with a run's progress.

        Args:
            progress: The run's progress.
            change: Computes the change. Receives the version to commit on, None if the table does not exist; may add
                columns to the table.
            race_retries: How often delta-rs may retry the same change on a newer version; above 0 only if the change
                removes no files.

        Raises:
            TableMovedError: another writer has committed, or commits now, as the same run.
            TableUnavailableError: the store does not answer, or other writers committed first ten times.
        """
        for last in range(_TRIES - 1, -1, -1):
            table = self._latest()
            history = self._checked(table, progress)
            if table is not None:
                check_rules(table, self.location)
            writer = uuid.uuid4().hex
            note = _Note(
                history.base, {**history.runs, progress.run: progress}, {**history.writers, progress.run: writer}
            )
            try:
                made = change(table)
                if table is not None and made.replaced_by is None:
                    check_not_null(table, made.added, self.location)
                self._put(table, made, note, progress, race_retries)
                return
            except (DeltaError, OSError) as error:
                self._table = None
                if not isinstance(error, CommitFailedError) and not _ALREADY_THERE.search(str(error)):
                    raise self._failure(error) from error
                now = self._latest()
                if now is not None and self._history(now, progress.run).writers.get(progress.run) == writer:
                    # The commit succeeded but its answer was lost, and delta-rs retried it.
                    return
                if _SAME_RUN_CONFLICT in str(error):
                    raise moved(progress, self.location) from error
                if not last:
                    raise self._failure(error) from error
            time.sleep(random.uniform(*_PAUSE_S))

    def _put(
        self, table: deltalake.DeltaTable | None, made: _Change, note: _Note, progress: Progress, race_retries: int
    ) -> None:
        now_ms = int(time.time() * 1000)
        properties = deltalake.CommitProperties(
            custom_metadata={_NOTE_PROPERTY: note.to_json()},
            # delta-rs would add a new table's first commit to the table that another writer has just made.
            max_commit_retries=race_retries if made.replaced_by is None else 0,
            app_transactions=[deltalake.Transaction(progress.run, progress.sequence, now_ms)],
        )
        added = [
            AddAction(file.path, file.size_bytes, file.partition, now_ms, True, file.statistics) for file in made.added
        ]
        if made.replaced_by is not None:
            if table is not None:
                # delta-rs replaces the newest version, not the one that was checked.
                table.update_incremental()
                self._checked(table, progress)
                check_removable(_logged_files(table)[0], self.location)
            create_table_with_add_actions(
                self._uri,
                _delta_schema(made.replaced_by),
                added,
                mode="error" if table is None else "overwrite",
                partition_by=self._layout.partition_names,
                configuration={**_PROPERTIES, **_history_properties(self._layout)},
                storage_options=self._store,
                commit_properties=properties,
            )
            return
        assert table is not None
        removed: list[str] = []
        if made.removed:
            paths = _logged_files(table)[0]
            path_by_name = dict(zip(self._names_of(paths), paths, strict=True))
            removed = [path_by_name[name] for name in made.removed]
            check_removable(removed, self.location)
        table.create_write_transaction(
            [*added, *(RemoveAction(unquote(path), True, now_ms) for path in removed)],
            "append",
            table.schema(),
            partition_by=table.metadata().partition_columns,
            commit_properties=properties,
        )

    def _checked(self, table: deltalake.DeltaTable | None, progress: Progress) -> _Note:
        """Return the table's `_history`; raise TableMovedError unless `progress` is the run's next commit."""
        history = _NO_NOTE if table is None else self._history(table, progress.run)
        check_sequence(history.runs.get(progress.run), progress, self.location)
        return history

    def _history(self, table: deltalake.DeltaTable, run: str | None = None) -> _Note:
        """Read the newest commits, back to the latest `base` of the notes among them.

        Returns:
            The progress of all runs as of the given version, as a note with this version as `base`.

        Raises:
            TableError: older log files were deleted, and the remaining ones do not contain the progress of `run`; or
                the table was restored to a time.
        """
        limit = 1
        while True:
            head, commits = table.version(), table.history(limit)
            runs: dict[str, Progress] = {}
            writers: dict[str, str] = {}
            undone: set[str] = set()
            known_until, newest = -1, head
            for commit in commits:
                if commit["version"] <= known_until:
                    break
                text = commit.get(_NOTE_PROPERTY)
                note = _Note.from_json(text) if text else None
                if commit["version"] > newest:
                    undone |= note.runs.keys() if note else set()
                    continue
                if commit.get("operation") == "RESTORE":
                    newest = self._restored_version(commit)
                    continue
                if note is None:
                    continue
                known_until = max(known_until, note.base)
                for name, progress in note.runs.items():
                    if name not in runs or runs[name].sequence < progress.sequence:
                        runs[name], writers[name] = progress, note.writers[name]
            if commits[-1]["version"] - 1 > known_until and len(commits) >= limit:
                limit *= 8
            elif len(commits if limit == 1 else table.history(1)) == 1:
                break
            else:
                # delta-rs also lists commits newer than the loaded version, and then numbers all commits wrongly.
                table.update_incremental()
                limit = 1
        for name in undone - runs.keys():
            runs[name], writers[name] = Progress(name, 0, "", {}, {}), ""
        # Delta never deletes transaction versions, but deletes commits after their retention time.
        if run is not None and run not in runs and table.transaction_version(run) is not None:
            raise TableError(
                f"{self.location}: only commits of other writers are left in _delta_log, and they do not say how far "
                f"run {run} has come: restore an older copy of the log, or start a new table"
            )
        return _Note(head, runs, writers)

    def _restored_version(self, commit: Mapping[str, Any]) -> int:
        version = commit["operationParameters"].get("version")
        if version is None:
            raise TableError(
                f"{self.location}: commit {commit['version']} restored the table to a time, so the offsets of its runs "
                "are unknown: restore it again, to a version (RESTORE TABLE ... TO VERSION AS OF ...)"
            )
        return int(version)

    def _noted(self, table: deltalake.DeltaTable) -> deltalake.CommitProperties:
        """Return properties with a current note for a commit without rows, so that older commits can be deleted."""
        return deltalake.CommitProperties(custom_metadata={_NOTE_PROPERTY: self._history(table).to_json()})

    def _failure(self, error: Exception) -> Exception:
        """Return an error of delta-rs as TableUnavailableError if a retry may succeed, else as TableError."""
        text = re.sub(r"\x1b\[[0-9;]*m", "", " ".join(str(error).split()))
        refused = _REFUSED.search(text)
        shown = f"{refused['status']} {refused['code']}: {refused['text']}" if refused else text
        if isinstance(error, CommitFailedError) and "Failed to commit transaction" in text:
            return TableUnavailableError(f"{self.location}: other writers commit all the time: {text}")
        if "://" not in self._uri:
            return TableError(f"{self.location}: {text}")
        if refused and refused["code"] == "NoSuchBucket":
            bucket = self._uri.partition("://")[2].partition("/")[0]
            return TableError(f"{self.location}: bucket {bucket} does not exist: make it first")
        if _INSTANCE_METADATA in text:
            return TableError(
                f"{self.location}: no credentials for the store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_PROFILE, or give the machine a role"
            )
        if _STORE_SILENT.search(text):
            return TableUnavailableError(f"{self.location}: the store does not answer: {shown}")
        return TableError(f"{self.location}: the store refuses: {shown}")


def _logged_files(table: deltalake.DeltaTable) -> tuple[list[str], pa.Table]:
    """Return the paths of a version's files, as they are in the log, and the files' values of partition columns."""
    found, names = pa.table(table.get_add_actions(flatten=True)), table.metadata().partition_columns
    return found["path"].to_pylist(), found.select([f"partition.{name}" for name in names]).rename_columns(names)


def _has_long_name(column: str, text: str) -> bool:
    """Return whether delta-rs would give a partition's directory a name that file systems refuse."""
    # It escapes each byte of a character beyond ASCII.
    return len(quote(f"{column}={text}", safe="=")) > NAME_BYTES


def _are_directory_names(paths: Sequence[str], values: pa.Table) -> bool:
    """Return whether Spark reads the files' values of partition columns from the names of their directories.

    Each writer escapes other characters in these names, and need not use the values.
    """
    texts = zip(*(values[name].cast(pa.string()).to_pylist() for name in values.column_names), strict=True)
    return all(
        values_of_directories(path) == list(zip(values.column_names, own, strict=True))
        for path, own in zip(paths, texts, strict=True)
    )


def _generations(schema: StructType) -> dict[str, str]:
    """Return the generated columns of a table, each with its SQL expression."""
    return {field.name: field.metadata[_GENERATED] for field in schema.fields if _GENERATED in field.metadata}


def _required(schema: StructType) -> tuple[str, ...]:
    return tuple(field.name for field in schema.fields if not field.nullable)


def _delta_schema(schema: StructType) -> deltalake.Schema:
    return deltalake.Schema.from_json(schema.json())


def _generation(division: Division) -> tuple[str, str]:
    """Return the type of a generated partition column, and its SQL expression."""
    kind, text = _GENERATIONS[division.transform]
    return kind, text.format(column=quoted(division.column), number=division.number)


def _history_properties(layout: Layout) -> dict[str, str]:
    kept_s = _USUAL_HISTORY_S if layout.keep_history_s is None else layout.keep_history_s
    if kept_s == inf:
        # Without this, writers delete log files older than 30 days with each checkpoint.
        return {_LOG_CLEANUP: "false"}
    return {**dict.fromkeys(_HISTORY, f"interval {kept_s:.0f} seconds"), _LOG_CLEANUP: "true"}


def storage_options(spark: SparkSession, uri: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return a store's credentials and endpoint from Spark's settings; delta-rs reads others from the environment."""
    scheme = scheme_of(uri)
    if not is_object_store(uri):
        return {}
    options = dict(_STORE_LIMITS)
    if scheme in ("s3", "s3a"):
        options |= {own: value for name, own in _S3_SETTINGS.items() if (value := spark.conf.get(name, None))}
        endpoint = options.get("AWS_ENDPOINT_URL") or environment.get("AWS_ENDPOINT_URL_S3")
        if endpoint := endpoint or environment.get("AWS_ENDPOINT_URL", ""):
            options |= {"AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": str(endpoint.startswith("http://")).lower()}
            options.setdefault("AWS_REGION", environment.get("AWS_REGION") or "us-east-1")
    elif scheme in ("abfs", "abfss") and (key := environment.get("AZURE_STORAGE_KEY")):
        options["account_key"] = key
    return options
