"""When a fetch that wants more bytes than there are is answered."""

import asyncio
from contextlib import closing

import pytest

from barnabas.clients.channel import Channel
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.wire.records.batch import batches, read_header
from tests.compat.clients import FACTORIES, Message
from tests.compat.conftest import RunningBroker

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

SEGMENT_COUNT = 6
RECORDS_PER_SEGMENT = 3
MAX_WAIT_MS = 60_000
MIN_BYTES = 1 << 20


def fill(broker: RunningBroker, topic: str) -> None:
    """A few segments with three batches each."""
    with closing(FACTORIES["librdkafka"](broker.bootstrap_servers)) as client:
        client.create_topic(topic, 1, {"segment.bytes": "3500"})
        for _ in range(SEGMENT_COUNT * RECORDS_PER_SEGMENT):
            client.produce(topic, [Message(b"v" * 1_000, partition=0)])


async def fetch(channel: Channel, topic: str, offset: int, max_wait_ms: int = MAX_WAIT_MS) -> PartitionData:
    wanted = FetchTopic(topic, partitions=[FetchPartition(0, fetch_offset=offset, partition_max_bytes=MIN_BYTES)])
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=MIN_BYTES, max_bytes=2 * MIN_BYTES, topics=[wanted])
    answer = await channel.send(request, FetchResponse, max_version=11, timeout_ms=2 * MAX_WAIT_MS)
    (data,) = answer.responses[0].partitions
    assert data.error_code == 0
    return data


async def read_older_segments(broker: RunningBroker, topic: str) -> list[list[int]]:
    """The base offsets of each answer, up to the last segment, none of which has so many bytes as were asked for."""
    host, port = broker.bootstrap_servers.split(":")
    connect = [Channel.connect(host, int(port), "test") for _ in range(2)]
    reading, waiting = await asyncio.gather(*connect)
    end_offset = SEGMENT_COUNT * RECORDS_PER_SEGMENT
    try:
        at_the_end = asyncio.create_task(fetch(waiting, topic, end_offset, MAX_WAIT_MS // 2))
        offset, answers = 0, []
        while offset < end_offset - RECORDS_PER_SEGMENT:
            data = await fetch(reading, topic, offset)
            assert isinstance(data.records, memoryview)
            assert len(data.records) < MIN_BYTES
            headers = [read_header(batch) for batch in batches(data.records)]
            answers.append([header.base_offset for header in headers])
            offset = headers[-1].last_offset + 1
            # Nothing comes for that one, and it waits half as long: who waits in an older segment is answered after it.
            assert not at_the_end.done(), f"the fetch that was answered with {answers[-1]} waited"
        at_the_end.cancel()
        await asyncio.gather(at_the_end, return_exceptions=True)
        return answers
    finally:
        await reading.close()
        await waiting.close()


def test_older_segments_are_read_without_waiting(cluster: RunningBroker, name: str) -> None:
    fill(cluster, name)
    answers = asyncio.run(read_older_segments(cluster, name))
    starts = range(0, (SEGMENT_COUNT - 1) * RECORDS_PER_SEGMENT, RECORDS_PER_SEGMENT)
    assert answers == [list(range(start, start + RECORDS_PER_SEGMENT)) for start in starts]
