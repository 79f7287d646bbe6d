"""`barnabas pipeline run JOB...`: run jobs on a cluster's topics, until they are stopped or finished.

If a cluster can't be reached at the start, the command fails before it starts Spark; if it becomes unreachable later,
the run waits for it. Exit codes: 0 finished, or stopped by SIGINT or SIGTERM between two batches or before Spark was
up; 1 failed; 2 invalid options, or records were lost with --on-data-loss stop; 130 stopped at once by a second signal.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.core.errors import ConfigError
from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.enforcement import add_enforcement_options, enforcement_followers
from barnabas.pipeline.commands.layout import add_layout_options, compact_every, layout
from barnabas.pipeline.commands.options import (
    absolute,
    add_cluster_options,
    add_spark_options,
    add_table_options,
    kafka_options,
    pairs,
    parse_bound,
    parse_duration,
    session_options,
    table_place,
    tables_place,
)
from barnabas.pipeline.commands.running import Stopper, add_seen_options, reporter, serve_metrics, tell
from barnabas.pipeline.events.schema_registry import SchemaRegistry, registry_settings
from barnabas.pipeline.job import Job
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
from barnabas.pipeline.runner.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipeline.runner.follower import Follower

NAME = "run"
HELP = "run jobs"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="a job's name, or a .py file that declares one")
    add_cluster_options(parser)
    add_table_options(parser)
    what = parser.add_argument_group("input and output")
    what.add_argument(
        "--topics",
        default="",
        metavar="TOPIC,...",
        help="topics to read, for a job that reads any: names, or /PATTERN/",
    )
    what.add_argument(
        "--by-key",
        action="append",
        default=[],
        metavar="TOPIC,...",
        help="for load: more topics, whose tables keep only the latest row of each record key; a record without a "
        "value deletes the row",
    )
    what.add_argument(
        "--keep-deleted",
        action="store_true",
        help="with --by-key: mark the row in _deleted instead of deleting it",
    )
    what.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME=TOPIC",
        help="another topic for an input or output, or another location for an input table",
    )
    what.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME=PLACE",
        help="another location for a table, also one made by another program; tables of load are named by topic",
    )
    what.add_argument(
        "--isolation-level",
        choices=ISOLATION_LEVELS,
        help=f"records of transactions to read; overrides the Kafka client options; default: {COMMITTED}",
    )
    what.add_argument(
        "--event-format",
        choices=("json", "avro"),
        default="json",
        help="format of the topics' values; default: %(default)s",
    )
    what.add_argument(
        "--schema-registry",
        metavar="URL|DIR",
        help="schema registry of the values: http(s)://HOST:PORT, or a folder with ID.avsc and ID.json; set login and "
        "TLS by Kafka client options (basic.auth.user.info, schema.registry.ssl.*)",
    )
    what.add_argument(
        "--envelope",
        choices=("debezium",),
        default="",
        help="for load: values are Debezium's row changes as JSON; with --by-key the table equals the database's, "
        "without it the table has a row for each change, with its _op",
    )
    what.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set a parameter of a job")
    what.add_argument(
        "--as",
        dest="run_name",
        default="",
        metavar="RUN",
        help="name of this run (the job's): runs with different names may write the same tables at the same time, such "
        "as a backfill beside a load",
    )
    ends = parser.add_argument_group("start and end (a time, offsets as JSON, earliest, latest)")
    ends.add_argument(
        "--from-time", metavar="WHERE", help="start here in partitions without progress of the run (earliest)"
    )
    ends.add_argument("--until", metavar="WHERE", help="exit after all records before this are processed")
    ends.add_argument("--once", action="store_true", help="process what is available, then exit")
    pace = parser.add_argument_group("pace")
    pace.add_argument(
        "--trigger", type=float, metavar="S", help="seconds between batches (one and a half times as one takes, 1 to 10)"
    )
    pace.add_argument(
        "--refresh",
        type=float,
        default=10.0,
        metavar="S",
        help="seconds between two refreshes of a job's derived tables; default: %(default)s",
    )
    pace.add_argument(
        "--keep-facts",
        metavar="AGE",
        help="for jobs that aggregate their facts by hour or day: delete facts older than this (30d, 12h); default: "
        "none",
    )
    pace.add_argument(
        "--max-bytes-per-s",
        type=float,
        default=0.0,
        metavar="N",
        help="limit of bytes/s, by the measured size of records",
    )
    pace.add_argument(
        "--max-messages-per-s", type=float, default=0.0, metavar="N", help="limit of messages/s, over all partitions"
    )
    pace.add_argument(
        "--max-rate-per-partition",
        type=float,
        default=0.0,
        metavar="N",
        help="limit of messages/s for each partition, as spark.streaming.kafka.maxRatePerPartition of DStreams",
    )
    pace.add_argument(
        "--ignore-quotas",
        action="store_true",
        help="do not size batches by the quotas of this user and client.id; only brokers throttle then",
    )
    add_layout_options(parser)
    care = parser.add_argument_group("failures")
    care.add_argument(
        "--on-data-loss",
        choices=[each.value for each in OnDataLoss],
        default="stop",
        help="if records were deleted before they were read: stop, or record the ranges in a table and continue; "
        "default: %(default)s",
    )
    care.add_argument(
        "--on-registry-failure",
        choices=("wait", "dead-letter"),
        default="wait",
        help="if the schema registry is unreachable or lacks a schema: wait for it, at most --give-up, or write the "
        "records to the dead letters; default: %(default)s",
    )
    care.add_argument(
        "--delivery",
        choices=[each.value for each in Delivery],
        default="exactly-once",
        help="guarantee for rows in tables; default: %(default)s",
    )
    care.add_argument(
        "--give-up",
        type=float,
        default=120.0,
        metavar="S",
        help="exit after this long without contact to a cluster; default: %(default)s s",
    )
    add_enforcement_options(parser)
    add_spark_options(parser)
    add_seen_options(parser)
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the page of barnabas pipeline report at the end"
    )
    parser.add_argument("--no-summary", action="store_true", help="do not print a summary of the results at the end")
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    plans = [_plan(arguments, find_job(name)) for name in arguments.jobs]
    for plan in plans:
        check_plan(plan)
    names = [plan.run for plan in plans]
    if len(set(names)) < len(names):
        raise PlanError("the same job is named twice: run it in two commands with different names (--as)")

    def say(text: str) -> None:
        tell(arguments, "enforcement", text=text)

    followers = enforcement_followers(arguments, plans, say, lambda text: tell(arguments, "warning", text=text))
    stopper = Stopper()
    check_reachable(plans[0].kafka)
    if not arguments.json:
        print("starting Spark", flush=True)
    session = session_for(session_options(arguments), plans, lambda text: tell(arguments, "warning", text=text))
    with session as (spark, seconds):
        stopper.begin()
        tell(arguments, "session", seconds=seconds)
        return _run_in_session(arguments, spark, plans, stopper, followers)


def _run_in_session(
    arguments: argparse.Namespace,
    spark: SparkSession,
    plans: list[RunPlan],
    stopper: Stopper,
    followers: Mapping[str, Follower],
) -> int:
    from barnabas.pipeline.runner.supervisor import run_jobs

    runs = run_jobs(
        spark,
        plans,
        serve_metrics(arguments),
        reporter(arguments),
        lambda text: tell(arguments, "warning", text=text),
        stopper.is_stopped,
        followers,
    )
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
        from barnabas.pipeline.commands.summary import print_summary

        for each in runs:
            print_summary(each.plan.job, each.tables(), {**each.plan.job.defaults(), **each.plan.parameters})
    if arguments.report is not None:
        from barnabas.pipeline.commands.report import write_report

        tables = {name: table for each in runs for name, table in each.tables().items()}
        write_report(arguments.report, tables, arguments.checkpoint)
        tell(arguments, "report", file=str(arguments.report), table_count=len(tables))
    return 0


def _plan(arguments: argparse.Namespace, job: Job) -> RunPlan:
    run_name = arguments.run_name or job.name
    if len(arguments.jobs) > 1 and arguments.run_name:
        run_name = f"{arguments.run_name}/{job.name}"
    takes_any = any(getattr(each, "event", None) is None and not getattr(each, "topic", "x") for each in job.inputs)
    own_names = {each.name for each in (*job.inputs, *job.outputs)}
    topics = pairs(arguments.topic, "--topic")
    values = pairs(arguments.set, "--set")
    places = pairs(arguments.table, "--table")
    if len(arguments.jobs) > 1:
        # What is not this job's is another's; `check_plan` finds what is no one's where there is one job.
        topics = {name: topic for name, topic in topics.items() if name in own_names}
        places = {name: place for name, place in places.items() if takes_any or name in own_names}
        values = {name: value for name, value in values.items() if name in job.defaults()}
    # What is said of any topics is for the job that takes any.
    is_own = takes_any or len(arguments.jobs) == 1
    lies = layout(arguments)
    defaults = job.defaults()
    by_key = tuple(text.strip() for text in ",".join(arguments.by_key).split(",") if text.strip())
    named = tuple(text.strip() for text in arguments.topics.split(",") if text.strip())
    named += tuple(topic for topic in by_key if topic not in named)
    kafka = kafka_options(arguments, f"barnabas-{job.name}")
    if arguments.isolation_level:
        kafka = replace(kafka, options={**kafka.options, ISOLATION: arguments.isolation_level})
    of_registry, of_brokers = registry_settings(kafka.options)
    return RunPlan(
        job=job,
        kafka=replace(kafka, options=of_brokers),
        tables=tables_place(arguments),
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
        compact_every=compact_every(arguments),
        layout=lies if is_own else replace(lies, divided_by=(), sorted_by=()),
        places={name: table_place(place, arguments.format) for name, place in places.items()},
        limits=Limits(arguments.max_bytes_per_s, arguments.max_messages_per_s, arguments.max_rate_per_partition),
        on_data_loss=OnDataLoss(arguments.on_data_loss),
        delivery=Delivery(arguments.delivery),
        parameters={name: parse_value(value, defaults.get(name, "")) for name, value in values.items()},
        keeps_quotas=not arguments.ignore_quotas,
        registry=_registry(arguments, of_registry),
        keep_facts_s=parse_duration(arguments.keep_facts) / 1000 if arguments.keep_facts else None,
        by_key=by_key if is_own else (),
        keeps_deleted=arguments.keep_deleted and is_own,
        envelope=arguments.envelope if is_own else "",
    )


def _registry(arguments: argparse.Namespace, settings: Mapping[str, str]) -> SchemaRegistry | None:
    if not arguments.schema_registry:
        return None
    try:
        return SchemaRegistry(arguments.schema_registry, settings, arguments.on_registry_failure == "wait")
    except ConfigError as error:
        raise PlanError(str(error)) from None
