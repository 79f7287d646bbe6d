"""Proposals for reassignments: replicas of topics spread over brokers as for new topics.

Source: cli page, kafka-reassign-partitions; KIP-36; Kafka 2.7.2, ReassignPartitionsCommand.calculateAssignment.
"""

from collections.abc import Mapping, Sequence

from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.pool import check_topic
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition


async def propose(
    admin: ReplicaAdmin, topics: Sequence[str], brokers: Sequence[int], *, is_rack_aware: bool
) -> tuple[dict[TopicPartition, list[int]], dict[TopicPartition, list[int]]]:
    """Spread the replicas of topics over brokers.

    Args:
        is_rack_aware: Spread a partition's replicas over as many racks as possible; all brokers must have a rack, or
            none.

    Returns:
        The present and the proposed replicas of each partition.

    Raises:
        KafkaError: A topic does not exist, or you may not describe it.
        BarnabasError: A broker does not exist, or there are too few brokers.
    """
    metadata = await admin.retry(lambda: admin.pool.metadata(topics))
    racks = _racks(metadata.racks, brokers, is_rack_aware)
    current, proposed = {}, {}
    for name in topics:
        topic = check_topic(name, metadata.topics.get(name))
        replicas = {index: part.replicas for index, part in sorted(topic.partitions.items())}
        assigned = _assigned(admin, name, replicas, racks)
        current.update({TopicPartition(name, index): each for index, each in replicas.items()})
        proposed.update({TopicPartition(name, index): assigned[index] for index in replicas})
    return current, proposed


def _racks(known: Mapping[int, str | None], brokers: Sequence[int], is_rack_aware: bool) -> dict[int, str | None]:
    unknown = sorted(set(brokers) - known.keys())
    if unknown:
        raise BarnabasError(f"broker {unknown[0]} does not exist: the brokers are {', '.join(map(str, sorted(known)))}")
    racks = {broker: known[broker] if is_rack_aware else None for broker in brokers}
    without = [broker for broker, rack in sorted(racks.items()) if rack is None]
    if is_rack_aware and without and len(without) < len(racks):
        raise BarnabasError(f"broker {without[0]} has no rack but others do: --disable-rack-aware ignores racks")
    return racks


def _assigned(
    admin: ReplicaAdmin, topic: str, replicas: Mapping[int, list[int]], racks: Mapping[int, str | None]
) -> dict[int, list[int]]:
    # Imported late, so that the command starts quickly.
    from barnabas.broker.controller.assignment import assign

    replication_factor = len(next(iter(replicas.values())))
    if replication_factor > len(racks):
        raise BarnabasError(
            f"topic {topic} needs {replication_factor} brokers for its replicas, --broker-list has {len(racks)}"
        )
    dice = admin.pool.env.dice
    start, shift = dice.randrange(len(racks)), dice.randrange(len(racks))
    return assign(racks, max(replicas) + 1, replication_factor, start, shift)
