"""`barnabas pipeline rewind JOB --to WHERE`: reset a stopped run to an earlier position, and delete its later rows.

In each table of facts, the run's rows of records at and after the position are deleted, in one commit with the new
offsets. The next run computes derived tables again. A job with state continues from the position without state: its
windows fill again, and rows with the same keys replace the older ones. So go back one window further than you need.
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
    resolve_location,
    run_names,
    session_options,
    tables_root,
)
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.plan import PlanError, RunPlan, check_plan
from barnabas.pipeline.runner.run_metrics import Metrics
from barnabas.pipeline.runner.session import session_for


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.add("job", help="a job's name, or a .py file that declares one")
    options.value("--to", "WHERE", "a time (2026-11-17T14:00, UTC), offsets as JSON, or earliest", required=True)
    options.value("--as", "RUN", "name of the run (the job's); of a run of several jobs RUN/JOB", "", dest="run_name")
    options.value("--topics", "TOPIC,...", "topics of a job that reads any", "")
    options.values("--topic", "NAME=TOPIC", "topic of an input or output, as in the run")
    options.values("--table", "NAME=PLACE", "another location of a table, as in the run")
    options.flag("--dry-run", "only print the planned changes")
    options.value("--give-up", "S", "longest time to wait for the run's end", 10.0, unit=" s")
    add_cluster_options(parser)
    add_table_options(parser)
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    job = find_job(arguments.job)
    to = parse_bound(arguments.to)
    if to is None or to.is_latest:
        raise PlanError(f"--to {arguments.to}: must be a time, offsets, or earliest")
    places = {
        name: resolve_location(place, arguments.format) for name, place in pairs(arguments.table, "--table").items()
    }
    run_name, other_run = run_names(arguments.run_name, job.name)
    plan = RunPlan(
        job,
        kafka_options(arguments, f"barnabas-{job.name}"),
        tables_root(arguments),
        arguments.format,
        absolute(arguments.checkpoint),
        run_name,
        pairs(arguments.topic, "--topic"),
        names(arguments.topics),
        start=to,
        places=places,
        give_up_s=arguments.give_up,
        other_run=other_run,
    )
    check_plan(plan)
    with session_for(session_options(arguments), [plan], print) as (spark, _), closing(Cluster(plan.kafka)) as cluster:
        from barnabas.pipeline.runner.job_run import JobRun

        for line in JobRun(spark, plan, cluster, Metrics(), lambda figures: None, print).rewind(arguments.dry_run):
            print(line)
    if arguments.dry_run:
        print("nothing was changed (--dry-run)")
    return 0
