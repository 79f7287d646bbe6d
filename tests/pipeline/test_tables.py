"""What every kind of table does: rows and progress are committed in one step, each commit once.

Of each format two tests tell the life of one table. Delta is asked what these do not, in `scripts/test --whole` each
format. What a format does by itself is in its own `test_table_*.py`.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from barnabas.pipeline.tables import delta_lake, parquet
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.layout import PLAIN, Layout, parse_divisions
from barnabas.pipeline.tables.table import Mark, Progress, Table, TableError, TableMovedError
from tests.pipeline.postgresql_server import postgresql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import DataFile

__all__ = ["postgresql"]  # a fixture


ALL_FORMATS = ["delta", "iceberg", "parquet", "postgresql"]
WHOLE = pytest.mark.whole
FORMATS = ["delta", *(pytest.param(name, marks=WHOLE) for name in ALL_FORMATS[1:])]
# Formats whose files can't be changed row by row.
WITHOUT_UPDATE = {"parquet"}
ALL_TYPES = {
    "text": "quote ' \" \\ \n tab \t \u00fc \U0001f600",
    "whole": -(2**63),
    "small": 2**31 - 1,
    "number": 0.1,
    "is_true": True,
    "time": datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    "words": ["a", None],
    "object": {"name": "x", "count": 1},
    "nothing": None,
}
ALL_TYPES_DDL = (
    "text STRING, whole BIGINT, small INT, number DOUBLE, is_true BOOLEAN, time TIMESTAMP, words ARRAY<STRING>,"
    " object STRUCT<name: STRING, count: BIGINT>, nothing STRING"
)


@dataclass
class Place:
    """Where a test's table is; each `open` gives it as a fresh process would see it."""

    spark: SparkSession
    format_name: str
    location: str
    _sequences: dict[str, int] = field(default_factory=dict)

    def open(self, layout: Layout = PLAIN) -> Table:
        return open_table(self.spark, self.location, self.format_name, layout)

    def next(self, run: str = "load", end: int = 0) -> Progress:
        """Give the progress of a run's next commit: all up to `end` of partition 0 is read."""
        self._sequences[run] = self._sequences.get(run, 0) + 1
        return progress_of(run, self._sequences[run], end)


@pytest.fixture(params=FORMATS)
def place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Place:
    return place_of(request, spark, tmp_path)


@pytest.fixture
def any_place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Place:
    return place_of(request, spark, tmp_path)


def place_of(request: pytest.FixtureRequest, spark: SparkSession, directory: Path) -> Place:
    if request.param == "postgresql":
        location = request.getfixturevalue("postgresql").table_url(directory.name)
    else:
        location = str(directory / "table")
    return Place(spark, request.param, location)


@pytest.fixture
def table(place: Place) -> Table:
    return place.open()


def progress_of(run: str, sequence: int, end: int) -> Progress:
    return Progress(
        run, sequence, "cluster-1", {"views": {0: end}}, {"views": {0: Mark(end - 1, 1_700_000_000_000, 7)}}
    )


def rows_at(spark: SparkSession, start: int, end: int, partition: int = 0) -> DataFrame:
    """Give one row for each offset."""
    return spark.range(start, end, 1, 2).selectExpr(
        "'views' AS _topic", f"{partition} AS _partition", "id AS _offset", "concat('page-', id) AS page"
    )


def offsets_in(table: Table) -> list[int]:
    return sorted(row["_offset"] for row in table.read().select("_offset").collect())


