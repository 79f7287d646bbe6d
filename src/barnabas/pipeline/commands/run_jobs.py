"""`barnabas pipeline run JOB...`: run jobs on a cluster's topics, until they are stopped or finished.

If a cluster can't be reached at the start, the command fails before it starts Spark; if it becomes unreachable later,
the run waits for it. Exit codes: 0 finished, or stopped by SIGINT or SIGTERM between two batches or before Spark was
up; 1 failed; 2 invalid options, or records were lost with --on-data-loss stop; 130 stopped at once by a second signal.
"""

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from barnabas.core.process import print_status
from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.enforcement import add_enforcement_options, enforcement_followers
from barnabas.pipeline.commands.layout import add_layout_options, compact_every, layout
from barnabas.pipeline.commands.options import (
    Options,
    absolute,
    add_cluster_options,
    add_parent_option,
    add_spark_options,
    add_table_options,
    kafka_options,
    names,
    pairs,
    parse_bound,
    parse_duration,
    resolve_location,
    run_names,
    session_options,
    tables_root,
)
from barnabas.pipeline.commands.report import write_report
from barnabas.pipeline.commands.running import Stopper, tell, tell_batch
from barnabas.pipeline.events.schema_registry import SchemaRegistry, registry_settings
from barnabas.pipeline.job import Frames, Job, Parameters, TableOutput
from barnabas.pipeline.runner.cluster import COMMITTED, ISOLATION, ISOLATION_LEVELS, check_reachable
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import (
    Bound,
    Delivery,
    OnDataLoss,
    PlanError,
    RunPlan,
    check_plan,
    parse_value,
)
from barnabas.pipeline.runner.run_metrics import Metrics
from barnabas.pipeline.runner.session import session_for
from barnabas.pipeline.terminal import print_table

