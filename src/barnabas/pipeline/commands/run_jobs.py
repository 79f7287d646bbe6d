"""`barnabas pipeline run JOB...`: run jobs on a cluster's topics, until they are stopped or have come to an end.

A cluster that can't be reached at the start is told before Spark is started; one that goes away later is waited for.
Exit codes: 0 ended, or stopped by SIGINT or SIGTERM between two batches or before Spark was up; 1 failed; 2 can't run
as asked, or records were lost and the run is to stop then; 130 stopped at once by a second signal.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from barnabas.core.errors import ConfigError
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
    session_options,
    table_place,
    tables_place,
)
from barnabas.pipeline.commands.report import write_report
from barnabas.pipeline.commands.running import Stopper, add_seen_options, reporter, serve_metrics, tell
from barnabas.pipeline.events.schema_registry import SchemaRegistry, registry_settings
from barnabas.pipeline.job import Frames, Job, Parameters
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
from barnabas.pipeline.terminal import print_table

_SUMMARY_ROWS = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    Options(parser).add("jobs", nargs="+", metavar="JOB", help="a job's name, or a .py file that declares one")
    add_cluster_options(parser)
    add_table_options(parser)
    what = Options(parser, "what is read and written")
    what.value("--topics", "TOPIC,...", "of a job that reads any; /PATTERN/ is one, too", "")
    what.values(
        "--by-key",
        "TOPIC,...",
        "of load: such topics, too; their tables hold the latest row of each record key, and a record without a "
        "value takes the row away",
    )
    what.flag("--keep-deleted", "with --by-key: mark the row in _deleted, in place of taking it away")
    what.values("--topic", "NAME=TOPIC", "another topic for an input or output; another place for a table that is read")
    what.values(
        "--table",
        "NAME=PLACE",
        "another place for one of the tables, which may be one that somebody else has made; load's are topics",
    )
    what.choice(
        "--isolation-level",
        ISOLATION_LEVELS,
        f"which records of transactions are read; over the Kafka client options; default: {COMMITTED}",
    )
    what.choice("--event-format", ("json", "avro"), "of the topics", "json")
    what.value(
        "--schema-registry",
        "URL|DIR",
        "values have a schema registry's frame: http(s)://HOST:PORT, or a folder with ID.avsc and ID.json; login "
        "and TLS are Kafka client options (basic.auth.user.info, schema.registry.ssl.*)",
    )
    what.choice(
        "--envelope",
        ("debezium",),
        "of load: values are Debezium's changes to rows, as JSON; with --by-key the table is as the database's, "
        "without it has a row for each change, with its _op",
        "",
    )
    what.values("--set", "NAME=VALUE", "a job's parameter")
    what.value(
        "--as",
        "RUN",
        "this run's name (the job's): two runs with two names may write the same tables at the same time, as a "
        "backfill does beside a load",
        "",
        dest="run_name",
    )
    ends = Options(parser, "where to begin and to end (a time, offsets as JSON, earliest, latest)")
    ends.value("--from-time", "WHERE", "begin here, where the run has come nowhere yet (earliest)")
    ends.value("--until", "WHERE", "end when all before this is done")
    ends.flag("--once", "end when all is done that is there now")
    pace = Options(parser, "pace")
    pace.value("--trigger", "S", "seconds between batches (one and a half times as one takes, 1 to 10)", type=float)
    pace.value("--refresh", "S", "seconds between two computations of what is derived from a job's tables", 10.0)
    pace.value(
        "--keep-facts",
        "AGE",
        "of jobs that sum up their facts by hour or day: delete those that are older (30d, 12h); default: none",
    )
    pace.value("--max-bytes-per-s", "N", "by the measured size of records", 0.0)
    pace.value("--max-messages-per-s", "N", "of all partitions together", 0.0)
    pace.value(
        "--max-rate-per-partition",
        "N",
        "messages/s of each partition: what spark.streaming.kafka.maxRatePerPartition was for DStreams",
        0.0,
    )
    pace.flag(
        "--ignore-quotas",
        "do not size batches by the quotas of this user and client.id: brokers alone hold what is faster",
    )
    add_layout_options(parser)
    care = Options(parser, "when something is wrong")
    care.choice(
        "--on-data-loss",
        [each.value for each in OnDataLoss],
        "when records are gone before they were read: stop, or note the ranges in a table and go on",
        "stop",
    )
    care.choice(
        "--on-registry-failure",
        ("wait", "dead-letter"),
        "when the schema registry is away or gives no schema: records wait for it, at most --give-up, or go to "
        "the dead letters",
        "wait",
    )
    care.choice("--delivery", [each.value for each in Delivery], "of rows into tables", "exactly-once")
    care.value("--give-up", "S", "wait for a cluster", 120.0, unit=" s")
    add_enforcement_options(parser)
    add_spark_options(parser)
    add_seen_options(parser)
    others = Options(parser)
    others.value("--report", "FILE", "write the page of barnabas pipeline report when the jobs end", type=Path)
    others.flag("--no-summary", "do not show what the jobs found when they end")
    add_parent_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    plans = [_plan(arguments, find_job(name)) for name in arguments.jobs]
    for plan in plans:
        check_plan(plan)
    if len({plan.run for plan in plans}) < len(plans):
        raise PlanError("the same job twice: run it twice with different names (--as)")

    def warn(text: str) -> None:
        tell(arguments, "warning", text=text)

    followers = enforcement_followers(arguments, plans, lambda text: tell(arguments, "enforcement", text=text), warn)
    stopper = Stopper()
    check_reachable(plans[0].kafka)
    if not arguments.json:
        print("starting Spark", flush=True)
    with session_for(session_options(arguments), plans, warn) as (spark, seconds):
        from barnabas.pipeline.runner.supervisor import run_jobs

        stopper.begin()
        tell(arguments, "session", seconds=seconds)
        metrics = serve_metrics(arguments)
        runs = run_jobs(spark, plans, metrics, reporter(arguments), warn, stopper.is_stopped, followers)
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
    """Print the summaries of a job, the first rows of each."""
    if job.summarize is None:
        return

    console = Console()
    derived = {output.name for output in job.outputs} & set(tables)
    if not derived:
        console.print(f"{job.name}: nothing yet")
        return
    for summary in job.summarize(tables, parameters):
        rows = summary.rows.limit(_SUMMARY_ROWS).collect()
        print_table(console, summary.title, summary.rows.columns, rows)


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
    by_key = names(",".join(arguments.by_key))
    named = names(arguments.topics)
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
