"""Assignment of partitions to the threads of a group, which every member computes from the same data.

    range       Each topic is assigned separately: partitions in order of number, threads in order of name. With p
                partitions and t threads, each thread gets p div t consecutive partitions, and the first p mod t
                threads get one more. The documents of 0.7 omit the remainder; 0.8.2 assigns it this way.
    roundrobin  All partitions of all topics, ordered by the hash of their names, go to the threads in turn. All
                members must read the same topics with the same number of threads.

Thread names are ordered like Java's strings: `c-10` comes before `c-2`.

Invariant: a partition of a topic that is read has one owner. A member with an outdated view of the group computes
another assignment; the owner nodes then prevent two members from reading the same partition.

Source: implementation document, distribution, consumer rebalancing algorithm; Kafka 0.8.2.2, RangeAssignor and
RoundRobinAssignor.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from barnabas.api.errors import ApiError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.consumers import ConsumerThread, java_order

Assignment: TypeAlias = dict[TopicPartition, ConsumerThread]
Partitions: TypeAlias = Mapping[str, Collection[int]]
"""The partitions of each topic."""
Threads: TypeAlias = Mapping[str, Collection[ConsumerThread]]
"""The threads of the group that read each topic."""


class UnevenSubscriptionsError(ApiError):
    """The members of a group read different topics or use different numbers of threads: roundrobin is impossible."""


def assign_ranges(partitions: Partitions, threads: Threads) -> Assignment:
    """Assign partitions by the rule `range`. Topics without partitions or threads are left out."""
    owners: Assignment = {}
    for topic, readers in threads.items():
        numbers = sorted(partitions.get(topic, ()))
        if not readers:
            continue
        each, remainder = divmod(len(numbers), len(readers))
        start = 0
        for position, thread in enumerate(_in_order(readers)):
            end = start + each + (position < remainder)
            owners |= {TopicPartition(topic, number): thread for number in numbers[start:end]}
            start = end
    return owners


def assign_in_turn(partitions: Partitions, threads: Threads) -> Assignment:
    """Assign partitions by the rule `roundrobin`.

    Raises:
        UnevenSubscriptionsError: Not all topics are read by the same threads.
    """
    readers = [frozenset(each) for each in threads.values()]
    if any(each != readers[0] for each in readers):
        raise UnevenSubscriptionsError(
            "partition.assignment.strategy=roundrobin: all consumers of the group have to read the same topics, "
            "with as many streams each"
        )
    in_order = _in_order(readers[0]) if readers else []
    if not in_order:
        return {}
    dealt = sorted(
        (TopicPartition(topic, number) for topic in threads for number in partitions.get(topic, ())), key=_shuffled
    )
    return {partition: in_order[position % len(in_order)] for position, partition in enumerate(dealt)}


STRATEGIES: Final[Mapping[str, Callable[[Partitions, Threads], Assignment]]] = {
    "range": assign_ranges,
    "roundrobin": assign_in_turn,
}
"""The values of partition.assignment.strategy."""


def _in_order(threads: Collection[ConsumerThread]) -> list[ConsumerThread]:
    return sorted(threads, key=lambda thread: java_order(str(thread)))


def _shuffled(partition: TopicPartition) -> tuple[int, TopicPartition]:
    return _java_hash(f"[{partition.topic},{partition.partition}]"), partition


def _java_hash(text: str) -> int:
    """Return the hash of a Java string: int32 s[0]*31^(n-1) + ... + s[n-1] over UTF-16's units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value
