"""The cost of appending and finding batches: `python -m pytest benchmarks/micro/test_log.py`.

An append has 16 KB, like a default Java producer's; `crc and write` is the minimum that every broker must do.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import pack_into

import pytest
from crc32c import crc32c
from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import set_crc
from barnabas.wire.records.builder import BatchBuilder


@pytest.fixture
def log(tmp_path: Path) -> Iterator[PartitionLog]:
    env = LogEnvironment(SystemClock(), ManualClock(), InlineExecutor())
    config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "benchmark"))
    yield (opened := open_log(env, TopicPartition("t", 0), tmp_path / "t-0", config))
    opened.release()


def build(record_count: int, value_bytes: int, **producer: int) -> memoryview:
    builder = BatchBuilder(**producer)
    for _ in range(record_count):
        builder.append(1_600_000_000_000, None, bytes(value_bytes))
    return memoryview(builder.build())


@pytest.mark.parametrize(("record_count", "value_bytes"), [(16, 1000), (1, 100)], ids=["16KB", "100B"])
def test_append(benchmark: BenchmarkFixture, log: PartitionLog, record_count: int, value_bytes: int) -> None:
    batch = build(record_count, value_bytes)

    def append() -> None:
        pack_into(">q", batch, 0, 0)
        assert not log.append(batch, 0).error_code

    benchmark.pedantic(append, iterations=1000, rounds=10, warmup_rounds=1)


@pytest.mark.parametrize(("record_count", "value_bytes"), [(16, 1000), (1, 100)], ids=["16KB", "100B"])
def test_crc_and_write(benchmark: BenchmarkFixture, tmp_path: Path, record_count: int, value_bytes: int) -> None:
    batch = build(record_count, value_bytes)
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def write() -> None:
        crc32c(batch[21:])
        os.write(fd, batch)

    benchmark.pedantic(write, iterations=1000, rounds=10, warmup_rounds=1)
    os.close(fd)


def test_append_idempotent(benchmark: BenchmarkFixture, log: PartitionLog) -> None:
    batch = build(1, 100, producer_id=1, producer_epoch=0, base_sequence=0)
    sequence = 0

    def append() -> None:
        nonlocal sequence
        pack_into(">q", batch, 0, 0)
        pack_into(">i", batch, 53, sequence)
        set_crc(batch, 0, len(batch))
        sequence += 1
        assert not log.append(batch, 0).error_code

    benchmark.pedantic(append, iterations=1000, rounds=10, warmup_rounds=1)


@pytest.mark.parametrize("place", ["tail", "middle"])
def test_read(benchmark: BenchmarkFixture, log: PartitionLog, place: str) -> None:
    batch = build(1, 1000)
    for _ in range(5000):
        pack_into(">q", batch, 0, 0)
        log.append(batch, 0)
    offset = 4990 if place == "tail" else 2503

    assert benchmark(log.read, offset, 1 << 20, 5000) is not None


def test_recover_64_mb(benchmark: BenchmarkFixture, log: PartitionLog, tmp_path: Path) -> None:
    batch = build(16, 1000)
    for _ in range(4096):
        pack_into(">q", batch, 0, 0)
        log.append(batch, 0)
    env = LogEnvironment(SystemClock(), ManualClock(), InlineExecutor())

    recovered = benchmark.pedantic(open_log, (env, log.topic_partition, log.directory, log.config), rounds=3)
    assert recovered.log_end_offset == log.log_end_offset
