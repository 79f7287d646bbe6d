"""Runs cleaner rounds: chooses the dirtiest log, cleans it in a cleaner thread, swaps the results in.

    event loop   choose ─► (snapshot)        ┌► swap ─┐        ┌► (next group) ─┐          ┌► note the clean offset
    thread                └► learn the keys ─┘        └► rename ┘ └► clean it ─►┘ sync dir ┘

Also deletes old segments of compacted logs: below the log start offset and, with `compact,delete`, by age and size.

Invariants: a log has at most one round at a time; its segments change only on the event loop, and a swap happens only
if they are still the segments that the round read. A log that can't be cleaned is skipped until it is opened again;
other logs are not affected. As in Kafka, a log is not cleaned while it moves to another directory: its copy would miss
records of segments that were replaced, or contain values whose tombstones are gone.

# differs from Kafka (cleaner-disk-error): after a disk error in the cleaner, only this log is no longer cleaned; the
# directory stays online.

Source: design page, log compaction; log-format facts, cleaner.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from barnabas.broker.log.appends.rules import COMPACT
from barnabas.broker.log.cleaner.candidates import (
    CleanableRange,
    CompactionRules,
    LogView,
    cleanable_range,
    dirtiest,
    is_due,
)
from barnabas.broker.log.cleaner.cleaned_segment import CleanedSegment
from barnabas.broker.log.cleaner.rewrite import LastBatch
from barnabas.broker.log.cleaner.round import CleaningAbortedError, Round, RoundSettings, Source
from barnabas.broker.log.cleaner.swap import swap
from barnabas.broker.log.cleaner.throttle import Throttle
from barnabas.broker.log.config import CleanerConfig
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.retention import apply_retention, learn_ages
from barnabas.broker.log.segments.segment import Segment
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, StopSignal
from barnabas.core.pending import Pending, completed
from barnabas.core.timers import Timer
from barnabas.core.types import NO_OFFSET, TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class _Running:
    """A round in progress."""

    __slots__ = ("_truncation_count", "groups", "log", "replaced_count", "round", "segments", "started_ms")

    def __init__(self, log: PartitionLog, segments: list[Segment], round_: Round, started_ms: int) -> None:
        self.log = log
        self._truncation_count = len(log.truncation_offsets)
        self.segments = segments
        self.round = round_
        self.started_ms = started_ms
        self.groups: list[list[Source]] = []
        self.replaced_count = 0

    @property
    def was_truncated(self) -> bool:
        """Return whether the log was truncated since the round read it."""
        return self.log.is_truncating or len(self.log.truncation_offsets) != self._truncation_count


def _look_at(log: PartitionLog, high_watermark: int, now_ms: int) -> tuple[CleanableRange, CompactionRules]:
    """Return the range that a round over a log would clean, and the topic's compaction rules."""
    stable_offset = min(log.first_unstable_offset, high_watermark)
    view = LogView(log.segments, log.log_start_offset, log.log_end_offset, stable_offset, log.first_dirty_offset)
    config = log.config
    rules = CompactionRules(
        config.min_cleanable_dirty_ratio, config.min_compaction_lag_ms, config.max_compaction_lag_ms
    )
    return cleanable_range(view, rules, now_ms), rules


