"""The state of a whole cluster: brokers and their versions, partitions, and the brokers that may stop.

Each broker receives its own request, because its registration does not show whether it answers. Partitions come from
the controller, which learns of changes first. Works with any Kafka since 0.11.

Source: protocol guide, Metadata, ApiVersions, DescribeConfigs; KIP-35.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.cluster_state import Broker, Cluster, Partition
from barnabas.clients.pool import ClusterMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition

_PROTOCOL_VERSION: Final = "inter.broker.protocol.version"
_MIN_ISR: Final = "min.insync.replicas"
# A setting that Kafka does not have identifies Barnabas's brokers.
_BARNABAS_SETTING: Final = "barnabas.record.validation"
# The API key and version that each release of Kafka introduced, newest first.
_RELEASES: Final = (
    ("2.8 or later", 60, 0),  # DescribeCluster
    ("2.7", 50, 0),  # DescribeUserScramCredentials
    ("2.6", 48, 0),  # DescribeClientQuotas
    ("2.5", 9, 7),  # OffsetFetch
    ("2.4", 47, 0),  # OffsetDelete
    ("2.3", 44, 0),  # IncrementalAlterConfigs
    ("2.2", 43, 0),  # ElectLeaders
    ("2.1", 1, 10),  # Fetch
    ("2.0", 1, 8),  # Fetch
    ("1.1", 42, 0),  # DeleteGroups
    ("1.0", 37, 0),  # CreatePartitions
    ("0.11", 32, 0),  # DescribeConfigs
)
# Codes of a broker that is available but does not return its settings.
_NOT_TOLD: Final = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION)
# For single attempts: this code looks for unavailable brokers, so it does not wait for them.
_ONCE_MS: Final = 1
_TOPICS_AT_ONCE: Final = 10


def release_of(versions: Mapping[int, tuple[int, int]]) -> str:
    """Return the newest Kafka release whose API versions match."""
    for release, api_key, version in _RELEASES:
        if versions.get(api_key, (0, -1))[1] >= version:
            return release
    return "before 0.11"


class ClusterAdmin(ReplicaAdmin, ConfigAdmin):
    """Administration of the cluster as a whole."""

    async def cluster(self) -> Cluster:
        """Return the state of the cluster, as far as the caller may see it. Raises KafkaError."""
        metadata = await self.retry(self._controllers_metadata)
        topics = sorted(metadata.topics)
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        settings = await self.describe_configs(resources, names=[_MIN_ISR], include_synonyms=False)
        moving = await self._moving()
        partitions = []
        async for topic, resource in in_time_slices(zip(topics, resources, strict=True), _TOPICS_AT_ONCE):
            min_isr = next((int(entry.value or 1) for entry in settings[resource]), 1)
            for index, part in metadata.topics[topic].partitions.items():
                name = TopicPartition(topic, index)
                partitions.append(
                    Partition(name, part.leader_id, part.replicas, part.isr, min_isr, moving.get(name, []))
                )
        known = set(metadata.brokers).union(*(each.replicas for each in partitions))
        brokers = await asyncio.gather(*(self._broker(each, metadata) for each in sorted(known)))
        controller_id = metadata.controller_id if metadata.controller_id in metadata.brokers else -1
        return Cluster(metadata.cluster_id, controller_id, {each.broker_id: each for each in brokers}, partitions)

    async def _controllers_metadata(self) -> ClusterMetadata:
        known = await self.pool.metadata([])
        try:
            channel = await self.pool.broker(known.controller_id)
        except KafkaError:
            # Without an available controller, another broker's metadata suffices.
            channel = await self.pool.any_broker()
        return await self.pool.metadata(None, channel=channel)

    async def _moving(self) -> dict[TopicPartition, list[int]]:
        """Return the replicas that reassignments add, by partition."""
        try:
            moves = await ReplicaAdmin(self.pool, _ONCE_MS).reassignments()
        except KafkaError:
            # Kafka before 2.4, or no controller now. Added replicas are then unknown: they count as required replicas,
            # which errs on the safe side.
            return {}
        return {name: move.adding for name, move in moves.items()}

    async def _broker(self, broker_id: int, metadata: ClusterMetadata) -> Broker:
        address = metadata.brokers.get(broker_id)
        if address is None:
            return Broker(broker_id, None, None, None, "is not registered")
        rack = metadata.racks.get(broker_id)
        resource = ConfigResource(ResourceType.BROKER, str(broker_id))
        asking = ConfigAdmin(self.pool, _ONCE_MS)
        try:
            release = release_of((await self.pool.broker(broker_id)).versions)
            names = [_PROTOCOL_VERSION, _BARNABAS_SETTING]
            found = (await asking.describe_configs([resource], names=names, include_synonyms=False))[resource]
        except KafkaError as error:
            if error.code in _NOT_TOLD:
                raise
            return Broker(broker_id, address, None, None, error.message, rack)
        values = {entry.name: entry.value for entry in found}
        software = "Barnabas" if _BARNABAS_SETTING in values else f"Kafka {release}"
        return Broker(broker_id, address, software, values.get(_PROTOCOL_VERSION), "", rack)
