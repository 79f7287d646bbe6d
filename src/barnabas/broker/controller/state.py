"""What the controller knows, and what it decides from that. Pure.

Invariants:

- The first replica of an assignment is the preferred leader; leaders come from the in-sync replicas alone.
- Every change of leader or in-sync replicas raises the leader epoch by one.
- The last in-sync replica stays in the list when its broker dies: only it has everything.

Source: semantics, controller; zookeeper.md, partition state.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.brokers import BrokerRegistration
from barnabas.wire.registry.znodes.topics import PartitionStateNode, TopicAssignment

NO_LEADER = -1
FIRST_LEADER_EPOCH = 0


class LiveBroker(NamedTuple):
    """A registered broker.

    Attributes:
        epoch: The transaction that created its registration: a broker that came back has another one.
    """

    registration: BrokerRegistration
    epoch: int


class Leadership(NamedTuple):
    """A partition's state and the version of its node, which guards the next change."""

    node: PartitionStateNode
    zk_version: int


@dataclass(slots=True)
class ControllerState:
    """Everything the controller keeps in memory.

    Attributes:
        epoch: The controller epoch.
        epoch_zk_version: The version of /controller_epoch that this controller wrote; guards all its writes.
        brokers: Those alive.
        topics: Topic to its replicas.
        leaders: Partition to its state; a partition that has none yet is new.
        unreadable: Partitions whose state in the registry makes no sense: they are left alone.
        deleting: Topics on their way out.
        unled: Topics of which a partition may have no state yet; all others have one for each.
        told: Nodes of topics, partitions and brokers, and what the log says is wrong with each: once, not with every
            change.
    """

    epoch: int
    epoch_zk_version: int
    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    topics: dict[str, TopicAssignment] = field(default_factory=dict)
    leaders: dict[TopicPartition, Leadership] = field(default_factory=dict)
    unreadable: set[TopicPartition] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)
    unled: set[str] = field(default_factory=set)
    told: dict[str, str] = field(default_factory=dict)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic."""
        assignment = self.topics.get(topic)
        return [] if assignment is None else [TopicPartition(topic, index) for index in assignment.replicas]

    def partitions(self, topics: Iterable[str] | None = None) -> list[TopicPartition]:
        """All partitions of these topics, or of all that are not being deleted."""
        wanted = self.topics.keys() - self.deleting if topics is None else topics
        return [partition for topic in sorted(wanted) for partition in self.partitions_of(topic)]

    def replicas(self, partition: TopicPartition) -> list[int]:
        """The brokers of a partition; empty when it is unknown."""
        assignment = self.topics.get(partition.topic)
        return [] if assignment is None else assignment.replicas.get(partition.partition, [])

    def is_unled(self, topic: str) -> bool:
        """Return whether a partition of a topic has no state yet."""
        assignment, leaders = self.topics.get(topic), self.leaders
        # Pairs, which are found as the partitions that they are equal to.
        return assignment is not None and any((topic, index) not in leaders for index in assignment.replicas)

    def settle_unled(self) -> list[str]:
        """Those topics, still there to stay, of which a partition has no state yet."""
        self.unled = {topic for topic in self.unled if topic not in self.deleting and self.is_unled(topic)}
        return sorted(self.unled)

    def is_news(self, path: str, what: str) -> bool:
        """Note what is wrong with a node; whether that is not what was noted last."""
        is_new = self.told.get(path) != what
        self.told[path] = what
        return is_new

    def settle(self, path: str) -> None:
        """Nothing is wrong with a node any more."""
        self.told.pop(path, None)

    def forget_topic(self, topic: str) -> None:
        """Drop all that is known of a topic."""
        for partition in self.partitions_of(topic):
            self.leaders.pop(partition, None)
            self.unreadable.discard(partition)
            self.settle(paths.partition_state(*partition))
        self.topics.pop(topic, None)
        self.settle(paths.topic(topic))
        self.deleting.discard(topic)
        self.unled.discard(topic)


def first_leader(replicas: Sequence[int], live: Collection[int], controller_epoch: int) -> PartitionStateNode | None:
    """The state of a new partition: its first live replica leads, the live ones are in sync; None: none is alive."""
    alive = tuple(replica for replica in replicas if replica in live)
    if not alive:
        return None
    return PartitionStateNode(alive[0], FIRST_LEADER_EPOCH, alive, controller_epoch)


def next_state(
    current: PartitionStateNode, replicas: Sequence[int], live: Collection[int], controller_epoch: int
) -> PartitionStateNode | None:
    """The state that follows from who is alive now; None: it stays as it is.

    Args:
        current: The state as it was written last.
        replicas: The assignment, preferred leader first.
        live: Ids of the brokers alive.
        controller_epoch: Of the controller that decides.
    """
    alive = tuple(replica for replica in current.isr if replica in live)
    leader = current.leader
    if leader not in live:
        leader = next((replica for replica in replicas if replica in alive), NO_LEADER)
    isr = alive or current.isr[-1:]
    if (leader, isr) == (current.leader, current.isr):
        return None
    return PartitionStateNode(leader, current.leader_epoch + 1, isr, controller_epoch)


class BrokerChange(NamedTuple):
    """Which brokers were added and which removed; one that restarted is in both."""

    started: set[int]
    failed: set[int]


def compare_brokers(known: Mapping[int, LiveBroker], found: Mapping[int, LiveBroker]) -> BrokerChange:
    """Compare two readings of the registrations."""
    bounced = {
        broker_id for broker_id in known.keys() & found.keys() if known[broker_id].epoch != found[broker_id].epoch
    }
    return BrokerChange((found.keys() - known.keys()) | bounced, (known.keys() - found.keys()) | bounced)
