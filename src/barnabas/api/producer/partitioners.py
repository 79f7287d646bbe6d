"""Partitioners: choose the partition for a key (`partitioner.class`).

| class | hash |
| --- | --- |
| DefaultPartitioner | Java's `hashCode` of the key, like Kafka's producers of that time: text, whole numbers, bytes |
| Murmur2Partitioner | murmur2 of the key's bytes, like Kafka's producers since the new producer of 0.8.2 |

The partition is the hash without its sign, modulo the number of partitions. Partitioners are not called for messages
without a key.

Source: Kafka 0.8.2, kafka.producer.DefaultPartitioner and ByteArrayPartitioner; Java's String, Long, Arrays.hashCode.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

from barnabas.api.producer.encoders import instance
from barnabas.api.producer.errors import PartitionerError
from barnabas.api.settings import load
from barnabas.clients.partitioner import partition_for_key
from barnabas.core.errors import ConfigError

_MASK = 0xFFFFFFFF
_SIGN = 0x80000000
_CACHED_KEYS = 10_000


@runtime_checkable
class Partitioner(Protocol):
    """Chooses partitions for keys."""

    def partition(self, key: object, partition_count: int) -> int:
        """Return a partition from 0 to `partition_count` - 1; the key is the one given to `send`, never None."""
        ...


class DefaultPartitioner:
    """Places a key like Kafka's producers of that time (Java's `hashCode`)."""

    def partition(self, key: object, partition_count: int) -> int:
        code = hash_code(key)
        # Like Java's abs of an int, except for the one value whose abs stays negative.
        return (0 if code == _SIGN else _MASK + 1 - code if code & _SIGN else code) % partition_count


class Murmur2Partitioner:
    """Places a key like current clients (murmur2); text is hashed as UTF-8."""

    def partition(self, key: object, partition_count: int) -> int:
        if isinstance(key, str):
            key = key.encode()
        if not isinstance(key, bytes):
            raise PartitionerError(f"Murmur2Partitioner hashes bytes and text, not {type(key).__name__}")
        return partition_for_key(key, partition_count)


def hash_code(key: object) -> int:
    """Return Java's hash of a key, as 32 bits without sign.

    Raises:
        PartitionerError: The type is not supported: Python's own hash differs from process to process.
    """
    if isinstance(key, str | bytes):
        return _sequence_hash(key)
    if isinstance(key, int):
        return (key ^ key >> 32) & _MASK if not -_SIGN <= key < _SIGN else key & _MASK
    raise PartitionerError(f"no hash for a key of type {type(key).__name__}: set partitioner.class")


@lru_cache(_CACHED_KEYS)
def _sequence_hash(key: str | bytes) -> int:
    if isinstance(key, bytes):
        code, items = 1, (byte - 256 if byte > 127 else byte for byte in key)
        return _folded(code, items)
    text = key.encode("utf-16-be", "surrogatepass")
    return _folded(0, (text[at] << 8 | text[at + 1] for at in range(0, len(text), 2)))


def _folded(code: int, items: Iterable[int]) -> int:
    for item in items:
        code = code * 31 + item & _MASK
    return code


JAVA_NAMES: Final[Mapping[str, object]] = {
    "kafka.producer.DefaultPartitioner": DefaultPartitioner,
    "kafka.producer.ByteArrayPartitioner": DefaultPartitioner,
}


def new_partitioner(value: object, config: Mapping[str, object]) -> Partitioner:
    """Return the partitioner that `partitioner.class` names or is. Raises ConfigError."""
    made = instance(load("partitioner.class", value, JAVA_NAMES), config)
    if not isinstance(made, Partitioner):
        raise ConfigError(
            f"partitioner.class={value}: a partitioner must have a method partition(key, partition_count)"
        )
    return made
