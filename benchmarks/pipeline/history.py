"""Measure what a long history costs: `python -m benchmarks.pipeline.history --format delta --commits 100000`.

The benchmark creates a table with as many commits as a run leaves, with a compaction after each hundred. The files of
the commits were never written. For Iceberg it keeps the number of snapshots that six hours with a commit every ten
seconds leave. A new session, which has already used another table, then plans a query, and a run commits. The benchmark
prints the milliseconds of the first plan (which reads the log), of later plans, and of a commit: after a hundred
commits and after all.
"""

import argparse
import copy
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import deltalake
from pyiceberg.manifest import DataFile as IcebergFile
from pyspark.sql import SparkSession

from barnabas.pipeline.spark.session import spark_session
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.iceberg_catalogs import CatalogEntry
from barnabas.pipeline.tables.table import Progress

_COMPACTED = 100
_FEW = 100
_SNAPSHOTS = 2_160
_QUERIES = 5


def main() -> None:
    """Measure one format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=("delta", "iceberg"), default="delta", help="table format (%(default)s)")
    parser.add_argument("--commits", type=int, default=100_000, metavar="N", help="number of commits (%(default)s)")
    arguments = parser.parse_args()
    print(f"{arguments.format}\n\n| commits | first plan ms | later plans ms | commit ms |\n| --- | --- | --- | --- |")
    # Each session runs in its own process.
    processes = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name, processes:
        commits = 0
        for wanted in (_FEW, arguments.commits):
            processes.submit(_add, name, arguments.format, commits, wanted).result()
            first_ms, later_ms, commit_ms = processes.submit(_measure, name, arguments.format).result()
            commits = wanted
            print(f"| {wanted:,} | {first_ms:.0f} | {later_ms:.0f} | {commit_ms:.0f} |", flush=True)


def _add(name: str, table_format: str, commits: int, wanted: int) -> None:
    with _session(name, table_format) as spark:
        (_add_to_delta if table_format == "delta" else _add_to_iceberg)(spark, _place(name), commits, wanted)


def _measure(name: str, table_format: str) -> tuple[float, float, float]:
    with _session(name, table_format) as spark:
        first_ms, later_ms = _plan_ms(spark, _place(name), table_format)
        return first_ms, later_ms, _commit_ms(spark, _place(name), table_format)


def _place(name: str) -> Path:
    return Path(name, "warehouse", "site", "views")


@contextmanager
def _session(name: str, table_format: str) -> Iterator[SparkSession]:
    scratch = Path(name, "spark")
    with spark_session("history", scratch=scratch) as spark:
        # Use another table first, so that the cost of loading the format's code is not measured.
        other = open_table(spark, str(Path(name, "warehouse", "site", f"warm{uuid.uuid4().hex}")), table_format)
        other.append(_row(spark), Progress("bench", 1, "cluster", {}, {}))
        other.read().where("time > '2026-03-01'").collect()
        yield spark


def _plan_ms(spark: SparkSession, place: Path, table_format: str) -> tuple[float, float]:
    took = []
    for _ in range(1 + _QUERIES):
        start = time.monotonic()
        if table_format == "delta":
            deltalake.DeltaTable(place).file_uris()
        else:
            rows = open_table(spark, str(place), table_format).read()
            rows = rows.where("time >= '2026-03-02' AND time < '2026-03-03'")
            # Spark finds the files to read here.
            rows._jdf.queryExecution().toRdd().getNumPartitions()
        took.append(1_000 * (time.monotonic() - start))
    return took[0], statistics.median(took[1:])


def _commit_ms(spark: SparkSession, place: Path, table_format: str) -> float:
    table = open_table(spark, str(place), table_format)
    last = table.progress("bench")
    sequence, took = last.sequence if last else 0, []
    rows = _row(spark)
    for _ in range(_QUERIES):
        sequence += 1
        start = time.monotonic()
        table.append(rows, Progress("bench", sequence, "cluster", {"topic": {0: sequence}}, {}))
        took.append(1_000 * (time.monotonic() - start))
    return statistics.median(took)


def _row(spark: SparkSession) -> Any:
    return spark.range(1).selectExpr("id", "TIMESTAMP'2026-03-02 12:00:00' AS time")


def _add_to_delta(spark: SparkSession, place: Path, commits: int, wanted: int) -> None:
    """Commit files that were never written, and after each hundred a file that replaces them.

    The log's files are written as they are, because a commit by a library takes 15 ms and more.
    """
    if not commits:
        open_table(spark, str(place), "delta").append(_row(spark), Progress("bench", 1, "cluster", {}, {}))
    small = list[str]()
    first = deltalake.DeltaTable(place).version() + 1
    for version in range(first, first + wanted - commits):
        now_ms, path = int(time.time() * 1000), f"part-{version}.parquet"
        file = {"path": path, "partitionValues": {}, "size": 1_000, "modificationTime": now_ms, "dataChange": True}
        done = {"timestamp": now_ms, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
        actions: list[dict[str, object]] = [{"commitInfo": done}, {"add": {**file, "stats": '{"numRecords": 1}'}}]
        if len(small) == _COMPACTED:
            removed = {"deletionTimestamp": now_ms, "dataChange": False}
            actions += [{"remove": {"path": each, **removed}} for each in small]
            small.clear()
        else:
            small.append(path)
        log = place / "_delta_log" / f"{version:020}.json"
        log.write_text("".join(f"{json.dumps(each)}\n" for each in actions))
        if version % _COMPACTED == 0 and version > first + wanted - commits - 2 * _COMPACTED:
            deltalake.DeltaTable(place).create_checkpoint()


def _add_to_iceberg(spark: SparkSession, place: Path, commits: int, wanted: int) -> None:
    """Commit files that do not exist; keep as many snapshots as the usual history has."""
    if not commits:
        open_table(spark, str(place), "iceberg").append(_row(spark), Progress("bench", 1, "cluster", {}, {}))
    table = CatalogEntry({}, str(place)).load()
    assert table is not None
    progress = table.current_snapshot().summary.additional_properties["barnabas.progress"]
    (template,) = (task.file for task in table.scan().plan_files())
    small: list[IcebergFile] = []
    for number in range(commits, wanted):
        file = copy.copy(template)
        file._data = [*template._data]
        file._data[1] = f"{place}/data/{uuid.uuid4()}.parquet"
        with table.transaction() as transaction:
            snapshot = transaction.update_snapshot(snapshot_properties={"barnabas.progress": progress})
            update = snapshot.overwrite() if len(small) == _COMPACTED else snapshot.merge_append()
            if len(small) == _COMPACTED:
                for old in small:
                    update.delete_data_file(old)
                small.clear()
            else:
                small.append(file)
            update.append_data_file(file).commit()
        if number % _SNAPSHOTS == _SNAPSHOTS - 1:
            expired = sorted(table.snapshots(), key=lambda each: each.timestamp_ms)[:-_SNAPSHOTS]
            table.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in expired]).commit()


if __name__ == "__main__":
    main()
