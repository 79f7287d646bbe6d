"""Moves logs to another directory of `log.dirs` while they are written and read.

    <topic>-<partition>.<32 hex digits>-future     the copy, a log of its own, until it is complete

Threads read batches of the log, and the event loop appends some at a time to the copy. When the copy is near the log's
end, it is closed, renamed to the log's name in the target directory, and opened again. Records appended meanwhile are
copied. In the turn of the event loop that copies the last of them, the copy replaces the log. The old log is deleted
when the new one is on disk.

Invariants:
    - until the copy replaces the log, the log is read and written as usual;
    - after a crash, the log is complete, with or without a complete or unfinished copy. A start keeps the longer of two
      logs of one partition if it contains all records of the other, and resumes an unfinished copy;
    - a failure ends only the move, and the log stays in its directory;
    - the cleaner does not replace the log's segments during the move.

Source: KIP-113; log-format facts, files in a log dir; semantics, AlterReplicaLogDirs.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.log.appends.errors import OutOfOrderBatchesError
from barnabas.broker.log.appends.replicated_batches import ReplicatedBatches, trusted_batches
from barnabas.broker.log.config import LogConfig, LogManagerConfig
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segments.batch_reader import read_batches
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending, completed
from barnabas.core.types import TopicPartition
from barnabas.core.windowed_rate import SimpleRate
from barnabas.wire.records.errors import CorruptRecordsError

if TYPE_CHECKING:
    from random import Random

    from barnabas.broker.log.disk.files import RecordFile

_logger = logging.getLogger(__name__)

# Size of the batches copied in one turn of the loop, which takes at most some milliseconds.
_CHUNK_BYTES = 512 * 1024
# Maximum size of the last part, which the loop reads itself in the turn in which the copy replaces the log. These
# records were just written, so they are in the page cache.
_LAST_BYTES = 64 * 1024
# The throttle's setting is checked again after this delay.
_LONGEST_WAIT_MS = 500


class _Chunk(NamedTuple):
    """Some batches of one segment.

    Attributes:
        end_position: The position of their end in the segment.
    """

    copies: ReplicatedBatches
    end_position: int


class Move:
    """A move of one log to another directory.

    Attributes:
        source: The log.
        directory: The target directory.
        future: The copy; None while it is being opened.
    """

    __slots__ = (
        "_position",
        "_segment",
        "_truncation_count",
        "cleaned_to",
        "directory",
        "future",
        "has_name",
        "is_busy",
        "is_cancelled",
        "path",
        "source",
        "told",
    )

    def __init__(self, source: PartitionLog, directory: LogDirectory, path: Path) -> None:
        """Args:
        path: The copy's directory.
        """
        self.source = source
        self.directory = directory
        self.path = path
        self.future: PartitionLog | None = None
        # Whether the copy has the log's own name.
        self.has_name = False
        # Whether work for the move is in progress that will call back.
        self.is_busy = False
        self.is_cancelled = False
        self.told: list[Pending[None]] = []
        # The log's first dirty offset when the copy began; None if unknown.
        self.cleaned_to: int | None = None
        # Number of the log's truncations that were applied to the copy.
        self._truncation_count = len(source.truncation_offsets)
        # The position of the next read.
        self._segment: Segment | None = None
        self._position = 0

    def plan_read(self) -> Callable[[], _Chunk] | None:
        """Return a function that reads the next batches in an executor's thread; None if the copy is complete.

        Raises:
            StorageError: The segment's file cannot be opened.
        """
        future = self.future
        assert future is not None
        next_offset, segments = future.log_end_offset, self.source.segments
        if next_offset >= self.source.log_end_offset:
            return None
        segment = self._segment
        if segment not in segments or (self._position >= segment.size and segment is not segments[-1]):
            # The next segment; or, if retention removed the current one, the segment with `next_offset`.
            below = [each for each in segments if each.base_offset <= next_offset]
            after = [each for each in segments if segment is not None and each.base_offset > segment.base_offset]
            segment = after[0] if segment in segments and after else (below or segments)[-1 if below else 0]
            self._segment, self._position = segment, 0
        assert segment is not None
        # Opened here, because a thread may find the segment's files renamed.
        return partial(_read_chunk, segment.file, self._position, segment.size, next_offset)

    def take_truncation_offset(self) -> int | None:
        """Return the lowest offset to which the log was truncated since the last call; None if it was not."""
        offsets = self.source.truncation_offsets[self._truncation_count :]
        self._truncation_count += len(offsets)
        return min(offsets, default=None)

    @property
    def was_truncated(self) -> bool:
        """Return whether a truncation of the log is in progress, or was not yet applied to the copy."""
        return self.source.is_truncating or len(self.source.truncation_offsets) != self._truncation_count

    @property
    def left_bytes(self) -> int | None:
        """The number of bytes of the log's last segment that are not copied yet; None while another segment is read."""
        segment = self.source.segments[-1]
        return segment.size - self._position if segment is self._segment else None

    @property
    def is_at_end(self) -> bool:
        """Return whether everything in the log's segments was read."""
        return self.left_bytes == 0

    def read_to(self, position: int) -> None:
        """Note that the batches before a position of the segment have been copied."""
        self._position = position

    def forget_position(self) -> None:
        """Forget the read position; the next read searches for it."""
        self._segment = None
        self._position = 0


