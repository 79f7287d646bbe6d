"""What must hold of a group of consumers that live in ZooKeeper; no I/O, no clock.

- The owners of a topic's partitions are those of the range rule, once the group is stable.
- Every acknowledged message is delivered at least once.
- None is delivered twice without a rebalance between.
- A message is delivered again only if its delivery had not been committed where its new reader looks.
- Of ours alone: a message is delivered again only if a member crashed.

All times are of the machine's wall clock in ms: members are processes of one machine. The range rule is written here
once more, so that it does not judge itself.

Source: zookeeper.md, old consumers; design document, consumers and groups.
"""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

Partition = tuple[str, int]
"""A topic's name and the number of its partition."""


class Delivery(NamedTuple):
    """A message that a member's stream returned.

    Attributes:
        member: The consumer's id as its node's name has it.
    """

    member: str
    partition: Partition
    offset: int
    at_ms: int


class Rebalance(NamedTuple):
    """A time in which partitions may change hands, both ends included.

    Attributes:
        member: Who looks where each partition was left; empty: nobody does.
    """

    began_ms: int
    ended_ms: int
    member: str = ""


class Commit(NamedTuple):
    """A committed offset as it was seen: the next message to read.

    Attributes:
        store: "zookeeper" or "kafka".
        at_ms: When it was there at the latest.
    """

    store: str
    partition: Partition
    offset: int
    at_ms: int


def range_rule(
    partition_counts: Mapping[str, int], subscriptions: Mapping[str, Mapping[str, int]]
) -> dict[Partition, str]:
    """Return the thread that is to own each partition.

    Partitions in order are dealt to thread ids in the order of their texts, each topic by itself: so many to each, and
    one more to each of the first where it does not come out even.

    Args:
        partition_counts: Partitions of each topic.
        subscriptions: Each registered consumer's number of streams by topic.
    """
    owners: dict[Partition, str] = {}
    for topic, count in partition_counts.items():
        threads = sorted(
            f"{consumer}-{number}"
            for consumer, streams in subscriptions.items()
            for number in range(streams.get(topic, 0))
        )
        dealt = 0
        for place, thread in enumerate(threads):
            share = count // len(threads) + (place < count % len(threads))
            owners.update({(topic, partition): thread for partition in range(dealt, dealt + share)})
            dealt += share
    return owners


def wrong_owners(expected: Mapping[Partition, str], seen: Mapping[Partition, str]) -> list[str]:
    """Return a line for each partition that does not have the owner that it should have."""
    return [
        f"{topic}-{partition}: owned by {seen.get((topic, partition))}, should be {expected.get((topic, partition))}"
        for topic, partition in sorted(expected.keys() | seen.keys())
        if expected.get((topic, partition)) != seen.get((topic, partition))
    ]


def missing(acknowledged: Iterable[tuple[Partition, int]], deliveries: Iterable[Delivery]) -> list[str]:
    """Return a line for each acknowledged message that nobody was given."""
    seen = {(delivery.partition, delivery.offset) for delivery in deliveries}
    return [
        f"{topic}-{partition} offset {offset}: never delivered"
        for (topic, partition), offset in sorted(set(acknowledged) - seen)
    ]


def doubled(deliveries: Iterable[Delivery], unrest: Collection[Rebalance]) -> list[str]:
    """Return a line for each message that was delivered twice though nothing could change hands between.

    Args:
        deliveries: In any order.
        unrest: The members' rebalances, and the times in which one could not know that its session had ended.
    """
    return [
        f"{_name(second)}: delivered to {first.member} at {first.at_ms} and again to {second.member} at {second.at_ms}"
        for first, second in _again(deliveries)
        if not any(each.began_ms <= second.at_ms and first.at_ms <= each.ended_ms for each in unrest)
    ]


def needless(deliveries: Iterable[Delivery], crashed: Collection[str]) -> list[str]:
    """Return a line for each message that was delivered twice though nobody crashed.

    This holds of ours alone: who gives a partition up stores how far it came before, and who claims it looks after.

    Args:
        deliveries: In any order.
        crashed: Members that were killed or lost their session.
    """
    return [
        f"{_name(second)}: delivered to {first.member} and again to {second.member}, and neither crashed"
        for first, second in _again(deliveries)
        if first.member not in crashed and second.member not in crashed
    ]


def gone_back(
    deliveries: Iterable[Delivery],
    commits: Iterable[Commit],
    rebalances: Iterable[Rebalance],
    stores: Mapping[str, Collection[str]],
    unfenced: Collection[Rebalance] = (),
) -> list[str]:
    """Return a line for each message that was delivered again though it had been committed.

    What counts is what was committed when the second reader's last rebalance began: Kafka's reads the offsets before it
    claims the partitions, while the owner before may still commit.

    Args:
        deliveries: In any order.
        commits: Each change that was seen, in order.
        rebalances: All members'.
        stores: Where each member looks for committed offsets; of several the largest holds.
        unfenced: Times in which one of Kafka's has lost its session without knowing: it may commit once more how far it
            came before, and takes back what others have committed since. What is delivered then is not looked at.
    """
    seen: dict[tuple[str, Partition], list[Commit]] = defaultdict(list)
    for commit in commits:
        seen[commit.store, commit.partition].append(commit)
    begins: dict[str, list[int]] = defaultdict(list)
    for rebalance in rebalances:
        begins[rebalance.member].append(rebalance.began_ms)
    lines = []
    for first, second in _again(deliveries):
        if any(each.began_ms <= second.at_ms <= each.ended_ms for each in unfenced):
            continue
        looked_ms = max((began for began in begins[second.member] if began <= second.at_ms), default=0)
        for store in stores[second.member]:
            before = [each.offset for each in seen[store, second.partition] if each.at_ms < looked_ms]
            committed = before[-1] if before else 0
            if committed > second.offset:
                lines.append(
                    f"{_name(second)}: delivered to {first.member}, committed up to {committed} in {store}, "
                    f"and again to {second.member}, which looked at {looked_ms}"
                )
    return lines


def _name(delivery: Delivery) -> str:
    topic, partition = delivery.partition
    return f"{topic}-{partition} offset {delivery.offset}"


def _again(deliveries: Iterable[Delivery]) -> list[tuple[Delivery, Delivery]]:
    """Each delivery of a message that had been delivered before, after that one."""
    of_message: dict[tuple[Partition, int], list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda each: each.at_ms):
        of_message[delivery.partition, delivery.offset].append(delivery)
    return [pair for each in of_message.values() for pair in itertools.pairwise(each)]
