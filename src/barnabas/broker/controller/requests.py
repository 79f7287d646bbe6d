"""The controller's decisions as requests to brokers: one batch per change of states. Pure.

For each broker, a batch contains first LeaderAndIsr for its partitions, then UpdateMetadata, then StopReplica. Every
partition in a LeaderAndIsr is also sent in an UpdateMetadata to all brokers.

Invariants:

- Brokers that are not registered get no requests.
- The epoch in a StopReplica is the one that brokers know before the change. For a topic that is being deleted it is -2,
  which brokers always accept.
- Once a batch marks a partition as new for a broker, the mark stays.

Source: replication.md, requests to brokers; Kafka 2.7.2, ControllerBrokerRequestBatch; protocol guide, the three APIs.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple, TypeAlias, TypeVar

from barnabas.broker.controller.state import ControllerState, Moving
from barnabas.broker.interbroker.versions import version_of
from barnabas.core.config.listeners import Endpoint
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)

ControlRequest: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
ControlResponse: TypeAlias = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse

T = TypeVar("T")

EPOCH_DURING_DELETE = -2
"""The leader epoch in StopReplica that brokers accept regardless of the epoch they know."""
UNKNOWN_EPOCH = -1
LEADER_DURING_DELETE = -2
"""The leader in UpdateMetadata that removes a partition from the brokers' metadata."""
PARTITIONS_PER_REQUEST = 500
"""Maximum in one LeaderAndIsr or StopReplica: a broker handles other requests in between."""

_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class Addressed(NamedTuple):
    """A request and its receiver."""

    broker_id: int
    request: ControlRequest