def write_at_the_same_time(place: Place, starts: Sequence[int], sequence: int = 1) -> list[str]:
    """Let writers make the same commit of the same run, each ten rows from its start on; give what came of it."""
    barrier = threading.Barrier(len(starts))
    outcomes: list[str] = []

    def write(start: int) -> None:
        table = place.open()
        barrier.wait()
        try:
            table.append(rows_at(place.spark, start, start + 10), progress_of("load", sequence, start))
        except TableMovedError:
            outcomes.append("refused")
        else:
            outcomes.append(f"written {start}")

    threads = [threading.Thread(target=write, args=(start,)) for start in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def races(place: Place, count: int) -> None:
    """Let two drivers of one run make so many commits at the same time: of each, one is made."""
    won = []
    for sequence in range(1, count + 1):
        outcomes = write_at_the_same_time(place, (1_000 * sequence, 1_000 * sequence + 100), sequence)
        won += [each for each in outcomes if each != "refused"]
        assert len(won) == sequence, (sequence, outcomes)
    starts = [int(each.removeprefix("written ")) for each in won]
    assert offsets_in(place.open()) == sorted(start + offset for start in starts for offset in range(10))


def broken_rows(spark: SparkSession) -> DataFrame:
    """Give rows from offset 10 on of which one can't be computed."""
    return rows_at(spark, 10, 20).selectExpr(
        "_topic", "_partition", "_offset", "IF(_offset = 17, raise_error('broken'), page) AS page"
    )


@WHOLE
def test_a_batch_without_rows_moves_the_progress(place: Place, table: Table) -> None:
    for end in (0, 5, 9):
        table.append(rows_at(place.spark, 0, 0), place.next(end=end))
    assert place.open().progress("load") == progress_of("load", 3, 9)
    assert offsets_in(table) == []
    assert table.read().columns == ["_topic", "_partition", "_offset", "page"]


def test_runs_at_the_same_time_lose_nothing(place: Place) -> None:
    runs = ["one", "two", "three"]
    errors: list[BaseException] = []

    def write(number: int, run: str) -> None:
        try:
            table = place.open()
            for sequence in (1, 2):
                start = 1_000 * number + 10 * sequence
                table.append(rows_at(place.spark, start, start + 10), progress_of(run, sequence, sequence))
        except BaseException as error:  # it is raised below, in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number, run)) for number, run in enumerate(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    seen = place.open()
    assert [seen.progress(run) for run in runs] == [progress_of(run, 2, 2) for run in runs]
    assert offsets_in(seen) == [1_000 * number + offset for number in range(3) for offset in range(10, 30)]


@pytest.mark.whole
def test_of_fifty_races_each_has_one_winner(place: Place) -> None:
    races(place, 50)


@pytest.mark.parametrize(("format_name", "module"), [("delta", delta_lake), ("parquet", parquet)])
def test_a_writer_that_was_overtaken_by_the_same_run_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_name: str, module: ModuleType
) -> None:
    slow, fast = (open_table(spark, str(tmp_path / "table"), format_name) for _ in range(2))
    slow.append(rows_at(spark, 0, 5), progress_of("load", 1, 5))
    check_sequence = module.check_sequence

    def before_the_other(*arguments: object) -> None:
        check_sequence(*arguments)
        monkeypatch.setattr(module, "check_sequence", check_sequence)
        fast.append(rows_at(spark, 5, 10), progress_of("load", 2, 10))

    monkeypatch.setattr(module, "check_sequence", before_the_other)
    with pytest.raises(TableMovedError, match="another writer has just made commit 2 of run load"):
        slow.append(rows_at(spark, 100, 110), progress_of("load", 2, 110))
    assert offsets_in(slow) == list(range(10))
    assert slow.progress("load") == progress_of("load", 2, 10)


@WHOLE
def test_new_columns_appear_and_missing_ones_are_null(place: Place, table: Table) -> None:
    spark = place.spark
    table.append(spark.createDataFrame([(1, "a")], "id INT, page STRING"), place.next())
    table.append(spark.createDataFrame([(2, 0.5)], "id INT, score DOUBLE"), place.next())
    table.append(spark.createDataFrame([("c", 3)], "PAGE STRING, id INT"), place.next())
    table.append(spark.createDataFrame([(4,)], "id INT").selectExpr("id", "NULL AS later"), place.next())
    rows = table.read()
    assert rows.columns == ["id", "page", "score"]
    found = [tuple(row) for row in rows.orderBy("id").collect()]
    assert found == [(1, "a", None), (2, None, 0.5), (3, "c", None), (4, None, None)]


@WHOLE
def test_a_changed_type_is_refused_by_name(place: Place, table: Table) -> None:
    spark = place.spark
    table.append(spark.createDataFrame([(1, 2)], "id INT, count INT"), place.next(end=1))
    for column_type in ("STRING", "DOUBLE", "BOOLEAN", *(() if place.format_name == "iceberg" else ("BIGINT",))):
        with pytest.raises(TableError, match=rf"column count is int in the table and {column_type.lower()} in"):
            table.append(spark.sql(f"SELECT 2 AS id, CAST(3 AS {column_type}) AS count"), progress_of("load", 2, 2))
    assert [tuple(row) for row in table.read().collect()] == [(1, 2)]
    assert table.progress("load") == progress_of("load", 1, 1)


