"""`barnabas groups migrate`: what it tells of consumers that commit to ZooKeeper, to both, or to Kafka."""

import json
import threading
from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from barnabas.testing import Broker
from tests import commands
from tests.clusters import registry_broker
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client

SUBSCRIPTION = b'{"version":1,"subscription":{"clicks":1},"pattern":"static","timestamp":"1795218488346"}'
COMMIT_INTERVAL_S = 0.05


@pytest.fixture(autouse=True)
def short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command look more often: consumers commit every 50 ms here."""
    monkeypatch.setattr("barnabas.cli.groups_migrate._SAMPLE_S", 0.25)


class PlayedConsumer:
    """Writes what an old consumer writes: its registration, the owner of one partition, commits as it is set."""

    def __init__(self, cluster: "Cluster", group: str, partition: int, storage: str, *, dual: bool) -> None:
        self.name = f"{group}_host-{partition}"
        self._cluster = cluster
        self._group = group
        self._partition = partition
        self._storage = storage
        self._dual = dual
        self._stopped = threading.Event()
        self._consumer = Consumer({"bootstrap.servers": cluster.broker.bootstrap_servers, "group.id": group})
        client, root = cluster.client, f"/consumers/{group}"
        self._ephemerals = [f"{root}/ids/{self.name}", f"{root}/owners/clicks/{partition}"]
        client.create(self._ephemerals[0], SUBSCRIPTION, ephemeral=True, makepath=True)
        client.create(self._ephemerals[1], f"{self.name}-0".encode(), ephemeral=True, makepath=True)
        self._offset_path = f"{root}/offsets/clicks/{partition}"
        client.ensure_path(self._offset_path)
        self.offset = int(client.get(self._offset_path)[0] or 0)
        if storage == "kafka":
            (committed,) = self._consumer.committed([TopicPartition("clicks", partition)], timeout=PATIENCE_S)
            self.offset = max(self.offset, committed.offset) if dual else max(committed.offset, 0)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._consumer.close()
        for path in self._ephemerals:
            self._cluster.client.delete(path)

    def _run(self) -> None:
        while not self._stopped.wait(COMMIT_INTERVAL_S):
            self.offset += 1
            if self._storage == "kafka":
                offsets = [TopicPartition("clicks", self._partition, self.offset)]
                self._consumer.commit(offsets=offsets, asynchronous=False)
            if self._storage == "zookeeper" or self._dual:
                self._cluster.client.set(self._offset_path, str(self.offset).encode())


class Cluster:
    """A broker with its registry, and a client of ZooKeeper's."""

    def __init__(self, broker: Broker, zookeeper: str, client: KazooClient) -> None:
        self.broker, self.zookeeper, self.client = broker, zookeeper, client

    def run(self, *arguments: str) -> CompletedProcess[str]:
        return commands.run("groups", "migrate", "--zookeeper", self.zookeeper, *arguments)

    def plan(self, group: str, *arguments: str) -> dict[str, object]:
        result = self.run("--group", group, "--plan", "--json", *arguments)
        assert result.returncode == 0, result.stderr
        found = json.loads(result.stdout)
        assert isinstance(found, dict)
        return found

    def start(self, group: str, partition: int, mode: str) -> PlayedConsumer:
        """A consumer with the settings of one of the phases."""
        return PlayedConsumer(
            self, group, partition, "zookeeper" if mode == "zookeeper" else "kafka", dual=mode == "both"
        )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with registry_broker() as (broker, connect), kazoo_client(connect) as client:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("clicks", 3, 1)])["clicks"].result(PATIENCE_S)
        yield Cluster(broker, connect, client)


def assert_may(cluster: Cluster, group: str, to: str, step: str) -> None:
    verified = cluster.run("--group", group, "--to", to, "--verify", "--step", step)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_the_way_into_kafka_and_back(cluster: Cluster) -> None:
    """Two consumers are restarted one after the other, four times; each time the plan says so."""
    group = "there-and-back"
    consumers = {partition: cluster.start(group, partition, "zookeeper") for partition in range(2)}

    def restart(partition: int, mode: str) -> None:
        consumers[partition].stop()
        consumers[partition] = cluster.start(group, partition, mode)

    try:
        for to, phases in (
            ("kafka", (("both", "zookeeper", "kafka-alone"), ("kafka", "both", "done"))),
            ("zookeeper", (("both", "kafka", "zookeeper-alone"), ("zookeeper", "both", "done"))),
        ):
            assert_may(cluster, group, to, "dual-commit")
            for mode, left, then in phases:
                restart(0, mode)
                found = cluster.plan(group, "--to", to)
                assert found["next_step"] == "restart-the-others"
                commits = {each["consumer"]: each["commits"] for each in found["consumers"]}  # type: ignore[attr-defined]
                assert commits == {consumers[0].name: mode, consumers[1].name: left}
                verified = cluster.run("--group", group, "--to", to, "--verify")
                assert verified.returncode == 1
                assert f"{consumers[1].name} still commits to {'both' if left == 'both' else ''}" in verified.stderr
                restart(1, mode)
                # And so the next phase is allowed.
                assert_may(cluster, group, to, then)
    finally:
        for consumer in consumers.values():
            consumer.stop()


def test_offsets_that_would_skip_messages_are_found_before_dual_commit(cluster: Cluster) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.broker.bootstrap_servers, "group.id": "stale"})
    consumer.commit(offsets=[TopicPartition("clicks", 2, 100_000)], asynchronous=False)
    consumer.close()
    played = cluster.start("stale", 2, "zookeeper")
    try:
        verified = cluster.run("--group", "stale", "--verify")
    finally:
        played.stop()
    assert verified.returncode == 1
    assert "clicks-2: Kafka has 100000, ZooKeeper has" in verified.stderr
    assert "would skip" in verified.stderr


def test_silence_is_a_doubt_and_the_watch_comes_to_its_end(cluster: Cluster) -> None:
    cluster.client.create("/consumers/quiet/ids/quiet_host-1", SUBSCRIPTION, ephemeral=True, makepath=True)
    cluster.client.create("/consumers/quiet/offsets/clicks/0", b"4", makepath=True)
    result = cluster.run("--group", "quiet", "--verify", "--watch-ms", "500")
    assert result.returncode == 1
    assert "unknown" in result.stderr
    assert "wait" in result.stdout


def test_a_table_for_people(cluster: Cluster) -> None:
    played = cluster.start("people", 1, "both")
    try:
        result = cluster.run("--group", "people", "--plan")
    finally:
        played.stop()
    assert "Group people, to kafka: all consumers commit to both." in result.stdout
    assert "people_host-1" in result.stdout
    assert "2026-11-20 23:48:08" in result.stdout
    assert "Next: kafka-alone: set dual.commit.enabled=false" in result.stdout
    stopped = cluster.run("--group", "people", "--plan")
    assert "no consumer is registered" in stopped.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--group", "nobody", "--plan"), "neither consumers nor offsets"),
        (("--group", "g"), "--plan or --verify"),
        (("--group", "g", "--plan", "--to", "files"), "kafka or zookeeper"),
        (("--group", "g", "--plan", "--step", "done"), "--step needs --verify"),
        (("--group", "g", "--verify", "--step", "jump"), "must be one of dual-commit"),
    ],
)
def test_mistakes_are_one_line(cluster: Cluster, arguments: tuple[str, ...], message: str) -> None:
    result = cluster.run(*arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
