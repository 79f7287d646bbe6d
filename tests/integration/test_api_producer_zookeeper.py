"""The documented producer that finds brokers and topics through ZooKeeper, which is the broker's own tree here."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from barnabas.api import Producer
from barnabas.api.producer.zookeeper_view import NoBrokersError, ZooKeeperView
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.core.errors import StartupError
from barnabas.testing import Broker
from barnabas.testing.broker import ConfigValue
from tests import zookeeper_client as zk
from tests.integration.api_producers import add_partitions, stored
from tests.patience import PATIENCE_S
from tests.zookeeper_client import RawClient
from tools.kafka.server import free_port

ACKS = {"request.required.acks": 1, "retry.backoff.ms": 10, "message.send.max.retries": 100_000}


class Site:
    """A broker and the address of its tree."""

    def __init__(self) -> None:
        self.port = free_port()
        self.connect = f"127.0.0.1:{self.port}"
        config: dict[str, ConfigValue] = {"num.partitions": 2, "barnabas.registry.listeners": f":{self.port}"}
        self.broker = Broker(config=config)


@pytest.fixture
def site() -> Iterator[Site]:
    """A broker that the test may end."""
    made = Site()
    with made.broker:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Site]:
    """A broker that lives; each test has topics of its own."""
    made = Site()
    with made.broker:
        yield made


def registration(port: int) -> bytes:
    """What a broker of 0.8 writes of itself."""
    return json.dumps({"version": 1, "host": "127.0.0.1", "port": port, "jmx_port": -1, "timestamp": "0"}).encode()


class Counts:
    """A partitioner that puts everything into the last partition, and notes how many there are."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def partition(self, key: object, partition_count: int) -> int:
        self.counts.append(partition_count)
        return partition_count - 1


@pytest.mark.parametrize("name", ["zookeeper.connect", "zk.connect"])
def test_brokers_are_found(shared: Site, name: str) -> None:
    topic = f"found-by-{name}"
    with Producer({name: shared.connect, **ACKS}) as sends:
        sends.send(topic, None, [b"x"])
    assert len(stored(shared.broker, topic)) == 1


def test_new_topics_and_partitions_are_used_at_once(shared: Site) -> None:
    partitioner = Counts()
    # Without the watch nobody would ask again.
    settings = {"partitioner.class": partitioner, "topic.metadata.refresh.interval.ms": -1, **ACKS}
    with Producer({"zk.connect": shared.connect, **settings}) as sends:
        sends.send("old", b"k", [b"x"])
        sends.send("new", b"k", [b"x"])
        add_partitions(shared.broker, "new", 5)
        while partitioner.counts[-1] != 5:
            sends.send("new", b"k", [b"y"])
    assert (4, b"y") in [(each.partition, each.value) for each in stored(shared.broker, "new")]


def test_a_broker_that_moved_is_found_again(site: Site) -> None:
    """The same data under another address: whoever knows the old one alone finds nobody."""
    with Producer({"zk.connect": site.connect, **ACKS}) as sends:
        sends.send("t", None, [b"1"])
        first = site.broker
        first.stop()
        config: dict[str, ConfigValue] = {"num.partitions": 2, "barnabas.registry.listeners": f":{site.port}"}
        with Broker(config=config, data_dir=first.data_dir, port=free_port()) as moved:
            assert moved.port != first.port
            sends.send("t", None, [b"2"])
            assert sorted(each.value or b"" for each in stored(moved, "t")) == [b"1", b"2"]


def test_an_expired_session_is_begun_again(site: Site) -> None:
    with closing(ZooKeeperView(ZooKeeperOptions(site.connect, 1_000, 10_000), "PLAINTEXT", 3, 2.0)) as view:
        assert view.servers() == site.broker.bootstrap_servers
        assert view.partition_count("t") == 0
        # Sessions do not outlive a broker that serves them from its own tree.
        site.broker.kill()
        site.broker.start()
        with Producer({"broker.list": site.broker.bootstrap_servers, **ACKS}) as sends:
            sends.send("t", None, [b"x"])
        while view.partition_count("t") != 2:
            threading.Event().wait(0.01)


def test_zookeeper_that_is_away_stops_nobody(site: Site) -> None:
    with Producer({"zk.connect": site.connect, "zk.sessiontimeout.ms": 500, **ACKS}) as sends:
        sends.send("t", None, [b"1"])
        site.broker.stop()
        with Broker(data_dir=site.broker.data_dir, port=site.broker.port) as without_listener:
            sends.send("t", None, [b"2"])
            sends.send("t2", None, [b"3"])
            assert len(stored(without_listener, "t")) == 2


def test_brokers_that_are_not_there_yet_are_read_again(shared: Site) -> None:
    """zk.read.num.retries: without another reading there is nobody."""
    no_wait = {"zk.synctime.ms": 1}
    with pytest.raises(NoBrokersError, match="knows no broker that speaks PLAINTEXT, also when read 2 times again"):
        Producer({"zk.connect": f"{shared.connect}/empty", "zk.read.num.retries": 2, **no_wait})
    with pytest.raises(NoBrokersError, match="knows no broker that speaks SSL"):
        Producer({"zk.connect": shared.connect, "security.protocol": "SSL", **no_wait})
    # zookeeper.sync.time.ms is how long the reading again is waited for: the broker comes meanwhile.

    def register() -> None:
        with RawClient.connected(shared.port) as client:
            for path in ("/late", "/late/brokers", "/late/brokers/ids"):
                assert client.ask(zk.CREATE, zk.creation(path)).error == 0
            assert (
                client.ask(zk.CREATE, zk.creation("/late/brokers/ids/0", registration(shared.broker.port))).error == 0
            )

    thread = threading.Thread(target=register)
    patient = {"zk.read.num.retries": 1, "zookeeper.sync.time.ms": 1_000 * PATIENCE_S}
    thread.start()
    with Producer({"zk.connect": f"{shared.connect}/late", **patient, **ACKS}) as sends:
        sends.send("late", None, [b"x"])
    thread.join(PATIENCE_S)
    assert len(stored(shared.broker, "late")) == 1


def test_brokers_that_leave_zookeeper_may_come_back(shared: Site) -> None:
    """As with a session that expires before the broker is back: until then there is nobody else to ask."""
    port = shared.broker.port
    with RawClient.connected(shared.port) as client:
        for path in ("/other", "/other/brokers", "/other/brokers/ids"):
            assert client.ask(zk.CREATE, zk.creation(path)).error == 0
        assert client.ask(zk.CREATE, zk.creation("/other/brokers/ids/0", registration(port))).error == 0
        with Producer({"zk.connect": f"{shared.connect}/other", "reconnect.interval": 1, **ACKS}) as sends:
            sends.send("leaving", None, [b"1"])
            assert client.ask(zk.DELETE, zk.text("/other/brokers/ids/0") + zk.integer(-1)).error == 0
            sends.send("leaving", None, [b"2"])
            assert client.ask(zk.CREATE, zk.creation("/other/brokers/ids/0", registration(port))).error == 0
            sends.send("leaving", None, [b"3"])
    assert len(stored(shared.broker, "leaving")) == 3


def test_no_zookeeper_is_told() -> None:
    timeouts = {"zookeeper.session.timeout.ms": 100, "zookeeper.connection.timeout.ms": 100}
    with pytest.raises(StartupError, match="no ZooKeeper answers"):
        Producer({"zk.connect": f"127.0.0.1:{free_port()}", **timeouts})
