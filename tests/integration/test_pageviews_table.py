"""The job's table: files that no batch has committed count nowhere, and are swept away."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline import table
from barnabas.pipeline.plain_count import read_counts
from tests.spark import forgets_sockets, forgotten_sockets, shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["forgotten_sockets"]  # a fixture of every test here

pytestmark = forgets_sockets


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


@pytest.fixture
def directory(spark: SparkSession, tmp_path: Path) -> Path:
    """A table with three rows, written by a query, and a copy of one of its files that no batch knows."""
    minute = "timestamp '2026-03-06 19:00:00' + make_interval(0, 0, 0, 0, 0, id % 2) AS minute"
    (tmp_path / "in").mkdir()
    spark.range(1, 4).selectExpr(minute, "'/a,\"ä\"' AS page", "id AS views").write.parquet(
        str(tmp_path / "in" / "rows")
    )
    stream = spark.readStream.schema("minute TIMESTAMP, page STRING, views LONG").parquet(str(tmp_path / "in" / "rows"))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "table"))
    assert query.awaitTermination(60)
    file = next((tmp_path / "table").glob("part-*.parquet"))
    shutil.copy(file, file.with_name("part-stray.snappy.parquet"))
    return tmp_path / "table"


EXPECTED = {("2026-03-06T19:01:00Z", '/a,"ä"'): 4, ("2026-03-06T19:00:00Z", '/a,"ä"'): 2}


def test_stray_file_counts_nowhere(spark: SparkSession, directory: Path, tmp_path: Path):
    assert table.read_page_views(spark, directory) == EXPECTED
    table.write_summary(spark, directory, tmp_path / "views.csv")
    assert read_counts(tmp_path / "views.csv") == EXPECTED


def test_sweep_takes_the_stray_and_nothing_else(spark: SparkSession, directory: Path):
    before = set(directory.glob("*.parquet"))
    assert table.sweep(spark, directory) == 1
    assert before - set(directory.glob("*.parquet")) == {directory / "part-stray.snappy.parquet"}
    assert table.read_page_views(spark, directory) == EXPECTED
    assert table.sweep(spark, directory) == 0


def test_table_that_is_not_there_is_empty(spark: SparkSession, tmp_path: Path):
    assert table.read_page_views(spark, tmp_path / "table") == {}
    assert table.sweep(spark, tmp_path / "table") == 0
