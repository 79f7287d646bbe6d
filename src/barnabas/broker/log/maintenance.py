"""Periodic maintenance of all logs: checkpoints, retention, flushes, expiry of producers; and the cleaner.

There may be ten thousand logs: each task handles some of them at a time, so that other work can run in between. Two
tasks never run in the same turn of the event loop.

Source: log-format facts, files in a log dir, retention; configuration page.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.log.appends.rules import COMPACT
from barnabas.broker.log.config import LogManagerConfig
from barnabas.broker.log.directories.checkpoints import Checkpoints
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.directories.log_dirs import LogDirs
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.retention import apply_retention, learn_ages
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, StopSignal
from barnabas.core.pending import Pending, completed
from barnabas.core.types import TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.log.cleaner.cleaner import Cleaner

_INITIAL_DELAY_MS = 30_000
_BETWEEN_TASKS_MS = 200  # delay between the tasks' starts; they stay apart, because intervals are whole seconds
_LOGS_IN_A_TURN = 250
_CLEANER_DELAY_MS = 1_000  # clients come first
_PRODUCER_CHECK_INTERVAL_MS = 600_000
_ROLL_CHECK_INTERVAL_MS = 60_000
_NEVER_MS = 10 * 365 * 24 * 3600 * 1000  # longer than any broker runs; the default of some intervals is 2^63-1


class LogMaintenance:
    """Runs the periodic tasks. Owned by the event loop."""

    def __init__(
        self,
        config: LogManagerConfig,
        env: LogEnvironment,
        directories: LogDirs,
        logs: Mapping[TopicPartition, PartitionLog],
        checkpoints: Checkpoints,
        known_high_watermarks: Callable[[], Mapping[TopicPartition, int]],
        cleaner_executor: Executor,
        new_stop_signal: Callable[[], StopSignal],
        is_moving: Callable[[TopicPartition], bool],
    ) -> None:
        """Args:
        config: The broker's settings.
        env: The environment of the logs.
        directories: The online directories.
        logs: All open logs; a live mapping.
        checkpoints: Their checkpoints.
        known_high_watermarks: Returns the high watermarks by partition.
        cleaner_executor: Compacts logs, log.cleaner.threads at a time.
        new_stop_signal: Creates the signal that stops the cleaner's threads.
        is_moving: Returns whether a partition's log is being moved to another directory.
        """
        self._config = config
        self._env = env
        self._directories = directories
        self._logs = logs
        self._checkpoints = checkpoints
        self._known_high_watermarks = known_high_watermarks
        self._cleaner_executor = cleaner_executor
        self._new_stop_signal = new_stop_signal
        self._is_moving = is_moving
        self._cleaner: Cleaner | None = None
        self._is_closed = False

    def start(self) -> None:
        """Begin the periodic tasks."""
        config = self._config
        high_watermark_ms = config.replica_high_watermark_checkpoint_interval_ms
        recovery_point_ms = config.log_flush_offset_checkpoint_interval_ms
        log_start_offset_ms = config.log_flush_start_offset_checkpoint_interval_ms
        self._repeat(high_watermark_ms, high_watermark_ms, self._checkpoints.write_high_watermarks)
        after_start: list[tuple[int, Callable[[], object]]] = [
            (recovery_point_ms, lambda: self._checkpoints.write_recovery_points(self._remove_old_snapshots)),
            (log_start_offset_ms, self._checkpoints.write_log_start_offsets),
            (config.log_retention_check_interval_ms, self.apply_retention),
            (config.log_flush_scheduler_interval_ms, self._flush_overdue),
        ]
        for number, (interval_ms, task) in enumerate(after_start):
            self._repeat(_INITIAL_DELAY_MS + number * _BETWEEN_TASKS_MS, interval_ms, task)
        self._repeat(_PRODUCER_CHECK_INTERVAL_MS, _PRODUCER_CHECK_INTERVAL_MS, self._remove_expired_producers)
        self._repeat(_ROLL_CHECK_INTERVAL_MS, _ROLL_CHECK_INTERVAL_MS, self._prepare_rolls)
        if config.log_cleaner_enable and config.log_cleaner_threads > 0:
            self._env.timers.call_later(_CLEANER_DELAY_MS, self._load_cleaner)

    def cleaner_settings_changed(self) -> None:
        """Apply changed compaction settings to the cleaner."""
        if self._cleaner is not None:
            self._cleaner.settings_changed()

    @property
    def cleaner(self) -> "Cleaner | None":
        """The cleaner; None if it is disabled or has not started yet."""
        return self._cleaner

    def close(self) -> Pending[None]:
        """Begin no more work; complete when the cleaner no longer uses a log."""
        self._is_closed = True
        return completed(None) if self._cleaner is None else self._cleaner.close()

    def _load_cleaner(self) -> None:
        # In the executor, because importing about 20 modules takes 12 ms, and clients must not wait for it.
        if not self._is_closed:
            self._env.executor.run(_cleaner_class, self._start_cleaner, self._env.on_failure)

    def _start_cleaner(self, cleaner_class: "type[Cleaner]") -> None:
        if self._is_closed:
            return
        self._cleaner = cleaner_class(
            self._config,
            self._env,
            self._cleaner_executor,
            self._logs.values,
            self._known_high_watermarks,
            lambda log: self._checkpoints.write_cleaner_offsets(self._directories.of(log.directory)),
            self._new_stop_signal(),
            self._is_moving,
        )
        self._cleaner.start()

    def _repeat(self, delay_ms: int, interval_ms: int, task: Callable[[], object]) -> None:
        """Run a task after a delay and then at each interval, until `close`."""

        def run() -> None:
            if not self._is_closed:
                self._env.timers.call_later(interval_ms, run)
                task()

        if interval_ms < _NEVER_MS:
            self._env.timers.call_later(delay_ms, run)

    def _for_each(self, logs: Iterable[PartitionLog], act: Callable[[PartitionLog], object]) -> None:
        """Run an action for all logs, the first of them at once; logs closed meanwhile are skipped."""
        todo = iter(list(logs))

        def take_turn() -> None:
            turn = list(islice(todo, _LOGS_IN_A_TURN))
            if len(turn) == _LOGS_IN_A_TURN:
                self._env.timers.call_later(0, take_turn)
            for log in turn:
                if not self._is_closed and not log.is_closed:
                    act(log)

        take_turn()

    def _prepare_rolls(self) -> None:
        """Create the next segment's file of quiet logs whose next append will roll because of the segment's age."""
        before_next_look_ms = self._env.clock.now_ms() + 2 * _ROLL_CHECK_INTERVAL_MS

        def look(log: PartitionLog) -> None:
            if log.is_roll_due(before_next_look_ms):
                log.prepare_roll()

        self._for_each(self._logs.values(), look)

    def apply_retention(self) -> None:
        """Delete old segments of all logs that are not compacted.

        One log after the other: if very many logs expire together, the loop may have to roll each of them.
        """
        high_watermarks = self._known_high_watermarks()
        todo = deque(self._logs.values())

        def go_on() -> None:
            for _ in range(min(len(todo), _LOGS_IN_A_TURN)):
                log = todo.popleft()
                if self._is_closed or log.is_closed:
                    continue
                retained = self._apply_retention(log, high_watermarks.get(log.topic_partition, 0))
                if not retained.is_done:
                    retained.then(lambda _: self._env.timers.call_later(0, go_on))
                    return
            if todo:
                self._env.timers.call_later(0, go_on)

        go_on()

    def _apply_retention(self, log: PartitionLog, high_watermark: int) -> Pending[None]:
        done: Pending[None] = Pending()

        def fail(error: BaseException) -> None:
            self._env.on_failure(error)
            done.complete(None)

        def retain() -> None:
            if COMPACT in log.config.cleanup_policy or log.is_closed or self._is_closed:
                # The cleaner deletes segments of compacted logs, because it must know about the segments that it reads.
                done.complete(None)
                return
            try:
                apply_retention(log, high_watermark, self._env.clock.now_ms(), self._env.on_removed, done.complete)
            except Exception as error:
                fail(error)

        learn_ages(log, self._env.executor, retain, fail)
        return done

    def _flush_overdue(self) -> None:
        now_ms = self._env.clock.now_ms()

        def look(log: PartitionLog) -> None:
            if now_ms - log.last_flush_ms >= log.config.flush_ms:
                log.flush()

        self._for_each(self._logs.values(), look)

    def _remove_expired_producers(self) -> None:
        self._for_each(self._logs.values(), PartitionLog.remove_expired_producers)

    def _remove_old_snapshots(self, directory: LogDirectory) -> None:
        def remove(log: PartitionLog) -> None:
            try:
                log.remove_old_snapshots()
            except StorageError as error:
                self._env.on_failure(error)

        self._for_each(self._checkpoints.logs_in(directory), remove)


def _cleaner_class() -> "type[Cleaner]":
    """Import and return the cleaner; never on the event loop."""
    from barnabas.broker.log.cleaner.cleaner import Cleaner

    return Cleaner
