"""The demo's Spark process: runs the jobs once, tells what they found, and writes the counts and the report.

Told as one JSON object a line: `session`, `batch`, `warning`, `summary` (a table for people), `done`.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.core.parent import die_with_parent
from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.demo.children import HOPELESS
from barnabas.pipeline.demo.plain_count import Counts, write_counts
from barnabas.pipeline.events.types import PAGE_VIEW
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.session import SessionOptions, session_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipeline.runner.figures import Figures

JOBS = ("load", "reporting", "ranking", "security")
_SUMMARY_ROWS = 10


def main(argv: list[str] | None = None) -> int:
    """Run the process; gives its exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--parent", type=int, required=True)
    arguments = parser.parse_args(argv)
    die_with_parent(arguments.parent)
    from barnabas.pipeline.spark.java import JavaNotFoundError

    try:
        _run(arguments.bootstrap_server, arguments.directory.absolute())
    except (JavaNotFoundError, ImportError) as error:
        print(f"{error}", file=sys.stderr)
        return HOPELESS
    return 0


def _run(bootstrap_server: str, directory: Path) -> None:
    from barnabas.pipeline.demo.directory import DemoDirectory
    from barnabas.pipeline.report.collect import collect
    from barnabas.pipeline.report.page import render
    from barnabas.pipeline.runner.figures import Metrics
    from barnabas.pipeline.runner.supervisor import run_jobs

    places = DemoDirectory(directory)
    plans = [
        RunPlan(
            job,
            KafkaOptions(bootstrap_server, {"client.id": f"barnabas-{job.name}"}),
            str(places.tables),
            "delta",
            str(places.checkpoint),
            job.name,
            any_topics=(PAGE_VIEW.topic,) if job.name == "load" else (),
            is_once=True,
        )
        for job in map(find_job, JOBS)
    ]
    # What takes half a minute is over before a JVM that compiles for hours would be fast.
    settings = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"}
    options = SessionOptions("delta", master="local[2]", settings=settings, scratch=places.scratch, is_verbose=True)
    with session_for(options, plans, _warn) as (spark, seconds):
        _tell("session", seconds=seconds)
        runs = run_jobs(spark, plans, Metrics(), _report, _warn)
        tables: dict[str, DataFrame] = {}
        for run in runs:
            found = run.tables()
            if run.plan.job.summarize is not None and found:
                for summary in run.plan.job.summarize(found, run.plan.job.defaults()):
                    rows = summary.rows.limit(_SUMMARY_ROWS)
                    _tell(
                        "summary",
                        job=run.plan.run,
                        title=summary.title,
                        columns=rows.columns,
                        rows=[[_plain(value) for value in row] for row in rows.collect()],
                    )
            tables |= found
        write_counts(places.summary, _count(tables[PAGE_VIEW.topic]))
        places.report.write_text(render(collect(tables, made_at=datetime.now(UTC))))
        _tell("done", rows=sum(table.count() for table in tables.values()))


def _count(views: DataFrame) -> Counts:
    """Count the loaded views per minute and page; one that was sent twice counts once."""
    minute = "date_format(date_trunc('MINUTE', time), \"yyyy-MM-dd'T'HH:mm:ss'Z'\") AS minute"
    rows = views.dropDuplicates(["id"]).selectExpr(minute, "page").groupBy("minute", "page").count()
    return Counts({(row["minute"], row["page"]): row["count"] for row in rows.collect()})


def _report(figures: Figures) -> None:
    _tell("batch", **json.loads(figures.to_json()))


def _warn(text: str) -> None:
    _tell("warning", text=text)


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _tell(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    sys.exit(main())
