"""What retention leaves of a log with a limit in time and in bytes."""

import time
from pathlib import Path
from typing import NamedTuple

from tests.compat.clients import FACTORIES, Client, Message
from tests.compat.conftest import RunningBroker, StartBroker

TIMEOUT_S = 120  # both look for old segments 30 s after their start for the first time
HOUR_MS = 3_600_000
SEGMENT_COUNT = 10
OLD_COUNT = 5
VALUE_BYTES = 1_000
SEGMENT_BYTES = 1_075  # roughly, with one such record in a batch of its own


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


def write(client: Client, topic: str, count: int, timestamp_ms: int) -> None:
    """One segment for each record."""
    for _ in range(count):
        client.produce(topic, [Message(b"v" * VALUE_BYTES, partition=0, timestamp_ms=timestamp_ms)])


def create(client: Client, topic: str, retention_ms: int, retention_bytes: int) -> None:
    limits = {"retention.ms": str(retention_ms), "retention.bytes": str(retention_bytes)}
    client.create_topic(topic, 1, {"segment.bytes": str(SEGMENT_BYTES * 3 // 2), **limits})


def base_offsets(broker: RunningBroker, topic: str) -> list[int]:
    return sorted(int(path.stem) for path in Path(broker.data_dir, f"{topic}-0").glob("*.log"))


def wait_until_something_is_deleted(broker: RunningBroker, topic: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while base_offsets(broker, topic)[:1] == [0]:
        assert time.monotonic() < deadline, f"nothing of {topic} was deleted"
        time.sleep(0.05)


def test_the_size_counts_what_the_time_has_left(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(**{"log.retention.check.interval.ms": "500"})
    client = FACTORIES["librdkafka"](broker.bootstrap_servers)
    now_ms = int(time.time() * 1000)
    try:
        for case, settings in CASES.items():
            create(client, f"{name}-{case}", settings.retention_ms, settings.retention_bytes)
            write(client, f"{name}-{case}", OLD_COUNT, now_ms - 24 * HOUR_MS)
            write(client, f"{name}-{case}", SEGMENT_COUNT - OLD_COUNT, now_ms)
        for case in CASES:
            wait_until_something_is_deleted(broker, f"{name}-{case}")
        # What is deleted of this one is deleted after the others were seen to the end.
        create(client, f"{name}-last", HOUR_MS, -1)
        write(client, f"{name}-last", 2, now_ms - 24 * HOUR_MS)
        wait_until_something_is_deleted(broker, f"{name}-last")

        kept = {case: base_offsets(broker, f"{name}-{case}") for case in CASES}
        assert kept == {
            case: list(range(SEGMENT_COUNT - settings.kept_count, SEGMENT_COUNT)) for case, settings in CASES.items()
        }
        for case in CASES:
            consumer = client.consumer(f"{name}-{case}", f"{name}-{case}")
            records = consumer.poll(10_000)
            consumer.close()
            assert records[0].offset == kept[case][0], "the log starts where its first segment does"
    finally:
        client.close()
