"""`barnabas registry`: shows, changes and moves a cluster's state, between a broker's own registry and a ZooKeeper."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic
from kazoo.client import KazooClient

from barnabas.testing import Broker
from tests import commands
from tests.compat.zookeeper_outages import new_broker
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER
from tools.kafka.zookeeper import ZooKeeper

QUOTA = {"producer_byte_rate": "1048576", "consumer_byte_rate": "2097152"}


def registry(*arguments: object) -> str:
    """What the command prints."""
    result = attempt(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def attempt(*arguments: object) -> subprocess.CompletedProcess[str]:
    return commands.run("registry", *arguments)


def config_tool(connect: str, *arguments: str) -> str:
    result = run_tool("kafka.admin.ConfigCommand", "--zookeeper", connect, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def fill(broker: Broker) -> None:
    """Topics with settings and records, a group with offsets."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topics = [NewTopic("t", 3, 1, config={"retention.ms": "98765432"}), NewTopic("u", 1, 1)]
    for made in admin.create_topics(topics).values():
        made.result()
    for grown in admin.create_partitions([NewPartitions("u", 2)]).values():
        grown.result()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(30):
        producer.produce("t", str(number), partition=number % 3)
    assert producer.flush(PATIENCE_S) == 0
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe(["t"])
    assert len(consumer.consume(30, PATIENCE_S)) == 30
    consumer.commit(asynchronous=False)
    consumer.close()


def seen(broker: Broker) -> dict[str, object]:
    """What clients see of a cluster."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    metadata = admin.list_topics(timeout=PATIENCE_S)
    (configs,) = (
        each.result() for each in admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "t")]).values()
    )
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
    partitions = [TopicPartition("t", number) for number in range(3)]
    committed = [each.offset for each in consumer.committed(partitions, PATIENCE_S)]
    ends = [consumer.get_watermark_offsets(each, PATIENCE_S)[1] for each in partitions]
    consumer.close()
    return {
        "cluster": metadata.cluster_id,
        "topics": {name: len(topic.partitions) for name, topic in metadata.topics.items()},
        "leaders": {each.leader for topic in metadata.topics.values() for each in topic.partitions.values()},
        "retention": configs["retention.ms"].value,
        "committed": committed,
        "ends": ends,
    }


def test_a_cluster_moves_from_the_embedded_registry_to_zookeeper_and_back(connect: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Broker(config=dict(ONE_BROKER), data_dir=data) as broker:
        fill(broker)
        before = seen(broker)
        broker.stop()
        user = json.dumps({"version": 1, "config": {**QUOTA, "SCRAM-SHA-256": "salt=YQ==,stored_key=Yg=="}})
        registry("set", "/config/users/alice", user, "--log-dir", data)
        shared = json.dumps({"version": 1, "config": QUOTA})
        registry("set", "/config/users/alice/clients/<default>", shared, *here(data))
        out = tmp_path / "out.json"
        registry("export", out, *here(data))
        assert out.stat().st_mode & 0o777 == 0o600
    registry("import", out, "--zookeeper", connect)
    assert "0 writes" in attempt("import", out, "--zookeeper", connect).stderr
    (data / "registry.sqlite").rename(tmp_path / "put-away.sqlite")
    with new_broker(connect, data) as broker:
        assert seen(broker) == before
        # Kafka's own tool sees the quotas, and sets one.
        listed = config_tool(connect, "--describe", "--entity-type", "users", "--entity-name", "alice")
        assert "producer_byte_rate=1048576" in listed
        entity = ("--entity-type", "clients", "--entity-name", "c d")
        config_tool(connect, "--alter", "--add-config", "consumer_byte_rate=7", *entity)
        assert "/brokers/ids/0" in registry("ls", "/", "--recursive", "--zookeeper", connect).splitlines()
        refused = attempt("import", out, "--zookeeper", connect)
        assert (refused.returncode, "broker 0 is alive" in refused.stderr) == (1, True)
        broker.stop()
        back = tmp_path / "back.json"
        registry("export", back, "--zookeeper", connect)
    nodes = json.loads(back.read_text())["nodes"]
    assert "/controller" not in nodes
    assert not [path for path in nodes if path.startswith(("/brokers/ids/", "/config/changes/"))]
    registry("import", back, *here(data))
    with Broker(config=dict(ONE_BROKER), data_dir=data) as broker:
        assert seen(broker) == before
        broker.stop()
        assert json.loads(registry("get", "/config/users/alice", *here(data))) == json.loads(user)
        client = json.loads(registry("get", "/config/clients/c%20d", *here(data)))
        assert client["config"] == {"consumer_byte_rate": "7"}
        assert registry("ls", "/config/users/alice/clients", *here(data)) == "<default>\n"


def here(data: Path) -> tuple[str, str]:
    return "--log-dir", str(data)


def test_nodes_are_shown_written_and_deleted(connect: str) -> None:
    there = ("--zookeeper", connect)
    assert "/ does not exist" in attempt("get", "/", *there).stderr
    with kazoo_client(connect.partition("/")[0]) as zookeeper_root:
        zookeeper_root.ensure_path(connect.partition("/")[2])
    registry("set", "/a/b/c", "ä text", *there)
    registry("set", "/a/b/c", "another", *there, "--version", "0")
    assert "another version" in attempt("set", "/a/b/c", "x", *there, "--version", "0").stderr
    assert registry("get", "/a/b/c", *there) == "another\n"
    described = json.loads(registry("get", "/a/b/c", "--json", *there))
    assert (described["data"], described["version"], described["ephemeral_owner"]) == ("another", 1, 0)
    assert registry("ls", *there) == "a\n"
    assert registry("ls", "/", "--recursive", *there).split() == ["/a", "/a/b", "/a/b/c"]
    assert attempt("delete", "/a", *there).returncode == 1
    registry("delete", "/a", "--recursive", *there)
    assert registry("ls", *there) == ""
    for arguments, message in (
        (["ls", "a", *there], "a is not a valid path"),
        (["ls"], "exactly one is required"),
        (["ls", *there, "--log-dir", "x"], "exactly one is required"),
        (["ls", "--log-dir", "nowhere"], "registry.sqlite does not exist"),
        (["watch", "/"], "exactly one is required"),
    ):
        refused = attempt(*arguments)
        assert (refused.returncode, message in refused.stderr) == (1, True), refused.stderr


def test_a_change_is_seen_by_who_watches(zookeeper: ZooKeeper, name: str) -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "registry", "watch", f"/{name}", "--json"]
    watching = subprocess.Popen([*command, "--zookeeper", zookeeper.connect], stdout=subprocess.PIPE, text=True)
    client = KazooClient(zookeeper.connect)
    client.start()
    try:
        assert watching.stdout is not None
        lines = watching.stdout

        def told() -> dict[str, object]:
            found: dict[str, object] = json.loads(lines.readline())
            return found

        assert told() == {"path": f"/{name}", "exists": False, "data": None, "children": []}
        client.create(f"/{name}", b"x")
        assert told() == {"path": f"/{name}", "exists": True, "data": "x", "children": []}
        client.create(f"/{name}/child", b"")
        assert told() == {"path": f"/{name}", "exists": True, "data": "x", "children": ["child"]}
        client.set(f"/{name}", b"y")
        assert told()["data"] == "y"
        watching.send_signal(signal.SIGINT)
        watching.wait(PATIENCE_S)
    finally:
        watching.kill()
        watching.communicate()
        client.stop()
        client.close()
