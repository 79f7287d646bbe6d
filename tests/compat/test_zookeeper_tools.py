"""What wants ZooKeeper works on a broker that serves its registry: Kafka's own tools, zkCli, an old consumer, kazoo."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooState

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.clusters import registry_broker
from tests.compat.raw import ask
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.jars import KAFKA, KAFKA_0_8, ZOOKEEPER_3_9
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, free_port


class Served:
    """A broker, and where its registry is."""

    def __init__(self, broker: Broker, connect: str) -> None:
        self.broker, self.connect = broker, connect

    def run(self, class_name: str, *arguments: str, stdin: str | None = None, jar_set: str = KAFKA) -> str:
        """What a tool said, after it went well."""
        result = run_tool(class_name, *arguments, stdin=stdin, jar_set=jar_set)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with registry_broker(ONE_BROKER) as (broker, connect):
        yield Served(broker, connect)


def test_kafka_topics(served: Served, name: str) -> None:
    topics = "kafka.admin.TopicCommand", "--zookeeper", served.connect
    served.run(*topics, "--create", "--topic", name, "--partitions", "3", "--replication-factor", "1")
    assert name in served.run(*topics, "--list").splitlines()
    described = served.run(*topics, "--describe", "--topic", name)
    assert "PartitionCount: 3" in described
    assert described.count("Leader: 0") == 3
    served.run(*topics, "--alter", "--topic", name, "--partitions", "4")
    assert served.run(*topics, "--describe", "--topic", name).count("Leader: 0") == 4
    served.run(*topics, "--delete", "--topic", name)
    with kazoo_client(served.connect) as client:
        gone = client.handler.event_object()
        if client.exists(f"/brokers/topics/{name}", watch=lambda event: gone.set()) is not None:
            gone.wait(PATIENCE_S)
        assert client.exists(f"/brokers/topics/{name}") is None


def test_kafka_configs(served: Served, name: str) -> None:
    configs = "kafka.admin.ConfigCommand", "--zookeeper", served.connect
    entity = "--entity-type", "users", "--entity-name", name, "--entity-type", "clients", "--entity-default"
    served.run(*configs, "--alter", "--add-config", "producer_byte_rate=1000,consumer_byte_rate=2000", *entity)
    described = served.run(*configs, "--describe", *entity)
    assert "producer_byte_rate=1000" in described
    assert "consumer_byte_rate=2000" in described
    served.run(*configs, "--alter", "--delete-config", "producer_byte_rate", *entity)
    assert "producer_byte_rate" not in served.run(*configs, "--describe", *entity)


@pytest.mark.parametrize("jar_set", [KAFKA, pytest.param(ZOOKEEPER_3_9, marks=pytest.mark.whole)])
def test_zkcli(served: Served, name: str, jar_set: str) -> None:
    commands = "create %s one", "get -s %s", "set %s two", "create -s %s/n- x", "ls %s", "deleteall %s", "quit"
    script = "\n".join(command.replace("%s", f"/{name}") for command in commands)
    said = served.run(
        "org.apache.zookeeper.ZooKeeperMain", "-server", served.connect, stdin=f"{script}\n", jar_set=jar_set
    )
    assert "one" in said.splitlines()
    assert "dataLength = 3" in said
    assert "[n-0000000000]" in said
    with kazoo_client(served.connect) as client:
        assert client.exists(f"/{name}") is None


@pytest.mark.parametrize(
    "jar_set", [KAFKA_0_8, *(pytest.param(each, marks=pytest.mark.whole) for each in ("kafka-0.10.2.2", "kafka-1.1.1"))]
)
def test_an_old_consumer_that_keeps_its_group_in_zookeeper(
    served: Served, name: str, jar_set: str, tmp_path: Path
) -> None:
    produced = "".join(f"value-{number}\n" for number in range(20))
    served.run(
        "kafka.tools.ConsoleProducer",
        *("--broker-list", served.broker.bootstrap_servers, "--topic", name),
        stdin=produced,
    )
    consumer = "kafka.tools.ConsoleConsumer", "--zookeeper", served.connect, "--topic", name
    (tmp_path / "consumer.properties").write_text(f"group.id=g-{name}\n")
    group = "--consumer.config", str(tmp_path / "consumer.properties")
    said = served.run(*consumer, *group, "--from-beginning", "--max-messages", "12", jar_set=jar_set)
    assert said.split() == produced.split()[:12]
    said = served.run(*consumer, *group, "--max-messages", "8", jar_set=jar_set)
    assert said.split() == produced.split()[12:]
    with kazoo_client(served.connect) as client:
        assert client.get(f"/consumers/g-{name}/offsets/{name}/0")[0] == b"20"
        assert client.get_children(f"/consumers/g-{name}/ids") == []


def test_settings_that_are_written_as_nodes_are_gone_by(served: Served) -> None:
    with kazoo_client(served.connect) as client:
        client.create("/config/brokers/<default>", b'{"version":1,"config":{"message.max.bytes":"1234"}}')
        client.create(
            "/config/changes/config_change_", b'{"version":2,"entity_path":"brokers/<default>"}', sequence=True
        )
        request = DescribeConfigsRequest([DescribeConfigsResource(4, "0", ["message.max.bytes"])])
        while True:
            (entry,) = ask(served.broker.bootstrap_servers, request, 2).results[0].configs
            if entry.value == "1234":
                break
        client.delete("/config/brokers/<default>")


def test_kazoos_recipes(served: Served, name: str) -> None:
    with kazoo_client(served.connect) as one, kazoo_client(served.connect) as other:
        lock = one.Lock(f"/{name}/lock", "one")
        assert lock.acquire(timeout=PATIENCE_S)
        assert other.Lock(f"/{name}/lock").contenders() == ["one"]
        assert not other.Lock(f"/{name}/lock", "other").acquire(blocking=False)
        lock.release()
        assert other.Lock(f"/{name}/lock", "other").acquire(timeout=PATIENCE_S)
        counter = one.Counter(f"/{name}/counter")
        counter += 3
        assert other.Counter(f"/{name}/counter").value == 3
        queue = one.LockingQueue(f"/{name}/queue")
        queue.put_all([b"a", b"b"])
        assert other.LockingQueue(f"/{name}/queue").get(timeout=PATIENCE_S) == b"a"
        assert one.server_version()[:2] == (3, 5)
        one.delete(f"/{name}", recursive=True)


def test_kazoo_goes_on_with_its_session_after_the_broker_started_again(tmp_path: Path) -> None:
    port = free_port()
    config = {**ONE_BROKER, "barnabas.registry.listeners": f"127.0.0.1:{port}"}
    with Broker(config=config, data_dir=tmp_path) as broker, kazoo_client(f"127.0.0.1:{port}") as client:
        before = client.client_id[0]
        client.create("/e", ephemeral=True)
        states: list[str] = []
        is_back = client.handler.event_object()

        def on_state(state: str) -> None:
            states.append(state)
            if state == KazooState.CONNECTED:
                is_back.set()

        client.add_listener(on_state)
        broker.kill()
        broker.restart()
        assert is_back.wait(PATIENCE_S)
        assert states == [KazooState.SUSPENDED, KazooState.CONNECTED]
        assert client.client_id[0] == before
        assert client.exists("/e") is not None
