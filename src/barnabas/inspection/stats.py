"""Statistics of a topic's logs: sizes, compression, batch sizes, numbers of records and keys.

Memory does not grow with the logs: batch sizes are counted in classes of less than 1 % width, and keys are counted
exactly up to a limit, above which their number is estimated (HyperLogLog, standard error 0.8 %).

Source: Flajolet et al., HyperLogLog; log-format facts, record batch.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from barnabas.broker.log.file_names import LOG_SUFFIX
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.inspection.log_file import LogFile
from barnabas.inspection.log_listing import list_log
from barnabas.inspection.stored_batch import StoredBatch
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.errors import CorruptRecordsError

EXACT_KEY_COUNT = 100_000

_HASH_BYTES = 8
_REGISTER_BITS = 14
_REGISTER_COUNT = 1 << _REGISTER_BITS
_RANK_BITS = _HASH_BYTES * 8 - _REGISTER_BITS
_SIZE_CLASS_BITS = 8


class KeyCounter:
    """Counts distinct keys."""

    __slots__ = ("_limit", "_registers", "_seen")

    def __init__(self, limit: int = EXACT_KEY_COUNT) -> None:
        """Args:
        limit: Largest exact count.
        """
        self._limit = limit
        self._seen: set[bytes] = set()
        self._registers: bytearray | None = None

    @property
    def is_exact(self) -> bool:
        return self._registers is None

    def add(self, key: bytes) -> None:
        """Count a key."""
        digest = blake2b(key, digest_size=_HASH_BYTES).digest()
        if self._registers is not None:
            _register(self._registers, digest)
            return
        self._seen.add(digest)
        if len(self._seen) > self._limit:
            self._registers = bytearray(_REGISTER_COUNT)
            for each in self._seen:
                _register(self._registers, each)
            self._seen.clear()

    def count(self) -> int:
        """Return the number of distinct keys."""
        if self._registers is None:
            return len(self._seen)
        empty_count = self._registers.count(0)
        total = sum(count * 2.0**-rank for rank, count in Counter(self._registers).items())
        estimate = 0.7213 / (1 + 1.079 / _REGISTER_COUNT) * _REGISTER_COUNT**2 / total
        if estimate <= 2.5 * _REGISTER_COUNT and empty_count:
            estimate = _REGISTER_COUNT * math.log(_REGISTER_COUNT / empty_count)
        return round(estimate)


class SizeCounter:
    """Counts sizes and returns their percentiles."""

    __slots__ = ("_classes", "count", "largest", "smallest", "total")

    def __init__(self) -> None:
        self._classes: Counter[int] = Counter()
        self.count = 0
        self.total = 0
        self.smallest = 0
        self.largest = 0

    def add(self, size: int) -> None:
        """Count a size."""
        shift = max(size.bit_length() - _SIZE_CLASS_BITS, 0)
        self._classes[size >> shift << shift] += 1
        self.smallest = size if self.count == 0 else min(self.smallest, size)
        self.largest = max(self.largest, size)
        self.count += 1
        self.total += size

    def mean(self) -> int:
        """Return the average; 0 without sizes."""
        return round(self.total / self.count) if self.count else 0

    def percentile(self, percent: float) -> int:
        """Return a percentile of the sizes, accurate to the width of a class."""
        wanted = math.ceil(self.count * percent / 100)
        for size in sorted(self._classes):
            wanted -= self._classes[size]
            if wanted <= 0:
                return min(max(size, self.smallest), self.largest)
        return 0


@dataclass(slots=True)
class TopicStats:
    """Statistics of one topic's logs.

    Attributes:
        size_bytes: Total size of the `.log` files; `index_bytes` of all other files.
        record_count: Without control records; if records are not unpacked, v0 and v1 count outer messages.
        stored_bytes, uncompressed_bytes: Size of the records of all batches, on disk and unpacked.
        codecs, formats: Numbers of batches by codec and by format.
        oldest_ms, newest_ms: Timestamps of records; None without records.
        unreadable: Errors of unreadable parts.
    """

    topic: str
    partition_count: int = 0
    segment_count: int = 0
    size_bytes: int = 0
    index_bytes: int = 0
    record_count: int = 0
    control_count: int = 0
    tombstone_count: int = 0
    keyless_count: int = 0
    stored_bytes: int = 0
    uncompressed_bytes: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    batch_sizes: SizeCounter = field(default_factory=SizeCounter)
    keys: KeyCounter = field(default_factory=KeyCounter)
    oldest_ms: int | None = None
    newest_ms: int | None = None
    unreadable: list[str] = field(default_factory=list)

    @property
    def compression_ratio(self) -> float | None:
        """Return the ratio of unpacked bytes to bytes on disk; None if nothing was unpacked."""
        return self.uncompressed_bytes / self.stored_bytes if self.stored_bytes and self.uncompressed_bytes else None


class StatsCollector:
    """Adds up logs by topic."""

    def __init__(self, note_bytes: Callable[[int], None] = lambda _: None, *, is_deep: bool = True) -> None:
        """Args:
        note_bytes: Receives the numbers of processed bytes of `.log` files.
        is_deep: Unpack the records; required for keys and the ratio.
        """
        self._note_bytes = note_bytes
        self._is_deep = is_deep
        self._topics: dict[str, TopicStats] = {}

    def topics(self) -> list[TopicStats]:
        """Return the statistics so far, by topic."""
        return [self._topics[name] for name in sorted(self._topics)]

    def add(self, topic_partition: TopicPartition, path: Path) -> None:
        """Add one log.

        Raises:
            StorageError: The log's directory can't be read.
        """
        stats = self._topics.setdefault(topic_partition.topic, TopicStats(topic_partition.topic))
        listing = list_log(path)
        stats.partition_count += 1
        stats.segment_count += len(listing.segments)
        stats.index_bytes += _index_bytes(path, listing.sizes)
        for base_offset in listing.segments:
            segment = listing.file(base_offset, LOG_SUFFIX)
            try:
                self._add_segment(stats, segment)
            except (StorageError, CorruptRecordsError) as error:
                stats.unreadable.append(f"{segment}: {str(error).removeprefix(f'{segment}: ')}")

    def _add_segment(self, stats: TopicStats, path: Path) -> None:
        with LogFile(path) as log:
            stats.size_bytes += log.size
            position = 0
            for batch in log.batches():
                self._add_batch(stats, batch, path)
                position = batch.position + batch.size_in_bytes
                self._note_bytes(batch.size_in_bytes)
            if position < log.size:
                self._note_bytes(log.size - position)

    def _add_batch(self, stats: TopicStats, batch: StoredBatch, path: Path) -> None:
        if batch.is_control:
            stats.control_count += 1
            return
        stats.batch_sizes.add(batch.size_in_bytes)
        stats.codecs[batch.codec_name.lower()] += 1
        stats.formats[f"v{batch.magic}"] += 1
        if not self._is_deep:
            stats.record_count += 1 if batch.header is None else batch.header.record_count
            first_ms = batch.timestamp_ms if batch.header is None else batch.header.base_timestamp_ms
            _note_times(stats, (first_ms, batch.timestamp_ms))
            return
        try:
            self._add_records(stats, batch)
        except CorruptRecordsError as error:
            stats.unreadable.append(f"{path}: position {batch.position}: {error}")

    def _add_records(self, stats: TopicStats, batch: StoredBatch) -> None:
        add_key = stats.keys.add
        oldest_ms, newest_ms = batch.timestamp_ms, batch.timestamp_ms
        for record in batch.records():
            stats.record_count += 1
            if record.key is None:
                stats.keyless_count += 1
            else:
                add_key(record.key)
            if record.value is None:
                stats.tombstone_count += 1
            if record.timestamp_ms < oldest_ms:
                oldest_ms = record.timestamp_ms
        _note_times(stats, (oldest_ms, newest_ms))
        stats.stored_bytes += batch.stored_bytes
        stats.uncompressed_bytes += batch.stored_bytes if batch.codec == Codec.NONE else batch.uncompressed_bytes()


def _note_times(stats: TopicStats, times_ms: Iterable[int]) -> None:
    for time_ms in times_ms:
        if time_ms >= 0:
            stats.oldest_ms = time_ms if stats.oldest_ms is None else min(stats.oldest_ms, time_ms)
            stats.newest_ms = time_ms if stats.newest_ms is None else max(stats.newest_ms, time_ms)


def _index_bytes(path: Path, sizes: dict[str, int]) -> int:
    """Return the bytes on disk of all other files: an active segment's index files are larger than their contents."""
    total = 0
    for name, size in sizes.items():
        if not name.endswith(LOG_SUFFIX):
            try:
                total += min(size, (path / name).stat().st_blocks * 512)
            except FileNotFoundError:
                continue
    return total


def _register(registers: bytearray, digest: bytes) -> None:
    number = int.from_bytes(digest, "big")
    index = number >> _RANK_BITS
    rank = _RANK_BITS - (number & (1 << _RANK_BITS) - 1).bit_length() + 1
    if rank > registers[index]:
        registers[index] = rank
