"""The cost of a follower's append: `python -m pytest benchmarks/micro/test_copies.py`.

A follower fetches a run of 1 MB of a partition (replica.fetch.max.bytes). `check` is the pass over its headers with the
CRCs, `append` also includes the write; `crc and write` is the minimum that every follower must do.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import pack_into

import pytest
from crc32c import crc32c
from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.broker.log.appends.replicated_batches import check_replicated_batches
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.builder import BatchBuilder

RUN_BYTES = 1_000_000
SIZES = pytest.mark.parametrize(
    ("record_count", "value_bytes"), [(1, 120), (16, 1000), (1000, 1000)], ids=["200B", "16KB", "1MB"]
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[PartitionLog]:
    env = LogEnvironment(SystemClock(), ManualClock(), InlineExecutor())
    config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "benchmark"))
    yield (opened := open_log(env, TopicPartition("t", 0), tmp_path / "t-0", config))
    opened.release()


def build_run(record_count: int, value_bytes: int) -> tuple[memoryview, list[int]]:
    """Return a run of about 1 MB, and the positions of its batches."""
    builder = BatchBuilder()
    for _ in range(record_count):
        builder.append(1_600_000_000_000, None, os.urandom(value_bytes))
    batch = builder.build()
    run, positions = bytearray(), []
    for number in range(max(RUN_BYTES // len(batch), 1)):
        pack_into(">q", batch, 0, number * record_count)
        positions.append(len(run))
        run += batch
    return memoryview(run), positions


@SIZES
def test_check(benchmark: BenchmarkFixture, record_count: int, value_bytes: int) -> None:
    run, positions = build_run(record_count, value_bytes)

    assert benchmark(check_replicated_batches, run, 0).batch_count == len(positions)


@SIZES
def test_append(benchmark: BenchmarkFixture, log: PartitionLog, record_count: int, value_bytes: int) -> None:
    run, positions = build_run(record_count, value_bytes)

    def number() -> tuple[tuple[memoryview], dict[str, object]]:
        for index, position in enumerate(positions):
            pack_into(">q", run, position, log.log_end_offset + index * record_count)
        return (run,), {}

    def append(data: memoryview) -> None:
        assert log.append_as_follower(check_replicated_batches(data, log.log_end_offset)) is None

    benchmark.pedantic(append, setup=number, rounds=200, warmup_rounds=5)


@SIZES
def test_crc_and_write(benchmark: BenchmarkFixture, tmp_path: Path, record_count: int, value_bytes: int) -> None:
    run, positions = build_run(record_count, value_bytes)
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    ends = [*positions[1:], len(run)]

    def write() -> None:
        for start, end in zip(positions, ends, strict=True):
            crc32c(run[start + 21 : end])
        os.write(fd, run)

    benchmark.pedantic(write, rounds=200, warmup_rounds=5)
    os.close(fd)
