"""The runbook's way where the ZooKeeper tree is lost: in without it, and out to another one, for each Kafka.

The judge is the Kafka that wrote the directory: on the fresh tree all topics, records, settings and committed offsets
must be there, and its DumpLogSegments must find nothing wrong. `tests/compat/figures.py` says what is printed.
"""

from pathlib import Path

import pytest

from barnabas.core.config.versions import kafka_version
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.configs import decode_config
from tests.compat import test_old_kafka as old_kafka
from tests.compat.conftest import RunningBroker
from tests.compat.figures import Tell
from tests.compat.kafka_versions import NEWEST
from tests.compat.test_handover import (
    barnabas,
    commit,
    committed,
    create,
    set_quota,
    settings_of,
    topics_of,
    tree_of,
    wait_for_topics,
)
from tests.compat.test_old_kafka import (
    SMALL_SEGMENTS,
    StartBarnabas,
    StartOldKafka,
    all_committed,
    check_files,
    codecs_of,
    effective_version,
    ends,
    errors_of,
    go_on_in_group,
    magics,
    produce,
    read_all,
)

start_kafka, start_barnabas = old_kafka.start_kafka, old_kafka.start_barnabas

FOUND = {**old_kafka.FOUND, NEWEST: "2.4-IV0"}
"""What `adopt` finds out from the directory alone."""


def goes_on(broker: RunningBroker, topics: list[str], label: str, *, is_idempotent: bool) -> None:
    """Let a broker append to every topic: no offset is given out twice, and none is left out."""
    for topic, offsets in ends(read_all(broker, topics)).items():
        end = max(offsets) + 1
        appended = produce(broker, topic, label, is_idempotent=is_idempotent)
        assert appended == list(range(end, end + 120)), topic


