"""Our own clients against our own broker."""

import asyncio
import socket

import pytest

from barnabas.clients import Admin, Consumer, GroupMember, Pool, Producer
from barnabas.clients.admin import EARLIEST, LATEST, NewTopic
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests.integration.hostile_peers import frame_of


@pytest.fixture
def servers(kafka_broker_session):
    return kafka_broker_session.bootstrap_servers


@pytest.fixture
def topic(request):
    return f"clients-{request.node.name.replace('[', '-').replace(']', '')}"[:200]


async def read_all(pool, partitions, count):
    consumer = Consumer(pool)
    consumer.seek(partitions, EARLIEST)
    records = []
    while len(records) < count:
        fetched = await consumer.poll(10_000)
        assert fetched, f"{len(records)} of {count} records came"
        records += [(batch.partition, record) for batch in fetched for record in batch.records]
    await consumer.close()
    return records


def test_a_topic_is_created_described_and_deleted(servers, topic):
    async def use():
        async with Pool(servers) as pool:
            admin = Admin(pool)
            await admin.create_topic(NewTopic(topic, 3, 1, {"segment.bytes": "100000"}))
            described = (await admin.topics([topic]))[topic]
            assert list(described.partitions) == [0, 1, 2]
            settings = await ConfigAdmin(pool).describe_configs([resource := ConfigResource(ResourceType.TOPIC, topic)])
            own = [entry for entry in settings[resource] if entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG]
            assert [(entry.name, entry.value) for entry in own] == [("segment.bytes", "100000")]
            with pytest.raises(KafkaError, match="already exists"):
                await admin.create_topic(NewTopic(topic, 1, 1))
            await admin.delete_topic(topic)
            assert topic not in await admin.topics()
            with pytest.raises(KafkaError) as caught:
                await admin.delete_topic(topic)
            assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    asyncio.run(use())


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewTopic("bad name", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("too-many-replicas", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("bad-setting", 1, 1, {"colour": "blue"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("bad-value", 1, 1, {"segment.bytes": "1"}), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_refused_topic_says_why(servers, new, code):
    async def use():
        async with Pool(servers) as pool:
            await Admin(pool).create_topic(new)

    with pytest.raises(KafkaError) as caught:
        asyncio.run(use())
    assert caught.value.code is code
    assert len(caught.value.message) > 10


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("is_idempotent", [False, True])
def test_records_come_back_as_they_were_sent(servers, topic, codec, is_idempotent):
    sent = [(f"k{number}".encode(), b"v%d" % number, (("h", b"1"), ("n", None))) for number in range(300)]

    async def use():
        async with Pool(servers) as pool:
            await Admin(pool).create_topic(NewTopic(topic, 2, 1))
            async with Producer(
                pool, codec=codec, enable_idempotence=is_idempotent, batch_size_bytes=1_000
            ) as producer:
                futures = [
                    await producer.send(topic, value, key, headers=headers, timestamp_ms=5)
                    for key, value, headers in sent
                ]
            written = [await future for future in futures]
            records = await read_all(pool, [TopicPartition(topic, 0), TopicPartition(topic, 1)], len(sent))
        places = {(record.offset, part.partition): record for part, record in records}
        for (key, value, headers), metadata in zip(sent, written, strict=True):
            record = places[metadata.offset, metadata.partition]
            assert (record.key, record.value, record.headers, record.timestamp_ms) == (key, value, headers, 5)
        for index in (0, 1):
            offsets = [record.offset for part, record in records if part.partition == index]
            assert offsets == list(range(len(offsets)))

    asyncio.run(use())


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_acks(servers, topic, acks):
    async def use():
        async with Pool(servers) as pool, Producer(pool, acks=acks, linger_ms=1_000) as producer:
            first = await producer.send(topic, b"a")
            second = await producer.send(topic, b"b")
            await producer.flush()
            expected = [-1, -1] if acks == 0 else [0, 1]
            assert [(await first).offset, (await second).offset] == expected
            records = await read_all(pool, [TopicPartition(topic, 0)], 2)
            assert [record.value for _, record in records] == [b"a", b"b"]

    asyncio.run(use())


def test_records_without_acks_outlive_their_producer(servers, topic):
    """It closes as soon as all is sent: most requests still wait for the connection's next turn."""
    batch = BatchBuilder()
    batch.append(0, None, b"x")
    data = [TopicProduceData(topic, [PartitionProduceData(0, bytes(batch.build()))])]
    host, _, port = servers.rpartition(":")

    async def use():
        async with Pool(servers) as pool:
            await Admin(pool).create_topic(NewTopic(topic, 1))
            with socket.create_connection((host, int(port))) as producer:
                producer.sendall(frame_of(ProduceRequest(None, 0, 1_000, data), 7) * 500)
            assert len(await read_all(pool, [TopicPartition(topic, 0)], 500)) == 500

    asyncio.run(use())


def test_a_record_that_is_too_large_fails_alone(servers, topic):
    async def use():
        async with Pool(servers) as pool, Producer(pool, enable_idempotence=True) as producer:
            large = await producer.send(topic, b"x" * 2_000_000)
            await producer.flush()
            small = await producer.send(topic, b"x")
            await producer.flush()
            with pytest.raises(KafkaError) as caught:
                await large
            assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
            assert (await small).offset == 0

    asyncio.run(use())


def test_offsets_by_time(servers, topic):
    async def use():
        async with Pool(servers) as pool:
            async with Producer(pool) as producer:
                for timestamp_ms in (1_000, 2_000, 3_000):
                    await producer.send(topic, b"x", timestamp_ms=timestamp_ms)
            admin = Admin(pool)
            partition = TopicPartition(topic, 0)
            moments = (EARLIEST, LATEST, 0, 1_500, 3_000, 3_001)
            return [(await admin.offsets([partition], moment))[partition] for moment in moments]

    assert asyncio.run(use()) == [0, 3, 0, 1, 2, -1]


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 0), ("latest", 2)])
def test_a_position_outside_the_log_is_reset(servers, topic, reset, expected):
    async def use():
        async with Pool(servers) as pool:
            partition = TopicPartition(topic, 0)
            async with Producer(pool) as producer:
                await producer.send(topic, b"a")
                await producer.send(topic, b"b")
            consumer = Consumer(pool, auto_offset_reset=reset, fetch_max_wait_ms=10)
            consumer.assign({partition: 100})
            while consumer.positions[partition] == 100:
                fetched = await consumer.poll(50)
            position = fetched[0].records[0].offset if fetched else consumer.positions[partition]
            await consumer.close()
            return position

    assert asyncio.run(use()) == expected


def test_a_position_outside_the_log_is_an_error_without_reset(servers, topic):
    async def use():
        async with Pool(servers) as pool:
            async with Producer(pool) as producer:
                await producer.send(topic, b"a")
            consumer = Consumer(pool, auto_offset_reset="none")
            consumer.assign({TopicPartition(topic, 0): 100})
            try:
                await consumer.poll(5_000)
            finally:
                await consumer.close()

    with pytest.raises(KafkaError, match=r"offset 100 of partition .*-0 is not in the log"):
        asyncio.run(use())


@pytest.mark.kafka_broker(config={"group.initial.rebalance.delay.ms": 0})
def test_members_share_a_topic_and_offsets_are_kept(kafka_broker):
    topic, group = "shared", "readers"

    async def use():
        servers = kafka_broker.bootstrap_servers
        async with Pool(servers, "one") as first_pool, Pool(servers, "two") as second_pool:
            admin = Admin(first_pool)
            await admin.create_topic(NewTopic(topic, 3, 1))
            partitions = [TopicPartition(topic, index) for index in range(3)]
            first = GroupMember(first_pool, group, [topic], heartbeat_interval_ms=50)
            assert await first.join("earliest") == dict.fromkeys(partitions, 0)
            async with Producer(first_pool) as producer:
                for partition in partitions:
                    await producer.send(topic, b"x", partition=partition.partition)
            await first.commit(dict.fromkeys(partitions, 1))

            second = GroupMember(second_pool, group, [topic], heartbeat_interval_ms=50)
            joining = asyncio.create_task(second.join())
            await first.wait_for_rebalance()
            assigned = await first.join() | await joining
            assert assigned == dict.fromkeys(partitions, 1)
            assert sorted(first.assignment + second.assignment) == partitions
            assert {len(first.assignment), len(second.assignment)} == {1, 2}

            described = await admin.describe_group(group)
            assert (described.state, described.assignor, len(described.members)) == ("Stable", "range", 2)
            with pytest.raises(KafkaError):
                await admin.commit_offsets(group, {partitions[0]: 0})
            await second.leave()
            await first.leave()
            assert (await admin.groups())[group] == ("Empty", "consumer")
            await admin.commit_offsets(group, {partitions[0]: 0})
            return await admin.committed_offsets(group)

    committed = asyncio.run(use())
    assert [committed[TopicPartition("shared", index)] for index in range(3)] == [0, 1, 1]


def test_an_idempotent_producer_goes_on_after_a_restart(kafka_broker):
    topic, count = "restarted", 2_000

    async def use():
        async with Pool(kafka_broker.bootstrap_servers) as pool:
            producer = Producer(pool, enable_idempotence=True, batch_size_bytes=500)
            futures = [await producer.send(topic, b"%d" % number, partition=0) for number in range(count)]
            await futures[50]
            await asyncio.get_running_loop().run_in_executor(None, kafka_broker.kill)
            await asyncio.get_running_loop().run_in_executor(None, kafka_broker.restart)
            await producer.close()
            assert [(await future).partition for future in futures] == [0] * count
            return [record.value for _, record in await read_all(pool, [TopicPartition(topic, 0)], count)]

    assert asyncio.run(use()) == [b"%d" % number for number in range(count)]
