"""Commits of Delta tables without Spark."""

import json
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType
from deltalake.schema import StructType as DeltaStruct
from deltalake.transaction import RemoveAction
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from barnabas.pipeline.tables.data_files import STATISTICS_COLUMN_COUNT
from barnabas.pipeline.tables.delta_lake import DeltaLakeTable
from barnabas.pipeline.tables.delta_rules import check_removable
from barnabas.pipeline.tables.layout import Layout, parse_divisions
from barnabas.pipeline.tables.table import Compaction, Progress, RowsRefusedError, TableError, TableMovedError

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


def test_a_run_resumes_at_the_version_to_which_its_table_was_restored(tmp_path: Path) -> None:
    deltalake.DeltaTable.create(tmp_path, Schema([Field("x", LONG)]))
    table = DeltaLakeTable(NO_SESSION, str(tmp_path))
    for sequence in range(1, 6):
        table.append_files([], COLUMNS, progress_of(sequence))
    # The last three restore versions that earlier restores had undone, or had made.
    for version, sequence in [(3, 3), (1, 1), (5, 5), (2, 2), (7, 1)]:
        deltalake.DeltaTable(tmp_path).restore(version)
        assert table.progress("load") == progress_of(sequence), version
    table.append_files([], COLUMNS, progress_of(2))
    table.trim_history()
    assert table.progress("load") == progress_of(2)
    # Before the run's first commit.
    deltalake.DeltaTable(tmp_path).restore(0)
    assert table.progress("load") is None
    table.append_files([], COLUMNS, progress_of(1))
    assert table.progress("load") == progress_of(1)


def test_a_table_that_was_restored_to_a_time_is_refused_until_it_is_restored_to_a_version(tmp_path: Path) -> None:
    table = DeltaLakeTable(NO_SESSION, str(tmp_path))
    for sequence in (1, 2):
        table.append_files([], COLUMNS, progress_of(sequence))
    deltalake.DeltaTable(tmp_path).restore(datetime(2015, 5, 17, tzinfo=UTC))
    with pytest.raises(TableError, match="commit 2 restored the table to a time"):
        table.progress("load")
    with pytest.raises(TableError, match="to a time"):
        table.compact()
    deltalake.DeltaTable(tmp_path).restore(0)
    assert table.progress("load") == progress_of(1)


def logged_elsewhere(location: Path, columns: Sequence[str], *files: tuple[str, Sequence[str | None]]) -> None:
    """Make a table, divided by columns, with one row in each file; its log has the paths as they are."""
    fields = [Field("city", STRING), Field("user", STRING), Field("day", LONG), Field("x", LONG)]
    deltalake.DeltaTable.create(location, Schema(fields), partition_by=list(columns))
    actions: list[dict[str, object]] = [{"commitInfo": {"operation": "WRITE", "operationParameters": {}}}]
    for number, (path, values) in enumerate(files):
        file = location / unquote(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [number]}), file)
        partition = dict(zip(columns, values, strict=True))
        facts = {"path": path, "partitionValues": partition, "size": file.stat().st_size}
        actions.append({"add": {**facts, "modificationTime": 0, "dataChange": True, "stats": '{"numRecords":1}'}})
    text = "\n".join(json.dumps(each, ensure_ascii=False) for each in actions)
    (location / "_delta_log" / f"{1:020}.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("directory", "is_removed"),
    [
        # As delta-rs and therefore Barnabas log a directory in UTF-8, and the directory of a compaction by delta-rs.
        ("city=Z%C3%BCrich", True),
        ("city=Z%25C3%25BCrich", True),
        ("city=a%20b%2523+&'(c)'@,;:=!$_-.~", True),
        # As Delta for Spark logs it.
        ("city=Z\u00fcrich", False),
        ("city=Z%c3%bcrich", False),
        ("city=a b", False),
        ("city=%61", False),
    ],
)
def test_files_that_delta_rs_can_not_remove_are_refused(tmp_path: Path, directory: str, is_removed: bool) -> None:
    logged_elsewhere(tmp_path, ["city"], (f"{directory}/0.parquet", ["Z\u00fcrich"]))
    found = deltalake.DeltaTable(tmp_path)
    (path,) = pa.table(found.get_add_actions())["path"].to_pylist()
    found.create_write_transaction([RemoveAction(unquote(path), True, 1)], "append", found.schema(), ["city"])
    assert (deltalake.DeltaTable(tmp_path).file_uris() == []) == is_removed
    if is_removed:
        check_removable([path], "table")
    else:
        with pytest.raises(TableError, match="can't remove"):
            check_removable([path], "table")


