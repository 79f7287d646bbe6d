"""How many events a second and core the jobs handle: `python -m benchmarks.pipeline.jobs feed ranking operations`.

Events of the made-up site are read from files, so it is the jobs' own work that is measured: no broker, no topics. Two
steps are timed, as the runner does them: `transform` of all events into the table of facts, and `refresh` of all
results from it, both into Parquet. What is told is CPU time of Spark's JVM, as other work on the machine makes the
clock on the wall say little; the first run of a step, in which the JVM still compiles, is left out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from barnabas.pipeline.job import Job, Mode, TableOutput, TopicInput
from barnabas.pipeline.jobs import feed, operations, ranking
from barnabas.pipeline.sources.social import SitePlan, write_jsonl
from barnabas.pipeline.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOBS = {job.name: job for job in (feed.JOB, ranking.JOB, operations.JOB)}
DAYS = 2


def main() -> None:
    """Measure the jobs that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=f"of {', '.join(JOBS)}; all unless told")
    parser.add_argument("--events", type=int, default=1_000_000, help="how many events are made up, about")
    arguments = parser.parse_args()
    rate = arguments.events / (DAYS * 86_400)
    # 50 events a user and day are usual on that site.
    plan = SitePlan(
        start=datetime(2026, 3, 5, tzinfo=UTC),
        duration_s=DAYS * 86_400,
        events_per_s=rate,
        users=max(100, int(rate * 86_400 / 50)),
        items=max(100, arguments.events // 50),
    )
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_jsonl(replace(plan, shares=replace(plan.shares, broken=0.0)), directory / "events")
        with spark_session("benchmark", scratch=directory / "spark") as spark:
            print("| job | events read | step | CPU s | wall s | events/s and core |")
            print("| --- | --- | --- | --- | --- | --- |")
            for job_name in arguments.jobs:
                measure(spark, JOBS[job_name], directory)


def measure(spark: SparkSession, job: Job, directory: Path) -> None:
    """Time both steps of a job, and print a line for each."""
    assert job.refresh is not None
    inputs = {
        each.name: events(spark, each, directory / "events") for each in job.inputs if isinstance(each, TopicInput)
    }
    count = sum(frame.count() for frame in inputs.values())
    tables = [each for each in job.outputs if isinstance(each, TableOutput)]
    kept = [each.name for each in tables if each.mode is Mode.APPEND]
    derived = [each.name for each in tables if each.mode is Mode.REPLACE]
    parameters, refresh = job.defaults(), job.refresh

    def transform() -> None:
        frames = job.transform(inputs, parameters)
        for each in kept:
            frames[each].write.mode("overwrite").parquet(str(directory / each))

    def compute() -> None:
        frames = refresh({each: spark.read.parquet(str(directory / each)) for each in kept}, parameters)
        for each in derived:
            frames[each].write.mode("overwrite").parquet(str(directory / each))

    for step, work in (("transform", transform), ("refresh", compute)):
        timed(work)
        cpu_s, wall_s = timed(work)
        print(f"| {job.name} | {count:,} | {step} | {cpu_s:.1f} | {wall_s:.1f} | {count / cpu_s:,.0f} |", flush=True)


def events(spark: SparkSession, each: TopicInput, directory: Path) -> DataFrame:
    """Read the events of an input, with a place for each."""
    from pyspark.sql import functions as F  # noqa: N812

    assert each.event is not None
    topic = each.event.topic
    return (
        spark.read.schema(each.event.ddl)
        .json(str(directory / f"{topic}.jsonl"))
        .select(
            "*",
            F.lit(topic).alias("_topic"),
            F.lit(0).alias("_partition"),
            F.monotonically_increasing_id().alias("_offset"),
            F.col("time").alias("_timestamp"),
        )
    )


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Do it; give the CPU seconds of all processes under this one, and the seconds on the wall."""
    cpu_s, wall_s = _cpu_s(), time.monotonic()
    work()
    return _cpu_s() - cpu_s, time.monotonic() - wall_s


def _cpu_s() -> float:
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(each.user + each.system for each in times)


if __name__ == "__main__":
    main()
