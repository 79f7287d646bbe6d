"""A snapshot of a cluster: its brokers, degraded partitions, and the brokers that may stop.

Pure: `admin_cluster.py` collects it.

Source: protocol guide, Metadata; KIP-455.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from barnabas.core.types import TopicPartition

# Maximum number of partitions named in a line.
_MOST_NAMES: Final = 3


class Broker(NamedTuple):
    """A broker that is registered, or that has replicas.

    Attributes:
        address: None: the broker is not registered.
        software: Its name and version, as far as reported; None: the broker does not answer.
        protocol_version: Its inter.broker.protocol.version; None: the broker does not answer.
        failure: Why the broker does not answer; empty: it answers.
        rack: None: it has no rack, or the rack is unknown.
    """

    broker_id: int
    address: tuple[str, int] | None
    software: str | None
    protocol_version: str | None
    failure: str
    rack: str | None = None


class Partition(NamedTuple):
    """A partition as known by the controller, with its min.insync.replicas.

    Attributes:
        leader_id: -1: the partition has no leader.
        adding: Replicas that a reassignment adds; they need not have caught up.
    """

    name: TopicPartition
    leader_id: int
    replicas: list[int]
    isr: list[int]
    min_isr: int
    adding: list[int]


class Trouble(Enum):
    """A degraded state of a partition, now or after a broker stops."""

    OFFLINE = "offline"
    UNDER_MIN_ISR = "under min.insync.replicas"
    UNDER_REPLICATED = "under-replicated"
    AT_MIN_ISR = "at min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A snapshot of a cluster.

    Attributes:
        controller_id: -1: the cluster has no controller.
        brokers: By id in order.
        partitions: By name in order.
    """

    cluster_id: str | None
    controller_id: int
    brokers: Mapping[int, Broker]
    partitions: list[Partition]

    @property
    def is_healthy(self) -> bool:
        """Return whether a controller exists, all brokers answer, and all partitions have all replicas in sync."""
        is_whole = self.controller_id >= 0 and not any(broker.failure for broker in self.brokers.values())
        return is_whole and not any(set(troubles(each)) - {Trouble.AT_MIN_ISR} for each in self.partitions)

    def counts(self, broker_id: int) -> tuple[int, int, int]:
        """Return the numbers of partitions that a broker leads, is in sync for, and has replicas of."""
        return (
            sum(each.leader_id == broker_id for each in self.partitions),
            sum(broker_id in each.isr for each in self.partitions),
            sum(broker_id in each.replicas for each in self.partitions),
        )

    def if_stopped(self, broker_id: int) -> list[tuple[Partition, Trouble]]:
        """Return the partitions that would be offline, or below min.insync.replicas, after a broker stops.

        Only brokers that answer count: a killed broker stays in the ISR until its session expires.
        """
        answering = {each.broker_id for each in self.brokers.values() if not each.failure}
        found = []
        for each in self.partitions:
            if broker_id not in each.isr:
                continue
            others = answering.intersection(each.isr) - {broker_id}
            if not others:
                found.append((each, Trouble.OFFLINE))
            elif len(others) < each.min_isr:
                found.append((each, Trouble.UNDER_MIN_ISR))
        return found

    def obstacles(self, broker_id: int) -> list[str]:
        """Return the reasons against stopping a broker now, as parts of a sentence; empty: it may stop."""
        if self.controller_id < 0:
            return ["there is no controller, so no leaders would be elected"]
        by_reason: dict[str, list[TopicPartition]] = {}
        for partition, trouble in self.if_stopped(broker_id):
            if partition.replicas == [broker_id]:
                reason = "no other replica of {}"
            elif trouble is Trouble.OFFLINE:
                reason = "no other replica in sync of {}"
            else:
                reason = "acks=all would fail for {}"
            by_reason.setdefault(reason, []).append(partition.name)
        return [reason.format(named(names)) for reason, names in by_reason.items()]


def troubles(partition: Partition) -> list[Trouble]:
    """Return the degraded states of a partition; empty: it is healthy."""
    in_sync, wanted = len(partition.isr), len(partition.replicas) - len(partition.adding)
    found = []
    if partition.leader_id < 0:
        found.append(Trouble.OFFLINE)
    if in_sync < partition.min_isr:
        found.append(Trouble.UNDER_MIN_ISR)
    if in_sync < wanted:
        found.append(Trouble.UNDER_REPLICATED)
    # Always true with one replica, so it is not reported then.
    if in_sync == partition.min_isr and wanted > 1:
        found.append(Trouble.AT_MIN_ISR)
    return found


def named(names: Sequence[TopicPartition]) -> str:
    """List the first partitions, and the number of the others, in one line."""
    first = ", ".join(map(str, names[:_MOST_NAMES]))
    return first if len(names) <= _MOST_NAMES else f"{first} and {len(names) - _MOST_NAMES} more"
