"""Distributes the replicas of new partitions over the brokers. Pure: the caller passes two random numbers.

With n brokers, replica 0 of partition p is on broker (p + start) mod n. The other replicas follow at a distance that
grows each time p passes a multiple of n, so that no broker's followers are all on the same neighbour. When all brokers
have racks, the list of brokers alternates between racks, and replicas prefer racks that have no replica yet.

Source: semantics, topics and partitions (automatic assignment); KIP-36.
"""

from collections.abc import Mapping, Sequence


def assign(
    racks: Mapping[int, str | None],
    partition_count: int,
    replication_factor: int,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> dict[int, list[int]]:
    """Choose brokers for every new partition.

    Args:
        racks: Live broker ids and their racks; at least `replication_factor` of them.
        partition_count: At least 1.
        replication_factor: At least 1.
        start: Index of the broker that leads partition 0.
        shift: Distance from a leader to its first follower, minus one.
        first_partition: The lowest number of the new partitions.

    Returns:
        Partition to broker ids, the preferred leader first.
    """
    known = {broker_id: rack for broker_id, rack in racks.items() if rack is not None}
    # differs from Kafka (partial-racks): Kafka fails with UNKNOWN_SERVER_ERROR if only some brokers have racks.
    if len(known) == len(racks):
        return _assign_by_rack(known, partition_count, replication_factor, start, shift, first_partition)
    brokers = sorted(racks)
    assignment = {}
    for partition in range(first_partition, first_partition + partition_count):
        partition_shift = shift + _rounds(partition, first_partition, len(brokers))
        first = (partition + start) % len(brokers)
        assignment[partition] = [brokers[first]] + [
            brokers[_index(first, partition_shift + replica, len(brokers))] for replica in range(replication_factor - 1)
        ]
    return assignment


def _rounds(partition: int, first_partition: int, broker_count: int) -> int:
    """Count the multiples of the number of brokers below a partition, without 0."""
    return partition // broker_count - max(first_partition - 1, 0) // broker_count


def _index(first: int, distance: int, broker_count: int) -> int:
    return (first + 1 + distance % (broker_count - 1)) % broker_count


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers in an order that alternates racks as far as possible."""
    by_rack: dict[str, list[int]] = {}
    for broker_id in sorted(racks):
        by_rack.setdefault(racks[broker_id], []).append(broker_id)
    queues = [by_rack[rack] for rack in sorted(by_rack)]
    depth = max(map(len, queues))
    return [queue[level] for level in range(depth) for queue in queues if level < len(queue)]


def _assign_by_rack(
    racks: Mapping[int, str],
    partition_count: int,
    replication_factor: int,
    start: int,
    shift: int,
    first_partition: int,
) -> dict[int, list[int]]:
    brokers = alternate_racks(racks)
    rack_count = len(set(racks.values()))
    assignment = {}
    for partition in range(first_partition, first_partition + partition_count):
        first = (partition + start) % len(brokers)
        distance = (shift + _rounds(partition, first_partition, len(brokers))) * rack_count
        replicas = [brokers[first]]
        while len(replicas) < replication_factor:
            broker = brokers[_index(first, distance, len(brokers))]
            distance += 1
            if broker not in replicas and not _is_rack_used_too_early(broker, replicas, racks, rack_count):
                replicas.append(broker)
        assignment[partition] = replicas
    return assignment


def _is_rack_used_too_early(broker: int, replicas: Sequence[int], racks: Mapping[int, str], rack_count: int) -> bool:
    used = {racks[replica] for replica in replicas}
    return racks[broker] in used and len(used) < rack_count
