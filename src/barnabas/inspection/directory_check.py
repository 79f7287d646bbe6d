"""Checks a data directory with all its logs, read-only, also while a broker has it open.

Source: log-format facts, files in a log dir.
"""

import fcntl
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from barnabas.broker.log.directories.checkpoint import parse_lines
from barnabas.broker.log.directories.directory import CLEAN_SHUTDOWN_FILE, LOCK_FILE, META_FILE
from barnabas.core.config.properties import parse_properties
from barnabas.core.errors import ConfigError, StorageError
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.core.types import TopicPartition
from barnabas.inspection.findings import DirectoryReport, Kind
from barnabas.inspection.index_files import read_bytes
from barnabas.inspection.log_check import LogCheck, LogState
from barnabas.inspection.log_listing import DirectoryListing, list_directory

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"

# struct flock: Linux puts the process last, the BSDs put it before type and whence.
_FLOCK_LINUX = struct.Struct("@hhqqi4x")
_FLOCK_BSD = struct.Struct("@qqihh")

Offsets = dict[TopicPartition, int]


def running_broker(path: Path) -> int | None:
    """Return the process that has a data directory open.

    Returns:
        The process id; 0 if it is unknown; None if no process has the directory open.
    """
    try:
        fd = os.open(path / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if sys.platform == "linux":
            asked = _FLOCK_LINUX.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = _FLOCK_LINUX.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked))
        else:
            asked = _FLOCK_BSD.pack(0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
            _, _, pid, kind, _ = _FLOCK_BSD.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    except OSError:
        # A file system without such locks.
        return None
    finally:
        os.close(fd)
    return None if kind == fcntl.F_UNLCK else max(pid, 0)


class DirectoryCheck:
    """One check of one data directory."""

    def __init__(
        self,
        path: Path,
        note_log: Callable[[str], None] = lambda _: None,
        note_bytes: Callable[[int], None] = lambda _: None,
        *,
        is_deep: bool = True,
    ) -> None:
        """Args:
        path: The directory.
        note_log: Receives the name of each log before it is checked.
        note_bytes: Receives the numbers of processed bytes of `.log` files.
        is_deep: Also unpack the records.
        """
        self._path = path
        self._note_log = note_log
        self._note_bytes = note_bytes
        self._is_deep = is_deep
        self._listing: DirectoryListing = list_directory(path)
        self._report = DirectoryReport(path)

    def run(self, only: Callable[[TopicPartition], bool] = lambda _: True) -> DirectoryReport:
        """Check the directory and the selected logs."""
        report, listing = self._report, self._listing
        report.running_pid = running_broker(self._path)
        report.was_clean = (self._path / CLEAN_SHUTDOWN_FILE).exists()
        self._check_identity()
        recovery_points, high_watermarks, log_start_offsets, cleaner_offsets = (
            self._read_checkpoint(name)
            for name in (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEANER_OFFSETS)
        )
        for path in listing.former:
            report.add(Kind.RECOVERY, path, "was being deleted or copied: the next start would resume that")
        for path in listing.strangers:
            report.add(Kind.NOTE, path, "is not a log")
        for topic_partition, path in listing.logs.items():
            if not only(topic_partition):
                continue
            self._note_log(path.name)
            state = LogState(
                report.was_clean,
                report.running_pid is not None,
                recovery_points.get(topic_partition),
                log_start_offsets.get(topic_partition),
                high_watermarks.get(topic_partition),
                topic_partition in cleaner_offsets or topic_partition.topic in INTERNAL_TOPICS,
            )
            try:
                report.logs.append(LogCheck(path, state, self._note_bytes, is_deep=self._is_deep).run())
            except StorageError as error:
                kind = Kind.NOTE if report.running_pid is not None and not path.exists() else Kind.DAMAGE
                report.add(kind, path, str(error).removeprefix(f"{path}: "))
        return report

    def _check_identity(self) -> None:
        path = self._path / META_FILE
        if not path.exists():
            if self._listing.logs:
                self._report.add(
                    Kind.DAMAGE,
                    path,
                    "is missing: the next broker that starts here would adopt the directory as its own",
                )
            return
        try:
            values = parse_properties(read_bytes(path).decode("latin-1"))[0]
        except (ConfigError, StorageError) as error:
            self._report.add(Kind.DAMAGE, path, str(error))
            return
        if values.get("version") != "0":
            self._report.add(
                Kind.DAMAGE, path, f"has version {values.get('version')}: must be 0, or no broker starts with it"
            )
        for name in ("broker.id", "cluster.id"):
            if name not in values:
                self._report.add(Kind.NOTE, path, f"has no {name}")

    def _read_checkpoint(self, name: str) -> Offsets:
        path = self._path / name
        if not path.exists():
            return {}
        try:
            lines = parse_lines(read_bytes(path), 3, path)
        except StorageError as error:
            text = str(error).removeprefix(f"{path}: ")
            self._report.add(Kind.DAMAGE, path, f"{text}; a broker would take the directory offline")
            return {}
        offsets = {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in lines}
        missing = [each for each in offsets if each not in self._listing.logs]
        if missing:
            names = ", ".join(f"{topic}-{partition}" for topic, partition in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            self._report.add(Kind.NOTE, path, f"names logs that do not exist: {names}{more}")
        return offsets
