"""Which partition of its coordinator's topic a group, or a transactional id, lives in.

    partition = abs(hash) % partitions, hash = Java's String.hashCode: h = 31 * h + unit over UTF-16 units, int32

Source: semantics, FindCoordinator.
"""

from struct import unpack

_INT32_MASK = 0xFFFFFFFF
_INT32_SIGN = 0x80000000


def java_hash_code(text: str) -> int:
    """Java's `String.hashCode`."""
    encoded = text.encode("utf-16-be")
    hash_code = 0
    for unit in unpack(f">{len(encoded) // 2}H", encoded):
        hash_code = (31 * hash_code + unit) & _INT32_MASK
    return hash_code - 2 * (hash_code & _INT32_SIGN)


def partition_of(name: str, partition_count: int) -> int:
    """The partition of a name; Java's abs of the smallest int32 is 0 here, as Kafka has it."""
    hash_code = java_hash_code(name)
    return 0 if hash_code == -_INT32_SIGN else abs(hash_code) % partition_count
