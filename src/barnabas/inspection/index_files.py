"""Index files of a segment: all entries of the file, without checking them.

All big-endian:

    .index      int32 relative offset | int32 position
    .timeindex  int64 timestamp | int32 relative offset
    .txnindex   int16 version | int64 producer id | int64 first offset | int64 last offset | int64 last stable offset

The file of Kafka's active segment has its full size, with zeros after the last entry.

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
    """A batch's last offset (absolute) and the batch's position."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp so far, and the last offset (absolute) of its batch."""

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
    """Read a whole small file.

    Raises:
        StorageError: The file can't be read.
    """
    with storage_errors(path):
        fd, _ = open_regular(path, os.O_RDONLY)
        with open(fd, "rb") as file:
            return file.read()


def base_offset_of(path: Path) -> int:
    """Return the offset at the beginning of a file's name.

    Raises:
        StorageError: The name does not begin with an offset.
    """
    stem = path.name.split(".", 1)[0]
    if not stem.isascii() or not stem.isdecimal():
        raise StorageError(f"{path}: the file's name must begin with an offset")
    return int(stem)


def offset_entries(data: bytes, base_offset: int) -> list[OffsetEntry]:
    """Return all entries of an `.index` file, including zeros at its end but not a torn last entry."""
    whole = data[: len(data) // OFFSET_ENTRY_BYTES * OFFSET_ENTRY_BYTES]
    return [OffsetEntry(base_offset + relative, position) for relative, position in _OFFSET_ENTRY.iter_unpack(whole)]


def time_entries(data: bytes, base_offset: int) -> list[TimeEntry]:
    """Return all entries of a `.timeindex` file, including zeros at its end but not a torn last entry."""
    whole = data[: len(data) // TIME_ENTRY_BYTES * TIME_ENTRY_BYTES]
    return [
        TimeEntry(timestamp_ms, base_offset + relative) for timestamp_ms, relative in _TIME_ENTRY.iter_unpack(whole)
    ]


def aborted_transactions(data: bytes) -> Iterator[AbortedTransaction]:
    """Return all entries of a `.txnindex` file, without a torn last entry."""
    whole = data[: len(data) // TRANSACTION_ENTRY_BYTES * TRANSACTION_ENTRY_BYTES]
    for entry in _TRANSACTION_ENTRY.iter_unpack(whole):
        yield AbortedTransaction._make(entry)


def without_zeros(data: bytes, entry_bytes: int) -> bytes:
    """Return an index file without the zeros after its last entry, which Kafka leaves in an active segment."""
    used = len(data.rstrip(b"\0"))
    return data[: min(-(-used // entry_bytes) * entry_bytes, len(data))]


def lookup(entries: list[OffsetEntry], offset: int) -> int:
    """Return the position from which Kafka reads for an offset: of the last entry at or below it, else 0."""
    # Zeros at the end make Kafka's binary search end there, at position 0.
    if not entries or entries[-1].position == 0:
        return 0
    index = bisect_right(entries, offset, key=lambda entry: entry.offset)
    return entries[index - 1].position if index else 0
