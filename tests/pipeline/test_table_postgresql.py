"""What tables of PostgreSQL do beside what every table does: types, NULs, staging, a server that goes away, kills."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pytest
from psycopg import sql
from pyspark.sql.pandas.types import from_arrow_schema

from barnabas.pipeline.tables.postgresql import PostgresqlTable
from barnabas.pipeline.tables.postgresql_rows import read_rows, selected
from barnabas.pipeline.tables.postgresql_server import Server, execute
from barnabas.pipeline.tables.table import RowsRefusedError, TableError, TableMovedError, TableUnavailableError
from tests.patience import PATIENCE_S, until
from tests.pipeline.kills import KILL_COUNT, appending, finish, kill_at_random, last_sequence, offsets_of
from tests.pipeline.postgresql_server import PASSWORD, PostgresqlServer, postgresql
from tests.pipeline.test_tables import offsets_in, progress_of, rows_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import DataFile

__all__ = ["postgresql"]  # a fixture


HOLD_PROGRESS = "SELECT * FROM public.barnabas_progress FOR UPDATE"


@pytest.fixture
def name(tmp_path: Path) -> str:
    return tmp_path.name


@pytest.fixture
def table(spark: SparkSession, postgresql: PostgresqlServer, name: str) -> PostgresqlTable:
    return PostgresqlTable(spark, postgresql.table_url(name))


def is_waiting(server: PostgresqlServer) -> bool:
    """Whether a commit waits for a lock."""
    return bool(
        server.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'barnabas'")
    )


def staging_tables(server: PostgresqlServer) -> list[str]:
    return [row[0] for row in server.query("SELECT tablename FROM pg_tables WHERE tablename LIKE 'barnabas_staging%'")]


def test_types_are_postgresqls_own_and_come_back(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    rows = spark.sql(
        "SELECT CAST(7 AS TINYINT) AS tiny, CAST(8 AS SMALLINT) AS small, CAST('NaN' AS DOUBLE) AS number,"
        " CAST(0.1 AS FLOAT) AS part, CAST(12345678901234.56 AS DECIMAL(20, 2)) AS price, X'00FF5C0A' AS raw,"
        " DATE'1969-07-20' AS day, TIMESTAMP'2015-05-17 10:05:03.000001+02:00' AS at,"
        " TIMESTAMP_NTZ'2015-05-17 10:05:03.5' AS local, map('a', 1) AS counts,"
        " array(named_struct('time', TIMESTAMP'2015-05-17 10:05:03.000001Z', 'x', 0.5D)) AS list, '\\\\N' AS mark"
    )
    table.append(rows, progress_of("load", 1, 1))
    types = dict(
        postgresql.query(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = '\"{name}\"'::regclass AND attnum > 0"
        )
    )
    assert types == {
        "tiny": "smallint",
        "small": "smallint",
        "number": "double precision",
        "part": "real",
        "price": "numeric(20,2)",
        "raw": "bytea",
        "day": "date",
        "at": "timestamp with time zone",
        "local": "timestamp without time zone",
        "counts": "jsonb",
        "list": "jsonb",
        "mark": "text",
    }
    found = table.read()
    assert found.selectExpr("* EXCEPT (tiny)").schema.simpleString() == (
        rows.selectExpr("* EXCEPT (tiny)").schema.simpleString()
    )
    assert str(found.collect()) == str(rows.collect())


def test_nothing_is_lost_of_texts_with_nul(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    schema = "id INT, text STRING, object STRUCT<name: STRING>, plain STRING"
    values = [
        (1, "a\0b\0", {"name": "x\0\0"}, "c"),
        (2, "\u2400", {"name": "\\u0000 \\\0"}, None),
        (3, "\\0 \\u0000", {"name": "\u2400"}, "d"),
    ]
    table.append(spark.createDataFrame(values[2:], schema), progress_of("load", 1, 1))
    assert (
        postgresql.query(f"SELECT FROM pg_attribute WHERE attrelid = '\"{name}\"'::regclass AND attname = '_nul'") == []
    )
    table.append(spark.createDataFrame(values[:2], schema), progress_of("load", 2, 1))
    found = sorted(tuple(row.asDict(recursive=True).values()) for row in table.read().collect())
    assert found == values
    assert postgresql.query(f"SELECT text, object ->> 'name' FROM \"{name}\" WHERE id = 1") == [
        ("a\u2400b\u2400", "x\u2400\u2400")
    ]
    with pytest.raises(TableError, match="a key has a NUL"):
        table.update(spark.createDataFrame(values[:1], schema), ["text"], progress_of("load", 3, 1))
    table.update(spark.createDataFrame([(1, "a", None, None)], schema), ["id"], progress_of("load", 3, 1))
    assert table.read().where("id = 1").collect()[0]["text"] == "a"


def columns_of(rows: pa.Table) -> StructType:
    return from_arrow_schema(rows.schema)


def copied(table: PostgresqlTable, *tasks: pa.Table) -> list[DataFile]:
    """Let a task write each of these, for the run `load`."""
    table.progress("load")
    sink = pickle.loads(pickle.dumps(table.sink(columns_of(tasks[0]))))
    files = []
    for rows in tasks:
        writer = sink.open()
        writer.write(rows)
        files += writer.close()
    return files


def test_rows_of_tasks_are_there_once_they_are_committed(postgresql: PostgresqlServer, table: PostgresqlTable) -> None:
    first, second = (pa.table({"id": list(range(start, start + 10))}) for start in (0, 10))
    copied(table, first)  # a killed driver's
    table.discard(copied(table, first))
    writer = table.sink(columns_of(first)).open()
    writer.write(first)
    writer.abort()
    files = copied(table, first, second, first.slice(0, 0))
    assert [file.row_count for file in files] == [10, 10]
    assert not table.exists()
    assert len(staging_tables(postgresql)) == 3
    table.append_files(files, columns_of(first), progress_of("load", 1, 20))
    table.append_files([], columns_of(first), progress_of("load", 2, 25))
    assert table.progress("load") == progress_of("load", 2, 25)
    assert sorted(row["id"] for row in table.read().collect()) == list(range(20))
    assert staging_tables(postgresql) == []
    # Columns that are new come with the rows.
    wider = pa.table({"ID": [20], "name": ["x"]})
    table.append_files(copied(table, wider), columns_of(wider), progress_of("load", 3, 26))
    assert table.read().where("id >= 19").orderBy("id").collect() == [(19, None), (20, "x")]
    with pytest.raises(TableError, match="column name is string in the table and bigint in"):
        table.sink(columns_of(pa.table({"name": [1]})))


def test_offsets_that_are_committed_first_leave_the_rows_of_tasks(
    postgresql: PostgresqlServer, table: PostgresqlTable
) -> None:
    rows = pa.table({"id": [1, 2, 3]})
    files = copied(table, rows)
    table.append_files([], columns_of(rows), progress_of("load", 1, 3))
    table.append_files(files, columns_of(rows), progress_of("load", 2, 3))
    assert table.read().count() == 3
    assert staging_tables(postgresql) == []


def test_values_that_are_special_in_csv_or_far_away_come_back(table: PostgresqlTable) -> None:
    # Years 1 to 32767.
    moments = pa.array([0, -1, -62_135_596_800_000_000, 971_890_963_199_999_999, None])
    rows = pa.table(
        {
            "text": ["", None, "\\.", 'a\n\\.\n"b"', "\r\n,\\N"],
            "at": moments.cast(pa.timestamp("us", "UTC")),
            "local": moments.cast(pa.timestamp("us")),
            "day": pa.array([0, -1, -719_162, 11_248_737, None], pa.int32()).cast(pa.date32()),
            "raw": [b"", None, b"\0", b"\xff", b","],
            "number": [float("nan"), float("-inf"), 5e-324, None, 1e300],
            "nothing": pa.nulls(5, pa.string()),
        }
    )
    table.append_files(copied(table, rows), columns_of(rows), progress_of("load", 1, 5))
    for chosen in (rows, rows.select(["nothing"])):
        target = sql.Identifier(table._schema, table._name)
        query = selected(chosen.column_names, chosen.schema, target).as_string(None)
        found = pa.Table.from_batches(read_rows(table._server.conninfo, query, chosen.schema))
        # As texts, as NaN is equal to nothing; pyarrow's, as Python has no year 32767.
        assert [str(column) for column in found.columns] == [str(column) for column in chosen.columns]


def test_objects_are_stored_as_json(postgresql: PostgresqlServer, table: PostgresqlTable, name: str) -> None:
    moment = datetime(2015, 5, 17, 10, 5, 3, 1, UTC)
    inner = {"price": Decimal("0.000000000001"), "at": moment, "day": date(1969, 7, 20), "none": None, "raw": b"a\0"}
    kind = pa.struct(
        [
            ("price", pa.decimal128(38, 12)),
            ("at", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("none", pa.string()),
            ("raw", pa.binary()),
        ]
    )
    values = {
        "object": pa.array([inner, None, {}], kind),
        "list": pa.array([[inner], [None], None], pa.list_(kind)),
        "map": pa.array([[("a", 0.1), ("b", None)], [], [("c", float("inf"))]], pa.map_(pa.string(), pa.float32())),
    }
    # Of a slice the rows alone count.
    rows = pa.concat_tables([pa.table(values)] * 2).slice(2, 3)
    table.append_files(copied(table, rows), columns_of(rows), progress_of("load", 1, 3))
    shown = '{"at": "2015-05-17T10:05:03.000001Z", "day": "1969-07-20", "raw": "YQA=", "price": 0.000000000001}'
    found = postgresql.query(f'SELECT object::text, list::text, map::text FROM "{name}" ORDER BY 3')
    assert sorted(found, key=str) == sorted(
        [("{}", None, '{"c": "Infinity"}'), (shown, f"[{shown}]", '{"a": 0.1, "b": null}'), (None, "[null]", "{}")],
        key=str,
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({f"n{number}": [number] for number in range(1_500)}, "row is too big"),
        ({"at": pa.array([2**62], pa.timestamp("us", "UTC"))}, "out of range"),
        ({"price": [-1]}, "violates check constraint"),
    ],
)
def test_rows_that_the_server_refuses_change_nothing(
    postgresql: PostgresqlServer, table: PostgresqlTable, name: str, bad: dict[str, list[int]], reason: str
) -> None:
    postgresql.query(f'CREATE TABLE "{name}" (price bigint CHECK (price > 0))')
    rows = pa.table(bad)
    files = copied(table, rows.slice(0, 0), rows)
    with pytest.raises(RowsRefusedError, match=reason):
        table.append_files(files, columns_of(rows), progress_of("load", 1, 1))
    assert table.progress("load") is None
    table.discard(files)
    assert staging_tables(postgresql) == []
    assert postgresql.query(f'SELECT * FROM "{name}"') == []


def test_columns_of_your_table_that_no_record_has_are_null_or_get_their_default(
    postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    postgresql.query(
        f'CREATE TABLE "{name}" (id bigserial PRIMARY KEY, amount numeric, at timestamptz(3), tag uuid, note json,'
        " status text DEFAULT 'new', x bigint, double bigint GENERATED ALWAYS AS (x * 2) STORED)"
    )
    nulls = dict.fromkeys(["amount", "at", "tag", "note", "status"], pa.nulls(2, pa.string()))
    nulls |= dict.fromkeys(["id", "double"], pa.nulls(2, pa.int64()))
    rows = pa.table({"x": [1, 2], **nulls})
    for sequence in (1, 2):
        table.append_files(copied(table, rows), columns_of(rows), progress_of("load", sequence, 2))
    assert postgresql.query(f'SELECT id, x, double, amount, at, tag, note, status FROM "{name}" ORDER BY id') == [
        (number, x, 2 * x, None, None, None, None, None) for number, x in enumerate([1, 2, 1, 2], 1)
    ]


def test_an_update_keeps_the_values_of_your_not_null_and_generated_columns(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    postgresql.query(
        f'CREATE TABLE "{name}" (id bigserial PRIMARY KEY, page text, count bigint DEFAULT 7,'
        " upper text GENERATED ALWAYS AS (upper(page)) STORED)"
    )
    for sequence, count in enumerate([5, None], 1):
        rows = spark.createDataFrame([(None, "a", count)], "id BIGINT, page STRING, count BIGINT")
        table.update(rows, ["page"], progress_of("load", sequence, sequence))
    assert postgresql.query(f'SELECT id, page, count, upper FROM "{name}"') == [(1, "a", None, "A")]


def test_records_are_later_than_rows_that_you_added_without_offsets(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    ddl = "_key STRING, n INT, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"
    now = datetime(2026, 11, 30, tzinfo=UTC)
    postgresql.query(f'CREATE TABLE "{name}" (_key text, n int)')
    postgresql.query(f"""INSERT INTO "{name}" VALUES ('a', 1), ('b', 7), ('c', 7)""")
    rows = spark.createDataFrame([("b", 2, 0, 1, now), ("c", None, 0, 2, now)], ddl)
    table.update(rows, ["_key"], progress_of("load", 1, 3), "n IS NULL")
    assert postgresql.query(f'SELECT _key, n FROM "{name}" ORDER BY 1') == [("a", 1), ("b", 2)]


def test_a_server_that_is_gone_refuses_no_rows(spark: SparkSession, name: str) -> None:
    rows = pa.table({"id": [1]})
    with PostgresqlServer() as server:
        table = PostgresqlTable(spark, server.table_url(name))
        writer = table.sink(columns_of(rows)).open()
        writer.write(rows)
        server.crash()
        files = writer.close()
        server.start()
        with pytest.raises(TableUnavailableError, match="rows could not be copied: connection failed"):
            table.append_files(files, columns_of(rows), progress_of("load", 1, 1))


def test_a_commit_waits_for_no_open_commit_of_another_run(
    postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    rows = pa.table({"_topic": ["views"], "_partition": pa.array([0], pa.int32()), "_offset": [0]})
    table.append_files(copied(table, rows), columns_of(rows), progress_of("load", 1, 1))
    impatient = PostgresqlTable(table._spark, postgresql.table_url(name) + "&options=-c%20lock_timeout%3D1s")
    with postgresql.connect() as connection:
        # As an INSERT does.
        connection.execute(sql.SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE").format(sql.Identifier(name)))
        rows = rows.set_column(2, "_offset", pa.array([1]))
        impatient.append_files(copied(impatient, rows), columns_of(rows), progress_of("backfill", 1, 1))
    assert table.progress("backfill") == progress_of("backfill", 1, 1)


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_transaction_that_the_server_rolls_back_may_be_repeated(
    postgresql: PostgresqlServer, name: str, state: str
) -> None:
    with pytest.raises(TableUnavailableError), Server(postgresql.table_url(name)).cursor() as cursor:
        execute(cursor, "DO {}", f"BEGIN RAISE SQLSTATE '{state}'; END")


def test_a_record_is_not_there_twice(spark: SparkSession, table: PostgresqlTable) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    with pytest.raises(TableError, match=r"already exist: Key .*views, 0, 9"):
        table.append(rows_at(spark, 9, 12), progress_of("backfill", 1, 12))
    assert table.progress("backfill") is None
    assert offsets_in(table) == list(range(10))


def test_a_run_that_goes_back_before_its_rows_writes_their_offsets_again(
    postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    def append(run: str, sequence: int, first: int, end: int) -> None:
        count = end - first
        values = {"_topic": ["views"] * count, "_partition": [0] * count, "_offset": range(first, end)}
        rows = pa.table(values, pa.schema({"_topic": pa.string(), "_partition": pa.int32(), "_offset": pa.int64()}))
        table.append_files(copied(table, rows), columns_of(rows), progress_of(run, sequence, end))

    append("load", 1, 0, 10)
    # With at-most-once delivery, after the rows up to 20 were refused: the index stays.
    append("load", 2, 20, 20)
    append("load", 3, 10, 10)
    with pytest.raises(TableError, match="already exist"):
        append("backfill", 1, 9, 12)
    # After the topic was created again.
    append("load", 4, 0, 0)
    append("load", 5, 0, 6)
    found = postgresql.query(f'SELECT _offset FROM "{name}" ORDER BY 1')
    assert [offset for (offset,) in found] == sorted([*range(10), *range(6)])


@pytest.mark.parametrize("change", ['DROP TABLE "{0}"', 'ALTER TABLE "{0}" RENAME TO "{0}-old"'])
def test_a_table_that_was_dropped_or_renamed_leaves_no_progress(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str, change: str
) -> None:
    for _ in range(2):
        table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
        table.update(rows_at(spark, 8, 12), ["page"], progress_of("load", 2, 12))
        # Two rows of a record: the index is replaced.
        table.append(
            rows_at(spark, 12, 14).selectExpr("* EXCEPT (_offset)", "12L AS _offset"), progress_of("backfill", 1, 13)
        )
        postgresql.query(change.format(name))
        assert table.progress("load") is None
        with pytest.raises(TableMovedError):
            table.append(rows_at(spark, 12, 20), progress_of("load", 3, 20))
        if change.startswith("ALTER"):
            postgresql.query(f'ALTER TABLE "{name}-old" RENAME TO "{name}-{uuid4()}"')
    table.append(rows_at(spark, 5, 10), progress_of("load", 1, 10))
    assert table.progress("backfill") is None
    with pytest.raises(TableError, match="already exist"):
        table.append(rows_at(spark, 9, 12), progress_of("backfill", 1, 12))
    assert offsets_in(table) == list(range(5, 10))


def test_a_table_keeps_its_index_when_an_earlier_one_that_was_renamed_is_dropped(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    postgresql.query(f'ALTER TABLE "{name}" RENAME TO "{name}-old"')
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    postgresql.query(f'DROP TABLE "{name}-old"')
    table.append(rows_at(spark, 10, 12), progress_of("load", 2, 12))
    with pytest.raises(TableError, match="already exist"):
        table.append(rows_at(spark, 9, 12), progress_of("backfill", 1, 12))
    table.append(rows_at(spark, 12, 13).unionAll(rows_at(spark, 12, 13)), progress_of("load", 3, 13))
    assert offsets_in(table) == [*range(13), 12]


@pytest.mark.parametrize("again", [0, 1])
def test_a_table_of_your_own_beside_a_renamed_one_may_have_several_rows_of_a_record(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str, again: int
) -> None:
    # Of the renamed table, too, one record may have two rows.
    table.append(rows_at(spark, 0, 2).unionAll(rows_at(spark, 0, again)), progress_of("load", 1, 2))
    postgresql.query(f'ALTER TABLE "{name}" RENAME TO "{name}-old"')
    postgresql.query(f'CREATE TABLE "{name}" AS TABLE "{name}-old" UNION ALL TABLE "{name}-old"')
    table.append(rows_at(spark, 2, 4), progress_of("load", 2, 4))
    assert offsets_in(table) == sorted([*range(4), *range(2), *range(again), *range(again)])


def test_a_new_table_needs_no_right_to_delete_progress(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    table.append(rows_at(spark, 0, 1), progress_of("load", 1, 1))
    postgresql.query(f"CREATE ROLE writer LOGIN PASSWORD '{PASSWORD}'")
    postgresql.query("GRANT ALL ON SCHEMA public TO writer")
    postgresql.query("GRANT SELECT, INSERT, UPDATE ON barnabas_progress TO writer")
    own = PostgresqlTable(spark, postgresql.table_url(f"{name}-own").replace("//test:", "//writer:"))
    own.append(rows_at(spark, 0, 2), progress_of("load", 1, 2))
    assert offsets_in(own) == [0, 1]


def test_a_job_may_make_several_rows_of_a_record(spark: SparkSession, table: PostgresqlTable) -> None:
    table.append(rows_at(spark, 0, 2), progress_of("load", 1, 2))
    table.append(rows_at(spark, 2, 4).unionAll(rows_at(spark, 2, 4)), progress_of("load", 2, 4))
    table.append(rows_at(spark, 4, 5).unionAll(rows_at(spark, 4, 5)), progress_of("load", 3, 5))
    assert offsets_in(table) == [0, 1, 2, 2, 3, 3, 4, 4]


def test_replace_may_change_columns_and_their_types(spark: SparkSession, table: PostgresqlTable) -> None:
    table.append(spark.sql("SELECT 1 AS a, 2 AS b, array(1) AS c"), progress_of("load", 1, 1))
    rows = spark.sql("SELECT 'x' AS a, array('y') AS c, 3 AS d")
    table.replace(rows, progress_of("load", 2, 1))
    assert sorted(table.read().columns) == ["a", "c", "d"]
    assert table.read().select("a", "c", "d").collect() == rows.collect()


def test_what_is_kept_in_a_schema_is_apart(spark: SparkSession, postgresql: PostgresqlServer, name: str) -> None:
    postgresql.query('CREATE SCHEMA "Ware house"')
    table = PostgresqlTable(spark, postgresql.table_url(f"Ware%20house.{name}"))
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    assert offsets_in(table) == list(range(10))
    assert postgresql.query("SELECT sequence, progress ->> 'run' FROM \"Ware house\".barnabas_progress") == [
        (1, "load")
    ]
    assert staging_tables(postgresql) == []


def test_the_password_is_taken_from_the_environment_and_not_told(
    spark: SparkSession, postgresql: PostgresqlServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_password = PostgresqlTable(spark, postgresql.table_url(name))
    assert "secret" not in with_password.location
    without = PostgresqlTable(spark, with_password.location)
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    with pytest.raises(TableUnavailableError, match="password") as refused:
        without.exists()
    assert "secret" not in str(refused.value)
    monkeypatch.setenv("PGPASSWORD", "a secret / of 100 %")
    without.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    assert offsets_in(without) == list(range(10))


@pytest.mark.parametrize("location", ["postgresql://127.0.0.1/test", "http://127.0.0.1/test?table=a", "/tmp/table"])
def test_a_location_that_names_no_table_is_refused(spark: SparkSession, location: str) -> None:
    with pytest.raises(TableError, match=r"table=schema\.name"):
        PostgresqlTable(spark, location)


def held_up(
    spark: SparkSession, server: PostgresqlServer, table: PostgresqlTable, meanwhile: Callable[[], None]
) -> Exception | None:
    """Append while the run's progress is locked by another, who does something meanwhile; gives what came of it."""
    raised: list[Exception] = []

    def append() -> None:
        try:
            table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
        except (TableError, TableUnavailableError) as error:
            raised.append(error)

    thread = threading.Thread(target=append)
    with closing(server.connect()) as holder:
        holder.execute(HOLD_PROGRESS)
        thread.start()
        until(lambda: is_waiting(server))
        meanwhile()
    thread.join(PATIENCE_S)
    return raised[0] if raised else None