def test_a_changed_type_within_an_object_is_refused_by_name(place: Place, table: Table) -> None:
    table.append(place.spark.sql("SELECT named_struct('a', array(named_struct('b', 1))) AS object"), place.next())
    if place.format_name == "postgresql":
        pytest.skip("an object is one value of JSON there")
    with pytest.raises(TableError, match=r"column object\.a\[\]\.b is int in the table and string in"):
        table.append(place.spark.sql("SELECT named_struct('a', array(named_struct('b', '1'))) AS object"), place.next())


@WHOLE
def test_a_table_may_start_with_odd_names(place: Place, table: Table) -> None:
    table.append(place.spark.sql("SELECT 1 AS `with blank`, 2 AS `x,y`"), place.next())
    assert [row.asDict() for row in table.read().collect()] == [{"with blank": 1, "x,y": 2}]


def test_update_puts_rows_in_the_place_of_those_with_the_same_key(place: Place, table: Table) -> None:
    spark = place.spark
    if place.format_name in WITHOUT_UPDATE:
        with pytest.raises(TableError, match="delta"):
            table.update(spark.range(1), ["id"], place.next())
        assert not table.exists()
        return
    first = spark.createDataFrame([("a", None, 1), ("b", "x", 2)], "k STRING, l STRING, votes INT")
    table.update(first, ["k", "l"], place.next())
    second = spark.createDataFrame(
        [("a", None, 10, "new"), ("b", "y", 3, None)], "k STRING, l STRING, votes INT, n STRING"
    )
    table.update(second, ["k", "l"], place.next())
    # What a row does not have is null then: it takes the other's place, whole.
    table.update(spark.createDataFrame([("a", None)], "k STRING, l STRING"), ["k", "l"], place.next(end=9))
    found = sorted(tuple(row) for row in table.read().fillna("-").fillna(0).collect())
    assert found == [("a", "-", 0, "-"), ("b", "x", 2, "-"), ("b", "y", 3, "-")]
    assert place.open().progress("load") == progress_of("load", 3, 9)
    with pytest.raises(TableMovedError):
        table.update(first, ["k", "l"], progress_of("load", 3, 0))


@pytest.mark.parametrize("order", [(1, 0, 2), *(pytest.param(each, marks=WHOLE) for each in ((0, 1, 2), (0, 2, 1)))])
def test_of_records_of_a_key_the_latest_stays_whatever_order_partitions_are_read_in(
    place: Place, table: Table, order: tuple[int, ...]
) -> None:
    if place.format_name in WITHOUT_UPDATE:
        return
    ddl = "_key STRING, n INT, _topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP, _deleted BOOLEAN"

    def row(key: str, n: int | None, partition: int, offset: int, second: int) -> tuple[object, ...]:
        time = datetime(2026, 3, 6, 19, 0, second, tzinfo=UTC)
        return key, n, None if n is None else "views", partition, offset, time, n is None

    # Moved from partition 0 to 1; marked as deleted in 2; the offset counts, not the time; never there.
    batches = [
        [row("moved", 1, 0, 9, 10), row("gone", 1, 0, 3, 10), row("same", 1, 0, 1, 30), row("same-2", 1, 0, 2, 5)],
        [row("moved", 2, 1, 0, 20), row("same-2", 2, 1, 7, 5)],
        [row("gone", None, 2, 0, 30), row("never", None, 2, 1, 30)],
    ]
    marks = ("_deleted", "_partition", "_offset", "_timestamp")
    last = [*batches[1], row("same", 2, 0, 2, 1)]
    for end, rows in enumerate([*(batches[number] for number in order), batches[0], last], 1):
        frame = place.spark.createDataFrame(rows, ddl)
        table.update(frame, ["_key"], place.next(end=end), "_topic IS NULL", marks)
    names = ("_key", "n", "_topic", "_partition", "_offset", "_deleted")
    assert sorted(tuple(each) for each in table.read().select(*names).collect()) == [
        ("gone", 1, "views", 2, 0, True),
        ("moved", 2, "views", 1, 0, False),
        ("same", 2, "views", 0, 2, False),
        ("same-2", 2, "views", 1, 7, False),
    ]
    assert place.open().progress("load") == progress_of("load", 5, 5)


@WHOLE
def test_an_update_without_rows_moves_the_progress(place: Place, table: Table) -> None:
    if place.format_name in WITHOUT_UPDATE:
        return
    rows = place.spark.createDataFrame([("a", 1)], "k STRING, votes INT")
    table.update(rows, ["k"], place.next(end=1))
    table.update(rows.where("false"), ["k"], place.next(end=2))
    assert place.open().progress("load") == progress_of("load", 2, 2)
    assert [tuple(row) for row in table.read().collect()] == [("a", 1)]


