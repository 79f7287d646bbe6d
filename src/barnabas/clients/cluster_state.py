"""The state of a cluster at one moment: its brokers, what its partitions lack, and which broker may stop.

Pure: `admin_cluster.py` asks for it.

Source: protocol guide, Metadata; KIP-455.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from barnabas.core.types import TopicPartition

# How many partitions are named in a line.
_MOST_NAMES: Final = 3


class Broker(NamedTuple):
    """A broker that is registered, or that has replicas.

    Attributes:
        address: None when it is not registered.
        software: What it runs, as far as it tells; None when it does not answer.
        protocol_version: Its inter.broker.protocol.version; None when it does not answer.
        failure: Why it does not answer; empty when it does.
        rack: None: it has none, or that is not known.
    """

    broker_id: int
    address: tuple[str, int] | None
    software: str | None
    protocol_version: str | None
    failure: str
    rack: str | None = None


class Partition(NamedTuple):
    """A partition as the controller knows it, and the least number of replicas in sync that take acks=all.

    Attributes:
        leader_id: -1 when there is none.
        adding: Replicas that a reassignment adds; they need not have caught up.
    """

    name: TopicPartition
    leader_id: int
    replicas: list[int]
    isr: list[int]
    min_isr: int
    adding: list[int]


class Trouble(Enum):
    """What a partition lacks, and what it would lack if a broker stopped."""

    OFFLINE = "offline"
    UNDER_MIN_ISR = "under min.insync.replicas"
    UNDER_REPLICATED = "under-replicated"
    AT_MIN_ISR = "at min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster at one moment.

    Attributes:
        controller_id: -1 when there is none.
        brokers: By id in order.
        partitions: By name in order.
    """

    cluster_id: str | None
    controller_id: int
    brokers: Mapping[int, Broker]
    partitions: list[Partition]

    @property
    def is_healthy(self) -> bool:
        """Whether there is a controller, all brokers answer, and all partitions have all replicas in sync."""
        is_whole = self.controller_id >= 0 and not any(broker.failure for broker in self.brokers.values())
        return is_whole and not any(set(troubles(each)) - {Trouble.AT_MIN_ISR} for each in self.partitions)

    def counts(self, broker_id: int) -> tuple[int, int, int]:
        """Return how many partitions a broker leads, is in sync with, and has a replica of."""
        return (
            sum(each.leader_id == broker_id for each in self.partitions),
            sum(broker_id in each.isr for each in self.partitions),
            sum(broker_id in each.replicas for each in self.partitions),
        )

    def if_stopped(self, broker_id: int) -> list[tuple[Partition, Trouble]]:
        """Return the partitions that would be offline, or take no acks=all, if a broker stopped.

        Only brokers that answer count: one that was killed is in sync for as long as its session lasts.
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
        """Return why a broker may not stop now, in parts of a sentence; nothing: it may."""
        if self.controller_id < 0:
            return ["there is no controller, so nobody would be elected"]
        by_reason: dict[str, list[TopicPartition]] = {}
        for partition, trouble in self.if_stopped(broker_id):
            if partition.replicas == [broker_id]:
                reason = "no other replica of {}"
            elif trouble is Trouble.OFFLINE:
                reason = "no other replica in sync of {}"
            else:
                reason = "no acks=all would be taken by {}"
            by_reason.setdefault(reason, []).append(partition.name)
        return [reason.format(named(names)) for reason, names in by_reason.items()]


def troubles(partition: Partition) -> list[Trouble]:
    """Return all that can be said of a partition; nothing: all is well."""
    in_sync, wanted = len(partition.isr), len(partition.replicas) - len(partition.adding)
    found = []
    if partition.leader_id < 0:
        found.append(Trouble.OFFLINE)
    if in_sync < partition.min_isr:
        found.append(Trouble.UNDER_MIN_ISR)
    if in_sync < wanted:
        found.append(Trouble.UNDER_REPLICATED)
    # Of one replica it is always so, and nobody wants to hear of it every time.
    if in_sync == partition.min_isr and wanted > 1:
        found.append(Trouble.AT_MIN_ISR)
    return found


def named(names: Sequence[TopicPartition]) -> str:
    """Name partitions in a line: the first ones, and how many more there are."""
    first = ", ".join(map(str, names[:_MOST_NAMES]))
    return first if len(names) <= _MOST_NAMES else f"{first} and {len(names) - _MOST_NAMES} more"
