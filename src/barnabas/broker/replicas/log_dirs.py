"""This broker's log directories for clients: sizes of replicas, and the assignment of directories to replicas.

Source: semantics, AlterReplicaLogDirs and DescribeLogDirs; KIP-113.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.log.directories.directory import LogDirectory, future_name
from barnabas.broker.log.manager import LogManager
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.log.cleaner.cleaner import Cleaner

_LONGEST_NAME = 255
_ANY_TOKEN = bytes(16)


class ReplicaSize(NamedTuple):
    """One log in a directory.

    Attributes:
        lag: Number of offsets that a log is behind its high watermark, or a copy behind its log.
        is_future: It is the copy of a log that is being moved to this directory.
    """

    topic_partition: TopicPartition
    size_bytes: int
    lag: int
    is_future: bool


class DirectorySpace(NamedTuple):
    """A directory and its disk.

    Attributes:
        total_bytes, free_bytes: Size and free space of the disk; None if unknown.
        log_bytes: Total size of the logs in the directory.
    """

    path: str
    is_online: bool
    total_bytes: int | None
    free_bytes: int | None
    log_bytes: int


def _space(directory: LogDirectory, is_online: bool, log_bytes: int) -> DirectorySpace:
    total_bytes: int | None = None
    free_bytes: int | None = None
    # A failed disk is reported elsewhere.
    with suppress(StorageError):
        total_bytes, free_bytes = directory.space()
    return DirectorySpace(_path(directory), is_online, total_bytes, free_bytes, log_bytes)


class ReplicaLogDirs:
    """The log directories of one broker. Owned by the event loop."""

    def __init__(self, logs: LogManager, replicas: ReplicaManager) -> None:
        self._logs = logs
        self._replicas = replicas

    def directories(self) -> list[tuple[str, bool]]:
        """Return the path of each directory, and whether it can be used."""
        directories = self._logs.directories
        return [(_path(each), each in directories.online) for each in directories.all]

    def spaces(self, log_bytes: Mapping[str, int]) -> Callable[[], list[DirectorySpace]]:
        """Return a function that queries the free space of each directory. It must not run on the event loop.

        Args:
            log_bytes: Total size of the logs in each directory, by its path, from `replicas`.
        """
        online = list(self._logs.directories.online)
        told = [(each, each in online, log_bytes.get(_path(each), 0)) for each in self._logs.directories.all]
        return lambda: [_space(*each) for each in told]

    @property
    def cleaner(self) -> "Cleaner | None":
        """Return the log cleaner; None if it is disabled or has not started yet."""
        return self._logs.cleaner

    def bad_logs(self) -> Iterator[tuple[TopicPartition, str, str]]:
        """Return each log that cannot be opened (`damaged`) or compacted (`uncleanable`), with the reason."""
        for key, log in self._logs.damaged.items():
            yield key, "damaged", log.reason
        for key, error in () if self.cleaner is None else self.cleaner.uncleanable.items():
            yield key, "uncleanable", str(error)

    def replicas(self) -> Iterator[tuple[str, ReplicaSize]]:
        """Iterate over all logs with the path of their directory; concurrent changes may be missed."""
        paths = {each.path: _path(each) for each in self._logs.directories.online}
        for key in list(self._logs.topic_partitions):
            log = self._logs.get(key)
            if log is not None and log.directory.parent in paths:
                partition = self._replicas.partition(key)
                high_watermark = 0 if partition is None else partition.high_watermark
                lag = max(high_watermark - log.log_end_offset, 0)
                yield paths[log.directory.parent], ReplicaSize(key, log.size_bytes, lag, is_future=False)
            move = self._logs.moves.get(key)
            if log is not None and move is not None:
                # A copy that is not open yet is reported as empty: Kafka creates it before it answers.
                size_bytes, end_offset = 0, 0
                if move.future is not None:
                    size_bytes, end_offset = move.future.size_bytes, move.future.log_end_offset
                lag = log.log_end_offset - end_offset
                yield _path(move.directory), ReplicaSize(key, size_bytes, lag, is_future=True)

    def assign_directory(self, topic_partition: TopicPartition, path: str, is_known: bool) -> ErrorCode:
        """Assign a directory to a replica: start to move its log, or record the choice for a replica created later.

        Args:
            path: The path that clients see.
            is_known: Whether the cluster has this partition, even if on another broker.

        Returns:
            The error; NONE if the log moves, or is already in that directory.
        """
        if len(future_name(topic_partition, _ANY_TOKEN)) > _LONGEST_NAME:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        directories = self._logs.directories
        directory = next((each for each in directories.all if _path(each) == path), None)
        if directory is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if directory not in directories.online:
            return ErrorCode.KAFKA_STORAGE_ERROR
        absence = self._replicas.absence_of(topic_partition)
        partition = self._replicas.partition(topic_partition)
        if partition is None and absence == ErrorCode.KAFKA_STORAGE_ERROR:
            return absence
        self._logs.assign_directory(topic_partition, directory)
        if partition is not None:
            return ErrorCode.NONE
        return ErrorCode.REPLICA_NOT_AVAILABLE if is_known else absence


def _path(directory: LogDirectory) -> str:
    """Return a directory's path as clients see it."""
    return str(directory.path.absolute())