# The tests below show the way in, and out to the tree that turns up again; test_old_kafka.py out to a fresh one.
@pytest.mark.whole
@pytest.mark.parametrize(
    ("version", "end", "is_told_to"),
    [
        ("0.10.2.2", "stop", "adopt"),
        ("0.11.0.3", "kill", None),
        ("1.1.1", "stop", "release"),
        ("2.3.1", "kill", "adopt"),
        (NEWEST, "stop", None),
        (NEWEST, "kill", "release"),
    ],
)
def test_a_directory_whose_tree_is_lost(
    tmp_path: Path,
    connect: str,
    start_kafka: StartOldKafka,
    start_barnabas: StartBarnabas,
    tell: Tell,
    version: str,
    end: str,
    is_told_to: str | None,
) -> None:
    data_dir = tmp_path / "data"
    own = kafka_version(version)
    topics, is_idempotent = codecs_of(own), own.magic == 2
    counts = {**dict.fromkeys(topics, 1), "none": 3, "__consumer_offsets": 2}
    groups = {"members": "gzip", "by-hand": "none"}
    kafka = start_kafka(version, "/lost")
    for topic in topics:
        create(kafka, topic, counts[topic], SMALL_SEGMENTS)
        produce(kafka, topic, "kafka", is_idempotent=is_idempotent)
    assert go_on_in_group(kafka, "members", "gzip", 50) == list(range(50))
    commit(kafka, "by-hand", "none", 17)
    written, before = read_all(kafka, topics), all_committed(kafka, groups)
    tell("Kafka, at first", ends(written), before)
    getattr(kafka, end)()

    # In, from the directory alone.
    told = ["--kafka-version", version]
    plan = barnabas("adopt", data_dir, *(told if is_told_to == "adopt" else []), "--execute")
    assert plan["kafka_version"] == (own.name if is_told_to == "adopt" else FOUND[version])
    assert {each["topic"]: each["partition_count"] for each in plan["topics"]} == counts
    broker = start_barnabas()
    assert effective_version(broker) == plan["kafka_version"]
    assert topics_of(broker) == counts
    assert read_all(broker, topics) == written
    assert all_committed(broker, groups) == before
    tell("Barnabas, adopted", ends(read_all(broker, topics)), all_committed(broker, groups))
    goes_on(broker, topics, "barnabas", is_idempotent=is_idempotent)
    assert go_on_in_group(broker, "members", "gzip", 50) == list(range(50, 100))
    assert go_on_in_group(broker, "new-members", "gzip", 30) == list(range(30))
    commit(broker, "by-hand", "none", 18)
    create(broker, "new-here", 2, {"retention.ms": "987654321"})
    produce(broker, "new-here", "barnabas", is_idempotent=is_idempotent)
    commit(broker, "by-hand-too", "new-here", 77)
    topics.append("new-here")
    counts["new-here"] = 2
    groups |= {"new-members": "gzip", "by-hand-too": "new-here"}
    written, before = read_all(broker, topics), all_committed(broker, groups)
    assert {topic: len(records) for topic, records in written.items()} == {
        **dict.fromkeys(topics, 240),
        "new-here": 120,
    }
    tell("Barnabas, at last", ends(written), before)
    getattr(broker, end)()

    # Out, to a chroot that is not there yet.
    fresh = f"{connect}/fresh/chroot"
    options = ["--zookeeper", fresh, *(told if is_told_to == "release" else [])]
    barnabas("release", data_dir, *options)
    assert (data_dir / REGISTRY_FILE).exists()
    released = barnabas("release", data_dir, *options, "--execute")
    assert {each["topic"]: len(each["partitions"]) for each in released["tree"]["topics"]} == counts
    assert not (data_dir / REGISTRY_FILE).exists()
    kafka = start_kafka(version, "/fresh/chroot")
    wait_for_topics(kafka, *counts)
    assert topics_of(kafka) == counts
    assert read_all(kafka, topics) == written
    assert all_committed(kafka, groups) == before
    tell("Kafka, released", ends(read_all(kafka, topics)), all_committed(kafka, groups))
    settings = {topic: decode_config(tree_of(fresh).nodes[paths.topic_config(topic)]) for topic in ("none", "new-here")}
    assert settings == {
        "none": {"retention.ms": "-1", "retention.bytes": "-1"},
        "new-here": {"retention.ms": "987654321"},
    }
    goes_on(kafka, topics, "again", is_idempotent=is_idempotent)
    assert go_on_in_group(kafka, "members", "gzip", 50) == list(range(100, 150))
    assert go_on_in_group(kafka, "new-members", "gzip", 30) == list(range(30, 60))
    again = read_all(kafka, topics)
    assert all(again[topic].items() >= written[topic].items() for topic in topics)
    assert {len(again[topic]) - len(written[topic]) for topic in topics} == {120}
    tell("Kafka, at last", ends(again), all_committed(kafka, groups))
    kafka.stop()
    assert errors_of(kafka) == []
    check_files(data_dir, version)
    assert magics(data_dir) == {own.magic}


