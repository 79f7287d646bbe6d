"""A segment that is damaged costs its readers what is damaged, and nobody else anything."""

import asyncio
import struct
import time
from pathlib import Path

import pytest

from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tests.compat.clients import FACTORIES, Client, Message
from tests.compat.conftest import RunningBroker, StartBroker

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TIMEOUT_S = 120  # both look for old segments 30 s after their start for the first time
HOUR_MS = 3_600_000
BATCHES_PER_SEGMENT = 3
SEGMENT_COUNT = 4
END_OFFSET = BATCHES_PER_SEGMENT * SEGMENT_COUNT
NOT_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def fill(client: Client, topic: str, timestamp_ms: int) -> None:
    client.create_topic(topic, 1, {"segment.bytes": "3500", "retention.ms": str(HOUR_MS)})
    for _ in range(END_OFFSET):
        client.produce(topic, [Message(b"v" * 1_000, partition=0, timestamp_ms=timestamp_ms)])


def damage_first_segment(directory: Path, index: bytes) -> None:
    """Let its second batch have no length, and give it an offset index and an empty time index."""
    path = min(directory.glob("*.log"))
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack_from(">i", data, 8)
    struct.pack_into(">i", data, 12 + length + 8, 0)
    path.write_bytes(data)
    path.with_suffix(".index").write_bytes(index)
    path.with_suffix(".timeindex").write_bytes(b"")


async def fetch(broker: RunningBroker, topic: str, offset: int) -> ErrorCode:
    """The error of a fetch, as soon as the broker has taken the partition over."""
    host, port = broker.bootstrap_servers.split(":")
    channel = await Channel.connect(host, int(port), "test")
    wanted = FetchTopic(topic, partitions=[FetchPartition(0, fetch_offset=offset, partition_max_bytes=1_000)])
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1_000_000, topics=[wanted])
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = await channel.send(request, FetchResponse, max_version=11)
            error_code = ErrorCode(answer.responses[0].partitions[0].error_code)
            if error_code not in NOT_YET or time.monotonic() > deadline:
                return error_code
            await asyncio.sleep(0.05)
    finally:
        await channel.close()


def errors(broker: RunningBroker, topic: str) -> list[str]:
    return [asyncio.run(fetch(broker, topic, offset)).name for offset in range(END_OFFSET)]


def test_only_what_is_damaged_cannot_be_read(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(**{"log.retention.check.interval.ms": "500"})
    now_ms = int(time.time() * 1000)
    bad, worse, good, old = (f"{name}-{kind}" for kind in ("bad", "worse", "good", "old"))
    client = FACTORIES["librdkafka"](broker.bootstrap_servers)
    for topic in (bad, worse, good):
        fill(client, topic, now_ms)
    client.close()
    broker.stop()
    damage_first_segment(broker.data_dir / f"{bad}-0", b"")
    # Kafka believes this index, and finds nothing there without an error; we look into the segment.
    damage_first_segment(broker.data_dir / f"{worse}-0", struct.pack(">ii", 1, 1 << 30))
    broker.restart()
    assert errors(broker, good) == ["NONE"] * END_OFFSET
    damaged = ["CORRUPT_MESSAGE"] * (BATCHES_PER_SEGMENT - 1)
    assert errors(broker, bad) == ["NONE", *damaged, *["NONE"] * (END_OFFSET - BATCHES_PER_SEGMENT)]

    client = FACTORIES["librdkafka"](broker.bootstrap_servers)
    try:
        assert client.produce(bad, [Message(b"v", partition=0)]) == [(0, END_OFFSET)]
        # Retention looks at the damaged logs, too, and gets on with the others.
        fill(client, old, now_ms - 24 * HOUR_MS)
        deadline = time.monotonic() + TIMEOUT_S
        while (broker.data_dir / f"{old}-0" / f"{0:020d}.log").exists():
            assert time.monotonic() < deadline, "old segments were not deleted"
            time.sleep(0.05)
        assert client.produce(bad, [Message(b"v", partition=0)]) == [(0, END_OFFSET + 1)]
        assert client.produce(worse, [Message(b"v", partition=0)]) == [(0, END_OFFSET)]
        assert errors(broker, good) == ["NONE"] * END_OFFSET
    finally:
        client.close()