ZURICH = "Z\u00fcrich"
ST_JOHNS = "St. John's"


@pytest.mark.parametrize(
    ("columns", "removable", "other", "count_after"),
    [
        (["city"], ("city=Bern", ["Bern"]), (f"city={ZURICH}", [ZURICH]), 3),
        (["city"], ("city=Bern", ["Bern"]), (f"city=no {ST_JOHNS}", [ST_JOHNS]), 3),
        # Only the value that is the cause.
        (["city", "user"], ("city=Bern/user=u", ["Bern", "u"]), (f"city=Bern/user={ZURICH}", ["Bern", ZURICH]), 3),
        (["city", "user"], ("city=Bern/user=u", ["Bern", "u"]), (f"a b/{ZURICH}", [None, ZURICH]), 3),
        # Nothing says which partitions delta-rs is to leave out.
        (["city"], ("city=Bern", ["Bern"]), (ZURICH, [None]), 4),
        (["day"], ("day=1", ["1"]), (ZURICH, ["2"]), 4),
        ([], (".", []), (ZURICH, []), 4),
    ],
)
def test_partitions_with_files_that_delta_rs_can_not_remove_are_not_compacted(
    tmp_path: Path,
    columns: list[str],
    removable: tuple[str, list[str]],
    other: tuple[str, list[str | None]],
    count_after: int,
) -> None:
    files = [(f"{directory}/{number}.parquet", values) for directory, values in (removable, other) for number in "01"]
    logged_elsewhere(tmp_path, columns, *((path.removeprefix("./"), values) for path, values in files))
    assert DeltaLakeTable(NO_SESSION, str(tmp_path)).compact() == Compaction(4, count_after)
    table = deltalake.DeltaTable(tmp_path)
    assert sorted(table.to_pyarrow_table()["x"].to_pylist()) == [0, 1, 2, 3]
    # A vacuum deletes the files that were merged, and no others.
    deleted = table.vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
    assert len(deleted) == (2 if count_after == 3 else 0)


def test_rows_are_appended_to_a_table_with_files_that_delta_rs_can_not_remove(tmp_path: Path) -> None:
    logged_elsewhere(tmp_path, ["city"], (f"city={ZURICH}/0.parquet", [ZURICH]), (f"city={ZURICH}/1.parquet", [ZURICH]))
    table = DeltaLakeTable(NO_SESSION, str(tmp_path))
    appended(table, pa.table({"city": [ZURICH], "x": [2]}), progress_of(1))
    assert sorted(deltalake.DeltaTable(tmp_path).to_pyarrow_table()["x"].to_pylist()) == [0, 1, 2]


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


def test_columns_without_statistics_may_be_not_null(tmp_path: Path) -> None:
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
        table = DeltaLakeTable(NO_SESSION, str(tmp_path / f"{place}-required"))
        appended(table, rows, progress_of(1))
        bad = rows.set_column(rows.num_columns - 1, last.name, pa.nulls(1, rows.schema[-1].type))
        with pytest.raises(RowsRefusedError, match=f"{last.name} .*NOT NULL"):
            appended(table, bad, progress_of(2))
        theirs = deltalake.DeltaTable(tmp_path / f"{place}-required")
        assert theirs.to_pyarrow_table().num_rows == 1
        # An invalid count of nulls would make delta-rs ignore all statistics of the file.
        assert pa.table(theirs.get_add_actions())["num_records"].to_pylist() == [1]


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


def test_partitions_with_long_names_are_not_compacted(tmp_path: Path) -> None:
    table = DeltaLakeTable(NO_SESSION, str(tmp_path), Layout(parse_divisions("city, user")))
    # delta-rs escapes each character of the first city as nine.
    values = [("\u65e5" * 70, "u"), ("x" * 300, "u"), ("Z\u00fcrich", "u"), ("Z\u00fcrich", "y" * 300)]
    rows = pa.table({"city": [city for city, _ in values], "user": [user for _, user in values], "x": range(4)})
    for sequence in (1, 2):
        appended(table, rows, progress_of(sequence))
    assert table.compact() == Compaction(8, 7)
    found = deltalake.DeltaTable(tmp_path).to_pyarrow_table().to_pylist()
    assert sorted((row["x"], row["city"], row["user"]) for row in found) == sorted(
        (number, *value) for number, value in enumerate(values) for _ in range(2)
    )


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
