"""`barnabas adopt`: adopts log directories that Kafka wrote."""

from pathlib import Path
from typing import Annotated

from barnabas.cli.migration_options import (
    AsJson,
    Execute,
    LogDirectories,
    finding_as_dict,
    print_findings,
    resolved,
    run_quietly,
)
from barnabas.cli.options import Option, flag, paragraphs
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.core.advised_commands import command
from barnabas.core.clock import SystemClock
from barnabas.migration.adoption import AdoptionPlan
from barnabas.migration.apply import adopt as carry_out
from barnabas.migration.apply import plan_to_adopt

HELP = paragraphs(
    """Adopt the data directories of a Kafka broker, without copying or changing a record.

Shows the contents and what this version can't serve; changes nothing without --execute. Kafka must be stopped (or
dead). Give all of the broker's log.dirs; the cluster's state (registry.sqlite) is kept in the first.

New records stay readable by the Kafka that the directories come from, so that they can be returned to it. The files
show its version only in part: give it with --kafka-version, or Barnabas assumes the oldest version that fits, and
refuses features that this version lacks (such as zstd) to clients.

With --zookeeper topics, partitions, settings, users and quotas come from the tree, and `barnabas release` can write
changes back. Without it topics and partitions come from the names of the directories.

Examples:

  barnabas adopt /var/lib/kafka --zookeeper localhost:2181

  barnabas adopt /var/lib/kafka --zookeeper localhost:2181 --execute
"""
)


def adopt(
    directories: LogDirectories,
    zookeeper: Annotated[
        str | None,
        Option(
            "--zookeeper",
            metavar="HOST:PORT/CHROOT",
            help="ZooKeeper of the broker (zookeeper.connect), to read the cluster's state.",
        ),
    ] = None,
    allow_missing: Annotated[
        bool, flag("--allow-missing", "Let partitions without a log in any of the directories start empty.")
    ] = False,
    kafka_version: Annotated[
        str | None,
        Option(
            "--kafka-version",
            metavar="VERSION",
            help="Version of Kafka that must be able to take the directories back (default: the oldest that can have "
            "written them).",
        ),
    ] = None,
    execute: Execute = False,
    as_json: AsJson = False,
) -> int:
    paths = resolved(directories)
    if execute:
        work = carry_out(paths, zookeeper, SystemClock(), allows_missing=allow_missing, kafka_version=kafka_version)
    else:
        work = plan_to_adopt(paths, zookeeper, allows_missing=allow_missing, kafka_version=kafka_version)
    plan = run_quietly(work)
    is_done = execute and not plan.is_blocked
    if as_json:
        print_json(_as_dict(plan, paths, is_done))
    else:
        _print(plan, paths, is_done)
    return 1 if plan.is_blocked else 0


def _print(plan: AdoptionPlan, paths: list[Path], is_done: bool) -> None:
    if plan.broker_id >= 0:
        say(f"Broker {plan.broker_id} of cluster {plan.cluster_id}, in {', '.join(map(str, paths))}.")
    if plan.topics:
        print_table(
            ["topic", "partitions", "logs here", "served", "bytes", "formats", "settings"],
            [
                [
                    topic.name,
                    topic.partition_count,
                    len(topic.here),
                    len(topic.served),
                    topic.size_bytes,
                    " ".join(f"v{magic}" for magic in sorted(topic.magics)) or None,
                    " ".join(f"{name}={value}" for name, value in sorted(topic.settings.items())) or None,
                ]
                for topic in plan.topics
            ],
        )
    if plan.open_transactions:
        print_table(
            ["open transaction in", "producer", "epoch", "first offset", "since"],
            [
                [str(where), each.producer_id, each.producer_epoch, each.first_offset, each.since]
                for where, each in plan.open_transactions
            ],
        )
    print_findings(plan.findings)
    if not plan.is_blocked:
        say(
            f"All data will be written so that Kafka {plan.target.version.short_name} and later can read it "
            f"({plan.target.reason})."
        )
    if plan.is_blocked:
        note("Nothing was changed: fix the blocked items first.")
    elif not is_done:
        note("Nothing was changed. Add --execute to adopt the directories.")
    else:
        say(f"Adopted. Start the broker: {start_command(plan.broker_id, paths)}")


def start_command(broker_id: int, paths: list[Path]) -> str:
    """Return the command that starts the broker without a configuration file."""
    where = ",".join(map(str, paths))
    return command("broker", ("--override", f"broker.id={broker_id}"), ("--override", f"log.dirs={where}"))


def _as_dict(plan: AdoptionPlan, paths: list[Path], is_done: bool) -> dict[str, object]:
    return {
        "broker_id": plan.broker_id,
        "cluster_id": plan.cluster_id,
        "directories": [str(path) for path in paths],
        "zookeeper": plan.source,
        "kafka_version": plan.target.version.name,
        "kafka_version_reason": plan.target.reason,
        "blocked": plan.is_blocked,
        "executed": is_done,
        "topics": [
            {
                "topic": topic.name,
                "partition_count": topic.partition_count,
                "here": topic.here,
                "served": topic.served,
                "size_bytes": topic.size_bytes,
                "formats": sorted(topic.magics),
                "settings": topic.settings,
            }
            for topic in plan.topics
        ],
        "open_transactions": [
            {
                "topic": where.topic,
                "partition": where.partition,
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "first_offset": each.first_offset,
                "since_ms": None if each.since is None else each.since_ms,
            }
            for where, each in plan.open_transactions
        ],
        "findings": [finding_as_dict(finding) for finding in plan.findings],
    }
