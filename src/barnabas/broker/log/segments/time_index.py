"""The sparse index from timestamps to offsets of one segment: `<base offset>.timeindex`.

An entry, big-endian, 12 bytes:

    int64  the largest timestamp of the segment so far
    int32  last offset of the batch with that timestamp - base offset of the segment

Invariants: timestamps strictly increase; the index is in memory and persisted like the offset index.

# differs from Kafka (time-index-record): here, an entry has the batch's last offset, as Kafka's DumpLogSegments
# expects. For uncompressed batches, Kafka 2.7.2 stores the offset of the record with the largest timestamp, and its own
# DumpLogSegments reports a mismatch.

Source: implementation page, log; KIP-33; log-format facts, files in a log.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from operator import le
from pathlib import Path
from struct import Struct

from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.segments.offset_index import ascends
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.errors import CorruptRecordsError

ENTRY_BYTES = 12

_UNKNOWN_COUNT = -1

_ENTRY = Struct(">qi")


class TimeIndex:
    """One segment's time index.

    Attributes:
        path: Its file.
        base_offset: The segment's base offset.
    """

    __slots__ = ("_files", "_offsets", "_persisted_count", "_timestamps", "base_offset", "path")

    def __init__(self, files: FileSystem, path: Path, base_offset: int) -> None:
        self._files = files
        self.path = path
        self.base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("i")
        self._persisted_count = 0

    def load(self) -> bool:
        """Read the file as `OffsetIndex.load` does; return whether it is valid."""
        data = self._files.read(self.path) or b""
        count = -(-len(data.rstrip(b"\0")) // ENTRY_BYTES)
        if len(data) < count * ENTRY_BYTES:
            return False
        numbers = array("i", data[: count * ENTRY_BYTES])
        # Without a Python loop, as in `ascends`.
        halves = array("i", bytes(count * 8))
        if sys.byteorder == "little":
            numbers.byteswap()
            halves[0::2], halves[1::2] = numbers[1::3], numbers[0::3]
        else:
            halves[0::2], halves[1::2] = numbers[0::3], numbers[1::3]
        timestamps, offsets = array("q", halves.tobytes()), numbers[2::3]
        if not (ascends(timestamps, NO_TIMESTAMP) and ascends(offsets, 0, le)):
            return False
        self._timestamps, self._offsets = timestamps, offsets
        self._persisted_count = count
        if count * ENTRY_BYTES != len(data):
            self._files.truncate(self.path, count * ENTRY_BYTES)
        return True

    def read_last_timestamp(self) -> int:
        """Return the timestamp of the file's last entry; -1 if it has none. Loads nothing: any thread may call this."""
        data = self._files.read_end(self.path, ENTRY_BYTES) or b""
        return NO_TIMESTAMP if len(data) < ENTRY_BYTES else int(_ENTRY.unpack(data)[0])

    def room(self, most_bytes: int) -> int:
        """Return how many more entries fit into an index of `most_bytes`, besides the entry added at the roll."""
        return most_bytes // ENTRY_BYTES - 1 - len(self._offsets)

    @property
    def entry_count(self) -> int:
        return len(self._offsets)

    @property
    def is_saved(self) -> bool:
        """Whether the file has all entries."""
        return self._persisted_count == len(self._offsets)

    @property
    def last_timestamp_ms(self) -> int:
        """Timestamp of the last entry; -1 without entries."""
        return self._timestamps[-1] if self._timestamps else NO_TIMESTAMP

    @property
    def last_offset(self) -> int:
        """Offset of the last entry; the base offset without entries."""
        return self.base_offset + (self._offsets[-1] if self._offsets else 0)

    def lookup(self, timestamp_ms: int) -> int:
        """Return the offset of the last entry at or below a timestamp; the base offset if there is none.

        No record before the returned offset's batch has a larger timestamp than that entry.
        """
        index = bisect_right(self._timestamps, timestamp_ms)
        return self.base_offset + (self._offsets[index - 1] if index else 0)

    def append(self, timestamp_ms: int, offset: int) -> None:
        """Add an entry if the timestamp is above that of the last entry.

        Raises:
            CorruptRecordsError: The offset is too large for this segment.
        """
        if timestamp_ms > self.last_timestamp_ms:
            try:
                self._offsets.append(offset - self.base_offset)
            except OverflowError:
                raise CorruptRecordsError(f"{self.path}: offset {offset} does not fit into an entry") from None
            self._timestamps.append(timestamp_ms)

    def truncate(self, offset: int) -> None:
        """Remove the entries at or above `offset`, in memory and on disk."""
        count = bisect_left(self._offsets, offset - self.base_offset)
        del self._timestamps[count:], self._offsets[count:]
        if count < self._persisted_count:
            self._files.truncate(self.path, count * ENTRY_BYTES)
            self._persisted_count = count

    def clear(self) -> None:
        """Remove all entries and recreate the file, empty."""
        del self._timestamps[:], self._offsets[:]
        self._persisted_count = 0
        self._files.write(self.path, b"")

    def make_file(self) -> None:
        """Create the empty file; any thread may call this."""
        self._files.write(self.path, b"")

    def forget(self) -> None:
        """Remove all entries in memory; `persist` replaces the file if its contents differ."""
        del self._offsets[:], self._timestamps[:]
        self._persisted_count = _UNKNOWN_COUNT

    def persist(self, end: int | None = None) -> None:
        """Write those of the first `end` entries (None: all) that the file lacks; any thread, one at a time.

        Entries may be added meanwhile, but not removed.
        """
        start, end = max(self._persisted_count, 0), len(self._offsets) if end is None else end
        if self._persisted_count >= end:
            return
        entries = b"".join(_ENTRY.pack(self._timestamps[i], self._offsets[i]) for i in range(start, end))
        if self._persisted_count != _UNKNOWN_COUNT:
            self._files.append(self.path, entries)
        elif self._files.read(self.path) != entries:
            self._files.write(self.path, entries)
        self._persisted_count = end
