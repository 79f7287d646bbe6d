"""The assignment in a reassignment file, and the present assignment in the same form.

Source: cli page, kafka-reassign-partitions.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from barnabas.cli.partition_files import is_number, read_partitions
from barnabas.clients.admin_replicas import ReplicaAdmin, ReplicaLog
from barnabas.clients.pool import check_topic
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

ANY = "any"


class Target(NamedTuple):
    """The target replicas of a partition: brokers, and for each a log directory or `ANY`."""

    replicas: list[int]
    log_dirs: list[str]


class ReplicaLocation(NamedTuple):
    """A replica on a broker, and its log there."""

    broker: int
    directory: str
    log: ReplicaLog


Plan: TypeAlias = Mapping[TopicPartition, Target]


def read_plan(path: str) -> dict[TopicPartition, Target]:
    """Read a reassignment file. Raises BarnabasError."""
    plan = {}
    for partition, entry in read_partitions(path).items():
        replicas = entry.get("replicas")
        if not isinstance(replicas, list) or not replicas or not all(is_number(each) for each in replicas):
            raise BarnabasError(f"{path}: replicas of {partition} must be a list of broker ids")
        if len(set(replicas)) < len(replicas):
            raise BarnabasError(f"{path}: {partition} names a broker twice among its replicas")
        log_dirs = entry.get("log_dirs", [ANY] * len(replicas))
        if not isinstance(log_dirs, list) or not all(isinstance(each, str) for each in log_dirs):
            raise BarnabasError(f"{path}: log_dirs of {partition} must be a list of paths")
        if len(log_dirs) != len(replicas):
            raise BarnabasError(
                f"{path}: {partition} has {len(replicas)} replicas and {len(log_dirs)} log_dirs; the numbers must be "
                "equal"
            )
        plan[partition] = Target(replicas, log_dirs)
    return dict(sorted(plan.items()))


async def current_plan(admin: ReplicaAdmin, partitions: Iterable[TopicPartition]) -> dict[str, object]:
    """Return the present assignment of partitions, as a file that restores it.

    Raises:
        KafkaError: A partition does not exist.
    """
    return as_plan(await current_replicas(admin, partitions))


def as_plan(replicas: Mapping[TopicPartition, list[int]]) -> dict[str, object]:
    """Return a reassignment file for partitions on these brokers, in any of their log directories."""
    entries = [
        {**_name(partition), "replicas": ids, "log_dirs": [ANY] * len(ids)} for partition, ids in replicas.items()
    ]
    return {"version": 1, "partitions": entries}


async def current_replicas(
    admin: ReplicaAdmin, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, list[int]]:
    """Return the present replicas of partitions. Raises KafkaError if a partition does not exist."""
    wanted = sorted(partitions)
    topics = sorted({partition.topic for partition in wanted})
    known = (await admin.retry(lambda: admin.pool.metadata(topics))).topics
    found = {}
    for partition in wanted:
        topic = check_topic(partition.topic, known.get(partition.topic))
        if partition.partition not in topic.partitions:
            raise BarnabasError(f"partition {partition.partition} of topic {partition.topic} does not exist")
        found[partition] = topic.partitions[partition.partition].replicas
    return found


async def current_locations(
    admin: ReplicaAdmin, partitions: Iterable[TopicPartition], brokers: Iterable[int]
) -> list[ReplicaLocation]:
    """Return the logs of partitions on brokers, including future ones. Raises KafkaError if a broker is missing."""
    wanted = set(partitions)
    return [
        ReplicaLocation(broker, directory.path, log)
        for broker, directories in (await admin.log_dirs(sorted(set(brokers)))).items()
        for directory in directories
        for log in directory.logs
        if log.partition in wanted
    ]


def _name(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}
