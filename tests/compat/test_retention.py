"""What retention leaves of logs with limits in time and in bytes; and what a damaged segment costs.

That is its readers what is damaged, and nobody else anything. Brokers look for old segments 30 s after their start for
the first time, so there is one broker for all of this.
"""

import asyncio
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tests.compat.clients import FACTORIES, Client, Message
from tests.compat.conftest import RunningBroker, started
from tests.patience import until

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TIMEOUT_S = 120
HOUR_MS = 3_600_000
SEGMENT_COUNT = 10
OLD_COUNT = 5
VALUE_BYTES = 1_000
SEGMENT_BYTES = 1_075  # roughly, with one such record in a batch of its own

BATCHES_PER_SEGMENT = 3
END_OFFSET = 4 * BATCHES_PER_SEGMENT
NOT_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class Case(NamedTuple):
    """A topic's settings, and how many of its ten segments stay, five of which are a day old."""

    retention_ms: int
    retention_bytes: int
    kept_count: int


CASES = {
    "both-time-decides": Case(HOUR_MS, 5 * SEGMENT_BYTES - SEGMENT_BYTES // 2, 5),
    "both-size-decides": Case(HOUR_MS, 3 * SEGMENT_BYTES - SEGMENT_BYTES // 2, 3),
    "time": Case(HOUR_MS, -1, 5),
    "size": Case(-1, 7 * SEGMENT_BYTES - SEGMENT_BYTES // 2, 7),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """A broker with a good log, and two whose first segment is damaged."""
    with started({"log.retention.check.interval.ms": "500"}) as running:
        client = FACTORIES["librdkafka"](running.bootstrap_servers)
        for topic in ("bad", "worse", "good"):
            fill(client, topic, int(time.time() * 1000))
        client.close()
        running.stop()
        damage_first_segment(running.data_dir / "bad-0", b"")
        # Kafka believes this index, and finds nothing there without an error; we look into the segment.
        damage_first_segment(running.data_dir / "worse-0", struct.pack(">ii", 1, 1 << 30))
        running.restart()
        yield running


@pytest.fixture(scope="module")
def client(broker: RunningBroker) -> Iterator[Client]:
    made = FACTORIES["librdkafka"](broker.bootstrap_servers)
    yield made
    made.close()


def write(client: Client, topic: str, count: int, timestamp_ms: int) -> None:
    """One segment for each record."""
    for _ in range(count):
        client.produce(topic, [Message(b"v" * VALUE_BYTES, partition=0, timestamp_ms=timestamp_ms)])


def create(client: Client, topic: str, retention_ms: int, retention_bytes: int) -> None:
    limits = {"retention.ms": str(retention_ms), "retention.bytes": str(retention_bytes)}
    client.create_topic(topic, 1, {"segment.bytes": str(SEGMENT_BYTES * 3 // 2), **limits})


def base_offsets(broker: RunningBroker, topic: str) -> list[int]:
    return sorted(int(path.stem) for path in Path(broker.data_dir, f"{topic}-0").glob("*.log"))


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


# Ten segments without a broker: tests/unit/broker/log/test_log_retention.py, tests/property/test_retention.py; a broker
# that looks for them by a simulated clock: tests/simulation/test_loop_and_disk.py.
@pytest.mark.whole
def test_the_size_counts_what_the_time_has_left(broker: RunningBroker, client: Client) -> None:
    now_ms = int(time.time() * 1000)
    for case, settings in CASES.items():
        create(client, case, settings.retention_ms, settings.retention_bytes)
        write(client, case, OLD_COUNT, now_ms - 24 * HOUR_MS)
        write(client, case, SEGMENT_COUNT - OLD_COUNT, now_ms)
    for case in CASES:
        until(lambda case=case: base_offsets(broker, case)[:1] != [0])
    # What is deleted of this one is deleted after the others were seen to the end.
    create(client, "last", HOUR_MS, -1)
    write(client, "last", 2, now_ms - 24 * HOUR_MS)
    until(lambda: base_offsets(broker, "last")[:1] != [0])

    kept = {case: base_offsets(broker, case) for case in CASES}
    assert kept == {
        case: list(range(SEGMENT_COUNT - settings.kept_count, SEGMENT_COUNT)) for case, settings in CASES.items()
    }
    for case in CASES:
        consumer = client.consumer(case, case)
        records = consumer.poll(10_000)
        consumer.close()
        assert records[0].offset == kept[case][0], "the log starts where its first segment does"


def test_only_what_is_damaged_cannot_be_read(broker: RunningBroker, client: Client) -> None:
    assert errors(broker, "good") == ["NONE"] * END_OFFSET
    damaged = ["CORRUPT_MESSAGE"] * (BATCHES_PER_SEGMENT - 1)
    assert errors(broker, "bad") == ["NONE", *damaged, *["NONE"] * (END_OFFSET - BATCHES_PER_SEGMENT)]
    assert client.produce("bad", [Message(b"v", partition=0)]) == [(0, END_OFFSET)]


@pytest.mark.whole
def test_retention_gets_on_with_other_logs_beside_damaged_ones(broker: RunningBroker, client: Client) -> None:
    fill(client, "old", int(time.time() * 1000) - 24 * HOUR_MS)
    until(lambda: base_offsets(broker, "old")[:1] != [0])
    assert client.produce("worse", [Message(b"v", partition=0)]) == [(0, END_OFFSET)]
    assert errors(broker, "good") == ["NONE"] * END_OFFSET
