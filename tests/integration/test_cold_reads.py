"""A consumer of records that are not in the page cache, on a slow disk: nobody else waits for it.

The disk is made slow by the kernel (the blkio controller): a read of 1 MB takes half a second, and would stop the
event loop for as long if it were made there.
"""

import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import Broker

CONTROLLER = Path("/sys/fs/cgroup/blkio")
READ_BYTES_PER_S = 2 << 20
COLD_BYTES = 5 << 20
RECORD_BYTES = 10_000
# A read on the event loop would take 500 ms.
LONGEST_STALL_MS = 300
PATIENCE_S = 60


class SlowDisk:
    """A group of processes that read slowly."""

    def __init__(self, group: Path, device: str) -> None:
        self._group = group
        self._device = device

    def slow_down(self, pid: int) -> None:
        (self._group / "blkio.throttle.read_bps_device").write_text(f"{self._device} {READ_BYTES_PER_S}")
        (self._group / "cgroup.procs").write_text(str(pid))


@pytest.fixture
def slow_disk(tmp_path: Path) -> Iterator[SlowDisk]:
    device = os.stat(tmp_path).st_dev
    group = CONTROLLER / f"barnabas-{uuid.uuid4()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("a disk can be slowed down by root only, with the blkio controller")
    try:
        device_name = f"{os.major(device)}:{os.minor(device)}"
        try:
            (group / "blkio.throttle.read_bps_device").write_text(f"{device_name} {READ_BYTES_PER_S}")
        except OSError:
            pytest.skip("the temporary directory is on no disk of its own")
        yield SlowDisk(group, device_name)
    finally:
        # The broker has ended, or its processes would keep the group.
        group.rmdir()


@pytest.fixture
def broker(tmp_path: Path, slow_disk: SlowDisk) -> Iterator[Broker]:
    with Broker(data_dir=tmp_path / "data") as running:
        yield running


def fill(broker: Broker) -> int:
    """Produce to `cold`, and make `hot`; how many records `cold` has."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "linger.ms": 50})
    count = COLD_BYTES // RECORD_BYTES
    for _ in range(count):
        producer.produce("cold", os.urandom(RECORD_BYTES), partition=0)
    producer.produce("hot", b"first")
    assert producer.flush(PATIENCE_S) == 0
    return count


def drop(directory: Path) -> None:
    """Drop the files of a directory from the page cache."""
    for path in directory.iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Reading(threading.Thread):
    """Reads `cold` from its beginning."""

    def __init__(self, broker: Broker, count: int) -> None:
        super().__init__(daemon=True)
        self._count = count
        self._consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0})
        self._consumer.assign([TopicPartition("cold", 0, 0)])
        self.read_count = 0
        self.elapsed_s = 0.0

    def run(self) -> None:
        start = time.monotonic()
        while self.read_count < self._count and time.monotonic() < start + PATIENCE_S:
            message = self._consumer.poll(1)
            if message is not None and message.error() is None:
                self.read_count += 1
        self.elapsed_s = time.monotonic() - start
        self._consumer.close()


def produce_while(broker: Broker, reading: Reading) -> list[float]:
    """Produce one record after the other; how long each was on its way, in ms, from the shortest on."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "linger.ms": 0})
    times_ms = []
    while reading.is_alive():
        start = time.monotonic()
        producer.produce("hot", b"x" * 100)
        assert producer.flush(PATIENCE_S) == 0
        times_ms.append(1_000 * (time.monotonic() - start))
    return sorted(times_ms[1:])


def longest_stall_ms(broker: Broker) -> int:
    """What the broker said when it last stopped."""
    return int(re.findall(r"longest stall of the event loop: (\d+) ms", broker.log_text())[-1])


def test_a_producer_does_not_wait_for_a_consumer_of_cold_records(broker, slow_disk):
    count = fill(broker)
    # What the loop waited for meanwhile is another matter.
    broker.stop()
    drop(broker.data_dir / "cold-0")
    broker.start()
    slow_disk.slow_down(broker.pid)
    reading = Reading(broker, count)
    reading.start()
    times_ms = produce_while(broker, reading)
    reading.join()
    assert reading.read_count == count
    assert reading.elapsed_s > 0.5 * COLD_BYTES / READ_BYTES_PER_S, "the disk was not slow"
    assert times_ms[len(times_ms) * 99 // 100] < LONGEST_STALL_MS
    broker.stop()
    assert longest_stall_ms(broker) < LONGEST_STALL_MS


def test_an_old_index_and_a_time_are_read_elsewhere_too(tmp_path, slow_disk):
    with Broker(data_dir=tmp_path / "data", config={"log.segment.bytes": 1 << 20}) as broker:
        count = fill(broker)
        broker.stop()
        drop(broker.data_dir / "cold-0")
        broker.start()
        slow_disk.slow_down(broker.pid)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0})
        (found,) = consumer.offsets_for_times([TopicPartition("cold", 0, 1)], timeout=PATIENCE_S)
        assert found.offset == 0
        consumer.assign([TopicPartition("cold", 0, count // 2)])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.offset() == count // 2
        consumer.close()
        broker.stop()
        assert longest_stall_ms(broker) < LONGEST_STALL_MS
