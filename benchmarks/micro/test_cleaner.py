"""The cost of compaction without reading and writing: `python -m pytest benchmarks/micro/test_cleaner.py`.

Batches of 16 records of 1 KB under 100,000 keys; divide by 16 for a record. `benchmarks.load.compaction` measures whole
rounds beside Kafka's.
"""

import random

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.broker.log.cleaner.offset_map import HashTable, OffsetMap
from barnabas.broker.log.cleaner.record_scan import choose_kept, choose_marked, read_keys, rebase_timestamps
from barnabas.wire.records.batch import HEADER_BYTES
from barnabas.wire.records.builder import BatchBuilder

COUNT = 16


@pytest.fixture
def batch() -> bytes:
    dice, builder = random.Random(1), BatchBuilder()
    for number in range(COUNT):
        builder.append(1_600_000_000_000 + number, b"key-%08d" % dice.randrange(100_000), bytes(1000))
    return bytes(builder.build())


def test_read_keys(benchmark: BenchmarkFixture, batch: bytes) -> None:
    benchmark(read_keys, batch, HEADER_BYTES, len(batch), COUNT, 0)


def test_choose_kept(benchmark: BenchmarkFixture, batch: bytes) -> None:
    newest = {b"key-%08d" % number: number for number in range(100_000)}
    benchmark(choose_kept, batch, HEADER_BYTES, len(batch), COUNT, 0, newest.get, len(newest), keeps_tombstones=True)


def test_choose_marked(benchmark: BenchmarkFixture, batch: bytes) -> None:
    stays = bytes([0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0])
    benchmark(choose_marked, batch, HEADER_BYTES, COUNT, 0, stays, keeps_tombstones=True)


def test_rebase_timestamps(benchmark: BenchmarkFixture, batch: bytes) -> None:
    # Without the first record, so that each delta changes.
    record_bytes = (len(batch) - HEADER_BYTES) // COUNT
    benchmark(rebase_timestamps, batch[HEADER_BYTES + record_bytes :], is_log_append_time=False)


@pytest.mark.parametrize("kind", ["dict", "table"])
def test_put_and_get(benchmark: BenchmarkFixture, kind: str) -> None:
    keys = [b"key-%08d" % number for number in range(100_000)]
    offsets = list(range(len(keys)))

    def put_and_get() -> None:
        if kind == "dict":
            newest = OffsetMap(128 << 20, 0.9)
            newest.put_all(keys, offsets)
            get = newest.get
        else:
            table = HashTable(200_003)
            table.put_all(keys, offsets, len(keys))
            get = table.get
        for key in keys:
            get(key, -1)

    benchmark.pedantic(put_and_get, rounds=3)
