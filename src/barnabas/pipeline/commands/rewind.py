"""`barnabas pipeline rewind JOB --to WHERE`: let a stopped run go on from an earlier place; its later rows go.

Each table of facts is cut: the rows of records at and after the place go, in one commit with the new offsets. What is
derived is computed anew by the next run. A job that keeps state goes on from the place with no state: its windows fill
anew, and rows under the same keys take the place of the older ones; so go back by a window more than you need.
"""

import argparse
from contextlib import closing

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.options import (
    Options,
    absolute,
    add_cluster_options,
    add_spark_options,
    add_table_options,
    kafka_options,
    names,
    pairs,
    parse_bound,
    session_options,
    tables_place,
)
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.figures import Metrics
from barnabas.pipeline.runner.plan import PlanError, RunPlan
from barnabas.pipeline.runner.session import session_for


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.add("job", help="a job's name, or a .py file that declares one")
    options.value("--to", "WHERE", "a time (2026-11-17T14:00, UTC), offsets as JSON, or earliest", required=True)
    options.value("--as", "RUN", "the run's name (the job's)", "", dest="run_name")
    options.value("--topics", "TOPIC,...", "of a job that reads any", "")
    options.values("--topic", "NAME=TOPIC", "as the run has it")
    options.flag("--dry-run", "only say what would be done")
    options.value("--give-up", "S", "wait for the run's end", 10.0, unit=" s")
    add_cluster_options(parser)
    add_table_options(parser)
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    job = find_job(arguments.job)
    to = parse_bound(arguments.to)
    if to is None or to.is_latest:
        raise PlanError("--to: a time, offsets, or earliest")
    plan = RunPlan(
        job,
        kafka_options(arguments, f"barnabas-{job.name}"),
        tables_place(arguments),
        arguments.format,
        absolute(arguments.checkpoint),
        arguments.run_name or job.name,
        pairs(arguments.topic, "--topic"),
        names(arguments.topics),
        start=to,
        give_up_s=arguments.give_up,
    )
    with session_for(session_options(arguments), [plan], print) as (spark, _), closing(Cluster(plan.kafka)) as cluster:
        from barnabas.pipeline.runner.job_run import JobRun

        for line in JobRun(spark, plan, cluster, Metrics(), lambda figures: None, print).rewind(arguments.dry_run):
            print(line)
    if arguments.dry_run:
        print("nothing was changed (--dry-run)")
    return 0
