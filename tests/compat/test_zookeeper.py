"""A broker whose cluster keeps its state in a real ZooKeeper, beside Kafka's own tools that write there too."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from barnabas.testing import Broker
from tests.compat.zookeeper_outages import TRIALS, new_broker
from tests.patience import PATIENCE_S, until
from tools.kafka.java import run_tool
from tools.kafka.zookeeper import ZooKeeper


@pytest.fixture
def chroot(zookeeper: ZooKeeper, name: str) -> str:
    """A tree of the test's own, which is not there yet."""
    return f"{zookeeper.connect}/clusters/{name}"


@pytest.fixture
def tree(zookeeper: ZooKeeper, name: str) -> Iterator[KazooClient]:
    client = KazooClient(f"{zookeeper.connect}/clusters/{name}")
    client.start_async()
    client._live.wait(PATIENCE_S)
    yield client
    client.stop()
    client.close()


def tool(name: str, chroot: str, *arguments: str) -> str:
    """What one of Kafka's tools prints."""
    result = run_tool(f"kafka.admin.{name}", "--zookeeper", chroot, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_tree_is_kafkas(chroot: str, tree: KazooClient) -> None:
    with new_broker(chroot) as broker:
        data, stat = tree.get("/brokers/ids/0")
        assert stat.version == 1
        assert stat.ephemeralOwner
        assert json.loads(data)["endpoints"] == [f"PLAINTEXT://{broker.bootstrap_servers}"]
        assert json.loads(tree.get("/controller")[0])["brokerid"] == 0
        assert tree.get("/controller_epoch")[0] == b"1"
        assert json.loads(tree.get("/cluster/id")[0])["id"] == broker.cluster_id
        assert not (broker.data_dir / "registry.sqlite").exists()
        broker.restart()
        assert tree.get("/controller_epoch")[0] == b"2"
        assert tree.get("/brokers/ids/0")[1].czxid > stat.czxid
        broker.stop()
        assert not tree.exists("/brokers/ids/0")


def test_kafkas_own_tools_make_change_and_delete_topics_through_zookeeper(chroot: str) -> None:
    with new_broker(chroot) as broker:
        arguments = ("--create", "--topic", "t", "--partitions", "2", "--replication-factor", "1")
        tool("TopicCommand", chroot, *arguments, "--config", "retention.ms=5000000")
        until(lambda: partition_count(broker, "t") == 2)
        assert "retention.ms=5000000" in tool("TopicCommand", chroot, "--describe", "--topic", "t")
        tool("TopicCommand", chroot, "--alter", "--topic", "t", "--partitions", "3")
        until(lambda: partition_count(broker, "t") == 3)
        tool(
            "ConfigCommand",
            chroot,
            "--alter",
            "--add-config",
            "retention.ms=6000000",
            "--entity-type",
            "topics",
            "--entity-name",
            "t",
        )
        until(lambda: setting(broker, "t", "retention.ms") == "6000000")
        tool("TopicCommand", chroot, "--delete", "--topic", "t")
        until(lambda: partition_count(broker, "t") == 0)
        assert "t" not in tool("TopicCommand", chroot, "--list").splitlines()


def test_kafkas_old_tools_ask_for_elections_and_reassignments_by_nodes(
    chroot: str, tree: KazooClient, tmp_path: Path
) -> None:
    with new_broker(chroot) as broker:
        tool("TopicCommand", chroot, *("--create", "--topic", "t", "--partitions", "2", "--replication-factor", "1"))
        until(lambda: partition_count(broker, "t") == 2)
        plan = tmp_path / "plan.json"
        plan.write_text('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[0]}]}')
        started = tool("ReassignPartitionsCommand", chroot, "--execute", "--reassignment-json-file", str(plan))
        assert "Successfully started partition reassignment" in started
        until(lambda: not tree.exists("/admin/reassign_partitions"))
        told = tool("ReassignPartitionsCommand", chroot, "--verify", "--reassignment-json-file", str(plan))
        assert "Reassignment of partition t-0 is complete" in told
        tool("PreferredReplicaLeaderElectionCommand", chroot)
        until(lambda: not tree.exists("/admin/preferred_replica_election"))


# Clusters under load show this and a pause that outlasts a session, too: tests/integration/test_cluster.py.
@pytest.mark.whole
def test_a_broker_that_was_killed_comes_back(chroot: str, tree: KazooClient) -> None:
    with new_broker(chroot) as broker:
        before = tree.get("/brokers/ids/0")[1]
        broker.kill()
        broker.restart()
        after = tree.get("/brokers/ids/0")[1]
        assert after.czxid > before.czxid
        assert after.ephemeralOwner != before.ephemeralOwner


def test_beside_another_broker_one_that_comes_later_is_a_member(chroot: str, tmp_path: Path) -> None:
    with new_broker(chroot) as broker, new_broker(chroot, tmp_path / "other", {"broker.id": "7"}):
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        until(lambda: set(admin.list_topics(timeout=PATIENCE_S).brokers) == {0, 7})


@pytest.mark.whole
def test_a_broker_that_slept_longer_than_its_session_is_registered_again(chroot: str, tree: KazooClient) -> None:
    with new_broker(chroot) as broker:
        before = tree.get("/brokers/ids/0")[1]
        os.kill(broker.pid, signal.SIGSTOP)
        until(lambda: not tree.exists("/brokers/ids/0"))
        os.kill(broker.pid, signal.SIGCONT)
        until(lambda: tree.exists("/brokers/ids/0") and tree.exists("/controller"))
        assert tree.get("/brokers/ids/0")[1].czxid > before.czxid
        tool("TopicCommand", chroot, *("--create", "--topic", "t", "--partitions", "1", "--replication-factor", "1"))
        until(lambda: partition_count(broker, "t") == 1)


@pytest.mark.parametrize("trial", ["stopped", pytest.param("killed", marks=pytest.mark.whole), "expired"])
def test_without_zookeeper_records_go_on_and_what_was_asked_for_is_done_when_it_is_back(
    trial: str, tmp_path: Path
) -> None:
    # Longer than the session lives.
    outcome = TRIALS[trial](tmp_path, 3)
    assert outcome.wrong == []
    assert (outcome.epochs[0] < outcome.epochs[1]) == (outcome.session_ids[0] != outcome.session_ids[1])
    if trial == "expired":
        assert outcome.epochs[0] < outcome.epochs[1]


def test_a_limit_is_in_force_however_it_is_written(chroot: str, tree: KazooClient) -> None:
    limits = {
        "clients/limited": ("--entity-type", "clients", "--entity-name", "limited"),
        "clients/<default>": ("--entity-type", "clients", "--entity-default"),
        "users/ANONYMOUS/clients/limited": (
            *("--entity-type", "users", "--entity-name", "ANONYMOUS"),
            *("--entity-type", "clients", "--entity-name", "limited"),
        ),
    }
    bare = b'{"version":1,"config":{"producer_byte_rate":"4000"}}'
    # A short window: it has to pass before a client is free again.
    with new_broker(chroot, config={"quota.window.num": "2"}) as broker:
        assert not throttle_ms(broker, seconds=0)
        for entity, words in limits.items():
            tree.ensure_path(f"/config/{entity}")
            for write in (
                lambda entity=entity: tree.set(f"/config/{entity}", bare),
                lambda words=words: tool(
                    "ConfigCommand", chroot, "--alter", "--add-config", "producer_byte_rate=4000", *words
                ),
            ):
                write()
                assert throttle_ms(broker, seconds=PATIENCE_S)
                tree.set(f"/config/{entity}", b'{"version":1,"config":{}}')
                until(lambda: not throttle_ms(broker, seconds=0))


def throttle_ms(broker: Broker, seconds: float) -> float:
    """How long a producer was told to wait, as soon as it is; 0 where it is not in so many seconds."""
    told: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "client.id": "limited",
            "throttle_cb": lambda event: told.append(event.throttle_time),
        }
    )
    deadline_s = time.monotonic() + seconds
    while not told:
        producer.produce("t", bytes(5_000))
        assert producer.flush(PATIENCE_S) == 0
        if time.monotonic() >= deadline_s:
            break
    producer.poll(0)
    return max(told, default=0.0)


def partition_count(broker: Broker, topic: str) -> int:
    metadata = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=PATIENCE_S)
    found = metadata.topics.get(topic)
    return 0 if found is None else sum(each.leader == 0 for each in found.partitions.values())


def setting(broker: Broker, topic: str, name: str) -> str | None:
    from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
    from tests.compat.raw import ask

    request = DescribeConfigsRequest([DescribeConfigsResource(2, topic, [name])])
    value: str | None = ask(broker.bootstrap_servers, request, 2).results[0].configs[0].value
    return value
