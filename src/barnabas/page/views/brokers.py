"""Brokers: versions, leaders and obstacles to a shutdown; degraded partitions, reassignments and log directories.

The code of `barnabas cluster status` decides whether a broker may be shut down, and the state of partitions.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.clients.admin_replicas import Reassignment, ReplicaAdmin
from barnabas.clients.cluster_state import Broker, Partition, Trouble, troubles
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.collector import Part
from barnabas.explain.finding import Finding, Severity
from barnabas.explain.questions import Question
from barnabas.explain.rules.broker import explain_broker
from barnabas.explain.snapshot import Snapshot
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows

_QUESTION: Final = Question(frozenset({Part.DIRECTORIES}), ("broker", "stalls"), explain_broker)


class BrokerRow(NamedTuple):
    """A broker; `obstacles` are reasons against a shutdown, `failure` is the reason why it does not answer.

    Unknown values are None.
    """

    broker_id: int
    address: str
    rack: str | None
    software: str | None
    protocol_version: str | None
    is_controller: bool
    leader_count: int
    in_sync_count: int
    replica_count: int
    may_stop: bool | None
    obstacles: tuple[str, ...]
    failure: str


class LackingRow(NamedTuple):
    """A degraded partition; `leader_id` is None if it has no leader."""

    partition: TopicPartition
    leader_id: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int
    troubles: tuple[str, ...]


class MovingRow(NamedTuple):
    """A reassignment in progress; `behind` is the largest lag of the added replicas in offsets, if known."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    behind: int | None


class DirectoryRow(NamedTuple):
    """A log directory and its disk; unknown values are None."""

    broker_id: int
    path: str
    log_count: int
    log_bytes: int
    free_bytes: int | None
    total_bytes: int | None
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brokers(View):
    """The brokers, with degraded partitions, reassignments and directories."""

    controller_id: int | None
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    brokers: tuple[BrokerRow, ...]
    lacking: RowRange[LackingRow]
    moving: tuple[MovingRow, ...]
    directories: tuple[DirectoryRow, ...]


async def build(asked: Asked) -> Brokers:
    """Read brokers, directories and reassignments. Raises KafkaError."""
    snapshot = await asked.cluster.collect(_QUESTION)
    moves: dict[TopicPartition, Reassignment] = {}
    try:
        moves = await asked.cluster.admin(ReplicaAdmin).reassignments()
    except KafkaError as error:
        snapshot.refused.append(f"reassignments: {error.message}")
    return await asyncio.to_thread(brokers, snapshot, moves, asked)


def brokers(snapshot: Snapshot, moves: Mapping[TopicPartition, Reassignment], asked: Asked) -> Brokers:
    """Build the view from a snapshot."""
    assert snapshot.cluster is not None
    lacking = lacking_rows(snapshot.cluster.partitions)
    return Brokers(
        **known(snapshot)._asdict(),
        controller_id=snapshot.cluster.controller_id if snapshot.cluster.controller_id >= 0 else None,
        counts=_counts(lacking, len(moves)),
        findings=tuple(each for each in explain_broker(snapshot) if each.severity > Severity.FINE),
        brokers=tuple(broker_row(snapshot, each) for each in snapshot.cluster.brokers.values()),
        lacking=select_rows(lacking, asked, lambda row: str(row.partition)),
        moving=tuple(moving_row(snapshot, name, move) for name, move in sorted(moves.items())),
        directories=directory_rows(snapshot),
    )


def _counts(lacking: list[LackingRow], moving_count: int) -> dict[str, int]:
    told = {each.value: sum(each.value in row.troubles for row in lacking) for each in Trouble}
    return {**told, "being reassigned": moving_count}


def broker_row(snapshot: Snapshot, broker: Broker) -> BrokerRow:
    """Return a broker with the values of `barnabas cluster status`."""
    cluster, broker_id = snapshot.cluster, broker.broker_id
    assert cluster is not None
    failure = broker.failure or snapshot.silent.get(broker_id, "")
    # Users who may not see brokers' versions may not see min.insync.replicas either.
    is_known = not failure and broker.software is not None
    obstacles = tuple(cluster.obstacles(broker_id)) if is_known else ()
    return BrokerRow(
        broker_id,
        "" if broker.address is None else f"{broker.address[0]}:{broker.address[1]}",
        broker.rack,
        broker.software,
        broker.protocol_version,
        broker_id == cluster.controller_id,
        *cluster.counts(broker_id),
        not obstacles if is_known else None,
        obstacles,
        failure,
    )


def lacking_rows(partitions: list[Partition]) -> list[LackingRow]:
    """Return the partitions that `barnabas cluster status` lists, the most degraded first."""
    order = list(Trouble)
    found = [(found, each) for each in partitions if (found := troubles(each))]
    found.sort(key=lambda each: order.index(each[0][0]))
    return [
        LackingRow(
            each.name,
            each.leader_id if each.leader_id >= 0 else None,
            tuple(each.replicas),
            tuple(each.isr),
            each.min_isr,
            tuple(trouble.value for trouble in lacks),
        )
        for lacks, each in found
    ]


def moving_row(snapshot: Snapshot, name: TopicPartition, move: Reassignment) -> MovingRow:
    """Return a reassignment with its progress."""
    behind = [
        each.behind[name] for each in snapshot.directories if each.broker_id in move.adding and name in each.behind
    ]
    return MovingRow(
        name, tuple(move.replicas), tuple(move.adding), tuple(move.removing), max(behind) if behind else None
    )


def directory_rows(snapshot: Snapshot) -> tuple[DirectoryRow, ...]:
    """Return the log directories, by broker."""
    return tuple(
        DirectoryRow(
            each.broker_id,
            each.path,
            len(each.logs),
            sum(each.logs.values()),
            each.free_bytes,
            each.total_bytes,
            each.failure,
        )
        for each in sorted(snapshot.directories, key=lambda each: (each.broker_id, each.path))
    )


VIEW = ViewKind("/brokers", "Brokers", "brokers.html.jinja", build, 5, "/brokers")
