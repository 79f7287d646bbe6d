"""Samples both sides of a group's offsets until the commits of all consumers are known or the time is up.

Source: Kafka 0.8.2, auto.commit.interval.ms.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from barnabas.core.errors import EncodeError
from barnabas.core.types import TopicPartition
from barnabas.migration.offsets.evidence import Commits, Sample, partition_evidence, together
from barnabas.wire.registry.consumer_groups import read_group
from barnabas.wire.registry.store import Registry


class KafkaOffsets(Protocol):
    """Access to the offsets that a group has committed in Kafka."""

    async def committed_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """See `GroupAdmin.committed_offsets`."""
        ...


@dataclass(slots=True)
class Watched:
    """The observations of a group.

    Attributes:
        samples: In the order of time.
        registered: The consumers at the end, with their registration times in ms by their own clocks; None: unknown.
        problems: Data that could not be read at the end.
    """

    samples: list[Sample]
    registered: Mapping[str, int | None]
    problems: list[str]


async def watch(
    registry: Registry,
    kafka: KafkaOffsets,
    group: str,
    *,
    sample_count: int,
    wait: Callable[[], Awaitable[None]],
) -> Watched:
    """Take samples until the commits of all registered consumers are known.

    Args:
        registry: The registry in which the group's consumers are registered.
        kafka: Access to its offsets in Kafka.
        group: Its name.
        sample_count: Maximum number of samples; together they should cover the commit interval.
        wait: Waits between two samples.

    Raises:
        BarnabasError: One of the sides cannot be reached.
    """
    watched = Watched([], {}, [])
    while True:
        found = await read_group(registry, group)
        owners: dict[TopicPartition, str] = {}
        stored = {}
        if found is not None:
            owners = {partition: owner.rpartition("-")[0] for partition, owner in found.owners.items()}
            stored = dict(found.offsets)
            watched.registered = {
                name: None if each is None or each.timestamp_ms < 0 else each.timestamp_ms
                for name, each in found.members.items()
            }
            watched.problems = found.problems
        # Read Kafka after ZooKeeper, because consumers that commit to both commit to Kafka first.
        in_kafka = await _in_kafka(kafka, group, {*owners, *stored})
        watched.samples.append(Sample(owners, stored, in_kafka))
        if len(watched.samples) >= sample_count or _is_conclusive(watched):
            return watched
        await wait()


def _is_conclusive(watched: Watched) -> bool:
    """Return whether more samples would add nothing."""
    if not watched.registered:
        # Unchanged offsets need only a second sample.
        return len(watched.samples) > 1 and watched.samples[-1] == watched.samples[-2]
    found = partition_evidence(watched.samples)
    commits = {name: together(each.commits for each in found if each.owner == name) for name in watched.registered}
    return not {Commits.SILENT, Commits.MIXED} & set(commits.values())


async def _in_kafka(kafka: KafkaOffsets, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    try:
        return await kafka.committed_offsets(group)
    except EncodeError:
        # Brokers before 0.10.2 return only the requested partitions.
        return await kafka.committed_offsets(group, partitions)
