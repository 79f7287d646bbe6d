"""The partition of the coordinator's topic to which a group or a transactional id belongs.

    partition = abs(hash) % partitions, hash = Java's String.hashCode

Invariant: the number of partitions is read from the registry once, at the start. A broker's metadata may lack
partitions without a leader, and a name must not move to another partition when brokers fail.

Source: semantics, FindCoordinator; Kafka 2.7.2, GroupMetadataManager.getGroupMetadataTopicPartitionCount.
"""

from barnabas.core.java_hash import java_hash_code, kafka_abs
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import decode_assignment


async def coordinated_partition_count(registry: Registry, topic: str, configured: int) -> int:
    """Return the partition count of a coordinator's topic in the registry; `configured` if it does not exist."""
    try:
        data, _ = await registry.get(paths.topic(topic))
        return len(decode_assignment(data).replicas) or configured
    except (NoNodeError, MalformedError):
        return configured


def partition_of(name: str, partition_count: int) -> int:
    """Return the partition of a group or transactional id."""
    return kafka_abs(java_hash_code(name)) % partition_count