def test_replace_puts_rows_in_the_place_of_all(place: Place, table: Table) -> None:
    spark = place.spark
    table.replace(spark.createDataFrame([(1, "a")], "id INT, page STRING"), place.next())
    table.append(rows_at(spark, 0, 3), place.next("other", 3))
    table.replace(spark.createDataFrame([("x", 0.5)], "id STRING, score DOUBLE"), place.next())
    assert table.read().columns == ["id", "score"]
    assert [tuple(row) for row in table.read().collect()] == [("x", 0.5)]
    seen = place.open()
    assert seen.progress("load") == progress_of("load", 2, 0)
    assert seen.progress("other") == progress_of("other", 1, 3)


@WHOLE
def test_replace_takes_rows_read_from_the_table_itself(place: Place, table: Table) -> None:
    table.append(rows_at(place.spark, 0, 10), place.next())
    table.replace(table.read().where("_offset % 2 = 0"), place.next())
    assert offsets_in(place.open()) == [0, 2, 4, 6, 8]
    table.replace(table.read().where("false"), place.next())
    assert offsets_in(place.open()) == []


def test_replace_of_some_rows_leaves_the_others(place: Place, table: Table) -> None:
    table.replace(place.spark.range(6).selectExpr("id", "id DIV 2 AS unit"), place.next())
    table.append(place.spark.range(6, 7).selectExpr("id", "CAST(NULL AS BIGINT) AS unit"), place.next("other", 1))
    table.replace(place.spark.range(10, 11).selectExpr("id", "1L AS unit"), place.next(), where="unit IN (1, 2)")
    rows = table.read().selectExpr("id", "unit").collect()
    assert sorted(map(tuple, rows)) == [(0, 0), (1, 0), (6, None), (10, 1)]
    assert place.open().progress("load") == progress_of("load", 2, 0)


def test_cut_takes_away_the_rows_for_which_a_condition_holds(place: Place, table: Table) -> None:
    """As a retention of facts tells it: what is old, and was there. A topic may be called like a column."""
    columns = ("timestamp_seconds(id) AS time", "'by_partition' AS _topic", "0 AS _partition", "id AS _offset")
    table.append(place.spark.range(10).selectExpr(*columns), place.next())
    old = "(time < '1970-01-01 00:00:05+00:00') AND (_topic = 'by_partition' AND _partition = 0 AND _offset <= 3)"
    assert table.delete_rows({}, place.next("keep", 5), old) == 4
    assert sorted(row["_offset"] for row in place.open().read().collect()) == [4, 5, 6, 7, 8, 9]
    assert place.open().progress("keep") == progress_of("keep", 1, 5)


def test_cut_takes_away_what_was_read_from_an_offset_on(place: Place, table: Table) -> None:
    table.append(rows_at(place.spark, 0, 10), place.next())
    table.append(rows_at(place.spark, 10, 20).unionAll(rows_at(place.spark, 0, 5, partition=1)), place.next())
    table.append(rows_at(place.spark, 0, 4, partition=2), place.next())
    progress = place.next(end=7)
    # What is at an end or above it, another run has read.
    ends = {"views": {0: 18, 2: 1}}
    assert table.delete_rows({"views": {0: 7, 1: 0}, "clicks": {2: 0}}, progress, ends=ends) == 16
    seen = place.open()
    left = sorted((row["_partition"], row["_offset"]) for row in seen.read().collect())
    assert left == [(0, offset) for offset in (*range(7), 18, 19)] + [(2, offset) for offset in range(4)]
    assert seen.progress("load") == progress
    table.append(rows_at(place.spark, 7, 9), place.next(end=9))
    assert offsets_in(place.open()) == sorted([*range(9), 18, 19, *range(4)])


@WHOLE
def test_cut_of_nothing_moves_the_progress(place: Place, table: Table) -> None:
    table.append(rows_at(place.spark, 0, 10), place.next())
    nothing: list[dict[str, dict[int, int]]] = [{}, {"views": {}}, {"views": {0: 10}}, {"it's \\ odd": {0: 0}}]
    for end, offsets in enumerate(nothing):
        progress = place.next(end=end)
        assert table.delete_rows(offsets, progress) == 0
        assert place.open().progress("load") == progress
    assert offsets_in(table) == list(range(10))


