"""How fast the job reporting is: facts of many page views, and all result tables of them, into Parquet.

    .venv/bin/python -m benchmarks.pipeline.reporting --views 1000000

Views are made up by Spark: as many visitors, pages and referrers as a site of that size has. Times are of the wall and
of the CPU (Spark's JVM and its children); on a machine that does other things the latter tells more.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from barnabas.pipeline.jobs.reporting import JOB
from barnabas.pipeline.jobs.reporting.facts import FACTS
from barnabas.pipeline.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Five days; a few visitors, pages and sites have most of the views; one in three is a picture.
_VIEW = (
    "'page_view' AS type",
    "1 AS version",
    "concat('log:', id) AS id",
    "timestamp_micros(1700000000000000 + id * 432000000000 DIV {views} + CAST(rand(1) * 6e7 AS BIGINT)) AS time",
    "concat_ws('.', 10, CAST(pow(rand(2), 3) * 200 AS INT), CAST(rand(3) * 20 AS INT), 1) AS address",
    "CAST(NULL AS STRING) AS user",
    "CAST(NULL AS STRING) AS session",
    "'GET' AS method",
    "concat('/page/', CAST(pow(rand(4), 4) * 5000 AS INT), if(rand(5) < 0.33, '.png', '/?x=1')) AS page",
    "if(rand(6) < 0.03, 404, 200) AS status",
    "CAST(rand(7) * 50000 AS BIGINT) AS bytes",
    "concat('https://site', CAST(pow(rand(8), 3) * 200 AS INT), '.example/a/b') AS referrer",
    "concat('Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/', "
    "CAST(rand(9) * 20 AS INT), if(rand(10) < 0.1, '.0 (compatible; Examplebot)', '.0 Safari/537.36')) AS agent",
    "CAST(NULL AS DOUBLE) AS latency_ms",
    "'page-views' AS _topic",
    "CAST(id % 4 AS INT) AS _partition",
    "id DIV 4 AS _offset",
    "timestamp_seconds(0) AS _timestamp",
)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--views", type=int, default=1_000_000)
    view_count = parser.parse_args().views
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        with spark_session("benchmark", scratch=directory / "spark") as spark:
            _measure(spark, directory, view_count)


def _measure(spark: SparkSession, directory: Path, view_count: int) -> None:
    events = spark.range(view_count, numPartitions=8).selectExpr(*(part.format(views=view_count) for part in _VIEW))
    events = _written(spark, events, directory / "events")
    print(f"{'':18}{'wall s':>8}{'CPU s':>8}{'views per CPU s':>18}")
    # Twice: the first time much is compiled.
    for turn in ("cold", "warm"):
        with _timed(f"facts, {turn}", view_count):
            facts = _written(spark, JOB.transform({"page_view": events}, JOB.defaults())[FACTS], directory / FACTS)
        with _timed(f"refresh, {turn}", view_count):
            assert JOB.refresh is not None
            with _timed("  to begin with", 0):
                tables = JOB.refresh({FACTS: facts}, JOB.defaults())
            for name, rows in tables.items():
                with _timed(f"  {name}", 0):
                    _written(spark, rows, directory / name)


def _written(spark: SparkSession, rows: DataFrame, path: Path) -> DataFrame:
    rows.write.mode("overwrite").parquet(str(path))
    return spark.read.parquet(str(path))


@contextmanager
def _timed(name: str, view_count: int) -> Iterator[None]:
    wall_s, cpu_s = time.monotonic(), _cpu_s()
    yield
    wall_s, cpu_s = time.monotonic() - wall_s, _cpu_s() - cpu_s
    print(f"{name:18}{wall_s:8.1f}{cpu_s:8.1f}" + (f"{view_count / cpu_s:18,.0f}" if view_count else ""), flush=True)


def _cpu_s() -> float:
    """Give the CPU time of all processes that this one has started."""
    return sum(sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True))


if __name__ == "__main__":
    main()
