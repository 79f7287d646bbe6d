"""Which commits of a Parquet table count: without Spark, as commits are directories and notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from barnabas.pipeline.tables.parquet import ParquetTable
from barnabas.pipeline.tables.table import Progress, TableMovedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = StructType([StructField("id", LongType())])


def progress_of(sequence: int) -> Progress:
    return Progress("load", sequence, "cluster", {"views": {0: 10 * sequence}}, {})


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
