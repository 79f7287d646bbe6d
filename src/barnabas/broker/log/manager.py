"""All logs of a broker, from the start of the process to its end.

    directories/ownership.py   checks the owner of the directories
    startup/loading.py         opens and recovers the logs in them
    log_table.py               opens, creates and deletes logs afterwards
    maintenance.py             periodic tasks: checkpoints, retention, flushes, the cleaner
    shutdown.py                closes all logs at the end

This module handles failed disks, and calls the others in the right order.
At a start, call `lock`, `load`, `watch_high_watermarks`; at a stop, call `close`.

Invariants:
    - `.kafka_cleanshutdown` exists only while no broker runs and every log is on disk;
    - a directory of another broker or cluster is refused before anything in it is changed;
    - a failed disk takes only its directory offline, and damaged data only its log;
    - blocking work (recovery, fsync, checkpoints, removal) runs in the executor.

Source: design page, log; log-format facts, files in a log dir, load and recovery, retention.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.log.config import LogConfig, LogManagerConfig
from barnabas.broker.log.directories.checkpoints import Checkpoints
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.directories.log_dirs import LogDirs
from barnabas.broker.log.directories.ownership import claim, lock
from barnabas.broker.log.disk.files import FileSystem, LocalFileSystem
from barnabas.broker.log.environment import LogEnvironment, OnRemoved
from barnabas.broker.log.log_table import LogTable
from barnabas.broker.log.maintenance import LogMaintenance
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers.open_transactions import (
    Coordinated,
    warn_of_open_transactions,
    with_open_transactions,
)
from barnabas.broker.log.startup.loading import DamagedLog, load_logs
from barnabas.core.clock import Clock
from barnabas.core.config.versions import kafka_version
from barnabas.core.dice import system_dice
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, StopSignal, new_stop_signal
from barnabas.core.histogram import Durations
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition

CLOSING_THREAD_COUNT = 8
_VALIDATES_RECORDS = "full"
_RECOVERED_FLUSHED_AT_ONCE = 2

if TYPE_CHECKING:
    from random import Random

    from barnabas.broker.log.cleaner.cleaner import Cleaner
    from barnabas.broker.log.log_dir_moves import LogMoves, Move


_logger = logging.getLogger(__name__)


class LogManager:
    """The logs in all directories of `log.dirs`. Owned by the event loop.

    Attributes:
        known_broker_id, known_cluster_id: The owner of the directories; None until `lock` has read it.
        on_offline: Called with the logs of a failed directory, or with a log that cannot be truncated.
        on_flushed: Called with each log after its flush.
        on_moved: Called with a log that replaces the partition's log in another directory.
        on_removed: Called with the segments of a log that retention removed.
        is_appending: Returns whether an append is being prepared for a log.
    """

    def __init__(
        self,
        config: LogManagerConfig,
        clock: Clock,
        timers: Timers,
        executor: Executor,
        topic_config: Callable[[TopicPartition], LogConfig],
        on_failure: Callable[[BaseException], object],
        *,
        files: FileSystem | None = None,
        cleaner_executor: Executor | None = None,
        recovery_executor: Callable[[], Executor] | None = None,
        closing_executor: Executor | None = None,
        dice: "Random | None" = None,
        new_stop_signal: Callable[[], StopSignal] = new_stop_signal,
        on_loop: Callable[[str], object] = lambda _: None,
        read_coordinated: Callable[[Sequence[PartitionLog]], Coordinated] = lambda _: (),
        registry_directory: Path | None = None,
    ) -> None:
        """Args:
        config: The broker's settings.
        clock: The clock.
        timers: Timers for periodic tasks.
        executor: Runs blocking work.
        topic_config: Returns the current settings of a partition's topic.
        on_failure: Called with the error of the last directory, or of `registry_directory` (it names the file); the
            broker should stop.
        files: The disk; the local disk by default.
        cleaner_executor: Compacts logs, log.cleaner.threads at a time; `executor` by default.
        recovery_executor: Creates an executor to open the logs of one directory at the start; `executor` by default.
        closing_executor: Closes the logs at the end, `CLOSING_THREAD_COUNT` at a time; `executor` by default.
        dice: Random numbers for roll jitter and the names of deleted logs; the system's by default.
        new_stop_signal: Creates the signal that stops the cleaner's threads.
        on_loop: Called with the name of work on the event loop that belongs to an executor: see the watchdog.
        read_coordinated: Reads the logs of `__transaction_state`, and returns the open transactions that their
            coordinators will end; blocks.
        registry_directory: The directory with the embedded registry; None: the cluster's state is in ZooKeeper.
        """
        self.known_broker_id: int | None = None
        self.known_cluster_id: str | None = None
        self._on_all_failed = on_failure
        self.on_offline: Callable[[list[TopicPartition]], object] = lambda _: None
        self.on_flushed: Callable[[TopicPartition], object] = lambda _: None
        self.on_moved: Callable[[PartitionLog], object] = lambda _: None
        self.on_removed: OnRemoved = lambda topic_partition, going: None
        self.is_appending: Callable[[PartitionLog], bool] = lambda _: False
        self._moves: LogMoves | None = None
        self._interrupted_moves: list[tuple[TopicPartition, LogDirectory, Path]] = []
        self._config = config
        self._read_coordinated = read_coordinated
        self._clock = clock
        self._executor = executor
        self._recovery_executor: Callable[[], Executor] = recovery_executor or (lambda: executor)
        self._closing_executor = executor if closing_executor is None else closing_executor
        self._dice = system_dice() if dice is None else dice
        self._topic_config = topic_config
        self._env = LogEnvironment(
            clock,
            timers,
            executor,
            files if files is not None else LocalFileSystem(),
            self._dice.randrange,
            self._on_failure,
            config.transactional_id_expiration_ms,
            config.barnabas_record_validation == _VALIDATES_RECORDS,
            on_loop=on_loop,
            on_flushed=lambda topic_partition: self.on_flushed(topic_partition),
            on_removed=lambda topic_partition, going: self.on_removed(topic_partition, going),
        )
        directories = [LogDirectory(self._env.files, Path(path)) for path in _paths(config)]
        self._directories = LogDirs(directories, registry_directory)
        self._table = LogTable(self._env, self._directories, topic_config, self._dice)
        self._logs, self._damaged = self._table.logs, self._table.damaged
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._hosted_high_watermarks: Callable[[], Mapping[TopicPartition, int]] = dict
        self._checkpoints = Checkpoints(
            executor, self._directories, self._logs, self._damaged, self._known_high_watermarks, self._on_failure
        )
        self._env.write_checkpoints = self._checkpoints.write_after_truncation
        self._env.on_damaged = self._on_damaged
        self._maintenance = LogMaintenance(
            config,
            self._env,
            self._directories,
            self._logs,
            self._checkpoints,
            # Not those in the checkpoint: while a partition is unknown, so are its topic's settings. As in Kafka,
            # retention then deletes nothing.
            lambda: self._hosted_high_watermarks(),
            executor if cleaner_executor is None else cleaner_executor,
            new_stop_signal,
            lambda topic_partition: topic_partition in self.moves,
        )
        # Recovered logs that are not known to be on disk.
        self._unflushed: deque[PartitionLog] = deque()
        self._flushed_at_once = 0
        self._is_flushing = False
        self._is_loaded = False
        self._has_failed = False
        self._is_closed = False

    # --- start

    async def lock(self) -> None:
        """Lock the directories for this process and read their owner.

        Raises:
            StartupError: Another process has locked one, or they belong to different brokers or clusters.
            StorageError: No directory can be created and written, or the registry's cannot.
        """
        await self._run(self._lock)

    def _lock(self) -> None:
        found = lock(self._directories)
        self.known_broker_id, self.known_cluster_id = found.broker_id, found.cluster_id

    async def load(
        self, cluster_id: str, broker_id: int, count_state_partitions: Callable[[], Awaitable[int]] | None = None
    ) -> None:
        """Claim the directories for this broker and open all logs; recover logs after an unclean stop.

        The topics' settings and inter.broker.protocol.version must be known by now.

        Args:
            cluster_id, broker_id: The owner of the directories.
            count_state_partitions: Returns the number of partitions of `__transaction_state` in the cluster, 0 if it
                does not exist; only called if a transaction is open. None: it does not exist.

        Raises:
            StartupError: A directory belongs to another broker or cluster; nothing was changed.
            StorageError: All disks failed, or the disk of the registry's directory.
        """
        self._env.has_zstd = kafka_version(self._config.inter_broker_protocol_version).has_zstd
        try:
            await self._run(lambda: claim(self._directories, cluster_id, broker_id, self._clock.now_ms()))
            executors = [self._recovery_executor() for _ in self._directories]
            loaded = await load_logs(self._env, self._directories.online, self._topic_config, executors).future()
            if loaded.error is not None:
                raise loaded.error
            for directory, error in loaded.failed.items():
                self._directories.take_offline(directory, error)
            affected = with_open_transactions(loaded.logs.values())
            if affected:
                count = 0 if count_state_partitions is None else await count_state_partitions()
                state_logs = [log for key, log in loaded.logs.items() if key.topic == TRANSACTION_STATE_TOPIC]
                await self._run(lambda: warn_of_open_transactions(affected, state_logs, self._read_coordinated, count))
        except BaseException:
            self._directories.unlock()
            raise
        self._is_loaded = True
        self._logs.update(loaded.logs)
        self._damaged.update(loaded.damaged)
        self._high_watermarks.update(loaded.high_watermarks)
        self._interrupted_moves = loaded.futures
        for log in loaded.surplus:
            self._table.retire(log)
        for path in loaded.deleted:
            self._table.remove_later(path, 0)
        self._unflushed.extend(log for log in loaded.logs.values() if log.recovery_point < log.log_end_offset)

    # --- failed disks

    def _on_failure(self, error: BaseException) -> None:
        """Continue without the directory of a failed disk, if another one is online and the registry is not in it."""
        if not isinstance(error, StorageError):
            # No disk failed: only this work was not done.
            _logger.error("work on a log failed: %s", error, exc_info=error)
            return
        directory = self._directories.holding(error)
        if directory is None:
            if not self._directories.is_offline(error):
                self._end(error)
            return
        try:
            self._directories.take_offline(directory, error)
        except StorageError as last:
            self._end(last)
            return
        gone = self._checkpoints.logs_in(directory)
        if self._moves is not None:
            self._moves.drop_in(directory)
        self._table.forget_replaced_in(directory)
        for topic_partition in self._checkpoints.damaged_in(directory):
            del self._damaged[topic_partition]
        for log in gone:
            del self._logs[log.topic_partition]
            log.release()
        self.on_offline([log.topic_partition for log in gone])

    def _on_damaged(self, topic_partition: TopicPartition, directory: Path, error: BaseException) -> None:
        """Take a log offline that could not be truncated; a start recovers it."""
        log = self._logs.get(topic_partition)
        if log is None or log.directory != directory:
            # A copy, whose move has failed, or a log that was deleted meanwhile.
            return
        _logger.error("%s is offline until the next start: %s", directory, error)
        del self._logs[topic_partition]
        self._damaged[topic_partition] = DamagedLog(
            directory, str(error), False, log.recovery_point, log.log_start_offset, log.first_dirty_offset
        )
        log.release()
        if self._moves is not None:
            self._moves.cancel(topic_partition)
        self.on_offline([topic_partition])

    def _end(self, error: StorageError) -> None:
        """Report that the broker cannot continue."""
        self._has_failed = True
        self._on_all_failed(error)

    async def _run(self, work: Callable[[], None]) -> None:
        """Run `work` in the executor and wait for it."""
        error = await self._attempt(work)
        if error is not None:
            raise error

    async def _attempt(self, work: Callable[[], None]) -> BaseException | None:
        """Run `work` in the executor and wait for it; return its exception."""
        done: Pending[BaseException | None] = Pending()
        self._executor.run(work, lambda _: done.complete(None), done.complete)
        return await done.future()

    def watch_high_watermarks(self, high_watermarks: Callable[[], Mapping[TopicPartition, int]]) -> None:
        """Begin the periodic work: checkpoints, retention, flushes.

        Args:
            high_watermarks: Returns the high watermarks of this broker's partitions.
        """
        self._hosted_high_watermarks = high_watermarks
        self._maintenance.start()
        self._resume_moves()
        self._flush_recovered()

    def _flush_recovered(self) -> None:
        """Flush recovered logs, a few at a time: flushing 10,000 logs must not delay the first clients."""
        self._is_flushing = True
        while self._unflushed and self._flushed_at_once < _RECOVERED_FLUSHED_AT_ONCE and not self._is_closed:
            log = self._unflushed.popleft()
            if not log.is_closed:
                self._flushed_at_once += 1
                log.flush(self._note_flushed)
        self._is_flushing = False

    def _note_flushed(self, _: BaseException | None) -> None:
        self._flushed_at_once -= 1
        if not self._is_flushing:
            self._flush_recovered()

    def apply_retention(self) -> None:
        """Delete old segments of all logs that are not compacted."""
        self._maintenance.apply_retention()

    def cleaner_settings_changed(self) -> None:
        """Apply changed compaction settings to the cleaner."""
        self._maintenance.cleaner_settings_changed()

    # --- logs

    @property
    def topic_partitions(self) -> Iterable[TopicPartition]:
        """The partitions of all open logs."""
        return self._logs.keys()

    def get(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """Return the open log of a partition."""
        return self._logs.get(topic_partition)

    def get_or_create(self, topic_partition: TopicPartition, *, is_new: bool = True) -> Pending[PartitionLog | None]:
        """Return the log of a partition, creating it if it does not exist.

        Args:
            topic_partition: The partition.
            is_new: Whether nothing was ever written to the log. Otherwise, it may be in a directory that is offline.

        Returns:
            The log; None if the disk failed, the log is damaged, or it was deleted before it was open. If `is_new` is
            False and a directory is offline, a missing log is not created, and the result is None, too.
        """
        return self._table.get_or_create(topic_partition, is_new=is_new)

    @property
    def damaged(self) -> Mapping[TopicPartition, DamagedLog]:
        """The logs that exist and cannot be opened or truncated."""
        return self._damaged

    def is_damaged(self, topic_partition: TopicPartition) -> bool:
        """Return whether a partition's log exists and cannot be opened or truncated."""
        return topic_partition in self._damaged

    def delete(self, topic_partition: TopicPartition) -> Pending[BaseException | None]:
        """Delete a partition's log: at once in memory, its files after file.delete.delay.ms.

        Returns:
            None when even a start after a kill would no longer find the log; the error if it could not be deleted. Then
            the partition gets no other log until the broker starts again.
        """
        self._high_watermarks.pop(topic_partition, None)
        self._table.preferred.pop(topic_partition, None)
        deleted = self._table.delete(topic_partition)
        if self._moves is None:
            return deleted
        cancelled = self._moves.cancel(topic_partition)
        return deleted.and_then(lambda error: cancelled.shaped(lambda _: error))

    # --- directories

    @property
    def directories(self) -> LogDirs:
        """The directories of `log.dirs`."""
        return self._directories

    @property
    def cleaner(self) -> "Cleaner | None":
        """The cleaner; None if it is disabled or has not started yet."""
        return self._maintenance.cleaner

    @property
    def flushes(self) -> Durations:
        """The durations of flushes."""
        return self._env.flushes

    @property
    def moves(self) -> "Mapping[TopicPartition, Move]":
        """The logs that are being moved to another directory."""
        return {} if self._moves is None else self._moves.moves

    @property
    def moved_bytes_per_s(self) -> float:
        """Return the recent rate of copying into other directories, in bytes per second."""
        return 0 if self._moves is None else self._moves.bytes_per_s

    def assign_directory(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        """Choose the directory of a log: an existing log moves there, a new one will be created there."""
        log, moves = self._logs.get(topic_partition), self._get_moves()
        move = moves.moves.get(topic_partition)
        if move is not None and move.directory is not directory:
            moves.cancel(topic_partition)
            move = None
        if log is None:
            self._table.preferred[topic_partition] = directory
        elif log.directory.parent != directory.path and move is None:
            moves.begin(log, directory)

    def _get_moves(self) -> "LogMoves":
        if self._moves is None:
            # Imported here because very few brokers need it.
            from barnabas.broker.log.log_dir_moves import LogMoves

            self._moves = LogMoves(
                self._config,
                self._env,
                self._executor,
                self._topic_config,
                self._dice,
                lambda log: self.is_appending(log),
                self._must_stay,
                self._replace_log,
            )
        return self._moves

    def _must_stay(self, log: PartitionLog) -> bool:
        """Return whether the move of a log must wait: its segments may change, or the last move has not ended."""
        key, cleaner = log.topic_partition, self.cleaner
        return self._table.has_replaced(key) or (cleaner is not None and cleaner.is_cleaning(key))

    def _resume_moves(self) -> None:
        """Resume moves that an earlier run began."""
        interrupted, self._interrupted_moves = self._interrupted_moves, []
        for topic_partition, directory, path in interrupted:
            log = self._logs.get(topic_partition)
            if log is None:
                _logger.warning("%s is a copy of a log that does not exist: ignored", path)
            elif log.directory.parent == directory.path or topic_partition in self.moves:
                self._table.remove_later(path, 0)
            else:
                self._get_moves().begin(log, directory, path)

    def _replace_log(self, before: PartitionLog, log: PartitionLog) -> None:
        """Replace a log by its copy in another directory."""
        self._table.replace(before, log)
        self.on_moved(log)

        def flushed(error: BaseException | None) -> None:
            # After an error, the new log was deleted, and the old log with it; or its directory is already offline, and
            # the old log is not changed.
            if error is None:
                self._checkpoints.write_recovery_points(lambda _: None)
                self._checkpoints.write_log_start_offsets()
                self._checkpoints.write_high_watermarks()
                self._checkpoints.write_cleaner_offsets(self._directories.of(log.directory))
                self._table.retire_replaced(log.topic_partition)

        # Flushes the old log first, so that requests that wait for it are answered.
        before.flush(lambda _: log.flush(flushed))

    def note_failure(self, error: StorageError) -> None:
        """Handle a disk failure during an append or a read."""
        if not self._is_closed:
            self._on_failure(error)

    def checkpointed_high_watermark(self, topic_partition: TopicPartition) -> int:
        """Return the high watermark in the checkpoint of the last run; 0 if it had no entry."""
        return self._high_watermarks.get(topic_partition, 0)

    def _known_high_watermarks(self) -> dict[TopicPartition, int]:
        return {**self._high_watermarks, **self._hosted_high_watermarks()}

    # --- stop

    async def close(self) -> None:
        """Flush everything and mark the directories as cleanly closed. Nothing may be appended afterwards.

        Raises:
            StorageError: The disk failed; logs that were not closed will be recovered at the next start.
        """
        if self._is_closed:
            return
        # Imported here because a start does not need it.
        from barnabas.broker.log.shutdown import close_logs

        self._is_closed = True
        await self._table.close().future()
        if self._moves is not None:
            await self._moves.close().future()
        await self._maintenance.close().future()
        await self._checkpoints.ended().future()
        checkpoints = self._checkpoints
        high_watermarks = {each.path: checkpoints.high_watermarks(each) for each in self._directories}
        logs = {each.path: checkpoints.logs_in(each) for each in self._directories}

        failure: BaseException | None = None
        # If the start failed before the logs were open, nothing must be changed.
        for directory in self._directories if self._is_loaded else ():
            path = directory.path
            are_closed, error = await close_logs(self._closing_executor, CLOSING_THREAD_COUNT, logs[path])
            if error is None:
                error = await self._attempt(
                    partial(self._close_directory, directory, are_closed, high_watermarks[path])
                )
            try:
                if isinstance(error, StorageError):
                    self._directories.take_offline(directory, error)
                else:
                    failure = failure or error
            except StorageError as last:
                failure = failure or last
        await self._run(self._directories.unlock)
        if failure is not None:
            raise failure

    def _close_directory(
        self, directory: LogDirectory, are_closed: bool, high_watermarks: dict[TopicPartition, int]
    ) -> None:
        self._checkpoints.write_all(directory, high_watermarks)
        # Not if a damaged log was not closed cleanly: it must be recovered when it is readable again.
        if (
            are_closed
            and not self._has_failed
            and all(each.was_clean for each in self._checkpoints.damaged_in(directory).values())
        ):
            directory.mark_clean()


def _paths(config: LogManagerConfig) -> list[str]:
    paths = config.log_dirs or [config.log_dir]
    return paths.split(",") if isinstance(paths, str) else list(dict.fromkeys(paths))
