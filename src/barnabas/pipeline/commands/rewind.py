"""`barnabas pipeline rewind JOB --to WHERE`: reset a stopped run to an earlier position, and delete its later rows.

In each table of facts, the rows of records at and after the position are deleted, in one commit with the new offsets.
The next run computes derived tables again. A job with state continues from the position without state: its windows fill
again, and rows with the same keys replace the older ones. So go back one window further than you need.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.options import (
    absolute,
    add_cluster_options,
    add_spark_options,
    add_table_options,
    kafka_options,
    pairs,
    parse_bound,
    session_options,
    tables_place,
)
from barnabas.pipeline.runner.plan import PlanError, RunPlan
from barnabas.pipeline.runner.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "rewind"
HELP = "reset a stopped run to an earlier position"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("job", help="a job's name, or a .py file that declares one")
    parser.add_argument(
        "--to", required=True, metavar="WHERE", help="a time (2026-11-17T14:00, UTC), offsets as JSON, or earliest"
    )
    parser.add_argument("--as", dest="run_name", default="", metavar="RUN", help="name of the run (the job's)")
    parser.add_argument("--topics", default="", metavar="TOPIC,...", help="topics of a job that reads any")
    parser.add_argument(
        "--topic", action="append", default=[], metavar="NAME=TOPIC", help="topic of an input or output, as in the run"
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the planned changes")
    parser.add_argument(
        "--give-up",
        type=float,
        default=10.0,
        metavar="S",
        help="longest time to wait for the run's end; default: %(default)s s",
    )
    add_cluster_options(parser)
    add_table_options(parser)
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    job = find_job(arguments.job)
    to = parse_bound(arguments.to)
    if to is None or to.is_latest:
        raise PlanError(f"--to {arguments.to}: must be a time, offsets, or earliest")
    plan = RunPlan(
        job,
        kafka_options(arguments, f"barnabas-{job.name}"),
        tables_place(arguments),
        arguments.format,
        absolute(arguments.checkpoint),
        arguments.run_name or job.name,
        pairs(arguments.topic, "--topic"),
        tuple(text.strip() for text in arguments.topics.split(",") if text.strip()),
        start=to,
        give_up_s=arguments.give_up,
    )
    with session_for(session_options(arguments), [plan], print) as (spark, _):
        return _rewind(spark, plan, arguments.dry_run)


def _rewind(spark: SparkSession, plan: RunPlan, is_dry: bool) -> int:
    from barnabas.pipeline.runner.cluster import Cluster
    from barnabas.pipeline.runner.figures import Metrics
    from barnabas.pipeline.runner.job_run import JobRun

    cluster = Cluster(plan.kafka)
    try:
        job_run = JobRun(spark, plan, cluster, Metrics(), lambda figures: None, print)
        for line in job_run.rewind(is_dry):
            print(line)
    finally:
        cluster.close()
    if is_dry:
        print("nothing was changed (--dry-run)")
    return 0
