"""The simple consumer, and offsets of version 0, on Barnabas and on Kafka 2.7.2 alike.

`BARNABAS_COMPAT_TARGET=kafka` asks Kafka itself; its tree is then ZooKeeper's, ours the registry's own.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from barnabas.api.broker_errors import (
    CoordinatorNotAvailableError,
    MessageSizeTooLargeError,
    NotCoordinatorError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from barnabas.api.simple_consumer import EARLIEST_TIME, LATEST_TIME, FetchRequest, OffsetAndMetadata, SimpleConsumer
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchTopic
from barnabas.wire.protocol.messages.fetch import FetchRequest as RawFetchRequest
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests.clusters import registry_broker
from tests.compat.conftest import TARGET
from tests.compat.raw import ask, create_topic
from tests.zookeeper_client import kazoo_client
from tools.kafka.jars import KAFKA_0_8
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

SPOKEN = [None, "0.8.2"]


class Target:
    """A broker, and where its tree is."""

    def __init__(self, servers: str, tree_address: str) -> None:
        self.servers = servers
        self.tree_address = tree_address
        self._numbers = iter(range(10_000))

    def consumer(self, **options: Any) -> SimpleConsumer:
        host, _, port = self.servers.rpartition(":")
        return SimpleConsumer(host, int(port), **options)

    def name(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"

    def topic(self, partitions: int = 1, **config: str) -> str:
        name = self.name("t")
        create_topic(self.servers, name, partitions, **config)
        with self.consumer() as consumer:
            # It is made before it is led.
            while not self._is_led(consumer, name, partitions):
                pass
        return name

    def _is_led(self, consumer: SimpleConsumer, name: str, partitions: int) -> bool:
        found = consumer.multifetch([FetchRequest(name, index, 0) for index in range(partitions)], max_wait_ms=0)
        return all(messages.error is None for messages in found)

    def produce(self, topic: str, *payloads: bytes, partition: int = 0, codec: Codec = Codec.NONE) -> None:
        """Write one batch."""
        builder = BatchBuilder(codec)
        for number, payload in enumerate(payloads):
            builder.append(1_000 + number, None, payload)
        data = PartitionProduceData(partition, memoryview(builder.build()))
        request = ProduceRequest(None, -1, 30_000, [TopicProduceData(topic, [data])])
        (answer,) = ask(self.servers, request, 7).responses[0].partition_responses
        assert answer.error_code == 0


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    if TARGET == "kafka":
        with QuickKafkaServer() as server:
            yield Target(server.bootstrap_servers, server.zookeeper_connect)
    else:
        with registry_broker(ONE_BROKER) as (broker, connect):
            yield Target(broker.bootstrap_servers, connect)


@pytest.mark.parametrize("spoken", SPOKEN)
@pytest.mark.parametrize("format_version", ["0.8.2", "0.10.0", "2.7"])
def test_messages_of_every_format(target: Target, format_version: str, spoken: str) -> None:
    topic = target.topic(message_format_version=format_version)
    target.produce(topic, b"a", b"b" * 500, b"c")
    target.produce(topic, b"d", b"e", codec=Codec.GZIP)
    with target.consumer(broker_version=spoken) as consumer:
        messages = consumer.fetch(topic, 0, 1)
        assert [(each.offset, each.message.payload[:1]) for each in messages] == [
            (1, b"b"),
            (2, b"c"),
            (3, b"d"),
            (4, b"e"),
        ]
        assert (messages.next_offset, messages.high_watermark) == (5, 5)
        assert list(consumer.fetch(topic, 0, 5)) == []
        with pytest.raises(OffsetOutOfRangeError):
            consumer.fetch(topic, 0, 6)


@pytest.mark.parametrize("spoken", SPOKEN)
@pytest.mark.parametrize("format_version", ["0.8.2", "0.10.0", "2.7"])
def test_a_message_that_does_not_fit(target: Target, format_version: str, spoken: str) -> None:
    topic = target.topic(message_format_version=format_version)
    target.produce(topic, bytes(20_000))
    with target.consumer(broker_version=spoken, config={"fetch.size": 100}) as consumer:
        for size in (1, 13, 100, 5_000):
            assert [len(each.message.payload) for each in consumer.fetch(topic, 0, 0, size)] == [20_000]
    if spoken:
        with (
            target.consumer(broker_version=spoken, max_message_size=10_000, config={"fetch.size": 100}) as consumer,
            pytest.raises(MessageSizeTooLargeError) as raised,
        ):
            consumer.fetch(topic, 0, 0)
        assert raised.value.wanted_bytes > 10_000


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("max_bytes", [13, 50, 100])
def test_less_than_a_batch_looks_like_a_message_that_is_cut(target: Target, version: int, max_bytes: int) -> None:
    topic = target.topic()
    target.produce(topic, bytes(1_000))
    wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=max_bytes)
    request = RawFetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic, [wanted])])
    (answer,) = ask(target.servers, request, version).responses[0].partitions
    assert (answer.error_code, answer.high_watermark) == (0, 1)
    assert len(answer.records) >= 12
    assert int.from_bytes(answer.records[8:12], "big") + 12 > len(answer.records)


def test_an_old_java_consumer_is_told_that_a_message_does_not_fit(target: Target, tmp_path: Path) -> None:
    """It learns so from the message that is cut; from nothing at all it would learn nothing, and ask for ever."""
    topic = target.topic()
    target.produce(topic, bytes(5_000))
    settings = tmp_path / "consumer.properties"
    settings.write_text(f"group.id={target.name('g')}\nfetch.message.max.bytes=100\n")
    asked = "--topic", topic, "--from-beginning", "--max-messages", "1", "--consumer.config", str(settings)
    result = run_tool("kafka.tools.ConsoleConsumer", "--zookeeper", target.tree_address, *asked, jar_set=KAFKA_0_8)
    assert "MessageSizeTooLargeException" in result.stdout + result.stderr


@pytest.mark.parametrize("spoken", SPOKEN)
def test_several_partitions(target: Target, spoken: str) -> None:
    topic = target.topic(3)
    for partition in range(3):
        target.produce(topic, b"%d" % partition * 3_000, partition=partition)
    with target.consumer(broker_version=spoken) as consumer:
        found = consumer.multifetch([FetchRequest(topic, index, 0, 100) for index in range(3)])
        assert [[each.message.payload[:1] for each in messages] for messages in found] == [[b"0"], [b"1"], [b"2"]]
        (unknown,) = consumer.multifetch([FetchRequest(topic, 3, 0)])
        assert isinstance(unknown.error, UnknownTopicOrPartitionError)


@pytest.mark.parametrize("spoken", SPOKEN)
def test_offsets_before_a_time(target: Target, spoken: str) -> None:
    topic = target.topic(segment_bytes="1500")
    for _ in range(3):
        target.produce(topic, bytes(1_000))
    with target.consumer(broker_version=spoken) as consumer:
        asked = [(LATEST_TIME, 10), (LATEST_TIME, 1), (EARLIEST_TIME, 10), (1 << 45, 2), (0, 10), (LATEST_TIME, 0)]
        found = [consumer.get_offsets_before(topic, 0, time, count) for time, count in asked]
        assert found == [[3, 2, 1, 0], [3], [0], [3, 2], [], []]
        with pytest.raises(UnknownTopicOrPartitionError):
            consumer.get_offsets_before(topic, 1, LATEST_TIME)


def commit(target: Target, group: str, topic: str, *offsets: int, metadata: str = "") -> list[int]:
    """The codes of a commit of version 0, partition by partition."""
    parts = [OffsetCommitRequestPartition(at, offset, committed_metadata=metadata) for at, offset in enumerate(offsets)]
    request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, parts)])
    return [each.error_code for each in ask(target.servers, request, 0).topics[0].partitions]


def fetched(target: Target, group: str, topic: str, *partitions: int) -> list[tuple[int, str, int]]:
    """Offset, metadata and code of a fetch of version 0, partition by partition."""
    request = OffsetFetchRequest(group, [OffsetFetchRequestTopic(topic, list(partitions))])
    answer = ask(target.servers, request, 0)
    return [(each.committed_offset, each.metadata, each.error_code) for each in answer.topics[0].partitions]


NOT_THERE = (-1, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_offsets_of_version_0_are_in_the_tree(target: Target) -> None:
    topic, group = target.topic(2), target.name("g")
    with kazoo_client(target.tree_address) as tree:
        assert fetched(target, group, topic, 0, 1) == [NOT_THERE, NOT_THERE]
        assert tree.exists(f"/consumers/{group}") is None
        assert commit(target, group, topic, 5, 6, 7, metadata="m") == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        parent = f"/consumers/{group}/offsets/{topic}"
        assert sorted(tree.get_children(parent)) == ["0", "1"]
        assert [tree.get(f"{parent}/{index}")[0] for index in range(2)] == [b"5", b"6"]
        # Those above it are empty, and everybody may change them, as with old consumers.
        for path in (parent, f"/consumers/{group}/offsets", f"/consumers/{group}"):
            assert tree.get(path)[0] is None
            assert [(acl.id.scheme, acl.id.id, acl.perms) for acl in tree.get_acls(path)[0]] == [
                ("world", "anyone", 31)
            ]
        assert fetched(target, group, topic, 0, 1, 2) == [(5, "", 0), (6, "", 0), NOT_THERE]
        tree.set(f"{parent}/0", b"1234")
        assert commit(target, group, topic, 3)[:1] == [0]
        assert tree.get(f"{parent}/0")[0] == b"3"
        tree.set(f"{parent}/0", b"1234")
        assert fetched(target, group, topic, 0) == [(1_234, "", 0)]


def test_what_is_no_offset_and_no_name_of_a_node(target: Target) -> None:
    topic, group = target.topic(), target.name("g")
    unknown = ErrorCode.UNKNOWN_SERVER_ERROR
    with kazoo_client(target.tree_address) as tree:
        path = f"/consumers/{group}/offsets/{topic}/0"
        tree.create(path, b"twelve", makepath=True)
        for data in (b"twelve", b"", b"1_2", b" 12", b"1.5", b"9223372036854775808", b"1" * 5_000, b"\xff"):
            tree.set(path, data)
            assert fetched(target, group, topic, 0) == [(-1, "", unknown)], data
        for data, offset in ((b"9223372036854775807", 2**63 - 1), (b"-5", -5), (b"007", 7)):
            tree.set(path, data)
            assert fetched(target, group, topic, 0) == [(offset, "", 0)], data
        tree.set(path, None)
        assert fetched(target, group, topic, 0) == [NOT_THERE]
        # A negative one is a number, too.
        assert commit(target, group, topic, -7) == [0]
        assert fetched(target, group, topic, 0) == [(-7, "", 0)]
        for name in ("", ".", "a/../b"):
            assert commit(target, name, topic, 1) == [unknown], name
            assert fetched(target, name, topic, 0) == [(-1, "", unknown)], name


def test_a_text_that_is_too_long_is_refused_though_it_is_not_kept(target: Target) -> None:
    topic, group = target.topic(), target.name("g")
    assert commit(target, group, topic, 1, metadata="m" * 4_096) == [0]
    assert commit(target, group, topic, 2, metadata="m" * 4_097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert fetched(target, group, topic, 0) == [(1, "", 0)]


def commit_in_kafka(consumer: SimpleConsumer, group: str, topic: str, offset: int) -> None:
    """The first group of a broker waits for its topic, and for its coordinator to read it."""
    while True:
        with suppress(CoordinatorNotAvailableError, NotCoordinatorError):
            consumer.find_coordinator(group)
            consumer.commit_offsets(group, {TopicPartition(topic, 0): OffsetAndMetadata(offset, "text")}, version=1)
            return


@pytest.mark.parametrize("spoken", SPOKEN)
def test_versions_0_and_1_know_nothing_of_each_other(target: Target, spoken: str) -> None:
    topic, group = target.topic(2), target.name("g")
    keys = [TopicPartition(topic, index) for index in range(2)]
    with target.consumer(broker_version=spoken) as consumer:
        commit_in_kafka(consumer, group, topic, 10)
        consumer.commit_offsets(group, {keys[1]: 20})
        assert list(consumer.fetch_offsets(group, keys).values()) == [OffsetAndMetadata(-1), OffsetAndMetadata(20)]
        in_kafka = consumer.fetch_offsets(group, keys, version=1)
        assert list(in_kafka.values()) == [OffsetAndMetadata(10, "text"), OffsetAndMetadata(-1)]
