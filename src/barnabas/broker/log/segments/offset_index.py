"""The sparse index from offsets to positions of one segment: `<base offset>.index`.

An entry, big-endian, 8 bytes:

    int32  last offset of a batch - base offset of the segment
    int32  position of that batch in the `.log` file

Invariants: entries strictly increase in both numbers; the whole index is held in memory as two compact arrays; what
is not on disk yet are its last entries, written by `persist` when the segment is flushed, rolled or closed (a crash
before that rebuilds the index from the log).

# differs from Kafka (index-file-size): the file of the active segment is not sized in advance and not memory-mapped.

Source: implementation page, log; log-format facts, files in a log.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

from barnabas.broker.log.disk.files import FileSystem

ENTRY_BYTES = 8

_UNKNOWN_COUNT = -1


class OffsetIndex:
    """One segment's offset index.

    Attributes:
        path: Its file.
        base_offset: The segment's.
    """

    __slots__ = ("_files", "_offsets", "_persisted_count", "_positions", "base_offset", "path")

    def __init__(self, files: FileSystem, path: Path, base_offset: int) -> None:
        self._files = files
        self.path = path
        self.base_offset = base_offset
        self._offsets = array("i")
        self._positions = array("i")
        self._persisted_count = 0

    def load(self) -> None:
        """Read the file; zeros at its end (Kafka's pre-sized file after a crash) are no entries."""
        data = self._files.read(self.path) or b""
        entries = array("i", data[: len(data) // ENTRY_BYTES * ENTRY_BYTES])
        if sys.byteorder == "little":
            entries.byteswap()
        offsets, positions = entries[0::2], entries[1::2]
        count = len(offsets)
        while count and positions[count - 1] == 0:
            count -= 1
        self._offsets, self._positions = offsets[:count], positions[:count]
        self._persisted_count = count
        if count * ENTRY_BYTES != len(data):
            self._files.truncate(self.path, count * ENTRY_BYTES)

    @property
    def entry_count(self) -> int:
        return len(self._offsets)

    def room(self, most_bytes: int) -> int:
        """Return how many entries fit into an index of `index_bytes`."""
        return most_bytes // ENTRY_BYTES - len(self._offsets)

    @property
    def last_position(self) -> int:
        """Position of the last batch that has an entry; 0 without entries."""
        return self._positions[-1] if self._positions else 0

    def lookup(self, offset: int) -> int:
        """Find where to start reading for an offset.

        Args:
            offset: Absolute; at or above `base_offset`.

        Returns:
            Position of the last entry at or below `offset`; 0 when the index holds none. The wanted record lies at
            or after it.

        Raises:
            ValueError: `offset` lies below this segment: the caller chose the wrong one.
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
        """Add an entry for the batch at `position` with last offset `offset`; both must be above the last entry's."""
        self._offsets.append(offset - self.base_offset)
        self._positions.append(position)

    def truncate(self, offset: int) -> None:
        """Drop the entries at or above `offset`, on disk too."""
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
        """Make the file, empty; for any thread."""
        self._files.write(self.path, b"")

    def forget(self) -> None:
        """Forget all entries; the file stays until `persist` finds that it holds something else."""
        del self._offsets[:], self._positions[:]
        self._persisted_count = _UNKNOWN_COUNT

    def persist(self, end: int | None = None) -> None:
        """Write the first `end` entries (None: all) that the file lacks; for any thread, one at a time.

        Entries may be added meanwhile, but none may be dropped.
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
            # To write a file anew waits for a disk, and after a crash most indexes are what they should be.
            self._files.write(self.path, data)
        self._persisted_count = end
