"""The controller context: brokers, assignments, and the state of each partition and replica. Pure.

Invariants:

- States and their transitions are Kafka's. `waiting` contains the new and offline partitions.
- The version of a partition's node guards the next write of its state.
- A replica is online if its broker is registered, is not shutting down, and has not reported that its disk failed.

Source: Kafka 2.7.2, ControllerContext, PartitionStateMachine, ReplicaStateMachine; zookeeper.md, partition state.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.brokers import BrokerRegistration
from barnabas.wire.registry.znodes.topics import PartitionStateNode, TopicAssignment

NO_LEADER = -1
FIRST_LEADER_EPOCH = 0


class PartitionPhase(Enum):
    """The state of a partition in the controller; the values are Kafka's names."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaPhase(Enum):
    """The state of a replica in the controller; the values are Kafka's names."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


_P, _R = PartitionPhase, ReplicaPhase
PARTITION_BEFORE = {
    _P.NEW: {_P.NON_EXISTENT},
    _P.ONLINE: {_P.NEW, _P.ONLINE, _P.OFFLINE},
    _P.OFFLINE: {_P.NEW, _P.ONLINE, _P.OFFLINE},
    _P.NON_EXISTENT: {_P.OFFLINE},
}
"""The states from which a partition may change to this state."""
REPLICA_BEFORE = {
    _R.NEW: {_R.NON_EXISTENT},
    _R.ONLINE: {_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE},
    _R.OFFLINE: {_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE},
    _R.DELETION_STARTED: {_R.OFFLINE},
    _R.DELETION_SUCCESSFUL: {_R.DELETION_STARTED},
    _R.DELETION_INELIGIBLE: {_R.OFFLINE, _R.DELETION_STARTED},
    _R.NON_EXISTENT: {_R.DELETION_SUCCESSFUL},
}
"""The states from which a replica may change to this state."""


class Replica(NamedTuple):
    """One partition on one broker."""

    partition: TopicPartition
    broker_id: int


class LiveBroker(NamedTuple):
    """A registered broker.

    Attributes:
        epoch: The transaction that created its registration: it changes when the broker registers again.
    """

    registration: BrokerRegistration
    epoch: int


class Leadership(NamedTuple):
    """A partition's state and the version of its node, which guards the next change."""

    node: PartitionStateNode
    zk_version: int


