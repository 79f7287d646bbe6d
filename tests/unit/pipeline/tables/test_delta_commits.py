"""Commits of Delta tables without Spark."""

import os
import threading
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType
from deltalake.schema import StructType as DeltaStruct
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from barnabas.pipeline.tables.data_files import STATISTICS_COLUMN_COUNT
from barnabas.pipeline.tables.delta_lake import DeltaLakeTable
from barnabas.pipeline.tables.layout import Layout
from barnabas.pipeline.tables.table import Progress, RowsRefusedError, TableError, TableMovedError

COLUMNS = StructType().add("x", LongType())
NO_SESSION: Any = None
LONG, STRING = PrimitiveType("long"), PrimitiveType("string")


def progress_of(sequence: int, run: str = "load") -> Progress:
    return Progress(run, sequence, "cluster", {}, {})


def at_the_same_time(writers: Sequence[Callable[[], str]]) -> list[str]:
    """Run writers in threads; give what they return, or the kinds of their errors."""
    barrier, outcomes = threading.Barrier(len(writers)), list[str]()

    def run(writer: Callable[[], str]) -> None:
        barrier.wait()
        try:
            outcomes.append(writer())
        except Exception as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(outcomes)


def writer(path: Path, run: str, commit_count: int) -> Callable[[], str]:
    def write() -> str:
        table = DeltaLakeTable(NO_SESSION, str(path))
        for sequence in range(1, commit_count + 1):
            table.append_files([], COLUMNS, progress_of(sequence, run))
        return "written"

    return write


def test_of_two_first_commits_of_a_run_at_the_same_time_one_is_made(tmp_path: Path) -> None:
    for number in range(20):
        outcomes = at_the_same_time([writer(tmp_path / str(number), "load", 1)] * 2)
        assert outcomes == [TableMovedError.__name__, "written"], number


def test_a_commit_of_the_run_before_new_columns_are_added_refuses_the_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(tmp_path / "views")
    first, second = (DeltaLakeTable(NO_SESSION, location) for _ in range(2))
    first.append_files([], COLUMNS, progress_of(1))
    add_columns = deltalake.write_deltalake

    def overtaken(*arguments: Any, **options: Any) -> None:
        monkeypatch.undo()
        second.append_files([], COLUMNS, progress_of(2))
        add_columns(*arguments, **options)

    monkeypatch.setattr(deltalake, "write_deltalake", overtaken)
    with pytest.raises(TableMovedError):
        first.append_files([], StructType([*COLUMNS, StructField("user", StringType())]), progress_of(2))
    assert first.schema() == StructType([*COLUMNS, StructField("user", StringType())])
    first.append_files([], COLUMNS, progress_of(3))
    assert second.progress("load") == progress_of(3)


def appended(table: DeltaLakeTable, rows: pa.Table, progress: Progress) -> None:
    columns = from_arrow_schema(rows.schema)
    writer = table.sink(columns).open()
    writer.write(rows)
    table.append_files(writer.close(), columns, progress)


@pytest.mark.parametrize(
    ("field", "feature"),
    [
        (Field("object", DeltaStruct([Field("x", LONG, nullable=False)])), "NOT NULL"),
        (Field("x", LONG, metadata={"delta.invariants": '{"expression":{"expression":"x > 0"}}'}), "invariant"),
        (Field("y", LONG, metadata={"delta.generationExpression": "x + 1"}), "generated"),
        (Field("y", LONG, metadata={"delta.generationExpression": "SUBSTRING(text, 1, 1)"}), "generated"),
    ],
)
def test_a_table_with_rules_that_are_not_checked_is_refused(tmp_path: Path, field: Field, feature: str) -> None:
    fields = {each.name: each for each in (Field("x", LONG), Field("text", STRING), field)}
    deltalake.DeltaTable.create(tmp_path, Schema(list(fields.values())))
    with pytest.raises(TableError, match=feature):
        appended(DeltaLakeTable(NO_SESSION, str(tmp_path)), pa.table({"x": [1], "text": ["a"]}), progress_of(1))


def test_a_table_with_a_check_constraint_is_refused_by_its_name(tmp_path: Path) -> None:
    deltalake.DeltaTable.create(tmp_path, Schema([Field("x", LONG)])).alter.add_constraint({"positive": "x > 0"})
    table = DeltaLakeTable(NO_SESSION, str(tmp_path))
    for rows in (pa.table({"x": [-1]}), pa.table({"x": [1]})):
        with pytest.raises(TableError, match="CHECK constraint positive"):
            appended(table, rows, progress_of(1))


