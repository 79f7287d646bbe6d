"""The index files of a segment from outside: every entry that stands in the file, however little sense it makes.

All big-endian:

    .index      int32 relative offset | int32 position
    .timeindex  int64 timestamp | int32 relative offset
    .txnindex   int16 version | int64 producer id | int64 first offset | int64 last offset | int64 last stable offset

The file of Kafka's active segment has its full size, with zeros behind the last entry.

Source: implementation page, log; KIP-33, KIP-98; log-format facts, files in a log.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from barnabas.broker.log.disk.files import open_regular, storage_errors
from barnabas.core.errors import StorageError

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12
TRANSACTION_ENTRY_BYTES = 34
TRANSACTION_INDEX_VERSION = 0

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_TRANSACTION_ENTRY = Struct(">hqqqq")


class OffsetEntry(NamedTuple):
    """A batch's last offset, absolute, and where the batch stands."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp so far, and the last offset, absolute, of the batch that had it."""

    timestamp_ms: int
    offset: int


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted in this segment."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_bytes(path: Path) -> bytes:
    """A whole small file.

    Raises:
        StorageError: It can't be read.
    """
    with storage_errors(path):
        fd, _ = open_regular(path, os.O_RDONLY)
        with open(fd, "rb") as file:
            return file.read()


def base_offset_of(path: Path) -> int:
    """The offset that a file's name begins with.

    Raises:
        StorageError: The name begins with something else.
    """
    stem = path.name.split(".", 1)[0]
    if not stem.isascii() or not stem.isdecimal():
        raise StorageError(f"{path}: the name of a file in a log begins with an offset")
    return int(stem)


def offset_entries(data: bytes, base_offset: int) -> list[OffsetEntry]:
    """All entries of an `.index` file, zeros at its end included; a torn last one is left out."""
    whole = data[: len(data) // OFFSET_ENTRY_BYTES * OFFSET_ENTRY_BYTES]
    return [OffsetEntry(base_offset + relative, position) for relative, position in _OFFSET_ENTRY.iter_unpack(whole)]


def time_entries(data: bytes, base_offset: int) -> list[TimeEntry]:
    """All entries of a `.timeindex` file, zeros at its end included; a torn last one is left out."""
    whole = data[: len(data) // TIME_ENTRY_BYTES * TIME_ENTRY_BYTES]
    return [
        TimeEntry(timestamp_ms, base_offset + relative) for timestamp_ms, relative in _TIME_ENTRY.iter_unpack(whole)
    ]


def aborted_transactions(data: bytes) -> Iterator[AbortedTransaction]:
    """All entries of a `.txnindex` file; a torn last one is left out."""
    whole = data[: len(data) // TRANSACTION_ENTRY_BYTES * TRANSACTION_ENTRY_BYTES]
    for entry in _TRANSACTION_ENTRY.iter_unpack(whole):
        yield AbortedTransaction._make(entry)


def without_zeros(data: bytes, entry_bytes: int) -> bytes:
    """An index file without the zeros behind its last entry, which Kafka's file of an active segment has."""
    used = len(data.rstrip(b"\0"))
    return data[: min(-(-used // entry_bytes) * entry_bytes, len(data))]


def lookup(entries: list[OffsetEntry], offset: int) -> int:
    """Return the position that Kafka reads from for an offset: that of the last entry at or below it, 0 without one."""
    # Zeros at the end make Kafka's binary search end there, at position 0.
    if not entries or entries[-1].position == 0:
        return 0
    index = bisect_right(entries, offset, key=lambda entry: entry.offset)
    return entries[index - 1].position if index else 0
