"""Prepares records for an append: validates them, and rewrites them if the topic requires it.

    short   one batch of magic 2 that stays unchanged: its header and its CRC are checked
    walked  everything else: decompressed, checked record by record, perhaps converted (`wire/records/assign.py`)

Both forms only compute over bytes, the log's rules and its end offset, so they can run in any thread. The event loop
runs the short form, and the walked form for small data (`is_at_once`).

Invariant: the data is changed only after all checks have passed.

# differs from Kafka (record-walk): if a batch's header and CRC are valid, its record count, offset deltas and largest
# timestamp are trusted, unless barnabas.record.validation=full.

Source: semantics facts, Produce, checks 4, 8 and 9.
"""

from collections.abc import Callable
from typing import Final

from barnabas.broker.log.appends.prepared_batches import ClientBatch, MessageSet, OwnBatches, Prepared, client_batch
from barnabas.broker.log.appends.rules import AppendRules
from barnabas.broker.log.segments.tail import KEPT_BATCHES
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    INT32,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Buffer,
    Codec,
    batches,
    read_header,
    set_max_timestamp,
)
from barnabas.wire.records.batch_rules import refuse_batch, refuse_fields, too_large
from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.legacy import LEAST_MESSAGE_BYTES
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES
from barnabas.wire.records.record_rules import RecordRefusal

# Maximum size, received and decompressed, of data that the event loop walks itself: this takes a few milliseconds in
# pure Python even if the data consists of minimal records and is converted.
AT_ONCE_BYTES = 32 * 1024

_ZSTD: Final = int(Codec.ZSTD)
_BYTES_UP_TO_MAGIC: Final = MAGIC_POSITION + 1


def prepare(
    records: memoryview,
    rules: AppendRules,
    base_offset: int,
    now_ms: Callable[[], int],
    is_any_format: bool = False,
    is_at_once: bool = False,
) -> Prepared | RecordRefusal | None:
    """Prepare a client's records for an append.

    Args:
        records: Writable. One batch, or with `is_any_format` messages of any format; a partial batch at the end is
            dropped.
        rules: The log's rules.
        base_offset: The log end offset, which must be the same when the records are written.
        now_ms: Returns the current time.
        is_any_format: Accept any number of batches, of any magic.
        is_at_once: Prepare only records that take a short time.

    Returns:
        The prepared records, or the refusal; None if `is_at_once` is set and the preparation might take long.
    """
    # hot path: benchmarks/micro/test_log.py
    if not is_any_format and (not rules.need_a_walk or _is_usual(records, rules, now_ms, is_at_once)):
        prepared = _prepare_as_it_is(records, rules, now_ms)
        if prepared is not None:
            return prepared
    if not is_at_once:
        return _prepare_walked(records, rules, base_offset, now_ms(), is_any_format, MAX_UNCOMPRESSED_BYTES)
    if len(records) > AT_ONCE_BYTES:
        return None
    walked = _prepare_walked(records, rules, base_offset, now_ms(), is_any_format, AT_ONCE_BYTES)
    # The only reason for the refusal may be that the decompressed or converted records exceed AT_ONCE_BYTES.
    return None if isinstance(walked, RecordRefusal) else walked


def _is_usual(records: memoryview, rules: AppendRules, now_ms: Callable[[], int], is_at_once: bool) -> bool:
    """Return whether the records of a batch need no change, without checking its header and CRC."""
    from barnabas.wire.records.precheck import needs_no_walk

    if is_at_once and len(records) > AT_ONCE_BYTES:
        return False
    return rules.magic == MAGIC and not rules.codec and needs_no_walk(records, rules.walk, now_ms())


def _prepare_as_it_is(
    records: memoryview, rules: AppendRules, now_ms: Callable[[], int]
) -> ClientBatch | RecordRefusal | None:
    """Prepare one batch without reading its records; None if its records must be read."""
    # hot path: benchmarks/micro/test_log.py. The fields are locals because attributes of a named tuple are slow.
    total = len(records)
    if total < HEADER_BYTES:
        return refuse_start(records) or _no_batch()
    fields = HEADER.unpack_from(records)
    (
        base_offset,
        batch_length,
        _,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        _,
        base_sequence,
        record_count,
    ) = fields
    size = batch_length + LOG_OVERHEAD
    if size != total or magic != MAGIC:
        refusal = refuse_start(records)
        if refusal is not None:
            return refusal
        records = records[:size]
    codec = attributes & CODEC_MASK
    if (
        base_offset
        or size > rules.max_message_bytes
        or crc32c(records[ATTRIBUTES_POSITION:]) != crc
        or codec > _ZSTD
        or last_offset_delta + 1 != record_count
        or record_count <= 0
        or attributes & CONTROL_BIT
        or (producer_id >= 0 and base_sequence < 0)
    ):
        refused = BatchHeader(*fields)
        return refuse_batch(records, refused, size, rules.max_message_bytes) or refuse_fields(refused)
    if (
        (rules.codec is not None and codec != rules.codec)
        or (codec == _ZSTD and not rules.has_zstd)
        # Only the broker may set this bit; the walk refuses it with a list of all records.
        or attributes & LOG_APPEND_TIME_BIT
        # Sarama before 1.45.1 sends -1. Retention, lookups by time and the expiry of producers need the true maximum.
        or (max_timestamp_ms < base_timestamp_ms and not rules.is_log_append_time)
    ):
        return None
    append_time_ms = NO_TIMESTAMP
    if rules.is_log_append_time:
        append_time_ms = max_timestamp_ms = now_ms()
        set_max_timestamp(records, 0, size, append_time_ms, is_log_append_time=True)
    header = BatchHeader(*fields) if producer_id >= 0 else None
    return ClientBatch(records, batch_length, last_offset_delta, max_timestamp_ms, append_time_ms, header)


