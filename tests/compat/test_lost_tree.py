"""The runbook's way where the ZooKeeper tree is lost: in without it, and out to a tree that knows nothing.

The judge is Kafka's broker on the fresh tree: all topics, records, settings and committed offsets must be there.
"""

from pathlib import Path

import pytest

from barnabas.migration.directories import REGISTRY_FILE
from barnabas.registry.znodes.configs import decode_config
from tests.compat import test_handover as handover
from tests.compat.kafka_versions import KAFKA_VERSIONS
from tests.compat.test_handover import (
    StartBarnabas,
    StartKafka,
    barnabas,
    check_files,
    commit,
    committed,
    create,
    produce,
    read_each,
    settings_of,
    topics_of,
    tree_of,
    wait_for_topics,
)
from tools.kafka.java import run_tool
from tools.kafka.zookeeper import ZooKeeper

start_barnabas, start_kafka, zookeeper = handover.start_barnabas, handover.start_kafka, handover.zookeeper

OLD = ("v2-plain", "v2-gzip")
TOPICS = {"v2-plain": 3, "v2-gzip": 1, "new-here": 2, "__consumer_offsets": 3}


@pytest.mark.parametrize("version", KAFKA_VERSIONS)
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_directory_whose_tree_is_lost(
    tmp_path: Path,
    zookeeper: ZooKeeper,
    start_kafka: StartKafka,
    start_barnabas: StartBarnabas,
    end: str,
    version: str,
) -> None:
    data_dir = tmp_path / "data"
    kafka = start_kafka(data_dir, f"{zookeeper.connect}/lost", version=version)
    for topic in OLD:
        create(kafka, topic, TOPICS[topic], {"segment.bytes": "30000"})
        produce(kafka, topic, "kafka", topic.partition("-")[2].replace("plain", "none"))
    commit(kafka, "readers", "v2-plain", 123)
    written = read_each(kafka, OLD)
    getattr(kafka, end)()

    # In, from the directory alone.
    assert barnabas("adopt", data_dir, "--execute")["executed"]
    broker = start_barnabas(data_dir)
    assert read_each(broker, OLD) == written
    assert committed(broker, "readers", "v2-plain") == 123
    produce(broker, "v2-plain", "barnabas")
    create(broker, "new-here", 2, {"retention.ms": "987654321"})
    produce(broker, "new-here", "barnabas", "lz4")
    commit(broker, "readers", "v2-plain", 456)
    commit(broker, "new-readers", "new-here", 77)
    written = read_each(broker, [*OLD, "new-here"])
    assert [len(records) for records in written.values()] == [1000, 500, 500]
    getattr(broker, end)()

    # Out, to a chroot that is not there yet.
    fresh = f"{zookeeper.connect}/fresh/chroot"
    barnabas("release", data_dir, "--zookeeper", fresh)
    assert (data_dir / REGISTRY_FILE).exists()
    released = barnabas("release", data_dir, "--zookeeper", fresh, "--execute")
    assert {each["topic"]: len(each["partitions"]) for each in released["tree"]["topics"]} == TOPICS
    assert not (data_dir / REGISTRY_FILE).exists()
    kafka = start_kafka(data_dir, fresh, version=version)
    wait_for_topics(kafka, *TOPICS)
    assert topics_of(kafka) == TOPICS
    assert read_each(kafka, [*OLD, "new-here"]) == written
    assert committed(kafka, "readers", "v2-plain") == 456
    assert committed(kafka, "new-readers", "new-here") == 77
    assert settings_of(kafka, "v2-plain")["retention.ms"] == "-1"
    assert settings_of(kafka, "new-here")["retention.ms"] == "987654321"
    produce(kafka, "v2-plain", "kafka again")
    written["v2-plain"] = read_each(kafka, ["v2-plain"])["v2-plain"]
    assert len(written["v2-plain"]) == 1500
    quota = ["--alter", "--add-config", "producer_byte_rate=1000000", "--entity-type", "users", "--entity-name", "a b"]
    assert run_tool("kafka.admin.ConfigCommand", "--zookeeper", fresh, *quota).returncode == 0
    kafka.stop()
    assert "ERROR" not in kafka.log_text()
    check_files(data_dir)

    # In with that tree, which is lost meanwhile; out to another one.
    assert barnabas("adopt", data_dir, "--zookeeper", fresh, "--execute")["executed"]
    other = f"{zookeeper.connect}/other"
    released = barnabas("release", data_dir, "--zookeeper", other, "--execute")
    assert {each["topic"]: len(each["partitions"]) for each in released["tree"]["topics"]} == TOPICS
    assert "is not the tree that was adopted" in str(released["findings"])
    assert decode_config(tree_of(other).nodes["/config/users/a%20b"]) == {"producer_byte_rate": "1000000"}
    kafka = start_kafka(data_dir, other, version=version)
    wait_for_topics(kafka, *TOPICS)
    assert read_each(kafka, [*OLD, "new-here"]) == written
    assert committed(kafka, "readers", "v2-plain") == 456
    kafka.stop()
    assert "ERROR" not in kafka.log_text()
