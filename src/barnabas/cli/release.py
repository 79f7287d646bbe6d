"""`barnabas release`: returns adopted data directories to Kafka."""

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
from barnabas.cli.options import Option, paragraphs
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.cli.released_tree import print_missing, print_tree, tree_as_dict
from barnabas.core.clock import SystemClock
from barnabas.migration.apply import RELEASED_REGISTRY_FILE, Released, ReleaseInput, plan_to_release
from barnabas.migration.apply import release as carry_out

HELP = paragraphs(
    """Return adopted data directories to Kafka: write the changes of the cluster state to ZooKeeper.

Writes the topics, partitions, settings and leaders that changed since `barnabas adopt`; changes that others made in
ZooKeeper meanwhile stay. A new ZooKeeper gets the whole state. Changes nothing without --execute. With it, the tree is
read back and shown; if it is complete, Kafka can start on the directories. `barnabas adopt` can adopt them again.

Nothing is written if the version of Kafka that will be started could not read all data; the message names the topic,
partition, offset or group.

Examples:

  barnabas release /var/lib/kafka --zookeeper localhost:2181

  barnabas release /var/lib/kafka --zookeeper localhost:2181 --execute
"""
)


def release(
    directories: LogDirectories,
    zookeeper: Annotated[
        str,
        Option("--zookeeper", metavar="HOST:PORT/CHROOT", help="ZooKeeper for Kafka's zookeeper.connect."),
    ],
    kafka_version: Annotated[
        str | None,
        Option(
            "--kafka-version",
            metavar="VERSION",
            help="Version of Kafka that will be started (default: the version that `barnabas adopt` recorded, or 2.7).",
        ),
    ] = None,
    cluster_id: Annotated[
        str | None,
        Option(
            "--cluster-id",
            metavar="ID",
            help="Cluster id of the tree, if `barnabas adopt` without --zookeeper had to generate one.",
        ),
    ] = None,
    execute: Execute = False,
    as_json: AsJson = False,
) -> int:
    paths, user_input = resolved(directories), ReleaseInput(kafka_version, cluster_id)
    if execute:
        released = run_quietly(carry_out(paths, zookeeper, SystemClock(), user_input=user_input))
    else:
        released = Released(run_quietly(plan_to_release(paths, zookeeper, SystemClock(), user_input)))
    if as_json:
        print_json(_as_dict(released, paths))
    else:
        _print(released, paths)
    return 1 if released.plan.is_blocked or released.missing else 0


def _print(released: Released, paths: list[Path]) -> None:
    plan = released.plan
    if plan.changes:
        print_table(
            ["", "what", "how"], [[change.action.value, change.subject, change.text or None] for change in plan.changes]
        )
    elif not plan.is_blocked:
        say(f"{plan.target} is already complete.")
    print_findings(plan.findings)
    if plan.is_blocked:
        note("Nothing was changed: fix the blocked items first.")
        return
    if released.held is None:
        note("Nothing was changed. Add --execute to write the changes.")
        return
    print_tree(released.held, plan.target)
    if released.missing:
        print_missing(released.missing, plan.target)
        return
    say(
        f"Released. Start Kafka with broker.id={plan.broker_id}, log.dirs={','.join(map(str, paths))} and "
        f"zookeeper.connect={plan.target}; {plan.kafka.version.short_name} or later reads everything. "
        f"The registry of Barnabas is kept in {RELEASED_REGISTRY_FILE}."
    )


def _as_dict(released: Released, paths: list[Path]) -> dict[str, object]:
    plan = released.plan
    return {
        "broker_id": plan.broker_id,
        "cluster_id": plan.cluster_id,
        "directories": [str(path) for path in paths],
        "zookeeper": plan.target,
        "kafka_version": plan.kafka.version.name,
        "kafka_version_reason": plan.kafka.reason,
        "blocked": plan.is_blocked,
        "executed": released.is_done,
        "changes": [
            {"action": change.action.value, "subject": change.subject, "text": change.text} for change in plan.changes
        ],
        "findings": [finding_as_dict(finding) for finding in plan.findings],
        "tree": None if released.held is None else tree_as_dict(released.held),
        "missing": list(released.missing),
    }
