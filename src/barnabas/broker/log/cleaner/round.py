"""One round over one log: learns the keys of the dirty part, then writes a cleaned segment for each group.

Invariants: the constructor runs on the event loop, the methods in the cleaner's thread. A round opens the files that it
reads, and reads them up to the sizes in its sources. It writes only `.cleaned` files, and never changes the log itself.

Source: design page, log compaction; log-format facts, cleaner.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.cleaner.cleaned_segment import CleanedSegment
from barnabas.broker.log.cleaner.grouping import SegmentSizes, group_segments
from barnabas.broker.log.cleaner.offset_map import OffsetMap
from barnabas.broker.log.cleaner.record_scan import read_keys
from barnabas.broker.log.cleaner.rewrite import LastBatch, Retention, clean_chunk, records_of, whole_batches
from barnabas.broker.log.cleaner.swap import remove_cleaned
from barnabas.broker.log.cleaner.throttle import Throttle
from barnabas.broker.log.cleaner.transactions import CleanedTransactions
from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.file_names import TRANSACTION_INDEX_SUFFIX, segment_paths
from barnabas.broker.log.producers.producer_replay import read_batch_marker
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.txn_index import TransactionIndex
from barnabas.wire.records.batch import BATCH_LENGTH_POSITION, INT32, LOG_OVERHEAD, BatchHeader
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import AnyHeader
from barnabas.wire.records.legacy import to_record, unwrap


class CleaningAbortedError(Exception):
    """The round was cancelled: its log was closed or deleted, or the broker stops."""


class Source(NamedTuple):
    """A segment to be cleaned, as it is when the round begins."""

    base_offset: int
    size: int


class RoundSettings(NamedTuple):
    """The settings of a round.

    Attributes:
        buffer_bytes: Memory limit of the offset map.
        load_factor: Load factor of the offset map.
        chunk_bytes: Size of a read.
        segment_bytes, index_bytes, index_interval_bytes, delete_retention_ms: The topic's settings.
    """

    buffer_bytes: int
    load_factor: float
    chunk_bytes: int
    segment_bytes: int
    index_bytes: int
    index_interval_bytes: int
    delete_retention_ms: int


class RoundCounts:
    """Byte and key counts of a round.

    Attributes:
        read_bytes, written_bytes: Size of the segments before and after cleaning.
        key_count: Number of distinct keys in the dirty part.
    """

    __slots__ = ("key_count", "read_bytes", "written_bytes")

    def __init__(self) -> None:
        self.read_bytes = self.written_bytes = self.key_count = 0


class Round:
    """One round.

    Attributes:
        end_offset: The log is clean below this offset after the round; known after `prepare`.
        counts: Its byte and key counts so far.
    """

    __slots__ = (
        "_directory",
        "_end_of_clean_ms",
        "_files",
        "_first_dirty_offset",
        "_first_uncleanable_offset",
        "_is_unwanted",
        "_newest",
        "_settings",
        "_sources",
        "_survivors",
        "_throttle",
        "_transactions",
        "counts",
        "end_offset",
    )

    def __init__(
        self,
        files: FileSystem,
        directory: Path,
        sources: Sequence[Source],
        first_dirty_offset: int,
        first_uncleanable_offset: int,
        settings: RoundSettings,
        throttle: Throttle,
        is_unwanted: Callable[[], bool],
    ) -> None:
        """Args:
        files: The disk.
        directory: The log's directory.
        sources: Its segments below the first uncleanable offset, in order.
        first_dirty_offset: Records below it were cleaned by an earlier round.
        first_uncleanable_offset: Records at or above it are not cleaned.
        settings: The round's settings.
        throttle: Counts every byte read and written.
        is_unwanted: Called before every chunk; True cancels the round.
        """
        self._files = files
        self._directory = directory
        self._sources = sources
        self._first_dirty_offset = first_dirty_offset
        self._first_uncleanable_offset = first_uncleanable_offset
        self._settings = settings
        self._throttle = throttle
        self._is_unwanted = is_unwanted
        self._newest = OffsetMap(settings.buffer_bytes, settings.load_factor)
        self._survivors: bytearray | None = None
        self._transactions = CleanedTransactions(())
        self._end_of_clean_ms = 0
        self.end_offset = first_dirty_offset
        self.counts = RoundCounts()

    def prepare(self) -> list[list[Source]]:
        """Learn the newest offsets of the keys.

        Returns:
            The groups of segments to be cleaned, in the order in which to pass them to `clean`.

        Raises:
            StorageError, CorruptRecordsError: The log can't be read.
            CleaningAbortedError: The round was cancelled.
        """
        aborted = self._read_aborted()
        clean = [source for source in self._sources if source.base_offset < self._first_dirty_offset]
        if clean:
            modified_ms = self._files.modified_ms(self._path(clean[-1]))
            self._end_of_clean_ms = modified_ms - self._settings.delete_retention_ms
        self._learn_keys(aborted)
        self.end_offset = self._newest.latest_offset + 1
        self._survivors = self._newest.survivors(self._first_dirty_offset)
        self.counts.key_count = len(self._newest)
        self._transactions = CleanedTransactions(aborted)
        sizes = {entry.name: entry.size_bytes for entry in self._files.list(self._directory)}
        cleaned = [source for source in self._sources if source.base_offset < self.end_offset]
        segments = [
            SegmentSizes(source.base_offset, source.size, *self._index_sizes(source, sizes)) for source in cleaned
        ]
        settings = self._settings
        groups = group_segments(segments, settings.segment_bytes, settings.index_bytes, self._first_uncleanable_offset)
        return [[cleaned[index] for index in group] for group in groups]

    def clean(self, group: Sequence[Source], last_batches: Mapping[int, LastBatch]) -> CleanedSegment:
        """Write the cleaned segment of a group.

        Args:
            group: One of the groups from `prepare`, in order.
            last_batches: The last batch of each producer.

        Returns:
            The finished segment.

        Raises:
            StorageError, CorruptRecordsError: The log can't be read, or the disk can't be written.
            CleaningAbortedError: The round was cancelled.
        """
        base_offset = group[0].base_offset
        try:
            target = CleanedSegment(self._files, self._directory, base_offset, self._settings.index_interval_bytes)
            for source in group:
                modified_ms = self._files.modified_ms(self._path(source))
                is_young = modified_ms > self._end_of_clean_ms
                retention = Retention(
                    self._newest, self._survivors, self._first_dirty_offset, last_batches, self._transactions, is_young
                )
                self._clean_segment(source, retention, target)
            target.finish(modified_ms)
        except BaseException:
            self.discard(group)
            raise
        self.counts.read_bytes += sum(source.size for source in group)
        self.counts.written_bytes += target.size
        return target

    def discard(self, group: Sequence[Source]) -> None:
        """Remove the cleaned segment of a group.

        Raises:
            StorageError: The disk failed.
        """
        remove_cleaned(self._files, self._directory, group[0].base_offset)

    def _path(self, source: Source) -> Path:
        return segment_paths(self._directory, source.base_offset)[0]

    def _index_sizes(self, source: Source, sizes: Mapping[str, int]) -> tuple[int, int]:
        _, offsets, times, _ = segment_paths(self._directory, source.base_offset)
        return sizes.get(offsets.name, 0), sizes.get(times.name, 0)

    def _read_aborted(self) -> list[AbortedTransaction]:
        """Return the log's aborted transactions, including those that end above the cleaned range."""
        found: list[AbortedTransaction] = []
        for entry in self._files.list(self._directory):
            if entry.name.endswith(TRANSACTION_INDEX_SUFFIX):
                index = TransactionIndex(self._files, self._directory / entry.name)
                index.load()
                found += index.entries
        return found

    # --- the keys

    def _learn_keys(self, aborted: Sequence[AbortedTransaction]) -> None:
        transactions = CleanedTransactions(entry for entry in aborted if entry.last_offset >= self._first_dirty_offset)
        newest = self._newest
        for index, source in enumerate(self._sources):
            following = self._sources[index + 1 :]
            end_offset = following[0].base_offset if following else self._first_uncleanable_offset
            if end_offset <= self._first_dirty_offset:
                continue
            for chunk in self._chunks(source):
                for start, header in whole_batches(chunk.data):
                    chunk.used_bytes = start + header.size_in_bytes
                    if header.last_offset < self._first_dirty_offset:
                        continue
                    if not self._learn_batch(chunk.data, start, header, transactions):
                        return
                    newest.note_offset(header.last_offset)
            # Compaction may have left a gap in the offsets at the segment's end.
            newest.note_offset(end_offset - 1)

    def _learn_batch(self, data: bytes, start: int, header: AnyHeader, transactions: CleanedTransactions) -> bool:
        """Learn the keys of a batch; return False if they do not all fit."""
        if not isinstance(header, BatchHeader):
            records = [to_record(message) for message in unwrap(memoryview(data)[start : start + header.size_in_bytes])]
            return self._put([record.key for record in records], [record.offset for record in records])
        if header.is_control:
            marker = read_batch_marker(memoryview(data)[start : start + header.size_in_bytes])
            transactions.may_drop_marker(header, marker)
            transactions.retained.clear()
            return True
        if transactions.is_aborted(header) or not header.record_count:
            return True
        return self._put(*read_keys(*records_of(data, start, header), header.record_count, header.base_offset))

    def _put(self, keys: Sequence[bytes | None], offsets: Sequence[int]) -> bool:
        if offsets and offsets[0] < self._first_dirty_offset:
            # An earlier round ended within this batch because its map was full.
            first = bisect_left(offsets, self._first_dirty_offset)
            keys, offsets = keys[first:], offsets[first:]
        return self._newest.put_all(keys, offsets)

    # --- the files

    def _clean_segment(self, source: Source, retention: Retention, target: CleanedSegment) -> None:
        for chunk in self._chunks(source):
            written_bytes = target.size
            chunk.used_bytes = clean_chunk(chunk.data, retention, target)
            self._throttle.note(target.size - written_bytes)

    def _chunks(self, source: Source) -> Iterator["_Chunk"]:
        """Yield a segment in chunks; the caller sets each chunk's `used_bytes` to the size of its whole batches."""
        file = self._files.open_records(self._path(source))
        position, wanted_bytes = 0, self._settings.chunk_bytes
        while position < source.size:
            if self._is_unwanted():
                raise CleaningAbortedError
            chunk = _Chunk(file.read(position, min(wanted_bytes, source.size - position)))
            self._throttle.note(len(chunk.data))
            yield chunk
            position += chunk.used_bytes
            wanted_bytes = self._settings.chunk_bytes
            if not chunk.used_bytes:
                wanted_bytes = _size_of_first(chunk.data)
                if not len(chunk.data) < wanted_bytes <= source.size - position:
                    raise CorruptRecordsError(f"{file.path} ends within a batch at position {position}")


class _Chunk:
    """A part of a segment, and the size of its whole batches, which were processed."""

    __slots__ = ("data", "used_bytes")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.used_bytes = 0


def _size_of_first(data: bytes) -> int:
    """Return the size of the batch at the start of `data`; the minimum size if `data` is too short to know it."""
    if len(data) < LOG_OVERHEAD:
        return LOG_OVERHEAD
    length: int = INT32.unpack_from(data, BATCH_LENGTH_POSITION)[0]
    return length + LOG_OVERHEAD
