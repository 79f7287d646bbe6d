"""The aborted transactions of one segment: `<base offset>.txnindex`, which exists only if there are any.

An entry, big-endian, 34 bytes:

    int16  version 0
    int64  producer id
    int64  first offset of the transaction
    int64  last offset: the offset of its abort marker, which is in this segment
    int64  last stable offset when the marker was written

Invariants: last offsets strictly increase; an entry is in the file as soon as it is in memory.

Source: KIP-98; log-format facts, files in a log; semantics facts, Fetch, aborted transactions.
"""

from bisect import bisect_left
from operator import attrgetter
from pathlib import Path
from struct import Struct

from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.wire.records.errors import CorruptRecordsError

ENTRY_BYTES = 34

_VERSION = 0
_ENTRY = Struct(">hqqqq")
_last_offset = attrgetter("last_offset")


class TransactionIndex:
    """One segment's aborted transactions, in memory and on disk.

    Attributes:
        path: Its file.
    """

    __slots__ = ("_entries", "_files", "path")

    def __init__(self, files: FileSystem, path: Path) -> None:
        self._files = files
        self.path = path
        self._entries: list[AbortedTransaction] = []

    def load(self) -> None:
        """Read the file, if it exists.

        Raises:
            CorruptRecordsError: A version is unknown, a transaction ends before it begins, or entries are out of order.
        """
        data = self._files.read(self.path) or b""
        self._entries.clear()
        for version, *numbers in _ENTRY.iter_unpack(data[: len(data) // ENTRY_BYTES * ENTRY_BYTES]):
            entry = AbortedTransaction(*numbers)
            if version != _VERSION:
                raise CorruptRecordsError(f"{self.path}: version {version} of an aborted transaction is not known")
            # Kafka writes equal offsets for a transaction without records. Zeros are damage: no abort has a last stable
            # offset of 0.
            if entry.last_offset < entry.first_offset or not any(numbers):
                raise CorruptRecordsError(f"{self.path}: a transaction that ends before it begins")
            if self._entries and entry.last_offset <= self._entries[-1].last_offset:
                raise CorruptRecordsError(f"{self.path}: an abort at {entry.last_offset} after a later one")
            self._entries.append(entry)

    @property
    def entry_count(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[AbortedTransaction, ...]:
        return tuple(self._entries)

    def append(self, entry: AbortedTransaction) -> None:
        """Add an entry, whose last offset must be above that of all others."""
        self._files.append(self.path, _ENTRY.pack(_VERSION, *entry))
        self._entries.append(entry)

    def find(self, start_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Return the transactions that overlap a range of offsets.

        Args:
            start_offset: Transactions that ended below it are omitted.
            end_offset: Transactions that began at or above it are omitted.

        Returns:
            The entries in the order of their ends, and whether later segments cannot contain more of them.
        """
        found = []
        for entry in self._entries[bisect_left(self._entries, start_offset, key=_last_offset) :]:
            if entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found, True
        return found, False

    def truncate(self, offset: int) -> None:
        """Remove the entries whose marker is at or above `offset`, in memory and on disk."""
        count = bisect_left(self._entries, offset, key=_last_offset)
        if count < len(self._entries):
            del self._entries[count:]
            self._files.truncate(self.path, count * ENTRY_BYTES)

    def clear(self) -> None:
        """Remove all entries and the file."""
        self._entries.clear()
        self._files.remove(self.path)
