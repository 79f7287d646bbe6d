"""`barnabas topics --describe`: partitions, leaders, replicas and settings, with Kafka's filters by state.

Source: cli page, kafka-topics.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.cli.output import print_json, print_table, say
from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_replicas import Reassignment, ReplicaAdmin
from barnabas.clients.pool import PartitionMetadata, TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition


# differs from Kafka (topics-with-overrides): settings of the broker's file do not count as the topic's.
class Filters(NamedTuple):
    """A filter of topics and partitions; at most one field is set, and without one all partitions match."""

    under_replicated: bool = False
    unavailable: bool = False
    under_min_isr: bool = False
    at_min_isr: bool = False
    with_overrides: bool = False

    @property
    def are_of_partitions(self) -> bool:
        return any(self[:4])


class _Described(NamedTuple):
    """A topic with its own settings, its min.insync.replicas, and its reassignments."""

    topic: TopicMetadata
    configs: dict[str, str]
    min_isr: int | None
    moving: dict[int, Reassignment]


async def describe_topics(admin: AdminCalls, found: Sequence[TopicMetadata], filters: Filters, as_json: bool) -> None:
    """Print topics, or the parts of them that match the filters.

    Raises:
        KafkaError: The cluster does not answer, or rejects the request.
    """
    brokers = (await admin.retry(lambda: admin.pool.metadata([]))).brokers
    shown: list[dict[str, object]] = []
    rows: list[list[str | int]] = []
    for index, described in enumerate(await _details(admin, found)):
        wanted = [
            part for part in described.topic.partitions.values() if is_wanted(part, described, filters, set(brokers))
        ]
        if filters.are_of_partitions:
            if wanted and as_json:
                shown.append(_as_dict(described, wanted))
            rows += [[described.topic.name, *_row(part, described)] for part in wanted]
        elif filters.with_overrides and not described.configs:
            continue
        elif as_json:
            shown.append(_as_dict(described, [] if filters.with_overrides else wanted))
        elif filters.with_overrides:
            _print_heading(described)
        else:
            if index:
                say()
            _print_heading(described)
            print_table(_COLUMNS, [_row(part, described) for part in wanted])
    if as_json:
        print_json(shown)
    elif rows:
        print_table(["topic", *_COLUMNS], rows)


def is_wanted(part: PartitionMetadata, described: _Described, filters: Filters, live_brokers: set[int]) -> bool:
    """Return whether a partition matches the filters, by the rules of Kafka's tool."""
    move = described.moving.get(part.partition)
    # Replicas that a reassignment adds may still be catching up.
    replica_count = len(part.replicas) - (len(move.adding) if move else 0)
    has_leader = part.leader_id >= 0
    if filters.under_replicated:
        return len(part.isr) < replica_count
    if filters.unavailable:
        return not has_leader or part.leader_id not in live_brokers
    if filters.under_min_isr:
        return not has_leader or (described.min_isr is not None and len(part.isr) < described.min_isr)
    if filters.at_min_isr:
        return len(part.isr) == described.min_isr
    return True


async def _details(admin: AdminCalls, found: Sequence[TopicMetadata]) -> list[_Described]:
    if not found:
        return []
    resources = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in found]
    entries = await ConfigAdmin(admin.pool, admin.timeout_ms).describe_configs(resources, include_synonyms=False)
    moving: dict[str, dict[int, Reassignment]] = {}
    for partition, move in (await _moves(admin, found)).items():
        moving.setdefault(partition.topic, {})[partition.partition] = move
    described = []
    for topic, resource in zip(found, resources, strict=True):
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG
        configs = {entry.name: entry.value or "" for entry in entries[resource] if entry.source is own}
        (min_isr,) = [entry.value for entry in entries[resource] if entry.name == "min.insync.replicas"] or [None]
        described.append(_Described(topic, configs, int(min_isr) if min_isr else None, moving.get(topic.name, {})))
    return described


async def _moves(admin: AdminCalls, found: Sequence[TopicMetadata]) -> dict[TopicPartition, Reassignment]:
    """Return the reassignments of these topics; none if the broker does not support the request."""
    partitions = [TopicPartition(topic.name, index) for topic in found for index in topic.partitions]
    try:
        return await ReplicaAdmin(admin.pool, admin.timeout_ms).reassignments(partitions)
    except KafkaError as error:
        if error.code in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            return {}
        raise


_COLUMNS = ["partition", "leader", "replicas", "in sync"]


def _print_heading(described: _Described) -> None:
    topic = described.topic
    replicas = _count(_replica_count(described), "replica")
    say(f"Topic {topic.name}: {_count(len(topic.partitions), 'partition')}, {replicas}")
    if described.configs:
        say(f"Settings: {', '.join(f'{name}={value}' for name, value in sorted(described.configs.items()))}")


def _row(part: PartitionMetadata, described: _Described) -> list[str | int]:
    replicas = _ids(part.replicas)
    move = described.moving.get(part.partition)
    if move is not None:
        replicas += f" (adding {_ids(move.adding) or 'none'}, removing {_ids(move.removing) or 'none'})"
    return [part.partition, part.leader_id if part.leader_id >= 0 else "none", replicas, _ids(part.isr)]


def _as_dict(described: _Described, wanted: Sequence[PartitionMetadata]) -> dict[str, object]:
    topic = described.topic
    return {
        "topic": topic.name,
        "partition_count": len(topic.partitions),
        "replication_factor": _replica_count(described),
        "is_internal": topic.is_internal,
        "configs": dict(sorted(described.configs.items())),
        "partitions": [
            {
                "partition": part.partition,
                "leader": part.leader_id if part.leader_id >= 0 else None,
                "replicas": part.replicas,
                "isr": part.isr,
                **_move_as_dict(described.moving.get(part.partition)),
            }
            for part in wanted
        ],
    }


def _move_as_dict(move: Reassignment | None) -> dict[str, object]:
    return {} if move is None else {"adding_replicas": move.adding, "removing_replicas": move.removing}


def _replica_count(described: _Described) -> int:
    """Return the replication factor, without replicas that a reassignment adds."""
    adding = {index: len(move.adding) for index, move in described.moving.items()}
    parts = described.topic.partitions.values()
    return max((len(part.replicas) - adding.get(part.partition, 0) for part in parts), default=0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _ids(ids: list[int]) -> str:
    return ",".join(map(str, ids))
