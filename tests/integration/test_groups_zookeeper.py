"""`barnabas groups --zookeeper`: groups that live in the registry, as a broker serves it to ZooKeeper's clients."""

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker, ReceivedRequest
from barnabas.wire.protocol.messages.metadata import MetadataResponse
from tests import commands
from tests.clusters import registry_broker
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client

SUBSCRIPTION = b'{"version":1,"subscription":{"clicks":1},"pattern":"static","timestamp":"1795218488346"}'


class Cluster:
    """A broker with its registry, and a client of ZooKeeper's that plays the consumers."""

    def __init__(self, broker: Broker, zookeeper: str, client: KazooClient) -> None:
        self.broker, self.zookeeper, self.client = broker, zookeeper, client

    def groups(self, *arguments: str, fails: bool = False) -> str:
        """Run the command; what it printed, or what it complained of."""
        result = commands.run("groups", "--zookeeper", self.zookeeper, *arguments)
        assert result.returncode == fails, result.stderr
        return result.stderr if fails else result.stdout

    def rows(self, *arguments: str) -> dict[int, dict[str, object]]:
        """What --describe shows of partitions."""
        (shown,) = json.loads(self.groups("--describe", *arguments, "--json"))
        return {row["partition"]: row for row in shown["offsets"]}

    def offset(self, group: str, partition: int) -> str:
        return self.client.get(f"/consumers/{group}/offsets/clicks/{partition}")[0].decode()

    def commit(self, group: str, offsets: dict[int, int]) -> None:
        for partition, offset in offsets.items():
            path = f"/consumers/{group}/offsets/clicks/{partition}"
            self.client.ensure_path(path)
            self.client.set(path, str(offset).encode())

    def register(self, group: str, consumer: str) -> str:
        return self.client.create(f"/consumers/{group}/ids/{consumer}", SUBSCRIPTION, ephemeral=True, makepath=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with registry_broker() as (broker, connect), kazoo_client(connect) as client:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("clicks", 3, 1)])["clicks"].result(PATIENCE_S)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(30):
            producer.produce("clicks", value=b"x", partition=number % 3)
        assert producer.flush(PATIENCE_S) == 0
        yield Cluster(broker, connect, client)


def test_a_group_is_shown_with_its_owners_and_lag(cluster: Cluster) -> None:
    cluster.commit("shown", {0: 4, 1: 10})
    consumer = cluster.register("shown", "shown_host-1-abcdef01")
    owner = "/consumers/shown/owners/clicks/0"
    cluster.client.create(owner, b"shown_host-1-abcdef01-0", ephemeral=True, makepath=True)
    try:
        rows = cluster.rows("--group", "shown")
        assert [rows[index]["current_offset"] for index in range(3)] == [4, 10, None]
        assert [rows[index]["log_end_offset"] for index in range(3)] == [10, 10, 10]
        assert [rows[index]["lag"] for index in range(3)] == [6, 0, None]
        assert [rows[index]["owner"] for index in range(3)] == ["shown_host-1-abcdef01-0", None, None]
        table = cluster.groups("--describe", "--group", "shown").splitlines()
        header = "group topic partition current offset log end offset lag owner storage"
        assert " ".join(table[0].split()) == header
        assert "clicks:1" in cluster.groups("--describe", "--group", "shown", "--members")
        assert "shown" in cluster.groups("--list").splitlines()
        listed = {each["group"]: each["state"] for each in json.loads(cluster.groups("--list", "--json"))}
        assert listed["shown"] == "Stable"
    finally:
        cluster.client.delete(consumer)
        cluster.client.delete(owner)
    assert "Empty" in cluster.groups("--describe", "--group", "shown", "--state")


def test_a_partition_without_a_leader_has_no_end(cluster: Cluster) -> None:
    def lose(answer: MetadataResponse, request: ReceivedRequest) -> None:
        for topic in answer.topics:
            for each in topic.partitions:
                if each.partition_index == 1:
                    each.error_code, each.leader_id, each.isr_nodes = ErrorCode.LEADER_NOT_AVAILABLE, -1, []

    cluster.commit("offline", {0: 4, 1: 10})
    with cluster.broker.on("Metadata").change_answer(lose):
        rows = cluster.rows("--group", "offline")
    assert [rows[index]["current_offset"] for index in range(3)] == [4, 10, None]
    assert [rows[index]["log_end_offset"] for index in range(3)] == [10, None, 10]
    assert [rows[index]["lag"] for index in range(3)] == [6, None, None]


def test_a_reset_is_refused_while_consumers_live_and_says_who(cluster: Cluster) -> None:
    cluster.commit("reset", {0: 4, 1: 5, 2: 6})
    consumer = cluster.register("reset", "reset_host-1-abcdef01")
    options = ("--reset-offsets", "--group", "reset", "--topic", "clicks", "--to-earliest", "--execute")
    said = cluster.groups(*options, fails=True)
    assert "reset_host-1-abcdef01" in said
    assert "stop its consumers" in said
    assert cluster.offset("reset", 0) == "4"
    assert "reset_host-1-abcdef01" in cluster.groups("--delete", "--group", "reset", fails=True)
    cluster.client.delete(consumer)
    cluster.groups(*options)
    assert [cluster.offset("reset", index) for index in range(3)] == ["0", "0", "0"]
    shift = ("--reset-offsets", "--group", "reset", "--topic", "clicks:1,2", "--shift-by", "7")
    cluster.groups(*shift)
    assert cluster.offset("reset", 1) == "0"
    cluster.groups(*shift, "--execute")
    assert [cluster.offset("reset", index) for index in range(3)] == ["0", "7", "7"]
    assert cluster.groups(*shift, "--export").splitlines() == ["clicks,1,10", "clicks,2,10"]


def test_a_group_that_is_not_there_yet_gets_offsets(cluster: Cluster) -> None:
    cluster.groups("--reset-offsets", "--group", "new", "--topic", "clicks:0", "--to-offset", "3", "--execute")
    assert cluster.offset("new", 0) == "3"


def test_offsets_and_groups_are_deleted(cluster: Cluster) -> None:
    cluster.commit("gone", {0: 1, 1: 1})
    cluster.groups("--delete-offsets", "--group", "gone", "--topic", "clicks:0")
    assert cluster.client.exists("/consumers/gone/offsets/clicks/0") is None
    assert cluster.offset("gone", 1) == "1"
    cluster.groups("--delete", "--group", "gone")
    assert cluster.client.exists("/consumers/gone") is None
    assert "does not exist" in cluster.groups("--delete", "--group", "gone", fails=True)
    assert "does not exist" in cluster.groups("--describe", "--group", "gone", fails=True)


def test_a_chroot_that_is_not_there_is_one_line(cluster: Cluster) -> None:
    for zookeeper, expected in (
        (f"{cluster.zookeeper}/none", "the chroot does not exist"),
        ("127.0.0.1:1", "no ZooKeeper"),
    ):
        result = commands.run("groups", "--list", "--zookeeper", zookeeper)
        assert result.returncode == 1
        assert expected in result.stderr
        assert len(result.stderr.splitlines()) == 1
