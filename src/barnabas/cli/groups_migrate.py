"""`barnabas groups migrate`: observes the move of a group's offsets from ZooKeeper into Kafka, or back."""

import asyncio
import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final

from barnabas.cli.connection import client_settings
from barnabas.cli.groups_zookeeper import zookeeper_admin
from barnabas.cli.options import AsJson, CommandConfig, Option, TimeoutMs, flag, paragraphs, run_async
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.clients.admin import Admin
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.migration.offsets.evidence import PartitionEvidence, partition_evidence
from barnabas.migration.offsets.migration_state import STEP_TEXTS, MigrationState, Side, Step, migration_state
from barnabas.migration.offsets.watch import watch
from barnabas.wire.registry.store import Registry

HELP = paragraphs(
    """Guide the move of a running group of old consumers from ZooKeeper offsets to Kafka offsets, or back.

This command changes nothing. You change the settings of the consumers, in two steps, each with a rolling restart.
--plan shows the phase of the group, the next step, the offsets on both sides, and where each consumer commits, observed
for at most --watch-ms. --verify checks whether the next step is safe (exit code 0) or not (1, with the reasons).

Examples:

  barnabas groups migrate --group report --zookeeper localhost:2181 --plan

  barnabas groups migrate --group report --zookeeper localhost:2181 --verify --step kafka-alone

  barnabas groups migrate --group report --zookeeper localhost:2181 --to zookeeper --plan --json
"""
)

_SAMPLE_S: Final = 1.0
# One interval of 0.8.2's commits (auto.commit.interval.ms), and the samples around it.
_WATCH_MS: Final = 65_000
_COLUMNS: Final = ("topic", "partition", "zookeeper", "kafka", "ahead", "commits seen", "owner")


