"""How tables lie in Delta and Iceberg: what divides and sorts their files, what is kept of their past."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import IdentityTransform, MonthTransform

from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.iceberg_catalogs import CatalogEntry
from barnabas.pipeline.tables.layout import Layout, parse_divisions
from barnabas.pipeline.tables.table import Progress, Table, TableError
from tests.pipeline.test_tables import progress_of
from tests.spark import shared_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


COLUMNS = "id INT, user STRING, time TIMESTAMP"
BY_DAY = Layout(parse_divisions("day(time)"), ("user",))


# Iceberg's history is cut in `test_table_iceberg.py`, too, and its rows are updated by key in `test_tables.py`.
IN_DELTA = pytest.mark.parametrize(
    "table_format", ["delta", pytest.param("iceberg", marks=pytest.mark.whole)], indirect=True
)


@pytest.fixture(params=["delta", "iceberg"])
def table_format(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def location(tmp_path: Path) -> str:
    return str(tmp_path / "warehouse" / "site" / "views")


def rows_of_days(spark: SparkSession, first: int, last: int) -> DataFrame:
    """Give rows, each an hour after the one before, of users in no order."""
    return spark.range(first, last, numPartitions=2).selectExpr(
        "CAST(id AS INT) AS id",
        "concat('user', pmod(id * 7, 11)) AS user",
        "TIMESTAMP'2026-03-01 00:00:00' + make_interval(0, 0, 0, 0, CAST(id AS INT)) AS time",
    )


def ids_of(table: Table) -> list[int]:
    return sorted(row["id"] for row in table.read().select("id").collect())


def data_files(location: str) -> list[Path]:
    return [file for file in Path(location).rglob("*.parquet") if "_delta_log" not in file.parts]


def days_and_users(file: Path) -> tuple[set[str], list[str]]:
    rows = duckdb.sql(f"SELECT time, user FROM '{file}' ORDER BY file_row_number").fetchall()
    return {time.date().isoformat() for time, _ in rows}, [user for _, user in rows]


def files_of_a_day(location: str, table_format: str) -> list[str]:
    """Return the files that others read for a condition on the time itself."""
    first, end = "2026-03-02T00:00:00+00:00", "2026-03-03T00:00:00+00:00"
    if table_format == "delta":
        rows = shared_session().read.format("delta").load(location).where(f"time >= '{first}' AND time < '{end}'")
        return rows.inputFiles()
    warehouse = Path(location).parents[1]
    catalog = SqlCatalog("barnabas", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))
    scan = catalog.load_table("site.views").scan(row_filter=f"time >= '{first}' and time < '{end}'")
    return [task.file.file_path for task in scan.plan_files()]


def test_files_are_divided_by_day_and_sorted(spark: SparkSession, table_format: str, location: str) -> None:
    table = open_table(spark, location, table_format, BY_DAY)
    table.append(rows_of_days(spark, 0, 72), progress_of("load", 1, 72))
    assert [users for _, users in map(days_and_users, data_files(location)) if users != sorted(users)] == []
    # One that was opened without, as other commands do, keeps to it.
    open_table(spark, location, table_format).append(rows_of_days(spark, 72, 120), progress_of("load", 2, 120))
    assert ids_of(table) == list(range(120))
    found = [days_and_users(file) for file in data_files(location)]
    assert {len(days) for days, _ in found} == {1}
    assert set().union(*(days for days, _ in found)) == {f"2026-03-0{day}" for day in range(1, 6)}
    # A condition on the time itself finds the files.
    assert len(files_of_a_day(location, table_format)) == len([1 for days, _ in found if days == {"2026-03-02"}])
    table.compact()
    compacted = open_table(spark, location, table_format)
    assert ids_of(compacted) == list(range(120))
    assert compacted.progress("load") == progress_of("load", 2, 120)


@IN_DELTA
def test_rows_in_a_divided_table_are_updated_by_key(spark: SparkSession, table_format: str, location: str) -> None:
    table = open_table(spark, location, table_format, BY_DAY)
    table.append(rows_of_days(spark, 0, 48), progress_of("load", 1, 48))
    later = rows_of_days(spark, 0, 48).where("id % 2 = 0").selectExpr("id", "user", "time + INTERVAL 9 DAYS AS time")
    new = rows_of_days(spark, 48, 50)
    table.update(later.unionByName(new), ["id"], progress_of("load", 2, 50))
    rows = {row["id"]: row["time"].day for row in table.read().collect()}
    assert rows == {id: 1 + id // 24 + (9 if id % 2 == 0 and id < 48 else 0) for id in range(50)}
    found = [days_and_users(file)[0] for file in data_files(location)]
    assert {len(days) for days in found} == {1}


def test_partition_values_with_any_characters_outlive_a_compaction(
    spark: SparkSession, table_format: str, tmp_path: Path
) -> None:
    # To Spark, a path with these characters may be a pattern.
    location = str(tmp_path / "a{b,c}*[d]" / "site" / "views")
    day, price = date(2026, 3, 1), Decimal("1.50")
    cities = ["Z\u00fcrich", "\u65e5\u672c", "a b%41/{*}\\", None, "\u65e5" * 70, "x" * 300]
    values = [(number, city, day if number else None, price) for number, city in enumerate(cities * 3)]
    rows = spark.createDataFrame(values, "id INT, city STRING, day DATE, price DECIMAL(5, 2)")
    table = open_table(spark, location, table_format, Layout(parse_divisions("city, day, price")))
    for number in range(3):
        table.append(rows.where(f"id DIV 6 = {number}").coalesce(1), progress_of("load", number + 1, 6))
    table.compact()
    # The other rows of the files that the compaction made are written again.
    table.update(rows.where("id DIV 6 = 2"), ["id"], progress_of("load", 4, 6))
    assert sorted(map(tuple, table.read().collect())) == values


def test_a_layout_that_can_not_be_is_refused(spark: SparkSession, table_format: str, location: str) -> None:
    rows = rows_of_days(spark, 0, 1)
    wrong = {"day(when)": "column when for partitioning or sorting does not exist; the columns are id, user, time"}
    if table_format == "delta":
        wrong["bucket(4, user)"] = "is not supported for delta tables, only a column, year, month, day, hour, truncate"
    else:
        wrong["day(user)"] = "can't be partitioned by day"
    for text, reason in wrong.items():
        layout = Layout(parse_divisions(text))
        with pytest.raises(TableError, match=reason.replace("(", r"\(")):
            open_table(spark, location, table_format, layout).append(rows, progress_of("load", 1, 1))
    open_table(spark, location, table_format).append(rows, progress_of("load", 1, 1))
    with pytest.raises(TableError, match="partitioned by nothing, which can't be changed to time_day"):
        open_table(spark, location, table_format, BY_DAY).append(rows, progress_of("load", 2, 2))


def made_by_others(spark: SparkSession, table_format: str, location: str) -> None:
    """Make a table by other means, with partitions, columns and a row that a load knows nothing of."""
    if table_format == "delta":
        columns = "id integer, user string, time timestamp, country string, score double, month string"
        fields = [Field(name, PrimitiveType(kind)) for name, kind in (each.split() for each in columns.split(", "))]
        generation = {"delta.generationExpression": "date_format(time, 'yyyy-MM')"}
        fields[-1] = Field("month", PrimitiveType("string"), metadata=generation)
        DeltaTable.create(location, Schema(fields), partition_by=["month", "country"])
        spark.sql(
            f"INSERT INTO delta.`{location}` (id, user, time, country, score) "
            "VALUES (-1, 'theirs', TIMESTAMP'2020-01-01', 'de', 0.5)"
        )
        return
    warehouse = Path(location).parents[1]
    warehouse.mkdir(parents=True)
    catalog = SqlCatalog("barnabas", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))
    catalog.create_namespace("site")
    own = {"id": pa.int32(), "user": pa.string(), "time": pa.timestamp("us", "UTC"), "country": pa.string()}
    schema = pa.schema({**own, "score": pa.float64()})
    table = catalog.create_table("site.views", schema, location=location)
    time = datetime(2020, 1, 1, tzinfo=UTC)
    row = {"id": -1, "user": "theirs", "time": time, "country": "de", "score": 0.5}
    table.append(pa.Table.from_pylist([row], schema))
    with table.update_spec() as spec:
        spec.add_field("time", MonthTransform(), "month")
        spec.add_field("country", IdentityTransform(), "country")


@IN_DELTA
def test_a_table_of_somebody_else_is_loaded_into_as_it_is(
    spark: SparkSession, table_format: str, location: str
) -> None:
    made_by_others(spark, table_format, location)
    table = open_table(spark, location, table_format)
    for number in range(2):
        rows = rows_of_days(spark, 10 * number, 10 * number + 10)
        table.append(rows, progress_of("load", number + 1, 10 * number + 10))
    assert ids_of(table) == [-1, *range(20)]
    own = table.read().where("id >= 0").select("country", "score").distinct()
    assert [tuple(row) for row in own.collect()] == [(None, None)]
    assert "month=2026-03" in {file.parent.parent.name for file in data_files(location)}
    # Theirs to say how long its past is kept.
    before = versions_of(spark, table_format, location)
    table.trim_history()
    assert versions_of(spark, table_format, location) == before == 3 + 2 * (table_format == "delta")


def versions_of(spark: SparkSession, table_format: str, location: str) -> int:
    """Return how many states of a table are kept; of Delta how many files."""
    if table_format == "delta":
        return len(data_files(location))
    return len(CatalogEntry({}, location).load().snapshots())


@IN_DELTA
def test_history_goes_when_a_table_says_so(spark: SparkSession, table_format: str, location: str) -> None:
    rows = rows_of_days(spark, 0, 4).coalesce(1)

    def replaced(layout: Layout, sequence: int) -> Progress:
        table = open_table(spark, location, table_format, layout)
        progress = progress_of("load", sequence, 4)
        table.replace(rows, progress)
        table.trim_history()
        assert ids_of(table) == list(range(4))
        return progress

    for sequence in range(1, 4):
        replaced(Layout(), sequence)
    # A new table says that it is kept for hours or days.
    assert versions_of(spark, table_format, location) == 3
    replaced(Layout(keep_history_s=math.inf), 4)
    assert versions_of(spark, table_format, location) == 4
    last = replaced(Layout(keep_history_s=0), 5)
    assert versions_of(spark, table_format, location) == 1
    assert open_table(spark, location, table_format).progress("load") == last