@WHOLE
def test_a_table_without_places_is_not_cut(place: Place, table: Table) -> None:
    table.append(place.spark.createDataFrame([(1,)], "id INT"), place.next(end=1))
    with pytest.raises(TableError, match="_topic, _partition, _offset"):
        table.delete_rows({"views": {0: 0}}, place.next())
    assert table.progress("load") == progress_of("load", 1, 1)


@WHOLE
def test_compact_makes_fewer_files_of_the_same_rows(place: Place, table: Table) -> None:
    for number in range(4):
        table.append(rows_at(place.spark, 10 * number, 10 * number + 10), place.next(end=10 * number + 10))
    table.append(rows_at(place.spark, 100, 101), place.next("other", 101))
    done = table.compact()
    if place.format_name != "postgresql":
        assert done.files_before >= 9
        assert 1 <= done.files_after <= 2
    seen = place.open()
    assert offsets_in(seen) == [*range(40), 100]
    assert seen.progress("load") == progress_of("load", 4, 40)
    assert seen.progress("other") == progress_of("other", 1, 101)
    table.append(rows_at(place.spark, 40, 50), place.next(end=50))
    assert offsets_in(place.open()) == [*range(50), 100]


@WHOLE
def test_files_are_divided_as_asked_for(place: Place) -> None:
    table = place.open(Layout(parse_divisions("day")))
    rows = place.spark.createDataFrame([("2015-05-17", 1), ("2015-05-18", 2), (None, 3)], "day STRING, id INT")
    table.append(rows, place.next())
    table.append(rows, place.next())
    found = sorted((row["day"] or "", row["id"]) for row in table.read().collect())
    assert found == [("", 3)] * 2 + [("2015-05-17", 1)] * 2 + [("2015-05-18", 2)] * 2
    table.replace(table.read().where("id > 1"), place.next())
    assert sorted(row["id"] for row in table.read().collect()) == [2, 2, 3, 3]


@pytest.mark.parametrize("format_name", ["delta", "parquet"])
def test_files_that_tasks_wrote_are_committed_with_new_columns(
    spark: SparkSession, tmp_path: Path, format_name: str
) -> None:
    layout = Layout(parse_divisions("day(time)" if format_name == "delta" else "user"), ("id",))
    table = open_table(spark, str(tmp_path / "table"), format_name, layout)
    columns = spark.createDataFrame([], "id BIGINT, time TIMESTAMP, user STRING").schema
    time = datetime(2026, 3, 1, 23, tzinfo=UTC)

    def write(columns: StructType, *rows: tuple[object, ...]) -> list[DataFile]:
        writer = pickle.loads(pickle.dumps(table.sink(columns))).open()
        named = [dict(zip(columns.names, row, strict=True)) for row in rows]
        writer.write(pa.Table.from_pylist(named, to_arrow_schema(columns)))
        return list(writer.close())

    dropped = write(columns, (0, time, "d"))
    files = write(columns, (2, time, "a"), (1, time, "a"))
    assert [file.row_count for file in files] == [2]
    table.append_files(files, columns, progress_of("load", 1, 1))
    table.discard(dropped)
    table.append_files([], columns, progress_of("load", 2, 2))
    more = spark.createDataFrame([], "ID BIGINT, object STRUCT<a: BIGINT>, time TIMESTAMP, user STRING").schema
    files = write(more, (3, {"a": 7}, None, "b"))
    table.append_files(files, more, progress_of("load", 3, 3))
    with pytest.raises(TableMovedError):
        table.append_files(write(columns, (9, time, "a")), columns, progress_of("load", 3, 3))
    with pytest.raises(TableError, match="column id is bigint in the table and string in the new rows"):
        table.sink(spark.createDataFrame([], "id STRING, time TIMESTAMP, user STRING").schema)
    seen = open_table(spark, str(tmp_path / "table"), format_name)
    rows = seen.read().selectExpr("id", "unix_seconds(time)", "user", "object.a").orderBy("id").collect()
    second = int(time.timestamp())
    assert [tuple(row) for row in rows] == [(1, second, "a", None), (2, second, "a", None), (3, None, "b", 7)]
    assert seen.progress("load") == progress_of("load", 3, 3)
    if format_name == "delta":
        found = spark.read.format("delta").load(str(tmp_path / "table")).where("day(time) = 1 OR id = 3")
        assert found.count() == 3