class Cleaner:
    """Cleans the compacted logs of a broker. Owned by the event loop.

    Attributes:
        read_bytes, written_bytes, last_round_ms: Size of the segments before and after the last completed round, and
            the round's duration.
        last_look_ms: Monotonic time at which the cleaner last looked for work.
        dirtiest_ratio: The highest dirty ratio of a log when a thread was last free, 0 to 1.
    """

    def __init__(
        self,
        config: CleanerConfig,
        env: LogEnvironment,
        executor: Executor,
        logs: Callable[[], Iterable[PartitionLog]],
        high_watermarks: Callable[[], Mapping[TopicPartition, int]],
        note_clean: Callable[[PartitionLog], object],
        stopped: StopSignal,
        is_moving: Callable[[TopicPartition], bool] = lambda _: False,
    ) -> None:
        """Args:
        config: The broker's settings, which may change: a round keeps its initial settings, except the I/O rate.
        env: The environment of the logs.
        executor: The cleaner's own threads, log.cleaner.threads of them.
        logs: All open logs.
        high_watermarks: Returns their high watermarks.
        note_clean: Called when a log's `first_dirty_offset` has changed.
        stopped: The stop signal, not yet set; throttled threads wait on it.
        is_moving: Returns whether a partition's log is being moved to another directory.
        """
        self.read_bytes = self.written_bytes = self.last_round_ms = 0
        self.last_look_ms = env.clock.monotonic_ms()
        self.dirtiest_ratio = 0.0
        self._config = config
        self._env = env
        self._executor = executor
        self._logs = logs
        self._high_watermarks = high_watermarks
        self._note_clean = note_clean
        self._stopped = stopped
        self._is_moving = is_moving
        self._throttle = Throttle(lambda: config.log_cleaner_io_max_bytes_per_second, env.clock, self._stopped.wait)
        self._given_up: dict[TopicPartition, tuple[PartitionLog, BaseException]] = {}
        self._running: dict[TopicPartition, _Running] = {}
        self._timer: Timer | None = None
        self._ended: Pending[None] = Pending()

    @property
    def noted_bytes(self) -> int:
        """All bytes read and written so far."""
        return self._throttle.noted_bytes

    @property
    def uncleanable(self) -> dict[TopicPartition, BaseException]:
        """The open logs whose cleaning failed and that are no longer cleaned, with the reason."""
        # An entry keeps its log's files open, so entries of closed logs are removed.
        self._given_up = {key: each for key, each in self._given_up.items() if not each[0].is_closed}
        return {key: error for key, (_, error) in self._given_up.items()}

    def is_cleaning(self, topic_partition: TopicPartition) -> bool:
        """Return whether a round over a partition's log is in progress."""
        return topic_partition in self._running

    def uncleanable_by_directory(self) -> dict[Path, tuple[int, int]]:
        """Return the number and bytes of the logs that are no longer cleaned, by log directory."""
        found: dict[Path, tuple[int, int]] = {}
        for key in self.uncleanable:
            log, _ = self._given_up[key]
            count, size_bytes = found.get(log.directory.parent, (0, 0))
            found[log.directory.parent] = count + 1, size_bytes + log.size_bytes
        return found

    def start(self) -> None:
        """Begin to look for work."""
        self._look_after(0)

    def settings_changed(self) -> None:
        """Look for work at once, by the current settings."""
        if not self._stopped.is_set():
            self._look_after(0)

    def close(self) -> Pending[None]:
        """Begin no more rounds and stop running ones; complete when no cleaner thread uses a log any more."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()
        return self._ended if self._running else completed(None)

    # --- choosing logs

    def _look_after(self, delay_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._env.timers.call_later(delay_ms, self._look)

    def _look(self) -> None:
        if self._stopped.is_set():
            return
        self.last_look_ms = self._env.clock.monotonic_ms()
        if len(self._running) < self._config.log_cleaner_threads:
            self.dirtiest_ratio = 0.0
        high_watermarks = self._high_watermarks()
        while len(self._running) < self._config.log_cleaner_threads:
            chosen = self._choose(high_watermarks)
            if chosen is None:
                break
            self._begin(*chosen)
        for log in self._idle_logs():
            drop = partial(self._drop_old_segments, log, high_watermarks.get(log.topic_partition, 0))
            learn_ages(log, self._env.executor, drop, self._env.on_failure)
        self._look_after(self._config.log_cleaner_backoff_ms)

    def _idle_logs(self) -> list[PartitionLog]:
        """Return the compacted logs that can be cleaned and are not being cleaned."""
        uncleanable = self.uncleanable
        return [
            log
            for log in self._logs()
            if COMPACT in log.config.cleanup_policy
            and log.topic_partition not in self._running
            and log.topic_partition not in uncleanable
            and not log.is_truncating
        ]

    def _choose(self, high_watermarks: Mapping[TopicPartition, int]) -> tuple[PartitionLog, CleanableRange] | None:
        due: list[tuple[PartitionLog, CleanableRange]] = []
        now_ms = self._env.clock.now_ms()
        for log in self._idle_logs():
            if len(log.segments) == 1 or self._is_moving(log.topic_partition):
                # The active segment is never cleaned. Most of very many logs may have only this segment.
                continue
            try:
                cleanable, rules = _look_at(log, high_watermarks.get(log.topic_partition, 0), now_ms)
            except Exception as error:
                self._give_up(log, error)
                continue
            self.dirtiest_ratio = max(self.dirtiest_ratio, cleanable.dirty_ratio)
            if is_due(cleanable, rules):
                due.append((log, cleanable))
        index = dirtiest((index, cleanable) for index, (_, cleanable) in enumerate(due))
        return None if index is None else due[index]

    def standing(
        self, log: PartitionLog, high_watermark: int, now_ms: int
    ) -> tuple[CleanableRange, BaseException | None]:
        """Return the range that a round over a log would clean, and the error that stopped its cleaning, if any.

        Raises:
            StorageError, CorruptRecordsError: The age of a segment cannot be read.
        """
        cleanable, _ = _look_at(log, high_watermark, now_ms)
        return cleanable, self.uncleanable.get(log.topic_partition)

    def _drop_old_segments(self, log: PartitionLog, high_watermark: int) -> None:
        if log.is_closed or self._stopped.is_set() or log.topic_partition in self._running:
            # The log is closed, or a round has begun meanwhile: the next check after that round does this.
            return
        try:
            apply_retention(log, high_watermark, self._env.clock.now_ms(), self._env.on_removed)
        except StorageError as error:
            self._env.on_failure(error)
        except CorruptRecordsError as error:
            self._give_up(log, error)

    # --- a round

    def _begin(self, log: PartitionLog, cleanable: CleanableRange) -> None:
        segments = [each for each in log.segments if each.base_offset < cleanable.first_uncleanable_offset]
        config, thread_count = self._config, self._config.log_cleaner_threads
        settings = RoundSettings(
            config.log_cleaner_dedupe_buffer_size // thread_count,
            config.log_cleaner_io_buffer_load_factor,
            # Kafka uses half of this buffer for writing.
            max(config.log_cleaner_io_buffer_size // thread_count // 2, 1),
            log.config.segment_bytes,
            log.config.segment_index_bytes,
            log.config.index_interval_bytes,
            log.config.delete_retention_ms,
        )
        round_ = Round(
            self._env.files,
            log.directory,
            [Source(each.base_offset, each.size) for each in segments],
            cleanable.first_dirty_offset,
            cleanable.first_uncleanable_offset,
            settings,
            self._throttle,
            lambda: (
                log.is_closed or log.is_truncating or self._stopped.is_set() or self._is_moving(log.topic_partition)
            ),
        )
        running = _Running(log, segments, round_, self._env.clock.monotonic_ms())
        self._running[log.topic_partition] = running

        def prepared(groups: list[list[Source]]) -> None:
            running.groups = groups
            self._clean_next(running)

        self._run(running, round_.prepare, prepared)

    def _run(self, running: _Running, work: Callable[[], T], then: Callable[[T], object]) -> None:
        """Run work of a round in the executor; the round fails when the work or its next step raises."""

        def done(result: T) -> None:
            self._attempt(running, lambda: then(result))

        self._executor.run(work, done, lambda error: self._fail(running, error))

    def _attempt(self, running: _Running, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:
            self._fail(running, error)

    def _clean_next(self, running: _Running) -> None:
        round_, log = running.round, running.log
        if not running.groups or not self._is_wanted(running):
            self._run(running, lambda: self._env.files.sync(log.directory), lambda _: self._finish(running))
            return
        group = running.groups[0]
        last_batches = _last_batches(log)
        self._run(
            running,
            lambda: round_.clean(group, last_batches),
            lambda cleaned: self._swap(running, group, cleaned),
        )

    def _is_wanted(self, running: _Running) -> bool:
        log = running.log
        if log.is_closed or running.was_truncated or self._stopped.is_set() or self._is_moving(log.topic_partition):
            return False
        return COMPACT in log.config.cleanup_policy

    def _swap(self, running: _Running, group: Sequence[Source], cleaned: CleanedSegment) -> None:
        log, round_ = running.log, running.round
        replaced, running.segments = running.segments[: len(group)], running.segments[len(group) :]
        is_same = all(
            segment in log.segments and segment.size == source.size
            for segment, source in zip(replaced, group, strict=True)
        )
        if not (is_same and self._is_wanted(running)):
            # The log was truncated, deleted or closed: the round did not read its current records. Or the log moves.
            self._executor.run(
                lambda: round_.discard(group),
                lambda _: self._fail(running, CleaningAbortedError()),
                lambda error: self._fail(running, error),
            )
            return
        running.groups = running.groups[1:]
        running.replaced_count += len(group)

        def failed(error: BaseException) -> None:
            # A partial swap can be repaired only by loading the log again.
            self._fail(running, error)
            is_of_disk = isinstance(error, StorageError)
            self._env.on_failure(error if is_of_disk else StorageError(f"{log.directory}: {error!r}", log.directory))

        log.replace_segments(
            replaced,
            cleaned.segment(self._env.clock.now_ms()),
            lambda: swap(self._env.files, log.directory, cleaned.base_offset, replaced),
            lambda: self._attempt(running, lambda: self._clean_next(running)),
            failed,
        )

    def _finish(self, running: _Running) -> None:
        log, counts = running.log, running.round.counts
        if not running.groups and self._is_wanted(running):
            elapsed_ms = self._env.clock.monotonic_ms() - running.started_ms
            self.read_bytes, self.written_bytes, self.last_round_ms = (
                counts.read_bytes,
                counts.written_bytes,
                elapsed_ms,
            )
            _logger.info(
                "%s: cleaned to offset %d: %d segments, %d to %d bytes, %d keys, in %d ms",
                log.directory,
                running.round.end_offset,
                running.replaced_count,
                counts.read_bytes,
                counts.written_bytes,
                counts.key_count,
                elapsed_ms,
            )
            # Only after the renames are on disk, because offsets below the checkpoint are not cleaned again.
            log.first_dirty_offset = running.round.end_offset
            self._note_clean(log)
        self._end(log.topic_partition)

    def _fail(self, running: _Running, error: BaseException) -> None:
        log = running.log
        if self._running.get(log.topic_partition) is not running:
            # The round had ended before the step failed.
            _logger.error("%s: the cleaner failed after a round", log.directory, exc_info=error)
            return
        is_over = isinstance(error, CleaningAbortedError) or log.is_closed or running.was_truncated
        # With another cleanup.policy, retention may have deleted segments that the round was about to read.
        if not is_over and set(log.segments).issuperset(running.segments):
            self._give_up(log, error)
        self._end(log.topic_partition)

    def _give_up(self, log: PartitionLog, error: BaseException) -> None:
        _logger.warning("%s cannot be cleaned and is no longer compacted: %s", log.directory, error)
        self._given_up[log.topic_partition] = log, error

    def _end(self, topic_partition: TopicPartition) -> None:
        del self._running[topic_partition]
        if not self._stopped.is_set():
            self._look_after(0)
        elif not self._running:
            self._ended.complete(None)


def _last_batches(log: PartitionLog) -> dict[int, LastBatch]:
    return {
        producer_id: LastBatch(entry.batches[-1].last_offset if entry.batches else NO_OFFSET, entry.epoch)
        for producer_id, entry in log.producers.items()
    }
