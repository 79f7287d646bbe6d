"""Lists a log's files at start, and completes or undoes interrupted deletions and compactions.

    <base offset>.log .index .timeindex .txnindex   a segment
    <offset>.snapshot                               producer state
    *.deleted, *.cleaned                            removed
    *.log.swap                                      a finished compaction that is swapped in

Invariant: if one of these is not a regular file (a link, a pipe, a directory), nothing of the log is read or changed.

Source: log-format facts, files in a log, load and recovery, 1 to 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.broker.log.disk.files import DirectoryEntry, FileSystem
from barnabas.broker.log.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
    is_name_of_log,
)
from barnabas.broker.log.segments.batch_reader import read_headers
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.txn_index import ENTRY_BYTES, TransactionIndex
from barnabas.wire.records.errors import CorruptRecordsError


@dataclass(slots=True)
class LogFiles:
    """The files of a log.

    Attributes:
        segments: In order of their base offsets.
        damaged: Base offsets of the segments whose indexes are missing or invalid.
        snapshot_offsets: Offsets of the producer snapshots.
    """

    segments: list[Segment] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)
    snapshot_offsets: list[int] = field(default_factory=list)


def read_directory(files: FileSystem, directory: Path, now_ms: int) -> LogFiles:
    """Clean up a log's directory and list its files.

    Raises:
        StorageError: The disk failed.
        CorruptRecordsError: A compacted segment is not readable, or a file of the log is not a regular file.
    """
    entries = files.list(directory)
    for entry in entries:
        if not entry.is_regular and is_name_of_log(entry.name):
            # differs from Kafka (log-files-by-link): Kafka follows links, and may truncate their targets at start.
            raise CorruptRecordsError(f"{directory / entry.name} is no regular file, and is left as it is")
    if _tidy(files, directory, entries):
        entries = files.list(directory)
    found = LogFiles()
    sizes = {entry.name: entry.size_bytes for entry in entries if entry.is_regular}
    for name, size in sizes.items():
        stem, dot, extension = name.rpartition(".")
        if not stem.isdecimal():
            continue
        suffix = dot + extension
        offset = int(stem)
        if suffix == SNAPSHOT_SUFFIX:
            found.snapshot_offsets.append(offset)
        elif suffix == LOG_SUFFIX:
            found.segments.append(Segment(files, directory, offset, size, now_ms))
            if _has_damaged_index(files, directory, stem, sizes):
                found.damaged.add(offset)
        elif suffix in INDEX_SUFFIXES and stem + LOG_SUFFIX not in sizes:
            files.remove(directory / name)
    found.segments.sort(key=lambda segment: segment.base_offset)
    return found


def _has_damaged_index(files: FileSystem, directory: Path, stem: str, sizes: dict[str, int]) -> bool:
    offset_index_bytes = sizes.get(stem + OFFSET_INDEX_SUFFIX)
    time_index_bytes = sizes.get(stem + TIME_INDEX_SUFFIX)
    if time_index_bytes is None:
        files.write(directory / (stem + TIME_INDEX_SUFFIX), b"")
        time_index_bytes = 0
    if offset_index_bytes is None or offset_index_bytes % 8 != 0 or time_index_bytes % 12 != 0:
        return True
    name = stem + TRANSACTION_INDEX_SUFFIX
    return name in sizes and (
        sizes[name] % ENTRY_BYTES != 0 or _are_damaged_transactions(files, directory / name, int(stem))
    )


def _are_damaged_transactions(files: FileSystem, path: Path, base_offset: int) -> bool:
    """Return whether a transaction index is damaged. Few segments have one, and it is small."""
    index = TransactionIndex(files, path)
    try:
        index.load()
    except CorruptRecordsError:
        return True
    # The entries ascend.
    return bool(index.entries) and index.entries[0].last_offset < base_offset


def _tidy(files: FileSystem, directory: Path, entries: Sequence[DirectoryEntry]) -> bool:
    """Complete or undo interrupted deletions and compactions; return whether there were any."""
    unfinished = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)
    names = [entry.name for entry in entries if entry.is_regular and entry.name.endswith(unfinished)]
    if not names:
        return False
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    least_cleaned_offset = min((_offset_of(name) for name in cleaned), default=None)
    for name in names:
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX)):
            files.remove(directory / name)
    swapped: list[int] = []
    for name in names:
        if not name.endswith(SWAP_SUFFIX):
            continue
        offset = _offset_of(name)
        is_records = name.endswith(LOG_SUFFIX + SWAP_SUFFIX)
        # Compaction writes all `.cleaned` files before it renames the first to `.swap`.
        if is_records and (least_cleaned_offset is None or offset < least_cleaned_offset):
            swapped.append(offset)
        else:
            files.remove(directory / name)
    for offset in sorted(swapped):
        _put_in_place(files, directory, offset)
    return True


def _put_in_place(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Replace segments by the segment compacted from them; its indexes are rebuilt later."""
    path = directory / file_name(base_offset, LOG_SUFFIX)
    swap = path.with_name(path.name + SWAP_SUFFIX)
    file = files.open_records(swap)
    end_offset = base_offset
    for _, header in read_headers(file, 0, file.size):
        end_offset = header.last_offset + 1
    for entry in files.list(directory):
        stem, suffix = Path(entry.name).stem, Path(entry.name).suffix
        is_replaced = stem.isdecimal() and base_offset <= int(stem) < max(end_offset, base_offset + 1)
        if is_replaced and suffix in SEGMENT_SUFFIXES:
            files.remove(directory / entry.name)
    files.rename(swap, path)


def _offset_of(name: str) -> int:
    stem = name.split(".", 1)[0]
    return int(stem) if stem.isdecimal() else -1
