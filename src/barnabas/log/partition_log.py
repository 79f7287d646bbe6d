"""The log of one partition: segments one after the other, appended at the end and read anywhere.

Invariants:
    - it belongs to the event loop's thread; only `batches`, `close` and the flush's work may run in another one;
    - segments never overlap, the last one is the active one, and there is always one;
    - an append is all or nothing: offsets, indexes, producers and epochs change after the write succeeded;
    - everything below `recovery_point` is on disk.

Source: design page, log; implementation page, log; log-format facts.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_TIMESTAMP, TopicPartition
from barnabas.log.append_result import AppendResult
from barnabas.log.config import LogConfig
from barnabas.log.environment import LogEnvironment
from barnabas.log.files import FileSlice
from barnabas.log.flusher import Flusher
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.producer_snapshot import ProducerSnapshots
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.log.segment_chain import SegmentChain
from barnabas.log.validate import RecordRules, Refusal, read_client_batch, walk_records
from barnabas.records.batch import LOG_OVERHEAD, BatchHeader, batches, read_header, set_max_timestamp

LOG_APPEND_TIME = "LogAppendTime"
COMPACT = "compact"

_PUT_NUMBERS = Struct(">qii").pack_into  # base offset, batch length, leader epoch


class LogParts:
    """What a log is made of when it was loaded; see the attributes of `PartitionLog`."""

    __slots__ = ("epochs", "log_end_offset", "log_start_offset", "producers", "recovery_point", "segments", "snapshots")

    def __init__(
        self,
        segments: list[Segment],
        epochs: LeaderEpochs,
        producers: ProducerState,
        snapshots: ProducerSnapshots,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
    ) -> None:
        self.segments = segments
        self.epochs = epochs
        self.producers = producers
        self.snapshots = snapshots
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point


class PartitionLog:
    """An append-only sequence of record batches on disk. `recovery.open_log` makes one.

    Attributes:
        topic_partition: Whose log.
        directory: Where its files are.
        config: The topic's settings.
        log_start_offset: The first offset that can be read.
        log_end_offset: The offset that the next record gets.
        recovery_point: Everything below is on disk.
        last_flush_ms: When the last flush ended.
        segments: In order; treat as read-only.
        epochs: The leader epochs; treat as read-only.
        producers: What idempotent producers wrote; treat as read-only.
        is_closed: Nothing is written any more.
    """

    __slots__ = (
        "_chain",
        "_cut_offset",
        "_env",
        "_flush_messages",
        "_flusher",
        "_index_bytes",
        "_index_interval_bytes",
        "_is_log_append_time",
        "_rules",
        "_segment_bytes",
        "_segment_ms",
        "_snapshots",
        "_walks_records",
        "config",
        "directory",
        "epochs",
        "is_closed",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "recovery_point",
        "segments",
        "topic_partition",
    )

    def __init__(
        self,
        env: LogEnvironment,
        topic_partition: TopicPartition,
        directory: Path,
        config: LogConfig,
        parts: LogParts,
    ) -> None:
        self._env = env
        self.topic_partition = topic_partition
        self.directory = directory
        self._chain = SegmentChain(env, directory, parts.segments, self._note_failure)
        self.segments = self._chain.segments
        self.epochs = parts.epochs
        self.producers = parts.producers
        self._snapshots = parts.snapshots
        self.log_start_offset = parts.log_start_offset
        self.log_end_offset = parts.log_end_offset
        self.recovery_point = parts.recovery_point
        self.last_flush_ms = env.clock.now_ms()
        self.is_closed = False
        self._cut_offset = parts.log_end_offset
        self._flusher = Flusher(env.executor, self._prepare_flush, self._note_flush, self._note_failure)
        self.update_config(config)
        self._chain.choose_jitter(config)

    # --- settings and state

    def update_config(self, config: LogConfig) -> None:
        """Take over changed settings; the active segment keeps its jitter."""
        self.config = config
        self._segment_bytes = config.segment_bytes
        self._index_bytes = config.segment_index_bytes
        self._index_interval_bytes = config.index_interval_bytes
        self._flush_messages = config.flush_messages
        self._is_log_append_time = config.message_timestamp_type == LOG_APPEND_TIME
        is_compacted = COMPACT in config.cleanup_policy
        self._segment_ms = config.segment_ms
        if is_compacted and config.max_compaction_lag_ms > 0:
            self._segment_ms = min(config.max_compaction_lag_ms, config.segment_ms)
        self._rules = RecordRules(
            config.max_message_bytes,
            config.message_timestamp_difference_max_ms,
            not self._is_log_append_time,
            is_compacted,
            self._env.validates_records,
        )
        self._walks_records = self._rules.walks_records

    @property
    def active_segment(self) -> Segment:
        """The one that is appended to."""
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Bytes in all `.log` files."""
        return self._chain.size_bytes

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch; -1 when none is known."""
        return self.epochs.latest_epoch

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest known epoch at or below `epoch` and its end offset; (-1, -1) when there is none."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_at(self, offset: int) -> int:
        """The leader epoch that wrote `offset`; -1 when none is known."""
        return self.epochs.epoch_at(offset)

    def begin_leader_epoch(self, epoch: int) -> None:
        """Note that this broker leads with `epoch` from the log end on."""
        self.epochs.assign(epoch, self.log_end_offset)

    # --- append

    def append(self, records: memoryview, leader_epoch: int, *, is_client: bool = True) -> AppendResult:
        """Check, number and write record batches as the partition's leader.

        Args:
            records: Writable: offsets, epoch and, with log append time, timestamps are set in place. From a client
                exactly one batch; a partial one after it is cut off.
            leader_epoch: This leader's.
            is_client: False for the broker's own records, of which there may be several batches and which are not
                checked.

        Returns:
            The offsets, or the error because of which nothing was appended.

        Raises:
            StorageError: The disk did not take it all; the log is as it was.
        """
        # hot path: benchmarks/micro/test_log.py
        if not is_client:
            return self._append_own(records, leader_epoch)
        header = read_client_batch(records, self._rules)
        if type(header) is not BatchHeader:
            return self._refuse(header)  # type: ignore[arg-type]  # the other half of the union
        size = header.batch_length + LOG_OVERHEAD
        if size != len(records):
            records = records[:size]
        max_timestamp_ms = header.max_timestamp_ms
        append_time_ms = NO_TIMESTAMP
        if self._walks_records or self._is_log_append_time:
            timestamp = self._settle_timestamp(records, header)
            if type(timestamp) is not int:
                return self._refuse(timestamp)  # type: ignore[arg-type]  # the other half of the union
            max_timestamp_ms = timestamp
            if self._is_log_append_time:
                append_time_ms = timestamp
        if size > self._segment_bytes:
            return self._refuse_size(size)
        is_idempotent = header.producer_id >= 0
        if is_idempotent:
            answer = self._check_producer(header)
            if answer is not None:
                return answer

        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        _PUT_NUMBERS(records, 0, base_offset, header.batch_length, leader_epoch)
        segment = self._segment_for(size, last_offset, max_timestamp_ms)
        position = segment.size
        segment.append(records, last_offset, max_timestamp_ms, self._index_interval_bytes)
        if leader_epoch != self.epochs.latest_epoch:
            self._assign_epoch(leader_epoch, base_offset)
        if is_idempotent:
            self.producers.update(header, base_offset, max_timestamp_ms)
        self.log_end_offset = last_offset + 1
        self._chain.tail.append(base_offset, position)
        if last_offset + 1 - self.recovery_point >= self._flush_messages:
            self._flusher.request(None)
        return AppendResult(ErrorCode.NONE, base_offset, last_offset, append_time_ms, self.log_start_offset)

    def _append_own(self, records: memoryview, leader_epoch: int) -> AppendResult:
        size = len(records)
        if size > self._segment_bytes:
            return self._refuse_size(size)
        now_ms = self._env.clock.now_ms() if self._is_log_append_time else NO_TIMESTAMP
        first_offset = next_offset = self.log_end_offset
        headers: list[BatchHeader] = []
        for batch in batches(records):
            if self._is_log_append_time:
                set_max_timestamp(batch, 0, len(batch), now_ms, is_log_append_time=True)
            _PUT_NUMBERS(batch, 0, next_offset, len(batch) - LOG_OVERHEAD, leader_epoch)
            header = read_header(batch)
            headers.append(header)
            next_offset = header.last_offset + 1
        if not headers:
            return self._refuse(Refusal(ErrorCode.INVALID_RECORD, "no record batch"))
        max_timestamp_ms = max(header.max_timestamp_ms for header in headers)
        segment = self._segment_for(size, next_offset - 1, max_timestamp_ms)
        position = segment.size
        segment.append_all(records, headers, self._index_interval_bytes)
        if leader_epoch != self.epochs.latest_epoch:
            self._assign_epoch(leader_epoch, first_offset)
        for header in headers:
            self._chain.tail.append(header.base_offset, position)
            position += header.size_in_bytes
        self.log_end_offset = next_offset
        if next_offset - self.recovery_point >= self._flush_messages:
            self._flusher.request(None)
        return AppendResult(ErrorCode.NONE, first_offset, next_offset - 1, now_ms, self.log_start_offset)

    def _assign_epoch(self, leader_epoch: int, base_offset: int) -> None:
        if leader_epoch > self.epochs.latest_epoch and leader_epoch != NO_EPOCH:
            self.epochs.assign(leader_epoch, base_offset)

    def _settle_timestamp(self, batch: memoryview, header: BatchHeader) -> int | Refusal:
        """The batch's largest timestamp, set in the batch too where it must be another one."""
        now_ms = self._env.clock.now_ms()
        timestamp_ms = header.max_timestamp_ms
        if self._walks_records:
            largest = walk_records(batch, self._rules, now_ms)
            if isinstance(largest, Refusal):
                return largest
            timestamp_ms = largest
        if self._is_log_append_time:
            timestamp_ms = now_ms
        if timestamp_ms != header.max_timestamp_ms or self._is_log_append_time:
            set_max_timestamp(batch, 0, len(batch), timestamp_ms, is_log_append_time=self._is_log_append_time)
        return timestamp_ms

    def _check_producer(self, header: BatchHeader) -> AppendResult | None:
        """The answer when the batch of an idempotent producer is not to be appended."""
        duplicate = self.producers.find_duplicate(header)
        if duplicate is not None:
            return AppendResult(
                ErrorCode.NONE,
                duplicate.first_offset,
                duplicate.last_offset,
                duplicate.timestamp_ms,
                self.log_start_offset,
                True,
            )
        refused = self.producers.check(header)
        return None if refused is None else self._refuse(Refusal(*refused))

    def _refuse(self, refusal: Refusal) -> AppendResult:
        result = AppendResult(refusal.error_code, record_errors=refusal.record_errors)
        if refusal.record_errors:
            result.message = refusal.reason
        if not refusal.is_before_log:
            result.log_start_offset = self.log_start_offset
        return result

    def _refuse_size(self, size: int) -> AppendResult:
        reason = f"{size} bytes are more than segment.bytes={self._segment_bytes}"
        return self._refuse(Refusal(ErrorCode.RECORD_LIST_TOO_LARGE, reason, is_before_log=True))

    # --- segments

    def _segment_for(self, size: int, last_offset: int, max_timestamp_ms: int) -> Segment:
        """The active segment, or a new one where the next append must not go into it."""
        segment = self.segments[-1]
        position = segment.size
        if (
            position + size > self._segment_bytes
            or (position and self._waited_ms(segment, max_timestamp_ms) > self._segment_ms - segment.roll_jitter_ms)
            or segment.has_full_index(self._index_bytes)
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return self.roll()
        return segment

    def _waited_ms(self, segment: Segment, max_timestamp_ms: int) -> int:
        if segment.first_timestamp_ms >= 0:
            return max_timestamp_ms - segment.first_timestamp_ms
        return self._env.clock.now_ms() - segment.created_ms

    def roll(self) -> Segment:
        """Close the active segment and begin a new one at the log end; an empty one stays.

        Returns:
            The active segment.
        """
        active = self.segments[-1]
        if active.size == 0 and active.base_offset == self.log_end_offset:
            return active
        active.complete()
        self._snapshots.take(self.log_end_offset, self.producers)
        self._chain.add(self.config, self.log_end_offset)
        self._flusher.request(None)
        return self.segments[-1]

    def delete_oldest_segments(self, count: int) -> None:
        """Delete the first `count` segments; the log start moves to the first that stays.

        The files are renamed at once and removed after file.delete.delay.ms.
        """
        if count == len(self.segments):
            self.roll()
            count = min(count, len(self.segments) - 1)
        self._chain.drop(self.segments[:count], self.config.file_delete_delay_ms)
        self.increment_log_start_offset(self.segments[0].base_offset)

    def increment_log_start_offset(self, offset: int) -> None:
        """Let the log begin at `offset` or above; never moves back."""
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)

    def truncate_to(self, offset: int) -> None:
        """Cut every batch that holds `offset` or lies above it; the log then ends at `offset`."""
        if offset >= self.log_end_offset:
            return
        if offset < self.segments[0].base_offset:
            self.truncate_fully(offset)
            return
        above = [segment for segment in self.segments if segment.base_offset > offset]
        self._chain.drop(above, self.config.file_delete_delay_ms)
        self.segments[-1].truncate_to(offset)
        self._reset_end(offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.epochs.truncate_from_end(offset)

    def truncate_fully(self, offset: int) -> None:
        """Drop everything and begin anew, empty, at `offset`."""
        self._chain.drop(list(self.segments), self.config.file_delete_delay_ms)
        self._chain.add(self.config, offset)
        self._reset_end(offset)
        self.log_start_offset = offset
        self.epochs.clear()

    def _reset_end(self, offset: int) -> None:
        from barnabas.log.recovery import load_producers

        self._chain.tail.clear()
        self._cut_offset = min(self._cut_offset, offset)
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self.producers = load_producers(
            self._env, self.segments, self._snapshots, min(self.log_start_offset, offset), offset
        )

    # --- read

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool = True) -> FileSlice | None:
        """Find the bytes of the batches from `offset` on, in one segment.

        Args:
            offset: From the log start to the log end offset.
            max_bytes: How many bytes at most; the last batch may be cut off.
            end_offset: Batches that hold this offset or lie above it are left out (the high watermark).
            at_least_one: Give the whole first batch even if it is larger than `max_bytes`.

        Returns:
            A slice that starts with the batch that holds `offset` (or the next one, where compaction left a gap);
            None when there is nothing to read.

        Raises:
            ValueError: The offset lies outside of the log.
            StorageError, CorruptRecordsError: The disk failed or holds something else than batches.
        """
        # hot path: benchmarks/micro/test_log.py
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise ValueError(f"offset {offset} is not within {self.log_start_offset}..{self.log_end_offset}")
        return self._chain.read(offset, max_bytes, end_offset, self.log_end_offset, at_least_one)

    def offset_for_timestamp(self, target_ms: int) -> tuple[int, int, int] | None:
        """The first record whose timestamp is at least `target_ms`: its timestamp, offset and leader epoch.

        Not for the hot path: it may load indexes and walks the records of one batch.
        """
        return self._chain.find_timestamp(target_ms, self.log_start_offset)

    def batches(self, start_offset: int, end_offset: int) -> Iterator[memoryview]:
        """All batches that hold an offset from `start_offset` to below `end_offset`.

        What is walked is fixed by this call, on the event loop; the iterator may be used in an executor's thread.

        Raises:
            StorageError, CorruptRecordsError: While iterating.
        """
        if start_offset >= self.log_end_offset:
            return iter(())
        return self._chain.batches(start_offset, end_offset)

    # --- flush and close

    @property
    def is_flush_due(self) -> bool:
        """Whether flush.messages wants what was appended on disk; `flush` tells when it is."""
        return self.log_end_offset - self.recovery_point >= self._flush_messages

    def flush(self, then: Callable[[], object] | None = None) -> None:
        """Bring to disk what was appended up to now, in the executor; then call `then` on the event loop."""
        if self.recovery_point >= self.log_end_offset:
            if then is not None:
                then()
            return
        self._flusher.request(then)

    def _prepare_flush(self) -> tuple[int, Callable[[], None]]:
        self.segments[-1].persist_indexes()
        self._cut_offset = self.log_end_offset
        return self.log_end_offset, self._flush_work()

    def _flush_work(self) -> Callable[[], None]:
        segments = self.segments[self._chain.index_of(self.recovery_point) :]
        files = self._env.files
        paths = [self._snapshots.path(segment.base_offset) for segment in segments]
        paths += [self._snapshots.path(self.log_end_offset), self.epochs.path, self.directory]

        def work() -> None:
            for segment in segments:
                segment.sync()
            for path in paths:
                files.sync(path)

        return work

    def _note_flush(self, end_offset: int) -> None:
        # Where the log was cut meanwhile, other bytes than those on disk may follow.
        self.recovery_point = max(self.recovery_point, min(end_offset, self._cut_offset))
        self.last_flush_ms = self._env.clock.now_ms()

    def _note_failure(self, error: BaseException) -> None:
        if not self.is_closed:
            self._env.on_failure(error)

    def remove_old_snapshots(self) -> None:
        """Remove the producer snapshots that no truncation or recovery can need any more."""
        before_active = self.segments[max(len(self.segments) - 2, 0)].base_offset
        unflushed = self.segments[self._chain.index_of(self.recovery_point)].base_offset
        self._snapshots.remove_below(min(before_active, unflushed))

    def remove_expired_producers(self) -> None:
        """Forget producers that were silent for transactional.id.expiration.ms."""
        self.producers.remove_expired(self._env.clock.now_ms() - self._env.producer_expiration_ms)

    def close(self) -> None:
        """Write all that makes a later start quick, and wait until it is on disk; for an executor's thread.

        Raises:
            StorageError: The disk failed; the log must be recovered at the next start.
        """
        if self.is_closed:
            return
        self.is_closed = True
        self.segments[-1].complete()
        self._snapshots.take(self.log_end_offset, self.producers)
        self._flush_work()()
        self.recovery_point = self.log_end_offset
        self.release()

    def release(self) -> None:
        """Let go of the files without writing anything: the log was deleted, or its disk failed."""
        self.is_closed = True
        for segment in self.segments:
            segment.close()
