"""Which Kafka a directory comes from, and why it can't be given to another one."""

from collections.abc import Mapping

import pytest

from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import ConfigError
from barnabas.core.types import TopicPartition
from barnabas.migration.directories import DirectoryFacts
from barnabas.migration.findings import Kind
from barnabas.migration.kafka_versions import (
    NEWEST_KAFKA,
    Target,
    check_log_starts,
    check_requested_version,
    check_requirements,
    check_settings,
    find_target,
    target_of,
)
from barnabas.migration.tree_copy import Nodes
from barnabas.migration.version_requirements import Requirement
from tests.unit.migration.trees import directory, log, texts, topic, tree

OLD = kafka_version("0.10.2")


def old_directory(**changes: object) -> DirectoryFacts:
    """As 0.10.2 leaves one."""
    logs = {"t-0": log("t-0", magics=(1,))}
    logs["t-0"].has_time_index = True
    facts = directory(logs, cluster_id=None)
    for name, value in changes.items():
        setattr(facts, name, value)
    return facts


def found(facts: DirectoryFacts, nodes: Nodes | None = None, *needs: Requirement) -> str:
    return find_target([facts], nodes, needs).version.name


def test_signs_of_the_files() -> None:
    assert found(directory(cluster_id=None)) == "0.9.0"
    assert found(directory({"t-0": log("t-0", magics=(0, 1))}, cluster_id=None)) == "0.10.0-IV0"
    assert found(old_directory()) == "0.10.1-IV0"
    assert found(old_directory(has_log_start_offsets=True)) == "0.11.0-IV0"
    assert found(directory({"t-0": log("t-0", magics=(1, 2))}, cluster_id=None)) == "0.11.0-IV0"
    assert found(directory()) == "2.4-IV0"
    compressed = old_directory()
    compressed.logs[TopicPartition("t", 0)].has_zstd = True
    assert found(compressed) == "2.1-IV0"


def test_signs_of_groups_and_of_the_tree() -> None:
    need = Requirement(kafka_version("2.3-IV0"), TopicPartition("__consumer_offsets", 0), 5, "the metadata of group g")
    target = find_target([old_directory()], None, [need])
    assert target == Target(
        need.version, "__consumer_offsets-0 has the metadata of group g, in the format of that version"
    )
    assert found(directory(cluster_id=None), tree({}).nodes) == "0.10.1-IV0"
    assert found(old_directory(), tree({"/feature": b'{"features":{},"status":1}'}).nodes) == "2.7-IV0"
    assert found(old_directory(), tree({"/feature": b'{"features":{},"status":0}'}).nodes) != "2.7-IV0"


@pytest.mark.parametrize(
    ("settings", "version"),
    [
        ({"message.format.version": "1.0-IV0"}, "1.0-IV0"),
        ({"message.format.version": "9.9"}, "0.10.1-IV0"),
        ({"compression.type": "zstd"}, "2.1-IV0"),
        ({"retention.ms": "5"}, "0.10.1-IV0"),
        # Kafka takes any name from anybody who writes the tree.
        ({"max.compaction.lag.ms": "5"}, "0.10.1-IV0"),
    ],
)
def test_signs_of_settings(settings: Mapping[str, str], version: str) -> None:
    assert found(old_directory(), tree(topic("t", {0: [0]}, settings=settings)).nodes) == version


def test_a_version_that_cannot_have_written_it_is_told() -> None:
    newer = Target(kafka_version("2.4-IV0"), "meta.properties names the cluster")
    told = texts(check_requested_version(OLD, newer), Kind.LIMITED)
    assert told[0] == (
        "Kafka 0.10.2: can't have written these directories (meta.properties names the cluster, which needs 2.4 or "
        "later): `barnabas release` will refuse to return them to it"
    )
    assert "no idempotent producers" in told[1]
    assert "zstd" in told[2]
    assert check_requested_version(kafka_version("2.7"), newer) == []
    assert [finding.text for finding in check_requested_version(kafka_version("1.1"), Target(OLD, ""))] == [
        "can't read zstd: it is refused (UNSUPPORTED_COMPRESSION_TYPE)"
    ]


def test_what_cannot_be_read_names_topic_partition_offset_and_groups() -> None:
    offsets = [TopicPartition("__consumer_offsets", number) for number in range(3)]
    format_2, group_3 = kafka_version("0.11.0-IV0"), kafka_version("2.3-IV0")
    needs = [
        Requirement(format_2, TopicPartition("views", 2), 7, "a batch of format 2"),
        Requirement(format_2, TopicPartition("views", 0), 500, "a batch of format 2"),
        Requirement(format_2, TopicPartition("views", 1), 9, "a batch of format 2"),
        *(
            Requirement(group_3, each, 3, f"the metadata of group g{each.partition}", [f"g{each.partition}"])
            for each in offsets
        ),
    ]
    assert texts(check_requirements(needs, OLD), Kind.BLOCKED) == [
        "__consumer_offsets-0: offset 3 is the metadata of group g0, which Kafka 0.10.2 can't read; so are those of "
        "g0, g1, g2; the same in partitions 0-2: release to 2.3 or later (--kafka-version)",
        "views-0: offset 500 is a batch of format 2, which Kafka 0.10.2 can't read; the same in partitions 0-2: "
        "release to 0.11.0 or later (--kafka-version)",
    ]
    many = Requirement(group_3, offsets[0], 3, "the metadata of group g0", [f"g{number}" for number in range(8)])
    assert "g0, g1, g2, g3, g4 and 3 more" in check_requirements([many], OLD)[0].text
    assert check_requirements([], OLD) == []


def test_settings_that_stop_a_kafka_are_told_from_those_that_it_does_not_know() -> None:
    nodes = {
        **topic("new", {0: [0]}, settings={"message.format.version": "2.7", "compression.type": "zstd"}),
        **topic("odd", {0: [0]}, settings={"max.compaction.lag.ms": "5", "message.downconversion.enable": "true"}),
        **topic("plain", {0: [0]}, settings={"message.format.version": "0.10.0", "retention.ms": "5"}),
    }
    findings = check_settings(nodes, OLD)
    assert texts(findings, Kind.BLOCKED) == [
        "settings of topic new: Kafka 0.10.2 does not start with message.format.version=2.7",
        "settings of topic new: Kafka 0.10.2 does not start with compression.type=zstd",
    ]
    assert texts(findings, Kind.LIMITED) == [
        "settings of topic odd: Kafka 0.10.2 does not support max.compaction.lag.ms, message.downconversion.enable and "
        "ignores it"
    ]
    assert check_settings(nodes, kafka_version("2.7")) == []


def test_deleted_records_that_come_back_are_told() -> None:
    starts = {TopicPartition("t", 0): 7}
    (finding,) = check_log_starts(starts, OLD)
    assert (finding.kind, finding.subject) == (Kind.LIMITED, "t-0")
    assert "begins at offset 7" in finding.text
    assert check_log_starts(starts, kafka_version("0.11.0")) == []


def test_what_is_told_wins_over_what_was_noted() -> None:
    noted = Target(OLD, "noted")
    assert target_of("2.3", noted).version == kafka_version("2.3")
    assert target_of(None, noted) == noted
    assert target_of(None, None) == NEWEST_KAFKA
    with pytest.raises(ConfigError):
        target_of("3.9", noted)
