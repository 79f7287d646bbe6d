"""One segment: a `.log` file of record batches with its two indexes.

Invariants:
    - only the active (last) segment is appended to; an older segment opens its file and loads its indexes at a read
      from it (`loaded_segments.py` bounds their memory);
    - a batch gets an index entry if more than `index.interval.bytes` were appended since the last entry, not counting
      this batch. The first batch therefore never gets an entry.

Source: implementation page, log; log-format facts, index rule, append and roll.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.disk.cold_reads import Cached, CachedFile, ColdWork, NotCachedError
from barnabas.broker.log.disk.files import FileSystem, RecordFile
from barnabas.broker.log.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
    segment_paths,
)
from barnabas.broker.log.segments.batch_reader import AnyHeader, ReadableFile, read_batches, read_headers
from barnabas.broker.log.segments.mark import Mark
from barnabas.broker.log.segments.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from barnabas.broker.log.segments.offset_index import OffsetIndex
from barnabas.broker.log.segments.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from barnabas.broker.log.segments.time_index import TimeIndex
from barnabas.broker.log.segments.txn_index import TransactionIndex
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import Buffer
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import iterate_any_records

REBUILD_INTERVAL_BYTES = 4096  # index.interval.bytes for an index that is found damaged at its first use

MAX_RELATIVE_OFFSET = 2**31 - 1
_TRANSACTION_BYTES = 220  # memory of an aborted transaction
_SEARCHED_AT_ONCE_BYTES = 32 * 1024  # the event loop does not search larger batches for a timestamp

_logger = logging.getLogger(__name__)


class _Indexes(NamedTuple):
    offsets: OffsetIndex
    times: TimeIndex
    are_valid: bool


class _Searched(NamedTuple):
    """The result of a search for a timestamp in an executor.

    Attributes:
        target_ms, start_offset: See `Segment.find_timestamp`.
        end_position: The end of the searched batches.
        found: The record, as `Segment.find_timestamp` returns it; None if there is none before `end_position`; or the
            text of the error if a batch is damaged.
    """

    target_ms: int
    start_offset: int
    end_position: int
    found: tuple[int, int, int] | str | None


class Segment:
    """The records from `base_offset` to the next segment's base offset.

    Attributes:
        base_offset: The lowest offset that it may contain.
        created_ms: The time at which it was created or loaded.
        roll_jitter_ms: How much earlier than `segment.ms` it rolls.
        first_timestamp_ms: Largest timestamp of its first batch; -1 if empty, or unknown in an older segment.
        max_timestamp_ms: Largest timestamp so far; -1 if there is none.
        max_timestamp_offset: Last offset of the batch with that timestamp.
    """

    __slots__ = (
        "_bytes_since_entry",
        "_directory",
        "_file",
        "_files",
        "_has_indexes",
        "_is_damaged",
        "_modified_ms",
        "_offset_index",
        "_searched",
        "_size",
        "_time_index",
        "_transactions",
        "_truncation_count",
        "_unload_count",
        "base_offset",
        "created_ms",
        "first_timestamp_ms",
        "max_timestamp_ms",
        "max_timestamp_offset",
        "roll_jitter_ms",
    )

    def __init__(self, files: FileSystem, directory: Path, base_offset: int, size: int, created_ms: int) -> None:
        """Args:
        files: The disk.
        directory: The log's directory.
        base_offset: The base offset in the files' names.
        size: Size of the `.log` file in bytes.
        created_ms: The current time.
        """
        self._files = files
        self._directory = directory
        self._file: RecordFile | None = None
        self._size = size
        self._offset_index = OffsetIndex(files, directory / file_name(base_offset, OFFSET_INDEX_SUFFIX), base_offset)
        self._time_index = TimeIndex(files, directory / file_name(base_offset, TIME_INDEX_SUFFIX), base_offset)
        self._transactions: TransactionIndex | None = None
        self._has_indexes = False
        # Whether the indexes end at a damaged position in the file, because a rebuild failed there.
        self._is_damaged = False
        self._modified_ms: int | None = None
        self._bytes_since_entry = 0
        self._searched: _Searched | None = None
        self._truncation_count = 0
        self._unload_count = 0
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.roll_jitter_ms = 0
        self.first_timestamp_ms = NO_TIMESTAMP
        self.max_timestamp_ms = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset

    @classmethod
    def create(cls, files: FileSystem, directory: Path, base_offset: int, created_ms: int) -> "Segment":
        """Create the files of a new, empty segment."""
        path = directory / file_name(base_offset, LOG_SUFFIX)
        segment = cls.begin(files, directory, base_offset, created_ms, files.open_records(path, is_new=True))
        segment.make_indexes()
        return segment

    @classmethod
    def begin(
        cls, files: FileSystem, directory: Path, base_offset: int, created_ms: int, file: RecordFile
    ) -> "Segment":
        """Return a new segment whose empty `.log` file exists; `make_indexes` creates the other files."""
        segment = cls.planned(files, directory, base_offset, created_ms)
        segment._file = file
        return segment

    @classmethod
    def cleaned(
        cls,
        files: FileSystem,
        directory: Path,
        created_ms: int,
        file: RecordFile,
        indexes: "tuple[OffsetIndex, TimeIndex, TransactionIndex]",
        modified_ms: int,
    ) -> "Segment":
        """Return a segment that compaction has written; it stays in memory until its files are renamed.

        Args:
            file: Its open `.log` file.
            indexes: Its indexes, equal to those on disk.
            modified_ms: The modification time that was set for the file.
        """
        offset_index, time_index, transactions = indexes
        segment = cls(files, directory, offset_index.base_offset, file.size, created_ms)
        _, offset_index.path, time_index.path, transactions.path = segment.paths
        segment._offset_index, segment._time_index, segment._transactions = indexes
        segment._has_indexes = True
        segment._file = file
        segment._modified_ms = modified_ms
        segment.max_timestamp_ms = time_index.last_timestamp_ms
        segment.max_timestamp_offset = time_index.last_offset
        return segment

    @classmethod
    def planned(cls, files: FileSystem, directory: Path, base_offset: int, created_ms: int) -> "Segment":
        """Return a new, empty segment whose files `make_files` creates."""
        segment = cls(files, directory, base_offset, 0, created_ms)
        segment._has_indexes = True
        segment._transactions = TransactionIndex(files, segment.paths[-1])
        return segment

    def make_files(self) -> None:
        """Create the empty files of a planned segment; any thread may call this."""
        self._file = self._files.open_records(self.path, is_new=True)
        self.make_indexes()

    def unload(self) -> None:
        """Release everything in memory that can be read again from the segment's files, which are complete."""
        self.close()
        self._modified_ms = None
        self._forget_loaded()

    def release_indexes(self) -> None:
        """Release the indexes of an older segment, if they can be read again; its file stays open, as in Kafka.

        They stay in memory if the index files lack entries, or belong to the segments that this one replaces; and if
        retention would read them again at each check, because the records have no timestamps.
        """
        is_saved = self._offset_index.is_saved and self._time_index.is_saved and self._modified_ms is None
        if is_saved and self.max_timestamp_ms >= 0:
            self._forget_loaded()

    def _forget_loaded(self) -> None:
        self._offset_index = OffsetIndex(self._files, self._offset_index.path, self.base_offset)
        self._time_index = TimeIndex(self._files, self._time_index.path, self.base_offset)
        self._transactions = None
        self._unload_count += 1
        # Last: a truncation's thread may read from the segment meanwhile.
        self._has_indexes = False

    @property
    def loaded_bytes(self) -> int:
        """About how much memory its indexes need."""
        transactions = self._transactions
        return (
            self._offset_index.entry_count * OFFSET_ENTRY_BYTES
            + self._time_index.entry_count * TIME_ENTRY_BYTES
            + (0 if transactions is None else transactions.entry_count * _TRANSACTION_BYTES)
        )

    def make_indexes(self) -> None:
        """Create the empty index files of a new segment; any thread may call this."""
        self._offset_index.make_file()
        self._time_index.make_file()

    @property
    def file(self) -> RecordFile:
        """The open `.log` file."""
        if self._file is None:
            self._file = self._files.open_records(self.path)
        return self._file

    @property
    def path(self) -> Path:
        """The `.log` file's path."""
        return self._directory / file_name(self.base_offset, LOG_SUFFIX)

    @property
    def size(self) -> int:
        """Bytes of record batches."""
        return self._size if self._file is None else self._file.size

    @property
    def paths(self) -> list[Path]:
        """The paths of all its files, whether they exist or not."""
        return segment_paths(self._directory, self.base_offset)

    @property
    def transactions(self) -> TransactionIndex:
        """The aborted transactions whose marker is in this segment.

        Raises:
            CorruptRecordsError: The transaction index is damaged.
        """
        if self._transactions is None:
            index = self._new_transactions()
            index.load()
            self._transactions = index
        return self._transactions

    def forget_transactions(self) -> None:
        """Clear the transaction index before rebuilding it."""
        self._transactions = self._new_transactions()
        self._transactions.clear()

    def _new_transactions(self) -> TransactionIndex:
        return TransactionIndex(self._files, self._directory / file_name(self.base_offset, TRANSACTION_INDEX_SUFFIX))

    def load_indexes(self) -> None:
        """Read the indexes from disk unless they are in memory."""
        if not self._has_indexes:
            self._take_indexes(self._read_indexes())

    def _read_indexes(self) -> "_Indexes":
        """Read the indexes from disk without changing the segment; any thread may call this."""
        offset_index = OffsetIndex(self._files, self._offset_index.path, self.base_offset)
        time_index = TimeIndex(self._files, self._time_index.path, self.base_offset)
        are_valid = offset_index.load() and time_index.load()
        return _Indexes(offset_index, time_index, are_valid)

    def _take_indexes(self, read: "_Indexes") -> None:
        if self._has_indexes:
            return
        self._offset_index, self._time_index, are_valid = read
        self._has_indexes = True
        if not are_valid or self._offset_index.last_position >= max(self.size, 1):
            self._rebuild_unless_damaged()
            return
        self.max_timestamp_ms = self._time_index.last_timestamp_ms
        self.max_timestamp_offset = self._time_index.last_offset

    def _rebuild_unless_damaged(self) -> None:
        try:
            self.rebuild_indexes(REBUILD_INTERVAL_BYTES)
        except CorruptRecordsError as error:
            # Records before the damage stay readable; reads beyond it fail. The index files are not changed, so that
            # the next start detects the damage again.
            self._is_damaged = True
            _logger.error("%s is readable only up to the damage; retention uses the file's time: %s", self.path, error)

    def _readable(self, cached: Cached | None) -> RecordFile | CachedFile:
        """Return the file to read from, with the indexes in memory.

        Args:
            cached: The page cache; None if the caller may wait for the disk.

        Raises:
            NotCachedError: `cached` is given, and the indexes are not in memory or the file is not open.
        """
        # hot path: benchmarks/load (every fetch that is not at the tail)
        if cached is None:
            self.load_indexes()
            return self.file
        if not self._has_indexes or self._file is None:
            raise NotCachedError(ColdWork(self, self._read_closed, partial(self._take_closed, self._unload_count)))
        return CachedFile(self._file, cached)

    def _read_closed(self) -> tuple[RecordFile, "_Indexes | None"]:
        return self._files.open_records(self.path), None if self._has_indexes else self._read_indexes()

    def _take_closed(self, unload_count: int, read: tuple[RecordFile, "_Indexes | None"]) -> None:
        file, indexes = read
        if self._file is None:
            self._file = file
        # After a release the indexes may be those of records that were truncated since: the reader asks again.
        if indexes is not None and unload_count == self._unload_count:
            self._take_indexes(indexes)

    def has_full_index(self, index_bytes: int) -> bool:
        """Return whether an index has no room for another entry in `index_bytes` (segment.index.bytes, or a part)."""
        return self.index_room(index_bytes) <= 0

    def index_room(self, index_bytes: int) -> int:
        """Return how many entries both indexes have room for in `index_bytes`."""
        return min(self._offset_index.room(index_bytes), self._time_index.room(index_bytes))

    def append(self, data: Buffer, last_offset: int, max_timestamp_ms: int, index_interval_bytes: int) -> int:
        """Write one batch and update the indexes.

        Args:
            data: The batch, with its offsets set.
            last_offset: Its last offset.
            max_timestamp_ms: Its largest timestamp.
            index_interval_bytes: The topic's index.interval.bytes.

        Returns:
            The batch's position in the file.

        Raises:
            StorageError: Nothing was appended.
        """
        # hot path: benchmarks/micro/test_log.py
        file = self._file or self.file
        position = file.size
        file.append(data)
        if position == 0:
            self.first_timestamp_ms = max_timestamp_ms
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.max_timestamp_offset = last_offset
        if self._bytes_since_entry > index_interval_bytes:
            self._add_entry(last_offset, position)
        self._bytes_since_entry += len(data)
        return position

    def append_message_set(
        self, data: Buffer, last_offset: int, max_timestamp_ms: int, timestamp_offset: int, index_interval_bytes: int
    ) -> int:
        """Write messages of format 0 or 1, which the indexes treat as one batch.

        Args:
            data: The messages, with their offsets set.
            last_offset: The last message's offset.
            max_timestamp_ms: Their largest timestamp; -1 if they have none.
            timestamp_offset: Offset of the message with that timestamp.
            index_interval_bytes: The topic's index.interval.bytes.

        Returns:
            The messages' position in the file.

        Raises:
            StorageError: Nothing was appended.
        """
        is_larger = max_timestamp_ms > self.max_timestamp_ms
        position = self.append(data, last_offset, max_timestamp_ms, 2**63)
        if is_larger:
            self.max_timestamp_offset = timestamp_offset
        if self._bytes_since_entry - len(data) > index_interval_bytes:
            self._add_entry(last_offset, position)
            self._bytes_since_entry = len(data)
        return position

    def append_all(self, data: Buffer, headers: Sequence[AnyHeader], index_interval_bytes: int) -> int:
        """Write several batches at once; the indexes treat each batch separately.

        # differs from Kafka (index-entry-per-batch): Kafka's indexes treat all data of one append as one batch.

        Returns:
            The position of the first batch in the file.

        Raises:
            StorageError: Nothing was appended.
        """
        start = position = self.file.size
        self.file.append(data)
        for header in headers:
            self.note(header, position, index_interval_bytes)
            position += header.size_in_bytes
        return start

    def append_run(
        self, data: Buffer, marks: Sequence[Mark], timestamps: tuple[int, int, int], index_interval_bytes: int
    ) -> int:
        """Write a run of batches at once; the indexes get entries for some of its marks.

        Args:
            data: The batches.
            marks: The run's marks, beginning with the first batch.
            timestamps: The largest timestamp of the first batch; the largest of all batches; the last offset of the
                batch with the latter.
            index_interval_bytes: The topic's index.interval.bytes.

        Returns:
            The position of the first batch in the file.

        Raises:
            StorageError: Nothing was appended.
        """
        # hot path: benchmarks/micro/test_copies.py
        start = self.file.size
        self.file.append(data)
        first_timestamp_ms, max_timestamp_ms, timestamp_offset = timestamps
        if start == 0:
            self.first_timestamp_ms = first_timestamp_ms
        known_ms = self.max_timestamp_ms
        # The position at which the current index interval began.
        counted_position = start - self._bytes_since_entry
        for mark in marks:
            if start + mark.position - counted_position > index_interval_bytes:
                if mark.max_timestamp_ms > known_ms:
                    self.max_timestamp_ms = mark.max_timestamp_ms
                    self.max_timestamp_offset = mark.timestamp_offset
                counted_position = start + mark.position
                self._add_entry(mark.last_offset, counted_position)
        self._bytes_since_entry = start + len(data) - counted_position
        if max_timestamp_ms > known_ms:
            self.max_timestamp_ms, self.max_timestamp_offset = max_timestamp_ms, timestamp_offset
        return start

    def note(self, header: AnyHeader, position: int, index_interval_bytes: int) -> None:
        """Update the indexes for a batch that is already in the file; used for rebuilding them, too."""
        if position == 0:
            self.first_timestamp_ms = header.max_timestamp_ms
        if header.max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = header.max_timestamp_ms
            self.max_timestamp_offset = header.last_offset
        if self._bytes_since_entry > index_interval_bytes:
            self._add_entry(header.last_offset, position)
        self._bytes_since_entry += header.size_in_bytes

    def _add_entry(self, last_offset: int, position: int) -> None:
        self._offset_index.append(last_offset, position)
        self._time_index.append(self.max_timestamp_ms, self.max_timestamp_offset)
        self._bytes_since_entry = 0

    def forget_indexes(self) -> None:
        """Clear both indexes in memory before rebuilding them."""
        self._offset_index.forget()
        self._time_index.forget()
        self._has_indexes = True
        self._is_damaged = False
        self._bytes_since_entry = 0
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIMESTAMP
        self.max_timestamp_offset = self.base_offset

    def rebuild_indexes(self, index_interval_bytes: int) -> None:
        """Rebuild both indexes from the headers of the batches.

        Raises:
            CorruptRecordsError: The file contains invalid batches.
        """
        self.forget_indexes()
        for position, header in self._headers(0):
            self.note(header, position, index_interval_bytes)
        self.complete()

    def _headers(self, position: int) -> Iterator[tuple[int, AnyHeader]]:
        """Yield the headers of all batches from `position` on, with their positions.

        Raises:
            CorruptRecordsError: While iterating: a header is invalid, or its offset cannot be in this segment after
                the previous one (a batch's CRC does not cover its base offset), or the file ends within a batch.
        """
        next_offset, most_offset = self.base_offset, self.base_offset + MAX_RELATIVE_OFFSET
        size = self.size
        for found in read_headers(self.file, position, size):
            position, header = found
            last_offset = header.last_offset
            if not next_offset <= last_offset <= most_offset:
                raise CorruptRecordsError(
                    f"{self.path}: offset {last_offset} at position {position}, expected {next_offset} to {most_offset}"
                )
            yield found
            next_offset = last_offset + 1
            position += header.size_in_bytes
        if position < size:
            raise CorruptRecordsError(f"{self.path} ends within the batch at position {position}")

    def persistence(self) -> Callable[[], None]:
        """Return a function that writes the current entries of the indexes to their files, for the log's disk work."""
        if not self._has_indexes or self._is_damaged:
            return lambda: None
        offset_index, time_index = self._offset_index, self._time_index
        entry_count, time_entry_count = offset_index.entry_count, time_index.entry_count

        def persist() -> None:
            offset_index.persist(entry_count)
            time_index.persist(time_entry_count)

        return persist

    def completion(self) -> Callable[[], None]:
        """Add the last time index entry, and return a function that writes the index files."""
        self.load_indexes()
        if self.max_timestamp_ms >= 0:
            self._time_index.append(self.max_timestamp_ms, self.max_timestamp_offset)
        return self.persistence()

    def complete(self) -> None:
        """Write the last entries of the indexes now."""
        self.completion()()

    def complete_times(self) -> None:
        """Add the last time index entry, which may be missing after a crash; damaged batches are only logged."""
        self.load_indexes()
        try:
            for _, header in self._headers(self._offset_index.last_position):
                if header.max_timestamp_ms > self.max_timestamp_ms:
                    self.max_timestamp_ms = header.max_timestamp_ms
                    self.max_timestamp_offset = header.last_offset
        except CorruptRecordsError as error:
            _logger.error("the largest timestamp may be too small: %s", error)
        self.complete()

    def locate(self, offset: int, cached: Cached | None = None) -> tuple[int, AnyHeader] | None:
        """Return the first batch whose last offset is at or above `offset`; None if the segment ends below it.

        Raises:
            NotCachedError: `cached` is given, and a read would need the disk.
        """
        file = self._readable(cached)
        for position, header in read_headers(file, self._offset_index.lookup(offset), self.size, offset):
            if header.last_offset >= offset:
                return position, header
        return None

    def offset_after(self, position: int) -> int | None:
        """Return an offset above all offsets of batches that begin below `position`, from the offset index.

        Returns:
            The nearest such offset in the index; None if the index has none.
        """
        self.load_indexes()
        return self._offset_index.offset_from(position)

    def read_next_offset(self) -> int:
        """Return the offset after the segment's last batch; its base offset if it is empty.

        Raises:
            CorruptRecordsError: The last batches are damaged.
        """
        self.load_indexes()
        next_offset = self.base_offset
        for _, header in self._headers(self._offset_index.last_position):
            next_offset = header.last_offset + 1
        return next_offset

    def read_first_timestamp(self) -> int:
        """Return the largest timestamp of the first batch; -1 if the segment is empty."""
        for _, header in read_headers(self.file, 0, self.size):
            return header.max_timestamp_ms
        return NO_TIMESTAMP

    def largest_timestamp(self) -> int:
        """Return the largest record timestamp; the file's modification time if there is none, or after damage."""
        if self.max_timestamp_ms < 0 and not self._has_indexes:
            self.take_largest_timestamp(self.read_largest_timestamp())
        if self.max_timestamp_ms >= 0 and not self._is_damaged:
            return self.max_timestamp_ms
        return self.modified_ms()

    def modified_ms(self) -> int:
        """Return the file's modification time.

        Raises:
            StorageError: The disk failed.
        """
        return self._files.modified_ms(self.path) if self._modified_ms is None else self._modified_ms

    @property
    def knows_largest_timestamp(self) -> bool:
        """Return whether `largest_timestamp` needs no read from disk."""
        return self.max_timestamp_ms >= 0 or self._has_indexes

    def read_largest_timestamp(self) -> int:
        """Read the last timestamp of the time index; -1 if it has none. Any thread may call this."""
        return self._time_index.read_last_timestamp()

    def take_largest_timestamp(self, timestamp_ms: int) -> None:
        """Set the result of `read_largest_timestamp`."""
        if self.knows_largest_timestamp:
            return
        if timestamp_ms > 0:
            self.max_timestamp_ms = timestamp_ms
        else:
            self.load_indexes()

    def find_timestamp(
        self, target_ms: int, start_offset: int, cached: Cached | None = None
    ) -> tuple[int, int, int] | None:
        """Return the first record at or after `start_offset` whose timestamp is at least `target_ms`.

        Returns:
            Its timestamp, offset and leader epoch; None if the segment has no such record.

        Raises:
            NotCachedError: `cached` is given, and a read would need the disk, or the search may take long.
        """
        file = self._readable(cached)
        offset = max(self._time_index.lookup(target_ms), start_offset)
        position = self._offset_index.lookup(offset)
        searched = self._searched
        if searched is not None and searched.target_ms == target_ms and searched.start_offset == start_offset:
            if isinstance(searched.found, str):
                # A new error each time: an error keeps the frames that it was raised in.
                raise CorruptRecordsError(searched.found)
            if searched.found is not None:
                return searched.found
            position = max(position, searched.end_position)
        for batch_position, header in read_headers(file, position, self.size):
            if header.max_timestamp_ms < target_ms or header.last_offset < start_offset:
                continue
            if cached is not None and (header.codec or header.size_in_bytes > _SEARCHED_AT_ONCE_BYTES):
                # A few KB may decompress to records that take the event loop seconds.
                search = partial(_search, self.file, batch_position, self.size, target_ms, start_offset)
                take = partial(self._take_searched, self._truncation_count)
                raise NotCachedError(ColdWork((self, target_ms, start_offset), search, take))
            found = _find(file, batch_position, header, target_ms, start_offset)
            if found is not None:
                return found
        return None

    def _take_searched(self, truncation_count: int, searched: _Searched) -> None:
        if truncation_count == self._truncation_count:
            self._searched = searched

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that contains `offset` or is above it."""
        found = self.locate(max(offset, self.base_offset))
        if found is not None:
            self.truncate_at(found[0], offset)

    def truncate_at(self, position: int, offset: int) -> None:
        """Truncate the file at a batch boundary, and remove the index entries at or above `offset`."""
        self._offset_index.truncate(offset)
        self._time_index.truncate(offset)
        self.transactions.truncate(offset)
        self.file.truncate(position)
        self._is_damaged = False
        self._searched = None
        self._truncation_count += 1
        self._bytes_since_entry = 0
        if position == 0:
            self.first_timestamp_ms = NO_TIMESTAMP
        # Batches after the last index entry may have a larger timestamp.
        self.max_timestamp_ms = self._time_index.last_timestamp_ms
        self.max_timestamp_offset = self._time_index.last_offset
        for _, header in read_headers(self.file, self._offset_index.last_position, position):
            if header.max_timestamp_ms > self.max_timestamp_ms:
                self.max_timestamp_ms = header.max_timestamp_ms
                self.max_timestamp_offset = header.last_offset

    def close(self) -> None:
        """Close the file; queued slices keep it open."""
        self._size = self.size
        self._file = None

    def sync(self) -> None:
        """fsync all its files; for an executor's thread."""
        # Reads the attribute once, because the event loop may close the file meanwhile.
        file = self._file
        if file is not None:
            file.sync()
        for path in self.paths if file is None else self.paths[1:]:
            self._files.sync(path)


def _find(
    file: ReadableFile, position: int, header: AnyHeader, target_ms: int, start_offset: int
) -> tuple[int, int, int] | None:
    """Search one batch; see `Segment.find_timestamp`."""
    for _, _, batch in read_batches(file, position, position + header.size_in_bytes):
        for record in iterate_any_records(batch):
            if record.timestamp_ms >= target_ms and record.offset >= start_offset:
                return record.timestamp_ms, record.offset, header.leader_epoch
    return None


def _search(file: RecordFile, position: int, end_position: int, target_ms: int, start_offset: int) -> _Searched:
    """Search the batches between two positions; any thread may call this."""
    found: tuple[int, int, int] | str | None = None
    try:
        for batch_position, header in read_headers(file, position, end_position):
            if header.max_timestamp_ms >= target_ms and header.last_offset >= start_offset:
                found = _find(file, batch_position, header, target_ms, start_offset)
                if found is not None:
                    break
    except CorruptRecordsError as error:
        found = str(error)
    return _Searched(target_ms, start_offset, end_position, found)
