"""The iteration order of Java's hash tables, for output that matches Kafka's tools line for line.

A table has a power of two of buckets, at least 16. The low bits of an element's mixed hash select its bucket; a bucket
is sorted by mixed hashes. The table doubles before an insertion that would bring it to three quarters.

Source: the behaviour of Kafka 2.7.2's tools (tests/compat/test_log_dump.py compares them).
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from barnabas.core.types import TopicPartition

T = TypeVar("T")

_LEAST_BUCKETS = 16
_LARGEST_SMALL_SET = 4


def string_hash(text: str) -> int:
    """Return Java's hash of a string: over UTF-16 units, as an unsigned number of 32 bits."""
    data = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for index in range(0, len(data), 2):
        number = (number * 31 + (data[index] << 8 | data[index + 1])) & 0xFFFFFFFF
    return number


def topic_partition_hash(topic_partition: TopicPartition) -> int:
    """Return Java's hash of a topic and partition."""
    return ((31 + topic_partition.partition) * 31 + string_hash(topic_partition.topic)) & 0xFFFFFFFF


def in_hash_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return items in the order of a table to which they were added one by one."""
    listed = list(items)
    bucket_count = _LEAST_BUCKETS
    for count in range(len(listed)):
        bucket_count = _grown(bucket_count, count)
    return _walk(listed, hash_of, bucket_count)


def added_in_sets(sets: Iterable[list[T]], hash_of: Callable[[T], int]) -> list[T]:
    """Return items in the order of a table to which they were added set by set."""
    listed: list[T] = []
    bucket_count = _LEAST_BUCKETS
    for items in sets:
        new = [item for item in dict.fromkeys(items) if item not in listed]
        wanted = int((len(set(items)) + 1) / 0.75)
        while bucket_count < wanted:
            bucket_count *= 2
        # When a larger set is added, the table's size is not checked again.
        if len(set(items)) <= _LARGEST_SMALL_SET:
            for count in range(len(listed), len(listed) + len(new)):
                bucket_count = _grown(bucket_count, count)
        listed += new
    return _walk(listed, hash_of, bucket_count)


def _grown(bucket_count: int, count: int) -> int:
    return bucket_count * 2 if count + 1 >= bucket_count * 3 // 4 else bucket_count


def _walk(items: list[T], hash_of: Callable[[T], int], bucket_count: int) -> list[T]:
    def place(item: T) -> tuple[int, int]:
        number = hash_of(item)
        mixed = number ^ number >> 16
        # Within a bucket, hashes are compared as signed numbers.
        return mixed & (bucket_count - 1), mixed - (1 << 32) if mixed >> 31 else mixed

    return sorted(items, key=place)
