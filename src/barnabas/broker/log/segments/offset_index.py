"""The sparse index from offsets to positions of one segment: `<base offset>.index`.

An entry, big-endian, 8 bytes:

    int32  last offset of a batch - base offset of the segment
    int32  position of that batch in the `.log` file

Invariants: entries strictly increase in both numbers; the whole index is in memory, as two compact arrays. Only its
last entries may be missing on disk: `persist` writes them when the segment is flushed, rolled or closed. After a crash
before that, the index is rebuilt from the log.

# differs from Kafka (index-file-size): the file of the active segment is not sized in advance and not memory-mapped.

Source: implementation page, log; log-format facts, files in a log.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import chain
from operator import lt
from pathlib import Path

from barnabas.broker.log.disk.files import FileSystem
from barnabas.wire.records.errors import CorruptRecordsError

ENTRY_BYTES = 8

_UNKNOWN_COUNT = -1


def ascends(values: "array[int]", below: int, precedes: Callable[[int, int], object] = lt) -> bool:
    """Return whether values ascend.

    Args:
        values: The values.
        below: What must precede the first value.
        precedes: `lt`, or `le` if equal values may follow each other.
    """
    # Without a Python loop over the values, because an index may have 100,000 of them.
    return all(map(precedes, chain((below,), values), values))


class OffsetIndex:
    """One segment's offset index.

    Attributes:
        path: Its file.
        base_offset: The segment's base offset.
    """

    __slots__ = ("_files", "_offsets", "_persisted_count", "_positions", "base_offset", "path")

    def __init__(self, files: FileSystem, path: Path, base_offset: int) -> None:
        self._files = files
        self.path = path
        self.base_offset = base_offset
        self._offsets = array("i")
        self._positions = array("i")
        self._persisted_count = 0

    def load(self) -> bool:
        """Read the file; zeros at its end (Kafka's pre-sized file after a crash) are removed.

        Returns:
            Whether it is valid. If it is not, this index is empty and must be rebuilt; the file is not changed.
        """
        data = self._files.read(self.path) or b""
        count = -(-len(data.rstrip(b"\0")) // ENTRY_BYTES)
        if len(data) < count * ENTRY_BYTES:
            return False
        entries = array("i", data[: count * ENTRY_BYTES])
        if sys.byteorder == "little":
            entries.byteswap()
        offsets, positions = entries[0::2], entries[1::2]
        # The first batch, at position 0, never has an entry.
        if not (ascends(offsets, -1) and ascends(positions, 0)):
            return False
        self._offsets, self._positions = offsets, positions
        self._persisted_count = count
        if count * ENTRY_BYTES != len(data):
            self._files.truncate(self.path, count * ENTRY_BYTES)
        return True

    @property
    def entry_count(self) -> int:
        return len(self._offsets)

    @property
    def is_saved(self) -> bool:
        """Whether the file has all entries."""
        return self._persisted_count == len(self._offsets)

    def room(self, most_bytes: int) -> int:
        """Return how many more entries fit into an index of `most_bytes`."""
        return most_bytes // ENTRY_BYTES - len(self._offsets)

    @property
    def last_position(self) -> int:
        """Position of the last batch with an entry; 0 without entries."""
        return self._positions[-1] if self._positions else 0

    def lookup(self, offset: int) -> int:
        """Return the position from which to search for an offset.

        Args:
            offset: Absolute offset, at or above `base_offset`.

        Returns:
            Position of the last entry at or below `offset`; 0 if the index has none. The record is at or after it.

        Raises:
            ValueError: `offset` is below this segment: the caller chose the wrong segment.
        """
        relative_offset = offset - self.base_offset
        if relative_offset < 0:
            raise ValueError(f"offset {offset} lies below the segment of {self.base_offset}")
        index = bisect_right(self._offsets, relative_offset)
        return self._positions[index - 1] if index else 0

    def offset_from(self, position: int) -> int | None:
        """Return the offset of the first entry at or above a position; None if there is none."""
        index = bisect_left(self._positions, position)
        return self.base_offset + self._offsets[index] if index < len(self._offsets) else None

    def append(self, offset: int, position: int) -> None:
        """Add an entry for the batch at `position` with last offset `offset`; both must be above the last entry.

        Raises:
            CorruptRecordsError: The offset is too large for this segment.
        """
        try:
            self._offsets.append(offset - self.base_offset)
        except OverflowError:
            raise CorruptRecordsError(f"{self.path}: offset {offset} does not fit into an entry") from None
        self._positions.append(position)

    def truncate(self, offset: int) -> None:
        """Remove the entries at or above `offset`, in memory and on disk."""
        count = bisect_left(self._offsets, offset - self.base_offset)
        del self._offsets[count:], self._positions[count:]
        if count < self._persisted_count:
            self._files.truncate(self.path, count * ENTRY_BYTES)
            self._persisted_count = count

    def clear(self) -> None:
        """Remove all entries and recreate the file, empty."""
        del self._offsets[:], self._positions[:]
        self._persisted_count = 0
        self._files.write(self.path, b"")

    def make_file(self) -> None:
        """Create the empty file; any thread may call this."""
        self._files.write(self.path, b"")

    def forget(self) -> None:
        """Remove all entries in memory; `persist` replaces the file if its contents differ."""
        del self._offsets[:], self._positions[:]
        self._persisted_count = _UNKNOWN_COUNT

    def persist(self, end: int | None = None) -> None:
        """Write those of the first `end` entries (None: all) that the file lacks; any thread, one at a time.

        Entries may be added meanwhile, but not removed.
        """
        start, end = max(self._persisted_count, 0), len(self._offsets) if end is None else end
        if self._persisted_count >= end:
            return
        entries = array("i", bytes((end - start) * ENTRY_BYTES))
        entries[0::2] = self._offsets[start:end]
        entries[1::2] = self._positions[start:end]
        if sys.byteorder == "little":
            entries.byteswap()
        data = entries.tobytes()
        if self._persisted_count != _UNKNOWN_COUNT:
            self._files.append(self.path, data)
        elif self._files.read(self.path) != data:
            # Only if different, because rewriting a file waits for the disk, and most are correct after a crash.
            self._files.write(self.path, data)
        self._persisted_count = end
