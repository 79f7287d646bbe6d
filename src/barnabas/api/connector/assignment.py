"""Which thread of a group owns which partition: a rule that every member works out for itself, from the same facts.

    range       each topic by itself. Its partitions by number, its threads by text: with p partitions and t threads
                each thread gets p div t in a row, and the first p mod t threads one more. The text of 0.7 leaves the
                remainder out; 0.8.2 does it so.
    roundrobin  all partitions of all topics, by the hash of their names, dealt out to the threads in turn. All members
                have to read the same topics with as many threads.

Threads are in the order of Java's strings: `c-10` comes before `c-2`.

Invariant: a partition has one owner, if its topic is read at all; who is told less of the group works out something
else, and the owners' nodes keep both from reading.

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
    """The members of a group read different topics, or with different numbers of threads: roundrobin can't be."""


def assign_ranges(partitions: Partitions, threads: Threads) -> Assignment:
    """The owners by the rule `range`. Topics without partitions or threads have none."""
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
    """The owners by the rule `roundrobin`.

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
    """The hash of a Java string: int32 s[0]*31^(n-1) + ... + s[n-1] over UTF-16's units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value
