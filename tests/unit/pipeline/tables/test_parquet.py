"""Which commits of a Parquet table count: without Spark, as commits are directories and notes."""

from __future__ import annotations

import errno
import os
import shutil
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from barnabas.pipeline.tables.parquet import ParquetTable, newest_progress
from barnabas.pipeline.tables.table import Progress, TableMovedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = StructType([StructField("id", LongType())])


def progress_of(sequence: int, run: str = "load") -> Progress:
    return Progress(run, sequence, "cluster", {"views": {0: 10 * sequence}}, {})


def open_table(tmp_path: Path) -> ParquetTable:
    return ParquetTable(cast("SparkSession", None), str(tmp_path / "table"))


def commits(table: ParquetTable) -> list[str]:
    """The names of the commits' directories that count."""
    return [f"table_commit={name}" for name in table.scan().files]


@pytest.fixture
def table(tmp_path: Path) -> ParquetTable:
    """A table with two commits."""
    table = open_table(tmp_path)
    for sequence in (1, 2):
        table.append_files([], COLUMNS, progress_of(sequence))
    return table


@pytest.mark.parametrize("sequence", [2, 4])
def test_a_commit_out_of_turn_is_refused(table: ParquetTable, tmp_path: Path, sequence: int) -> None:
    before = commits(table)
    with pytest.raises(TableMovedError):
        open_table(tmp_path).append_files([], COLUMNS, progress_of(sequence))
    assert commits(table) == before
    assert table.progress("load") == progress_of(2)


@pytest.mark.parametrize(("failing", "step"), [(os, "mkdir"), (os, "fsync"), (Path, "write_text")])
def test_a_commit_that_fails_leaves_no_files(
    table: ParquetTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: object, step: str
) -> None:
    rows = pa.table({"id": [1]})
    files = []
    for _ in range(2):
        writer = table.sink(COLUMNS).open()
        writer.write(rows)
        files += writer.close()
    before = commits(table)

    def fail(*arguments: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patches:
        patches.setattr(failing, step, fail)
        with pytest.raises(OSError, match="No space"):
            table.append_files(files, COLUMNS, progress_of(3))
    assert commits(table) == before
    assert list(tmp_path.rglob("*.parquet")) == []
    assert list((tmp_path / "_table.work" / "staging").glob("*")) == []
    table.append_files([], COLUMNS, progress_of(3))


def test_replaced_commits_do_not_count_before_they_are_deleted(
    table: ParquetTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = commits(table)
    # As a kill leaves them.
    monkeypatch.setattr(ParquetTable, "_delete", lambda table, names: None)
    assert table._commit([], COLUMNS, (), None, replaced)
    assert len(list((tmp_path / "table").iterdir())) == 3
    (left,) = commits(table)
    assert left not in replaced


def test_commits_are_replaced_once(table: ParquetTable, tmp_path: Path) -> None:
    replaced = commits(table)
    other = open_table(tmp_path)
    assert table._commit([], COLUMNS, (), None, replaced)
    assert not other._commit([], COLUMNS, (), None, replaced)
    assert len(commits(table)) == 1


def test_the_note_of_a_commit_is_read_once(table: ParquetTable, tmp_path: Path) -> None:
    assert table.progress("load") == progress_of(2)
    for note in (tmp_path / "table").glob("*/_progress.json"):
        note.write_text("not read again")
    table.append_files([], COLUMNS, progress_of(3))
    assert table.progress("load") == progress_of(3)
    assert (len(commits(table)), table.schema()) == (3, COLUMNS)


def test_commits_of_other_writers_are_found(table: ParquetTable, tmp_path: Path) -> None:
    other = open_table(tmp_path)
    for opened in (table, other):
        assert opened.progress("load") == progress_of(2)
    other.append_files([], COLUMNS, progress_of(3))
    assert table.progress("load") == progress_of(3)
    assert other._commit([], COLUMNS, (), None, commits(other))
    assert (len(commits(table)), table.progress("load")) == (1, progress_of(3))
    shutil.rmtree(tmp_path / "table")
    assert table.progress("load") is None
    table.append_files([], COLUMNS, progress_of(1))
    assert table.progress("load") == progress_of(1)


def test_the_newest_progress_of_each_run_counts_whichever_note_has_it() -> None:
    notes = [{run: progress_of(n, run) for run, n in runs.items()} for runs in ({"x": 3, "y": 1}, {"x": 2, "y": 4})]
    for order in permutations(notes):
        assert newest_progress(order) == {"x": progress_of(3, "x"), "y": progress_of(4, "y")}