_SUMMARY_ROWS = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    Options(parser).add("jobs", nargs="+", metavar="JOB", help="a job's name, or a .py file that declares one")
    add_cluster_options(parser)
    add_table_options(parser)
    what = Options(parser, "input and output")
    what.value("--topics", "TOPIC,...", "topics to read, for a job that reads any: names, or /PATTERN/", "")
    what.values(
        "--by-key",
        "TOPIC,...",
        "for load: more topics, whose tables keep only the latest row of each record key; a record without a value "
        "deletes the row",
    )
    what.flag("--keep-deleted", "with --by-key: mark the row in _deleted instead of deleting it")
    what.values("--topic", "NAME=TOPIC", "another topic for an input or output, or another location for an input table")
    what.values(
        "--table",
        "NAME=PLACE",
        "another location for a table, also one made by another program; tables of load are named by topic",
    )
    what.choice(
        "--isolation-level",
        ISOLATION_LEVELS,
        f"records of transactions to read; overrides the Kafka client options; default: {COMMITTED}",
    )
    what.choice("--event-format", ("json", "avro"), "format of the topics' values", "json")
    what.value(
        "--schema-registry",
        "URL|DIR",
        "schema registry of the values: http(s)://HOST:PORT, or a folder with ID.avsc and ID.json; set login and TLS "
        "by Kafka client options (basic.auth.user.info, schema.registry.ssl.*)",
    )
    what.choice(
        "--envelope",
        ("debezium",),
        "for load: values are Debezium's row changes as JSON; with --by-key the table equals the database's, without "
        "it the table has a row for each change, with its _op",
        "",
    )
    what.values("--set", "NAME=VALUE", "set a parameter of a job")
    what.value(
        "--as",
        "RUN",
        "name of this run (the job's; of several jobs RUN/JOB): runs with different names may write the same tables at "
        "the same time, such as a backfill beside a load",
        "",
        dest="run_name",
    )
    ends = Options(parser, "start and end (a time, offsets as JSON, earliest, latest)")
    ends.value("--from-time", "WHERE", "start here in partitions without progress of the run (earliest)")
    ends.value("--until", "WHERE", "exit after all records before this are processed")
    ends.flag("--once", "process what is available, then exit")
    pace = Options(parser, "pace")
    pace.value(
        "--trigger",
        "S",
        "seconds between batches (one and a half times as one takes, 1 to 10; of several jobs 4 to 10)",
        type=float,
    )
    pace.value("--refresh", "S", "seconds between two refreshes of a job's derived tables", 10.0)
    pace.value(
        "--keep-facts",
        "AGE",
        "for jobs that aggregate their facts by hour or day: delete facts older than this (30d, 12h); default: none",
    )
    pace.value("--max-bytes-per-s", "N", "limit of bytes/s, by the measured size of records", 0.0)
    pace.value("--max-messages-per-s", "N", "limit of messages/s, over all partitions", 0.0)
    pace.value(
        "--max-rate-per-partition",
        "N",
        "limit of messages/s for each partition, as spark.streaming.kafka.maxRatePerPartition of DStreams",
        0.0,
    )
    pace.flag(
        "--ignore-quotas",
        "do not size batches by the quotas of this user and client.id; only brokers throttle then",
    )
    add_layout_options(parser)
    care = Options(parser, "failures")
    care.choice(
        "--on-data-loss",
        [each.value for each in OnDataLoss],
        "if records were deleted before they were read: stop, or record the ranges in a table and continue",
        "stop",
    )
    care.choice(
        "--on-registry-failure",
        ("wait", "dead-letter"),
        "if the schema registry is unreachable or lacks a schema: wait for it, at most --give-up, or write the records "
        "to the dead letters",
        "wait",
    )
    care.choice("--delivery", [each.value for each in Delivery], "guarantee for rows in tables", "exactly-once")
    care.value("--give-up", "S", "exit after this long without contact to a cluster", 120.0, unit=" s")
    add_enforcement_options(parser)
    add_spark_options(parser)
    output = Options(parser, "output")
    output.value("--metrics-port", "PORT", "serve Prometheus metrics on this port", type=int)
    output.flag("--json", "print one JSON object per line")
    others = Options(parser)
    others.value("--report", "FILE", "write the page of barnabas pipeline report at the end", type=Path)
    others.flag("--no-summary", "do not print a summary of the results at the end")
    add_parent_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    plans = [_plan(arguments, find_job(name)) for name in arguments.jobs]
    for plan in plans:
        check_plan(plan)
    if len({plan.run for plan in plans}) < len(plans):
        raise PlanError("the same job is named twice: run it in two commands with different names (--as)")

    def warn(text: str) -> None:
        tell(arguments, "warning", text=text)

    followers = enforcement_followers(arguments, plans, lambda text: tell(arguments, "enforcement", text=text), warn)
    stopper = Stopper()
    metrics = Metrics()
    port = None if arguments.metrics_port is None else metrics.serve(arguments.metrics_port)
    check_reachable(plans[0].kafka)
    if not arguments.json:
        print_status("starting Spark", sys.stdout)
    with session_for(session_options(arguments), plans, warn) as (spark, seconds):
        from barnabas.pipeline.runner.supervisor import run_jobs

        stopper.begin()
        tell(arguments, "session", seconds=seconds)
        if port is not None:
            tell(arguments, "metrics", url=f"http://127.0.0.1:{port}/metrics")
        runs = run_jobs(spark, plans, metrics, partial(tell_batch, arguments), warn, stopper.is_stopped, followers)
        for each in runs:
            tell(
                arguments,
                "done",
                run=each.plan.run,
                record_count=each.figures.record_count,
                dead_letter_count=each.figures.dead_letter_count,
                lag=each.figures.lag_count,
            )
        if not arguments.no_summary and not arguments.json:
            for each in runs:
                _print_summary(each.plan.job, each.tables(), {**each.plan.job.defaults(), **each.plan.parameters})
        if arguments.report is not None:
            tables = {name: table for each in runs for name, table in each.tables().items()}
            write_report(arguments.report, tables, arguments.checkpoint)
            tell(arguments, "report", file=str(arguments.report), table_count=len(tables))
    return 0


