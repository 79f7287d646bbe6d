"""Files that tasks write for a table: partitions, sort order, statistics, what is left after a failure."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions

from barnabas.pipeline.tables import data_files
from barnabas.pipeline.tables.data_files import DataFile, FileSink, generated_column, path_of, values_of_directories

TIMES = [datetime(2026, 3, 1, 23, 5, tzinfo=UTC), None, datetime(1969, 12, 31, 0, 59, 59, 999_999, tzinfo=UTC)]
ROWS = pa.table(
    {
        "id": [3, 1, None],
        "time": pa.array(TIMES, pa.timestamp("us", "UTC")),
        "text": ["2026-03-01T23:30:00-02:00", None, "no time"],
        "country": ["a b%", "", None],
    }
)


def files_under(directory: Path) -> list[str]:
    return sorted(str(file.relative_to(directory)) for file in directory.rglob("*.parquet"))


def written(sink: FileSink, *tables: pa.Table) -> list[DataFile]:
    writer = pickle.loads(pickle.dumps(sink)).open()
    for table in tables:
        writer.write(table)
    return list(writer.close())


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/tables/views/day=1/part.parquet", "/tables/views/day=1/part.parquet"),
        ("file:/tables/a%20b.parquet", "/tables/a%2520b.parquet"),
        ("/a b/x=\u00fc&1+2/'(c)'@{d}.parquet", "/a%20b/x=\u00fc&1+2/'(c)'@%7Bd%7D.parquet"),
        ("file:///tables/a.parquet", "/tables/a.parquet"),
        ("s3a://lake/tables//a.parquet", "/tables/a.parquet"),
        ("hdfs://name-node:8020/tables/a.parquet", "/tables/a.parquet"),
        ("hdfs:///tables/a.parquet", "/tables/a.parquet"),
    ],
)
def test_a_path_has_neither_scheme_nor_host(location: str, path: str) -> None:
    assert path_of(location) == path


def test_a_file_has_the_rows_of_one_combination_of_partition_values(tmp_path: Path) -> None:
    sink = FileSink(
        str(tmp_path),
        {},
        ("id", "time", "text", "country"),
        ("day", "country", "missing"),
        generated={"day": "CAST(`time` AS DATE)"},
    )
    other_names = ROWS.rename_columns(["ID", "Time", "Text", "Country"])
    files = written(sink, ROWS, other_names)
    assert [file.partition for file in files] == [
        {"day": "2026-03-01", "country": "a b%", "missing": None},
        {"day": None, "country": None, "missing": None},
        {"day": "1969-12-31", "country": None, "missing": None},
    ]
    assert files[0].path.startswith("day=2026-03-01/country=a b%25/missing=__HIVE_DEFAULT_PARTITION__/part-")
    for file, number in zip(files, (3, 1, None), strict=True):
        found = pq.ParquetFile(tmp_path / file.path)
        assert found.read()["id"].to_pylist() == [number, number]
        assert found.schema_arrow.names == ["id", "time", "text"]
        assert (file.row_count, file.size_bytes) == (2, (tmp_path / file.path).stat().st_size)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("part.parquet", []),
        ("other/part.parquet", [("other", "")]),
        ("day=1/country=a b%25%/part.parquet", [("day", "1"), ("country", "a b%%")]),
        ("day=__HIVE_DEFAULT_PARTITION__/part.parquet", [("day", None)]),
        ("a%3Db=c=d/part.parquet", [("a=b", "c=d")]),
        ("city=Z\u00fcrich/part.parquet", [("city", "Z\u00fcrich")]),
        ("city=Z%C3%bcrich/part.parquet", [("city", "Z\u00c3\u00bcrich")]),
    ],
)
def test_spark_takes_partition_values_from_directories(path: str, values: list[tuple[str, str | None]]) -> None:
    assert values_of_directories(path) == values


@pytest.mark.parametrize(("value", "length"), [("x" * 300, 255), ("\u65e5" * 100, 253), ("x" * 251, 255)], ids=range(3))
def test_a_long_partition_value_has_a_directory_with_a_short_name(tmp_path: Path, value: str, length: int) -> None:
    sink = FileSink(str(tmp_path), {}, None, ("day",), cuts_names=True)
    (file,) = written(sink, pa.table({"day": [value], "id": [1]}))
    assert (file.partition, len(file.path.partition("/")[0].encode())) == ({"day": value}, length)
    assert pq.ParquetFile(tmp_path / file.path).read().num_rows == 1


def test_a_generated_column_that_rows_have_gets_the_generated_value(tmp_path: Path) -> None:
    rows = ROWS.slice(0, 1).append_column("day", pa.nulls(1, pa.date32()))
    sink = FileSink(str(tmp_path), {}, tuple(rows.column_names), ("day",), generated={"day": "CAST(time AS DATE)"})
    (file,) = written(sink, rows)
    assert file.partition == {"day": "2026-03-01"}
    assert "day" not in pq.ParquetFile(tmp_path / file.path).schema_arrow.names


def test_a_task_sorts_its_rows_with_nulls_first(tmp_path: Path) -> None:
    (file,) = written(FileSink(str(tmp_path), {}, sorted_by=("id",)), ROWS, ROWS.slice(0, 1))
    assert pq.read_table(tmp_path / file.path)["id"].to_pylist() == [None, 1, 3, 3]


def test_a_task_without_rows_writes_no_file(tmp_path: Path) -> None:
    assert written(FileSink(str(tmp_path), {}), ROWS.slice(0, 0)) == []
    assert files_under(tmp_path) == []


def test_statistics_hold_bounds_of_the_values(tmp_path: Path) -> None:
    columns: dict[str, pa.Array] = {
        "long": pa.array(["x" * 33, "a" * 33, None]),
        "last": pa.array(["x" * 32 + "\U0010ffff" * 2, "a", None]),
        # The footer has no bounds of texts beyond 4096 bytes.
        "longest": pa.array(["x" * 5000, "a", None]),
        "inf": pa.array([1.5, float("inf"), None]),
        "is_new": pa.array([True, False, None]),
        "price": pa.array([Decimal("12345678901234567890.5"), Decimal(-1), None], pa.decimal128(38, 1)),
    }
    rows = pa.Table.from_arrays([*ROWS.columns, *columns.values()], [*ROWS.column_names, *columns])
    (file,) = written(FileSink(str(tmp_path), {}), rows)
    found = json.loads(file.statistics, parse_float=str)
    assert found["numRecords"] == 3
    assert found["minValues"] == {
        "id": 1,
        "time": "1969-12-31T00:59:59.999999Z",
        "text": "2026-03-01T23:30:00-02:00",
        "country": "",
        "long": "a" * 32,
        "last": "a",
        "longest": "",
        "is_new": False,
        "price": "-1.0",
    }
    assert found["maxValues"] == {
        "id": 3,
        "time": "2026-03-01T23:05:00.000000Z",
        "text": "no time",
        "country": "a b%",
        "long": "x" * 32 + "\U0010ffff",
        "last": "x" * 32 + "\U0010ffff" * 2,
        "longest": "\U0010ffff" * 33,
        "is_new": True,
        "price": "12345678901234567890.5",
    }
    assert found["nullCount"] == dict.fromkeys(rows.column_names, 1)


@pytest.mark.parametrize(
    "value", ["y" * 33, "y" * 5000, True, Decimal("2.5"), "y" * 32 + "\U0010ffff" * 2], ids=lambda value: str(value)[:3]
)
def test_delta_rs_finds_rows_by_every_column(tmp_path: Path, value: object) -> None:
    # It takes a bound that the statistics lack for a null, which no value matches.
    rows = pa.table({"found": [value, None, value], "id": [1, 2, 3]})
    (file,) = written(FileSink(str(tmp_path), {}), rows)
    action = AddAction(file.path, file.size_bytes, {}, 0, True, file.statistics)
    create_table_with_add_actions(str(tmp_path), Schema.from_arrow(rows.schema), [action], mode="error")
    table = DeltaTable(tmp_path)
    assert table.to_pyarrow_table(filters=pc.field("found") == value)["id"].to_pylist() == [1, 3]
    assert table.to_pyarrow_table(filters=pc.field("found").is_null())["id"].to_pylist() == [2]
    greatest = QueryBuilder().register("t", table).execute("SELECT max(found) AS found FROM t")
    assert pa.table(greatest).to_pylist() == [{"found": value}]


def test_values_that_python_has_no_date_for_have_no_statistics(tmp_path: Path) -> None:
    year_20000_days = 6_585_442
    rows = pa.table(
        {
            "day": pa.array([0, year_20000_days], pa.int32()).cast(pa.date32()),
            "time": pa.array([0, -year_20000_days * 86_400_000_000]).cast(pa.timestamp("us", "UTC")),
            "id": [1, 2],
        }
    )
    (file,) = written(FileSink(str(tmp_path), {}), rows)
    found = json.loads(file.statistics)
    assert (found["minValues"], found["maxValues"]) == ({"id": 1}, {"id": 2})
    assert found["nullCount"] == {"day": 0, "time": 0, "id": 0}


def test_early_years_have_four_digits_in_statistics_and_partitions(tmp_path: Path) -> None:
    rows = pa.table({"time": pa.array([datetime(33, 4, 3, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    (file,) = written(FileSink(str(tmp_path / "plain"), {}), rows)
    assert json.loads(file.statistics)["minValues"] == {"time": "0033-04-03T00:00:00.000000Z"}
    (file,) = written(
        FileSink(str(tmp_path / "divided"), {}, partition_columns=("time",)), rows.append_column("n", [[1]])
    )
    assert file.partition == {"time": "0033-04-03 00:00:00.000000"}


def test_a_task_that_fails_as_it_closes_a_file_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_metadata: object) -> str:
        raise RuntimeError("no statistics")

    monkeypatch.setattr(data_files, "_statistics", fail)
    writer = FileSink(str(tmp_path), {}, partition_columns=("country",)).open()
    writer.write(ROWS)
    with pytest.raises(RuntimeError):
        writer.close()
    writer.abort()
    assert files_under(tmp_path) == []


def test_an_aborted_task_leaves_no_file(tmp_path: Path) -> None:
    writer = FileSink(str(tmp_path), {}, partition_columns=("country",)).open()
    writer.write(ROWS)
    assert files_under(tmp_path)
    writer.abort()
    assert files_under(tmp_path) == []
    sink = FileSink(str(tmp_path), {})
    sink.delete([*(file.path for file in written(sink, ROWS)), "nosuch.parquet"])
    assert files_under(tmp_path) == []


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("YEAR(`time`)", [2026, None, 1969]),
        ("CAST(`Time` AS DATE)", [date(2026, 3, 1), None, date(1969, 12, 31)]),
        ("DATE_FORMAT(`time`, 'yyyy-MM-dd-HH')", ["2026-03-01-23", None, "1969-12-31-00"]),
        ("date_format(time, 'yyyy-MM')", ["2026-03", None, "1969-12"]),
        ("SUBSTRING(`country`, 1, 2)", ["a ", "", None]),
        ("cast(text as date)", [date(2026, 3, 2), None, None]),
        ("hour(text)", [1, None, None]),
    ],
)
def test_generated_partition_columns_are_computed(expression: str, values: list[object]) -> None:
    assert generated_column(expression, ROWS).to_pylist() == values


def test_a_text_whose_time_in_utc_is_no_date_has_no_partition_value() -> None:
    rows = pa.table({"text": ["9999-12-31T23:30:00-01:00", "0001-01-01T00:30:00+01:00"]})
    assert generated_column("cast(text as date)", rows).to_pylist() == [None, None]


@pytest.mark.parametrize("expression", ["date_format(time, 'yy')", "abs(id)", "year(nosuch)", "year(time) + 1"])
def test_an_unknown_generation_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="not supported"):
        generated_column(expression, ROWS)
