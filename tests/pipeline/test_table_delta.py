"""Delta tables: progress in a log that was cleaned up, time travel, names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from barnabas.pipeline.tables.delta_lake import DeltaLakeTable
from barnabas.pipeline.tables.table import Progress, TableError
from tests.spark import forgets_sockets, forgotten_sockets, shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["forgotten_sockets"]  # a fixture of every test here

pytestmark = forgets_sockets


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


def progress_of(sequence: int, run: str = "load") -> Progress:
    return Progress(run, sequence, "cluster", {"views": {0: 10 * sequence}}, {})


def clean_log(spark: SparkSession, location: str) -> None:
    """Do what Delta does with a log's older files: write a checkpoint, and remove the commits before it."""
    jvm = spark.sparkContext._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, location)
    log.checkpoint()
    commits = sorted(Path(location, "_delta_log").glob("*[0-9].json"))
    for commit in commits[:-1]:
        commit.unlink()
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)


def test_progress_outlives_a_cleaned_log(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    table.append(spark.range(3).toDF("id"), progress_of(1, "backfill"))
    for sequence in range(1, 4):
        table.append(spark.range(3).toDF("id"), progress_of(sequence))
    table.compact()
    clean_log(spark, location)
    seen = DeltaLakeTable(spark, location)
    assert seen.progress("backfill") == progress_of(1, "backfill")
    assert seen.progress("load") == progress_of(3)
    assert seen.read().count() == 12
    seen.append(spark.range(3).toDF("id"), progress_of(2, "backfill"))
    assert seen.progress("load") == progress_of(3)


def test_a_log_that_no_longer_says_how_far_a_run_came_is_told(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    table.append(spark.range(3).toDF("id"), progress_of(1))
    spark.range(1).toDF("id").write.format("delta").mode("append").save(location)
    assert table.progress("load") == progress_of(1)
    clean_log(spark, location)
    with pytest.raises(TableError, match="does not say how far the runs have come"):
        table.progress("load")


def test_a_table_that_others_have_made_is_added_to(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    for _ in range(2):
        spark.range(1).toDF("id").write.format("delta").mode("append").save(location)
    clean_log(spark, location)
    table = DeltaLakeTable(spark, location)
    assert table.progress("load") is None
    table.append(spark.range(3).toDF("id"), progress_of(1))
    assert table.read().count() == 5


def test_old_versions_are_there_until_they_are_removed(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    for sequence in range(1, 4):
        table.append(spark.range(3).toDF("id"), progress_of(sequence))
    table.compact()
    table.trim_history()
    assert spark.read.format("delta").option("versionAsOf", 1).load(location).count() == 6
    assert table.progress("load") == progress_of(3)
    assert table.read().count() == 9


def test_numbers_are_widened_only_where_they_must_be_and_may(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    narrow = spark.sql("SELECT 1 AS n, CAST(0.5 AS FLOAT) AS f, array(named_struct('x', 1)) AS l, 1 AS keep")
    wide = spark.sql("SELECT 3000000000 AS n, 0.1D AS f, array(named_struct('x', 3000000000)) AS l")
    table.append(narrow, progress_of(1))
    spark.sql(f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'false')")
    with pytest.raises(TableError, match="column n is int in the table and bigint in"):
        table.append(wide, progress_of(2))
    spark.sql(f"ALTER TABLE delta.`{location}` UNSET TBLPROPERTIES ('delta.enableTypeWidening')")
    log = tmp_path / "table" / "_delta_log"
    assert not any('"readerFeatures"' in commit.read_text() for commit in log.glob("*.json"))
    # It ends between the table's change and its own commit.
    with pytest.raises(Exception, match="broken"):
        table.append(wide.withColumn("n", F.expr("IF(n > 0, raise_error('broken'), n)")), progress_of(2))
    assert (table.progress("load"), table.read().schema["n"].dataType) == (progress_of(1), narrow.schema["n"].dataType)
    table.append(wide, progress_of(2))
    assert table.read().schema.simpleString() == "struct<n:bigint,f:double,l:array<struct<x:bigint>>,keep:int>"
    # So does a run that has looked at the table before.
    table.append(narrow, progress_of(1, "backfill"))
    found = [(row["n"], row["f"], row["l"][0]["x"]) for row in table.read().orderBy("n").collect()]
    assert found == [(1, 0.5, 1), (1, 0.5, 1), (3_000_000_000, 0.1, 3_000_000_000)]
    table.append(spark.sql("SELECT 2 AS `with blank`"), progress_of(3))
    assert table.read().where("`with blank` = 2 OR n > 1").count() == 2


def test_names_are_mapped_only_where_it_must_be(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaLakeTable(spark, str(tmp_path / "table"))
    table.append(spark.sql("SELECT 1 AS `with.dot`, 2 AS `\u00fcn\u00ef`"), progress_of(1))
    log = tmp_path / "table" / "_delta_log"
    assert not any("columnMapping" in commit.read_text() for commit in log.glob("*.json"))
    table.replace(spark.sql("SELECT 1 AS `with blank`"), progress_of(2))
    assert table.read().columns == ["with blank"]
    assert any("columnMapping" in commit.read_text() for commit in log.glob("*.json"))
