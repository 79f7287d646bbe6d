"""Fits directories to the Kafka that they come from or go to: reads what that needs to know, removes what it has not.

    log-start-offset-checkpoint          goes before Kafka 0.11.0
    cluster.id in meta.properties        goes before Kafka 2.4; later it is the tree's, also where `adopt` made one up

The older Kafkas would not mind, but the next `barnabas adopt` would take the directory for a newer one's. Those since
2.4 do not start where the tree says another id.

Source: log-format facts, files in a log dir; migration/kafka_versions.py.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.cli.migration.adoption import AdoptionPlan
from barnabas.cli.migration.directories import LOG_START_OFFSETS_FILE, DirectoryFacts
from barnabas.cli.migration.findings import Finding
from barnabas.cli.migration.kafka_versions import (
    CLUSTER_ID_IN_FILES,
    LOG_START_OFFSETS,
    Target,
    check_log_starts,
    check_requirements,
    check_settings,
    check_told,
    find_target,
)
from barnabas.cli.migration.tree_copy import Nodes, TreeCopy
from barnabas.cli.migration.version_requirements import Requirement, find_requirements, newest_requirement
from barnabas.core.clock import Clock
from barnabas.core.config.versions import OLDEST, KafkaVersion, kafka_version
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.kafka_version import KafkaVersionNode, decode_kafka_version, encode_kafka_version


def choose_target(
    plan: AdoptionPlan, directories: Sequence[DirectoryFacts], tree: TreeCopy | None, told: str | None
) -> None:
    """Write into a plan which Kafka the directories go back to.

    Args:
        plan: It gets the target, and what there is to say about it.
        directories: All of the broker's log.dirs.
        tree: The ZooKeeper tree that goes with them.
        told: `--kafka-version`; without it the oldest that can have written all of this.

    Raises:
        ConfigError: There is no such version.
        StorageError: A file can't be read.
    """
    needs = _requirements_of_groups(directories)
    found = find_target(directories, tree.nodes if tree else None, needs)
    plan.target = found if told is None else Target(kafka_version(told), "--kafka-version")
    plan.findings += check_told(plan.target.version, found)


def target_nodes(target: Target) -> Nodes:
    """Return the nodes that the registry keeps of a target."""
    return {paths.KAFKA_VERSION: encode_kafka_version(KafkaVersionNode(target.version.name, target.reason))}


def noted_target(registry: Nodes) -> Target | None:
    """Return the target that the registry kept; None: nothing."""
    noted = decode_kafka_version(registry.get(paths.KAFKA_VERSION))
    return None if noted is None else Target(kafka_version(noted.name), noted.reason)


def check_fit(directories: Sequence[DirectoryFacts], nodes: Nodes, target: KafkaVersion) -> list[Finding]:
    """Find what a Kafka can't read of directories and settings, or makes something else of.

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
    """Remove what a Kafka does not have from directories that are locked and become its own.

    Args:
        directories: All of the broker's log.dirs.
        target: The Kafka.
        cluster_id: As its tree says.
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
    """The needs of `__consumer_offsets`, until one is found that no other can be above."""
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