def test_a_generated_column_that_is_no_partition_column_is_computed(tmp_path: Path) -> None:
    first = Field("first", STRING, metadata={"delta.generationExpression": "SUBSTRING(text, 1, 1)"})
    deltalake.DeltaTable.create(tmp_path, Schema([Field("text", STRING), first]))
    table = DeltaLakeTable(NO_SESSION, str(tmp_path))
    appended(table, pa.table({"text": ["abc"]}), progress_of(1))
    appended(table, pa.table({"text": ["xyz"], "first": pa.array([None], pa.string())}), progress_of(2))
    rows = deltalake.DeltaTable(tmp_path).to_pyarrow_table().sort_by("text").to_pylist()
    assert rows == [{"text": "abc", "first": "a"}, {"text": "xyz", "first": "x"}]


def test_columns_without_counted_nulls_may_be_not_null(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(STATISTICS_COLUMN_COUNT + 2)]
    many = pa.table({name: [1] for name in names})
    for place, rows in {"list": pa.table({"x": [["a"]]}), "object": pa.table({"x": [{"y": 1}]}), "many": many}.items():
        made = DeltaLakeTable(NO_SESSION, str(tmp_path / place))
        appended(made, rows, progress_of(1))
        last = deltalake.DeltaTable(tmp_path / place).schema().fields[-1]
        required = Schema(
            [
                *(deltalake.DeltaTable(tmp_path / place).schema().fields[:-1]),
                Field(last.name, last.type, nullable=False),
            ]
        )
        deltalake.DeltaTable.create(tmp_path / f"{place}-required", required)
        appended(DeltaLakeTable(NO_SESSION, str(tmp_path / f"{place}-required")), rows, progress_of(1))
        assert deltalake.DeltaTable(tmp_path / f"{place}-required").to_pyarrow_table().num_rows == 1


def test_rows_with_a_null_in_a_column_that_is_not_null_are_refused(tmp_path: Path) -> None:
    schema = Schema([Field("x", LONG, nullable=False), Field("day", STRING, nullable=False)])
    deltalake.DeltaTable.create(tmp_path, schema, partition_by=["day"])
    table = DeltaLakeTable(NO_SESSION, str(tmp_path))
    good = pa.table({"x": [1, 2], "day": ["a", "b"]})
    appended(table, good, progress_of(1))
    for name in good.column_names:
        place = good.column_names.index(name)
        bad = good.set_column(place, name, pa.array([None, *good[name].to_pylist()[1:]], good[name].type))
        with pytest.raises(RowsRefusedError, match=f"{name} .*NOT NULL"):
            appended(table, bad, progress_of(2))
    # A column that is added leaves the rule as it is.
    appended(table, good.append_column("user", [["u", None]]), progress_of(2))
    with pytest.raises(RowsRefusedError):
        appended(table, bad, progress_of(3))
    with pytest.raises(TableError, match="the rows lack it") as raised:
        appended(table, good.drop_columns("x"), progress_of(3))
    assert raised.type is TableError
    assert deltalake.DeltaTable(tmp_path).to_pyarrow_table().num_rows == 4


@pytest.mark.parametrize("made_with", [None, inf])
def test_all_history_is_kept_when_asked_to(tmp_path: Path, made_with: float | None) -> None:
    table = DeltaLakeTable(NO_SESSION, str(tmp_path), Layout(keep_history_s=made_with))
    table.append_files([], COLUMNS, progress_of(1))
    keeping = DeltaLakeTable(NO_SESSION, str(tmp_path), Layout(keep_history_s=inf))
    keeping.trim_history()
    for sequence in range(2, 24):
        if sequence == 13:
            # After a checkpoint.
            for log_file in tmp_path.glob("_delta_log/*"):
                os.utime(log_file, (0, 0))
        keeping.append_files([], COLUMNS, progress_of(sequence))
    assert deltalake.DeltaTable(tmp_path, version=0).version() == 0
    DeltaLakeTable(NO_SESSION, str(tmp_path), Layout(keep_history_s=3600)).trim_history()
    assert not (tmp_path / "_delta_log" / f"{0:020}.json").exists()
    assert table.progress("load") == progress_of(23)


def test_runs_at_the_same_time_know_how_far_they_have_come(tmp_path: Path) -> None:
    runs = ("one", "two", "three")
    for number in range(20):
        path = tmp_path / str(number)
        assert at_the_same_time([writer(path, run, 3) for run in runs]) == ["written"] * 3, number
        table = DeltaLakeTable(NO_SESSION, str(path))
        assert [progress and progress.sequence for progress in map(table.progress, runs)] == [3] * 3
