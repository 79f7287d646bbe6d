"""A group of our own old consumers moves its offsets into Kafka and back under load, restarted one after the other.

Each step is taken when `barnabas groups migrate --verify` allows it. Every message arrives, and none twice: a consumer
that stops in good order commits first.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.api import ConsumerConnector
from barnabas.api.connector import ConsumerTimeoutError
from barnabas.testing import Broker
from tests import commands
from tests.clusters import registry_broker
from tests.patience import PATIENCE_S, until

GROUP, TOPIC = "moving", "moved"
CONSUMER_COUNT = 2
ZOOKEEPER = {"offsets.storage": "zookeeper"}
BOTH = {"offsets.storage": "kafka", "dual.commit.enabled": "true"}
KAFKA = {"offsets.storage": "kafka", "dual.commit.enabled": "false"}


@pytest.fixture(autouse=True)
def short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command look more often: consumers commit every 100 ms here."""
    monkeypatch.setattr("barnabas.cli.groups_migrate._SAMPLE_S", 0.25)


class Load:
    """Produces numbers, a few at a time, until it is stopped."""

    def __init__(self, servers: str) -> None:
        self.count = 0
        self._producer = Producer({"bootstrap.servers": servers})
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0

    def _run(self) -> None:
        while not self._stopped.wait(0.02):
            for partition in range(4):
                self._producer.produce(TOPIC, str(self.count).encode(), partition=partition)
                self.count += 1
            self._producer.poll(0)


class Reader:
    """One consumer, read by a thread."""

    def __init__(self, zookeeper: str, settings: Mapping[str, str], seen: "Counter[int]") -> None:
        self._connector = ConsumerConnector(
            {
                "zookeeper.connect": zookeeper,
                "group.id": GROUP,
                "auto.offset.reset": "smallest",
                "auto.commit.interval.ms": 100,
                "consumer.timeout.ms": 100,
                "rebalance.backoff.ms": 200,
                "rebalance.max.retries": 20,
                **settings,
            }
        )
        (self._stream,) = self._connector.create_message_streams({TOPIC: 1})[TOPIC]
        self._seen = seen
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._connector.shutdown()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                message = next(self._stream)
            except ConsumerTimeoutError:
                continue
            self._seen[int(message.message or b"")] += 1


@pytest.fixture
def site() -> Iterator[tuple[Broker, str]]:
    with registry_broker() as (broker, connect):
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 4, 1)])[TOPIC].result(PATIENCE_S)
        yield broker, connect


def assert_may(zookeeper: str, to: str, step: str) -> None:
    """The next step is allowed: all consumers have taken the one before."""
    verified = commands.run(
        *("groups", "migrate", "--group", GROUP, "--zookeeper", zookeeper, "--to", to, "--verify", "--step", step)
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_group_moves_into_kafka_and_back(site: tuple[Broker, str]) -> None:
    broker, zookeeper = site
    # Each thread adds to the same counter, one message at a time and never one that another has.
    seen: Counter[int] = Counter()
    load = Load(broker.bootstrap_servers)
    readers = [Reader(zookeeper, ZOOKEEPER, seen) for _ in range(CONSUMER_COUNT)]
    try:
        for to, phases in (
            ("kafka", ((BOTH, "kafka-alone"), (KAFKA, "done"))),
            ("zookeeper", ((BOTH, "zookeeper-alone"), (ZOOKEEPER, "done"))),
        ):
            assert_may(zookeeper, to, "dual-commit")
            for settings, then in phases:
                # What is said half-way is in test_groups_migrate.py.
                for index in range(CONSUMER_COUNT):
                    readers[index].stop()
                    readers[index] = Reader(zookeeper, settings, seen)
                assert_may(zookeeper, to, then)
        load.stop()
        until(lambda: len(seen) == load.count)
        assert set(seen) == set(range(load.count))
    finally:
        load.stop()
        for reader in readers:
            reader.stop()
    assert {number: count for number, count in seen.items() if count > 1} == {}