def commit_rows_and_progress_in_one_step(place: Place) -> None:
    """Live the life of one table, of whatever format and place, and see that each commit is there whole, once."""
    spark, table = place.spark, place.open()
    assert not table.exists()
    assert table.progress("load") is None
    with pytest.raises(TableError, match="does not exist"):
        table.read()
    assert sorted(write_at_the_same_time(place, (0, 0))) == ["refused", "written 0"]
    for sequence in (0, 1, 3):
        with pytest.raises(TableMovedError, match="load"):
            table.append(rows_at(spark, 10, 20), progress_of("load", sequence, 20))
    table.append(rows_at(spark, 100, 110), place.next("backfill", 110))
    # What fails leaves nothing, and a batch without rows moves the progress.
    with pytest.raises(Exception, match="broken"):
        table.append(broken_rows(spark), progress_of("load", 2, 20))
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    table.append(rows_at(spark, 0, 0), progress_of("load", 3, 25))
    seen = place.open()
    assert seen.progress("load") == progress_of("load", 3, 25)
    assert seen.progress("backfill") == progress_of("backfill", 1, 110)
    assert offsets_in(seen) == [*range(20), *range(100, 110)]
    assert seen.delete_rows({"views": {0: 15}}, progress_of("load", 4, 15)) == 15
    done = seen.compact()
    if place.format_name != "postgresql":
        assert (done.files_before > 2, done.files_after) == (True, 1)
    seen.replace(seen.read().where("_offset % 2 = 0"), progress_of("load", 5, 15))
    seen = place.open()
    assert offsets_in(seen) == list(range(0, 15, 2))
    assert seen.progress("load") == progress_of("load", 5, 15)
    assert seen.progress("backfill") == progress_of("backfill", 1, 110)


@pytest.mark.parametrize("any_place", ALL_FORMATS, indirect=True)
def test_a_table_commits_rows_and_progress_in_one_step(any_place: Place) -> None:
    commit_rows_and_progress_in_one_step(any_place)


def take_all_values_and_new_columns(place: Place) -> None:
    """Live another life: see that values, columns and rows by key are as they were given."""
    spark, table = place.spark, place.open(Layout(parse_divisions("small")))
    table.append(spark.createDataFrame([ALL_TYPES], ALL_TYPES_DDL), place.next())
    (found,) = [row.asDict(recursive=True) for row in table.read().collect()]
    assert found == {**ALL_TYPES, "time": found["time"]}
    assert table.read().selectExpr("unix_micros(time)").collect()[0][0] == -1
    with pytest.raises(TableError, match="column whole is bigint in the table and string in"):
        table.append(spark.sql("SELECT 'a' AS whole"), progress_of("load", 2, 2))
    names = ["small", "TEXT", "with blank", "with.dot", "\u00fcn\u00ef", "it's", "a=b;c", "{}", "back`tick"]
    types = ["INT", "STRING", *(["INT"] * 7)]
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in zip(names, types, strict=True))
    table.append(spark.createDataFrame([(2, "b", *range(7))], ddl), place.next())
    rows = place.open().read()
    # Delta has what divides a new table's files last.
    made = sorted(ALL_TYPES, key="small".__eq__) if place.format_name == "delta" else [*ALL_TYPES]
    assert rows.columns == [*made, *names[2:]]
    assert sorted((row["small"], row["text"], row["with.dot"]) for row in rows.collect()) == [
        (2, "b", 1),
        (2**31 - 1, ALL_TYPES["text"], None),
    ]
    if place.format_name in WITHOUT_UPDATE:
        with pytest.raises(TableError, match="delta"):
            table.update(spark.sql("SELECT 'b' AS text"), ["text"], place.next())
        return
    # The row takes the other's place, whole.
    table.update(spark.sql("SELECT 'b' AS text, 7L AS whole"), ["text"], place.next(end=9))
    found_rows = sorted((row["text"], row["whole"], row["with.dot"]) for row in place.open().read().collect())
    assert found_rows == [("b", 7, None), (ALL_TYPES["text"], -(2**63), None)]
    assert place.open().progress("load") == progress_of("load", 3, 9)


# PostgreSQL's types, and Parquet's new columns, are in their own files, too.
@pytest.mark.parametrize(
    "any_place", [*ALL_FORMATS[:2], *(pytest.param(name, marks=WHOLE) for name in ALL_FORMATS[2:])], indirect=True
)
def test_a_table_takes_all_values_and_new_columns(any_place: Place) -> None:
    take_all_values_and_new_columns(any_place)
