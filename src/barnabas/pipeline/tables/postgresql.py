"""A table of PostgreSQL; rows and progress are committed in one transaction.

The tasks of a batch copy their rows, in parallel, into an unlogged staging table of this attempt. Then the driver makes
one transaction: it locks the run's row of progress, checks the sequence, moves the rows from the staging table to the
table, puts the progress down and drops the staging table. Of a task that Spark ran twice the rows of one attempt are
taken: each row is marked with its attempt, and the driver knows which ones count, and how many rows they sent. That
number is held against what was moved: a server that crashed in between has emptied the staging table.

`barnabas_progress`, in the table's schema:

| column | type | meaning |
| --- | --- | --- |
| table_name, run | text | the key |
| sequence | bigint | of the run's last commit |
| progress | jsonb | `Progress` |
| committed_at | timestamptz | by the server's clock |

Names are put into statements that take no parameters, so that a `%` in a name is nothing special.

Source: PostgreSQL 15, "COPY", "INSERT", "Explicit Locking"; psycopg 3.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from barnabas.pipeline.tables.columns import aligned, type_difference
from barnabas.pipeline.tables.layout import PLAIN, Layout
from barnabas.pipeline.tables.postgresql_server import Server
from barnabas.pipeline.tables.postgresql_staging import Staged, copy_rows, refusal
from barnabas.pipeline.tables.postgresql_types import (
    ATTEMPT_COLUMN,
    COLUMN_LIMITS,
    NUL_COLUMN,
    merged,
    postgresql_type,
    restored,
    spark_type,
    without_bytes,
)
from barnabas.pipeline.tables.rules import is_later, with_rest
from barnabas.pipeline.tables.table import (
    Compaction,
    Progress,
    TableError,
    TableMovedError,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

_PROGRESS_TABLE = "barnabas_progress"
_FETCHED_ROW_COUNT = 10_000
# PostgreSQL divides what is larger.
_SEGMENT_BYTES = 1 << 30
_MIN_UPDATE_VERSION = 150_000
_CREATION_LOCK = 0x6261726E61626173  # "barnabas"

_PROGRESS_COLUMNS = sql.SQL(
    "(table_name text, run text, sequence bigint NOT NULL, progress jsonb, committed_at timestamptz,"
    " PRIMARY KEY (table_name, run))"
)
_NOTHING = sql.SQL("")
_ALL = sql.SQL("true")
_PLACE = ("_topic", "_partition", "_offset")

Cursor = psycopg.Cursor[tuple[Any, ...]]


class PostgresqlTable:
    """One table of a PostgreSQL server by a URL, `postgresql://user@host:port/database?table=schema.name`.

    The password may be in the URL, PGPASSWORD or ~/.pgpass of the driver; other parameters of libpq (`sslmode`) may
    stand behind the table. See `Table`.
    """

    widens = False
    column_limits = COLUMN_LIMITS

    def __init__(self, spark: SparkSession, location: str, _layout: Layout = PLAIN) -> None:
        """Name a table; nobody is connected to yet. How it lies is the server's business, and of who made it.

        Raises:
            TableError: the URL names no table.
        """
        self._spark = spark
        self._server = Server(location)
        self._schema, self._name = self._server.schema, self._server.table
        self._location = self._server.location
        self._target = sql.Identifier(self._schema, self._name)
        self._progress_table = sql.Identifier(self._schema, _PROGRESS_TABLE)

    @property
    def location(self) -> str:
        """Its place for people: without the password."""
        return self._location

    def exists(self) -> bool:
        """Return whether there is a commit."""
        with self._server.connection() as connection:
            return self._there(connection.cursor(), self._name)

    def read(self) -> DataFrame:
        """Return all rows, as they are when they are asked for: in one query, so of one commit."""
        with self._server.connection() as connection:
            cursor = connection.cursor()
            if not self._there(cursor, self._name):
                raise TableError(f"there is no table {self._location}")
            schema, has_nul = self._columns(cursor)
            address = self._server.resolved(connection)
        types = {field.name: postgresql_type(field) for field in schema.fields}
        chosen = [
            sql.SQL("{0}::text AS {0}").format(sql.Identifier(name)) if kind == "jsonb" else sql.Identifier(name)
            for name, kind in types.items()
        ]
        if has_nul:
            chosen.append(sql.SQL("{0}::text AS {0}").format(sql.Identifier(NUL_COLUMN)))
        query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(chosen), self._target).as_string(None)
        host, port, database = (quote(str(address.pop(name)), safe="") for name in ("host", "port", "dbname"))
        rows = (
            self._spark.read.format("jdbc")
            .option("driver", "org.postgresql.Driver")
            .option("url", f"jdbc:postgresql://{host}:{port}/{database}")
            .option("query", query)
            .option("fetchsize", _FETCHED_ROW_COUNT)
            .option("preferTimestampNTZ", "true")
            # What else libpq was told (sslmode, sslrootcert, ...) has the same name there.
            .options(**{name: str(value) for name, value in address.items()})
            .load()
        )
        return restored(rows, schema)

    def progress(self, run: str) -> Progress | None:
        """Return how far a run has come; None when it has committed nothing."""
        with self._server.connection() as connection:
            cursor = connection.cursor()
            if not self._there(cursor, _PROGRESS_TABLE):
                return None
            row = cursor.execute(self._of_run("SELECT progress::text FROM {table} WHERE {run}", run)).fetchone()
        return None if row is None else Progress.from_json(row[0])

    def append(self, rows: DataFrame, progress: Progress) -> None:
        """Add rows, see `Table.append`.

        A table with `_topic`, `_partition` and `_offset` takes no second row for a record, unless several rows of one
        record come in one batch: then that is what the job does, and the table allows it from then on.
        """
        with self._staged(rows, progress) as staged, self._transaction(progress) as cursor:
            self._widen(cursor, staged)
            has_index = self._guard_places(cursor, staged.schema)
            try:
                with cursor.connection.transaction():
                    self._insert(cursor, staged)
            except psycopg.errors.UniqueViolation as error:
                if not has_index or not self._has_doubled_places(cursor, staged):
                    raise TableError(
                        f"{self._location}: rows of these records are there already: {error.diag.message_detail}"
                    ) from None
                self._allow_doubled_places(cursor)
                self._insert(cursor, staged)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        """Put each row in the place of the one with the same key, or add it, see `Table.update`."""
        with self._staged(rows, progress) as staged, self._transaction(progress) as cursor:
            if cursor.connection.info.server_version < _MIN_UPDATE_VERSION:
                raise TableError(f"{self._location}: update needs PostgreSQL 15 or later")
            if missing := [name for name in key if name not in staged.schema.names]:
                raise TableError(f"{self._location}: rows have no column {missing[0]} of the key")
            self._widen(cursor, staged)
            self._refuse_nul_in(cursor, staged, key)
            names = sql.SQL(", ").join(map(sql.Identifier, key))
            if gone:
                # A key may be longer than what an index holds.
                names = _digest(sql.Identifier(*key))
            cursor.execute(
                sql.SQL("CREATE UNIQUE INDEX IF NOT EXISTS {} ON {} ({}) NULLS NOT DISTINCT").format(
                    sql.Identifier(self._short_name("key", *key)), self._target, names
                )
            )
            schema, has_nul = self._columns(cursor)
            others = [name for name in [*schema.names, *([NUL_COLUMN] if has_nul else [])] if name not in key]
            changes = sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in others)
            action = sql.SQL("DO UPDATE SET {}").format(changes) if others else sql.SQL("DO NOTHING")
            conflict = sql.SQL("ON CONFLICT ({}) {}").format(names, action)
            if gone:
                self._put_latest(cursor, staged, key[0], conflict, gone, marks)
                return
            self._insert(cursor, staged, conflict, is_exact=bool(others))

    def _put_latest(
        self,
        cursor: Cursor,
        staged: Staged,
        key: str,
        conflict: sql.Composable,
        gone: LiteralString,
        marks: Sequence[str],
    ) -> None:
        """Move staged rows that are later than the table's to it, and do what those that are `gone` say."""
        self._check_all_are_there(cursor, staged)
        own, new = sql.Identifier("there", key), sql.Identifier("new", key)
        condition = sql.SQL("{} AND new.{} AND {} = {} AND {} = {} AND {}").format(
            self._counted(staged),
            sql.SQL(gone),
            _digest(own),
            _digest(new),
            own,
            new,
            sql.SQL(is_later("new", "there")),
        )
        changes = sql.SQL(", ").join(sql.SQL("{0} = new.{0}").format(sql.Identifier(name)) for name in marks)
        change = sql.SQL("UPDATE {0} AS there SET {3} FROM {1} AS new WHERE {2}")
        if not marks:
            change = sql.SQL("DELETE FROM {0} AS there USING {1} AS new WHERE {2}")
        cursor.execute(change.format(self._target, staged.table, condition, changes))
        later = sql.SQL("{} WHERE {}").format(conflict, sql.SQL(is_later("EXCLUDED", "there")))
        self._insert(cursor, staged, later, is_exact=False, where=sql.SQL("NOT ({})").format(sql.SQL(gone)))

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        """Put rows in the place of all that are there, which readers see until then; the columns become theirs."""
        if where:
            rows = with_rest(rows, self.read(), where)
        with self._staged(rows, progress, is_new=True) as staged, self._transaction(progress) as cursor:
            if self._there(cursor, self._name):
                cursor.execute(sql.SQL("DELETE FROM {}").format(self._target))
                old, _ = self._columns(cursor)
                new = {field.name: field for field in staged.schema.fields}
                for field in old.fields:
                    if field.name not in new or postgresql_type(field) != postgresql_type(new[field.name]):
                        self._alter(cursor, sql.SQL("DROP COLUMN {}").format(sql.Identifier(field.name)))
                    elif field.dataType != new[field.name].dataType:
                        self._note_type(cursor, new[field.name].name, new[field.name].dataType.json())
            self._widen(cursor, staged)
            self._insert(cursor, staged)

    def cut(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        """Take away the rows of these partitions from these offsets on, and say how many, see `Table.cut`."""
        count = 0
        with self._transaction(progress) as cursor:
            if not self._there(cursor, self._name):
                raise TableError(f"there is no table {self._location}")
            if not set(_PLACE) <= set(self._columns(cursor)[0].names):
                raise TableError(
                    f"{self._location} can't be cut: it lacks one of the columns _topic, _partition, _offset"
                )
            if where:
                cursor.execute(sql.SQL("DELETE FROM {} WHERE {}").format(self._target, sql.SQL(where)))
                count = cursor.rowcount
            for topic, partitions in offsets.items():
                for number, offset in partitions.items():
                    cursor.execute(
                        sql.SQL("DELETE FROM {} WHERE _topic = {} AND _partition = {} AND _offset >= {}").format(
                            self._target, sql.Literal(topic), sql.Literal(number), sql.Literal(offset)
                        )
                    )
                    count += cursor.rowcount
        return count

    def compact(self) -> Compaction:
        """Vacuum the table: the room of rows that are gone is used again. PostgreSQL decides on its files itself."""
        with self._server.connection() as connection:
            if not self._there(connection.cursor(), self._name):
                raise TableError(f"there is no table {self._location}")
            connection.commit()
            connection.autocommit = True
            cursor = connection.cursor()
            before = self._segment_count(cursor)
            cursor.execute(sql.SQL("VACUUM (ANALYZE) {}").format(self._target))
            return Compaction(before, self._segment_count(cursor))

    def trim_history(self) -> None:
        """Do nothing: PostgreSQL keeps none."""

    @contextmanager
    def _transaction(self, progress: Progress) -> Iterator[Cursor]:
        """Make one commit of a run: rows by what is done inside, and its progress."""
        with self._server.connection() as connection:
            cursor = connection.cursor()
            if not self._there(cursor, _PROGRESS_TABLE):
                # Two that make a table at the same time are in each other's way, IF NOT EXISTS or not.
                cursor.execute(sql.SQL("SELECT pg_advisory_xact_lock({})").format(sql.Literal(_CREATION_LOCK)))
                cursor.execute(
                    sql.SQL("CREATE TABLE IF NOT EXISTS {} {}").format(self._progress_table, _PROGRESS_COLUMNS)
                )
                connection.commit()
            # Waits for another that takes itself for the same run, be it for the first commit.
            cursor.execute(
                sql.SQL("INSERT INTO {} (table_name, run, sequence) VALUES ({}, {}, 0) ON CONFLICT DO NOTHING").format(
                    self._progress_table, sql.Literal(self._name), sql.Literal(progress.run)
                )
            )
            row = cursor.execute(
                self._of_run("SELECT sequence FROM {table} WHERE {run} FOR UPDATE", progress.run)
            ).fetchone()
            assert row is not None
            self._check_sequence(row[0], progress)
            yield cursor
            cursor.execute(
                self._of_run(
                    "UPDATE {table} SET sequence = {sequence}, progress = {progress}, committed_at = now() WHERE {run}",
                    progress.run,
                    sequence=sql.Literal(progress.sequence),
                    progress=sql.Literal(Jsonb(json.loads(progress.to_json()))),
                )
            )
            self._drop_staging_tables(cursor, progress.run)

    def _check_sequence(self, last: int, progress: Progress) -> None:
        if progress.sequence != last + 1:
            raise TableMovedError(
                f"{self._location}: run {progress.run} has committed number {last}, so {progress.sequence} can't come "
                "now: another writer is at work as the same run"
            )

    def _stage(self, rows: DataFrame, progress: Progress, is_new: bool = False) -> Staged:
        """Copy rows into a staging table of their own, in parallel."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        table = sql.Identifier(self._schema, self._staging_prefix(progress.run) + uuid.uuid4().hex[:16])
        with self._server.connection() as connection:
            cursor = connection.cursor()
            known = self._columns(cursor)[0] if not is_new and self._there(cursor, self._name) else None
            rows = aligned(without_bytes(rows), known, self._location)
            columns = [
                sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(postgresql_type(field)))
                for field in rows.schema.fields
            ]
            cursor.execute(
                sql.SQL("CREATE UNLOGGED TABLE {} ({}) WITH (autovacuum_enabled = false)").format(
                    table, sql.SQL(", ").join([sql.SQL(f"{ATTEMPT_COLUMN} bigint, {NUL_COLUMN} jsonb"), *columns])
                )
            )
            address = self._server.resolved(connection)
        try:
            return copy_rows(rows, make_conninfo(**address), table)
        except Py4JJavaError as error:
            # One who came first as the same run may have dropped the staging table.
            last = self.progress(progress.run)
            self._check_sequence(0 if last is None else last.sequence, progress)
            self._drop(table)
            if (told := refusal(error)) is None:
                raise
            raise TableError(f"{self._location}: rows were refused: {told}") from None

    @contextmanager
    def _staged(self, rows: DataFrame, progress: Progress, is_new: bool = False) -> Iterator[Staged]:
        """Provide staged rows for a commit; where that fails, nothing stays."""
        staged = self._stage(rows, progress, is_new)
        try:
            yield staged
        except TableError:
            self._drop(staged.table)
            raise

    def _drop(self, staging_table: sql.Identifier) -> None:
        try:
            with self._server.connection() as connection:
                connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(staging_table))
        except TableError:
            # The server is gone; the run's next commit drops it.
            return

    def _check_all_are_there(self, cursor: Cursor, staged: Staged) -> None:
        counted = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(staged.table, self._counted(staged))
        row = cursor.execute(counted).fetchone()
        assert row is not None
        self._check_count(row[0], staged)

    def _check_count(self, count: int, staged: Staged) -> None:
        if count != staged.row_count:
            raise TableError(
                f"{self._location}: {staged.row_count} rows were sent, {count} were there to be committed, "
                "as after a crash of the server: begin again from the table's progress"
            )

    def _insert(
        self,
        cursor: Cursor,
        staged: Staged,
        conflict: sql.Composable = _NOTHING,
        is_exact: bool = True,
        where: sql.Composable = _ALL,
    ) -> None:
        """Move staged rows to the table.

        Raises:
            TableError: there are not as many as were sent.
        """
        columns = [sql.Identifier(field.name) for field in staged.schema.fields]
        counted = self._counted(staged)
        if staged.has_nul:
            columns.append(sql.Identifier(NUL_COLUMN))
        names = sql.SQL(", ").join(columns)
        cursor.execute(
            sql.SQL("INSERT INTO {} AS there ({}) SELECT {} FROM {} WHERE {} AND {} {}").format(
                self._target, names, names, staged.table, counted, where, conflict
            )
        )
        if is_exact:
            self._check_count(cursor.rowcount, staged)

    def _widen(self, cursor: Cursor, staged: Staged) -> None:
        """Make the table, or the columns that it does not have; what others did meanwhile is seen."""
        schema = staged.schema
        if self._there(cursor, self._name):
            known, has_nul = self._columns(cursor)
            if not _changes(known, schema) and has_nul >= staged.has_nul:
                return
        lock = int.from_bytes(hashlib.sha256(self._location.encode()).digest()[:8], signed=True)
        cursor.execute(sql.SQL("SELECT pg_advisory_xact_lock({})").format(sql.Literal(lock)))
        if not self._there(cursor, self._name):
            cursor.execute(sql.SQL("CREATE TABLE {} ()").format(self._target))
        if staged.has_nul:
            self._alter(cursor, sql.SQL("ADD COLUMN IF NOT EXISTS {} jsonb").format(sql.Identifier(NUL_COLUMN)))
        known = self._columns(cursor)[0]
        if difference := type_difference(known, schema, ""):
            column, of_table, of_rows = difference
            raise TableError(
                f"{self._location}: column {column} is {of_table} in the table and {of_rows} in the new rows"
            )
        for field in _changes(known, schema):
            if field.name not in known.names:
                kind = sql.SQL(postgresql_type(field))
                self._alter(cursor, sql.SQL("ADD COLUMN {} {}").format(sql.Identifier(field.name), kind))
            if postgresql_type(field) == "jsonb":
                self._note_type(cursor, field.name, field.dataType.json())

    def _guard_places(self, cursor: Cursor, schema: StructType) -> bool:
        """See to it that no record's row can be there twice; whether that is so."""
        if not set(_PLACE) <= set(schema.names) or self._there(cursor, self._short_name("places")):
            return False
        cursor.execute(
            sql.SQL("CREATE UNIQUE INDEX IF NOT EXISTS {} ON {} (_topic, _partition, _offset)").format(
                sql.Identifier(self._short_name("place")), self._target
            )
        )
        return True

    def _has_doubled_places(self, cursor: Cursor, staged: Staged) -> bool:
        cursor.execute(
            sql.SQL("SELECT FROM {} WHERE {} GROUP BY _topic, _partition, _offset HAVING count(*) > 1 LIMIT 1").format(
                staged.table, self._counted(staged)
            )
        )
        return cursor.fetchone() is not None

    def _allow_doubled_places(self, cursor: Cursor) -> None:
        cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(self._schema, self._short_name("place"))))
        cursor.execute(
            sql.SQL("CREATE INDEX {} ON {} (_topic, _partition, _offset)").format(
                sql.Identifier(self._short_name("places")), self._target
            )
        )

    def _refuse_nul_in(self, cursor: Cursor, staged: Staged, key: Sequence[str]) -> None:
        conditions = sql.SQL(" OR ").join(
            sql.SQL("{} ? {}").format(sql.Identifier(NUL_COLUMN), sql.Literal(name)) for name in key
        )
        if self._has(cursor, staged, conditions):
            raise TableError(f"{self._location}: a key has a NUL character, which PostgreSQL does not hold")

    def _has(self, cursor: Cursor, staged: Staged, condition: sql.Composable) -> bool:
        cursor.execute(sql.SQL("SELECT FROM {} WHERE {} LIMIT 1").format(staged.table, condition))
        return cursor.fetchone() is not None

    def _counted(self, staged: Staged) -> sql.Composed:
        return sql.SQL("{} = ANY ({}::bigint[])").format(sql.Identifier(ATTEMPT_COLUMN), sql.Literal(staged.attempts))

    def _drop_staging_tables(self, cursor: Cursor, run: str) -> None:
        """Drop this commit's and what killed attempts of the run have left; one that is being written stays."""
        cursor.execute(
            sql.SQL("SELECT tablename FROM pg_tables WHERE schemaname = {} AND starts_with(tablename, {})").format(
                sql.Literal(self._schema), sql.Literal(self._staging_prefix(run))
            )
        )
        for (name,) in cursor.fetchall():
            table = sql.Identifier(self._schema, name)
            try:
                with cursor.connection.transaction():
                    cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(table))
                    cursor.execute(sql.SQL("DROP TABLE {}").format(table))
            except (psycopg.errors.LockNotAvailable, psycopg.errors.UndefinedTable):
                continue

    def _there(self, cursor: Cursor, name: str) -> bool:
        """Return whether the table's schema has a table or index of this name."""
        cursor.execute(
            sql.SQL("SELECT FROM pg_class WHERE relnamespace = to_regnamespace({}) AND relname = {}").format(
                sql.Literal(sql.Identifier(self._schema).as_string(None)), sql.Literal(name)
            )
        )
        return cursor.fetchone() is not None

    def _columns(self, cursor: Cursor) -> tuple[StructType, bool]:
        """Return the table's columns with Spark's types, and whether there is the one for NULs."""
        from pyspark.sql.types import StructField, StructType

        cursor.execute(
            sql.SQL(
                "SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum) FROM pg_attribute "
                "WHERE attrelid = {}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            ).format(sql.Literal(self._target.as_string(None)))
        )
        found = cursor.fetchall()
        fields = [StructField(name, spark_type(kind, comment)) for name, kind, comment in found if name != NUL_COLUMN]
        return StructType(fields), len(fields) < len(found)

    def _alter(self, cursor: Cursor, change: sql.Composable) -> None:
        cursor.execute(sql.SQL("ALTER TABLE {} {}").format(self._target, change))

    def _note_type(self, cursor: Cursor, column: str, kind: str) -> None:
        cursor.execute(
            sql.SQL("COMMENT ON COLUMN {}.{} IS {}").format(self._target, sql.Identifier(column), sql.Literal(kind))
        )

    def _segment_count(self, cursor: Cursor) -> int:
        cursor.execute(
            sql.SQL("SELECT pg_relation_size({}::regclass)").format(sql.Literal(self._target.as_string(None)))
        )
        row = cursor.fetchone()
        assert row is not None
        return max(1, -(-int(row[0]) // _SEGMENT_BYTES))

    def _of_run(self, statement: LiteralString, run: str, **values: sql.Composable) -> sql.Composed:
        """Put the table of progress and the condition on a run's row into a statement."""
        return sql.SQL(statement).format(
            table=self._progress_table,
            run=sql.SQL("table_name = {} AND run = {}").format(sql.Literal(self._name), sql.Literal(run)),
            **values,
        )

    def _staging_prefix(self, run: str) -> str:
        return self._short_name("staging", run) + "_"

    def _short_name(self, *parts: str) -> str:
        """Return a name of our own that belongs to this table, short enough for PostgreSQL."""
        digest = hashlib.sha256("\0".join([self._schema, self._name, *parts]).encode()).hexdigest()[:16]
        return f"barnabas_{parts[0]}_{digest}"


def _digest(text: sql.Composable) -> sql.Composed:
    """Return what stands for a text of any length in an index; the cast reads a backslash as the start of an escape."""
    return sql.SQL(r"sha256(replace({}, '\', '\\')::bytea)").format(text)


def _changes(known: StructType, schema: StructType) -> list[StructField]:
    """List the columns that a table lacks, or whose objects get new fields: as they shall be."""
    types = {field.name: field.dataType for field in known.fields}
    changed = []
    for field in schema.fields:
        if field.name not in types:
            changed.append(field)
            continue
        kind = merged(types[field.name], field.dataType)
        if kind != types[field.name]:
            changed.append(type(field)(field.name, kind))
    return changed
