"""The partition of a record, by the rules of Java's producer.

With a key: murmur2 of its bytes, without the sign bit, modulo the number of partitions; so all clients choose the same
partition for a key. Without a key: the same partition until a batch is full, then another with a leader (KIP-480).

Source: murmur2 is Austin Appleby's public-domain MurmurHash2, 32 bits, with Kafka's seed.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from barnabas.clients.pool import PartitionMetadata

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of bytes, from 0 to 2^32 - 1."""
    length = len(data)
    number = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        part = int.from_bytes(data[position : position + 4], "little")
        part = part * _MULTIPLIER & _MASK
        part = (part ^ part >> 24) * _MULTIPLIER & _MASK
        number = number * _MULTIPLIER & _MASK ^ part
    if whole != length:
        number = (number ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    number = (number ^ number >> 13) * _MULTIPLIER & _MASK
    return number ^ number >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Return the partition of a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartition:
    """The current partition for records of one topic without a key."""

    __slots__ = ("_dice", "_is_full", "_partition")

    def __init__(self, dice: "Random") -> None:
        self._dice = dice
        self._is_full = False
        self._partition = -1

    def choose(self, partitions: "Mapping[int, PartitionMetadata]") -> int:
        """Return the partition for the next record: one with a leader, if any partition of the topic has one."""
        if self._is_full or self._partition not in partitions:
            led = [index for index, each in partitions.items() if each.leader_id >= 0] or list(partitions)
            others = [index for index in led if index != self._partition]
            self._partition = self._dice.choice(others or led)
            self._is_full = False
        return self._partition

    def move_on(self) -> None:
        """Choose another partition for the next record, if there is one: a batch is full."""
        self._is_full = True
