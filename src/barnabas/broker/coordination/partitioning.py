"""The partition of the coordinator's topic to which a group or a transactional id belongs.

    partition = abs(hash) % partitions, hash = Java's String.hashCode

Invariant: the number of partitions is read once, at the start: what a broker is told of the cluster may lack partitions
that nobody leads, and a name must not move as brokers die.

Source: semantics, FindCoordinator; Kafka 2.7.2, GroupMetadataManager.getGroupMetadataTopicPartitionCount.
"""

from barnabas.core.java_hash import java_hash_code, kafka_abs
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import decode_assignment


async def coordinated_partition_count(registry: Registry, topic: str, configured: int) -> int:
    """Return the number of partitions of a coordinator's topic in the registry; if it does not exist, the number to
    create.
    """
    try:
        data, _ = await registry.get(paths.topic(topic))
        return len(decode_assignment(data).replicas) or configured
    except (NoNodeError, MalformedError):
        return configured


def partition_of(name: str, partition_count: int) -> int:
    """Return the partition to which a name belongs."""
    return kafka_abs(java_hash_code(name)) % partition_count