def _read_chunk(file: "RecordFile", position: int, end_position: int, next_offset: int) -> _Chunk:
    data = bytearray()
    for start, header, batch in read_batches(file, position, end_position):
        position = start + len(batch)
        if header.last_offset < next_offset:
            continue
        data += batch
        if len(data) >= _CHUNK_BYTES:
            break
    else:
        position = end_position
    return _Chunk(trusted_batches(memoryview(data)), position)


def common_end(source: PartitionLog, future: PartitionLog) -> int:
    """Return the offset up to which an existing copy can match the log, by the leader epochs of both."""
    end_offset = min(source.log_end_offset, future.log_end_offset)
    known = {entry.epoch for entry in source.epochs.entries}
    for entry in reversed(future.epochs.entries):
        if entry.epoch in known:
            ends = (log.end_offset_for_epoch(entry.epoch)[1] for log in (source, future))
            return min(end_offset, *ends)
    return source.log_start_offset if known and future.epochs.entries else end_offset


class LogMoves:
    """All logs that are being moved to other directories. Owned by the event loop."""

    def __init__(
        self,
        config: LogManagerConfig,
        env: LogEnvironment,
        executor: Executor,
        topic_config: Callable[[TopicPartition], LogConfig],
        dice: "Random",
        is_appending: Callable[[PartitionLog], bool],
        must_stay: Callable[[PartitionLog], bool],
        replace_log: Callable[[PartitionLog, PartitionLog], object],
    ) -> None:
        """Args:
        config: The broker's settings.
        env: The environment of the logs.
        executor: Opens, reads and closes copies.
        topic_config: Returns the current settings of a partition's topic.
        dice: Random numbers for the names of copies.
        is_appending: Returns whether an append is being prepared for a log.
        must_stay: Returns whether the move of a log must wait.
        replace_log: Called when the second log replaces the first one; it releases the first.
        """
        self._config = config
        self._env = env
        self._executor = executor
        self._topic_config = topic_config
        self._dice = dice
        self._is_appending = is_appending
        self._must_stay = must_stay
        self._replace_log = replace_log
        self._moves: dict[TopicPartition, Move] = {}
        self._waiting: deque[Move] = deque()
        self._active_count = 0
        self._limit = config.replica_alter_log_dirs_io_max_bytes_per_second
        self._copied_bytes = self._new_rate()
        self._is_closed = False

    @property
    def moves(self) -> Mapping[TopicPartition, Move]:
        """The unfinished moves, by partition."""
        return self._moves

    # --- begin and end

    def begin(self, source: PartitionLog, directory: LogDirectory, path: Path | None = None) -> None:
        """Begin to move a log that is not being moved yet.

        Args:
            source: The log.
            directory: The target directory.
            path: The directory of a copy that an earlier run began.
        """
        if path is None:
            path = directory.future_path(source.topic_partition, self._dice.randbytes(16))
            cleaned_to = source.first_dirty_offset
        else:
            # Unknown: the log may have been compacted since the copy began.
            cleaned_to = None
        move = self._moves[source.topic_partition] = Move(source, directory, path)
        move.cleaned_to = cleaned_to
        _logger.info("moving %s to %s", source.directory, directory.path)
        self._waiting.append(move)
        self._begin_next()

    def cancel(self, topic_partition: TopicPartition) -> Pending[None]:
        """Cancel the move of a partition's log, if there is one; complete when its copy is deleted."""
        move = self._moves.pop(topic_partition, None)
        if move is None:
            return completed(None)
        told: Pending[None] = Pending()
        move.told.append(told)
        move.is_cancelled = True
        if move in self._waiting:
            self._waiting.remove(move)
            self._active_count += 1
        if not move.is_busy:
            self._end(move)
        return told

    def drop_in(self, directory: LogDirectory) -> None:
        """Cancel all moves from or to a directory that failed."""
        for key, move in list(self._moves.items()):
            if move.directory is directory or move.source.directory.parent == directory.path:
                self.cancel(key)

    def close(self) -> Pending[None]:
        """Stop all moves; complete when all copies are closed. The next start resumes the moves."""
        self._is_closed = True
        self._waiting.clear()
        pending: Pending[None] = Pending()
        left = [move for move in self._moves.values() if move.is_busy]
        left_count = 1 + len(left)

        def one_done(_: object = None) -> None:
            nonlocal left_count
            left_count -= 1
            if left_count == 0:
                self._close_copies(pending)

        for move in left:
            told: Pending[None] = Pending()
            move.told.append(told)
            told.then(one_done)
        one_done()
        return pending

    def _close_copies(self, pending: Pending[None]) -> None:
        copies = [move.future for move in self._moves.values() if move.future is not None]
        left_count = 1 + len(copies)

        def one_done(_: object = None) -> None:
            nonlocal left_count
            left_count -= 1
            if left_count == 0:
                pending.complete(None)

        for copy in copies:
            self._close(copy, one_done, one_done)
        one_done()

    def _close(
        self, log: PartitionLog, then: Callable[[None], object], failed: Callable[[BaseException], object]
    ) -> None:
        """Close a copy when everything appended to it is on disk."""
        log.settled().then(lambda _: self._executor.run(log.close, then, failed))

    def _begin_next(self) -> None:
        threads = self._config.num_replica_alter_log_dirs_threads or len(self._config.log_dirs or ["one"])
        while self._waiting and self._active_count < threads and not self._is_closed:
            self._active_count += 1
            self._open(self._waiting.popleft())

    def _run(self, move: Move, work: Callable[[], object], then: Callable[..., object]) -> None:
        """Run work for a move in a thread, then `then`, unless the move is over by then."""
        move.is_busy = True

        def done(result: object) -> None:
            move.is_busy = False
            if not self._is_over(move):
                self._attempt(move, partial(then, result))

        def failed(error: BaseException) -> None:
            move.is_busy = False
            if self._is_over(move):
                return
            if isinstance(error, CorruptRecordsError) and move.was_truncated and move.future is not None:
                # The batches were cut off while they were read.
                move.forget_position()
                self._attempt(move, partial(self._go_on, move))
            else:
                self._fail(move, error)

        self._executor.run(work, done, failed)

    def _is_over(self, move: Move) -> bool:
        """Return whether a move has ended while work for it ran in a thread."""
        if self._is_closed and not move.is_cancelled:
            told, move.told = move.told, []
            for pending in told:
                pending.complete(None)
            return True
        if move.is_cancelled or move.source.is_closed:
            if self._moves.get(move.source.topic_partition) is move:
                del self._moves[move.source.topic_partition]
            self._end(move)
            return True
        return False

    def _fail(self, move: Move, error: BaseException) -> None:
        source = move.source
        _logger.error("cannot move %s to %s: %s", source.directory, move.directory.path, error)
        if self._moves.get(source.topic_partition) is move:
            del self._moves[source.topic_partition]
        self._end(move)
        if isinstance(error, StorageError):
            self._env.on_failure(error)

    def _end(self, move: Move) -> None:
        """End an unfinished move and delete its copy."""
        future, move.future = move.future, None
        settled = completed(None)
        if future is not None:
            future.release()
            settled = future.settled()
        self._active_count -= 1

        def gone(_: object) -> None:
            told, move.told = move.told, []
            for pending in told:
                pending.complete(None)
            self._begin_next()

        def remove(_: None) -> None:
            self._executor.run(partial(self._remove, move.path), gone, gone)

        settled.then(remove)

    def _remove(self, path: Path) -> None:
        if self._env.files.exists(path):
            self._env.files.remove_tree(path)

    # --- step by step

    def _open(self, move: Move) -> None:
        source = move.source
        if self._is_over(move):
            return
        config, start_offset = self._topic_config(source.topic_partition), source.log_start_offset
        self._run(
            move,
            # Opened as after a crash, because an earlier run may have left the copy in any state.
            lambda: open_log(self._env, source.topic_partition, move.path, config, log_start_offset=start_offset),
            partial(self._on_copy_opened, move),
        )

    def _attempt(self, move: Move, step: Callable[[], object]) -> None:
        """Run the next step of a move; the move fails if the step raises."""
        try:
            step()
        except Exception as error:
            if self._moves.get(move.source.topic_partition) is not move:
                # The copy has replaced the log, or is being removed.
                raise
            self._fail(move, error)

    def _on_copy_opened(self, move: Move, future: PartitionLog) -> None:
        move.future = future
        # The log may have been truncated before the copy was opened.
        self._truncate(move, common_end(move.source, future))

    def _truncate(self, move: Move, offset: int) -> None:
        """Truncate the copy to an offset, then continue."""
        future = move.future
        assert future is not None
        move.forget_position()
        if future.log_end_offset < move.source.log_start_offset:
            # Retention has deleted records beyond the copy's end.
            self._wait(move, future.truncate_fully_and_start_at(move.source.log_start_offset))
        else:
            self._wait(move, future.truncate(offset))

    def _wait(self, move: Move, pending: Pending[None]) -> None:
        """Continue the move when an operation on the copy has completed."""
        move.is_busy = True

        def done(_: None) -> None:
            move.is_busy = False
            if not self._is_over(move):
                self._attempt(move, partial(self._go_on, move))

        def failed(error: BaseException) -> None:
            move.is_busy = False
            if not self._is_over(move):
                self._fail(move, error)

        pending.then(done, failed)

    def _step(self, move: Move) -> None:
        """Read the next part, or finish the move."""
        future, source = move.future, move.source
        if future is None or self._is_over(move):
            return
        if source.is_busy or self._must_stay(source):
            # While the log is busy, its end offset is unknown.
            self._env.timers.call_later(1, self._go_on, move)
            return
        truncation_offset = move.take_truncation_offset()
        if truncation_offset is not None or future.log_end_offset < source.log_start_offset:
            self._truncate(move, future.log_end_offset if truncation_offset is None else truncation_offset)
            return
        left_bytes = move.left_bytes
        is_near = left_bytes is not None and left_bytes <= _LAST_BYTES
        try:
            read = move.plan_read()
        except StorageError as error:
            self._fail(move, error)
            return
        if not move.has_name and (is_near or read is None):
            self._name(move)
        elif read is None or is_near:
            self._finish(move)
        else:
            self._run(move, read, partial(self._copied, move))

    def _copied(self, move: Move, chunk: _Chunk) -> None:
        try:
            pending = self._append(move, chunk)
        except (StorageError, CorruptRecordsError, OutOfOrderBatchesError) as error:
            self._fail(move, error)
            return
        self._copied_bytes.record(self._env.clock.monotonic_ms(), chunk.copies.size_bytes)
        if pending is None:
            self._go_on(move)
        else:
            self._wait(move, pending)

    def _append(self, move: Move, chunk: _Chunk) -> Pending[None] | None:
        """Append a chunk to the copy.

        Returns:
            None if the chunk is appended or was discarded; else completes when it is appended.

        Raises:
            StorageError, CorruptRecordsError, OutOfOrderBatchesError: As `PartitionLog.append_as_follower`.
        """
        future = move.future
        assert future is not None
        source = move.source
        if move.was_truncated:
            # Discarded: the log may no longer contain these batches.
            return None
        if not chunk.copies.batch_count and move.is_at_end:
            if source.segments[-1].size:
                raise CorruptRecordsError(f"{source.segments[-1].path} ends before offset {source.log_end_offset}")
            # Compaction removed the last batches before an active segment that is still empty.
            future.skip_to(source.log_end_offset)
        move.read_to(chunk.end_position)
        return future.append_as_follower(chunk.copies)

    def _go_on(self, move: Move) -> None:
        """Continue the move when the throttle allows it, unless it was ended meanwhile."""
        if self._moves.get(move.source.topic_partition) is not move or self._is_closed:
            return
        wait_ms = self._wait_ms()
        if wait_ms:
            self._env.timers.call_later(wait_ms, self._go_on, move)
        else:
            self._step(move)

    def _wait_ms(self) -> int:
        """Return the delay that replica.alter.log.dirs.io.max.bytes.per.second requires now."""
        limit = self._config.replica_alter_log_dirs_io_max_bytes_per_second
        if limit != self._limit:
            # Bytes counted under the old limit would delay copies, or permit a burst, under the new limit.
            self._limit, self._copied_bytes = limit, self._new_rate()
        return min(self._copied_bytes.wait_ms(self._env.clock.monotonic_ms(), limit), _LONGEST_WAIT_MS)

    def _new_rate(self) -> SimpleRate:
        config = self._config
        window_ms = config.alter_log_dirs_replication_quota_window_size_seconds * 1_000
        return SimpleRate(window_ms, config.alter_log_dirs_replication_quota_window_num)

    @property
    def bytes_per_s(self) -> float:
        """Return the recent rate of copying, in bytes per second."""
        return self._copied_bytes.rate_per_s(self._env.clock.monotonic_ms())

    def _name(self, move: Move) -> None:
        """Rename a nearly complete copy to the log's name, after its disk work has ended and it is closed."""
        future = move.future
        assert future is not None
        move.is_busy = True
        key, config = move.source.topic_partition, self._topic_config(move.source.topic_partition)
        start_offset = future.log_start_offset

        def work() -> PartitionLog:
            future.close()
            path = move.directory.path / str(key)
            self._env.files.rename(move.path, path)
            self._env.files.sync(move.directory.path)
            move.path = path
            return open_log(self._env, key, path, config, was_clean=True, log_start_offset=start_offset)

        def named(log: PartitionLog) -> None:
            move.has_name = True
            move.future = log
            self._step(move)

        future.settled().then(lambda _: self._run(move, work, named))

    def _finish(self, move: Move) -> None:
        """Copy the small remaining part and replace the log by its copy, in this turn of the event loop."""
        future, source = move.future, move.source
        assert future is not None
        if self._is_appending(source) or source.is_busy or move.was_truncated:
            # The append in preparation, or the truncation, must reach the source first.
            self._env.timers.call_later(1, self._go_on, move)
            return
        try:
            while (read := move.plan_read()) is not None:
                pending = self._append(move, read())
                if pending is not None:
                    # The log starts within its first batch: the empty copy is truncated to start at that batch.
                    self._wait(move, pending)
                    return
        except (StorageError, CorruptRecordsError, OutOfOrderBatchesError) as error:
            self._fail(move, error)
            return
        del self._moves[source.topic_partition]
        future.increment_log_start_offset(source.log_start_offset)
        if future.latest_epoch < source.latest_epoch:
            future.begin_leader_epoch(source.latest_epoch)
        future.update_config(source.config)
        if move.cleaned_to == source.first_dirty_offset:
            # Otherwise, records may have been copied before they were compacted: the copy is compacted again.
            future.first_dirty_offset = source.first_dirty_offset
        _logger.info("moved %s to %s", source.directory, future.directory)
        self._active_count -= 1
        self._replace_log(source, future)
        told, move.told = move.told, []
        for pending in told:
            pending.complete(None)
        self._begin_next()
