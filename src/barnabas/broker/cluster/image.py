"""The cluster metadata that the controller sent to this broker: brokers, leaders, replicas.

Invariants:

- An image is immutable; an update creates a new one.
- Only UpdateMetadata changes the image; `replicas/control_requests.py` has already checked that the request is current.
- The broker list of an update replaces the previous one; partitions are merged; a leader of -2 removes them.
- Invalid topic names are dropped, even from the controller: they cannot be part of a path in the registry.

Source: semantics, replication (UpdateMetadata); protocol guide, UpdateMetadata.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.core.types import is_topic_name
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest

NO_LEADER = -1
LEADER_DURING_DELETE = -2


class BrokerNode(NamedTuple):
    """A live broker.

    Attributes:
        endpoints: Listener name to host and port.
    """

    broker_id: int
    endpoints: Mapping[str, tuple[str, int]]
    rack: str | None


class PartitionState(NamedTuple):
    """A partition's leader and replicas.

    Attributes:
        leader: Broker id; -1 without a leader.
        offline: Replicas whose broker is dead or whose log directory failed.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline: tuple[int, ...]


@dataclass(slots=True, frozen=True)
class ClusterImage:
    """The state of the cluster at one moment.

    Attributes:
        controller_id: Broker id of the controller; -1 if unknown.
        topics: Topic to partition to state.
        controller_epoch: Epoch of the controller that sent it.
    """

    cluster_id: str
    controller_id: int
    brokers: Mapping[int, BrokerNode]
    topics: Mapping[str, Mapping[int, PartitionState]]
    controller_epoch: int = 0

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """Return the state of a partition, if it is known."""
        partitions = self.topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def is_follower(self, broker_id: int, partitions: Iterable[tuple[str, int]]) -> bool:
        """Return whether a broker is a replica of all these partitions, and leads none of them; False without any."""
        has_any = False
        for topic, index in partitions:
            state = self.partition(topic, index)
            if state is None or broker_id not in state.replicas or broker_id == state.leader:
                return False
            has_any = True
        return has_any

    def partition_count(self, topic: str) -> int:
        """Return the number of a topic's partitions; 0 if the topic does not exist."""
        return len(self.topics.get(topic, ()))

    def has_leaders(self, topic: str, partition_count: int) -> bool:
        """Return whether a topic exists and all its partitions have leaders."""
        partitions = self.topics.get(topic, {})
        return len(partitions) >= partition_count and all(state.leader >= 0 for state in partitions.values())


class ImageChange(NamedTuple):
    """The change that listeners receive: the new image, and the topics deleted since the last one."""

    image: ClusterImage
    deleted_topics: list[str]


ChangeListener = Callable[[ImageChange], object]


class ClusterView:
    """The newest image, and the listeners for changes. Owned by the event loop.

    Attributes:
        image: The newest image.
        broker_epoch: This broker's epoch, from its registration; control requests for an older epoch are refused.
    """

    __slots__ = ("_listeners", "_overrides", "broker_epoch", "image")

    def __init__(self, cluster_id: str) -> None:
        self.image = ClusterImage(cluster_id, -1, {}, {})
        self.broker_epoch = -1
        self._listeners: dict[ChangeListener, None] = {}
        self._overrides: dict[str, dict[str, str]] = {}

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` with every new image, in the order of registration.

        Returns:
            A function that removes the listener.
        """
        self._listeners[listener] = None

        def forget() -> None:
            self._listeners.pop(listener, None)

        return forget

    def topic_overrides(self, topic: str) -> Mapping[str, str]:
        """Return the overrides of a topic; empty if it has none or is unknown."""
        return self._overrides.get(topic, {})

    def set_topic_overrides(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Store a topic's settings from the registry."""
        self._overrides[topic] = dict(overrides)

    def has_topic_overrides(self, topic: str) -> bool:
        """Return whether the topic's settings were read."""
        return topic in self._overrides

    def update_metadata(self, request: UpdateMetadataRequest) -> None:
        """Apply an UpdateMetadata request, and call the listeners."""
        topics, deleted = _merge_topics(self.image.topics, request)
        brokers = {
            broker.id: BrokerNode(
                broker.id,
                {endpoint.listener: (endpoint.host, endpoint.port) for endpoint in broker.endpoints},
                broker.rack,
            )
            for broker in request.live_brokers
        }
        self.image = ClusterImage(
            self.image.cluster_id, request.controller_id, brokers, topics, request.controller_epoch
        )
        for topic in deleted:
            self._overrides.pop(topic, None)
        change = ImageChange(self.image, deleted)
        for listener in list(self._listeners):
            listener(change)


def _merge_topics(
    known: Mapping[str, Mapping[int, PartitionState]], request: UpdateMetadataRequest
) -> tuple[Mapping[str, Mapping[int, PartitionState]], list[str]]:
    topics = dict(known)
    deleted = []
    for topic in request.topic_states:
        before = topics.get(topic.topic_name)
        if before is None and not is_topic_name(topic.topic_name):
            continue
        partitions = dict(before or {})
        for state in topic.partition_states:
            if state.partition_index < 0:
                continue
            if state.leader == LEADER_DURING_DELETE:
                partitions.pop(state.partition_index, None)
            else:
                partitions[state.partition_index] = PartitionState(
                    state.leader,
                    state.leader_epoch,
                    tuple(state.isr),
                    tuple(state.replicas),
                    tuple(state.offline_replicas),
                )
        if partitions:
            topics[topic.topic_name] = partitions
        elif topics.pop(topic.topic_name, None) is not None:
            deleted.append(topic.topic_name)
    return topics, deleted
