"""All logs of a broker: finds and recovers them at start, makes and deletes them, keeps checkpoints and retention.

The order of a start is `lock`, `load`, `watch_high_watermarks`; of a stop `close`.

Invariants:
    - `.kafka_cleanshutdown` exists only while no broker runs and every log is on disk;
    - a directory of another broker or cluster is refused before anything in it is changed;
    - a disk that fails costs its directory, and damaged data its own log: all else goes on;
    - what blocks (recovery, fsync, checkpoints, removal) runs in the executor.

Source: design page, log; log-format facts, files in a log dir, load and recovery, retention.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from barnabas.core.clock import Clock
from barnabas.core.config.versions import kafka_version
from barnabas.core.dice import system_dice
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.executor import Executor, StopSignal, new_stop_signal, submit
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.log.appends.rules import COMPACT
from barnabas.log.config import LogConfig, LogManagerConfig
from barnabas.log.directories.checkpoints import Checkpoints
from barnabas.log.directories.directory import META_FILE, LogDirectory
from barnabas.log.directories.log_dirs import LogDirs
from barnabas.log.disk.files import FileSystem, LocalFileSystem
from barnabas.log.environment import LogEnvironment
from barnabas.log.log_table import LogTable
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers.open_transactions import warn_of_open_transactions
from barnabas.log.retention import apply_retention
from barnabas.log.startup.loading import DamagedLog, load_logs
from barnabas.records.errors import CorruptRecordsError

CLOSING_THREAD_COUNT = 8
_VALIDATES_RECORDS = "full"
_INITIAL_DELAY_MS = 30_000
_CLEANER_DELAY_MS = 1_000  # clients come first
_PRODUCER_CHECK_INTERVAL_MS = 600_000
_ROLL_CHECK_INTERVAL_MS = 60_000
_NEVER_MS = 10 * 365 * 24 * 3600 * 1000  # longer than any broker runs; the default of some intervals is 2^63-1

if TYPE_CHECKING:
    from random import Random

    from barnabas.log.cleaner.cleaner import Cleaner

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class LogManager:
    """The logs in all directories of `log.dirs`. Owned by the event loop.

    Attributes:
        known_broker_id, known_cluster_id: Whose the directories are; None while `lock` has not found it.
        on_offline: Told which logs are gone because their directory failed.
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
    ) -> None:
        """Args:
        config: The broker's settings.
        clock: Time.
        timers: For everything periodic.
        executor: For everything that blocks.
        topic_config: The settings of a partition's topic as they are now.
        on_failure: Told why the last directory failed (the error names the file); the broker should stop.
        files: The disk; the machine's own by default.
        cleaner_executor: Where logs are compacted, log.cleaner.threads at a time; `executor` by default.
        recovery_executor: Makes what opens the logs of one directory at the start; `executor` by default.
        closing_executor: What closes the logs at the end, `CLOSING_THREAD_COUNT` at a time; `executor` by default.
        dice: For when segments roll and what deleted logs are called; the system's own by default.
        new_stop_signal: Makes what the cleaner's threads wait at.
        on_loop: Told what was done on the event loop that should have been done elsewhere: see the watchdog.
        """
        self.known_broker_id: int | None = None
        self.known_cluster_id: str | None = None
        self._on_all_failed = on_failure
        self.on_offline: Callable[[list[TopicPartition]], object] = lambda _: None
        self._config = config
        self._clock = clock
        self._timers = timers
        self._executor = executor
        self._cleaner_executor = executor if cleaner_executor is None else cleaner_executor
        self._cleaner: Cleaner | None = None
        self._recovery_executor: Callable[[], Executor] = recovery_executor or (lambda: executor)
        self._closing_executor = executor if closing_executor is None else closing_executor
        self._dice = system_dice() if dice is None else dice
        self._new_stop_signal = new_stop_signal
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
        )
        self._directories = LogDirs([LogDirectory(self._env.files, Path(path)) for path in _paths(config)])
        self._table = LogTable(self._env, self._directories, topic_config, self._dice, self._note_deleted)
        self._logs, self._damaged = self._table.logs, self._table.damaged
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._led_high_watermarks: Callable[[], Mapping[TopicPartition, int]] = dict
        self._checkpoints = Checkpoints(
            executor, self._directories, self._logs, self._damaged, self._known_high_watermarks, self._on_failure
        )
        self._is_loaded = False
        self._has_failed = False
        self._is_closed = False

    # --- start

    async def lock(self) -> None:
        """Take the directories for this process and learn whose they are.

        Raises:
            StartupError: Another process has one, or they belong to different brokers or clusters.
            StorageError: None can be made and written.
        """
        await self._run(self._lock)

    def _lock(self) -> None:
        try:
            found = []
            for directory in self._directories:
                try:
                    directory.lock()
                    found.append((directory, directory.identity()))
                except StorageError as error:
                    self._directories.take_offline(directory, error)
            self.known_broker_id = _the_one("broker.id", [(each, it.broker_id) for each, it in found if it])
            self.known_cluster_id = _the_one("cluster.id", [(each, it.cluster_id) for each, it in found if it])
        except BaseException:
            self._unlock()
            raise

    async def load(self, cluster_id: str, broker_id: int) -> None:
        """Make the directories this broker's and open all logs, recovering those that an unclean stop left.

        The topics' settings must be known by now, and which Kafka must be able to read what is written.

        Raises:
            StartupError: A directory belongs to another broker or cluster; nothing was changed.
            StorageError: All disks failed.
        """
        self._env.has_zstd = kafka_version(self._config.inter_broker_protocol_version).has_zstd
        try:
            await self._run(lambda: self._claim(cluster_id, broker_id))
            executors = [self._recovery_executor() for _ in self._directories]
            loaded = await load_logs(self._env, self._directories.online, self._topic_config, executors).future()
            if loaded.error is not None:
                raise loaded.error
            for directory, error in loaded.failed.items():
                self._directories.take_offline(directory, error)
            await self._run(lambda: self._read_cleaner_offsets(loaded.logs, loaded.damaged))
            await self._run(lambda: warn_of_open_transactions(loaded.logs.values()))
        except BaseException:
            self._unlock()
            raise
        self._is_loaded = True
        self._logs.update(loaded.logs)
        self._damaged.update(loaded.damaged)
        self._high_watermarks.update(loaded.high_watermarks)
        for path in loaded.deleted:
            self._table.remove_later(path, 0)
        for log in loaded.logs.values():
            log.flush()

    def _read_cleaner_offsets(
        self, logs: Mapping[TopicPartition, PartitionLog], damaged: Mapping[TopicPartition, DamagedLog]
    ) -> None:
        for directory in self._directories:
            for topic_partition, offset in directory.cleaner_offsets.read().items():
                log = logs.get(topic_partition) or damaged.get(topic_partition)
                if log is not None and log.directory.parent == directory.path:
                    log.first_dirty_offset = offset

    def _claim(self, cluster_id: str, broker_id: int) -> None:
        unnamed: list[LogDirectory] = []
        for directory in self._directories:
            found = directory.identity()
            path = directory.path / META_FILE
            if found is not None and found.broker_id not in (None, broker_id):
                raise StartupError(
                    f"{path} names broker {found.broker_id}, but this broker's broker.id is {broker_id}: "
                    "set broker.id to that, or choose another log.dirs"
                )
            if found is not None and found.cluster_id not in (None, cluster_id):
                raise StartupError(
                    f"{path} names cluster {found.cluster_id}, but this broker's cluster is {cluster_id}: "
                    "choose another log.dirs, or start it with that cluster's registry"
                )
            if found is None or None in found:
                unnamed.append(directory)
        for directory in self._directories:
            try:
                if directory in unnamed:
                    directory.write_identity(broker_id, cluster_id, self._clock.now_ms())
                directory.make_checkpoints()
            except StorageError as error:
                self._directories.take_offline(directory, error)

    # --- a disk that fails

    def _on_failure(self, error: BaseException) -> None:
        """Go on without the directory where something failed, if there is another one."""
        if not isinstance(error, StorageError):
            # No disk failed: what was to be done is not done, and nothing else is the worse for it.
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
        for topic_partition in self._checkpoints.damaged_in(directory):
            del self._damaged[topic_partition]
        for log in gone:
            del self._logs[log.topic_partition]
            log.release()
        self.on_offline([log.topic_partition for log in gone])

    def _end(self, error: StorageError) -> None:
        """Nothing is left to go on with; nor is anything closed cleanly whose disk has failed."""
        self._has_failed = True
        self._on_all_failed(error)

    async def _run(self, work: Callable[[], None]) -> None:
        """Run `work` in the executor and wait for it."""
        error = await self._attempt(work)
        if error is not None:
            raise error

    async def _attempt(self, work: Callable[[], None]) -> BaseException | None:
        """Run `work` in the executor and wait for it; what it raised."""
        done: Pending[BaseException | None] = Pending()
        self._executor.run(work, lambda _: done.complete(None), done.complete)
        return await done.future()

    def watch_high_watermarks(self, high_watermarks: Callable[[], Mapping[TopicPartition, int]]) -> None:
        """Begin with what is done periodically: checkpoints, retention, flushes.

        Args:
            high_watermarks: Those of the partitions that this broker leads or follows.
        """
        config = self._config
        self._led_high_watermarks = high_watermarks
        high_watermark_ms = config.replica_high_watermark_checkpoint_interval_ms
        recovery_point_ms = config.log_flush_offset_checkpoint_interval_ms
        log_start_offset_ms = config.log_flush_start_offset_checkpoint_interval_ms
        self._repeat(high_watermark_ms, high_watermark_ms, self._checkpoints.write_high_watermarks)
        self._repeat(
            _INITIAL_DELAY_MS,
            recovery_point_ms,
            lambda: self._checkpoints.write_recovery_points(self._remove_old_snapshots),
        )
        self._repeat(_INITIAL_DELAY_MS, log_start_offset_ms, self._checkpoints.write_log_start_offsets)
        self._repeat(_INITIAL_DELAY_MS, config.log_retention_check_interval_ms, self.apply_retention)
        self._repeat(_INITIAL_DELAY_MS, config.log_flush_scheduler_interval_ms, self._flush_overdue)
        self._repeat(_PRODUCER_CHECK_INTERVAL_MS, _PRODUCER_CHECK_INTERVAL_MS, self._remove_expired_producers)
        self._repeat(_ROLL_CHECK_INTERVAL_MS, _ROLL_CHECK_INTERVAL_MS, self._prepare_rolls)
        if config.log_cleaner_enable and config.log_cleaner_threads > 0:
            self._timers.call_later(_CLEANER_DELAY_MS, self._start_cleaner)

    def _start_cleaner(self) -> None:
        if self._is_closed:
            return
        from barnabas.log.cleaner.cleaner import Cleaner

        self._cleaner = Cleaner(
            self._config,
            self._env,
            self._cleaner_executor,
            self._logs.values,
            self._known_high_watermarks,
            lambda log: self._checkpoints.write_cleaner_offsets(self._directories.of(log.directory)),
            self._new_stop_signal(),
        )
        self._cleaner.start()

    def cleaner_settings_changed(self) -> None:
        """The settings of compaction are others now: the cleaner goes by them at once."""
        if self._cleaner is not None:
            self._cleaner.settings_changed()

    def _repeat(self, delay_ms: int, interval_ms: int, task: Callable[[], object]) -> None:
        """Run a task after a delay and then at each interval, until `close`."""

        def run() -> None:
            if not self._is_closed:
                self._timers.call_later(interval_ms, run)
                task()

        if interval_ms < _NEVER_MS:
            self._timers.call_later(delay_ms, run)

    # --- logs

    @property
    def topic_partitions(self) -> Iterable[TopicPartition]:
        """All logs that are open."""
        return self._logs.keys()

    def get(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """The open log of a partition."""
        return self._logs.get(topic_partition)

    def get_or_create(self, topic_partition: TopicPartition, *, is_new: bool = True) -> Pending[PartitionLog | None]:
        """The log of a partition, made when there is none.

        Args:
            is_new: Nothing was ever written to it. Otherwise it may be in a directory that is offline.

        Returns:
            None when the disk failed, the log is damaged, or it was deleted before it was open.
        """
        return self._table.get_or_create(topic_partition, is_new=is_new)

    def delete(self, topic_partition: TopicPartition) -> Pending[None]:
        """Delete a partition's log: it is gone at once, its files after file.delete.delay.ms.

        Returns:
            Completes when not even a start after a kill finds it any more (or the disk failed).
        """
        self._high_watermarks.pop(topic_partition, None)
        return self._table.delete(topic_partition)

    def _note_deleted(self, gone: PartitionLog | DamagedLog, directory: LogDirectory) -> None:
        if gone.first_dirty_offset is not None:
            # A topic of that name may come again.
            self._checkpoints.write_cleaner_offsets(directory)

    def note_failure(self, error: StorageError) -> None:
        """The disk failed at an append or a read: the broker must stop."""
        if not self._is_closed:
            self._on_failure(error)

    def checkpointed_high_watermark(self, topic_partition: TopicPartition) -> int:
        """What the last run knew; 0 when it knew none."""
        return self._high_watermarks.get(topic_partition, 0)

    # --- what is done periodically

    def _prepare_rolls(self) -> None:
        """Make the next segment's file where a log is quiet and its next append will want one because of its age."""
        before_next_look_ms = self._clock.now_ms() + 2 * _ROLL_CHECK_INTERVAL_MS
        for log in self._logs.values():
            if log.is_roll_due(before_next_look_ms):
                log.prepare_roll()

    def apply_retention(self) -> None:
        """Delete old segments of all logs but those that are compacted."""
        now_ms = self._clock.now_ms()
        high_watermarks = self._known_high_watermarks()
        for log in list(self._logs.values()):
            if COMPACT in log.config.cleanup_policy or log.is_closed:
                # The cleaner does it, which must know what becomes of the segments that it reads; or the directory of
                # the log has just failed.
                continue
            try:
                apply_retention(log, high_watermarks.get(log.topic_partition, 0), now_ms)
            except (StorageError, CorruptRecordsError) as error:
                self._on_failure(error)

    def _known_high_watermarks(self) -> dict[TopicPartition, int]:
        return {**self._high_watermarks, **self._led_high_watermarks()}

    def _flush_overdue(self) -> None:
        now_ms = self._clock.now_ms()
        # A flush that fails at once takes logs away.
        for log in list(self._logs.values()):
            if now_ms - log.last_flush_ms >= log.config.flush_ms:
                log.flush()

    def _remove_expired_producers(self) -> None:
        for log in self._logs.values():
            log.remove_expired_producers()

    def _remove_old_snapshots(self, directory: LogDirectory) -> None:
        try:
            for log in self._checkpoints.logs_in(directory):
                log.remove_old_snapshots()
        except StorageError as error:
            self._on_failure(error)

    # --- stop

    async def close(self) -> None:
        """Bring everything to disk and mark the directories as cleanly closed. Nothing may be appended any more.

        Raises:
            StorageError: The disk failed; what was not closed will be recovered at the next start.
        """
        if self._is_closed:
            return
        self._is_closed = True
        await self._table.close().future()
        if self._cleaner is not None:
            await self._cleaner.close().future()
        await self._checkpoints.ended().future()
        checkpoints = self._checkpoints
        high_watermarks = {each.path: checkpoints.high_watermarks(each) for each in self._directories}
        logs = {each.path: checkpoints.logs_in(each) for each in self._directories}

        failure: BaseException | None = None
        # A start that went wrong before the logs were open must leave everything as it was.
        for directory in self._directories if self._is_loaded else ():
            path = directory.path
            are_closed, error = await self._close_logs(logs[path])
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
        await self._run(self._unlock)
        if failure is not None:
            raise failure

    async def _close_logs(self, logs: list[PartitionLog]) -> tuple[bool, BaseException | None]:
        """Close them all; whether all were whole, and why one of them could not be closed, after all were tried."""
        for log in logs:
            await log.settled().future()
        # A file system brings many files to disk in little more time than one, if it is asked for all at once.
        shares = [logs[number::CLOSING_THREAD_COUNT] for number in range(min(CLOSING_THREAD_COUNT, len(logs)))]
        works = [submit(self._closing_executor, partial(_close_some, share)).future() for share in shares]
        outcomes = await asyncio.gather(*works, return_exceptions=True)
        error = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
        return all(outcome is True for outcome in outcomes), error

    def _close_directory(
        self, directory: LogDirectory, are_closed: bool, high_watermarks: dict[TopicPartition, int]
    ) -> None:
        self._checkpoints.write_all(directory, high_watermarks)
        # A damaged log that was left open once is recovered when it is whole again.
        if (
            are_closed
            and not self._has_failed
            and all(each.was_clean for each in self._checkpoints.damaged_in(directory).values())
        ):
            directory.mark_clean()

    def _unlock(self) -> None:
        self._directories.unlock()


def _close_some(logs: list[PartitionLog]) -> bool:
    """Close logs, all that can be; whether all were whole.

    Raises:
        StorageError: The disk failed under one of them.
    """
    are_closed = True
    failure: StorageError | None = None
    for log in logs:
        try:
            are_closed = _close(log) and are_closed
        except StorageError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return are_closed


def _paths(config: LogManagerConfig) -> list[str]:
    paths = config.log_dirs or [config.log_dir]
    return paths.split(",") if isinstance(paths, str) else list(dict.fromkeys(paths))


def _close(log: PartitionLog) -> bool:
    """Close a log; whether it was possible, the disk being well and having been so before.

    Raises:
        StorageError: The disk failed.
    """
    if log.has_failed:
        log.release()
        return False
    try:
        log.close()
    except CorruptRecordsError as error:
        _logger.error("%s can't be closed cleanly: %s", log.directory, error)
        log.release()
        return False
    return True


def _the_one(name: str, found: list[tuple[LogDirectory, T]]) -> T | None:
    """What all directories that say something agree on."""
    said = [(directory, value) for directory, value in found if value is not None]
    for directory, value in said[1:]:
        if value != said[0][1]:
            raise StartupError(
                f"{said[0][0].path / META_FILE} has {name}={said[0][1]}, but {directory.path / META_FILE} has "
                f"{name}={value}: directories of different brokers can't be used together"
            )
    return said[0][1] if said else None