@pytest.mark.parametrize(
    ("version", "goes_to"), [pytest.param("2.3.1", "2.3.1", marks=pytest.mark.whole), ("1.1.1", NEWEST)]
)
def test_a_tree_that_turns_up_again(
    tmp_path: Path,
    connect: str,
    start_kafka: StartOldKafka,
    start_barnabas: StartBarnabas,
    tell: Tell,
    version: str,
    goes_to: str,
) -> None:
    """Kafka before 2.4 leaves its cluster's id to the tree: without that `adopt` has to make one up."""
    data_dir, lost = tmp_path / "data", f"{connect}/lost"
    kafka = start_kafka(version, "/lost")
    create(kafka, "none", 3, SMALL_SEGMENTS)
    produce(kafka, "none", "kafka", is_idempotent=True)
    commit(kafka, "by-hand", "none", 17)
    written = read_all(kafka, ["none"])
    kafka.stop()
    adopted = barnabas("adopt", data_dir, "--execute")
    assert f"its new cluster id is {adopted['cluster_id']}" in str(adopted["findings"])
    # Topics by their names, settings lost.
    assert {each["topic"]: each["partition_count"] for each in adopted["topics"]} == {
        "none": 3,
        "__consumer_offsets": 2,
    }
    broker = start_barnabas()
    assert read_all(broker, ["none"]) == written
    assert committed(broker, "by-hand", "none") == 17
    assert settings_of(broker, "none")["retention.ms"] == "-1"
    goes_on(broker, ["none"], "barnabas", is_idempotent=True)
    create(broker, "gzip")
    produce(broker, "gzip", "barnabas", is_idempotent=True)
    commit(broker, "by-hand", "none", 18)
    written = read_all(broker, ["none", "gzip"])
    tell("Barnabas, at last", ends(written), all_committed(broker, {"by-hand": "none"}))
    broker.stop()

    options = ["--zookeeper", lost, "--kafka-version", goes_to, "--execute"]
    tree = tree_of(lost).nodes
    refused = barnabas("release", data_dir, *options, is_refused=True)
    (name,) = [each["text"].rpartition("--cluster-id ")[2] for each in refused["findings"] if each["kind"] == "blocked"]
    assert name in (tree[paths.CLUSTER_ID] or b"").decode()
    barnabas("release", data_dir, *options, "--cluster-id", adopted["cluster_id"], is_refused=True)
    assert tree_of(lost).nodes == tree
    released = barnabas("release", data_dir, *options, "--cluster-id", name)
    assert released["cluster_id"] == released["tree"]["cluster_id"] == name

    kafka = start_kafka(goes_to, "/lost")
    wait_for_topics(kafka, "none", "gzip", "__consumer_offsets")
    assert tree_of(lost).nodes[paths.CLUSTER_ID] == tree[paths.CLUSTER_ID]
    assert decode_config(tree_of(lost).nodes[paths.topic_config("none")]) == SMALL_SEGMENTS
    assert read_all(kafka, ["none", "gzip"]) == written
    assert committed(kafka, "by-hand", "none") == 18
    assert settings_of(kafka, "none")["retention.ms"] != "-1"
    goes_on(kafka, ["none", "gzip"], "again", is_idempotent=True)
    again = read_all(kafka, ["none", "gzip"])
    tell("Kafka, at last", ends(again), all_committed(kafka, {"by-hand": "none"}))
    kafka.stop()
    assert errors_of(kafka) == []
    check_files(data_dir, goes_to)


def test_a_tree_that_was_adopted_and_is_lost_then(
    tmp_path: Path, connect: str, start_kafka: StartOldKafka, start_barnabas: StartBarnabas
) -> None:
    data_dir, adopted, other = tmp_path / "data", f"{connect}/adopted", f"{connect}/other"
    kafka = start_kafka(NEWEST, "/adopted")
    create(kafka, "none", 3, SMALL_SEGMENTS)
    produce(kafka, "none", "kafka", is_idempotent=True)
    commit(kafka, "by-hand", "none", 17)
    set_quota(kafka)
    written = read_all(kafka, ["none"])
    kafka.stop()
    assert barnabas("adopt", data_dir, "--zookeeper", adopted, "--execute")["executed"]
    released = barnabas("release", data_dir, "--zookeeper", other, "--execute")
    assert {each["topic"]: len(each["partitions"]) for each in released["tree"]["topics"]} == {
        "__consumer_offsets": 2,
        "none": 3,
    }
    assert "is not the tree that was adopted" in str(released["findings"])
    assert decode_config(tree_of(other).nodes["/config/users/a%20b"]) == {"producer_byte_rate": "1000000"}
    kafka = start_kafka(NEWEST, "/other")
    wait_for_topics(kafka, "none", "__consumer_offsets")
    assert read_all(kafka, ["none"]) == written
    assert committed(kafka, "by-hand", "none") == 17
    kafka.stop()
    assert errors_of(kafka) == []
