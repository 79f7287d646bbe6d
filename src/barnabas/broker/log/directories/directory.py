"""One directory of `log.dirs`: its owner, its checkpoints, and its logs.

    .lock                                exclusive while a broker runs
    meta.properties                      version=0, broker.id, cluster.id
    .kafka_cleanshutdown                 exists if the last stop flushed all logs; removed while the broker runs
    recovery-point-offset-checkpoint, replication-offset-checkpoint, log-start-offset-checkpoint,
    cleaner-offset-checkpoint            an offset per partition
    <topic>-<partition>/                 a log; with `.<32 hex digits>-delete` a log that is being deleted,
                                         with `.<32 hex digits>-future` the copy of a log that is being moved here

Source: log-format facts, files in a log dir.
"""

import logging
import re
import time
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.log.disk.files import FileLock, FileSystem
from barnabas.core.config.properties import parse_properties
from barnabas.core.errors import ConfigError, StartupError
from barnabas.core.types import TopicPartition, is_topic_name

LOCK_FILE = ".lock"
META_FILE = "meta.properties"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
DELETE_SUFFIX = "-delete"
FUTURE_SUFFIX = "-future"

_LONGEST_NAME = 255
_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
_LOG_NAME = re.compile(r"(.+)-(0|[1-9]\d*)", re.ASCII)
_FUTURE_NAME = re.compile(r"(.+)\.[0-9a-f]{32}-future", re.ASCII)
# The topic may be shortened.
_DELETED_NAME = re.compile(r".+-\d+\.[0-9a-f]{32}-delete", re.ASCII)
_MOST_PARTITION = 2**31 - 1

_logger = logging.getLogger(__name__)


class Identity(NamedTuple):
    """The owner of a directory, from `meta.properties`; None for a field that the file does not have."""

    broker_id: int | None
    cluster_id: str | None


class LogListing(NamedTuple):
    """The contents of a log directory.

    Attributes:
        logs: By partition.
        deleted: The directories of logs that are being deleted.
        futures: Copies of logs that are being moved here, by partition.
    """

    logs: dict[TopicPartition, Path]
    deleted: list[Path]
    futures: dict[TopicPartition, Path]


def partition_of(name: str) -> TopicPartition | None:
    """Return the partition for a directory name; None if it is not the name of a partition's log."""
    match = _LOG_NAME.fullmatch(name)
    if match is None or not is_topic_name(match[1]) or int(match[2]) > _MOST_PARTITION:
        return None
    return TopicPartition(match[1], int(match[2]))


def is_name_of_deleted(name: str) -> bool:
    """Return whether a directory name is the name of a log that is being deleted."""
    return _DELETED_NAME.fullmatch(name) is not None


def future_name(topic_partition: TopicPartition, token: bytes) -> str:
    """Return the name of the directory that a log is copied into."""
    return f"{topic_partition}.{token.hex()}{FUTURE_SUFFIX}"