def groups_migrate(
    group: Annotated[str, Option("--group", metavar="NAME", help="Name of the group.")],
    zookeeper: Annotated[
        str,
        Option(
            "--zookeeper",
            metavar="HOST:PORT/CHROOT",
            help="ZooKeeper of the group's consumers, as in zookeeper.connect.",
        ),
    ],
    plan: Annotated[bool, flag("--plan", "Show the phase of the group and the next step.")] = False,
    verify: Annotated[bool, flag("--verify", "Check whether the next step is safe: exit code 0 or 1.")] = False,
    to: Annotated[
        str, Option("--to", metavar="SIDE", help="Destination of the offsets: kafka, or zookeeper to go back.")
    ] = "kafka",
    step: Annotated[
        str | None,
        Option(
            "--step",
            metavar="STEP",
            help="With --verify: also fail unless this is the next step (dual-commit, kafka-alone, zookeeper-alone, "
            "done).",
        ),
    ] = None,
    watch_ms: Annotated[
        int,
        Option(
            "--watch-ms",
            min=0,
            max=86_400_000,
            metavar="MS",
            help="Longest time to observe commits; must exceed the consumers' auto.commit.interval.ms.",
        ),
    ] = _WATCH_MS,
    allow_silent: Annotated[
        bool,
        flag(
            "--allow-silent",
            "Accept consumers that commit nothing while observed, because you know that they were restarted.",
        ),
    ] = False,
    bootstrap_server: Annotated[
        str | None,
        Option(
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="Brokers to connect to (default: the brokers registered in ZooKeeper).",
        ),
    ] = None,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if plan == verify:
        raise BarnabasError("exactly one action is required: --plan or --verify")
    side = _side(to)
    expected = _step(step, verify)
    settings = client_settings("barnabas-groups", command_config, timeout)
    sample_count = 2 + math.ceil(watch_ms / 1000 / _SAMPLE_S)

    async def work() -> MigrationState:
        async with zookeeper_admin(zookeeper, bootstrap_server, settings) as old:
            kafka = Admin(old.pool, old.timeout_ms)
            return await _look(old.registry, kafka, group, side, sample_count, allow_silent)

    found = run_async(work())
    if as_json:
        print_json(_as_dict(group, found))
    else:
        _show(group, found)
    reasons = [*found.reasons, *found.doubts]
    if expected not in (None, found.step):
        reasons.insert(0, f"the next step is {found.step.value}")
    if verify and reasons:
        raise BarnabasError(f"group {group}: {found.step.value} is not safe: {'; '.join(reasons)}")


async def _look(
    registry: Registry, admin: Admin, group: str, side: Side, sample_count: int, allow_silent: bool
) -> MigrationState:
    """Observe a group and return its state. Raises BarnabasError if the group does not exist on either side."""
    watched = await watch(
        registry,
        admin,
        group,
        sample_count=sample_count,
        wait=lambda: asyncio.sleep(_SAMPLE_S),
    )
    partitions = partition_evidence(watched.samples)
    if not partitions and not watched.registered:
        raise BarnabasError(f"group {group} has neither consumers nor offsets, in ZooKeeper or in Kafka")
    for problem in watched.problems:
        note(f"Left out: {problem}")
    new_members: list[str] = []
    # Brokers before 0.9 do not support this request.
    with suppress(KafkaError):
        new_members = [member.member_id for member in (await admin.describe_group(group)).members]
    return migration_state(
        watched.registered,
        await _existing(admin, partitions),
        side,
        new_members=new_members,
        allows_silence=allow_silent,
    )


async def _existing(admin: Admin, partitions: list[PartitionEvidence]) -> list[PartitionEvidence]:
    """Return the partitions that still exist."""
    known = await admin.topics(sorted({each.partition.topic for each in partitions})) if partitions else {}
    there, gone = [], []
    for each in partitions:
        topic = known.get(each.partition.topic)
        if topic is not None and each.partition.partition in topic.partitions:
            there.append(each)
        else:
            gone.append(str(each.partition))
    if gone:
        note(f"Left out, because these partitions no longer exist: {', '.join(gone)}")
    return there


def _show(group: str, found: MigrationState) -> None:
    say(f"Group {group}, to {found.to.value}: {found.phase.value}.")
    if found.consumers:
        say()
        print_table(
            ["consumer", "registered", "partitions", "commits to"],
            [
                [each.name, _time(each.registered_ms), each.partition_count, each.commits.value]
                for each in found.consumers
            ],
        )
    if found.partitions:
        say()
        print_table(
            _COLUMNS,
            [
                [*each.partition, each.zookeeper, each.kafka, _newer_store(each), each.commits.value, each.owner]
                for each in found.partitions
            ],
        )
    say()
    say(f"Next: {found.step.value}: {STEP_TEXTS[found.step]}.")
    if found.is_safe:
        say("This step is safe according to the observed commits.")
    for reason in found.reasons:
        say(f"Not safe: {reason}.")
    for doubt in found.doubts:
        say(f"Uncertain: {doubt}.")


def _as_dict(group: str, found: MigrationState) -> dict[str, object]:
    return {
        "group": group,
        "to": found.to.value,
        "phase": found.phase.name.lower(),
        "next_step": found.step.value,
        "is_safe": found.is_safe,
        "reasons": list(found.reasons),
        "doubts": list(found.doubts),
        "consumers": [
            {
                "consumer": each.name,
                "registered_ms": each.registered_ms,
                "partitions": each.partition_count,
                "commits": None if each.commits.value == "-" else each.commits.value,
            }
            for each in found.consumers
        ],
        "partitions": [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "zookeeper": each.zookeeper,
                "kafka": each.kafka,
                "ahead": _newer_store(each),
                "commits": None if each.commits.value == "-" else each.commits.value,
                "owner": each.owner,
            }
            for each in found.partitions
        ],
    }


def _newer_store(each: PartitionEvidence) -> str | None:
    return "zookeeper" if each.is_behind_in_kafka else "kafka" if each.is_behind_in_zookeeper else None


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _side(text: str) -> Side:
    try:
        return Side(text)
    except ValueError:
        raise BarnabasError(f"--to {text}: must be kafka or zookeeper") from None


def _step(text: str | None, is_verifying: bool) -> Step | None:
    if text is None:
        return None
    if not is_verifying:
        raise BarnabasError("--step needs --verify")
    try:
        return Step(text)
    except ValueError:
        raise BarnabasError(f"--step {text}: must be one of {', '.join(each.value for each in Step)}") from None
