"""Which partition of its coordinator's topic a group, or a transactional id, lives in.

    partition = abs(hash) % partitions, hash = Java's String.hashCode

Source: semantics, FindCoordinator.
"""

from barnabas.core.java_hash import java_hash_code, kafka_abs


def partition_of(name: str, partition_count: int) -> int:
    """The partition of a name."""
    return kafka_abs(java_hash_code(name)) % partition_count
