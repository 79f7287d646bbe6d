"""Opens all logs of a broker at its start, and logs the progress.

Each log is one piece of work for the executor. A log whose damage can't be repaired is not opened or changed; the other
logs are opened. If a partition has two different logs in two directories, neither is used or deleted: a person must
choose. A directory's clean-shutdown marker is removed only when all its logs are open, so that it still exists at the
next start after an earlier kill.

Source: log-format facts, files in a log dir, load and recovery.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.config import LogConfig
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError

_PROGRESS_INTERVAL_MS = 1_000

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DamagedLog:
    """A log that cannot be opened or truncated, with its checkpoint entries, which must be kept.

    Attributes:
        directory: Its directory.
        reason: The damage.
        was_clean: Whether it was closed cleanly when the broker last stopped.
        recovery_point, log_start_offset, first_dirty_offset: None if the checkpoint has no entry.
        other: Another log of the same partition, in another directory.
    """

    directory: Path
    reason: str
    was_clean: bool = True
    recovery_point: int | None = None
    log_start_offset: int | None = None
    first_dirty_offset: int | None = None
    other: "DamagedLog | None" = None

    def all(self) -> "Iterator[DamagedLog]":
        """Yield this log and the other logs of the same partition."""
        log: DamagedLog | None = self
        while log is not None:
            yield log
            log = log.other


@dataclass(slots=True)
class Loaded:
    """The logs found in the log directories.

    Attributes:
        logs: The logs that were opened.
        damaged: The logs that could not be opened, and different logs of one partition.
        high_watermarks: The high watermarks in the checkpoints.
        deleted: Directories of logs that were being deleted.
        futures: Copies of unfinished moves, with their directories.
        surplus: If a partition has two logs (after a kill at the end of a move), the one without further records.
        failed: Directories whose disk failed, with the error; `logs` contains none of their logs.
        error: The first other error; None on success.
    """

    logs: dict[TopicPartition, PartitionLog] = field(default_factory=dict)
    damaged: dict[TopicPartition, DamagedLog] = field(default_factory=dict)
    high_watermarks: dict[TopicPartition, int] = field(default_factory=dict)
    deleted: list[Path] = field(default_factory=list)
    futures: list[tuple[TopicPartition, LogDirectory, Path]] = field(default_factory=list)
    surplus: list[PartitionLog] = field(default_factory=list)
    failed: dict[LogDirectory, StorageError] = field(default_factory=dict)
    error: BaseException | None = None


class _Contents(NamedTuple):
    was_clean: bool
    logs: dict[TopicPartition, Path]
    deleted: list[Path]
    futures: dict[TopicPartition, Path]
    recovery_points: dict[TopicPartition, int]
    high_watermarks: dict[TopicPartition, int]
    log_start_offsets: dict[TopicPartition, int]
    cleaner_offsets: dict[TopicPartition, int]


def load_logs(
    env: LogEnvironment,
    directories: Sequence[LogDirectory],
    topic_config: Callable[[TopicPartition], LogConfig],
    executors: Sequence[Executor],
) -> Pending[Loaded]:
    """Open all logs in some directories.

    Args:
        env: The environment of the logs.
        directories: The directories.
        topic_config: Returns the settings of a partition's topic.
        executors: An executor for each directory.
    """
    return _Loading(env, topic_config, dict(zip(directories, executors, strict=True))).begin(directories)


class _Loading:
    def __init__(
        self,
        env: LogEnvironment,
        topic_config: Callable[[TopicPartition], LogConfig],
        executors: dict[LogDirectory, Executor],
    ) -> None:
        self._env = env
        self._executors = executors
        self._topic_config = topic_config
        self._result = Loaded()
        self._pending: Pending[Loaded] = Pending()
        self._contents: dict[Path, _Contents] = {}
        # Logs of partitions that already have a log, from another directory.
        self._second_logs: list[PartitionLog] = []
        self._left_count = 0
        self._log_count = 0
        self._started_ms = self._told_ms = env.clock.monotonic_ms()

    def begin(self, directories: Sequence[LogDirectory]) -> Pending[Loaded]:
        self._left_count = len(directories)
        for directory in directories:
            self._begin(directory)
        return self._pending

    def _begin(self, directory: LogDirectory) -> None:
        self._executors[directory].run(
            lambda: _read(directory),
            lambda contents: self._open(directory, contents),
            lambda error: self._fail(directory, error, self._one_done),
        )

    def _open(self, directory: LogDirectory, contents: _Contents) -> None:
        self._contents[directory.path] = contents
        self._result.high_watermarks.update(contents.high_watermarks)
        self._result.deleted += contents.deleted
        self._result.futures += [(key, directory, path) for key, path in contents.futures.items()]
        if contents.logs and not contents.was_clean:
            _logger.info("%s was not closed cleanly: recovering %d logs", directory.path, len(contents.logs))
        left = _Countdown(len(contents.logs), lambda: self._end_directory(directory))
        for topic_partition, path in contents.logs.items():
            self._open_log(directory, topic_partition, path, contents, left)

    def _open_log(
        self,
        directory: LogDirectory,
        topic_partition: TopicPartition,
        path: Path,
        contents: _Contents,
        left: "_Countdown",
    ) -> None:
        config = self._topic_config(topic_partition)
        self._log_count += 1

        def work() -> PartitionLog | None:
            # The remaining logs of a failed disk are not opened.
            if directory in self._result.failed or self._result.error is not None:
                return None
            return open_log(
                self._env,
                topic_partition,
                path,
                config,
                was_clean=contents.was_clean,
                recovery_point=contents.recovery_points.get(topic_partition, 0),
                log_start_offset=contents.log_start_offsets.get(topic_partition, 0),
                is_found=True,
            )

        def opened(log: PartitionLog | None) -> None:
            if log is not None:
                log.first_dirty_offset = contents.cleaner_offsets.get(topic_partition)
                if topic_partition in self._result.logs:
                    self._second_logs.append(log)
                else:
                    self._result.logs[topic_partition] = log
                self._log_progress()
            left.one_done()

        def failed(error: BaseException) -> None:
            if isinstance(error, StorageError):
                self._fail(directory, error, left.one_done)
                return
            # differs from Kafka (damaged-log): in Kafka, one damaged log ends the broker's start.
            # Any other error counts as damage: no content of one log may keep the others from being opened.
            is_known = isinstance(error, CorruptRecordsError)
            _logger.error(
                "cannot open %s, its partition is offline: %s", path, error, exc_info=None if is_known else error
            )
            self._note_damage(topic_partition, path, str(error) if is_known else repr(error))
            left.one_done()

        self._executors[directory].run(work, opened, failed)

    def _compare_second_logs(self) -> None:
        """Choose between the logs of one partition, one pair after the other, then complete."""
        while self._second_logs:
            log = self._second_logs.pop()
            # Without a first log, its directory has failed, or it was set aside.
            other = self._result.logs.setdefault(log.topic_partition, log)
            if other is not log:
                self._compare(log, other)
                return
        self._complete()

    def _compare(self, log: PartitionLog, other: PartitionLog) -> None:
        """Keep the longer one of two logs if it contains all records of the other; if not, set both aside."""
        log, other = (log, other) if log.log_end_offset > other.log_end_offset else (other, log)

        def compared(is_copy: bool) -> None:
            if is_copy:
                # differs from Kafka (two-logs): Kafka does not start, and requires that you remove one log by hand.
                _logger.warning(
                    "%s and %s are logs of the same partition: keeping the first, which has all records of the second",
                    log.directory,
                    other.directory,
                )
                self._result.logs[log.topic_partition] = log
                self._result.surplus.append(other)
            else:
                set_aside("with different records")
            self._compare_second_logs()

        def set_aside(difference: str) -> None:
            reason = (
                f"{log.directory} and {other.directory} are logs of the same partition {difference}: decide which one "
                "to keep (barnabas log dump shows the records), move the other one out of log.dirs, and restart the "
                "broker"
            )
            _logger.error("partition %s is offline: %s", log.topic_partition, reason)
            del self._result.logs[log.topic_partition]
            self._set_aside(other, reason)
            self._set_aside(log, reason)

        def failed(error: BaseException) -> None:
            set_aside(f"that cannot be compared ({error})")
            self._compare_second_logs()

        executor = next(self._executors[each] for each in self._executors if each.path == log.directory.parent)
        executor.run(lambda: _is_start_of(other, log), compared, failed)

    def _set_aside(self, log: PartitionLog, reason: str) -> None:
        """Count a log as damaged, and do not change it."""
        self._note_damage(log.topic_partition, log.directory, reason)
        log.release()

    def _note_damage(self, key: TopicPartition, path: Path, reason: str) -> None:
        contents = self._contents[path.parent]
        self._result.damaged[key] = DamagedLog(
            path,
            reason,
            contents.was_clean,
            contents.recovery_points.get(key),
            contents.log_start_offsets.get(key),
            contents.cleaner_offsets.get(key),
            self._result.damaged.get(key),
        )

    def _log_progress(self) -> None:
        now_ms = self._env.clock.monotonic_ms()
        if now_ms - self._told_ms >= _PROGRESS_INTERVAL_MS:
            self._told_ms = now_ms
            _logger.info("opened %d of %d logs", len(self._result.logs), self._log_count)

    def _end_directory(self, directory: LogDirectory) -> None:
        if directory in self._result.failed:
            self._leave(directory)
            return
        self._executors[directory].run(
            directory.unmark_clean,
            lambda _: self._one_done(),
            lambda error: self._fail(directory, error, lambda: self._leave(directory)),
        )

    def _leave(self, directory: LogDirectory) -> None:
        """Release the logs of a directory that failed."""
        for topic_partition, log in list(self._result.logs.items()):
            if log.directory.parent == directory.path:
                del self._result.logs[topic_partition]
                log.release()
        for log in self._second_logs:
            if log.directory.parent == directory.path:
                log.release()
        self._second_logs = [log for log in self._second_logs if not log.is_closed]
        for topic_partition, damaged in list(self._result.damaged.items()):
            if any(each.directory.parent == directory.path for each in damaged.all()):
                del self._result.damaged[topic_partition]
        self._one_done()

    def _one_done(self) -> None:
        self._left_count -= 1
        if self._left_count == 0:
            self._compare_second_logs()

    def _complete(self) -> None:
        for topic_partition, damaged in list(self._result.damaged.items()):
            log = self._result.logs.pop(topic_partition, None)
            if log is not None:
                reason = f"{log.directory} and {damaged.directory} are logs of the same partition; {damaged.reason}"
                _logger.error("partition %s is offline: %s", topic_partition, reason)
                self._set_aside(log, reason)
        elapsed_ms = self._env.clock.monotonic_ms() - self._started_ms
        _logger.info("opened %d logs in %d ms", self._log_count, elapsed_ms)
        self._pending.complete(self._result)

    def _fail(self, directory: LogDirectory, error: BaseException, go_on: Callable[[], object]) -> None:
        if isinstance(error, StorageError):
            self._result.failed.setdefault(directory, error)
            go_on()
        elif self._result.error is None:
            self._result.error = error
            self._pending.complete(self._result)


class _Countdown:
    """Calls back after a number of completions."""

    def __init__(self, count: int, then: Callable[[], object]) -> None:
        self._count = count
        self._then = then
        if count == 0:
            then()

    def one_done(self) -> None:
        self._count -= 1
        if self._count == 0:
            self._then()


def _read(directory: LogDirectory) -> _Contents:
    listing = directory.logs()
    return _Contents(
        directory.was_clean(),
        listing.logs,
        listing.deleted,
        listing.futures,
        directory.recovery_points.read(),
        directory.high_watermarks.read(),
        directory.log_start_offsets.read(),
        directory.cleaner_offsets.read(),
    )


def _is_start_of(shorter: PartitionLog, longer: PartitionLog) -> bool:
    """Return whether a log contains all records of a log that is not longer. Blocks.

    A leader writes each offset once in its epoch. Logs with the same batch, which contains the epoch, therefore had the
    same earlier batches.
    """
    last_offset = shorter.log_end_offset - 1
    if last_offset < shorter.log_start_offset:
        return True
    last, same = (next(log.batches(last_offset, last_offset + 1), None) for log in (shorter, longer))
    if last is not None and same is not None:
        return last == same
    # Compaction or retention has removed the batch.
    epoch = shorter.epoch_at(last_offset)
    return epoch != NO_EPOCH and epoch == longer.epoch_at(max(last_offset, longer.log_start_offset))