class RequestBatch:
    """The requests to send to brokers after one change of states."""

    def __init__(self, state: ControllerState, controller_id: int, protocol: str, listener_name: str) -> None:
        """Args:
        protocol: `inter.broker.protocol.version`.
        listener_name: The inter-broker listener, for the leaders' addresses.
        """
        self._state = state
        self._controller_id = controller_id
        self._protocol = protocol
        self._listener_name = listener_name
        self._leaders: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState2]] = {}
        self._metadata_brokers: dict[int, None] = {}
        self._sends_all_metadata = False
        self._metadata_partitions: dict[TopicPartition, None] = {}
        self._stops: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}

    def lead(
        self, brokers: Iterable[int], partition: TopicPartition, there: Moving | None = None, is_new: bool = False
    ) -> None:
        """Add a LeaderAndIsr for brokers with the current state of a partition, and UpdateMetadata for all.

        Args:
            there: The replicas to send, if they differ from the known ones.
        """
        leadership, here = self._state.leaders.get(partition), there or self._state.moving(partition)
        if leadership is None or here is None:
            return
        node = leadership.node
        for broker_id in brokers:
            told = self._leaders.setdefault(broker_id, {})
            before = told.get(partition)
            told[partition] = LeaderAndIsrPartitionState2(
                partition.partition,
                node.controller_epoch,
                node.leader,
                node.leader_epoch,
                list(node.isr),
                leadership.zk_version,
                list(here.replicas),
                list(here.adding),
                list(here.removing),
                is_new or (before is not None and before.is_new),
            )
        self._metadata_partitions[partition] = None
        self._sends_all_metadata = True

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to the UpdateMetadata of brokers; these brokers get all partitions of a batch."""
        self._metadata_brokers.update(dict.fromkeys(brokers))
        self._metadata_partitions.update(dict.fromkeys(partitions))

    def stop(self, broker_id: int, partition: TopicPartition, deletes: bool, leader_epoch: int | None = None) -> None:
        """Add a StopReplica of a partition for a broker.

        Args:
            deletes: Whether to delete its log as well.
            leader_epoch: Replaces the known leader epoch.
        """
        leadership = self._state.leaders.get(partition)
        if partition.topic in self._state.deleting:
            leader_epoch = EPOCH_DURING_DELETE
        elif leader_epoch is None:
            leader_epoch = UNKNOWN_EPOCH if leadership is None else leadership.node.leader_epoch
        told = self._stops.setdefault(broker_id, {})
        told[partition] = StopReplicaPartitionState(partition.partition, leader_epoch, deletes)

    def requests(self) -> Iterator[Addressed | None]:
        """Yield the requests, in order for each broker; yield None where other work should run."""
        brokers = self._state.brokers
        for broker_id, leaders in self._leaders.items():
            if broker_id in brokers:
                # differs from Kafka (large-leader-and-isr): Kafka puts all partitions into one request.
                for some in _some(leaders):
                    yield Addressed(broker_id, self._leader_and_isr(broker_id, some))
        if self._sends_all_metadata:
            self._metadata_brokers.update(dict.fromkeys(brokers))
        if any(broker_id in brokers for broker_id in self._metadata_brokers):
            yield from self._update_metadata()
        for broker_id, stops in self._stops.items():
            if broker_id in brokers:
                for some_stops in _some(stops):
                    for request in self._stop_replica(broker_id, some_stops):
                        yield Addressed(broker_id, request)

    # LeaderAndIsr

    def _leader_and_isr(
        self, broker_id: int, partitions: Mapping[TopicPartition, LeaderAndIsrPartitionState2]
    ) -> LeaderAndIsrRequest:
        version = version_of(LeaderAndIsrRequest.API_KEY, self._protocol)
        leaders = self._live_leaders({told.leader for told in partitions.values()})
        if version < 2:
            # A request to this broker itself is not encoded, and keeps the mark in every version.
            has_is_new = version >= 1 or broker_id == self._controller_id
            return LeaderAndIsrRequest(
                self._controller_id,
                self._state.epoch,
                [_ungrouped_leader(topic, told, has_is_new) for (topic, _), told in partitions.items()],
                live_leaders=leaders,
            )
        topics: dict[str, LeaderAndIsrTopicState] = {}
        for (topic, _), told in partitions.items():
            if version < 3:
                told.adding_replicas, told.removing_replicas = [], []
            topics.setdefault(topic, LeaderAndIsrTopicState(topic)).partition_states.append(told)
        return LeaderAndIsrRequest(
            self._controller_id,
            self._state.epoch,
            broker_epoch=self._state.brokers[broker_id].epoch,
            topic_states=list(topics.values()),
            live_leaders=leaders,
        )

    def _live_leaders(self, leaders: set[int]) -> list[LeaderAndIsrLiveLeader]:
        found = []
        for leader in sorted(leaders & self._state.brokers.keys()):
            for endpoint in self._state.brokers[leader].registration.endpoints:
                if endpoint.listener_name == self._listener_name:
                    found.append(LeaderAndIsrLiveLeader(leader, endpoint.host, endpoint.port))
        return found

    # UpdateMetadata

    def _update_metadata(self) -> Iterator[Addressed | None]:
        version = version_of(UpdateMetadataRequest.API_KEY, self._protocol)
        live_brokers = self._live_brokers(version)
        topics: dict[str, UpdateMetadataTopicState] = {}
        ungrouped: list[UpdateMetadataPartitionState] = []
        for number, partition in enumerate(self._metadata_partitions, 1):
            told = self._metadata_of(partition)
            if told is not None and version < 5:
                ungrouped.append(_ungrouped_metadata(partition.topic, told, version))
            elif told is not None:
                topic = topics.get(partition.topic)
                if topic is None:
                    topic = topics[partition.topic] = UpdateMetadataTopicState(partition.topic)
                topic.partition_states.append(told)
            if number % PARTITIONS_PER_REQUEST == 0:
                yield None
        for broker_id in self._metadata_brokers:
            if broker_id not in self._state.brokers:
                continue
            if version < 5:
                request = UpdateMetadataRequest(
                    self._controller_id, self._state.epoch, ungrouped, live_brokers=live_brokers
                )
            else:
                request = UpdateMetadataRequest(
                    self._controller_id,
                    self._state.epoch,
                    broker_epoch=self._state.brokers[broker_id].epoch,
                    topic_states=list(topics.values()),
                    live_brokers=live_brokers,
                )
            yield Addressed(broker_id, request)

    def _metadata_of(self, partition: TopicPartition) -> UpdateMetadataPartitionState2 | None:
        """Return the UpdateMetadata state of a partition; None if it has no state yet."""
        state = self._state
        leadership = state.leaders.get(partition)
        if leadership is None:
            return None
        node, replicas = leadership.node, state.replicas(partition)
        is_deleting = partition.topic in state.deleting
        return UpdateMetadataPartitionState2(
            partition.partition,
            node.controller_epoch,
            LEADER_DURING_DELETE if is_deleting else node.leader,
            0 if is_deleting else node.leader_epoch,
            list(node.isr),
            0 if is_deleting else leadership.zk_version,
            list(replicas),
            [replica for replica in replicas if not state.is_online(replica, partition)],
        )

    def _live_brokers(self, version: int) -> list[UpdateMetadataBroker]:
        return [
            _broker_of(broker_id, broker.registration.endpoints, broker.registration.rack, version)
            for broker_id, broker in sorted(self._state.brokers.items())
        ]

    # StopReplica

    def _stop_replica(
        self, broker_id: int, stops: Mapping[TopicPartition, StopReplicaPartitionState]
    ) -> Iterator[StopReplicaRequest]:
        version = version_of(StopReplicaRequest.API_KEY, self._protocol)
        epoch = self._state.brokers[broker_id].epoch
        if version >= 3:
            topics: dict[str, StopReplicaTopicState] = {}
            for (topic, _), told in stops.items():
                topics.setdefault(topic, StopReplicaTopicState(topic)).partition_states.append(told)
            yield StopReplicaRequest(self._controller_id, self._state.epoch, epoch, topic_states=list(topics.values()))
            return
        for deletes in (False, True):
            some = [partition for partition, told in stops.items() if told.delete_partition == deletes]
            if not some:
                continue
            if version == 0:
                yield StopReplicaRequest(
                    self._controller_id,
                    self._state.epoch,
                    delete_partitions=deletes,
                    ungrouped_partitions=[StopReplicaPartitionV0(*partition) for partition in some],
                )
                continue
            named: dict[str, StopReplicaTopicV1] = {}
            for topic, index in some:
                named.setdefault(topic, StopReplicaTopicV1(topic)).partition_indexes.append(index)
            yield StopReplicaRequest(
                self._controller_id, self._state.epoch, epoch, deletes, topics=list(named.values())
            )


def deleted_partitions(request: StopReplicaRequest) -> list[TopicPartition]:
    """Return the partitions whose logs a StopReplica deletes, in any version of the request."""
    if request.topic_states:
        return [
            TopicPartition(topic.topic_name, told.partition_index)
            for topic in request.topic_states
            for told in topic.partition_states
            if told.delete_partition
        ]
    if not request.delete_partitions:
        return []
    grouped = [TopicPartition(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    return grouped + [TopicPartition(each.topic_name, each.partition_index) for each in request.ungrouped_partitions]


def _some(partitions: Mapping[TopicPartition, T]) -> Iterator[dict[TopicPartition, T]]:
    """Split a mapping into parts of at most PARTITIONS_PER_REQUEST entries."""
    items = iter(partitions.items())
    while some := dict(islice(items, PARTITIONS_PER_REQUEST)):
        yield some


def _ungrouped_leader(topic: str, told: LeaderAndIsrPartitionState2, has_is_new: bool) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        topic,
        told.partition_index,
        told.controller_epoch,
        told.leader,
        told.leader_epoch,
        told.isr,
        told.zk_version,
        told.replicas,
        told.is_new and has_is_new,
    )


def _ungrouped_metadata(topic: str, told: UpdateMetadataPartitionState2, version: int) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        topic,
        told.partition_index,
        told.controller_epoch,
        told.leader,
        told.leader_epoch,
        told.isr,
        told.zk_version,
        told.replicas,
        told.offline_replicas if version >= 4 else [],
    )


def _broker_of(broker_id: int, endpoints: Iterable[Endpoint], rack: str | None, version: int) -> UpdateMetadataBroker:
    if version == 0:
        # Version 0 has no listeners, and only plaintext.
        plain = next((each for each in endpoints if each.security_protocol == "PLAINTEXT"), None)
        return UpdateMetadataBroker(broker_id, "" if plain is None else plain.host, -1 if plain is None else plain.port)
    return UpdateMetadataBroker(
        broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                each.port,
                each.host,
                each.listener_name if version >= 3 else "",
                _SECURITY_PROTOCOLS.get(each.security_protocol, 0),
            )
            for each in endpoints
        ],
        rack=rack if version >= 2 else "",
    )
