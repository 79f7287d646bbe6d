"""Writes the files of a cleaned segment, named `.cleaned` until they are swapped in.

Invariant: after `finish`, the files are complete and on disk, and have the modification time of the last segment that
they replace.

Source: log-format facts, index rule, cleaner.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.cleaner.swap import cleaned_path
from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.file_names import segment_paths
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.offset_index import OffsetIndex
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.time_index import TimeIndex
from barnabas.broker.log.segments.txn_index import TransactionIndex
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import Buffer


class WrittenBatch(NamedTuple):
    """The fields of a batch that the indexes need."""

    last_offset: int
    max_timestamp_ms: int
    size: int


class CleanedSegment:
    """A segment that is being written; used by the cleaner's thread.

    Attributes:
        base_offset: The base offset of the first segment that it replaces.
    """

    __slots__ = (
        "_bytes_since_entry",
        "_directory",
        "_file",
        "_files",
        "_index_interval_bytes",
        "_max_timestamp_ms",
        "_max_timestamp_offset",
        "_modified_ms",
        "_offset_index",
        "_time_index",
        "_transactions",
        "base_offset",
    )

    def __init__(self, files: FileSystem, directory: Path, base_offset: int, index_interval_bytes: int) -> None:
        """Create the files, or empty the files that an earlier try left.

        Raises:
            StorageError: The disk failed.
        """
        log, offsets, times, transactions = map(cleaned_path, segment_paths(directory, base_offset))
        self.base_offset = base_offset
        self._files = files
        self._directory = directory
        self._modified_ms = 0
        self._index_interval_bytes = index_interval_bytes
        self._file = files.open_records(log, is_new=True)
        self._offset_index = OffsetIndex(files, offsets, base_offset)
        self._offset_index.clear()
        self._time_index = TimeIndex(files, times, base_offset)
        self._time_index.clear()
        self._transactions = TransactionIndex(files, transactions)
        self._transactions.clear()
        self._bytes_since_entry = 0
        self._max_timestamp_ms = NO_TIMESTAMP
        self._max_timestamp_offset = base_offset

    @property
    def size(self) -> int:
        """Bytes of record batches."""
        return self._file.size

    def append(self, data: Buffer, batches: Sequence[WrittenBatch]) -> None:
        """Write batches, one after the other.

        Raises:
            StorageError: The disk failed.
        """
        position = self._file.size
        self._file.append(data)
        for last_offset, max_timestamp_ms, size in batches:
            if max_timestamp_ms > self._max_timestamp_ms:
                self._max_timestamp_ms, self._max_timestamp_offset = max_timestamp_ms, last_offset
            # differs from Kafka (cleaned-index-entries): Kafka adds one entry for each piece that it read, up to
            # 256 KiB.
            if self._bytes_since_entry > self._index_interval_bytes:
                self._offset_index.append(last_offset, position)
                self._time_index.append(self._max_timestamp_ms, self._max_timestamp_offset)
                self._bytes_since_entry = 0
            self._bytes_since_entry += size
            position += size

    def append_aborted(self, transaction: AbortedTransaction) -> None:
        """Add an aborted transaction whose marker is retained.

        Raises:
            StorageError: The disk failed.
        """
        self._transactions.append(transaction)

    def finish(self, modified_ms: int) -> None:
        """Write the last index entries, and wait until everything is on disk.

        Args:
            modified_ms: Modification time of the last segment that it replaces.

        Raises:
            StorageError: The disk failed.
        """
        if self._max_timestamp_ms >= 0:
            self._time_index.append(self._max_timestamp_ms, self._max_timestamp_offset)
        self._offset_index.persist()
        self._time_index.persist()
        self._file.sync()
        paths = [self._file.path, self._offset_index.path, self._time_index.path]
        for path in (*paths[1:], self._transactions.path):
            self._files.sync(path)
        for path in paths:
            self._files.set_modified(path, modified_ms)
        self._modified_ms = modified_ms

    def segment(self, now_ms: int) -> Segment:
        """Return the finished segment; nothing may be written to this object afterwards."""
        indexes = (self._offset_index, self._time_index, self._transactions)
        return Segment.cleaned(self._files, self._directory, now_ms, self._file, indexes, self._modified_ms)
