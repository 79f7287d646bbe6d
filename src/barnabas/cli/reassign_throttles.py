"""Throttles of a reassignment: set on the brokers that take part and the replicas that move, and cleared at its end.

| setting | entity | value |
| --- | --- | --- |
| leader.replication.throttled.replicas | each topic | `partition:broker` of the present replicas |
| follower.replication.throttled.replicas | each topic | `partition:broker` of the new replicas |
| leader.replication.throttled.rate, follower.replication.throttled.rate | each broker among these | bytes per second |
| replica.alter.log.dirs.io.max.bytes.per.second | each broker whose log directories the file names | bytes per second |

Source: cli page, kafka-reassign-partitions; KIP-73, KIP-113; Kafka 2.7.2, ReassignPartitionsCommand.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from barnabas.cli.reassign_plan import ANY, Plan
from barnabas.clients.admin_configs import (
    ConfigAdmin,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from barnabas.clients.admin_replicas import Reassignment, ReplicaAdmin
from barnabas.core.types import TopicPartition

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
_RATES: Final = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
_REPLICAS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
MOST_RATE: Final = (1 << 63) - 1


class Throttles(NamedTuple):
    """Copy rate limits of new moves, in bytes per second; None to keep the present limit.

    Attributes:
        between_brokers: Limit of each broker for sending, and for receiving.
        between_log_dirs: Limit of each broker for copying between its log directories.
    """

    between_brokers: int | None = None
    between_log_dirs: int | None = None


NO_THROTTLES: Final = Throttles()


class Copying(NamedTuple):
    """The source and target brokers of a partition's copy."""

    sources: Sequence[int]
    targets: Sequence[int]


class Cleared(NamedTuple):
    """The brokers and topics whose throttles were removed."""

    brokers: list[int]
    topics: list[str]


def copying(
    plan: Plan, current: Mapping[TopicPartition, Sequence[int]], ongoing: Mapping[TopicPartition, Reassignment]
) -> dict[TopicPartition, Copying]:
    """Return the source and target brokers of partitions. Includes running moves, which must stay in a topic's list."""
    found = {}
    for partition, move in ongoing.items():
        found[partition] = Copying([each for each in move.replicas if each not in move.adding], move.adding)
    for partition, target in plan.items():
        sources = found[partition].sources if partition in found else current[partition]
        found[partition] = Copying(sources, [each for each in target.replicas if each not in sources])
    return {partition: each for partition, each in sorted(found.items()) if each.targets}


def throttled_replicas(moves: Mapping[TopicPartition, Copying]) -> dict[str, tuple[str, str]]:
    """Return each topic's lists of throttled leaders and followers."""
    lists: dict[str, tuple[list[str], list[str]]] = {}
    for partition, move in moves.items():
        led, followed = lists.setdefault(partition.topic, ([], []))
        led += [f"{partition.partition}:{broker}" for broker in move.sources]
        followed += [f"{partition.partition}:{broker}" for broker in move.targets]
    return {topic: (",".join(led), ",".join(followed)) for topic, (led, followed) in lists.items()}


async def set_throttles(
    admin: ReplicaAdmin,
    plan: Plan,
    current: Mapping[TopicPartition, Sequence[int]],
    throttles: Throttles,
    brokers: Iterable[int],
) -> None:
    """Set the throttles before the moves start.

    Args:
        current: The present replicas of partitions.
        brokers: Live brokers; others can't be throttled.
    """
    changes: dict[ConfigResource, list[ConfigChange]] = {}
    alive = set(brokers)
    if throttles.between_brokers is not None:
        moves = copying(plan, current, await admin.reassignments())
        for topic, lists in throttled_replicas(moves).items():
            named = zip(_REPLICAS, lists, strict=True)
            changes[ConfigResource(ResourceType.TOPIC, topic)] = [_set(name, text) for name, text in named]
        partners = {broker for move in moves.values() for broker in (*move.sources, *move.targets)}
        for broker in sorted(partners & alive):
            rate = str(throttles.between_brokers)
            changes[_broker(broker)] = [_set(LEADER_RATE, rate), _set(FOLLOWER_RATE, rate)]
    if throttles.between_log_dirs is not None:
        moving = {broker for t in plan.values() for broker, path in zip(*t, strict=True) if path != ANY}
        for broker in sorted(moving & alive):
            rate = str(throttles.between_log_dirs)
            changes.setdefault(_broker(broker), []).append(_set(LOG_DIRS_RATE, rate))
    if changes:
        await ConfigAdmin(admin.pool, admin.timeout_ms).alter_configs(changes)


async def clear_throttles(admin: ReplicaAdmin, topics: Iterable[str]) -> Cleared:
    """Remove the throttles of all live brokers and of the topics, because the participants are not recorded."""
    configs = ConfigAdmin(admin.pool, admin.timeout_ms)
    brokers = sorted((await admin.retry(lambda: admin.pool.metadata([]))).brokers)
    resources = [*map(_broker, brokers), *(ConfigResource(ResourceType.TOPIC, topic) for topic in sorted(set(topics)))]
    changes = {}
    for resource, entries in (await configs.describe_configs(resources, include_synonyms=False)).items():
        is_broker = resource.type is ResourceType.BROKER
        own = ConfigSource.DYNAMIC_BROKER_CONFIG if is_broker else ConfigSource.DYNAMIC_TOPIC_CONFIG
        names = _RATES if is_broker else _REPLICAS
        found = [each.name for each in entries if each.name in names and each.source is own]
        if found:
            changes[resource] = [ConfigChange(name, ConfigOperation.DELETE) for name in found]
    if changes:
        await configs.alter_configs(changes)
    return Cleared(
        [int(each.name) for each in changes if each.type is ResourceType.BROKER],
        [each.name for each in changes if each.type is ResourceType.TOPIC],
    )


def _broker(broker: int) -> ConfigResource:
    return ConfigResource(ResourceType.BROKER, str(broker))


def _set(name: str, value: str) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.SET, value)
