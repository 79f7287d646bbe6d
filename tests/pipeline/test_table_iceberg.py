"""What Iceberg's tables do beside what every table does: names it reserves, history that others cut, streams, kills."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StructType, TimeType
from pyspark.sql.pandas.types import from_arrow_schema

from barnabas.pipeline.tables import iceberg, iceberg_files
from barnabas.pipeline.tables.data_files import write_files
from barnabas.pipeline.tables.iceberg import IcebergTable
from barnabas.pipeline.tables.iceberg_files import rewrite
from barnabas.pipeline.tables.layout import Layout, parse_divisions
from barnabas.pipeline.tables.table import FILE_COLUMN, RowsRefusedError, TableError, TableUnavailableError
from tests.pipeline.kills import KILL_COUNT, appending, finish, kill_at_random, last_sequence, offsets_of
from tests.pipeline.test_tables import offsets_in, progress_of, rows_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipeline.tables.data_files import DataFile


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "warehouse" / "site" / "views"


@pytest.fixture
def table(spark: SparkSession, directory: Path) -> IcebergTable:
    return IcebergTable(spark, str(directory))


def session_with_iceberg(spark: SparkSession, directory: Path) -> SparkSession:
    """Give a session in which Iceberg for Spark has the catalog beside the table of a directory."""
    session = spark.newSession()
    settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{directory.parents[1]}/catalog.db", "jdbc.schema-version": "V1"}
    session.conf.set("spark.sql.catalog.barnabas.cache-enabled", "false")
    session.conf.set("spark.sql.catalog.barnabas", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {**settings, "warehouse": str(directory.parents[1])}.items():
        session.conf.set(f"spark.sql.catalog.barnabas.{key}", value)
    return session


def read_by_iceberg(spark: SparkSession, directory: Path) -> DataFrame:
    """Give the rows of a table as Iceberg for Spark reads them."""
    return session_with_iceberg(spark, directory).table(f"barnabas.{directory.parent.name}.{directory.name}")


def delete_by_iceberg(spark: SparkSession, directory: Path, where: str) -> None:
    """Delete rows of a table as Iceberg for Spark does."""
    name = f"barnabas.{directory.parent.name}.{directory.name}"
    session = session_with_iceberg(spark, directory)
    session.sql(f"DELETE FROM {name} WHERE {where}")
    # Its connection would keep the catalog's database locked.
    session._jsparkSession.sessionState().catalogManager().catalog("barnabas").icebergCatalog().close()


def catalog_of(directory: Path) -> SqlCatalog:
    """Give the catalog beside the table of a directory."""
    warehouse = directory.parents[1]
    return SqlCatalog("barnabas", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))


def theirs_in(directory: Path) -> Table:
    """Give the table of a directory as PyIceberg has it, by the catalog beside it."""
    return catalog_of(directory).load_table(f"{directory.parent.name}.{directory.name}")


def made_by_others(directory: Path, schema: pa.Schema | Schema, properties: Mapping[str, str]) -> Table:
    """Create the table of a directory as other programs do."""
    directory.parents[1].mkdir(parents=True)
    catalog = catalog_of(directory)
    catalog.create_namespace(directory.parent.name)
    name = f"{directory.parent.name}.{directory.name}"
    return catalog.create_table(name, schema, location=str(directory), properties=dict(properties))


def in_old_release(spark: SparkSession, directory: Path, count: int) -> None:
    """Make a table of so many rows and one commit as releases did that had no catalog."""
    iceberg = spark._jvm.org.apache.iceberg
    rows = rows_at(spark, 0, count).withColumnRenamed("_partition", "_partition_")
    tables = iceberg.hadoop.HadoopTables(spark._jsparkSession.sessionState().newHadoopConf())
    schema = iceberg.spark.SparkSchemaUtil.convert(rows._jdf.schema().asNullable())
    properties = {"write.spark.accept-any-schema": "true", "write.metadata.delete-after-commit.enabled": "true"}
    tables.create(schema, iceberg.PartitionSpec.unpartitioned(), properties, str(directory))
    text = f"[{progress_of('load', 1, count).to_json()}]"
    rows.write.format("iceberg").option("snapshot-property.barnabas.progress", text).mode("append").save(str(directory))


def test_names_that_iceberg_keeps_for_itself_are_stored_with_an_underscore(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    rows = spark.createDataFrame([(1, "a", 2, 3)], "_partition INT, _FILE STRING, _pos_ INT, pos INT")
    table.append(rows, progress_of("load", 1, 1))
    assert [row.asDict() for row in table.read().collect()] == [{"_partition": 1, "_FILE": "a", "_pos_": 2, "pos": 3}]
    assert theirs_in(directory).schema().column_names == ["_partition_", "_FILE_", "_pos__", "pos"]


def test_a_first_commit_without_files_makes_the_table(spark: SparkSession, table: IcebergTable) -> None:
    table.append_files([], rows_at(spark, 0, 0).schema, progress_of("load", 1, 7))
    assert table.progress("load") == progress_of("load", 1, 7)
    assert offsets_in(table) == []


def test_a_table_whose_directory_was_moved_away_begins_again(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    moved = directory.rename(directory.with_name("old"))
    assert not table.exists()
    assert table.progress("load") is None
    moved.rename(directory)
    assert offsets_in(table) == list(range(10))
    directory.rename(moved)
    table.append(rows_at(spark, 5, 9), progress_of("load", 1, 9))
    assert offsets_in(table) == offsets_in(IcebergTable(spark, str(directory))) == list(range(5, 9))


def test_a_table_without_a_commit_has_its_creators_columns(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    assert table.schema() is None
    kinds = {"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "amount": pa.decimal128(12, 2)}
    made_by_others(directory, pa.schema(kinds), {})
    columns = table.schema()
    assert columns is not None
    assert columns.simpleString() == "struct<id:bigint,at:timestamp,amount:decimal(12,2)>"
    assert not table.exists()


def test_numbers_are_widened(spark: SparkSession, table: IcebergTable) -> None:
    narrow = spark.sql("SELECT 1 AS n, CAST(0.5 AS FLOAT) AS f, array(named_struct('x', 1)) AS l, 1 AS keep")
    table.append(narrow, progress_of("load", 1, 1))
    wide = spark.sql("SELECT 3000000000 AS n, 0.1D AS f, array(named_struct('x', 3000000000)) AS l")
    table.append(wide, progress_of("load", 2, 2))
    table.append(narrow, progress_of("backfill", 1, 1))
    assert table.read().schema.simpleString() == "struct<n:bigint,f:double,l:array<struct<x:bigint>>,keep:int>"
    found = [(row["n"], row["f"], row["l"][0]["x"]) for row in table.read().orderBy("n").collect()]
    assert found == [(1, 0.5, 1), (1, 0.5, 1), (3_000_000_000, 0.1, 3_000_000_000)]


def test_pyiceberg_duckdb_and_spark_read_it_by_the_catalog_beside_it(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    assert not table.exists()
    # Who only looks leaves nothing.
    assert not directory.parents[1].exists()
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    found = theirs_in(directory).scan(row_filter="_offset >= 5")
    assert sorted(found.to_arrow()["_offset"].to_pylist()) == list(range(5, 20))
    assert found.to_duckdb("views").sql("SELECT count(*) FROM views WHERE _partition_ = 0").fetchall() == [(15,)]
    assert sorted(row["_offset"] for row in read_by_iceberg(spark, directory).where("_offset >= 5").collect()) == [
        *range(5, 20)
    ]


@pytest.mark.whole
def test_what_pyiceberg_adds_stays(spark: SparkSession, table: IcebergTable, directory: Path) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    theirs = theirs_in(directory)
    theirs.append(theirs.scan(row_filter="_offset < 2").to_arrow())
    assert table.progress("load") == progress_of("load", 1, 10)
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    assert offsets_in(table) == [0, 0, 1, 1, *range(2, 20)]


def test_a_table_of_an_earlier_release_is_taken_over(spark: SparkSession, table: IcebergTable, directory: Path) -> None:
    in_old_release(spark, directory, 10)
    assert table.progress("load") == progress_of("load", 1, 10)
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    assert offsets_in(IcebergTable(spark, str(directory))) == list(range(20))
    assert theirs_in(directory).scan().count() == 20


def test_progress_outlives_history_that_others_have_cut(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    table.append(rows_at(spark, 100, 110), progress_of("backfill", 1, 110))
    # As a warehouse's nightly maintenance does.
    theirs = theirs_in(directory)
    theirs.overwrite(theirs.scan().to_arrow())
    assert table.progress("load") == progress_of("load", 2, 20)
    theirs.maintenance.expire_snapshots().older_than(datetime.now(UTC) + timedelta(1)).commit()
    assert len(theirs.snapshots()) == 1
    assert table.progress("load") == progress_of("load", 2, 20)
    assert table.progress("backfill") == progress_of("backfill", 1, 110)
    table.append(rows_at(spark, 20, 30), progress_of("load", 3, 30))
    assert offsets_in(table) == [*range(30), *range(100, 110)]


@pytest.mark.parametrize("version", ["1", "2"])
def test_progress_outlives_a_commit_of_others_in_both_format_versions(
    spark: SparkSession, table: IcebergTable, directory: Path, version: str
) -> None:
    columns = spark.range(0).schema
    theirs = made_by_others(directory, pa.schema([("id", pa.int64())]), {"format-version": version})
    theirs.append(pa.table({"id": [1]}))
    assert table.progress("load") is None
    table.append_files([], columns, progress_of("load", 1, 10))
    theirs.refresh()
    theirs.append(pa.table({"id": [2]}))
    assert table.progress("load") == progress_of("load", 1, 10)
    table.append_files([], columns, progress_of("load", 2, 20))
    assert table.progress("load") == progress_of("load", 2, 20)


def test_a_compaction_keeps_rows_deleted_that_others_delete_meanwhile(
    spark: SparkSession, table: IcebergTable, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    theirs = theirs_in(directory)
    with theirs.transaction() as transaction:
        transaction.set_properties({"write.delete.mode": "merge-on-read"})

    def overtaken(*arguments: Any) -> list[DataFile]:
        monkeypatch.undo()
        files = rewrite(*arguments)
        delete_by_iceberg(spark, directory, "_offset IN (3, 13)")
        return files

    monkeypatch.setattr(iceberg, "rewrite", overtaken)
    compaction = table.compact()
    assert compaction.files_after == 1
    assert offsets_in(table) == [offset for offset in range(20) if offset not in (3, 13)]


def test_files_of_one_name_in_several_directories_are_all_read_and_rewritten(
    spark: SparkSession, table: IcebergTable, directory: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"day={day}" / "part-0.parquet" for day in ("1", "2 %", "3")]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        pq.write_table(pa.table({"id": [number]}), path)
    theirs = made_by_others(directory, pa.schema([("id", pa.int64())]), {})
    theirs.add_files(list(map(str, paths)))
    scan = table.scan()
    assert len(scan.files) == 3
    assert {row[FILE_COLUMN] for row in scan.read(scan.files).collect()} == set(scan.files)
    assert table.delete_rows({}, progress_of("load", 1, 1), "true") == 3
    assert table.read().count() == 0


def test_rows_name_the_file_that_they_are_in(spark: SparkSession, directory: Path) -> None:
    table = IcebergTable(spark, str(directory), Layout(parse_divisions("country")))
    rows = spark.createDataFrame([(1, "a b:c%d/\u00e9"), (2, "q\"uo'te{x}[y]+&")], "id INT, country STRING")
    table.append(rows, progress_of("load", 1, 1))
    scan = table.scan()
    assert {row[FILE_COLUMN] for row in scan.read(scan.files).collect()} == set(scan.files)


def test_a_table_with_a_column_that_spark_lacks_is_appended_to_and_not_rewritten(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    columns = NestedField(1, "id", LongType()), NestedField(2, "o", StructType(NestedField(3, "at", TimeType())))
    theirs = made_by_others(directory, Schema(*columns), {})
    rows = spark.range(1).toDF("id")
    table.append(rows, progress_of("load", 1, 1))
    changes: list[Callable[[], object]] = [
        lambda: table.update(rows, ["id"], progress_of("load", 2, 1)),
        lambda: table.replace(rows, progress_of("load", 2, 1), "id = 0"),
        lambda: table.delete_rows({}, progress_of("load", 2, 1), "id = 0"),
    ]
    for change in changes:
        with pytest.raises(TableError, match=r"column o\.at has the type time"):
            change()
    table.append(rows, progress_of("load", 2, 2))
    assert table.compact().files_after == 1
    theirs.refresh()
    assert theirs.scan().count() == 2


def test_a_table_that_is_rolled_back_takes_up_where_that_snapshot_ended(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    first = theirs_in(directory).current_snapshot()
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    theirs_in(directory).manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    assert table.progress("load") == progress_of("load", 1, 10)
    table.append(rows_at(spark, 10, 15), progress_of("load", 2, 15))
    assert offsets_in(table) == list(range(15))


def test_history_is_cut_when_asked_to(spark: SparkSession, table: IcebergTable, directory: Path) -> None:
    for number in range(3):
        table.append(rows_at(spark, 10 * number, 10 * number + 10), progress_of("load", number + 1, 10 * number + 10))
    assert len(theirs_in(directory).snapshots()) == 3
    compaction = table.compact()
    IcebergTable(spark, str(directory), Layout(keep_history_s=0)).trim_history()
    assert (compaction.files_before, compaction.files_after) == (6, 1)
    assert len(theirs_in(directory).snapshots()) == 1
    assert len(list((directory / "data").glob("*.parquet"))) == 1
    assert len(list((directory / "metadata").glob("snap-*.avro"))) == 1
    assert table.progress("load") == progress_of("load", 3, 30)
    assert offsets_in(table) == list(range(30))


def test_a_tag_keeps_its_files_when_history_is_cut(spark: SparkSession, table: IcebergTable, directory: Path) -> None:
    for number in range(2):
        table.append(rows_at(spark, 10 * number, 10 * number + 10), progress_of("load", number + 1, 10 * number + 10))
    tagged = theirs_in(directory).current_snapshot()
    theirs_in(directory).manage_snapshots().create_tag(tagged.snapshot_id, "november").commit()
    # Later than the tag, these remove its files and its manifests, and expire.
    table.compact()
    table.append(rows_at(spark, 20, 30), progress_of("load", 3, 30))
    IcebergTable(spark, str(directory), Layout(keep_history_s=0)).trim_history()
    theirs = theirs_in(directory)
    assert (len(theirs.snapshots()), theirs.scan().count()) == (2, 30)
    assert sorted(theirs.scan(snapshot_id=tagged.snapshot_id).to_arrow()["_offset"].to_pylist()) == list(range(20))


def test_files_of_earlier_partition_columns_are_not_committed(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    rows = spark.sql("SELECT TIMESTAMP'2026-11-28 10:30:00Z' AS at")
    table.append(rows, progress_of("load", 1, 1))
    files = write_files(rows, table.sink(rows.schema))
    with theirs_in(directory).update_spec() as change:
        change.add_field("at", "hour", "at_hour")
    with pytest.raises(TableUnavailableError, match="changed the partition columns"):
        table.append_files(files, rows.schema, progress_of("load", 2, 2))
    table.append_files(write_files(rows, table.sink(rows.schema)), rows.schema, progress_of("load", 2, 2))
    assert theirs_in(directory).scan(row_filter="at > '2026-11-28T10:00:00+00:00'").count() == 2


def test_not_null_stays_and_refuses_rows(spark: SparkSession, table: IcebergTable, directory: Path) -> None:
    made_by_others(directory, Schema(NestedField(1, "id", LongType(), required=True)), {})
    for sequence, more in enumerate(["", ", 5 AS n"], 1):
        table.append(spark.sql(f"SELECT 1L AS id{more}"), progress_of("load", sequence, 1))
        with pytest.raises(RowsRefusedError, match="column id of the table is NOT NULL"):
            table.append(spark.sql(f"SELECT explode(array(2, NULL)) AS id{more}"), progress_of("load", sequence + 1, 2))
    theirs = theirs_in(directory)
    assert [field.required for field in theirs.schema().fields] == [True, False]
    assert theirs.scan().to_arrow().to_pylist() == [{"id": 1, "n": 5}, {"id": 1, "n": None}]
    assert len(list(directory.rglob("*.parquet"))) == 2


def test_long_texts_are_found_beside_short_ones(
    spark: SparkSession, table: IcebergTable, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_files, "_GROUP_ROWS", 1)
    columns = {"text": ["a", "b" * 5000, None], "object": [{"x": "a"}, {"x": "b" * 5000}, None]}
    # PyIceberg cannot encode the upper bound of the last one.
    texts = pa.table({**columns, "last": ["a", "b" * 15 + "\ud7ff" * 2, None]})
    schema = from_arrow_schema(texts.schema)
    writer = table.sink(schema).open()
    for number in range(texts.num_rows):
        writer.write(texts.slice(number, 1))
    table.append_files(writer.close(), schema, progress_of("load", 1, 3))
    # The footer has no bounds of texts beyond 4096 bytes.
    for condition in ("text > 'b'", "object.x > 'b'", "last > 'b'"):
        assert theirs_in(directory).scan(row_filter=condition).count() == 1
        assert read_by_iceberg(spark, directory).where(condition).count() == 1


def test_read_is_of_one_commit_however_late_it_is_used(spark: SparkSession, table: IcebergTable) -> None:
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    seen = table.read()
    table.replace(rows_at(spark, 50, 60), progress_of("load", 2, 60))
    assert seen.count() == 10
    assert offsets_in(table) == list(range(50, 60))


@pytest.mark.parametrize("place", ["s3a://bucket/site/views", "hdfs://there/site/views", "hadoop.site.views"])
def test_tables_without_a_catalog_are_refused_but_on_a_local_disk(spark: SparkSession, place: str) -> None:
    spark.conf.set("spark.sql.catalog.hadoop.type", "hadoop")
    spark.conf.set("spark.sql.catalog.hadoop.warehouse", "/data/warehouse")
    with pytest.raises(TableError, match=r"decide between two commits: (use|name)"):
        IcebergTable(spark, place)


@pytest.mark.timeout(600 + 60 * KILL_COUNT)
@pytest.mark.whole
def test_rows_are_there_once_however_the_driver_is_killed(table: IcebergTable, directory: Path) -> None:
    commit_count = kill_at_random("iceberg", table, str(directory), seed=20_261)
    assert offsets_in(table) == offsets_of(commit_count)


@pytest.mark.timeout(900)
@pytest.mark.whole
def test_a_kill_between_the_data_and_their_commit_leaves_nothing(
    spark: SparkSession, table: IcebergTable, directory: Path
) -> None:
    table.append(rows_at(spark, 0, 0), progress_of("other", 1, 0))
    database = sqlite3.connect(directory.parents[1] / "catalog.db", isolation_level=None)

    def is_version(number: int) -> bool:
        (found,) = database.execute("SELECT metadata_location FROM iceberg_tables").fetchone()
        return f"/{number:05}-" in found

    with closing(database):
        database.execute("BEGIN IMMEDIATE")
        with appending("iceberg", str(directory), 100) as program:
            # The last thing that is written before the catalog is asked to swap.
            program.wait_until(lambda: any(directory.glob("metadata/00002-*.metadata.json")))
            program.kill()
        database.execute("ROLLBACK")
        assert any(directory.glob("data/*.parquet"))
        assert last_sequence(table) == 0
        # Right after a commit, before the program knows of it.
        with appending("iceberg", str(directory), 100) as program:
            program.wait_until(lambda: is_version(3))
            program.kill()
    assert last_sequence(table) >= 2
    assert offsets_in(table) == offsets_of(last_sequence(table))
    commit_count = finish("iceberg", table, str(directory))
    assert offsets_in(table) == offsets_of(commit_count)
