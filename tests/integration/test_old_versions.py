"""Every version of Produce and Fetch over a real connection: whatever a client writes, every client can read it."""

import pytest

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import MAGIC_POSITION, Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.formats import batches_of_any_magic, iterate_any_records
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.compat.raw import ask

FORMATS = ("0.9.0", "0.10.2", "2.7")
TIMESTAMP_MS = 1_600_000_000_000
NEVER_WAIT_MS = 0


@pytest.fixture(scope="module")
def broker():
    with Broker() as made:
        topics = [
            CreatableTopic(f"t{number}", 1, 1, configs=[CreatableTopicConfig("message.format.version", version)])
            for number, version in enumerate(FORMATS)
        ]
        answer = ask(made.bootstrap_servers, CreateTopicsRequest(topics, 10_000), 4)
        assert [each.error_code for each in answer.topics] == [0, 0, 0]
        yield made


def records_for(version: int, codec: Codec) -> bytes:
    """What a client of that time sends."""
    if version > 2:
        builder = BatchBuilder(codec)
        for _ in range(3):
            builder.append(TIMESTAMP_MS, b"key", b"value")
        return bytes(builder.build())
    messages = MessageSetBuilder(version // 2, codec)
    for offset in range(3):
        messages.append(offset, TIMESTAMP_MS, b"key", b"value")
    return bytes(messages.build())


@pytest.mark.parametrize("topic", [f"t{number}" for number in range(len(FORMATS))])
def test_what_any_version_writes_every_version_reads(broker, topic):
    count = 0
    for version in range(9):
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, records_for(version, codec))])]
            answer = ask(broker.bootstrap_servers, ProduceRequest(None, -1, 10_000, data), version)
            (produced,) = answer.responses[0].partition_responses
            assert (produced.error_code, produced.base_offset) == (0, count), (version, codec)
            count += 3

    for version in range(13):
        wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=NEVER_WAIT_MS,
            min_bytes=1,
            max_bytes=1 << 24,
            topics=[FetchTopic(topic, partitions=[wanted])],
        )
        (fetched,) = ask(broker.bootstrap_servers, request, version).responses[0].partitions
        batches = list(batches_of_any_magic(fetched.records))
        newest = 0 if version < 2 else 1 if version < 4 else 2
        assert {batch[MAGIC_POSITION] for batch in batches} == {min(newest, int(topic[1:]))}
        records = [record for batch in batches for record in iterate_any_records(batch)]
        assert [record.offset for record in records] == list(range(count))
        assert {(record.key, record.value) for record in records} == {(b"key", b"value")}
