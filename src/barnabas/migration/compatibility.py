"""Adapts directories to a Kafka version: finds unsupported contents, removes files of later versions.

    log-start-offset-checkpoint          removed for Kafka before 0.11.0
    cluster.id in meta.properties        removed for Kafka before 2.4; later set to the tree's, replacing a generated id

Older Kafka versions ignore these, but the next `barnabas adopt` would assume a newer version. Kafka since 2.4 does not
start if the tree has another id.

Source: log-format facts, files in a log dir; migration/kafka_versions.py.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.clock import Clock
from barnabas.core.config.versions import OLDEST, KafkaVersion, kafka_version
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.migration.adoption import AdoptionPlan
from barnabas.migration.directories import LOG_START_OFFSETS_FILE, DirectoryFacts
from barnabas.migration.findings import Finding
from barnabas.migration.kafka_versions import (
    CLUSTER_ID_IN_FILES,
    LOG_START_OFFSETS,
    Target,
    check_log_starts,
    check_requested_version,
    check_requirements,
    check_settings,
    find_target,
)
from barnabas.migration.tree_copy import Nodes, TreeCopy
from barnabas.migration.version_requirements import Requirement, find_requirements, newest_requirement
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.cluster import KafkaVersionNode, decode_kafka_version, encode_kafka_version


def choose_target(
    plan: AdoptionPlan, directories: Sequence[DirectoryFacts], tree: TreeCopy | None, told: str | None
) -> None:
    """Set the Kafka version to which the directories will be returned in a plan.

    Args:
        plan: Receives the target and findings about it.
        directories: All of the broker's log.dirs.
        tree: The ZooKeeper tree of the directories, if any.
        told: `--kafka-version`; without it, the oldest version that can have written the directories.

    Raises:
        ConfigError: The version does not exist.
        StorageError: A file can't be read.
    """
    needs = _requirements_of_groups(directories)
    found = find_target(directories, tree.nodes if tree else None, needs)
    plan.target = found if told is None else Target(kafka_version(told), "--kafka-version")
    plan.findings += check_requested_version(plan.target.version, found)


def target_nodes(target: Target) -> Nodes:
    """Return the registry nodes that record a target."""
    return {paths.KAFKA_VERSION: encode_kafka_version(KafkaVersionNode(target.version.name, target.reason))}


def noted_target(registry: Nodes) -> Target | None:
    """Return the target recorded in the registry, if any."""
    noted = decode_kafka_version(registry.get(paths.KAFKA_VERSION))
    return None if noted is None else Target(kafka_version(noted.name), noted.reason)


def check_fit(directories: Sequence[DirectoryFacts], nodes: Nodes, target: KafkaVersion) -> list[Finding]:
    """Find logs and settings that a Kafka version can't read or treats differently.

    Raises:
        StorageError: A file can't be read.
    """
    log_starts: dict[TopicPartition, int] = {}
    for directory in directories:
        log_starts |= LogDirectory(LocalFileSystem(), directory.path).log_start_offsets.read()
    return [
        *check_requirements(_requirements(directories, target), target),
        *check_settings(nodes, target),
        *check_log_starts(log_starts, target),
    ]


def fit(directories: Iterable[Path], target: KafkaVersion, cluster_id: str, clock: Clock) -> None:
    """Remove files and ids that a Kafka version does not have from locked directories.

    Args:
        directories: All of the broker's log.dirs.
        target: The Kafka version.
        cluster_id: Cluster id of its tree.
        clock: For the date in meta.properties.

    Raises:
        StorageError: The disk failed.
    """
    files = LocalFileSystem()
    for path in directories:
        directory = LogDirectory(files, path)
        identity = directory.identity()
        wanted = None if target < CLUSTER_ID_IN_FILES else cluster_id
        if identity is not None and identity.broker_id is not None and identity.cluster_id not in (None, wanted):
            directory.write_identity(identity.broker_id, wanted, clock.now_ms())
        if target < LOG_START_OFFSETS:
            files.remove(path / LOG_START_OFFSETS_FILE)
            files.sync(path)


def _requirements_of_groups(directories: Iterable[DirectoryFacts]) -> list[Requirement]:
    """Return version requirements of `__consumer_offsets`, until one is the highest possible."""
    found: list[Requirement] = []
    for directory in directories:
        for topic_partition, log in directory.logs.items():
            if topic_partition.topic == GROUP_OFFSETS_TOPIC:
                found += find_requirements(topic_partition, log.path, OLDEST).values()
                if any(need.version >= newest_requirement(GROUP_OFFSETS_TOPIC) for need in found):
                    return found
    return found


def _requirements(directories: Iterable[DirectoryFacts], above: KafkaVersion) -> list[Requirement]:
    return [
        need
        for directory in directories
        for topic_partition, log in sorted(directory.logs.items())
        for need in find_requirements(topic_partition, log.path, above).values()
    ]
