"""A consumer of records that are not in the page cache: the event loop reads none of them from the disk.

Linux counts for every thread what it had fetched from the disk, so this needs no slow disk and no clock. What a
producer beside such a consumer feels of it is measured by `scripts/bench --log`, as `cold`.

Source: proc(5), /proc/pid/task/tid/io.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import Broker
from tests.patience import PATIENCE_S

COLD_BYTES = 5 << 20
RECORD_BYTES = 10_000
# Of anything else that the loop's thread may have to fetch (its own program, a page of an index).
BESIDES_BYTES = 1 << 20


def read_bytes(pid: int) -> dict[int, int]:
    """What each thread of a process has fetched from the disk, by thread."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = dict(line.split(": ") for line in (task / "io").read_text().splitlines())
        found[int(task.name)] = int(fields["read_bytes"])
    return found


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    if not Path("/proc/thread-self/io").exists():
        pytest.skip("the system does not count what a thread reads")
    with Broker(data_dir=tmp_path / "data", config={"log.segment.bytes": 1 << 20}) as running:
        yield running


def fill(broker: Broker) -> int:
    """Produce to `cold`; how many records it has."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "linger.ms": 50})
    count = COLD_BYTES // RECORD_BYTES
    for _ in range(count):
        producer.produce("cold", os.urandom(RECORD_BYTES), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return count


def drop(directory: Path) -> None:
    """Drop the files of a directory from the page cache."""
    for path in directory.iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Reads:
    """What a broker's threads fetch from the disk from now on."""

    def __init__(self, broker: Broker) -> None:
        self._pid = broker.pid
        self._before = read_bytes(self._pid)

    def by_loop(self) -> int:
        return read_bytes(self._pid)[self._pid] - self._before[self._pid]

    def by_others(self) -> int:
        now = read_bytes(self._pid)
        return sum(now[thread] - self._before.get(thread, 0) for thread in now if thread != self._pid)


def cold_consumer(broker: Broker, offset: int) -> Consumer:
    """A consumer of `cold`, of which nothing is in the page cache."""
    broker.stop()
    drop(broker.data_dir / "cold-0")
    broker.start()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0})
    consumer.assign([TopicPartition("cold", 0, offset)])
    return consumer


def skip_where_nothing_is_cold(reads: Reads, wanted_bytes: int) -> None:
    if reads.by_loop() + reads.by_others() < wanted_bytes:
        pytest.skip("the temporary directory is in memory, or on a disk that the page cache does not stand before")


def test_records_are_read_from_the_disk_by_other_threads(broker):
    count = fill(broker)
    consumer = cold_consumer(broker, 0)
    reads = Reads(broker)
    messages = consumer.consume(count, timeout=PATIENCE_S)
    assert [message.offset() for message in messages] == list(range(count))
    skip_where_nothing_is_cold(reads, COLD_BYTES)
    assert reads.by_others() > COLD_BYTES - BESIDES_BYTES
    assert reads.by_loop() < BESIDES_BYTES
    consumer.close()


def test_an_old_index_and_a_time_are_read_elsewhere_too(broker):
    count = fill(broker)
    consumer = cold_consumer(broker, count // 2)
    reads = Reads(broker)
    (found,) = consumer.offsets_for_times([TopicPartition("cold", 0, 1)], timeout=PATIENCE_S)
    assert found.offset == 0
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.offset() == count // 2
    skip_where_nothing_is_cold(reads, RECORD_BYTES)
    assert reads.by_others() > 0
    assert reads.by_loop() < reads.by_others()
    consumer.close()
