"""A proposal for a reassignment: topics spread anew over brokers, as new topics are.

Source: cli page, kafka-reassign-partitions; KIP-36; Kafka 2.7.2, ReassignPartitionsCommand.calculateAssignment.
"""

from collections.abc import Mapping, Sequence

from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition


async def propose(
    admin: ReplicaAdmin, topics: Sequence[str], brokers: Sequence[int], *, is_rack_aware: bool
) -> tuple[dict[TopicPartition, list[int]], dict[TopicPartition, list[int]]]:
    """Spread the replicas of topics over brokers.

    Args:
        is_rack_aware: Have a partition's replicas in as many racks as can be; all brokers must say theirs, or none.

    Returns:
        The replicas that each partition has, and those that it might have.

    Raises:
        BarnabasError: A topic or a broker is not there, or there are too few brokers.
    """
    metadata = await admin.retry(lambda: admin.pool.metadata(topics))
    racks = _racks(metadata.racks, brokers, is_rack_aware)
    current, proposed = {}, {}
    for name in topics:
        topic = metadata.topics.get(name)
        if topic is None or topic.error_code:
            raise BarnabasError(f"topic {name} does not exist")
        replicas = {index: part.replicas for index, part in sorted(topic.partitions.items())}
        assigned = _assigned(admin, name, replicas, racks)
        current.update({TopicPartition(name, index): each for index, each in replicas.items()})
        proposed.update({TopicPartition(name, index): assigned[index] for index in replicas})
    return current, proposed


def _racks(known: Mapping[int, str | None], brokers: Sequence[int], is_rack_aware: bool) -> dict[int, str | None]:
    unknown = sorted(set(brokers) - known.keys())
    if unknown:
        raise BarnabasError(f"there is no broker {unknown[0]}; there are {', '.join(map(str, sorted(known)))}")
    racks = {broker: known[broker] if is_rack_aware else None for broker in brokers}
    without = [broker for broker, rack in sorted(racks.items()) if rack is None]
    if is_rack_aware and without and len(without) < len(racks):
        raise BarnabasError(f"broker {without[0]} says no rack and others do: --disable-rack-aware goes by none")
    return racks


def _assigned(
    admin: ReplicaAdmin, topic: str, replicas: Mapping[int, list[int]], racks: Mapping[int, str | None]
) -> dict[int, list[int]]:
    # Not at the top: the command is to start soon.
    from barnabas.broker.controller.assignment import assign

    replication_factor = len(next(iter(replicas.values())))
    if replication_factor > len(racks):
        raise BarnabasError(f"topic {topic} has {replication_factor} replicas, which {len(racks)} brokers can't hold")
    dice = admin.pool.env.dice
    start, shift = dice.randrange(len(racks)), dice.randrange(len(racks))
    return assign(racks, max(replicas) + 1, replication_factor, start, shift)