class LogDirectory:
    """A directory that contains logs.

    Attributes:
        path: Its path.
        recovery_points, high_watermarks, log_start_offsets, cleaner_offsets: Its checkpoints.
    """

    __slots__ = (
        "_files",
        "_lock",
        "cleaner_offsets",
        "high_watermarks",
        "log_start_offsets",
        "path",
        "recovery_points",
    )

    def __init__(self, files: FileSystem, path: Path) -> None:
        self._files = files
        self._lock: FileLock | None = None
        self.path = path
        self.recovery_points, self.high_watermarks, self.log_start_offsets, self.cleaner_offsets = (
            OffsetCheckpoint(files, path / name) for name in _CHECKPOINTS
        )

    def space(self) -> tuple[int, int]:
        """Return the size of its disk and the free space, in bytes; never on the event loop.

        Raises:
            StorageError: The disk failed.
        """
        return self._files.space(self.path)

    def lock(self) -> None:
        """Create the directory if it is missing, and lock it for this process.

        Raises:
            StartupError: Another broker has locked the directory.
            StorageError: The directory can't be created or written.
        """
        missing = [each for each in (self.path, *self.path.parents) if not self._files.exists(each)]
        self._files.make_directory(self.path)
        for made in missing:
            # Without this, a power failure could remove the new directory and all synced files in it.
            self._files.sync(made.parent)
        self._lock = self._files.lock(self.path / LOCK_FILE)
        if self._lock is None:
            raise StartupError(
                f"{self.path} is in use by another broker (its file {LOCK_FILE} is locked): stop that one, "
                "or choose another log.dirs"
            )

    def unlock(self) -> None:
        """Release the lock of the directory."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def identity(self) -> Identity | None:
        """Read meta.properties; None if it does not exist, so the directory is new.

        Raises:
            StartupError: The file is malformed, or has an unsupported version.
        """
        data = self._files.read(self.path / META_FILE)
        if data is None:
            return None
        try:
            values = parse_properties(data.decode("latin-1"))[0]
            broker_id = int(values["broker.id"]) if "broker.id" in values else None
        except (ConfigError, ValueError) as error:
            raise StartupError(f"{self.path / META_FILE} can't be read: {error}") from None
        if values.get("version") != "0":
            raise StartupError(f"{self.path / META_FILE} has version {values.get('version')}, this broker knows 0")
        return Identity(broker_id, values.get("cluster.id"))

    def write_identity(self, broker_id: int, cluster_id: str | None, now_ms: int) -> None:
        """Write meta.properties with this broker's id; blocks until it is on disk.

        Args:
            broker_id: The broker's id.
            cluster_id: The cluster's id; None omits it, as Kafka before 2.4 does.
            now_ms: The time for the date in the file.
        """
        date = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(now_ms / 1000))
        text = f"#\n#{date}\nversion=0\nbroker.id={broker_id}\n"
        text += "" if cluster_id is None else f"cluster.id={cluster_id}\n"
        self._files.replace(self.path / META_FILE, text.encode("latin-1"))

    def make_checkpoints(self) -> None:
        """Create missing checkpoint files, empty."""
        for name in _CHECKPOINTS:
            if not self._files.exists(self.path / name):
                self._files.write(self.path / name, b"")

    def was_clean(self) -> bool:
        """Return whether the last stop flushed and closed all logs."""
        return self._files.exists(self.path / CLEAN_SHUTDOWN_FILE)

    def mark_clean(self) -> None:
        """Note that all logs are closed and on disk."""
        self._files.write(self.path / CLEAN_SHUTDOWN_FILE, b"")
        self._files.sync(self.path)

    def unmark_clean(self) -> None:
        """Make later stops without `mark_clean` unclean; also syncs the directory with the names of all logs."""
        self._files.remove(self.path / CLEAN_SHUTDOWN_FILE)
        self._files.sync(self.path)

    def logs(self) -> "LogListing":
        """Return the logs in this directory."""
        found: dict[TopicPartition, Path] = {}
        deleted: list[Path] = []
        futures: dict[TopicPartition, Path] = {}
        for entry in self._files.list(self.path):
            if not entry.is_directory:
                continue
            future = _FUTURE_NAME.fullmatch(entry.name)
            topic_partition = partition_of(entry.name if future is None else future[1])
            if is_name_of_deleted(entry.name):
                deleted.append(self.path / entry.name)
            elif topic_partition is not None:
                (found if future is None else futures)[topic_partition] = self.path / entry.name
            else:
                _logger.warning("%s is not a partition directory: ignored", self.path / entry.name)
        return LogListing(found, deleted, futures)

    def future_path(self, topic_partition: TopicPartition, token: bytes) -> Path:
        """Return the path of the directory that a log is copied into.

        Args:
            token: 16 random bytes.
        """
        return self.path / future_name(topic_partition, token)

    def mark_deleted(self, directory: Path, topic_partition: TopicPartition, token: bytes) -> Path:
        """Rename a log's directory so that it is no longer a log; return its new path.

        Args:
            token: 16 random bytes, because a topic with this name may be deleted again before the files are removed.
        """
        suffix = f"-{topic_partition.partition}.{token.hex()}{DELETE_SUFFIX}"
        renamed = self.path / (topic_partition.topic[: _LONGEST_NAME - len(suffix)] + suffix)
        self._files.rename(directory, renamed)
        return renamed
