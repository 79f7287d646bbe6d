"""What a long history costs: `python -m benchmarks.pipeline.history --format delta --commits 100000`.

A table has as many commits behind it as a run leaves, with a compaction every hundred of them; those are made by hand
(Delta: its log's files, with a checkpoint now and then; Iceberg: commits of files that were never written, of which
as many snapshots are kept as six hours of a commit each ten seconds make). Then a new session, which has used another
table before, plans a query of one day, as a person's would, and a run commits. Printed are milliseconds of the first
plan (the log is read), of later ones, and of a commit: at the first hundred commits, and at all.
"""

import argparse
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

from pyspark.sql import SparkSession

from barnabas.pipeline.spark.session import spark_session
from barnabas.pipeline.tables.iceberg_catalogs import CatalogEntry
from barnabas.pipeline.tables.iceberg_files import DataFiles
from barnabas.pipeline.tables.places import open_table, requirements_of
from barnabas.pipeline.tables.table import Progress

_COMPACTED = 100
_FEW = 100
_CHECKPOINT = 5_000
_SNAPSHOTS = 2_160
_QUERIES = 5


def main() -> None:
    """Measure one format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=("delta", "iceberg"), default="delta", help="(%(default)s)")
    parser.add_argument("--commits", type=int, default=100_000, metavar="N", help="(%(default)s)")
    arguments = parser.parse_args()
    print(f"{arguments.format}\n\n| commits | first plan ms | later plans ms | commit ms |\n| --- | --- | --- | --- |")
    # A session has a process of its own.
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
    packages, settings = requirements_of(table_format)
    scratch = Path(name, "spark")
    with spark_session("history", scratch=scratch, packages=",".join(packages), settings=settings) as spark:
        # What the format's code costs when it is used first is no table's own business.
        other = open_table(spark, str(Path(name, "warehouse", "site", f"warm{uuid.uuid4().hex}")), table_format)
        other.append(_row(spark), Progress("bench", 1, "cluster", {}, {}))
        other.read().where("time > '2026-03-01'").collect()
        yield spark


def _plan_ms(spark: SparkSession, place: Path, table_format: str) -> tuple[float, float]:
    took = []
    for _ in range(1 + _QUERIES):
        start = time.monotonic()
        rows = open_table(spark, str(place), table_format).read().where("time >= '2026-03-02' AND time < '2026-03-03'")
        # The files that it is to read are found out here.
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
    """Write the files of Delta's log for commits that add a file each, and one that takes the place of a hundred."""
    log = place / "_delta_log"
    if not commits:
        open_table(spark, str(place), "delta").append(_row(spark), Progress("bench", 1, "cluster", {}, {}))
    head = max(int(file.stem) for file in log.glob("*.json"))
    template = (log / f"{head:020}.json").read_text().splitlines()
    by_kind = {next(iter(action)): action for action in map(json.loads, template)}
    small: list[str] = []
    for version in range(head + 1, head + 1 + wanted - commits):
        actions = [by_kind["commitInfo"]]
        if len(small) == _COMPACTED:
            now_ms = int(time.time() * 1000)
            actions += [{"remove": {"path": path, "deletionTimestamp": now_ms, "dataChange": False}} for path in small]
            small.clear()
        path = f"part-{version}.parquet"
        actions.append({"add": {**by_kind["add"]["add"], "path": path}})
        if version % _COMPACTED:
            small.append(path)
        text = "\n".join(json.dumps(action, separators=(",", ":")) for action in actions)
        (log / f"{version:020}.json").write_text(text)
        if version % _CHECKPOINT == 0:
            _checkpoint(spark, place)
    _checkpoint(spark, place)


def _checkpoint(spark: SparkSession, place: Path) -> None:
    """Write one, from the one before and the commits since."""
    java: Any = spark.sparkContext._jvm
    java.org.apache.spark.sql.delta.DeltaLog.clearCache()
    delta_log = java.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(place))
    nothing = java.scala.Option.empty()
    delta_log.checkpoint(delta_log.update(False, nothing, nothing), nothing)


def _add_to_iceberg(spark: SparkSession, place: Path, commits: int, wanted: int) -> None:
    """Commit files that are not there; of the snapshots as many are kept as the usual history has."""
    if not commits:
        open_table(spark, str(place), "iceberg").append(_row(spark), Progress("bench", 1, "cluster", {}, {}))
    java: Any = spark.sparkContext._jvm
    iceberg = java.org.apache.iceberg
    table = CatalogEntry(spark, str(place)).load()
    text = table.currentSnapshot().summary().get("barnabas.progress")
    small: list[Any] = []
    template = DataFiles(spark).tasks_of(table)[0]
    for number in range(commits, wanted):
        builder = iceberg.DataFiles.builder(table.spec()).copy(template.file())
        file = builder.withPath(f"{place}/data/{uuid.uuid4()}.parquet").build()
        if len(small) == _COMPACTED:
            update = table.newOverwrite()
            for old in small:
                update.deleteFile(old)
            update.addFile(file).set("barnabas.progress", text).commit()
            small.clear()
        else:
            table.newAppend().appendFile(file).set("barnabas.progress", text).commit()
            small.append(file)
        if number % _SNAPSHOTS == _SNAPSHOTS - 1:
            table.expireSnapshots().retainLast(_SNAPSHOTS).expireOlderThan(int(time.time() * 1000)).commit()


if __name__ == "__main__":
    main()
