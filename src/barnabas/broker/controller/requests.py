"""The controller's decisions as requests to brokers. Pure.

LeaderAndIsr goes to the replicas of the partitions that it names; UpdateMetadata to every broker; StopReplica to the
replicas that are to go.

Source: semantics, controller and replication; protocol guide, the three APIs.
"""

from collections.abc import Collection, Iterable
from typing import TypeAlias

from barnabas.broker.controller.state import ControllerState
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)

ControlRequest: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
ControlResponse: TypeAlias = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse

EPOCH_DURING_DELETE = -2
"""The leader epoch in StopReplica that is obeyed whatever the broker knows."""
LEADER_DURING_DELETE = -2
"""The leader in UpdateMetadata that takes a partition out of the brokers' sight."""

_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


def leader_and_isr(
    state: ControllerState,
    controller_id: int,
    broker_id: int,
    partitions: Iterable[TopicPartition],
    is_new: bool,
    listener_name: str,
) -> LeaderAndIsrRequest | None:
    """Build the request that tells a broker of the partitions that it hosts; None: it hosts none of them.

    Args:
        partitions: Those to tell of; the ones without a state, or hosted elsewhere, are left out.
        is_new: Whether they were never led before.
        listener_name: The listener that brokers use among each other, for the leaders' addresses.
    """
    topics: dict[str, LeaderAndIsrTopicState] = {}
    leaders: set[int] = set()
    for partition in partitions:
        leadership = state.leaders.get(partition)
        replicas = state.replicas(partition)
        if leadership is None or broker_id not in replicas:
            continue
        assignment = state.topics[partition.topic]
        node = leadership.node
        leaders.add(node.leader)
        topic = topics.setdefault(partition.topic, LeaderAndIsrTopicState(partition.topic))
        topic.partition_states.append(
            LeaderAndIsrPartitionState2(
                partition.partition,
                node.controller_epoch,
                node.leader,
                node.leader_epoch,
                list(node.isr),
                leadership.zk_version,
                list(replicas),
                list(assignment.adding.get(partition.partition, [])),
                list(assignment.removing.get(partition.partition, [])),
                is_new,
            )
        )
    if not topics:
        return None
    return LeaderAndIsrRequest(
        controller_id,
        state.epoch,
        broker_epoch=state.brokers[broker_id].epoch,
        topic_states=list(topics.values()),
        live_leaders=_live_leaders(state, leaders, listener_name),
    )


def _live_leaders(state: ControllerState, leaders: Collection[int], listener_name: str) -> list[LeaderAndIsrLiveLeader]:
    found = []
    for leader in sorted(leaders):
        broker = state.brokers.get(leader)
        for endpoint in broker.registration.endpoints if broker is not None else ():
            if endpoint.listener_name == listener_name:
                found.append(LeaderAndIsrLiveLeader(leader, endpoint.host, endpoint.port))
    return found


def update_metadata(
    state: ControllerState, controller_id: int, broker_id: int, partitions: Iterable[TopicPartition]
) -> UpdateMetadataRequest:
    """Build the request that tells a broker of the cluster: all live brokers, and these partitions.

    Args:
        partitions: Those without a state are left out; those of topics that are being deleted go.
    """
    topics: dict[str, UpdateMetadataTopicState] = {}
    for partition in partitions:
        leadership = state.leaders.get(partition)
        if leadership is None:
            continue
        node = leadership.node
        replicas = state.replicas(partition)
        leader = LEADER_DURING_DELETE if partition.topic in state.deleting else node.leader
        topic = topics.setdefault(partition.topic, UpdateMetadataTopicState(partition.topic))
        topic.partition_states.append(
            UpdateMetadataPartitionState2(
                partition.partition,
                node.controller_epoch,
                leader,
                node.leader_epoch,
                list(node.isr),
                leadership.zk_version,
                list(replicas),
                [replica for replica in replicas if replica not in state.brokers],
            )
        )
    return UpdateMetadataRequest(
        controller_id,
        state.epoch,
        broker_epoch=state.brokers[broker_id].epoch,
        topic_states=list(topics.values()),
        live_brokers=_live_brokers(state),
    )


def _live_brokers(state: ControllerState) -> list[UpdateMetadataBroker]:
    return [
        UpdateMetadataBroker(
            broker_id,
            endpoints=[
                UpdateMetadataEndpoint(
                    endpoint.port,
                    endpoint.host,
                    endpoint.listener_name,
                    _SECURITY_PROTOCOLS.get(endpoint.security_protocol, 0),
                )
                for endpoint in broker.registration.endpoints
            ],
            rack=broker.registration.rack,
        )
        for broker_id, broker in sorted(state.brokers.items())
    ]


def stop_for_deletion(
    state: ControllerState, controller_id: int, broker_id: int, topic: str
) -> StopReplicaRequest | None:
    """Tell one broker to drop its replicas of a topic, logs and all; None: it has none."""
    # differs from Kafka (topic-deletion): it stops the replicas first, and deletes them by a second request.
    hosted = [partition for partition in state.partitions_of(topic) if broker_id in state.replicas(partition)]
    return stop_replicas(state, controller_id, broker_id, hosted) if hosted else None


def stop_replicas(
    state: ControllerState, controller_id: int, broker_id: int, partitions: Iterable[TopicPartition]
) -> StopReplicaRequest:
    """Tell one broker to drop its replicas of these partitions, logs and all."""
    topics: dict[str, StopReplicaTopicState] = {}
    for topic, index in partitions:
        topics.setdefault(topic, StopReplicaTopicState(topic, [])).partition_states.append(
            StopReplicaPartitionState(index, EPOCH_DURING_DELETE, True)
        )
    return StopReplicaRequest(
        controller_id,
        state.epoch,
        broker_epoch=state.brokers[broker_id].epoch,
        topic_states=list(topics.values()),
    )
