"""Converts control requests of old versions to the newest layout, grouped by topic. Pure.

| request | old layout up to |
| --- | --- |
| LeaderAndIsr | v1 |
| UpdateMetadata | v4 |
| StopReplica | v0; by topic, without epochs, up to v2 |

Source: protocol guide, the three APIs.
"""

from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

# Indexed by the number in the request.
_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def grouped_leaders(request: LeaderAndIsrRequest) -> LeaderAndIsrRequest:
    """Return a LeaderAndIsr by topic; one in that layout is returned unchanged."""
    if not request.ungrouped_partition_states:
        return request
    topics: dict[str, LeaderAndIsrTopicState] = {}
    for each in request.ungrouped_partition_states:
        topics.setdefault(each.topic_name, LeaderAndIsrTopicState(each.topic_name)).partition_states.append(
            LeaderAndIsrPartitionState2(
                each.partition_index,
                each.controller_epoch,
                each.leader,
                each.leader_epoch,
                each.isr,
                each.zk_version,
                each.replicas,
                is_new=each.is_new,
            )
        )
    return LeaderAndIsrRequest(
        request.controller_id,
        request.controller_epoch,
        broker_epoch=request.broker_epoch,
        topic_states=list(topics.values()),
        live_leaders=request.live_leaders,
    )


def grouped_metadata(request: UpdateMetadataRequest) -> UpdateMetadataRequest:
    """Return an UpdateMetadata by topic, with listener names; one in that layout is returned unchanged."""
    _name_listeners(request)
    if not request.ungrouped_partition_states:
        return request
    topics: dict[str, UpdateMetadataTopicState] = {}
    for each in request.ungrouped_partition_states:
        topics.setdefault(each.topic_name, UpdateMetadataTopicState(each.topic_name)).partition_states.append(
            UpdateMetadataPartitionState2(
                each.partition_index,
                each.controller_epoch,
                each.leader,
                each.leader_epoch,
                each.isr,
                each.zk_version,
                each.replicas,
                each.offline_replicas,
            )
        )
    return UpdateMetadataRequest(
        request.controller_id,
        request.controller_epoch,
        broker_epoch=request.broker_epoch,
        topic_states=list(topics.values()),
        live_brokers=request.live_brokers,
    )


def _name_listeners(request: UpdateMetadataRequest) -> None:
    """Name listeners by their security protocols, as brokers did before listeners had names (v3)."""
    for broker in request.live_brokers:
        if not broker.endpoints and broker.v0_host:
            broker.endpoints = [UpdateMetadataEndpoint(broker.v0_port, broker.v0_host)]
        for endpoint in broker.endpoints:
            if not endpoint.listener and 0 <= endpoint.security_protocol < len(_SECURITY_PROTOCOLS):
                endpoint.listener = _SECURITY_PROTOCOLS[endpoint.security_protocol]


def grouped_stops(request: StopReplicaRequest) -> StopReplicaRequest:
    """Return a StopReplica by topic, with a delete flag per partition; one in that layout is returned unchanged."""
    named = [TopicPartition(each.topic_name, each.partition_index) for each in request.ungrouped_partitions]
    named += [TopicPartition(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    if not named:
        return request
    topics: dict[str, StopReplicaTopicState] = {}
    for topic, index in named:
        topics.setdefault(topic, StopReplicaTopicState(topic)).partition_states.append(
            StopReplicaPartitionState(index, NO_EPOCH, request.delete_partitions)
        )
    return StopReplicaRequest(
        request.controller_id,
        request.controller_epoch,
        broker_epoch=request.broker_epoch,
        topic_states=list(topics.values()),
    )