def test_rows_that_were_staged_and_are_gone_are_missed(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable
) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))

    def empty() -> None:
        # As a crash does with an unlogged table.
        for name in staging_tables(postgresql):
            postgresql.query(f"TRUNCATE {name}")

    error = held_up(spark, postgresql, table, empty)
    assert "10 rows were sent, but 0 were found" in str(error)
    assert last_sequence(table) == 1
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    assert offsets_in(table) == list(range(20))


def test_a_server_that_crashes_during_a_commit_has_rows_once(spark: SparkSession, name: str) -> None:
    with PostgresqlServer() as server:
        table = PostgresqlTable(spark, server.table_url(name))
        table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
        assert isinstance(held_up(spark, server, table, server.crash), TableUnavailableError)
        with pytest.raises(TableUnavailableError, match=f"port {server.port} failed"):
            table.progress("load")
        server.start()
        assert last_sequence(table) == 1
        table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
        assert offsets_in(table) == list(range(20))
        assert staging_tables(server) == []


@pytest.mark.timeout(600 + 60 * KILL_COUNT)
@pytest.mark.whole
def test_rows_are_there_once_however_the_driver_is_killed(
    postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    commit_count = kill_at_random("postgresql", table, postgresql.table_url(name), seed=20_262)
    assert offsets_in(table) == offsets_of(commit_count)
    assert staging_tables(postgresql) == []


@pytest.mark.timeout(900)
@pytest.mark.whole
def test_a_kill_between_the_staged_rows_and_their_commit_leaves_nothing(
    spark: SparkSession, postgresql: PostgresqlServer, table: PostgresqlTable, name: str
) -> None:
    location = postgresql.table_url(name)
    # Right after a commit, before the program knows of it.
    with appending("postgresql", location, 100) as program:
        program.wait_until(lambda: last_sequence(table) >= 1)
        program.kill()
    done = last_sequence(table)
    assert offsets_in(table) == offsets_of(done)
    with postgresql.connect() as holder, appending("postgresql", location, 100) as program:
        holder.execute(HOLD_PROGRESS)
        program.wait_until(lambda: is_waiting(postgresql))
        program.kill()
        holder.rollback()
    assert last_sequence(table) == done
    assert offsets_in(table) == offsets_of(done)
    # One of the second program, and perhaps one of the first, which went on staging until it was dead.
    assert staging_tables(postgresql)
    commit_count = finish("postgresql", table, location)
    assert offsets_in(table) == offsets_of(commit_count)
    assert staging_tables(postgresql) == []
