"""The measurements; each work has its own broker and returns figures by name.

The unit ends each name; CPU is the broker's user and system time.
"""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.load.process import cpu, resident_mb
from benchmarks.log_numbers.brokers import Measured
from benchmarks.log_numbers.wire import Wire, list_offsets, listed, produce, produce_error, wait_until_led
from tools.kafka.java import die_with_parent

Figures = dict[str, float]

_RECORD_BYTES = 1_000
_SEGMENT_COUNT, _SEGMENT_BYTES = 1_000, 1 << 20
_TOPIC_COUNT, _PARTITIONS_A_TOPIC = 20, 100
_LOOKUP_COUNT = 2_000
_QUIET_S = 10.0


class Sizes(NamedTuple):
    """Options of the command line.

    Attributes:
        cold_gb: Amount of data that the lagging consumer reads.
    """

    cold_gb: float


def _fill(broker: Measured, topic: str, size_bytes: int, **settings: str) -> range:
    """Produce records of 1,000 bytes, with timestamps a millisecond apart; return the timestamps."""
    producer = Producer(
        {"bootstrap.servers": broker.address, "acks": "1", "linger.ms": "5", "log_level": 0}
        | {"queue.buffering.max.messages": 300_000}
        | {name.replace("_", "."): value for name, value in settings.items()}
    )
    value = os.urandom(_RECORD_BYTES)
    now_ms = int(time.time() * 1000)
    timestamps_ms = range(now_ms - size_bytes // _RECORD_BYTES, now_ms)
    for timestamp_ms in timestamps_ms:
        while True:
            try:
                producer.produce(topic, value, partition=0, timestamp=timestamp_ms)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(300):
        raise RuntimeError("not everything was acknowledged")
    return timestamps_ms


def _create(broker: Measured, topics: dict[str, int], **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    named = {name.replace("_", "."): value for name, value in config.items()}
    new = [NewTopic(topic, count, 1, config=named) for topic, count in topics.items()]
    for future in admin.create_topics(new, operation_timeout=120, request_timeout=150).values():
        future.result()
    wait_until_led(broker.address, topics, lambda: False)


def segments(broker: Measured, sizes: Sizes) -> Figures:
    """A log of 1,000 segments of 1 MB: reads by time, kill and restart; all data in the page cache."""
    topic = "segments"
    broker.start()
    _create(broker, {topic: 1}, segment_bytes=str(_SEGMENT_BYTES))
    # Batches of 16 KB, like the Java producer's.
    timestamps_ms = _fill(broker, topic, _SEGMENT_COUNT * _SEGMENT_BYTES, batch_size="16384")
    found = len(list((broker.directory / "data" / f"{topic}-0").glob("*.log")))
    if found < _SEGMENT_COUNT:
        raise RuntimeError(f"{found} segments")
    figures = _lookups(broker, topic, timestamps_ms)
    broker.kill()
    figures["restart_killed_s"] = broker.start_and_serve_s({topic: 1})
    broker.stop()
    figures["restart_clean_s"] = broker.start_and_serve_s({topic: 1})
    # The broker's memory contains no data of older segments now.
    wire = Wire(broker.address)
    start = time.perf_counter()
    wire.ask(list_offsets({topic: 1}, timestamps_ms[len(timestamps_ms) // 2]))
    figures["first_lookup_ms"] = (time.perf_counter() - start) * 1e3
    wire.close()
    return figures


def _lookups(broker: Measured, topic: str, timestamps_ms: range) -> Figures:
    chosen = random.Random(1)
    times_s: list[float] = []
    wire = Wire(broker.address)
    for number in range(2 * _LOOKUP_COUNT):
        if number == _LOOKUP_COUNT:
            # The first half warmed up the JVM.
            times_s.clear()
            before_s = cpu(broker.pid)
        request = list_offsets({topic: 1}, chosen.choice(timestamps_ms))
        start = time.perf_counter()
        answer = wire.ask(request)
        times_s.append(time.perf_counter() - start)
        ((error, offset),) = listed(answer)
        if error or offset < 0:
            raise RuntimeError(f"error {error}, offset {offset}")
    used_s = cpu(broker.pid) - before_s
    wire.close()
    times_s.sort()
    return {
        "lookup_p50_us": times_s[_LOOKUP_COUNT // 2] * 1e6,
        "lookup_p99_us": times_s[_LOOKUP_COUNT * 99 // 100] * 1e6,
        "lookup_cpu": used_s / _LOOKUP_COUNT * 1e6,
    }


def partitions(broker: Measured, sizes: Sizes) -> Figures:
    """2,000 partitions with a record each: clean stop and restart."""
    topics = {f"topic-{number}": _PARTITIONS_A_TOPIC for number in range(_TOPIC_COUNT)}
    broker.start()
    for topic in topics:
        _create(broker, {topic: _PARTITIONS_A_TOPIC})
    producer = Producer({"bootstrap.servers": broker.address, "acks": "1", "log_level": 0})
    for topic, count in topics.items():
        for partition in range(count):
            producer.produce(topic, b"x" * 100, partition=partition)
    if producer.flush(120):
        raise RuntimeError("not everything was acknowledged")
    start = time.perf_counter()
    broker.stop()
    stop_s = time.perf_counter() - start
    clean_s = broker.start_and_serve_s(topics)
    resident = resident_mb(broker.pid)
    broker.kill()
    return {
        "partitions_clean_s": clean_s,
        "partitions_stop_s": stop_s,
        "partitions_mb": resident,
        "partitions_killed_s": broker.start_and_serve_s(topics),
    }


def cold(broker: Measured, sizes: Sizes) -> Figures:
    """A producer of 100 bytes at a time, alone, and beside a consumer of data outside the page cache."""
    size_bytes = int(sizes.cold_gb * 1e9)
    broker.start()
    _create(broker, {"cold": 1, "hot": 1}, segment_bytes=str(256 << 20))
    _fill(broker, "cold", size_bytes)
    for _ in _latencies_s(broker, 2.0):
        pass
    _settle(broker)
    alone = sorted(_latencies_s(broker, _QUIET_S))
    _settle(broker)
    reader = ["kcat", "-b", broker.address, "-C", "-t", "cold", "-p", "0", "-o", "beginning", "-e", "-q"]
    before_s, start = cpu(broker.pid), time.perf_counter()
    with subprocess.Popen(reader, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent) as process:
        beside = sorted(_latencies_s(broker, 600.0, lambda: process.poll() is not None))
        elapsed_s = time.perf_counter() - start
        if process.wait():
            raise RuntimeError("kcat failed")
    return {
        "alone_p50_us": _quantile_us(alone, 0.5),
        "alone_p99_us": _quantile_us(alone, 0.99),
        "beside_p50_us": _quantile_us(beside, 0.5),
        "beside_p99_us": _quantile_us(beside, 0.99),
        "beside_p999_us": _quantile_us(beside, 0.999),
        "beside_max_ms": beside[-1] * 1e3,
        "moved_p99": _quantile_us(beside, 0.99) / _quantile_us(alone, 0.99),
        "cold_mb_per_s": size_bytes / elapsed_s / 1e6,
        "cold_cpu": cpu(broker.pid) - before_s,
    }


def _settle(broker: Measured) -> None:
    """Write back dirty pages, and drop the cold topic from the page cache."""
    os.sync()
    drop(broker.directory / "data" / "cold-0")


def drop(directory: Path) -> None:
    """Drop the files of a directory from the page cache; dirty pages stay."""
    for path in directory.iterdir():
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def _latencies_s(broker: Measured, longest_s: float, is_over: Callable[[], bool] = lambda: False) -> Iterator[float]:
    """Produce records in sequence, 1 ms apart; yield the latency of each."""
    wire, request = Wire(broker.address), produce("hot", b"x" * 100)
    end = time.perf_counter() + longest_s
    while (start := time.perf_counter()) < end and not is_over():
        error = produce_error(wire.ask(request), "hot")
        yield time.perf_counter() - start
        if error:
            raise RuntimeError(f"produce error {error}")
        # Without the pause, a closed loop would see each stall once, hidden among thousands of fast requests.
        time.sleep(0.001)
    wire.close()


def _quantile_us(sorted_s: list[float], part: float) -> float:
    return sorted_s[min(len(sorted_s) - 1, int(len(sorted_s) * part))] * 1e6


def default_cold_gb(place: Path | None) -> float:
    """Return 4 GB, or a fifth of the disk's free space."""
    free_bytes = shutil.disk_usage(place or "/tmp").free
    return min(4.0, free_bytes / 5e9)


WORKS: dict[str, Callable[[Measured, Sizes], Figures]] = {"segments": segments, "partitions": partitions, "cold": cold}
