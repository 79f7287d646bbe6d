"""Batches of a partition whose leader changes, or throttles the client, while they are read."""

import pytest

from barnabas.clients import Admin
from barnabas.clients.batch_reader import read_batches
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.records.builder import BatchBuilder
from tests.unit.clients.memory_broker import MemoryBroker

PARTITION = TopicPartition("t", 0)


def batch(base_offset: int, count: int) -> bytes:
    builder = BatchBuilder()
    for number in range(count):
        builder.append(number, None, b"v")
    return bytes(builder.build(base_offset))


def fetched(high_watermark: int, data: bytes = b""):
    part = PartitionData(0, high_watermark=high_watermark, records=memoryview(data))
    return lambda request: FetchResponse(responses=[FetchableTopicResponse("t", [part])])


def read(broker: MemoryBroker, end_offset: int) -> list[int]:
    found = []

    async def use(pool):
        async for header, _ in read_batches(Admin(pool, 1_000), PARTITION, 0, end_offset):
            found.append(header.base_offset)

    broker.run(use)
    return found


def test_a_leader_that_does_not_know_yet_how_far_all_are_is_asked_again():
    answers = [fetched(2, batch(0, 2)), fetched(2), fetched(4, batch(2, 2))]
    broker = MemoryBroker({ApiKey.FETCH: answers})
    assert read(broker, 4) == [0, 2]
    # It may be another one by now.
    assert len(broker.requests[ApiKey.METADATA]) == 2


def test_a_throttled_fetch_is_sent_again():
    def throttled(request: object) -> FetchResponse:
        return FetchResponse(throttle_time_ms=1)

    assert read(MemoryBroker({ApiKey.FETCH: [throttled, throttled, fetched(2, batch(0, 2))]}), 2) == [0]


def test_what_compaction_has_left_of_a_log_is_all():
    assert read(MemoryBroker({ApiKey.FETCH: [fetched(9, batch(0, 2)), fetched(9)]}), 9) == [0]


def test_an_end_that_does_not_come_is_an_error():
    with pytest.raises(KafkaError) as raised:
        read(MemoryBroker({ApiKey.FETCH: fetched(2)}), 4)
    assert raised.value.code is ErrorCode.OFFSET_NOT_AVAILABLE
