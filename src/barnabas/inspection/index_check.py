"""Checks the indexes of a segment against its batches, in one pass.

Offset index: reading from an entry's position must miss no offset at or above the entry's offset. Time index: no batch
before the batch of an entry's offset may have a larger timestamp than the entry. Kafka's entries may have an offset
after the batch that they point to (an append of several batches has one entry).

Source: implementation page, log; KIP-33; log-format facts, files in a log.
"""

from collections.abc import Callable
from pathlib import Path

from barnabas.core.errors import StorageError
from barnabas.inspection.index_files import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    OffsetEntry,
    TimeEntry,
    offset_entries,
    read_bytes,
    time_entries,
    without_zeros,
)
from barnabas.inspection.stored_batch import StoredBatch

_NO_TIMESTAMP = -1

Complain = Callable[[Path, str], None]


class OffsetIndexCheck:
    """Checks one `.index` file."""

    __slots__ = ("_complain", "_entries", "_is_wrong", "_next", "_path", "_previous_last_offset")

    def __init__(self, path: Path, base_offset: int, complain: Complain) -> None:
        self._path = path
        self._complain = complain
        self._is_wrong = False
        self._next = 0
        self._previous_last_offset = base_offset - 1
        data = _read(path, OFFSET_ENTRY_BYTES, complain)
        self._entries = offset_entries(without_zeros(data, OFFSET_ENTRY_BYTES), base_offset)
        for before, after in zip(self._entries, self._entries[1:], strict=False):
            if after.offset <= before.offset or after.position <= before.position:
                self._tell(f"entry {tuple(after)} follows {tuple(before)}: both numbers must grow")
                break

    def note(self, batch: StoredBatch) -> None:
        """Check the entry of a batch, if any."""
        while not self._is_wrong and self._next < len(self._entries):
            entry = self._entries[self._next]
            if entry.position > batch.position:
                break
            self._next += 1
            self._check(entry, batch)
        self._previous_last_offset = batch.last_offset

    def finish(self, valid_bytes: int) -> None:
        """Report entries that point after the last batch."""
        left = self._entries[self._next :]
        if left and not self._is_wrong:
            self._tell(f"{len(left)} entries point after the last whole batch, which ends at {valid_bytes}")

    def _check(self, entry: OffsetEntry, batch: StoredBatch) -> None:
        if entry.position < batch.position:
            self._tell(f"offset {entry.offset}: no batch begins at position {entry.position}")
        elif self._previous_last_offset >= entry.offset:
            self._tell(f"offset {entry.offset} is before position {entry.position}, to which the entry points")

    def _tell(self, text: str) -> None:
        # After one wrong entry, most later ones look wrong.
        self._is_wrong = True
        self._complain(self._path, text)


class TimeIndexCheck:
    """Checks one `.timeindex` file."""

    __slots__ = ("_complain", "_entries", "_is_wrong", "_largest_ms", "_last_offset", "_next", "_path")

    def __init__(self, path: Path, base_offset: int, complain: Complain) -> None:
        self._path = path
        self._complain = complain
        self._is_wrong = False
        self._next = 0
        self._largest_ms = _NO_TIMESTAMP
        self._last_offset = base_offset - 1
        data = _read(path, TIME_ENTRY_BYTES, complain)
        self._entries = time_entries(without_zeros(data, TIME_ENTRY_BYTES), base_offset)
        for before, after in zip(self._entries, self._entries[1:], strict=False):
            if after.timestamp_ms <= before.timestamp_ms or after.offset < before.offset:
                self._tell(f"entry {tuple(after)} follows {tuple(before)}: both numbers must grow")
                break

    def note(self, batch: StoredBatch) -> None:
        """Check the entries with offsets up to this batch's."""
        while not self._is_wrong and self._next < len(self._entries):
            entry = self._entries[self._next]
            if entry.offset > batch.last_offset:
                break
            self._next += 1
            self._check(entry)
        self._largest_ms = max(self._largest_ms, batch.timestamp_ms)
        self._last_offset = batch.last_offset

    def finish(self) -> None:
        """Report entries with offsets after the last batch."""
        left = self._entries[self._next :]
        if left and not self._is_wrong:
            self._tell(f"{len(left)} entries have offsets after the last one, {self._last_offset}")

    def _check(self, entry: TimeEntry) -> None:
        if self._largest_ms > entry.timestamp_ms:
            self._tell(
                f"timestamp {self._largest_ms} occurs before offset {entry.offset}, whose entry has only "
                f"{entry.timestamp_ms}"
            )

    def _tell(self, text: str) -> None:
        self._is_wrong = True
        self._complain(self._path, text)


def _read(path: Path, entry_bytes: int, complain: Complain) -> bytes:
    """Return the bytes of a file; empty if it is missing, which is reported elsewhere."""
    if not path.exists():
        return b""
    try:
        data = read_bytes(path)
    except StorageError as error:
        complain(path, str(error))
        return b""
    if len(data) % entry_bytes:
        complain(path, f"size {len(data)} is invalid: must be a multiple of the entry size {entry_bytes}")
    return data
