"""Listing of a log's files by kind, and of a data directory's logs.

    <base offset>.log .index .timeindex .txnindex   a segment
    <offset>.snapshot                               producer state
    any of them with .deleted, .cleaned or .swap    left over from a deletion or a compaction
    next.log.deleted                                the next segment, prepared by a running or killed broker

Source: log-format facts, files in a log, files in a log dir.
"""

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.broker.log.directories.directory import is_name_of_deleted, partition_of
from barnabas.broker.log.disk.files import storage_errors
from barnabas.broker.log.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    EPOCHS_FILE,
    LOG_SUFFIX,
    NEXT_FILE,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    file_name,
    is_name_of_log,
)
from barnabas.core.types import TopicPartition

DUMPED_SUFFIXES = (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX)

# Files that every broker since Kafka 0.8 writes to each of its log.dirs soon after its start.
_DATA_DIRECTORY_FILES = ("meta.properties", "recovery-point-offset-checkpoint", "replication-offset-checkpoint")

_KINDS = "|".join(map(re.escape, DUMPED_SUFFIXES))
_LEFTOVERS = "|".join(map(re.escape, (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)))
_FILE = re.compile(rf"(\d{{20}})({_KINDS})({_LEFTOVERS})?", re.ASCII)
_FUTURE = re.compile(r"(.+)-(\d+)\.[0-9a-f]{32}-future", re.ASCII)


@dataclass(slots=True)
class LogListing:
    """The files of one log.

    Attributes:
        sizes: Size of each file in bytes, by name.
        segments: Base offsets, ascending.
        snapshots: Offsets, ascending.
        leftovers: Names with `.deleted`, `.cleaned` or `.swap`.
        orphans: Index files without their `.log`.
        strangers: Names of files that do not belong to a log.
        irregular: Names of log files that are not regular files (links, pipes, directories); not in the other lists.
    """

    path: Path
    sizes: dict[str, int] = field(default_factory=dict)
    segments: list[int] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    irregular: list[str] = field(default_factory=list)

    def file(self, offset: int, suffix: str) -> Path:
        """Return the path of a file by its offset."""
        return self.path / file_name(offset, suffix)

    def has(self, path: Path) -> bool:
        """Return whether the listing names a file."""
        return path.name in self.sizes


@dataclass(slots=True)
class DirectoryListing:
    """The contents of a data directory.

    Attributes:
        logs: The logs.
        former: Directories of logs that are being deleted (`-delete`) or copied (`-future`).
        strangers: All other directories.
    """

    path: Path
    logs: dict[TopicPartition, Path] = field(default_factory=dict)
    former: list[Path] = field(default_factory=list)
    strangers: list[Path] = field(default_factory=list)


def list_log(path: Path) -> LogListing:
    """List the files of a log.

    Raises:
        StorageError: The directory can't be read.
    """
    listing = LogListing(path)
    for entry in _entries(path):
        try:
            status = entry.lstat()
        except FileNotFoundError:
            # A running broker removed it meanwhile.
            continue
        if not stat.S_ISREG(status.st_mode):
            (listing.irregular if is_name_of_log(entry.name) else listing.strangers).append(entry.name)
            continue
        listing.sizes[entry.name] = status.st_size
        match = _FILE.fullmatch(entry.name)
        if match is None:
            if entry.name == NEXT_FILE:
                listing.leftovers.append(entry.name)
            elif entry.name != EPOCHS_FILE:
                listing.strangers.append(entry.name)
        elif match[3]:
            listing.leftovers.append(entry.name)
        elif match[2] == LOG_SUFFIX:
            listing.segments.append(int(match[1]))
        elif match[2] == SNAPSHOT_SUFFIX:
            listing.snapshots.append(int(match[1]))
        elif not entry.with_suffix(LOG_SUFFIX).exists():
            listing.orphans.append(entry.name)
    listing.segments.sort()
    listing.snapshots.sort()
    return listing


def list_directory(path: Path) -> DirectoryListing:
    """List the logs of a data directory.

    Raises:
        StorageError: The directory can't be read.
    """
    listing = DirectoryListing(path)
    for entry in _entries(path):
        if not entry.is_dir():
            continue
        topic_partition = partition_of(entry.name)
        if is_name_of_deleted(entry.name) or _FUTURE.fullmatch(entry.name):
            listing.former.append(entry)
        elif topic_partition is not None:
            listing.logs[topic_partition] = entry
        else:
            listing.strangers.append(entry)
    return listing


def is_log(path: Path) -> bool:
    """Return whether a directory is the directory of one log, not a data directory with logs."""
    return any(entry.name == EPOCHS_FILE or _FILE.fullmatch(entry.name) is not None for entry in _entries(path))


def is_data_directory(path: Path) -> bool:
    """Return whether a directory is a data directory, by its files or a log in it."""
    if any((path / name).exists() for name in _DATA_DIRECTORY_FILES):
        return True
    return any(is_log(log) for log in list_directory(path).logs.values())


def _entries(path: Path) -> list[Path]:
    with storage_errors(path):
        return sorted(path.iterdir())
