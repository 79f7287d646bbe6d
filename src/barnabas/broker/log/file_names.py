"""The names of a log's files.

    <base offset>.log .index .timeindex .txnindex   a segment
    <offset>.snapshot                               producer state
    leader-epoch-checkpoint                         leader epochs
    <a segment's file>.deleted                      removed after file.delete.delay.ms, and at the next start
    <a segment's file>.cleaned .swap                result of a compaction, before it is in place
    next.log.deleted                                the next segment, prepared (`segments/next_segment_file.py`)

An offset has 20 digits.

Source: log-format facts, files in a log.
"""

from pathlib import Path

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SEGMENT_SUFFIXES = (LOG_SUFFIX, *INDEX_SUFFIXES)

EPOCHS_FILE = "leader-epoch-checkpoint"
NEXT_FILE = f"next{LOG_SUFFIX}{DELETED_SUFFIX}"


def file_name(offset: int, suffix: str) -> str:
    """Return the name of a file that starts at `offset`: 20 digits and the suffix."""
    return f"{offset:020d}{suffix}"


def is_name_of_log(name: str) -> bool:
    """Return whether a name is the name of a log's file, including temporary files."""
    stem, _, extension = name.partition(".")
    return name.removesuffix(".tmp") == EPOCHS_FILE or name == NEXT_FILE or (stem.isdecimal() and bool(extension))


def segment_paths(directory: Path, base_offset: int) -> list[Path]:
    """Return the names of a segment's files: log, offset index, time index, transaction index."""
    return [directory / file_name(base_offset, suffix) for suffix in SEGMENT_SUFFIXES]