class Moving(NamedTuple):
    """The replicas of one partition.

    Attributes:
        replicas: All replicas, including those being added or removed; the preferred leader first.
        adding, removing: The replicas being added and removed.
    """

    replicas: list[int]
    adding: list[int]
    removing: list[int]

    @property
    def is_under_way(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> list[int]:
        """The replicas after the reassignment."""
        return [replica for replica in self.replicas if replica not in self.removing]

    @property
    def origin(self) -> list[int]:
        """The replicas before the reassignment."""
        return [replica for replica in self.replicas if replica not in self.adding]

    def to(self, target: Iterable[int]) -> "Moving":
        """Return the replicas of a reassignment to these brokers."""
        origin, wanted = self.origin, list(target)
        replicas = list(dict.fromkeys([*wanted, *origin]))
        return Moving(
            replicas,
            [replica for replica in replicas if replica not in origin],
            [replica for replica in replicas if replica not in wanted],
        )


@dataclass(slots=True)
class ControllerState:
    """The controller context in memory.

    Attributes:
        epoch: The controller epoch.
        epoch_zk_version: The version of /controller_epoch that this controller wrote; guards all its writes.
        brokers: The registered brokers.
        shutting_down: Brokers in a controlled shutdown.
        failed_replicas: Broker to the partitions whose log directory it reported as failed.
        topics: Topic to its replicas.
        leaders: Partition to its leader and ISR; a partition without an entry is new.
        phases: Partition to its state; a partition without an entry does not exist.
        waiting: New and offline partitions: elections are tried whenever a broker registers.
        replicas_of: Partition to its replicas and their states.
        unreadable: Partitions with a malformed state in the registry; no leader is elected for them.
        deleting: Topics being deleted.
        deletion_started: Topics whose deletion was sent to brokers.
        deletion_ineligible: Topics whose deletion waits for a broker or a reassignment.
        told: Node of a topic, partition or broker to its last logged problem, so that each is logged only once.
    """

    epoch: int
    epoch_zk_version: int
    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    shutting_down: set[int] = field(default_factory=set)
    failed_replicas: dict[int, set[TopicPartition]] = field(default_factory=dict)
    topics: dict[str, TopicAssignment] = field(default_factory=dict)
    leaders: dict[TopicPartition, Leadership] = field(default_factory=dict)
    phases: dict[TopicPartition, PartitionPhase] = field(default_factory=dict)
    waiting: set[TopicPartition] = field(default_factory=set)
    replicas_of: dict[TopicPartition, dict[int, ReplicaPhase]] = field(default_factory=dict)
    unreadable: set[TopicPartition] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)
    deletion_started: set[str] = field(default_factory=set)
    deletion_ineligible: set[str] = field(default_factory=set)
    told: dict[str, str] = field(default_factory=dict)

    # Brokers

    def is_online(self, broker_id: int, partition: TopicPartition) -> bool:
        """Return whether a replica may lead."""
        return broker_id not in self.shutting_down and self.is_reachable(broker_id, partition)

    def is_reachable(self, broker_id: int, partition: TopicPartition) -> bool:
        """Return whether a replica is alive; its broker may be shutting down."""
        return broker_id in self.brokers and partition not in self.failed_replicas.get(broker_id, ())

    def replicas_on(self, brokers: Iterable[int]) -> list[Replica]:
        """Return all replicas on some brokers, except deleted ones, whose state does not depend on brokers."""
        wanted = set(brokers)
        return [
            replica
            for partition in self.partitions(self.topics)
            for broker_id in self.replicas(partition)
            if broker_id in wanted
            and self.replica_phase(replica := Replica(partition, broker_id)) is not ReplicaPhase.DELETION_SUCCESSFUL
        ]

    # Topics and partitions

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return all partitions of a topic."""
        assignment = self.topics.get(topic)
        return [] if assignment is None else [TopicPartition(topic, index) for index in assignment.replicas]

    def partitions(self, topics: Iterable[str]) -> Iterator[TopicPartition]:
        """Yield all partitions of these topics, sorted by topic."""
        for topic in sorted(topics):
            yield from self.partitions_of(topic)

    def led_partitions(self) -> list[TopicPartition]:
        """Return all partitions that have a state and are not being deleted."""
        return [partition for partition in self.leaders if partition.topic not in self.deleting]

    def partitions_without_live_leader(self) -> list[TopicPartition]:
        """Return the partitions without a live leader that are not being deleted."""
        return [
            partition
            for partition, leadership in self.leaders.items()
            if partition.topic not in self.deleting and not self.is_online(leadership.node.leader, partition)
        ]

    def replicas(self, partition: TopicPartition) -> list[int]:
        """Return the brokers of a partition; empty if it is unknown."""
        assignment = self.topics.get(partition.topic)
        return [] if assignment is None else assignment.replicas.get(partition.partition, [])

    def moving(self, partition: TopicPartition) -> Moving | None:
        """Return the replicas of a partition; None if the partition does not exist."""
        assignment = self.topics.get(partition.topic)
        replicas = None if assignment is None else assignment.replicas.get(partition.partition)
        if assignment is None or replicas is None:
            return None
        index = partition.partition
        return Moving(replicas, assignment.adding.get(index, []), assignment.removing.get(index, []))

    def assign(self, partition: TopicPartition, there: Moving) -> None:
        """Set the replicas of a partition."""
        assignment, index = self.topics[partition.topic], partition.partition
        assignment.replicas[index] = there.replicas
        set_or_drop(assignment.adding, index, there.adding)
        set_or_drop(assignment.removing, index, there.removing)

    def reassignments(self) -> dict[TopicPartition, Moving]:
        """Return all partitions that are being reassigned."""
        found = {}
        for topic in sorted(self.topics):
            assignment = self.topics[topic]
            for index in sorted(assignment.adding.keys() | assignment.removing.keys()):
                here = self.moving(TopicPartition(topic, index))
                if here is not None and here.is_under_way:
                    found[TopicPartition(topic, index)] = here
        return found

    def is_reassigning(self, topic: str) -> bool:
        """Return whether a partition of a topic is being reassigned."""
        assignment = self.topics.get(topic)
        return assignment is not None and (any(assignment.adding.values()) or any(assignment.removing.values()))

    # Phases

    def phase(self, partition: TopicPartition) -> PartitionPhase:
        return self.phases.get(partition, PartitionPhase.NON_EXISTENT)

    def set_phase(self, partition: TopicPartition, phase: PartitionPhase) -> None:
        if phase is PartitionPhase.NON_EXISTENT:
            self.phases.pop(partition, None)
        else:
            self.phases[partition] = phase
        if phase in (PartitionPhase.NEW, PartitionPhase.OFFLINE):
            self.waiting.add(partition)
        else:
            self.waiting.discard(partition)

    def replica_phase(self, replica: Replica) -> ReplicaPhase:
        return self.replicas_of.get(replica.partition, {}).get(replica.broker_id, ReplicaPhase.NON_EXISTENT)

    def set_replica_phase(self, replica: Replica, phase: ReplicaPhase) -> None:
        if phase is not ReplicaPhase.NON_EXISTENT:
            self.replicas_of.setdefault(replica.partition, {})[replica.broker_id] = phase
            return
        phases = self.replicas_of.get(replica.partition, {})
        phases.pop(replica.broker_id, None)
        if not phases:
            self.replicas_of.pop(replica.partition, None)

    def topic_replicas(self, topic: str) -> list[Replica]:
        """Return all replicas of a topic."""
        return [
            Replica(partition, broker_id)
            for partition in self.partitions_of(topic)
            for broker_id in self.replicas(partition)
        ]

    # Logged problems

    def is_news(self, path: str, what: str) -> bool:
        """Record a problem with a node; return whether it differs from the last one recorded."""
        is_new = self.told.get(path) != what
        self.told[path] = what
        return is_new

    def settle(self, path: str) -> None:
        """Record that a node no longer has a problem."""
        self.told.pop(path, None)

    def forget_topic(self, topic: str) -> None:
        """Remove all state of a topic."""
        for partition in self.partitions_of(topic):
            self.leaders.pop(partition, None)
            self.unreadable.discard(partition)
            self.set_phase(partition, PartitionPhase.NON_EXISTENT)
            self.replicas_of.pop(partition, None)
            self.settle(paths.partition_state(*partition))
            for failed in self.failed_replicas.values():
                failed.discard(partition)
        self.topics.pop(topic, None)
        self.settle(paths.topic(topic))
        self.deleting.discard(topic)
        self.deletion_started.discard(topic)
        self.deletion_ineligible.discard(topic)


def set_or_drop(by_partition: dict[int, list[int]], index: int, replicas: list[int]) -> None:
    """Record replicas of a partition; an empty list removes the record."""
    if replicas:
        by_partition[index] = replicas
    else:
        by_partition.pop(index, None)


class BrokerChange(NamedTuple):
    """The brokers that are new, that registered again (in another session), and that are gone."""

    new: list[int]
    bounced: list[int]
    dead: list[int]


def compare_brokers(known: Mapping[int, LiveBroker], found: Mapping[int, LiveBroker]) -> BrokerChange:
    """Compare two readings of the registrations."""
    both = known.keys() & found.keys()
    return BrokerChange(
        sorted(found.keys() - known.keys()),
        sorted(broker_id for broker_id in both if known[broker_id].epoch != found[broker_id].epoch),
        sorted(known.keys() - found.keys()),
    )
