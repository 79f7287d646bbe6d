"""Kafka versions that can have written a directory, or can read it. Pure.

No file names the Kafka version that wrote it. The contents show the oldest possible version, and everything is written
for that one, because every later version can read it too. `--kafka-version` overrides this.

| sign | oldest version that leaves it |
| --- | --- |
| messages of format 1, batches of format 2, zstd | 0.10.0, 0.11.0, 2.1 |
| time indexes; a cluster id in the tree | 0.10.1 |
| `log-start-offset-checkpoint` | 0.11.0 |
| values of offsets and groups in `__consumer_offsets` | by their version: 0.10.1, 2.1, 2.3 |
| a cluster id in `meta.properties` | 2.4 |
| `/feature` in the tree | 2.7 |
| a topic's message.format.version, or zstd for its compression.type | that version, 2.1 |

Invariant: a released directory shows no sign of a later version than the one it was written for; such signs are removed
(see `compatibility.fit`).

Source: directories and trees that Kafka 0.10.2.2, 0.11.0.3, 1.1.1, 2.3.1 and 2.7.2 left (tests/compat).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from barnabas.core.config.settings import TOPIC_SETTINGS
from barnabas.core.config.versions import MESSAGE_FORMAT_VERSION, NEWEST, OLDEST, KafkaVersion, kafka_version
from barnabas.core.errors import ConfigError
from barnabas.core.types import TopicPartition
from barnabas.migration.directories import DirectoryFacts
from barnabas.migration.findings import Finding, Kind, ranges
from barnabas.migration.tree_copy import Nodes, children
from barnabas.migration.version_requirements import Requirement, reader_of_batch
from barnabas.wire.records.batch import MAGIC, Codec
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.configs import decode_config

CLUSTER_ID_IN_FILES = kafka_version("2.4-IV0")
"""The first version whose meta.properties names the cluster."""
LOG_START_OFFSETS = kafka_version("0.11.0-IV0")
"""The first version whose logs may begin above their first segment, at the offset in `log-start-offset-checkpoint`."""
_TIME_INDEXES = kafka_version("0.10.1-IV0")
_CLUSTER_IDS = kafka_version("0.10.1-IV0")
_FEATURES = kafka_version("2.7-IV0")
_FEATURES_PATH = "/feature"
_COMPRESSION_TYPE = "compression.type"
_ZSTD = "zstd"

_SETTINGS_SINCE = {
    "message.downconversion.enable": kafka_version("2.0"),
    "max.compaction.lag.ms": kafka_version("2.3"),
}
_MOST_GROUPS = 5


@dataclass(slots=True, frozen=True)
class Target:
    """A Kafka version that must be able to read everything.

    Attributes:
        reason: The sign of the version.
    """

    version: KafkaVersion
    reason: str


NEWEST_KAFKA = Target(NEWEST, "no other version was given")


def find_target(directories: Sequence[DirectoryFacts], tree: Nodes | None, needs: Iterable[Requirement]) -> Target:
    """Return the oldest Kafka version that can have written some directories.

    Args:
        directories: All of the broker's log.dirs.
        tree: The ZooKeeper tree of the directories, if any.
        needs: Requirements of `__consumer_offsets`.
    """
    found = Target(kafka_version("0.9.0"), "no contents need a later version")
    for sign in _signs(directories, tree, needs):
        if sign.version > found.version:
            found = sign
    return found


def _signs(directories: Sequence[DirectoryFacts], tree: Nodes | None, needs: Iterable[Requirement]) -> Iterator[Target]:
    for directory in directories:
        if directory.identity is not None and directory.identity.cluster_id is not None:
            yield Target(CLUSTER_ID_IN_FILES, f"{directory.path}/meta.properties names the cluster")
        if directory.has_log_start_offsets:
            yield Target(LOG_START_OFFSETS, f"{directory.path}/log-start-offset-checkpoint exists")
        for topic_partition, log in directory.logs.items():
            for magic in log.magics:
                yield Target(reader_of_batch(magic, 0), f"{topic_partition} has message format {magic}")
            if log.has_zstd:
                yield Target(reader_of_batch(MAGIC, Codec.ZSTD), f"{topic_partition} is compressed with zstd")
            if log.has_time_index:
                yield Target(_TIME_INDEXES, f"{topic_partition} has a time index")
    for need in needs:
        yield Target(need.version, f"{need.topic_partition} has {need.what}, in the format of that version")
    yield from _signs_of_tree(tree or {})


def _signs_of_tree(tree: Nodes) -> Iterator[Target]:
    if tree.get(paths.CLUSTER_ID) is not None:
        yield Target(_CLUSTER_IDS, f"{paths.CLUSTER_ID} is in the tree")
    # With an inter-broker protocol below 2.7-IV0, the node states that features are disabled.
    if b'"status":1' in (tree.get(_FEATURES_PATH) or b"").replace(b" ", b""):
        yield Target(_FEATURES, f"{_FEATURES_PATH} is in the tree")
    for topic in children(tree, paths.CONFIG_TOPICS):
        for version, text in _settings_that_need(decode_config(tree[paths.topic_config(topic)])):
            yield Target(version, f"topic {topic} has {text}")


def _settings_that_need(settings: Mapping[str, str]) -> Iterator[tuple[KafkaVersion, str]]:
    """Yield values with which older Kafka versions do not start."""
    text = settings.get(MESSAGE_FORMAT_VERSION)
    if text is not None:
        try:
            yield kafka_version(text), f"{MESSAGE_FORMAT_VERSION}={text}"
        except ConfigError:
            # Reported as a limit of this version.
            pass
    if settings.get(_COMPRESSION_TYPE) == _ZSTD:
        yield reader_of_batch(MAGIC, Codec.ZSTD), f"{_COMPRESSION_TYPE}={_ZSTD}"


# --- adopt


def check_requested_version(told: KafkaVersion, found: Target) -> list[Finding]:
    """Return findings about the Kafka version to which an adopted directory will be returned."""
    findings: list[Finding] = []
    subject = f"Kafka {told.short_name}"
    if found.version > told:
        findings.append(
            Finding(
                Kind.LIMITED,
                subject,
                f"can't have written these directories ({found.reason}, which needs {found.version.short_name} or "
                "later): `barnabas release` will refuse to return them to it",
            )
        )
    if told.magic < MAGIC:
        findings.append(
            Finding(
                Kind.LIMITED,
                subject,
                "has no idempotent producers and no record headers: both are refused (UNSUPPORTED_FOR_MESSAGE_FORMAT), "
                "so that it can read everything",
            )
        )
    if not told.has_zstd:
        findings.append(Finding(Kind.LIMITED, subject, "can't read zstd: it is refused (UNSUPPORTED_COMPRESSION_TYPE)"))
    return findings


# --- release


def check_requirements(needs: Iterable[Requirement], target: KafkaVersion) -> list[Finding]:
    """Return a finding for each topic whose logs a Kafka version can't read.

    Args:
        needs: Requirements that the version does not meet.
        target: The Kafka version.
    """
    by_topic: dict[tuple[str, KafkaVersion], list[Requirement]] = {}
    for need in needs:
        by_topic.setdefault((need.topic_partition.topic, need.version), []).append(need)
    return [_unreadable(found, target) for _, found in sorted(by_topic.items())]


def _unreadable(found: list[Requirement], target: KafkaVersion) -> Finding:
    first = min(found, key=lambda need: need.topic_partition)
    text = f"offset {first.offset} is {first.what}, which Kafka {target.short_name} can't read"
    groups = sorted({group for need in found for group in need.groups})
    if len(groups) > 1:
        more = f" and {len(groups) - _MOST_GROUPS} more" if len(groups) > _MOST_GROUPS else ""
        text += f"; so are those of {', '.join(groups[:_MOST_GROUPS])}{more}"
    if len(found) > 1:
        text += f"; the same in partitions {ranges(need.topic_partition.partition for need in found)}"
    text += f": release to {first.version.short_name} or later (--kafka-version)"
    return Finding(Kind.BLOCKED, str(first.topic_partition), text)


def check_settings(nodes: Nodes, target: KafkaVersion) -> list[Finding]:
    """Return findings about topic settings that a Kafka version refuses or ignores."""
    findings: list[Finding] = []
    for topic in children(nodes, paths.CONFIG_TOPICS):
        settings = decode_config(nodes[paths.topic_config(topic)])
        for version, text in _settings_that_need(settings):
            if version > target:
                findings.append(
                    Finding(
                        Kind.BLOCKED,
                        f"settings of topic {topic}",
                        f"Kafka {target.short_name} does not start with {text}",
                    )
                )
        unknown = [name for name in settings if name in TOPIC_SETTINGS and _SETTINGS_SINCE.get(name, OLDEST) > target]
        if unknown:
            findings.append(
                Finding(
                    Kind.LIMITED,
                    f"settings of topic {topic}",
                    f"Kafka {target.short_name} does not support {', '.join(sorted(unknown))} and ignores it",
                )
            )
    return findings


def check_log_starts(log_starts: Mapping[TopicPartition, int], target: KafkaVersion) -> list[Finding]:
    """Return findings about records that DeleteRecords removed but that are still in the files."""
    if target >= LOG_START_OFFSETS:
        return []
    return [
        Finding(
            Kind.LIMITED,
            str(topic_partition),
            f"begins at offset {offset}; Kafka {target.short_name} does not support this, and shows earlier records "
            "that are still on disk",
        )
        for topic_partition, offset in sorted(log_starts.items())
    ]


def target_of(told: str | None, noted: Target | None) -> Target:
    """Return the Kafka version to which a directory is returned.

    Args:
        told: `--kafka-version`.
        noted: The version recorded by `adopt`.

    Raises:
        ConfigError: The version does not exist.
    """
    if told is not None:
        return Target(kafka_version(told), "--kafka-version")
    return noted or NEWEST_KAFKA
