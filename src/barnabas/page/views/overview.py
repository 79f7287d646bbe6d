"""All problems, the most severe first; the brokers, and counts of topics, groups and partitions."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.charts.time_plot import TimePlot
from barnabas.explain.finding import Finding
from barnabas.explain.questions import EVERYTHING
from barnabas.explain.snapshot import Snapshot
from barnabas.page.plots import bytes_plot
from barnabas.page.view import Asked, View, ViewKind, known


class BrokerRow(NamedTuple):
    """A broker; `failure` is the reason why it does not answer, `log_bytes` is None if unknown."""

    broker_id: int
    address: str
    software: str
    is_controller: bool
    leader_count: int
    replica_count: int
    log_bytes: int | None
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(View):
    """The cluster as a whole."""

    cluster_id: str
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    traffic: TimePlot | None
    brokers: tuple[BrokerRow, ...]


async def build(asked: Asked) -> Overview:
    """Read everything that `barnabas explain` reads. Raises KafkaError."""
    return await asyncio.to_thread(overview, await asked.cluster.collect(EVERYTHING))


def overview(snapshot: Snapshot) -> Overview:
    """Build the view from a snapshot."""
    brokers = _brokers(snapshot)
    counts = {
        "brokers": len(brokers),
        "topics": len({each.topic for each in snapshot.partitions}),
        "partitions": len(snapshot.partitions),
        "groups": len(snapshot.groups),
    }
    return Overview(
        **known(snapshot)._asdict(),
        cluster_id=(snapshot.cluster and snapshot.cluster.cluster_id) or "",
        counts=counts,
        findings=tuple(EVERYTHING.rule(snapshot)),
        traffic=bytes_plot(snapshot),
        brokers=brokers,
    )


def _brokers(snapshot: Snapshot) -> tuple[BrokerRow, ...]:
    if snapshot.cluster is None:
        return ()
    leaders: dict[int, int] = {}
    replicas: dict[int, int] = {}
    for each in snapshot.cluster.partitions:
        leaders[each.leader_id] = leaders.get(each.leader_id, 0) + 1
        for broker_id in each.replicas:
            replicas[broker_id] = replicas.get(broker_id, 0) + 1
    sizes: dict[int, int] = {}
    for directory in snapshot.directories:
        sizes[directory.broker_id] = sizes.get(directory.broker_id, 0) + sum(directory.logs.values())
    return tuple(
        BrokerRow(
            broker_id,
            "" if broker.address is None else f"{broker.address[0]}:{broker.address[1]}",
            broker.software or "",
            broker_id == snapshot.cluster.controller_id,
            leaders.get(broker_id, 0),
            replicas.get(broker_id, 0),
            sizes.get(broker_id),
            broker.failure or snapshot.silent.get(broker_id, ""),
        )
        for broker_id, broker in snapshot.cluster.brokers.items()
    )


VIEW = ViewKind("/", "Overview", "overview.html.jinja", build, 10, "/")
