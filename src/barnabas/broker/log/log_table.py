"""The logs of a broker by partition: opens, creates and deletes them.

Invariants:
    - a partition has at most one log that is open, being opened or being deleted: opening a new log waits until the
      deleted log's directory is renamed, and the checkpoints no longer contain it;
    - a log that another log replaced is deleted together with that log, if it still exists;
    - a partition whose log could not be deleted gets no other log: after the disk is repaired, a start would find both;
    - all callers are answered, in the order of their requests.

Source: design page, log; log-format facts, files in a log dir.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.log.config import LogConfig
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.directories.log_dirs import LogDirs
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.loading import DamagedLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending, completed
from barnabas.core.types import TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError

if TYPE_CHECKING:
    from random import Random

_logger = logging.getLogger(__name__)

T = TypeVar("T")

_Wanted = tuple[Pending[PartitionLog | None], bool]


class _Opening:
    """A log that is being opened.

    Attributes:
        directory: The directory that will contain it.
        is_unwanted: Whether it is deleted as soon as it is open.
        waiting: The callers that wait for it.
        waiting_for_next: The callers that came after a request to delete it, with `is_new`: they get a new log.
        told: The callers that wait for its deletion.
    """

    __slots__ = ("directory", "is_unwanted", "told", "waiting", "waiting_for_next")

    def __init__(self, directory: LogDirectory, first: Pending[PartitionLog | None]) -> None:
        self.directory = directory
        self.is_unwanted = False
        self.waiting = [first]
        self.waiting_for_next: list[_Wanted] = []
        self.told: list[Pending[BaseException | None]] = []


class _Deletion:
    """A log whose directory is being renamed for deletion.

    Attributes:
        told: The callers that wait for the rename.
        refused: The callers that wanted a new log, which was deleted before its creation.
        waiting_for_next: The callers that want a new log, with `is_new`.
    """

    __slots__ = ("refused", "told", "waiting_for_next")

    def __init__(self, told: Pending[BaseException | None]) -> None:
        self.told = [told]
        self.refused: list[Pending[PartitionLog | None]] = []
        self.waiting_for_next: list[_Wanted] = []


class LogTable:
    """The open, opening and deleted logs of a broker. Owned by the event loop.

    Attributes:
        logs: The open logs.
        damaged: The logs that cannot be opened.
        preferred: The chosen directories of logs that do not exist yet.
    """

    def __init__(
        self,
        env: LogEnvironment,
        directories: LogDirs,
        topic_config: Callable[[TopicPartition], LogConfig],
        dice: "Random",
    ) -> None:
        """Args:
        env: The environment of the logs.
        directories: The online directories.
        topic_config: Returns the current settings of a partition's topic.
        dice: Random numbers for the names of deleted logs.
        """
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.damaged: dict[TopicPartition, DamagedLog] = {}
        self.preferred: dict[TopicPartition, LogDirectory] = {}
        self._env = env
        self._directories = directories
        self._topic_config = topic_config
        self._dice = dice
        self._opening: dict[TopicPartition, _Opening] = {}
        # Number of logs by directory, with those that are being opened; valid while logs are being opened.
        self._log_counts: Counter[str] = Counter()
        self._deletions: dict[TopicPartition, _Deletion] = {}
        # Logs that another log has replaced, until their directories are renamed.
        self._replaced: dict[TopicPartition, PartitionLog] = {}
        self._retirements: dict[TopicPartition, Pending[BaseException | None]] = {}
        # The errors of logs that could not be deleted, until the broker starts again.
        self._undeleted: dict[TopicPartition, BaseException] = {}
        self._is_closed = False
        self._settled: Pending[None] = completed(None)

    def close(self) -> Pending[None]:
        """Open no more logs; complete when no log is being opened or deleted. Open logs stay open."""
        self._is_closed = True
        self._settled = Pending()
        self._check_settled()
        return self._settled

    def _check_settled(self) -> None:
        if not self._opening and not self._deletions and not self._retirements:
            self._settled.complete(None)

    # --- open and create

    def get_or_create(self, topic_partition: TopicPartition, *, is_new: bool = True) -> Pending[PartitionLog | None]:
        """See `LogManager.get_or_create`."""
        log = self.logs.get(topic_partition)
        if topic_partition in self.damaged or topic_partition in self._undeleted:
            return completed(None)
        if log is not None or self._is_closed or (self._directories.has_offline and not is_new):
            return completed(log)
        pending: Pending[PartitionLog | None] = Pending()
        opening, deletion = self._opening.get(topic_partition), self._deletions.get(topic_partition)
        if deletion is not None:
            deletion.waiting_for_next.append((pending, is_new))
        elif opening is None:
            self._open(topic_partition, pending)
        elif opening.is_unwanted:
            opening.waiting_for_next.append((pending, is_new))
        else:
            opening.waiting.append(pending)
        return pending

    def _open(self, topic_partition: TopicPartition, first: Pending[PartitionLog | None]) -> None:
        if not self._opening and len(self._directories.online) > 1:
            # Once for all logs that are opened together, because there may be very many logs. Counts strings, because
            # path operations are slow.
            self._log_counts = Counter(str(log.directory).rpartition("/")[0] or "." for log in self.logs.values())
        directory = self._directory_for(topic_partition)
        self._log_counts[str(directory.path)] += 1
        self._opening[topic_partition] = _Opening(directory, first)
        path = directory.path / str(topic_partition)
        config = self._topic_config(topic_partition)

        def opened(log: PartitionLog) -> None:
            if directory not in self._directories.online:
                # The directory failed meanwhile.
                log.release()
                self._end_opening(topic_partition, None)
                return
            self.logs[topic_partition] = log
            self._end_opening(topic_partition, log)

        def failed(error: BaseException) -> None:
            if isinstance(error, CorruptRecordsError):
                _logger.error("cannot open %s, its partition is offline: %s", path, error)
                self.damaged[topic_partition] = DamagedLog(path, str(error))
            self._end_opening(topic_partition, None)
            if isinstance(error, StorageError):
                self._env.on_failure(error)

        self._env.executor.run(lambda: open_log(self._env, topic_partition, path, config), opened, failed)

    def _end_opening(self, topic_partition: TopicPartition, log: PartitionLog | None) -> None:
        opening = self._opening.pop(topic_partition)
        if opening.is_unwanted:
            told = opening.told
            self.delete(topic_partition).then(partial(_complete, told))
            log = None
        _complete(opening.waiting, log)
        self._make_next(topic_partition, opening.waiting_for_next)

    def _make_next(self, topic_partition: TopicPartition, wanted: Iterable[_Wanted]) -> None:
        for pending, is_new in wanted:
            self.get_or_create(topic_partition, is_new=is_new).then(pending.complete)
        self._check_settled()

    def _directory_for(self, topic_partition: TopicPartition) -> LogDirectory:
        preferred = self.preferred.pop(topic_partition, None)
        if preferred is not None and preferred in self._directories.online:
            return preferred
        return self._emptiest_directory()

    def _emptiest_directory(self) -> LogDirectory:
        if len(self._directories.online) == 1:
            return self._directories.online[0]
        return min(self._directories, key=lambda directory: self._log_counts[str(directory.path)])

    # --- delete

    def delete(self, topic_partition: TopicPartition) -> Pending[BaseException | None]:
        """See `LogManager.delete`."""
        told: Pending[BaseException | None] = Pending()
        opening, deletion = self._opening.get(topic_partition), self._deletions.get(topic_partition)
        if opening is not None:
            # All waiting callers asked before this deletion, so none of them gets a log.
            opening.is_unwanted = True
            opening.waiting += [pending for pending, _ in opening.waiting_for_next]
            opening.waiting_for_next.clear()
            opening.told.append(told)
            return told
        if deletion is not None:
            deletion.refused += [pending for pending, _ in deletion.waiting_for_next]
            deletion.waiting_for_next.clear()
            deletion.told.append(told)
            return told
        log = self.logs.pop(topic_partition, None)
        damaged = self.damaged.pop(topic_partition, None)
        gone: list[PartitionLog | DamagedLog] = [] if damaged is None else [*damaged.all()]
        if log is not None:
            gone.append(log)
        if not gone and topic_partition not in self._replaced:
            return completed(self._undeleted.get(topic_partition))
        self._deletions[topic_partition] = _Deletion(told)
        settled = completed(None)
        if log is not None:
            log.release()
            settled = log.settled()

        def rename(earlier: BaseException | None) -> Pending[BaseException | None]:
            if not gone:
                return completed(earlier)
            return self._rename(topic_partition, gone.pop()).shaped(lambda error: error or earlier).and_then(rename)

        def retire(_: None) -> Pending[BaseException | None]:
            return self.retire_replaced(topic_partition).and_then(rename)

        renamed: Pending[BaseException | None] = settled.and_then(retire)
        renamed.then(partial(self._end_deletion, topic_partition))
        return told

    def _rename(
        self, topic_partition: TopicPartition, gone: PartitionLog | DamagedLog
    ) -> Pending[BaseException | None]:
        """Rename a log's directory for deletion.

        Returns:
            None when the checkpoints do not contain the log, either; the error if the directory still has its name.
        """
        done: Pending[BaseException | None] = Pending()
        directory = self._directories.of(gone.directory)
        token = self._dice.randbytes(16)
        config = gone.config if isinstance(gone, PartitionLog) else self._topic_config(topic_partition)
        delay_ms = config.file_delete_delay_ms

        def renamed(path: Path) -> None:
            self.remove_later(path, delay_ms)
            # A topic with the same name may be created later. After a kill, its records must not be compared with the
            # offsets of this log.
            self._env.write_checkpoints(gone.directory).then(done.complete)

        def failed(error: BaseException) -> None:
            self._env.on_failure(error)
            done.complete(error)

        self._env.executor.run(lambda: directory.mark_deleted(gone.directory, topic_partition, token), renamed, failed)
        return done

    def _end_deletion(self, topic_partition: TopicPartition, error: BaseException | None) -> None:
        deletion = self._deletions.pop(topic_partition)
        if error is not None:
            self._undeleted[topic_partition] = error
        _complete(deletion.told, error)
        _complete(deletion.refused, None)
        self._make_next(topic_partition, deletion.waiting_for_next)

    # --- replace

    def replace(self, before: PartitionLog, log: PartitionLog) -> None:
        """Replace a log by its copy in another directory; call `retire_replaced` when the copy is on disk."""
        self.logs[log.topic_partition] = log
        self._replaced[log.topic_partition] = before

    def has_replaced(self, topic_partition: TopicPartition) -> bool:
        """Return whether a log that was replaced still has its directory."""
        return topic_partition in self._replaced

    def retire_replaced(self, topic_partition: TopicPartition) -> Pending[BaseException | None]:
        """Delete the log that `replace` has replaced, if there is one; see `retire`."""
        log, told = self._replaced.get(topic_partition), self._retirements.get(topic_partition)
        if told is not None:
            return told
        if log is None:
            return completed(None)
        told = self._retirements[topic_partition] = Pending()
        self.retire(log).then(partial(self._end_retirement, topic_partition))
        return told

    def _end_retirement(self, topic_partition: TopicPartition, error: BaseException | None) -> None:
        self._replaced.pop(topic_partition, None)
        self._retirements.pop(topic_partition).complete(error)
        self._check_settled()

    def forget_replaced_in(self, directory: LogDirectory) -> None:
        """Leave the replaced logs of a failed directory as they are."""
        for topic_partition, log in list(self._replaced.items()):
            if log.directory.parent == directory.path:
                del self._replaced[topic_partition]
                log.release()

    def retire(self, log: PartitionLog) -> Pending[BaseException | None]:
        """Delete a log that is not in the table.

        Returns:
            None when its directory is renamed; the error if it could not be.
        """
        log.release()
        return log.settled().and_then(lambda _: self._rename(log.topic_partition, log))

    def remove_later(self, directory: Path, delay_ms: int) -> None:
        """Remove a directory that was marked as deleted."""

        def remove() -> None:
            self._env.executor.run(lambda: self._env.files.remove_tree(directory), lambda _: None, self._env.on_failure)

        self._env.timers.call_later(delay_ms, remove)


def _complete(waiting: Iterable[Pending[T]], value: T) -> None:
    for pending in waiting:
        pending.complete(value)