def prepare_own(records: memoryview, rules: AppendRules, now_ms: Callable[[], int]) -> Prepared | RecordRefusal:
    """Prepare batches that the broker built, for a topic of message format 2.

    Returns:
        The prepared records, or the refusal: a batch is larger than max.message.bytes.

    Raises:
        CorruptRecordsError: `records` is not a sequence of whole batches.
    """
    if len(records) > rules.max_message_bytes:
        for batch in batches(records):
            # differs from Kafka (marker-size): a transaction's marker is never too large. Without it the transaction
            # would never end.
            if len(batch) > rules.max_message_bytes and not read_header(batch).is_control:
                return too_large(len(batch), rules.max_message_bytes)
    append_time_ms = NO_TIMESTAMP
    if rules.is_log_append_time:
        append_time_ms = now_ms()
        for batch in batches(records):
            set_max_timestamp(batch, 0, len(batch), append_time_ms, is_log_append_time=True)
    # hot path: scripts/bench --whole --only commits (a single batch without a producer id needs no walk)
    if len(records) > HEADER_BYTES:
        header = read_header(records)
        if header.producer_id < 0 and header.magic == MAGIC and header.batch_length + LOG_OVERHEAD == len(records):
            return client_batch(records, header, header.max_timestamp_ms, append_time_ms)
    return OwnBatches(records, append_time_ms)


def _prepare_walked(
    records: memoryview, rules: AppendRules, base_offset: int, now_ms: int, is_any_format: bool, max_bytes: int
) -> Prepared | RecordRefusal:
    from barnabas.wire.records.assign import AppendTarget, assign_offsets

    refusal = None if is_any_format else refuse_start(records)
    if refusal is not None:
        return refusal
    target = AppendTarget(
        rules.magic,
        rules.codec,
        rules.max_message_bytes,
        base_offset,
        rules=rules.walk,
        max_bytes=max_bytes,
        has_zstd=rules.has_zstd,
    )
    assigned = assign_offsets(records, target, now_ms)
    if isinstance(assigned, RecordRefusal):
        return assigned
    if not assigned.record_count:
        return _no_batch()
    append_time_ms = now_ms if rules.is_log_append_time else NO_TIMESTAMP
    if rules.magic == MAGIC:
        data = assigned.data
        assert not isinstance(data, bytes)
        return client_batch(data, read_header(data), assigned.max_timestamp_ms, append_time_ms)
    return MessageSet(
        assigned.data,
        base_offset,
        assigned.last_offset,
        assigned.max_timestamp_ms,
        assigned.offset_of_max_timestamp,
        append_time_ms,
        _newest_messages(assigned.data, base_offset),
    )


def _newest_messages(data: Buffer, base_offset: int) -> list[tuple[int, int]]:
    """Return offset and position of the last messages of a set. A compressed wrapper is the only message of its set."""
    from barnabas.wire.records.transcode import newest_starts

    return newest_starts(data, base_offset, 2 * KEPT_BATCHES)


def _next_batch_bytes(records: Buffer, position: int) -> int | RecordRefusal | None:
    """Return the size of the batch at `position`; None if no whole batch follows.

    Like Kafka's reader, it accepts any length that is large enough for a message of some format.
    """
    left_bytes = len(records) - position
    if left_bytes < LOG_OVERHEAD:
        return None
    length: int = INT32.unpack_from(records, position + 8)[0]
    if length < LEAST_MESSAGE_BYTES:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {length} bytes", is_before_log=True)
    if left_bytes < _BYTES_UP_TO_MAGIC:
        return None
    magic = records[position + MAGIC_POSITION]
    if magic > MAGIC:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"magic {magic} is not known", is_before_log=True)
    return None if left_bytes < length + LOG_OVERHEAD else length + LOG_OVERHEAD


def refuse_start(records: Buffer) -> RecordRefusal | None:
    """Return an error unless the data starts with exactly one batch of magic 2."""
    size = _next_batch_bytes(records, 0)
    if isinstance(size, RecordRefusal):
        return size
    if size is None:
        return _no_batch()
    if records[MAGIC_POSITION] != MAGIC:
        reason = f"magic {records[MAGIC_POSITION]} is not {MAGIC}"
        return RecordRefusal(ErrorCode.INVALID_RECORD, reason, is_before_log=True)
    second_size = _next_batch_bytes(records, size)
    if isinstance(second_size, RecordRefusal):
        return second_size
    if second_size is not None:
        return RecordRefusal(ErrorCode.INVALID_RECORD, "more than one record batch", is_before_log=True)
    if size < HEADER_BYTES:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"{size} bytes", is_before_log=True)
    return None


def _no_batch() -> RecordRefusal:
    # differs from Kafka (no-record-batch): Kafka closes the connection.
    return RecordRefusal(ErrorCode.INVALID_RECORD, "no record batch", is_before_log=True)
