"""A PostgreSQL table; each commit of rows and progress is one transaction.

The tasks of a batch copy their rows into staging tables (`postgresql_rows`). The driver then locks the run's progress
row, checks the sequence, moves the rows to the table, and stores the progress. It drops the staging tables, including
leftovers of a killed driver of the run. The numbers of copied and moved rows must be equal: a crash of the server
empties staging tables, which are unlogged.

docs/pipeline/postgresql.md describes the table `barnabas_progress`, which is in the schema of the tables.

Source: PostgreSQL 15, "COPY", "INSERT", "Explicit Locking"; psycopg 3.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, LiteralString, NamedTuple

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.pipeline.tables.columns import aligned, aligned_columns, merged, quoted
from barnabas.pipeline.tables.commit_rules import check_key, is_later
from barnabas.pipeline.tables.data_files import write_files
from barnabas.pipeline.tables.layout import PLAIN, Layout
from barnabas.pipeline.tables.postgresql_rows import PostgresqlSink, read_rows, selected
from barnabas.pipeline.tables.postgresql_server import (
    Cursor,
    Server,
    execute,
    identifiers,
    is_refusal,
    one_line,
)
from barnabas.pipeline.tables.postgresql_types import (
    COLUMN_LIMITS,
    NUL_COLUMN,
    is_nested,
    postgresql_type,
    restored,
    spark_type,
)
from barnabas.pipeline.tables.table import (
    FILE_COLUMN,
    Compaction,
    Progress,
    RowsRefusedError,
    Scan,
    TableError,
    TableMovedError,
    TableUnavailableError,
)

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    from barnabas.pipeline.tables.data_files import DataFile

_PROGRESS_TABLE = "barnabas_progress"
_MIN_UPDATE_VERSION = 150_000
_CREATION_LOCK = 0x6261726E61626173  # "barnabas"
_PLACE = ("_topic", "_partition", "_offset")


class _Staged(NamedTuple):
    """Copied rows: the query of them, the columns with values (the NUL column if a value has a NUL), and the row count.

    Columns without values (`empty`) become NULL, or get their default if they are NOT NULL. Their type need not be the
    table's.
    """

    query: sql.Composable
    names: list[str]
    empty: list[str]
    row_count: int


class PostgresqlTable:
    """One table of a PostgreSQL server, by its URL `postgresql://user@host:port/database?table=schema.name`.

    The password may be in the URL, or in PGPASSWORD or ~/.pgpass of the driver; the URL may have other libpq parameters
    (`sslmode`). See `Table`.
    """

    column_limits = COLUMN_LIMITS

    def __init__(self, spark: SparkSession, location: str, _layout: Layout = PLAIN) -> None:
        """Refer to a table, without connecting; raise TableError if the URL is invalid."""
        self._spark = spark
        self._server = Server(location)
        self._schema, self._name = self._server.schema, self._server.table
        self.location = self._server.location
        self._target = sql.Identifier(self._schema, self._name)
        self._progress_table = sql.Identifier(self._schema, _PROGRESS_TABLE)
        # The run that `sink` copies for, set by `progress`, which a writer calls first.
        self._run = ""

    def exists(self) -> bool:
        with self._server.cursor() as cursor:
            return self._there(cursor, self._name)

    def schema(self) -> StructType | None:
        with self._server.cursor() as cursor:
            return self._columns(cursor)[0] if self._there(cursor, self._name) else None

    def read(self) -> DataFrame:
        """Return all rows of the latest commit at the time of each Spark action, read by one statement in one task."""
        with self._server.cursor() as cursor:
            self._check_exists(cursor)
            schema, has_nul = self._columns(cursor)
        fields = [*schema.fields, *([StructField(NUL_COLUMN, StringType())] if has_nul else [])]
        copied = StructType(
            [
                StructField(f"c{number}", StringType() if is_nested(field.dataType) else field.dataType)
                for number, field in enumerate(fields)
            ]
        )
        conninfo, arrow_schema = self._server.conninfo, to_arrow_schema(copied)
        names = [field.name for field in fields]
        query = selected(names, arrow_schema, self._target).as_string(None)

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                yield from read_rows(conninfo, query, arrow_schema)

        rows = self._spark.range(0, 1, 1, 1).mapInArrow(read, copied)
        return restored(rows.toDF(*names), schema)

    def scan(self) -> Scan:
        """Return all rows as one file with a new name each time, because the table has no files."""
        name = uuid.uuid4().hex
        return Scan((name,), lambda _names: self.read().selectExpr("*", f"'{name}' AS {FILE_COLUMN}"))

    def progress(self, run: str) -> Progress | None:
        """Return the progress of a run, None if it has no commit; later calls of `sink` are for this run."""
        self._run = run
        with self._server.cursor() as cursor:
            is_there = self._there(cursor, self._name) and self._there(cursor, _PROGRESS_TABLE)
            return self._progress(cursor, run) if is_there else None

    def append(self, rows: DataFrame, progress: Progress) -> None:
        with self._written(rows, progress) as (files, columns):
            self.append_files(files, columns, progress)

    def sink(self, columns: StructType) -> PostgresqlSink:
        """Return a sink by which tasks copy rows into staging tables, see `Table.sink`.

        The run's next commit with rows drops staging tables that were neither committed nor discarded.
        """
        with self._server.cursor() as cursor:
            aligned_columns(columns, self._columns(cursor)[0], self.location)
        return self._sink(columns, self._run)

    def append_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        """Move the rows of staging tables to the table, see `Table.append_files`.

        In a table with `_topic`, `_partition` and `_offset`, a unique index rejects a second row of a record. The index
        is replaced by one that allows it if one batch contains several rows of a record, because the job then makes
        several rows of each record; and if the run goes back before rows of the table, as after its topic was created
        again.

        Raises:
            RowsRefusedError: the server rejects a row, such as a row larger than a page.
        """
        with self._transaction(progress, files) as cursor:
            copied_names, known = columns.names, self._columns(cursor)[0]
            columns = aligned_columns(columns, known, self.location)
            staged = self._staged(files, columns, copied_names)
            self._widen(cursor, staged, columns)
            index, plain_index = indexes = [self._index_name(cursor, kind) for kind in ("place", "places")]
            has_place = set(_PLACE) <= set(columns.names)
            if has_place and not files and self._goes_back(cursor, progress):
                self._allow_several(cursor, index, plain_index)
            is_guarded = has_place and not self._there(cursor, plain_index)
            # A table that you put in the place of a renamed one may have rows that the index refuses: it gets none.
            if is_guarded and (not known.fields or indexes == [self._short_name("place"), self._short_name("places")]):
                self._make_unique(cursor, index, "({})", identifiers(_PLACE))
            try:
                with cursor.connection.transaction():
                    self._insert(cursor, staged)
            except psycopg.errors.UniqueViolation as error:
                if error.diag.constraint_name != index:
                    raise
                several = "SELECT 1 FROM ({}) AS new GROUP BY {} HAVING count(*) > 1 LIMIT 1"
                if not is_guarded or not execute(cursor, several, staged.query, identifiers(_PLACE)).fetchone():
                    raise TableError(
                        f"{self.location}: rows of these records already exist: {error.diag.message_detail}"
                    ) from None
                self._allow_several(cursor, index, plain_index)
                self._insert(cursor, staged)

    def discard(self, files: Sequence[DataFile]) -> None:
        # If the server can't be reached, the run's next commit with rows drops them.
        with suppress(TableError, TableUnavailableError), self._server.cursor() as cursor:
            self._drop(cursor, [file.path for file in files if file.path])

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        with self._written(rows, progress) as (files, columns), self._transaction(progress, files) as cursor:
            staged = self._staged(files, columns)
            if cursor.connection.info.server_version < _MIN_UPDATE_VERSION:
                raise TableError(f"{self.location}: update needs PostgreSQL 15 or later")
            check_key(key, columns.names, self.location)
            self._widen(cursor, staged, columns)
            if NUL_COLUMN in staged.names:
                with_nul = "SELECT 1 FROM ({}) AS new WHERE {} ?| {}::text[] LIMIT 1"
                if execute(cursor, with_nul, staged.query, sql.Identifier(NUL_COLUMN), list(key)).fetchone():
                    raise RowsRefusedError("a key has a NUL character, which PostgreSQL does not support")
            # A digest, because a key may be too long for an index.
            unique = _digest(sql.Identifier(*key)) if gone else identifiers(key)
            self._make_unique(cursor, self._index_name(cursor, "key", *key), "({}) NULLS NOT DISTINCT", unique)
            schema, has_nul = self._columns(cursor)
            # A NOT NULL column that no row of the batch has stays as it is.
            changed = [each.name for each in schema.fields if each.nullable or each.name in staged.names]
            others = [name for name in [*changed, *([NUL_COLUMN] if has_nul else [])] if name not in key]
            action = (
                sql.SQL("DO UPDATE SET {}").format(_changes("excluded", others)) if others else sql.SQL("DO NOTHING")
            )
            conflict = sql.SQL("ON CONFLICT ({}) {}").format(unique, action)
            if gone:
                self._put_latest(cursor, staged, key[0], conflict, gone, marks)
            else:
                self._insert(cursor, staged, conflict, is_exact=bool(others))

    def _put_latest(
        self,
        cursor: Cursor,
        staged: _Staged,
        key: str,
        conflict: sql.Composable,
        gone: LiteralString,
        marks: Sequence[str],
    ) -> None:
        """Move staged rows to the table if they are later; if they are `gone`, delete or mark the table's rows."""
        if not staged.row_count:
            return
        row = execute(cursor, "SELECT count(*) FROM ({}) AS new", staged.query).fetchone()
        assert row is not None
        self._check_count(row[0], staged)
        own, new = sql.Identifier("there", key), sql.Identifier("new", key)
        is_gone = sql.SQL("new.{} AND {} = {} AND {} = {} AND {}").format(
            sql.SQL(gone), _digest(own), _digest(new), own, new, sql.SQL(is_later("new", "there"))
        )
        if marks:
            change: LiteralString = "UPDATE {} AS there SET {} FROM ({}) AS new WHERE {}"
        else:
            change = "DELETE FROM {} AS there {} USING ({}) AS new WHERE {}"
        execute(cursor, change, self._target, _changes("new", marks), staged.query, is_gone)
        later = sql.SQL("{} WHERE {}").format(conflict, sql.SQL(is_later("EXCLUDED", "there")))
        self._insert(cursor, staged, later, is_exact=False, where=sql.SQL("NOT ({})").format(sql.SQL(gone)))

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        """Replace rows, see `Table.replace`; without `where`, the table gets the columns of the new rows."""
        with (
            self._written(rows, progress, is_new=not where) as (files, columns),
            self._transaction(progress, files) as cursor,
        ):
            staged = self._staged(files, columns)
            if self._there(cursor, self._name):
                execute(cursor, "DELETE FROM {} WHERE {}", self._target, sql.SQL(where or "true"))
            new = {field.name: field for field in columns.fields}
            for field in () if where else self._columns(cursor)[0].fields:
                if field.name not in new or postgresql_type(field) != postgresql_type(new[field.name]):
                    execute(cursor, "ALTER TABLE {} DROP COLUMN {}", self._target, sql.Identifier(field.name))
                elif field.dataType != new[field.name].dataType:
                    self._note_type(cursor, new[field.name])
            self._widen(cursor, staged, columns)
            self._insert(cursor, staged)

    def delete_rows(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        progress: Progress,
        where: str = "",
        ends: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> int:
        with self._transaction(progress) as cursor:
            self._check_exists(cursor)
            if not set(_PLACE) <= set(self._columns(cursor)[0].names):
                raise TableError(
                    f"{self.location} can't be rewound: it lacks one of the columns _topic, _partition, _offset"
                )
            condition = "_topic = {} AND _partition = {} AND _offset >= {} AND ({} OR _offset < {})"
            conditions: list[sql.Composable] = [sql.SQL(where)] if where else []
            for topic, partitions in offsets.items():
                own = ends.get(topic, {})
                conditions += [
                    sql.SQL(condition).format(topic, number, offset, number not in own, own.get(number, 0))
                    for number, offset in partitions.items()
                ]
            return sum(execute(cursor, "DELETE FROM {} WHERE {}", self._target, each).rowcount for each in conditions)

    def compact(self) -> Compaction:
        """Vacuum the table, so that PostgreSQL can reuse the space of deleted rows; it manages its files itself."""
        with self._server.cursor() as cursor:
            self._check_exists(cursor)
            cursor.connection.commit()
            cursor.connection.autocommit = True
            before = self._segment_count(cursor)
            execute(cursor, "VACUUM (ANALYZE) {}", self._target)
            return Compaction(before, self._segment_count(cursor))

    def trim_history(self) -> None:
        """Do nothing: the table has no old versions."""

    @contextmanager
    def _transaction(self, progress: Progress, files: Sequence[DataFile] = ()) -> Iterator[Cursor]:
        """Commit the block's changes with a run's progress; drop the staging tables of its files, and earlier ones."""
        with self._server.cursor() as cursor:
            if not self._there(cursor, _PROGRESS_TABLE):
                # Without the lock, IF NOT EXISTS fails if two writers create the table at the same time.
                execute(cursor, "SELECT pg_advisory_xact_lock({})", _CREATION_LOCK)
                columns = sql.SQL(
                    "table_name text, run text, sequence bigint NOT NULL, progress jsonb, committed_at timestamptz"
                )
                create = "CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY (table_name, run))"
                execute(cursor, create, self._progress_table, columns)
                cursor.connection.commit()
            if not self._there(cursor, self._name):
                # A table that was dropped or renamed leaves its progress; another run may be creating the table anew.
                stale = "{} FROM {} WHERE table_name = {} AND to_regclass({}) IS NULL"
                names = self._progress_table, self._name, self._target.as_string(None)
                # Without stale rows, the run needs no right to delete.
                if execute(cursor, stale, sql.SQL("SELECT"), *names).fetchone() is not None:
                    execute(cursor, stale, sql.SQL("DELETE"), *names)
            row_of_run = self._progress_table, self._name, progress.run
            # A row to lock before the run's first commit; the insert waits for another writer of the same run.
            first = "INSERT INTO {} (table_name, run, sequence) VALUES ({}, {}, 0) ON CONFLICT DO NOTHING"
            execute(cursor, first, *row_of_run)
            lock = "SELECT sequence FROM {} WHERE table_name = {} AND run = {} FOR UPDATE"
            row = execute(cursor, lock, *row_of_run).fetchone()
            assert row is not None
            if progress.sequence != row[0] + 1:
                raise TableMovedError(
                    f"{self.location}: run {progress.run} has committed number {row[0]}, so {progress.sequence} is "
                    "out of order: another writer uses the run's name, or the table was dropped or renamed"
                )
            yield cursor
            store = (
                "UPDATE {} SET sequence = {}, progress = {}::jsonb, committed_at = now()"
                " WHERE table_name = {} AND run = {}"
            )
            execute(cursor, store, row_of_run[0], progress.sequence, progress.to_json(), *row_of_run[1:])
            if not files:
                # The next commit may need the staging tables: at-most-once delivery commits the offsets alone first.
                return
            find = "SELECT tablename FROM pg_tables WHERE schemaname = {} AND starts_with(tablename, {})"
            left = execute(cursor, find, self._schema, self._staging_prefix(progress.run)).fetchall()
            self._drop(cursor, {*(name for (name,) in left), *(file.path for file in files)})

    @contextmanager
    def _written(
        self, rows: DataFrame, progress: Progress, is_new: bool = False
    ) -> Iterator[tuple[list[DataFile], StructType]]:
        """Copy rows into staging tables for a commit; drop the staging tables if the commit fails."""
        with self._server.cursor() as cursor:
            known = None if is_new else self._columns(cursor)[0]
        # PostgreSQL has no type for tinyint.
        tiny = [name for name, kind in rows.dtypes if kind == "tinyint"]
        rows = rows.withColumns({name: F.col(quoted(name)).cast("smallint") for name in tiny})
        rows = aligned(rows, known, self.location)
        files = write_files(rows, self._sink(rows.schema, progress.run))
        try:
            yield files, rows.schema
        except (TableError, TableUnavailableError):
            self.discard(files)
            raise

    def _sink(self, columns: StructType, run: str) -> PostgresqlSink:
        kinds = tuple((field.name, postgresql_type(field)) for field in columns.fields)
        return PostgresqlSink(self._server.conninfo, self._schema, self._staging_prefix(run), kinds)

    def _staged(self, files: Sequence[DataFile], columns: StructType, copied: Sequence[str] = ()) -> _Staged:
        """Return the rows of staging tables, whose column names (`copied`) may differ in case from the table's.

        Raises:
            RowsRefusedError: the server rejected rows of a task.
            TableUnavailableError: a task could not reach the server.
            TableError: a task could not copy its rows.
        """
        notes = [json.loads(file.statistics) for file in files]
        errors = [note for note in notes if "error" in note]
        for error in errors:
            if not error["is_refusal"]:
                kind = TableUnavailableError if error["is_passing"] else TableError
                raise kind(f"{self.location}: rows could not be copied: {error['error']}")
        if errors:
            raise RowsRefusedError(errors[0]["error"])
        filled = {name for note in notes for name in note["filled"]}
        both = [*zip(copied or columns.names, columns.names, strict=True), (NUL_COLUMN, NUL_COLUMN)]
        names = [name for own, name in both if own in filled] or columns.names
        renamed = sql.SQL(", ").join(
            [sql.SQL("{} AS {}").format(sql.Identifier(own), sql.Identifier(name)) for own, name in both]
        )
        select = sql.SQL("SELECT {} FROM {}")
        tables = [sql.Identifier(self._schema, file.path) for file in files]
        query = sql.SQL(" UNION ALL ").join([select.format(renamed, table) for table in tables])
        empty = [name for name in columns.names if name not in names]
        return _Staged(query, names, empty, sum(file.row_count for file in files))

    def _insert(
        self,
        cursor: Cursor,
        staged: _Staged,
        conflict: sql.Composable = sql.SQL(""),  # noqa: B008  # it is a constant
        is_exact: bool = True,
        where: sql.Composable = sql.SQL("true"),  # noqa: B008
    ) -> None:
        """Move staged rows to the table; raise TableError if their number differs from the number of copied rows."""
        if staged.row_count:
            # Explicitly, because the column may have another default.
            nullable = {each.name for each in self._columns(cursor)[0].fields if each.nullable}
            empty = [name for name in staged.empty if name in nullable]
            values = sql.SQL(", ").join([*map(sql.Identifier, staged.names), *[sql.SQL("NULL")] * len(empty)])
            insert = "INSERT INTO {} AS there ({}) SELECT {} FROM ({}) AS new WHERE {} {}"
            own = identifiers([*staged.names, *empty])
            execute(cursor, insert, self._target, own, values, staged.query, where, conflict)
            if is_exact:
                self._check_count(cursor.rowcount, staged)

    def _check_count(self, count: int, staged: _Staged) -> None:
        if count != staged.row_count:
            raise TableError(
                f"{self.location}: {staged.row_count} rows were sent, but {count} were found at the commit, as after "
                "a crash of the server: start again from the table's progress"
            )

    def _widen(self, cursor: Cursor, staged: _Staged, columns: StructType) -> None:
        """Create the table or the columns that it lacks, considering what other writers have committed meanwhile."""
        needs_nul = NUL_COLUMN in staged.names
        if self._there(cursor, self._name):
            known, has_nul = self._columns(cursor)
            if not _new_columns(known, columns) and has_nul >= needs_nul:
                return
        self._lock(cursor)
        execute(cursor, "CREATE TABLE IF NOT EXISTS {} ()", self._target)
        known, has_nul = self._columns(cursor)
        aligned_columns(columns, known, self.location)
        add = "ALTER TABLE {} ADD COLUMN {} {}"
        if needs_nul and not has_nul:
            execute(cursor, add, self._target, sql.Identifier(NUL_COLUMN), sql.SQL("jsonb"))
        for field in _new_columns(known, columns):
            if field.name not in known.names:
                execute(cursor, add, self._target, sql.Identifier(field.name), sql.SQL(postgresql_type(field)))
            if is_nested(field.dataType):
                self._note_type(cursor, field)

    def _lock(self, cursor: Cursor) -> None:
        """Let one writer at a time change the table's columns and indexes, until the end of the transaction."""
        lock = int.from_bytes(hashlib.sha256(self.location.encode()).digest()[:8], signed=True)
        execute(cursor, "SELECT pg_advisory_xact_lock({})", lock)

    def _progress(self, cursor: Cursor, run: str) -> Progress | None:
        find = "SELECT progress::text FROM {} WHERE table_name = {} AND run = {} AND progress IS NOT NULL"
        row = execute(cursor, find, self._progress_table, self._name, run).fetchone()
        return None if row is None else Progress.from_json(row[0])

    def _goes_back(self, cursor: Cursor, progress: Progress) -> bool:
        """Return whether the table has rows between a run's new progress and its last one."""
        last = self._progress(cursor, progress.run)
        find = "SELECT FROM {} WHERE _topic = {} AND _partition = {} AND _offset >= {} AND _offset < {} LIMIT 1"
        return last is not None and any(
            execute(cursor, find, self._target, topic, number, offset, end).fetchone() is not None
            for topic, partitions in progress.offsets.items()
            for number, offset in partitions.items()
            if offset < (end := last.offsets.get(topic, {}).get(number, 0))
        )

    def _allow_several(self, cursor: Cursor, index: str, plain_index: str) -> None:
        """Replace the unique index on `_PLACE` by one that allows several rows of a record."""
        self._lock(cursor)
        execute(cursor, "DROP INDEX IF EXISTS {}", sql.Identifier(self._schema, index))
        name = sql.Identifier(plain_index)
        execute(cursor, "CREATE INDEX IF NOT EXISTS {} ON {} ({})", name, self._target, identifiers(_PLACE))

    def _make_unique(self, cursor: Cursor, name: str, suffix: LiteralString, columns: sql.Composable) -> None:
        # If the index exists, IF NOT EXISTS would still lock the table: two runs would wait for each other's rows.
        if self._there(cursor, name):
            return
        self._lock(cursor)
        create: LiteralString = "CREATE UNIQUE INDEX IF NOT EXISTS {} ON {} " + suffix
        try:
            execute(cursor, create, sql.Identifier(name), self._target, columns)
        except psycopg.Error as error:
            if not is_refusal(error):
                raise
            # A TableError: the table's rows violate the index, not the rows of the batch.
            raise TableError(f"{self.location}: {one_line(error)}") from None

    def _drop(self, cursor: Cursor, names: Iterable[str]) -> None:
        if tables := [sql.Identifier(self._schema, name) for name in names]:
            execute(cursor, "DROP TABLE IF EXISTS {}", sql.SQL(", ").join(tables))

    def _there(self, cursor: Cursor, name: str) -> bool:
        """Return whether the table's schema has a table or index of this name."""
        find = "SELECT FROM pg_class WHERE relnamespace = to_regnamespace({}) AND relname = {}"
        return execute(cursor, find, sql.Identifier(self._schema).as_string(None), name).fetchone() is not None

    def _check_exists(self, cursor: Cursor) -> None:
        if not self._there(cursor, self._name):
            raise TableError(f"table {self.location} does not exist")

    def _columns(self, cursor: Cursor) -> tuple[StructType, bool]:
        """Return the columns with Spark types (empty without a table), and whether the table has the NUL column.

        Generated columns are not nullable here: like columns that are NOT NULL, they can't be set to NULL.
        """
        find = (
            "SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum), "
            "NOT attnotnull AND attgenerated = '' "
            "FROM pg_attribute WHERE attrelid = to_regclass({}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        found = execute(cursor, find, self._target.as_string(None)).fetchall()
        fields = [
            StructField(name, spark_type(kind, note), null) for name, kind, note, null in found if name != NUL_COLUMN
        ]
        return StructType(fields), len(fields) < len(found)

    def _note_type(self, cursor: Cursor, field: StructField) -> None:
        column = sql.Identifier(self._schema, self._name, field.name)
        execute(cursor, "COMMENT ON COLUMN {} IS {}", column, field.dataType.json())

    def _segment_count(self, cursor: Cursor) -> int:
        size = "SELECT greatest(1, ceil(pg_relation_size({}::regclass) / 2.0 ^ 30))::int"
        row = execute(cursor, size, self._target.as_string(None)).fetchone()
        assert row is not None
        return int(row[0])

    def _staging_prefix(self, run: str) -> str:
        return self._short_name("staging", run) + "_"

    def _index_name(self, cursor: Cursor, *parts: str) -> str:
        """Return the name of an index of this table; an earlier table that was renamed keeps its indexes' names."""
        name, target = self._short_name(*parts), self._target.as_string(None)
        find = "SELECT to_regclass({})::oid, (SELECT indrelid FROM pg_index WHERE indexrelid = to_regclass({}))"
        row = execute(cursor, find, target, sql.Identifier(self._schema, name).as_string(None)).fetchone()
        assert row is not None
        own = self._short_name(*parts, str(row[0]))
        # Once the earlier table is dropped, the name is free, but the index has the other one.
        return own if row[1] not in (None, row[0]) or self._there(cursor, own) else name

    def _short_name(self, *parts: str) -> str:
        """Return a name for an object of this table, short enough for PostgreSQL."""
        digest = hashlib.sha256("\0".join([self._schema, self._name, *parts]).encode()).hexdigest()[:16]
        return f"barnabas_{parts[0]}_{digest}"


def _digest(text: sql.Composable) -> sql.Composed:
    """Return the digest of a text for an index; backslashes are doubled, because the cast to bytea unescapes them."""
    return sql.SQL(r"sha256(replace({}, '\', '\\')::bytea)").format(text)


def _changes(row: LiteralString, names: Sequence[str]) -> sql.Composed:
    """Return the assignments of a row's values to columns."""
    return sql.SQL(", ").join([sql.SQL("{} = {}").format(sql.Identifier(n), sql.Identifier(row, n)) for n in names])


def _new_columns(known: StructType, columns: StructType) -> list[StructField]:
    """Return the columns that a table lacks and those whose objects get new fields, with their new types."""
    there = {field.name: field.dataType for field in known.fields}
    return [field for field in merged(known, columns).fields if there.get(field.name) != field.dataType]
