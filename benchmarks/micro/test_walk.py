"""The cost of validating produced data: `python -m pytest benchmarks/micro/test_walk.py`.

The batch is like a producer's: 16 KB of records of 100 bytes. `assign` is all that a leader does outside the fast path:
CRC, iteration, offsets, and a new codec or format if the topic requires one.
"""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.wire.records.assign import AppendTarget, Assigned, assign_offsets
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.convert import down_convert
from barnabas.wire.records.formats import batches_of_any_magic
from barnabas.wire.records.legacy import iterate_messages
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record_rules import Walked, WalkRules
from barnabas.wire.records.walk import walk_batch

RECORD_COUNT = 150
NOW_MS = 1_600_000_000_000
RULES = WalkRules(3_600_000, is_compacted=True, topic_partition="topic-0")


def build(codec: Codec = Codec.NONE) -> bytearray:
    builder = BatchBuilder(codec)
    for number in range(RECORD_COUNT):
        builder.append(NOW_MS + number, b"key", b"v" * 94)
    return builder.build()


def build_set(magic: int, codec: Codec = Codec.NONE) -> bytearray:
    builder = MessageSetBuilder(magic, codec)
    for number in range(RECORD_COUNT):
        builder.append(number, NOW_MS + number, b"key", b"v" * 94)
    return builder.build()


@pytest.mark.parametrize("codec", list(Codec))
def test_walk_150_records(benchmark: BenchmarkFixture, codec: Codec) -> None:
    view = memoryview(build(codec))
    walked = benchmark(walk_batch, view, RULES, NOW_MS)
    assert isinstance(walked, Walked)
    assert walked.record_count == RECORD_COUNT


@pytest.mark.parametrize("magic", [0, 1])
def test_walk_150_messages(benchmark: BenchmarkFixture, magic: int) -> None:
    view = memoryview(build_set(magic, Codec.LZ4))
    assert isinstance(benchmark(walk_batch, view, RULES, NOW_MS), Walked)


def test_read_150_messages(benchmark: BenchmarkFixture) -> None:
    view = memoryview(build_set(1, Codec.LZ4))
    assert len(benchmark(lambda: list(iterate_messages(view)))) == RECORD_COUNT


@pytest.mark.parametrize("codec", [None, Codec.LZ4, Codec.ZSTD])
def test_assign_150_records(benchmark: BenchmarkFixture, codec: Codec | None) -> None:
    data = build()
    target = AppendTarget(2, codec, 1 << 20, 0, 0, RULES)
    assert isinstance(benchmark(lambda: assign_offsets(data, target, NOW_MS)), Assigned)


@pytest.mark.parametrize("magic", [0, 1])
def test_convert_150_messages_up(benchmark: BenchmarkFixture, magic: int) -> None:
    data = build_set(magic)
    target = AppendTarget(2, None, 1 << 20, 0, 0, RULES)
    assert isinstance(benchmark(lambda: assign_offsets(data, target, NOW_MS)), Assigned)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_convert_150_records_down(benchmark: BenchmarkFixture, magic: int, codec: Codec) -> None:
    view = memoryview(build(codec))
    assert benchmark(lambda: list(down_convert(batches_of_any_magic(view), magic, 0)))
