"""Measure what a refresh costs as facts grow: `python -m benchmarks.pipeline.refreshes`, `ranking --facts 10000000`.

A job computes facts from the events of a generated site, once. Then `--refreshes` refreshes run with the code that a
run uses, each with about as many new facts as the one before. The topics are on a broker. With `--facts N` the tables
contain about N facts before the first refresh: copies of the same facts, each earlier by a multiple of six hours, which
one refresh has processed. The benchmark prints the median of the five refreshes around the tenth, the median of the
last five, and the ratio of the second median to the first.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.job import Job, Mode, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.runner.aggregates import KnownFiles
from barnabas.pipeline.runner.cluster import Cluster, KafkaOptions
from barnabas.pipeline.runner.outputs import TableWriter, open_tables
from barnabas.pipeline.runner.plan import Delivery, RunPlan
from barnabas.pipeline.runner.progress_file import Span
from barnabas.pipeline.runner.refresh import refresh
from barnabas.pipeline.runner.session import SessionOptions, session_for
from barnabas.pipeline.runner.topic_output import TopicWriter
from barnabas.pipeline.sources.social import SitePlan, write_jsonl
from benchmarks.load.targets import TARGETS, Running
from tests.pipeline.generated_events import table_of
from tests.pipeline.literal_events import facts_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

JOBS = ("reporting", "security", "ranking", "feed", "operations")
_EARLIER_S = 6 * 3600
_REFRESH_S = 10


def main() -> None:
    """Measure the jobs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=f"jobs: {', '.join(JOBS)} (default: all)")
    parser.add_argument("--refreshes", type=int, default=100, metavar="N", help="number of refreshes (%(default)s)")
    parser.add_argument("--new", type=int, default=2_000, metavar="N", help="events per refresh, about (%(default)s)")
    parser.add_argument("--facts", type=int, action="append", metavar="N", help="facts beforehand (0 and 10,000,000)")
    arguments = parser.parse_args()
    with TARGETS["barnabas"]() as broker, tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        directory = Path(name)
        plan = SitePlan(
            duration_s=arguments.refreshes * _REFRESH_S, events_per_s=arguments.new / _REFRESH_S, users=10_000
        )
        write_jsonl(dataclasses.replace(plan, shares=dataclasses.replace(plan.shares, broken=0.0)), directory)
        options = SessionOptions(table_format="delta", is_continuous=True)
        with session_for(options, [], print) as (spark, _):
            print("| job | facts before | first ms | ms of the tenth | of the last | ratio |")
            print("| --- | --- | --- | --- | --- | --- |")
            for job in map(find_job, arguments.jobs):
                for fact_count in arguments.facts or (0, 10_000_000):
                    run = Refreshes(spark, broker, job, directory, f"{job.name}-{fact_count}")
                    before = run.fill(fact_count)
                    took_ms = [run.refresh(number) for number in range(arguments.refreshes)]
                    tenth, last = statistics.median(took_ms[7:12]), statistics.median(took_ms[-5:])
                    row = f"{before:,} | {took_ms[0]:,.0f} | {tenth:,.0f} | {last:,.0f} | {last / tenth:.2f}"
                    print(f"| {job.name} | {row} |", flush=True)


class Refreshes:
    """One job's tables, with facts that are added step by step."""

    def __init__(self, spark: SparkSession, broker: Running, job: Job, events: Path, run: str) -> None:
        self._spark, self._job = spark, job
        self._step = 0
        tables = str(events / "tables" / run)
        outputs = [output for output in job.outputs if isinstance(output, TableOutput)]
        topics = {output.name: f"{run}-{output.name}" for output in job.outputs if isinstance(output, TopicOutput)}
        self._plan = RunPlan(job, KafkaOptions(broker.address, {}), tables, "delta", tables, run, topics)
        opened = open_tables(spark, self._plan, tuple(outputs))
        writers = {each.name: TableWriter(opened[each.name], each, f"{run}/{each.name}", "") for each in outputs}
        self._sources = {name: each for name, each in writers.items() if each.declared.mode is Mode.APPEND}
        self._derived = {name: each for name, each in writers.items() if name not in self._sources}
        self._cluster = Cluster(self._plan.kafka)
        self._parameters = job.defaults()
        self._known = KnownFiles()
        (self._facts_name,) = self._sources
        facts_of(spark, job, dict(self._inputs(events))).orderBy("time").write.parquet(f"{tables}/all")
        self._facts = spark.read.parquet(f"{tables}/all")
        self._start_s = int(SitePlan().start.timestamp())

    def _inputs(self, directory: Path) -> Iterator[tuple[str, pa.Table]]:
        for each in self._job.inputs:
            if isinstance(each, TopicInput) and each.event is not None:
                values = (directory / f"{each.event.topic}.jsonl").read_bytes().splitlines()
                yield each.name, table_of(each.event, values)

    def fill(self, fact_count: int) -> int:
        """Add about this many earlier facts, and derive from them; return the number of facts."""
        from pyspark.sql import functions as F

        copies = -(-fact_count // self._facts.count())
        if copies:
            earlier = F.explode(F.sequence(F.lit(1), F.lit(copies)))
            facts = self._facts.withColumn("_copy", earlier).withColumn("id", F.concat("id", F.lit("/"), "_copy"))
            shift = F.make_interval(secs=F.col("_copy") * _EARLIER_S)
            facts = facts.withColumns({name: F.col(name) - shift for name in ("time", "_timestamp")})
            if "day" in facts.columns:
                facts = facts.withColumn("day", F.to_date("time"))
            self._append(facts.drop("_copy"))
            self._refresh()
        return copies * self._facts.count()

    def refresh(self, number: int) -> float:
        """Add the facts of the next ten seconds, and derive from all; return the duration of the latter in ms."""
        from pyspark.sql import functions as F

        second = F.unix_seconds("_timestamp") - self._start_s
        self._append(self._facts.where(F.floor(second / _REFRESH_S) == number))
        began_s = time.monotonic()
        self._refresh()
        return 1000 * (time.monotonic() - began_s)

    def _append(self, facts: DataFrame) -> None:
        self._step += 1
        self._sources[self._facts_name].write(facts, Span({}, {"all": {0: self._step}}, {}), Delivery.EXACTLY_ONCE)

    def _refresh(self) -> None:
        topics = {
            output.name: TopicWriter(self._cluster, output, self._plan)
            for output in self._job.outputs
            if isinstance(output, TopicOutput)
        }
        refresh(self._job, self._parameters, self._sources, self._derived, topics, known=self._known)


if __name__ == "__main__":
    main()
