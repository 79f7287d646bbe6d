"""The simple consumer against a broker: formats of the log, requests old and new, offsets in both places, its end."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from barnabas.api.broker_errors import (
    CoordinatorNotAvailableError,
    DisconnectedError,
    MessageSizeTooLargeError,
    OffsetMetadataTooLargeError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from barnabas.api.errors import ClosedError
from barnabas.api.simple_consumer import EARLIEST_TIME, LATEST_TIME, FetchRequest, OffsetAndMetadata, SimpleConsumer
from barnabas.clients import Admin, Pool, Producer
from barnabas.clients.admin_topics import NewTopic
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from barnabas.wire.records.batch import Codec
from tests.clusters import registry_broker
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.server import ONE_BROKER

# How the broker is spoken to: as it says itself, and as programs of 0.8 do.
SPOKEN = [None, "0.8.2"]
PAYLOADS = [b"payload-%d" % number * 20 for number in range(5)]


class Cluster:
    """A broker that serves its registry, and what writes to it."""

    def __init__(self, broker: Broker, registry: str) -> None:
        self.broker, self.registry = broker, registry
        self._numbers = iter(range(10_000))

    def consumer(self, *arguments: Any, **options: Any) -> SimpleConsumer:
        return SimpleConsumer(self.broker.host, self.broker.port, *arguments, **options)

    def name(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"

    def topic(self, payloads: list[bytes], *, partitions: int = 1, codec: Codec | None = None, **config: str) -> str:
        """A new topic with these messages in each partition, keys and times from 0 on; one batch if compressed."""
        name = self.name("t")
        configs = {key.replace("_", "."): value for key, value in config.items()}

        async def fill() -> None:
            async with Pool(self.broker.bootstrap_servers) as pool:
                await Admin(pool).create_topic(NewTopic(name, partitions, 1, configs=configs))
                async with Producer(pool, codec=codec or Codec.NONE, linger_ms=5) as producer:
                    for number, payload in enumerate(payloads):
                        for index in range(partitions):
                            key = b"%d" % number
                            written = await producer.send(name, payload, key, partition=index, timestamp_ms=number)
                            if codec is None:
                                await written
                            else:
                                last = written
                    if codec is not None:
                        await last

        asyncio.run(fill())
        return name


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with registry_broker(ONE_BROKER) as (broker, connect):
        yield Cluster(broker, connect)


def coordinator(consumer: SimpleConsumer, group: str) -> tuple[str, int]:
    """The first group of a broker waits for a topic."""
    while True:
        with suppress(CoordinatorNotAvailableError):
            return consumer.find_coordinator(group)


def read(consumer: SimpleConsumer, topic: str, partition: int = 0, max_size: int = 0) -> list[tuple[Any, ...]]:
    """All messages of a partition, fetch by fetch."""
    found: list[tuple[Any, ...]] = []
    (offset,) = consumer.get_offsets_before(topic, partition, EARLIEST_TIME)
    (end,) = consumer.get_offsets_before(topic, partition, LATEST_TIME)
    while offset < end:
        messages = consumer.fetch(topic, partition, offset, max_size)
        found += [(each.offset, each.message.key, each.message.payload, each.message.timestamp_ms) for each in messages]
        assert messages.next_offset > offset
        offset = messages.next_offset
    return found


@pytest.mark.parametrize("spoken", SPOKEN)
@pytest.mark.parametrize(("version", "has_times"), [("0.8.2", False), ("0.10.0", True), ("2.7", True)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_every_format_is_read(cluster: Cluster, codec: Codec, version: str, has_times: bool, spoken: str) -> None:
    topic = cluster.topic(PAYLOADS, codec=codec, message_format_version=version)
    # What is asked for as 0.8 does is given so, whatever is kept.
    with_times = has_times and spoken is None
    expected = [(at, b"%d" % at, payload, at if with_times else -1) for at, payload in enumerate(PAYLOADS)]
    with cluster.consumer(broker_version=spoken) as consumer:
        assert read(consumer, topic) == expected
        # From the middle of what is compressed together, too.
        assert [each.offset for each in consumer.fetch(topic, 0, 3)] == [3, 4]


@pytest.mark.parametrize("spoken", SPOKEN)
@pytest.mark.parametrize("version", ["0.8.2", "2.7"])
@pytest.mark.parametrize("size", [1, 20, 200, 1_000])
def test_a_small_fetch_gets_every_message(cluster: Cluster, size: int, version: str, spoken: str) -> None:
    payloads = [bytes(100), bytes(10_000), b"x", bytes(3_000)]
    topic = cluster.topic(payloads, message_format_version=version)
    with cluster.consumer(broker_version=spoken) as consumer:
        assert [each[2] for each in read(consumer, topic, max_size=size)] == payloads


def test_a_message_above_the_limit_says_how_large_it_is(cluster: Cluster) -> None:
    topic = cluster.topic([bytes(10_000)], message_format_version="0.8.2")
    size = 10_000 + 26 + 1
    with cluster.consumer(broker_version="0.8.2", max_message_size=size - 1, config={"fetch.size": 50}) as consumer:
        with pytest.raises(MessageSizeTooLargeError, match=f"{size} bytes") as raised:
            consumer.fetch(topic, 0, 0)
        assert raised.value.wanted_bytes == size
    with cluster.consumer(broker_version="0.8.2", max_message_size=size, config={"fetch.size": 50}) as consumer:
        assert len(list(consumer.fetch(topic, 0, 0))) == 1


@pytest.mark.parametrize("spoken", SPOKEN)
def test_several_partitions_in_one_request(cluster: Cluster, spoken: str) -> None:
    topic, other = cluster.topic(PAYLOADS, partitions=3), cluster.topic([bytes(5_000)])
    with cluster.consumer(broker_version=spoken) as consumer:
        asked = [
            FetchRequest(topic, 2, 1),
            FetchRequest(other, 0, 0, 30),
            FetchRequest(topic, 0, 5),
            FetchRequest(topic, 1, 9),
            FetchRequest("no-such-topic", 0, 0),
        ]
        first, second, third, fourth, fifth = consumer.multifetch(asked)
        assert [each.offset for each in first] == [1, 2, 3, 4]
        assert [len(each.message.payload) for each in second] == [5_000]
        assert (list(third), third.high_watermark, third.next_offset) == ([], 5, 5)
        assert isinstance(fourth.error, OffsetOutOfRangeError)
        assert isinstance(fifth.error, UnknownTopicOrPartitionError)


def test_a_fetch_waits_for_messages_as_long_as_it_is_told(cluster: Cluster) -> None:
    topic = cluster.topic([b"first"])
    found: list[int] = []
    with cluster.consumer() as consumer:

        def wait() -> None:
            while not found:
                found.extend(each.offset for each in consumer.fetch(topic, 0, 1, max_wait_ms=20_000))

        thread = threading.Thread(target=wait)
        thread.start()
        # While one thread waits for its answer another's is behind it: the broker answers one after the other.
        cluster_topic_grows(cluster, topic)
        thread.join(PATIENCE_S)
        assert found == [1]
        assert list(consumer.fetch(topic, 0, 2, max_wait_ms=0)) == []


def cluster_topic_grows(cluster: Cluster, topic: str) -> None:
    async def send() -> None:
        async with Pool(cluster.broker.bootstrap_servers) as pool, Producer(pool) as producer:
            await (await producer.send(topic, b"more"))

    asyncio.run(send())


@pytest.mark.parametrize(("spoken", "version"), [(None, 1), (None, 2), (None, 5), (None, 7), ("0.8.2", 1)])
def test_offsets_of_later_versions_are_the_coordinators(cluster: Cluster, spoken: str, version: int) -> None:
    topic, group = cluster.topic([], partitions=2), cluster.name("g")
    keys = [TopicPartition(topic, index) for index in range(2)]
    with cluster.consumer(broker_version=spoken) as consumer, kazoo_client(cluster.registry) as tree:
        assert coordinator(consumer, group) == (cluster.broker.host, cluster.broker.port)
        consumer.commit_offsets(group, {keys[0]: OffsetAndMetadata(12, "text")}, version=version)
        found = consumer.fetch_offsets(group, keys, version=min(version, 5))
        assert list(found.values()) == [OffsetAndMetadata(12, "text"), OffsetAndMetadata(-1)]
        assert tree.exists(f"/consumers/{group}") is None
        assert consumer.fetch_offsets(group, keys)[keys[0]].offset == -1


@pytest.mark.parametrize("version", [0, 1])
def test_offsets_that_are_not_kept_are_told(cluster: Cluster, version: int) -> None:
    topic, group = cluster.topic([]), cluster.name("g")
    good, bad = TopicPartition(topic, 0), TopicPartition(topic, 9)
    with cluster.consumer() as consumer:
        coordinator(consumer, group)
        with pytest.raises(UnknownTopicOrPartitionError) as raised:
            consumer.commit_offsets(group, {bad: 1, good: 2}, version=version)
        assert set(raised.value.partitions) == {bad}
        assert consumer.fetch_offsets(group, [good, bad], version=version)[good].offset == 2
        with pytest.raises(OffsetMetadataTooLargeError):
            consumer.commit_offsets(group, {good: OffsetAndMetadata(3, "x" * 5_000)}, version=version)


def test_the_leader_is_found(cluster: Cluster) -> None:
    topic = cluster.topic([])
    with cluster.consumer() as consumer:
        assert consumer.find_leader(topic, 0) == (cluster.broker.host, cluster.broker.port)
        with pytest.raises(UnknownTopicOrPartitionError):
            consumer.find_leader("is-not-made-by-asking", 0)
        with pytest.raises(UnknownTopicOrPartitionError):
            consumer.find_leader("is-not-made-by-asking", 0)


def test_the_client_id_is_what_the_broker_sees(cluster: Cluster) -> None:
    topic = cluster.topic([b"x"])
    with cluster.consumer(30_000, 16_384, "someone") as consumer:
        selection = cluster.broker.on("Fetch", client_id="someone")
        with selection.watch() as seen:
            consumer.fetch(topic, 0, 0)
            seen.wait_for(1)


def test_several_threads_share_one_consumer(cluster: Cluster) -> None:
    topic = cluster.topic(PAYLOADS)
    found: list[int] = []
    with cluster.consumer() as consumer:

        def use() -> None:
            for _ in range(20):
                found.append(len(list(consumer.fetch(topic, 0, 0))))

        threads = [threading.Thread(target=use) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert found == [5] * 100


def test_it_goes_on_when_the_broker_was_started_again() -> None:
    with Broker(config=ONE_BROKER) as broker:
        cluster = Cluster(broker, "")
        topic = cluster.topic([b"x"])
        with cluster.consumer() as consumer:
            assert len(list(consumer.fetch(topic, 0, 0))) == 1
            broker.restart()
            assert len(list(consumer.fetch(topic, 0, 0))) == 1
            broker.kill()
            with pytest.raises(DisconnectedError, match=f"cannot connect to {broker.bootstrap_servers}"):
                consumer.fetch(topic, 0, 0)
            broker.start()
            assert consumer.get_offsets_before(topic, 0, EARLIEST_TIME) == [0]


def test_who_waits_when_it_is_closed_is_told(cluster: Cluster) -> None:
    topic = cluster.topic([])
    consumer = cluster.consumer()
    consumer.fetch(topic, 0, 0, max_wait_ms=0)
    errors: list[Exception] = []

    def wait() -> None:
        try:
            while True:
                consumer.fetch(topic, 0, 0, max_wait_ms=20_000)
        except ClosedError as error:
            errors.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    consumer.close()
    consumer.close()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(errors) == 3
    with pytest.raises(ClosedError):
        consumer.find_leader(topic, 0)
    # None of its threads is left.
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("simple-consumer-")]


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT"])
def test_security(protocol: str) -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p"%s;'
    config = {
        **ONE_BROKER,
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": login % ' user_u="p"',
    }
    with Broker(config=config if protocol == "SASL_PLAINTEXT" else ONE_BROKER, security_protocol=protocol) as broker:
        settings = {"security.protocol": protocol}
        if protocol == "SSL":
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(broker.ca_path)}
        else:
            settings |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": login % ""}
        consumer = SimpleConsumer(broker.host, broker.port, config=settings)
        with consumer, pytest.raises(UnknownTopicOrPartitionError):
            consumer.fetch("t", 0, 0)
        # Without them the port is no listener of Kafka's, as far as can be told.
        with SimpleConsumer(broker.host, broker.port, 2_000) as consumer, pytest.raises(DisconnectedError):
            consumer.fetch("t", 0, 0)
