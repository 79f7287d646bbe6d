"""Measure what a small commit costs, by kind: `python -m benchmarks.pipeline.commits --format delta`.

A thousand rows in two partitions, cached by Spark, are committed repeatedly, as the run of a job does it:

- append a file: the driver alone appends them
- append: Spark appends them
- replace: they replace all rows
- replace a tenth: a tenth of the rows is replaced
- replace and read: they replace all rows, then the table is read

The benchmark prints the CPU milliseconds of all processes, wall-clock milliseconds and Spark jobs per commit. For each
kind the same number of commits warms up before and is not counted.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from barnabas.pipeline.spark.session import spark_session
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Progress, Table

_ROWS = 1_000
_TENTH = 9


def main() -> None:
    """Measure one format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=("delta", "iceberg", "parquet"), default="delta", help="(%(default)s)")
    parser.add_argument("--commits", type=int, default=30, metavar="N", help="commits of each kind (%(default)s)")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name,
        spark_session("commits", scratch=Path(name, "spark")) as spark,
    ):
        java: Any = spark.sparkContext._jvm
        jvm = psutil.Process(int(java.java.lang.ProcessHandle.current().pid()))
        scheduler = spark._jsc.sc().dagScheduler()
        rows = (
            spark.range(0, _ROWS, 1, 2).selectExpr("id", "CAST(id AS STRING) AS name", "id DIV 100 AS unit").persist()
        )
        rows.count()
        tenth = rows.where(f"unit = {_TENTH}")

        def replace_some(table: Table, progress: Progress) -> None:
            if progress.sequence == 1:
                table.replace(rows, progress)
            else:
                table.replace(tenth, progress, where=f"unit IN ({_TENTH})")

        def replace_and_read(table: Table, progress: Progress) -> None:
            table.replace(rows, progress)
            table.read().select("unit").distinct().collect()

        arrow = rows.toArrow()

        def commit_files(table: Table, progress: Progress) -> None:
            writer = table.sink(rows.schema).open()
            writer.write(arrow)
            table.append_files(writer.close(), rows.schema, progress)

        kinds: dict[str, Callable[[Table, Progress], None]] = {
            # The file is written here, like a task does, to measure a commit without Spark.
            **({"append a file": commit_files} if arguments.format in ("delta", "iceberg") else {}),
            "append": lambda table, progress: table.append(rows, progress),
            "replace": lambda table, progress: table.replace(rows, progress),
            "replace a tenth": replace_some,
            "replace and read": replace_and_read,
        }
        print(f"{arguments.format}, {arguments.commits} commits of each kind\n")
        print("| commit | CPU ms | ms | Spark's jobs |")
        print("| --- | --- | --- | --- |")
        for kind, commit in kinds.items():
            place = Path(name, kind.replace(" ", "-"), "warehouse", "table")
            table = open_table(spark, str(place), arguments.format)
            for sequence in range(1, 2 * arguments.commits + 1):
                if sequence == arguments.commits + 1:
                    began, began_s, job_count = cpu_s(jvm), time.monotonic(), scheduler.numTotalJobs()
                commit(table, Progress("bench", sequence, "cluster", {"topic": {0: sequence}}, {}))
            cpu_ms = 1_000 * (cpu_s(jvm) - began) / arguments.commits
            wall_ms = 1_000 * (time.monotonic() - began_s) / arguments.commits
            jobs = (scheduler.numTotalJobs() - job_count) / arguments.commits
            print(f"| {kind} | {cpu_ms:.0f} | {wall_ms:.0f} | {jobs:.1f} |", flush=True)
            shutil.rmtree(place.parents[1])


def cpu_s(jvm: psutil.Process) -> float:
    """Return the CPU seconds of this process, of Spark's JVM and of its Python workers."""
    spent = [process.cpu_times() for process in (psutil.Process(), jvm, *jvm.children(recursive=True))]
    return sum(times.user + times.system + times.children_user + times.children_system for times in spent[1:]) + (
        spent[0].user + spent[0].system
    )


if __name__ == "__main__":
    main()
