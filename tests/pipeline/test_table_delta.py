"""Delta tables: progress in a log that was cleaned up, time travel, types, names, other readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction

from barnabas.pipeline.tables import delta_lake
from barnabas.pipeline.tables.data_files import write_files
from barnabas.pipeline.tables.delta_lake import DeltaLakeTable
from barnabas.pipeline.tables.table import Progress, TableError, TableMovedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipeline.tables.data_files import DataFile


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


def test_a_new_table_has_a_checkpoint_every_ten_commits(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaLakeTable(spark, str(tmp_path))
    for sequence in range(1, 22):
        table.append_files([], spark.range(0).schema, progress_of(sequence))
    checkpoints = [path.name[:20].lstrip("0") for path in sorted(tmp_path.glob("_delta_log/*.checkpoint.parquet"))]
    assert checkpoints == ["9", "19"]


def test_a_log_that_no_longer_says_how_far_a_run_came_is_told(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    table.append(spark.range(3).toDF("id"), progress_of(1))
    spark.range(1).toDF("id").write.format("delta").mode("append").save(location)
    assert table.progress("load") == progress_of(1)
    clean_log(spark, location)
    with pytest.raises(TableError, match="do not say how far"):
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


def test_files_of_one_name_in_several_partitions_are_all_read_and_rewritten(
    spark: SparkSession, tmp_path: Path
) -> None:
    # As a table that was converted from Parquet may have them.
    days = ("1", "2 '\u00fc+&=", "3")
    for day in days:
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"id": [ord(day[0]), 0]}), tmp_path / f"day={day}" / "part-0.parquet")
    partition_by = deltalake.Schema([deltalake.Field("day", PrimitiveType("string"))])
    deltalake.convert_to_deltalake(tmp_path, partition_by=partition_by, partition_strategy="hive")
    table = DeltaLakeTable(spark, str(tmp_path))
    assert sorted(row["id"] for row in table.read().collect()) == [0, 0, 0, 49, 50, 51]
    assert table.delete_rows({}, progress_of(1), "id = 0 AND day <> '3'") == 2
    assert sorted(row["id"] for row in table.read().collect()) == [0, 49, 50, 51]
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 4


def test_a_table_of_delta_for_spark_with_directories_beyond_ascii_keeps_its_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    location = str(tmp_path)
    spark.sql(f"CREATE TABLE delta.`{location}` (id INT, city STRING) USING delta PARTITIONED BY (city)")
    spark.sql(
        f"INSERT INTO delta.`{location}` VALUES (1, 'Z\u00fcrich'), (2, 'Z\u00fcrich'), (3, 'plain'), (4, 'plain')"
    )
    # A directory need not have the name of its values.
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"id": pa.array([5, 6], pa.int32())}), tmp_path / "other" / "0.parquet")
    size = (tmp_path / "other" / "0.parquet").stat().st_size
    added = AddAction("other/0.parquet", size, {"city": "\u65e5\u672c"}, 0, True, '{"numRecords":2}')
    DeltaTable(location).create_write_transaction([added], "append", DeltaTable(location).schema(), ["city"])
    table = DeltaLakeTable(spark, location)
    with pytest.raises(TableError, match="can't remove the file city=Z\u00fcrich"):
        table.delete_rows({}, progress_of(1), "id = 2")
    with pytest.raises(TableError, match="can't remove the file city=Z\u00fcrich"):
        table.replace(spark.range(1), progress_of(1))
    assert table.delete_rows({}, progress_of(1), "id IN (4, 6)") == 2
    expected = {1: "Z\u00fcrich", 2: "Z\u00fcrich", 3: "plain", 5: "\u65e5\u672c"}
    assert {row["id"]: row["city"] for row in table.read().collect()} == expected
    assert {row["id"]: row["city"] for row in DeltaTable(location).to_pyarrow_table().to_pylist()} == expected


def test_a_commit_of_the_run_while_all_rows_are_replaced_refuses_the_replacement(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (DeltaLakeTable(spark, str(tmp_path)) for _ in range(2))
    first.append(spark.range(3).toDF("id"), progress_of(1))

    def overtaken(*arguments: Any) -> list[DataFile]:
        monkeypatch.undo()
        second.append(spark.range(3).toDF("id"), progress_of(2))
        return write_files(*arguments)

    monkeypatch.setattr(delta_lake, "write_files", overtaken)
    with pytest.raises(TableMovedError):
        first.replace(spark.range(9).toDF("other"), progress_of(2))
    assert first.read().columns == ["id"]


@pytest.mark.whole
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


def test_wider_numbers_are_refused_and_narrower_ones_become_the_columns_type(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DeltaLakeTable(spark, str(tmp_path / "table"))
    table.append(
        spark.sql("SELECT 1 AS n, 3000000000 AS big, array(named_struct('x', 3000000000)) AS l"), progress_of(1)
    )
    with pytest.raises(TableError, match="column n is int in the table and bigint in"):
        table.append(spark.sql("SELECT 3000000000 AS n"), progress_of(2))
    table.append(spark.sql("SELECT 2 AS n, 4 AS big, array(named_struct('x', 5)) AS l"), progress_of(2))
    found = [(row["n"], row["big"], row["l"][0]["x"]) for row in table.read().orderBy("n").collect()]
    assert found == [(1, 3_000_000_000, 3_000_000_000), (2, 4, 5)]
    assert table.schema().simpleString() == "struct<n:int,big:bigint,l:array<struct<x:bigint>>>"


@pytest.mark.parametrize(
    ("properties", "feature"),
    [
        ("'delta.columnMapping.mode' = 'name'", "columnMapping"),
        pytest.param("'delta.enableTypeWidening' = 'true'", "TypeWidening", marks=pytest.mark.whole),
    ],
)
def test_a_table_with_a_feature_that_is_not_supported_is_refused_by_its_name(
    spark: SparkSession, tmp_path: Path, properties: str, feature: str
) -> None:
    location = str(tmp_path / "table")
    spark.sql(f"CREATE TABLE delta.`{location}` (id BIGINT) USING delta TBLPROPERTIES ({properties})")
    with pytest.raises(TableError, match=feature):
        DeltaLakeTable(spark, location).append(spark.range(3).toDF("id"), progress_of(1))


def test_odd_names_are_read_by_delta_for_spark_and_by_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    table.append(spark.sql("SELECT 1 AS `with.dot`, 2 AS `\u00fcn\u00ef`"), progress_of(1))
    table.append(spark.sql("SELECT 3 AS `with blank, and comma`"), progress_of(2))
    read = spark.read.format("delta").load(location)
    assert read.columns == table.read().columns == ["with.dot", "\u00fcn\u00ef", "with blank, and comma"]
    assert read.where("`with blank, and comma` = 3").count() == 1
    assert DeltaTable(location).to_pyarrow_table().num_rows == 2


def test_statistics_let_readers_skip_files(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    table = DeltaLakeTable(spark, location)
    for sequence in (1, 2):
        rows = spark.range(10 * sequence, 10 * sequence + 10, numPartitions=1).selectExpr(
            "id",
            "concat('p', id) AS page",
            "TIMESTAMP'2026-03-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS INT)) AS time",
        )
        table.append(rows, progress_of(sequence))
    read = spark.read.format("delta").load(location)
    for condition in ("id < 15", "page >= 'p21'", "time > TIMESTAMP'2026-03-22'"):
        assert len(read.where(condition).inputFiles()) == 1, condition
    assert len(read.where("id IS NULL").inputFiles()) == 0
