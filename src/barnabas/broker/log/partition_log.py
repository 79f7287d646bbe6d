"""The log of one partition: a sequence of segments, appended at the end and read anywhere.

Invariants:
    - the event loop owns the log; only `batches`, `close` and the flush's work may run in another thread;
    - there is always a segment, segments never overlap, and the last one is the active one;
    - an append is all or nothing: offsets, indexes, producers and epochs change after the write succeeded;
    - while a large append is written ahead, nothing else is appended and no segment begins:
      `broker/replicas/append_queues.py` serialises appends, and closing the log waits until it is settled;
    - while the log is truncating, flushes wait, and retention, the cleaner and moves skip the log.

`operations.py` has the states of a log, `durability.py` tracks the part on disk, `segments/roller.py` decides when a
segment ends, and `segments/segment_chain.py` finds batches.

Source: design page, log; implementation page, log; log-format facts.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from barnabas.broker.log.append_result import AppendResult, refused, repeated
from barnabas.broker.log.appends.errors import OutOfOrderBatchesError
from barnabas.broker.log.appends.prepared_batches import Prepared
from barnabas.broker.log.appends.record_validation import prepare, prepare_own
from barnabas.broker.log.appends.replicated_batches import ReplicatedBatches
from barnabas.broker.log.appends.rules import AppendRules
from barnabas.broker.log.config import LogConfig
from barnabas.broker.log.disk.cold_reads import Cached
from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.log.durability import Durability
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.flusher import Waiting
from barnabas.broker.log.log_components import LogComponents
from barnabas.broker.log.operations import LogOperations, Operation, Step
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.roller import Roller
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.segment_chain import SegmentChain
from barnabas.broker.log.truncation import TruncationWork, full_truncation, truncation
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending, completed
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.records.batch import MAGIC
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record_rules import RecordRefusal

_logger = logging.getLogger(__name__)

# Module constants, because each access to an enum member is a lookup in its class.
_NO_ERROR: Final = ErrorCode.NONE
_NONE: Final = Operation.NONE
_APPEND_AS_LEADER: Final = Operation.APPEND_AS_LEADER
_APPEND_AS_FOLLOWER: Final = Operation.APPEND_AS_FOLLOWER
_TRUNCATION: Final = Operation.TRUNCATION
LARGE_BYTES = 2 * 1024 * 1024
"""The event loop neither checks nor writes larger appends itself: 50 MB take 15-60 ms."""


def _ignore(_: None) -> None:
    return


def _nothing() -> None:
    return


def _always() -> bool:
    return True


class PartitionLog:
    """An append-only sequence of record batches on disk; opened by `recovery.open_log`.

    Attributes:
        topic_partition: The log's partition.
        directory: The directory of its files.
        config: The topic's settings.
        log_start_offset: The first offset that can be read.
        log_end_offset: The offset of the next record.
        magic: The magic of the topic's message.format.version; older and newer segments may contain others.
        segments: In order; treat as read-only.
        epochs: The leader epochs; treat as read-only.
        producers: State of idempotent and transactional producers; treat as read-only.
        first_dirty_offset: The cleaner has compacted the records below it; None before its first round.
        is_closed: Whether the log is closed for writes.
        truncation_offsets: The offsets of all its truncations; treat as read-only.
    """

    __slots__ = (
        "_chain",
        "_closed_end_offset",
        "_durability",
        "_env",
        "_index_interval_bytes",
        "_operations",
        "_roller",
        "_rules",
        "_snapshots",
        "_work",
        "config",
        "directory",
        "epochs",
        "first_dirty_offset",
        "is_closed",
        "log_end_offset",
        "log_start_offset",
        "magic",
        "producers",
        "segments",
        "topic_partition",
        "truncation_offsets",
    )

    def __init__(
        self,
        env: LogEnvironment,
        topic_partition: TopicPartition,
        directory: Path,
        config: LogConfig,
        parts: LogComponents,
    ) -> None:
        self._env = env
        self.topic_partition = topic_partition
        self.directory = directory
        self._work = DiskWork(env.executor)
        self._chain = SegmentChain(env, directory, parts.segments, self._work, self.report_failure)
        self.segments = self._chain.segments
        self.epochs = parts.epochs
        self.producers = parts.producers
        self._snapshots = parts.snapshots
        self.log_start_offset = parts.log_start_offset
        self.log_end_offset = parts.log_end_offset
        self.first_dirty_offset: int | None = None
        self.is_closed = False
        # The log end offset at the last close; None if the files have changed since.
        self._closed_end_offset = parts.log_end_offset if parts.is_as_closed else None
        self._roller = Roller(self._chain, env.clock, config)
        self._durability = Durability(
            env,
            directory,
            parts,
            self._chain,
            self._work,
            lambda: self.log_end_offset,
            partial(env.on_flushed, topic_partition),
            self.report_failure,
        )
        self._operations = LogOperations(self._work)
        self.truncation_offsets: list[int] = []
        self.update_config(config)
        # Until now, the thread that opened the log wrote the epochs.
        self.epochs.changed = self._write_epochs

    # --- settings and state

    def update_config(self, config: LogConfig) -> None:
        """Apply changed settings; the active segment keeps its jitter."""
        self.config = config
        self._index_interval_bytes = config.index_interval_bytes
        self._roller.update(config)
        self._durability.update(config.flush_messages)
        self._rules = AppendRules(
            config,
            str(self.topic_partition),
            validates_records=self._env.validates_records,
            has_zstd=self._env.has_zstd,
        )
        self.magic = self._rules.magic
        self.epochs.keep(self.magic == MAGIC)

    @property
    def active_segment(self) -> Segment:
        """The segment that is appended to."""
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Bytes in all `.log` files."""
        return self._chain.size_bytes

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch; -1 when none is known."""
        return self.epochs.latest_epoch

    @property
    def first_unstable_offset(self) -> int:
        """The first offset of the earliest open transaction; above all offsets if there is none."""
        return max(self.producers.first_unstable_offset, self.log_start_offset)

    def note_high_watermark(self, high_watermark: int) -> None:
        """Advance the high watermark for the last stable offset: transactions that end below it are stable."""
        self.producers.note_replicated(high_watermark)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest known epoch at or below `epoch` and its end offset; (-1, -1) if there is none."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch that wrote `offset`; -1 when none is known."""
        return self.epochs.epoch_at(offset)

    def begin_leader_epoch(self, epoch: int) -> None:
        """Assign `epoch` to the records from the log end offset on."""
        self.epochs.assign(epoch, self.log_end_offset)

    # --- append as leader

    def append(
        self, records: memoryview, leader_epoch: int, *, is_client: bool = True, is_any_format: bool = False
    ) -> AppendResult:
        """Check, number and write record batches as the partition's leader, synchronously.

        Args:
            records: Writable: offsets, epoch and, with log append time, timestamps are set in place. A client sends
                exactly one batch; a partial one after it is ignored.
            leader_epoch: The partition's current leader epoch.
            is_client: False for the broker's own records. They may be several batches, and must only be newer than the
                last batch of their producer or its coordinator. In a topic with an older message format they are one
                batch, which is converted.
            is_any_format: The records may be messages of format 0 or 1 (Produce v0-2).

        Returns:
            The offsets, or the error if nothing was appended.

        Raises:
            StorageError: The disk failed; the log is unchanged.
        """
        prepared = self.prepare(records, is_client, is_any_format) or self.preparation(records, is_any_format)()
        return self.append_as_leader(prepared, leader_epoch)

    def prepare(self, records: memoryview, is_client: bool, is_any_format: bool) -> Prepared | RecordRefusal | None:
        """Prepare records for the current log end: call `append_as_leader` before anything else is appended.

        Args:
            records, is_client, is_any_format: See `append`.

        Returns:
            The prepared append, or a refusal; None if preparing may take long: use `preparation`.
        """
        # hot path: benchmarks/micro/test_log.py (here and below arguments go by position, which costs less)
        rules = self._rules
        if not is_client and rules.magic == MAGIC:
            return prepare_own(records, rules, self._env.clock.now_ms)
        if is_client and len(records) > LARGE_BYTES:
            return None
        return prepare(records, rules, self.log_end_offset, self._env.clock.now_ms, is_any_format, True)

    def preparation(self, records: memoryview, is_any_format: bool) -> Callable[[], Prepared | RecordRefusal]:
        """Return the preparation of records as work for an executor; see `prepare`.

        Until these are appended, nothing else may be appended, and `records` must not change.
        """
        rules, base_offset, now_ms = self._rules, self.log_end_offset, self._env.clock.now_ms

        def work() -> Prepared | RecordRefusal:
            prepared = prepare(records, rules, base_offset, now_ms, is_any_format)
            assert prepared is not None, "only a preparation on the event loop can be postponed"
            return prepared

        return work

    def append_as_leader(self, prepared: Prepared | RecordRefusal, leader_epoch: int) -> AppendResult:
        """Number and write a prepared append, with the settings with which it was prepared.

        Kafka also uses the same settings for both steps: it prepares and writes under one lock.

        Returns:
            See `append`.

        Raises:
            StorageError: The disk failed; the log is unchanged.
        """
        # hot path: benchmarks/micro/test_log.py
        if isinstance(prepared, RecordRefusal):
            return refused(prepared, self.log_start_offset)
        size = len(prepared.data)
        if size > self._roller.segment_bytes:
            return self._refuse_size(size)
        operation = self._operations.current
        if operation is _APPEND_AS_FOLLOWER or self._operations.truncation_count:
            # An operation that began while this replica was a follower has not ended; the producer retries.
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        base_offset = self.log_end_offset
        if prepared.must_be_checked:
            found = prepared.check(self.producers, base_offset)
            if found is not None:
                if isinstance(found, RecordRefusal):
                    return refused(found, self.log_start_offset)
                return repeated(found, self.log_start_offset, self.is_flush_due())
        last_offset = base_offset + prepared.last_offset_delta
        if operation is _NONE:
            segment = self._roller.segment_for(size, last_offset, prepared.max_timestamp_ms) or self.roll()
        else:
            segment = self.segments[-1]
        prepared.write(segment, base_offset, leader_epoch, self._index_interval_bytes, self._chain.tail, self.producers)
        if leader_epoch > self.epochs.latest_epoch and leader_epoch != NO_EPOCH:
            self.epochs.assign(leader_epoch, base_offset)
        self.log_end_offset = last_offset + 1
        result = AppendResult(_NO_ERROR, base_offset, last_offset, prepared.append_time_ms, self.log_start_offset)
        if last_offset + 1 >= self._durability.due_offset:
            result.is_flush_due = True
            self._durability.request()
        return result

    def write_ahead(
        self,
        prepared: Prepared | RecordRefusal,
        leader_epoch: int,
        then: Callable[[None], object],
        failed: Callable[[BaseException], object],
    ) -> bool:
        """Number a large prepared append and write it in the executor, so that `append_as_leader` only records it.

        Args:
            prepared: An append prepared for the current log end.
            leader_epoch: See `append_as_leader`.
            then: Called when the data is written: call `append_as_leader` if the append is still valid, then
                `drop_ahead`.
            failed: Called with the error; the log is unchanged. Call `drop_ahead` in this case, too.

        Returns:
            Whether the write has begun; if not, call `append_as_leader` at once.

        Raises:
            StorageError: The disk failed when a new segment was created.
        """
        if isinstance(prepared, RecordRefusal) or not LARGE_BYTES < len(prepared.data) <= self._roller.segment_bytes:
            return False
        if self._operations.current is _APPEND_AS_FOLLOWER or self._operations.truncation_count:
            return False
        base_offset = self.log_end_offset
        if prepared.must_be_checked and prepared.check(self.producers, base_offset) is not None:
            return False
        last_offset = base_offset + prepared.last_offset_delta
        segment = self._roller.segment_for(len(prepared.data), last_offset, prepared.max_timestamp_ms) or self.roll()
        prepared.number(base_offset, leader_epoch)
        self._operations.begin_append(_APPEND_AS_LEADER, segment.file, prepared.data, then, failed)
        return True

    def drop_ahead(self) -> None:
        """End an append that was written ahead, and remove its bytes if it was not recorded.

        Raises:
            StorageError: The disk failed.
        """
        try:
            self._operations.end_append(_APPEND_AS_LEADER)
        finally:
            self._operations.run_waiting()

    def _refuse_size(self, size: int) -> AppendResult:
        reason = f"{size} bytes are more than segment.bytes={self._roller.segment_bytes}"
        refusal = RecordRefusal(ErrorCode.RECORD_LIST_TOO_LARGE, reason, is_before_log=True)
        return refused(refusal, self.log_start_offset)

    # --- append as follower

    def append_as_follower(
        self, copies: ReplicatedBatches, is_wanted: Callable[[], bool] = _always
    ) -> Pending[None] | None:
        """Append batches of another replica unchanged, with their offsets and epochs.

        Large batches are written in the executor. While the log is busy, batches wait in order. An empty log whose end
        is within the first batch is truncated fully and starts at that batch. A closed log ignores batches.

        Args:
            copies: From the log end offset on; there may be gaps before and between them.
            is_wanted: Called before batches are appended after a wait; if it returns False, they are ignored.

        Returns:
            None if the batches are appended; else completes when they are, or fails with the errors below.

        Raises:
            StorageError: The disk failed; a first part of the batches may have been appended.
            OutOfOrderBatchesError: The batches begin below the log end offset; nothing was appended.
        """
        if not copies.batch_count or self.is_closed:
            return None
        if self.is_busy:
            return self._operations.wait(lambda: self._append_if_wanted(copies, is_wanted))
        if copies.first_offset < self.log_end_offset:
            if self.log_start_offset != self.log_end_offset or copies.last_offset < self.log_end_offset:
                raise OutOfOrderBatchesError(
                    f"{self.topic_partition} ends at {self.log_end_offset}, and offset {copies.first_offset} came"
                )
            return self.truncate_fully_and_start_at(copies.first_offset).and_then(
                lambda _: self._append_if_wanted(copies, is_wanted)
            )
        size_bytes, roller = copies.size_bytes, self._roller
        if roller.has_index_room(size_bytes, len(copies.marks)):
            segment = roller.segment_for(size_bytes, copies.last_offset, copies.max_timestamp_ms)
        else:
            segment = None
        if segment is None:
            if copies.batch_count > 1:
                # Rare: a segment ends between two of the batches.
                first, second = copies.halves()
                pending = self.append_as_follower(first, is_wanted)
                if pending is None:
                    return self.append_as_follower(second, is_wanted)
                return pending.and_then(lambda _: self._append_if_wanted(second, is_wanted))
            known_end_offset = self.log_end_offset
            # Kafka begins the segment after a gap, but recovery would take a gap between segments for lost records.
            self.log_end_offset = max(known_end_offset, copies.least_base_offset)
            try:
                segment = self.roll()
            except StorageError:
                self.log_end_offset = known_end_offset
                raise
        if size_bytes > LARGE_BYTES:
            return self._write_copies_ahead(copies, segment, is_wanted)
        self._record_copies(copies, segment)
        return None

    def _append_if_wanted(self, copies: ReplicatedBatches, is_wanted: Callable[[], bool]) -> Pending[None] | None:
        return self.append_as_follower(copies, is_wanted) if is_wanted() else None

    def _record_copies(self, copies: ReplicatedBatches, segment: Segment) -> None:
        end_offset, interval_bytes = self.log_end_offset, self._index_interval_bytes
        copies.write(segment, end_offset, interval_bytes, self._chain.tail, self.epochs, self.producers)
        self.log_end_offset = copies.last_offset + 1
        if self.log_end_offset >= self._durability.due_offset:
            self._durability.request()

    def _write_copies_ahead(
        self, copies: ReplicatedBatches, segment: Segment, is_wanted: Callable[[], bool]
    ) -> Pending[None]:
        pending: Pending[None] = Pending()

        def written(_: None) -> None:
            error: Exception | None = None
            try:
                if not self.is_closed and not self.is_truncating and is_wanted():
                    self._record_copies(copies, segment)
            except Exception as failure:
                error = failure
            self._finish_copies(pending, error)

        failed = partial(self._finish_copies, pending)
        self._operations.begin_append(_APPEND_AS_FOLLOWER, segment.file, copies.data, written, failed)
        return pending

    def _finish_copies(self, pending: Pending[None], error: BaseException | None) -> None:
        try:
            self._operations.end_append(_APPEND_AS_FOLLOWER)
        except Exception as failure:
            error = error or failure
        # Before the waiting operations: the rest of the same run may follow in the callback.
        if error is None:
            pending.complete(None)
        else:
            pending.fail(error)
        self._operations.run_waiting()

    def skip_to(self, offset: int) -> None:
        """Set the log end offset to `offset`; the source log has no more records below it.

        Raises:
            StorageError: The disk failed.
        """
        self.log_end_offset = offset
        self.roll()

    # --- segments

    def prepare_roll(self, then: Callable[[], object] = lambda: None) -> None:
        """Prepare the files of the next segment; `then` is called when they are ready, or preparing failed."""
        self._roller.prepare(then)

    def is_roll_due(self, now_ms: int) -> bool:
        """Return whether an append at `now_ms` would begin a new segment because of the active one's age."""
        return self._roller.is_due(now_ms)

    def roll(self) -> Segment:
        """Close the active segment and begin a new one at the log end offset, unless the active one is empty.

        Only the new file is renamed at once; the disk work completes the old segment later.

        Returns:
            The active segment.

        Raises:
            StorageError: The disk failed; the log is unchanged.
        """
        active = self.segments[-1]
        if active.size == 0 and active.base_offset == self.log_end_offset:
            return active
        added = self._chain.add(self.config, self.log_end_offset)
        complete = self._chain.completion(active)
        write_snapshot = self._snapshots.plan(self.log_end_offset, self.producers)

        def work() -> None:
            complete()
            write_snapshot()
            added.make_indexes()

        self._work.run(work, lambda _: self._chain.note_rolled(active), self.report_failure)
        self._durability.request()
        return added

    def _write_epochs(self) -> None:
        self._work.run(self.epochs.write, _ignore, self.report_failure)

    def delete_oldest_segments(self, count: int) -> None:
        """Delete the first `count` segments, not the active one; the log then starts at the next segment.

        Their files are renamed, and removed after file.delete.delay.ms.
        """
        if count:
            self._chain.drop(self.segments[:count], self.config.file_delete_delay_ms)
            self.increment_log_start_offset(self.segments[0].base_offset)
            _logger.info(
                "%s: deleted %d old segments, the log starts at %d", self.directory, count, self.log_start_offset
            )

    def replace_segments(
        self,
        replaced: list[Segment],
        replacing: Segment,
        put_in_place: Callable[[], list[Path]],
        then: Callable[[], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Replace neighbouring segments, not the active one, by one segment made from them.

        Args:
            replaced: Their renamed files are removed after file.delete.delay.ms.
            replacing: The new segment, `Segment.cleaned`, with the base offset of the first replaced one.
            put_in_place: Renames the files of both, in an executor; returns the new names of the replaced files.
            then: Called when the files are renamed.
            failed: Called when the disk failed halfway; only loading the log again repairs it.
        """
        delay_ms = self.config.file_delete_delay_ms
        self._chain.replace(replaced, replacing, put_in_place, delay_ms, then, failed)

    def increment_log_start_offset(self, offset: int) -> None:
        """Raise the log start offset to `offset` or above; it never decreases."""
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)
            self.producers.note_replicated(offset)

    # --- truncate

    def truncate(self, offset: int) -> Pending[None]:
        """Remove every batch that contains `offset` or is above it; the log then ends at `offset`.

        The log ends there at once, or when the operation in progress has ended. It is truncating until its files end
        there, too.

        Returns:
            Completes when the files are truncated; at once if the log is closed. Fails if the disk failed, or the data
            is damaged; the log has failed, too, in this case.
        """
        return self._request_truncation(lambda: self._begin_truncation(offset))

    def truncate_fully_and_start_at(self, offset: int) -> Pending[None]:
        """Remove all records and restart the log, empty, at `offset`; see `truncate`."""
        return self._request_truncation(lambda: self._begin_full_truncation(offset))

    @property
    def is_truncating(self) -> bool:
        """Return whether a truncation of the log is in progress or waits."""
        return self._operations.truncation_count > 0

    @property
    def is_busy(self) -> bool:
        """Return whether an operation is in progress: a large append or a truncation."""
        return not self._operations.is_idle

    def idle(self) -> Pending[None]:
        """Complete when the log is not busy and earlier operations have ended, so that a leader may begin."""
        return self._operations.wait(_nothing) if self.is_busy else completed(None)

    def _request_truncation(self, begin: Step) -> Pending[None]:
        if self.is_closed:
            return completed(None)

        def begin_or_fail() -> Pending[None] | None:
            try:
                return begin()
            except Exception as error:
                # The log may be truncated in memory and not on disk.
                pending: Pending[None] = Pending()
                self._fail_truncation(pending, error)
                return pending

        return self._operations.request_truncation(begin_or_fail)

    def _begin_truncation(self, offset: int) -> Pending[None] | None:
        if self.is_closed:
            self._operations.end_truncation()
            return None
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            self._operations.end_truncation()
            return None
        if offset < self.segments[0].base_offset:
            return self._begin_full_truncation(offset)
        _logger.info("truncating %s from offset %d to %d", self.directory, self.log_end_offset, offset)
        above = [segment for segment in self.segments if segment.base_offset > offset]
        start_offset = min(self.log_start_offset, offset)
        self._chain.detach(above)
        work = truncation(self._env, list(self.segments), above, self._snapshots, start_offset, offset)
        pending = self._run_truncation(work, offset, start_offset)
        # After the files: a start can remove epochs above the log's end, but cannot restore epochs below it.
        self.epochs.truncate_from_end(offset)
        return pending

    def _begin_full_truncation(self, offset: int) -> Pending[None] | None:
        if self.is_closed:
            self._operations.end_truncation()
            return None
        _logger.info("truncating %s fully: it ended at %d, starts at %d", self.directory, self.log_end_offset, offset)
        replaced = list(self.segments)
        segment = self._chain.replace_all(self.config, offset)
        reserved_bytes = self.config.segment_bytes if self.config.preallocate else 0
        work = full_truncation(self._env, segment, replaced, self._snapshots, reserved_bytes)
        pending = self._run_truncation(work, offset, offset)
        self.epochs.clear()
        return pending

    def _run_truncation(self, work: TruncationWork, offset: int, start_offset: int) -> Pending[None]:
        """Truncate the log in memory to `offset`, then its files."""
        self._operations.begin_truncation()
        self.truncation_offsets.append(offset)
        # With stale, higher checkpoints, a start after a crash would skip checking later records, or delete them.
        is_checkpointed = offset < self.recovery_point or start_offset < self.log_start_offset
        self._chain.tail.clear()
        self._roller.look_again()
        self.log_end_offset = offset
        self.log_start_offset = start_offset
        self._closed_end_offset = None
        self._durability.pause()
        self._durability.truncate_to(offset)
        if self.first_dirty_offset is not None and self.first_dirty_offset > offset:
            self.first_dirty_offset = offset
            is_checkpointed = True
        pending: Pending[None] = Pending()

        def truncated(result: tuple[list[Path], ProducerState]) -> None:
            try:
                renamed, self.producers = result
                self._chain.remove_later(self.config.file_delete_delay_ms, renamed)
                checkpointed = self._env.write_checkpoints(self.directory) if is_checkpointed else completed(None)
            except Exception as error:
                failed(error)
            else:
                checkpointed.then(partial(self._finish_truncation, pending), failed)

        failed = partial(self._fail_truncation, pending)
        self._work.run(work, truncated, failed)
        return pending

    def _fail_truncation(self, pending: Pending[None], error: BaseException) -> None:
        """Fail the log, as its files may differ from its state in memory; only loading it again repairs it."""
        is_damage = isinstance(error, CorruptRecordsError)
        is_known = is_damage or isinstance(error, StorageError)
        reason = error if is_known else StorageError(f"{self.directory}: {error!r}", self.directory)
        if self._work.error is None:
            self._work.error = reason
        try:
            if is_damage:
                # The directory is not affected.
                self._env.on_damaged(self.topic_partition, self.directory, reason)
            else:
                self.report_failure(reason)
        finally:
            pending.fail(reason)
            self._durability.resume()
            self._operations.fail_waiting(reason)

    def _finish_truncation(self, pending: Pending[None], _: None) -> None:
        self._operations.end_truncation()
        self._durability.resume()
        self._operations.run_waiting()
        pending.complete(None)

    # --- read

    def read(
        self,
        offset: int,
        max_bytes: int,
        end_offset: int,
        at_least_one: bool = True,
        cached: Cached | None = None,
        allows_partial_batch: bool = True,
        taken_bytes: int = 0,
    ) -> FileSlice | None:
        """Find the bytes of the batches from `offset` on, in one segment.

        Args:
            offset: From the log start to the log end offset.
            max_bytes: The maximum size; the last batch may be incomplete.
            end_offset: Batches that contain this offset or are above it are omitted (the high watermark).
            at_least_one: Return the whole first batch even if it is larger than `max_bytes`.
            cached: The page cache, for reads without waiting for the disk; None if the caller may wait.
            allows_partial_batch: Without `at_least_one`: return the beginning of a first batch that is larger than
                `max_bytes`.
            taken_bytes: The cache is not queried for slices up to this size: the caller reads them with `Cached.take`.

        Returns:
            A slice that starts with the batch that contains `offset`, or with the next batch if compaction removed
            that one. It is empty if the batch is too large. None if there is nothing to read.

        Raises:
            ValueError: The offset is outside the log.
            NotCachedError: `cached` is given, and a read would need the disk.
            StorageError, CorruptRecordsError: The disk failed, or the file does not contain batches.
        """
        # hot path: benchmarks/micro/test_log.py
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise ValueError(f"offset {offset} is not within {self.log_start_offset}..{self.log_end_offset}")
        if self._operations.current is _TRUNCATION:
            return None
        return self._chain.read(
            offset, max_bytes, end_offset, self.log_end_offset, at_least_one, cached, allows_partial_batch, taken_bytes
        )

    def aborted_transactions(self, offset: int, part: FileSlice) -> list[AbortedTransaction]:
        """Return the aborted transactions for a slice that `read` returned, for read_committed consumers.

        Returns:
            The aborted transactions that overlap the slice, in the order of their ends, and perhaps later ones.

        Raises:
            CorruptRecordsError: A transaction index is damaged.
        """
        return self._chain.aborted_transactions(offset, part, self.log_end_offset)

    def segment_base_offset(self, offset: int, part: FileSlice | None = None) -> int:
        """Return the base offset of the segment that contains `offset`.

        Args:
            part: The slice that `read` returned for the offset; it may be in a later segment after compaction.
        """
        return self._chain.base_offset_of(offset, part)

    def segment_times(self, now_ms: int) -> list[tuple[int, int]]:
        """Return each segment's base offset and the time of its file's last change; then the log end, with `now_ms`.

        Raises:
            StorageError: The disk failed.
        """
        times = [(max(segment.base_offset, self.log_start_offset), segment.modified_ms()) for segment in self.segments]
        return [*times, (self.log_end_offset, now_ms)] if self.segments[-1].size else times

    def offset_for_timestamp(self, target_ms: int, cached: Cached | None = None) -> tuple[int, int, int] | None:
        """Return timestamp, offset and leader epoch of the first record whose timestamp is at least `target_ms`.

        Not for the hot path: it may load indexes, and reads the records of one batch.

        Raises:
            NotCachedError: `cached` is given, and a read would need the disk.
        """
        if self._operations.current is _TRUNCATION:
            return None
        return self._chain.find_timestamp(target_ms, self.log_start_offset, cached)

    def batches(self, start_offset: int, end_offset: int) -> Iterator[memoryview]:
        """Return all batches that contain an offset from `start_offset` to `end_offset` - 1.

        Call this on the event loop; the iterator may be used in an executor's thread.

        Raises:
            StorageError, CorruptRecordsError: While iterating.
        """
        if start_offset >= self.log_end_offset:
            return iter(())
        return self._chain.batches(start_offset, end_offset)

    # --- flush and close

    @property
    def recovery_point(self) -> int:
        """The offset below which everything is on disk."""
        return self._durability.recovery_point

    @property
    def last_flush_ms(self) -> int:
        """The time of the last flush's end."""
        return self._durability.last_flush_ms

    def is_flush_due(self) -> bool:
        """Return whether flush.messages requires a flush; `flush` reports its completion."""
        # differs from Kafka (flush-messages): Kafka's append waits for the flush; here the answer and readers wait.
        return self.log_end_offset >= self._durability.due_offset

    @property
    def safe_end_offset(self) -> int:
        """The end of the records that are as durable as flush.messages requires: on disk, if a flush is due."""
        return self.recovery_point if self.is_flush_due() else self.log_end_offset

    def flush(self, then: Waiting | None = None) -> None:
        """Flush everything appended so far, in the executor.

        Args:
            then: Called on the event loop, with None when the records are on disk, or with the error.
        """
        if self.is_closed and self.recovery_point < self.log_end_offset:
            if then is not None:
                then(StorageError(f"{self.directory}: the log is closed", self.directory))
            return
        self._durability.flush(then)

    def report_failure(self, error: BaseException) -> None:
        """Report failed disk work, unless the log is closed."""
        if not self.is_closed:
            self._env.on_failure(error)

    def remove_old_snapshots(self) -> None:
        """Remove producer snapshots that neither truncation nor recovery needs any more."""
        if self.is_truncating:
            return
        before_active = self.segments[max(len(self.segments) - 2, 0)].base_offset
        unflushed = self.segments[self._chain.index_of(self.recovery_point)].base_offset
        remove = self._snapshots.forget_below(min(before_active, unflushed))
        if remove is not None:
            self._work.run(remove, _ignore, self.report_failure)

    def remove_expired_producers(self) -> None:
        """Remove producers that wrote nothing for transactional.id.expiration.ms."""
        self.producers.remove_expired(self._env.clock.now_ms() - self._env.producer_expiration_ms)

    @property
    def has_failed(self) -> bool:
        """Return whether a write failed, so that the files may be incomplete."""
        return self._work.error is not None

    def settled(self) -> Pending[None]:
        """Complete when no write is in progress any more."""
        return self._work.settled()

    def close(self) -> None:
        """Write and flush indexes and a producer snapshot, so that no recovery is needed; for an executor's thread.

        Call this after `settled` has completed.

        Raises:
            StorageError: The disk failed; the log must be recovered at the next start.
        """
        if self.is_closed:
            return
        self.is_closed = True
        if self._closed_end_offset == self.log_end_offset and not self._work.was_used:
            # The log has not changed: everything is on disk.
            self.release()
            return
        self._chain.next_file.remove()
        self._chain.completion(self.segments[-1])()
        self._snapshots.take(self.log_end_offset, self.producers)
        self._durability.sync_all()
        self.release()

    def release(self) -> None:
        """Close the files without writing, if the log was deleted or its disk failed."""
        self.is_closed = True
        for segment in self.segments:
            segment.close()
