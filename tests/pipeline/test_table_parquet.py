"""Parquet tables: a kill at any step of a commit, and what other readers see."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from barnabas.pipeline.tables import parquet
from barnabas.pipeline.tables.data_files import write_files
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.layout import Layout, parse_divisions
from barnabas.pipeline.tables.table import Progress, Table, TableError
from tests.spark import shared_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Killed(BaseException):
    """Ends what is being done as a kill would: nothing of ours catches it."""


@pytest.fixture(scope="module")
def two_commits(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with a table of two commits, to be copied."""
    place = tmp_path_factory.mktemp("two-commits")
    table = open_table(spark, str(place / "table"), "parquet")
    table.append(rows_at(spark, 0, 10), progress_of(1))
    table.append(rows_at(spark, 10, 20), progress_of(2))
    return place


def progress_of(sequence: int, run: str = "load") -> Progress:
    return Progress(run, sequence, "cluster", {"views": {0: 10 * sequence}}, {})


def rows_at(spark: SparkSession, start: int, end: int) -> DataFrame:
    rows = spark.range(start, end, 1, 1)
    return rows.selectExpr("'views' AS _topic", "0 AS _partition", "id AS _offset")


def offsets_in(table: Table) -> list[int]:
    return sorted(row["_offset"] for row in table.read().collect())


def seen_by_others(table: Path) -> list[int]:
    """Read all files below the table's directory, as a reader does that knows nothing of commits."""
    found = duckdb.sql(f"SELECT _offset FROM read_parquet('{table}/**/*.parquet', union_by_name = true)").fetchall()
    return sorted(row[0] for row in found)


def test_a_table_whose_directory_looks_like_a_pattern_is_read(spark: SparkSession, tmp_path: Path) -> None:
    table = open_table(spark, str(tmp_path / "a{b,c}*[d]"), "parquet", Layout(parse_divisions("_topic")))
    table.append(rows_at(spark, 0, 10), progress_of(1))
    table.append(rows_at(spark, 10, 20), progress_of(2))
    cut(table, progress_of(3))
    assert offsets_in(table) == list(range(15))


def append(table: Table, progress: Progress) -> None:
    table.append(rows_at(shared_session(), 20, 30), progress)


def replace(table: Table, progress: Progress) -> None:
    table.replace(table.read().where("_offset % 2 = 0"), progress)


def cut(table: Table, progress: Progress) -> None:
    assert table.delete_rows({"views": {0: 15}}, progress) == 5


def compact(table: Table, progress: Progress) -> None:
    assert table.compact().files_after == 1


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (append, list(range(30))),
        (replace, list(range(0, 20, 2))),
        pytest.param(cut, list(range(15)), marks=pytest.mark.whole),
        pytest.param(compact, list(range(20)), marks=pytest.mark.whole),
    ],
)
def test_a_kill_before_any_step_leaves_the_old_rows_or_the_new(
    spark: SparkSession,
    two_commits: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Table, Progress], None],
    after: list[int],
) -> None:
    outcomes = []
    step = 0
    has_ended = False
    while not has_ended:
        step += 1
        place = tmp_path / str(step)
        shutil.copytree(two_commits, place)
        location = place / "table"
        with monkeypatch.context() as patches:
            die_before(patches, step)
            try:
                change(open_table(spark, str(location), "parquet"), progress_of(3))
                has_ended = True
            except Killed:
                pass
        table = open_table(spark, str(location), "parquet")
        done = table.progress("load")
        assert done in (progress_of(2), progress_of(3))
        has_changed = done == progress_of(3)
        outcomes.append(has_changed)
        assert offsets_in(table) == (after if has_changed or change is compact else list(range(20)))
        # The next commit of the run finishes or undoes what was left, for other readers too.
        if not has_changed and change is not compact:
            change(table, progress_of(3))
        following = table.progress("load").sequence + 1
        table.append(rows_at(spark, 100, 101), progress_of(following))
        assert offsets_in(table) == seen_by_others(location) == [*after, 100]
    # Some kills came before the commit, and all behind those came after it.
    assert outcomes == sorted(outcomes)
    assert change is compact or {False, True} == set(outcomes)
    assert step > 2


def die_before(patches: pytest.MonkeyPatch, step: int) -> None:
    """End the process, as it were, before the step with this number, from 1."""
    count = 0

    def dying(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == step:
                raise Killed
            return method(*arguments, **named)

        return call

    patches.setattr(os, "rename", dying(os.rename))
    patches.setattr(shutil, "rmtree", dying(shutil.rmtree))
    patches.setattr(Path, "write_text", dying(Path.write_text))


def test_what_is_being_written_is_seen_by_nobody(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = tmp_path / "table"
    table = open_table(spark, str(location), "parquet")
    table.append(rows_at(spark, 0, 10), progress_of(1))
    with monkeypatch.context() as patches:
        # After the rows' own move and the note, before the commit's move.
        die_before(patches, 3)
        with pytest.raises(Killed):
            table.append(rows_at(spark, 10, 20), progress_of(2))
    assert list(tmp_path.glob("_table.work/staging/*/*.parquet"))
    assert offsets_in(open_table(spark, str(location), "parquet")) == seen_by_others(location) == list(range(10))


def test_a_compaction_gives_way_to_what_was_replaced_meanwhile(
    spark: SparkSession, two_commits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(two_commits, tmp_path / "place")
    location = str(tmp_path / "place" / "table")
    table, other = open_table(spark, location, "parquet"), open_table(spark, location, "parquet")

    def late(*arguments: Any) -> Any:
        monkeypatch.setattr(parquet, "write_files", write_files)
        files = write_files(*arguments)
        other.replace(rows_at(spark, 0, 3), progress_of(3))
        return files

    monkeypatch.setattr(parquet, "write_files", late)
    table.compact()
    assert offsets_in(table) == offsets_in(other) == [0, 1, 2]


def test_a_column_that_readers_would_lose_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = open_table(spark, str(tmp_path / "table"), "parquet")
    with pytest.raises(TableError, match="can't have a column table_commit"):
        table.append(spark.sql("SELECT 1 AS Table_Commit"), progress_of(1))


def test_files_stay_divided_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    by_day, by_id = (
        open_table(spark, str(tmp_path / "table"), "parquet", Layout(parse_divisions(name))) for name in ("day", "id")
    )
    by_day.append(spark.sql("SELECT '2015-05-17' AS day, 1 AS id"), progress_of(1))
    with pytest.raises(TableError, match="partitioned by day, which can't be changed to id"):
        by_id.append(spark.sql("SELECT '2015-05-17' AS day, 1 AS id"), progress_of(2))
    table = open_table(spark, str(tmp_path / "table"), "parquet")
    table.append(spark.sql("SELECT '2015-05-17' AS day, 2 AS id"), progress_of(2))
    table.compact()
    found = duckdb.sql(f"SELECT day, id FROM read_parquet('{tmp_path}/table/**/*.parquet', hive_partitioning = true)")
    assert sorted((str(day), number) for day, number in found.fetchall()) == [("2015-05-17", 1), ("2015-05-17", 2)]


def test_an_object_store_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TableError, match="must be on a local disk"):
        open_table(spark, "s3a://lake/table", "parquet")
