"""Topics in numbers."""

import pytest

from barnabas.core.types import TopicPartition
from barnabas.inspection.stats import KeyCounter, SizeCounter, StatsCollector
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import MarkerType
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.unit.inspection.conftest import batch, marker


def stats_of(log_files, *, is_deep=True):
    collector = StatsCollector(is_deep=is_deep)
    collector.add(TopicPartition("t", 0), log_files.path)
    (stats,) = collector.topics()
    return stats


def test_a_topic(log_files):
    builder = BatchBuilder(Codec.ZSTD)
    for number in range(100):
        builder.append(5_000 - number, None if number == 0 else b"k%d" % (number % 10), b"x" * 100 if number else None)
    log_files.segment(0, batch(0), bytes(builder.build(2)))
    log_files.segment(102, marker(102, 5, MarkerType.COMMIT))
    stats = stats_of(log_files)
    assert (stats.partition_count, stats.segment_count, stats.record_count) == (1, 2, 102)
    assert (stats.control_count, stats.tombstone_count, stats.keyless_count) == (1, 1, 1)
    assert (stats.codecs, stats.formats) == ({"none": 1, "zstd": 1}, {"v2": 2})
    assert (stats.keys.count(), stats.keys.is_exact) == (10, True)
    assert (stats.oldest_ms, stats.newest_ms) == (1_000, 5_000)
    assert stats.batch_sizes.count == 2
    assert stats.compression_ratio > 10
    assert stats.size_bytes == sum(path.stat().st_size for path in log_files.path.glob("*.log"))
    assert stats.unreadable == []


def test_heads_alone(log_files):
    log_files.segment(0, batch(0, 50, codec=Codec.GZIP))
    stats = stats_of(log_files, is_deep=False)
    assert (stats.record_count, stats.keys.count(), stats.compression_ratio) == (50, 0, None)
    assert (stats.oldest_ms, stats.newest_ms) == (1_000, 1_049)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_old_formats(log_files, magic, codec):
    builder = MessageSetBuilder(magic, codec)
    for number in range(40):
        builder.append(number, 1_000 + number, b"key", b"value" * 10)
    log_files.write(0, ".log", bytes(builder.build()))
    stats = stats_of(log_files)
    assert (stats.record_count, stats.keys.count()) == (40, 1)
    assert set(stats.formats) == {f"v{magic}"}
    assert (stats.oldest_ms, stats.newest_ms) == ((None, None) if magic == 0 else (1_000, 1_039))
    assert (stats.compression_ratio > 4) == (codec is not Codec.NONE)


def test_what_cannot_be_read_is_told_and_the_rest_is_counted(log_files):
    data = bytearray(batch(0, 50, codec=Codec.GZIP))
    data[100] ^= 0xFF
    log_files.segment(0, bytes(data), batch(50))
    stats = stats_of(log_files)
    assert (stats.record_count, len(stats.unreadable)) == (2, 1)


def test_keys_above_the_limit_are_estimated():
    counter = KeyCounter(limit=1_000)
    for number in range(50_000):
        counter.add(b"key-%d" % (number % 20_000))
    assert not counter.is_exact
    assert abs(counter.count() - 20_000) < 600
    few = KeyCounter(limit=10)
    for number in range(300):
        few.add(b"%d" % number)
    assert abs(few.count() - 300) < 10


def test_sizes():
    sizes = SizeCounter()
    assert (sizes.mean(), sizes.percentile(50)) == (0, 0)
    for size in range(1, 1_001):
        sizes.add(size * 100)
    assert (sizes.smallest, sizes.largest, sizes.mean()) == (100, 100_000, 50_050)
    assert sizes.percentile(50) == pytest.approx(50_000, rel=0.01)
    assert sizes.percentile(99) == pytest.approx(99_000, rel=0.01)
    assert sizes.percentile(100) <= 100_000
