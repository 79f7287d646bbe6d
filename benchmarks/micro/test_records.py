"""The cost of reading and building batches: `python -m pytest benchmarks/micro/test_records.py`.

The batch is like a producer's: 16 KB of records of 100 bytes.
"""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.wire.records.batch import Codec, is_crc_valid, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.record import iterate_records

RECORD_COUNT = 150


def build(codec: Codec = Codec.NONE) -> bytearray:
    builder = BatchBuilder(codec)
    for number in range(RECORD_COUNT):
        builder.append(1_600_000_000_000 + number, b"key", b"v" * 94)
    return builder.build()


def test_read_header(benchmark: BenchmarkFixture) -> None:
    view = memoryview(build())
    assert benchmark(read_header, view, 0).record_count == RECORD_COUNT


def test_check_crc(benchmark: BenchmarkFixture) -> None:
    view = memoryview(build())
    assert benchmark(is_crc_valid, view, 0, len(view))


@pytest.mark.parametrize("codec", list(Codec))
def test_read_150_records(benchmark: BenchmarkFixture, codec: Codec) -> None:
    view = memoryview(build(codec))
    assert len(benchmark(lambda: list(iterate_records(view)))) == RECORD_COUNT


@pytest.mark.parametrize("codec", list(Codec))
def test_build_150_records(benchmark: BenchmarkFixture, codec: Codec) -> None:
    assert read_header(benchmark(build, codec)).record_count == RECORD_COUNT
