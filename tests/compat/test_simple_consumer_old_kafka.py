"""The simple consumer against a broker of its time: Kafka 0.8.2.2, which can't be asked what it knows.

Nothing of it is Barnabas but the consumer, so that there is no second target.
"""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from barnabas.api.broker_errors import (
    CoordinatorNotAvailableError,
    DisconnectedError,
    LeaderNotAvailableError,
    MessageSizeTooLargeError,
    NotCoordinatorError,
    OffsetOutOfRangeError,
    UnknownError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from barnabas.api.simple_consumer import EARLIEST_TIME, LATEST_TIME, FetchRequest, OffsetAndMetadata, SimpleConsumer
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.compat.raw import ask
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.jars import KAFKA_0_8
from tools.kafka.server import KafkaServer, QuickKafkaServer, free_port

# It is found out, or told.
SPOKEN = [None, "0.8.2.2"]


class OldKafka:
    """A broker of 0.8.2.2, and what writes to it."""

    def __init__(self, server: KafkaServer) -> None:
        self._server = server
        self._numbers = iter(range(10_000))

    def consumer(self, **options: Any) -> SimpleConsumer:
        return SimpleConsumer(self._server.host, self._server.port, **options)

    @property
    def address(self) -> tuple[str, int]:
        return self._server.host, self._server.port

    def name(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"

    def topic(self) -> str:
        """A topic of two partitions; it is made by asking for it."""
        name = self.name("t")
        with self.consumer() as consumer:
            for partition in range(2):
                while True:
                    with suppress(LeaderNotAvailableError, UnknownTopicOrPartitionError):
                        consumer.find_leader(name, partition)
                        consumer.fetch(name, partition, 0, max_wait_ms=0)
                        break
        return name

    def produce(self, topic: str, *payloads: bytes, codec: Codec = Codec.NONE, partition: int = 0) -> None:
        """Write messages together."""
        builder = MessageSetBuilder(0, codec)
        for offset, payload in enumerate(payloads):
            builder.append(offset, -1, b"key", payload)
        data = PartitionProduceData(partition, memoryview(builder.build()))
        request = ProduceRequest(None, 1, 30_000, [TopicProduceData(topic, [data])])
        (answer,) = ask(self._server.bootstrap_servers, request, 0).responses[0].partition_responses
        assert answer.error_code == 0

    @property
    def tree_address(self) -> str:
        return self._server.zookeeper_connect


@pytest.fixture(scope="module")
def kafka() -> Iterator[OldKafka]:
    port = free_port()
    config = {
        "host.name": "127.0.0.1",
        "port": str(port),
        "num.partitions": "2",
        "log.segment.bytes": "20000",
        "offsets.topic.num.partitions": "1",
    }
    with closing(QuickKafkaServer(config=config, jar_set=KAFKA_0_8, port=port)) as server:
        server.start_zookeeper()
        server.start_broker()
        _wait_for(server)
        yield OldKafka(server)


def _wait_for(server: KafkaServer) -> None:
    """Wait until a topic is led: before there is one a broker of 0.8 names none at all, not even itself."""
    deadline = time.monotonic() + PATIENCE_S
    with SimpleConsumer(server.host, server.port) as consumer:
        while True:
            with suppress(DisconnectedError, LeaderNotAvailableError, UnknownTopicOrPartitionError, UnknownError):
                consumer.find_leader("first", 0)
                return
            if time.monotonic() > deadline or server.has_ended():
                pytest.fail(server.log_text()[-2_000:])
            time.sleep(0.05)


@pytest.mark.parametrize("spoken", SPOKEN)
def test_messages_with_every_codec(kafka: OldKafka, spoken: str) -> None:
    topic = kafka.topic()
    codecs = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
    for codec in codecs:
        kafka.produce(topic, b"%d-a" % codec, b"%d-b" % codec * 200, codec=codec)
    with kafka.consumer(broker_version=spoken) as consumer:
        messages = consumer.fetch(topic, 0, 1)
        expected = [(2 * codec + at, b"%d-%c" % (codec, b"ab"[at])) for codec in codecs for at in range(2)]
        assert [(each.offset, each.message.payload[:3]) for each in messages] == expected[1:]
        assert {(each.message.key, each.message.magic, each.message.timestamp_ms) for each in messages} == {
            (b"key", 0, -1)
        }
        assert (messages.next_offset, messages.high_watermark) == (8, 8)
        assert list(consumer.fetch(topic, 0, 8)) == []
        with pytest.raises(OffsetOutOfRangeError):
            consumer.fetch(topic, 0, 9)
        with pytest.raises(UnknownTopicOrPartitionError):
            consumer.fetch(topic, 7, 0)


@pytest.mark.parametrize("spoken", SPOKEN)
def test_a_message_that_does_not_fit(kafka: OldKafka, spoken: str) -> None:
    topic = kafka.topic()
    kafka.produce(topic, b"x", bytes(9_000), b"y")
    for size in (1, 30, 100, 5_000):
        found, offset = [], 0
        with kafka.consumer(broker_version=spoken) as consumer:
            while offset < 3:
                messages = consumer.fetch(topic, 0, offset, size)
                found += [len(each.message.payload) for each in messages]
                offset = messages.next_offset
        assert found == [1, 9_000, 1], size
    with kafka.consumer(broker_version=spoken, max_message_size=5_000, config={"fetch.size": 100}) as consumer:
        with pytest.raises(MessageSizeTooLargeError) as raised:
            consumer.fetch(topic, 0, 1)
        assert raised.value.wanted_bytes == 26 + len(b"key") + 9_000


def test_several_partitions_in_one_request(kafka: OldKafka) -> None:
    topic = kafka.topic()
    kafka.produce(topic, bytes(1_000), partition=0)
    kafka.produce(topic, b"x", b"y", partition=1)
    with kafka.consumer() as consumer:
        asked = [FetchRequest(topic, 1, 1), FetchRequest(topic, 0, 0, 50), FetchRequest(topic, 2, 0)]
        first, second, third = consumer.multifetch(asked)
        assert [each.message.payload for each in first] == [b"y"]
        assert [len(each.message.payload) for each in second] == [1_000]
        assert isinstance(third.error, UnknownTopicOrPartitionError)


def test_offsets_before_a_time(kafka: OldKafka) -> None:
    topic = kafka.topic()
    for _ in range(3):
        kafka.produce(topic, bytes(15_000))
    with kafka.consumer() as consumer:
        assert consumer.get_offsets_before(topic, 0, LATEST_TIME, 10) == [3, 2, 1, 0]
        assert consumer.get_offsets_before(topic, 0, LATEST_TIME) == [3]
        assert consumer.get_offsets_before(topic, 0, EARLIEST_TIME, 10) == [0]
        assert consumer.get_offsets_before(topic, 0, 0, 10) == []
        with pytest.raises(UnknownTopicOrPartitionError):
            consumer.get_offsets_before(topic, 7, LATEST_TIME)


def test_offsets_in_zookeeper_and_in_kafka(kafka: OldKafka) -> None:
    topic, group = kafka.topic(), kafka.name("g")
    keys = [TopicPartition(topic, index) for index in range(2)]
    with kafka.consumer() as consumer, kazoo_client(kafka.tree_address) as tree:
        assert [found.offset for found in consumer.fetch_offsets(group, keys).values()] == [-1, -1]
        consumer.commit_offsets(group, {keys[0]: 5})
        assert tree.get(f"/consumers/{group}/offsets/{topic}/0")[0] == b"5"
        tree.create(f"/consumers/{group}/offsets/{topic}/1", b"6")
        assert [found.offset for found in consumer.fetch_offsets(group, keys).values()] == [5, 6]
        while True:
            with suppress(CoordinatorNotAvailableError, NotCoordinatorError):
                assert consumer.find_coordinator(group) == kafka.address
                consumer.commit_offsets(group, {keys[0]: OffsetAndMetadata(7, "text")}, version=1)
                # Kafka 0.8.2 takes a commit while it still loads that partition's offsets, and then tells none of them.
                found = consumer.fetch_offsets(group, keys, version=1)
                break
        assert list(found.values()) == [OffsetAndMetadata(7, "text"), OffsetAndMetadata(-1)]
        assert tree.get(f"/consumers/{group}/offsets/{topic}/0")[0] == b"5"
        with pytest.raises(UnsupportedVersionError, match="version 2 of OffsetCommit"):
            consumer.commit_offsets(group, {keys[0]: 8}, version=2)
