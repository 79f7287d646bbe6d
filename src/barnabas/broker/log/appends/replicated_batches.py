"""Batches from another replica, as a follower appends them: with their offsets and epochs.

One pass over the headers of a run checks it and collects the data for the log:

    marks      positions of some batches, at least a kilobyte apart: the indexes get their entries from these
    epochs     the offsets at which leader epochs begin
    producers  headers and markers of the batches with a producer id; other headers are not stored

Invariants: `check_replicated_batches` needs only the log's end, changes nothing, and uses memory only for its result;
the batches in `ReplicatedBatches` are whole, have correct CRCs, and ascend.

Source: replication facts, follower, answers; log-format facts, record batch, message v0 / v1.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from barnabas.broker.log.appends.errors import OutOfOrderBatchesError
from barnabas.broker.log.leader_epochs import LeaderEpochs
from barnabas.broker.log.producers.producer_replay import read_batch_marker
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.mark import Mark
from barnabas.broker.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.broker.log.segments.tail import KEPT_BATCHES, BatchTail
from barnabas.core.types import NO_OFFSET, NO_TIMESTAMP
from barnabas.wire.records.batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    read_header,
)
from barnabas.wire.records.control import EndTransactionMarker
from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.gil import yield_gil
from barnabas.wire.records.legacy import LEAST_MESSAGE_BYTES, message_crc, read_message_header

if TYPE_CHECKING:
    # The compiler's 64-bit integer, which needs no allocation. Uncompiled, types of locals are not evaluated.
    from mypy_extensions import i64

MARK_BYTES: Final = 1024
"""Minimum distance between marks."""

OLD_FORMAT_EPOCH: Final = -(2**31) - 1
"""Represents the missing leader epoch of a message of format 0 or 1; no batch can contain this value."""

_BATCHES_PER_TURN: Final = 2048

_MOST_OFFSET: Final = 2**63 - 2
_NOTHING_YET: Final = -(2**63)

# A batch's base offset, batch length, leader epoch, magic, CRC, last offset delta, largest timestamp, and the first
# byte of the producer id, which is negative if the batch has no producer id. Each field costs 10 ns.
_FIELDS: Final = Struct(">qiibI2xi8xqb").unpack_from
_START: Final = Struct(">qi").unpack_from  # base offset, batch length
_BOUNDS: Final = Struct(">q15xi").unpack_from  # base offset, last offset delta


class ReplicatedBatches:
    """A checked run of batches, or of messages of formats 0 and 1.

    Attributes:
        data: Their bytes, whole batches only; must not change until they are appended.
        batch_count: The number of batches; 0 if the data contained no whole batch.
        first_offset: The base offset of the first batch, or the offset of the first message; -1 without batches.
        last_offset: The last offset of the last batch; -1 without batches.
        first_timestamp_ms: The largest timestamp of the first batch.
        max_timestamp_ms: The largest timestamp of all batches; -1 if no batch has one.
        timestamp_offset: The last offset of the batch with `max_timestamp_ms`.
        marks: Some of the batches, including the first, in order.
        epochs: Leader epochs, each with the base offset of the first batch of consecutive batches with that epoch.
        producers: The headers of the batches with a producer id, in order; control batches with their markers.
    """

    __slots__ = (
        "batch_count",
        "data",
        "epochs",
        "first_offset",
        "first_timestamp_ms",
        "last_offset",
        "marks",
        "max_timestamp_ms",
        "producers",
        "timestamp_offset",
    )

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.batch_count = 0
        self.first_offset = self.last_offset = NO_OFFSET
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIMESTAMP
        self.timestamp_offset = NO_OFFSET
        self.marks: list[Mark] = []
        self.epochs: list[tuple[int, int]] = []
        self.producers: list[tuple[BatchHeader, EndTransactionMarker | None]] = []

    @property
    def size_bytes(self) -> int:
        """The size of all batches in bytes."""
        return len(self.data)

    @property
    def least_base_offset(self) -> int:
        """The lowest base offset of a segment that contains all batches."""
        return self.last_offset - MAX_RELATIVE_OFFSET

    def halves(self) -> "tuple[ReplicatedBatches, ReplicatedBatches]":
        """Return two runs with the batches of this run, which must have at least two."""
        half, position = len(self.data) // 2, 0
        for mark in self.marks:
            if mark.position > half:
                break
            position = mark.position
        following = self._after(position)
        while following <= half:
            position, following = following, self._after(following)
        cut_position = position or following
        return trusted_batches(self.data[:cut_position]), trusted_batches(self.data[cut_position:])

    def _after(self, position: int) -> int:
        return position + int(_START(self.data, position)[1]) + LOG_OVERHEAD

    def write(
        self,
        segment: Segment,
        log_end_offset: int,
        index_interval_bytes: int,
        tail: BatchTail,
        epochs: LeaderEpochs,
        state: ProducerState,
    ) -> None:
        """Write all batches to a segment, and record their positions and producers.

        Raises:
            StorageError: Nothing was written, or the batches were written but not the transaction index.
        """
        data = self.data
        timestamps = self.first_timestamp_ms, self.max_timestamp_ms, self.timestamp_offset
        file_position = segment.append_run(data, self.marks, timestamps, index_interval_bytes)
        self._note_tail(tail, file_position, log_end_offset)
        for epoch, base_offset in self.epochs:
            if epoch == OLD_FORMAT_EPOCH:
                epochs.clear()
            elif epoch > epochs.latest_epoch:
                epochs.assign(epoch, base_offset)
        for header, marker in self.producers:
            if not header.is_control:
                state.update(header, header.base_offset, header.max_timestamp_ms)
            elif marker is not None:
                aborted = state.end_transaction(header, header.base_offset, marker)
                if aborted is not None:
                    segment.transactions.append(aborted)

    def _note_tail(self, tail: BatchTail, file_position: int, next_offset: int) -> None:
        position = 0
        if self.batch_count > 2 * KEPT_BATCHES:
            # A tail contains only consecutive batches, and the batches that are skipped here would leave a gap.
            tail.clear()
            least_number = self.batch_count - 2 * KEPT_BATCHES
            # Fewer batches than a tail keeps follow any mark before the next mark, or before the end.
            position = next(mark.position for mark in self.marks if mark.number >= least_number)
        end_position = len(self.data)
        while position < end_position:
            if self.data[position + MAGIC_POSITION] < MAGIC:
                # The base offset of a message is not known: it may be a wrapper, which has its last offset.
                tail.clear()
                next_offset = NO_OFFSET
            else:
                base_offset, delta = _BOUNDS(self.data, position)
                if base_offset != next_offset:
                    # A lookup of an offset in the gap would find the batch before the gap.
                    tail.clear()
                tail.append(base_offset, file_position + position)
                next_offset = base_offset + delta + 1
            position = self._after(position)


def check_replicated_batches(data: memoryview, log_end_offset: int) -> ReplicatedBatches:
    """Check batches of another replica; any thread may call this.

    Args:
        data: Batches, or messages of formats 0 and 1; a partial last one is dropped. Must not change until they are
            appended.
        log_end_offset: The log end offset. All offsets must be at or above it; only the first batch may begin below
            it, and only an empty log accepts such a batch.

    Raises:
        CorruptRecordsError: A CRC is wrong, a magic is unknown, a length is invalid or a marker is unreadable. A later
            fetch from the leader may return valid data.
        OutOfOrderBatchesError: The offsets do not ascend from `log_end_offset`.
    """
    return _walk(data, log_end_offset, True)


def trusted_batches(data: memoryview) -> ReplicatedBatches:
    """Return batches that come from a log of this broker, without checking their CRCs.

    Raises:
        CorruptRecordsError, OutOfOrderBatchesError: As `check_replicated_batches`.
    """
    # Any offset is allowed: no batch has an offset below NO_OFFSET.
    return _walk(data, NO_OFFSET, False)


def _walk(data: memoryview, log_end_offset: int, is_checked: bool) -> ReplicatedBatches:
    # hot path: benchmarks/micro/test_copies.py. One loop, with one call into C for the fields and one for the CRC.
    copies = ReplicatedBatches(data)
    marks = copies.marks
    total: i64 = len(data)
    position: i64 = 0
    size: i64 = 0
    next_mark: i64 = 0
    count: i64 = 0
    next_offset: i64 = log_end_offset
    first: i64 = 0
    delta: i64 = 0
    last: i64 = 0
    epoch: i64 = 0
    latest_epoch: i64 = _NOTHING_YET
    timestamp_ms: i64 = 0
    max_timestamp_ms: i64 = NO_TIMESTAMP
    timestamp_offset: i64 = NO_OFFSET
    left: i64 = total
    while left > 0:
        is_batch = False
        if left >= HEADER_BYTES:
            first, size, epoch, magic, crc, delta, timestamp_ms, producer = _FIELDS(data, position)
            is_batch = magic == MAGIC
        if is_batch:
            size += LOG_OVERHEAD
            last = first + delta
            if size < HEADER_BYTES or delta < 0 or first < 0 or last < first or last > _MOST_OFFSET:
                raise CorruptRecordsError(f"a batch of {size} bytes, offsets {first} to {last}, at position {position}")
            if size > left:
                break
            if is_checked and crc32c(data[position + ATTRIBUTES_POSITION : position + size]) != crc:
                raise CorruptRecordsError(f"the batch of offset {first} has a wrong CRC")
            if producer >= 0:
                header = read_header(data, position)
                marker = read_batch_marker(data[position : position + size]) if header.is_control else None
                copies.producers.append((header, marker))
        else:
            size = _message_size(data, position)
            if size == 0:
                break
            first, timestamp_ms = _read_message(data, position, size, is_checked)
            last = first
            epoch = OLD_FORMAT_EPOCH
        if (first if count else last) < next_offset:
            raise OutOfOrderBatchesError(f"offset {first}, expected {next_offset} or higher")
        next_offset = last + 1
        if timestamp_ms > max_timestamp_ms:
            max_timestamp_ms, timestamp_offset = timestamp_ms, last
        if epoch != latest_epoch:
            copies.epochs.append((epoch, first))
            latest_epoch = epoch
        if position >= next_mark:
            marks.append(Mark(position, count, last, max_timestamp_ms, timestamp_offset))
            next_mark = position + MARK_BYTES
            if count == 0:
                copies.first_offset, copies.first_timestamp_ms = first, timestamp_ms
        position += size
        left -= size
        count += 1
        if count % _BATCHES_PER_TURN == 0:
            yield_gil()
    if count:
        copies.last_offset = next_offset - 1
        copies.batch_count = count
        copies.max_timestamp_ms, copies.timestamp_offset = max_timestamp_ms, timestamp_offset
    if position < total:
        copies.data = data[:position]
    return copies


def _message_size(data: memoryview, position: int) -> int:
    """Return the size of the message of format 0 or 1 at a position; 0 if the data ends within the message."""
    left_bytes = len(data) - position
    if left_bytes < LOG_OVERHEAD:
        return 0
    length = int(_START(data, position)[1])
    if length < LEAST_MESSAGE_BYTES:
        raise CorruptRecordsError(f"a record batch of {length} bytes at position {position}")
    if left_bytes <= MAGIC_POSITION:
        return 0
    magic = data[position + MAGIC_POSITION]
    if magic > MAGIC:
        raise CorruptRecordsError(f"magic {magic} at position {position} is not known")
    size = length + LOG_OVERHEAD
    if size > left_bytes:
        return 0
    if magic == MAGIC:
        raise CorruptRecordsError(f"a batch of {size} bytes at position {position}")
    return size


def _read_message(data: memoryview, position: int, size: int, is_checked: bool) -> tuple[int, int]:
    """Return the offset and the timestamp of the message of format 0 or 1 at a position."""
    header = read_message_header(data, position)
    if is_checked and message_crc(data, position, size) != header.crc:
        raise CorruptRecordsError(f"the message of offset {header.offset} has a wrong CRC")
    if header.offset < 0:
        raise CorruptRecordsError(f"offset {header.offset} at position {position}")
    return header.offset, header.max_timestamp_ms