def _print_summary(job: Job, tables: Frames, parameters: Parameters) -> None:
    """Print the first rows of each summary of a job."""
    if job.summarize is None:
        return

    console = Console()
    # A run that is stopped early may have written some of them only.
    wanted = {output.name for output in job.outputs if isinstance(output, TableOutput)}
    if not tables or not wanted <= tables.keys():
        console.print(f"{job.name}: nothing yet")
        return
    for summary in job.summarize(tables, parameters):
        rows = summary.rows.limit(_SUMMARY_ROWS).collect()
        print_table(console, summary.title, summary.rows.columns, rows)


def _plan(arguments: argparse.Namespace, job: Job) -> RunPlan:
    run_name, other_run = run_names(arguments.run_name, job.name, len(arguments.jobs) > 1)
    takes_any = any(getattr(each, "event", None) is None and not getattr(each, "topic", "x") for each in job.inputs)
    own_names = {each.name for each in (*job.inputs, *job.outputs)}
    topics = pairs(arguments.topic, "--topic")
    values = pairs(arguments.set, "--set")
    places = pairs(arguments.table, "--table")
    if len(arguments.jobs) > 1:
        # Values of other names are for other jobs. With one job, `check_plan` rejects unknown names.
        topics = {name: topic for name, topic in topics.items() if name in own_names}
        places = {name: place for name, place in places.items() if takes_any or name in own_names}
        values = {name: value for name, value in values.items() if name in job.defaults()}
    # Options about arbitrary topics apply to jobs that read arbitrary topics.
    is_own = takes_any or len(arguments.jobs) == 1
    lies = layout(arguments, job)
    defaults = job.defaults()
    by_key = names(",".join(arguments.by_key))
    named = names(arguments.topics)
    named += tuple(topic for topic in by_key if topic not in named)
    kafka = kafka_options(arguments, f"barnabas-{job.name}")
    if arguments.isolation_level:
        kafka = replace(kafka, options={**kafka.options, ISOLATION: arguments.isolation_level})
    of_registry, of_brokers = registry_settings(kafka.options)
    registry = None
    if arguments.schema_registry:
        registry = SchemaRegistry(arguments.schema_registry, of_registry, arguments.on_registry_failure == "wait")
    return RunPlan(
        job=job,
        kafka=replace(kafka, options=of_brokers),
        tables=tables_root(arguments),
        table_format=arguments.format,
        checkpoint=absolute(arguments.checkpoint),
        run=run_name,
        topics=topics,
        any_topics=named if is_own else (),
        event_format=arguments.event_format,
        start=parse_bound(arguments.from_time) or Bound(),
        until=parse_bound(arguments.until),
        is_once=arguments.once,
        trigger_s=arguments.trigger,
        refresh_s=arguments.refresh,
        give_up_s=arguments.give_up,
        compact_every=compact_every(arguments, job),
        layout=lies if is_own else replace(lies, partition_columns=(), sorted_by=()),
        places={name: resolve_location(place, arguments.format) for name, place in places.items()},
        limits=Limits(arguments.max_bytes_per_s, arguments.max_messages_per_s, arguments.max_rate_per_partition),
        on_data_loss=OnDataLoss(arguments.on_data_loss),
        delivery=Delivery(arguments.delivery),
        parameters={name: parse_value(value, defaults.get(name, "")) for name, value in values.items()},
        keeps_quotas=not arguments.ignore_quotas,
        registry=registry,
        keep_facts_s=parse_duration(arguments.keep_facts) / 1000 if arguments.keep_facts else None,
        by_key=by_key if is_own else (),
        keeps_deleted=arguments.keep_deleted and is_own,
        envelope=arguments.envelope if is_own else "",
        other_run=other_run,
    )
