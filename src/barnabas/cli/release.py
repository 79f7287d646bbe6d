"""`barnabas release`: gives a directory back to Kafka."""

from pathlib import Path
from typing import Annotated

from barnabas.cli.migration.apply import RELEASED_REGISTRY_FILE, Released, Told, plan_to_release
from barnabas.cli.migration.apply import release as carry_out
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
from barnabas.cli.released_tree import held_as_dict, print_held, print_missing
from barnabas.core.clock import SystemClock

HELP = paragraphs(
    """Write what changed in a broker's cluster state into ZooKeeper, so that Kafka starts on its directories.

New and deleted topics, partitions, settings, and who leads: what changed since `barnabas adopt` is written, what
somebody else changed in ZooKeeper meanwhile stays. A fresh ZooKeeper gets everything. Changes nothing until --execute
is given; then the tree is read back and shown, and if everything is there the directory is Kafka's again, and
`barnabas adopt` takes it back.

Nothing is written when the Kafka that will be started could not read all of it: it says which topic, partition, offset
or group that is about.

Examples:

  barnabas release /var/lib/kafka --zookeeper localhost:2181

  barnabas release /var/lib/kafka --zookeeper localhost:2181 --execute
"""
)


def release(
    directories: LogDirectories,
    zookeeper: Annotated[
        str,
        Option(
            "--zookeeper", metavar="HOST:PORT/CHROOT", help="The zookeeper.connect that Kafka will be started with."
        ),
    ],
    kafka_version: Annotated[
        str | None,
        Option(
            "--kafka-version",
            metavar="VERSION",
            help="The Kafka that will be started; otherwise the one that `barnabas adopt` noted, or 2.7.",
        ),
    ] = None,
    cluster_id: Annotated[
        str | None,
        Option(
            "--cluster-id",
            metavar="ID",
            help="Whose the tree is, where `barnabas adopt` without --zookeeper had to make up a cluster id.",
        ),
    ] = None,
    execute: Execute = False,
    as_json: AsJson = False,
) -> int:
    paths, told = resolved(directories), Told(kafka_version, cluster_id)
    if execute:
        released = run_quietly(carry_out(paths, zookeeper, SystemClock(), told=told))
    else:
        released = Released(run_quietly(plan_to_release(paths, zookeeper, SystemClock(), told)))
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
        say(f"{plan.target} has everything already.")
    print_findings(plan.findings)
    if plan.is_blocked:
        note("Nothing was changed: first mend what is blocked.")
        return
    if released.held is None:
        note("Nothing was changed. Add --execute to do it.")
        return
    print_held(released.held, plan.target)
    if released.missing:
        print_missing(released.missing, plan.target)
        return
    say(
        f"Released. Start Kafka with broker.id={plan.broker_id}, log.dirs={','.join(map(str, paths))} and "
        f"zookeeper.connect={plan.target}; {plan.kafka.version.short_name} or later reads everything. "
        f"What Barnabas knew is kept in {RELEASED_REGISTRY_FILE}."
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
        "tree": None if released.held is None else held_as_dict(released.held),
        "missing": list(released.missing),
    }
