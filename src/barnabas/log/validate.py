"""What a client's batch must be before a leader appends it.

The order of the checks is Kafka's, because the first that fails names the error. Records are walked only where a rule
needs them: a limit on timestamps, a compacted topic, or an error that lists them.

# differs from Kafka: the record count, the offset deltas and the largest timestamp inside a batch whose header and CRC
# are right are trusted unless `is_full` asks for the walk (barnabas.record.validation=full).

Source: semantics facts, Produce, checks 4, 8 and 9.
"""

from dataclasses import dataclass

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP
from barnabas.records.batch import (
    HEADER,
    HEADER_BYTES,
    INT32,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Buffer,
    Codec,
    batch_crc,
)
from barnabas.records.errors import CorruptRecordsError
from barnabas.records.record import Record, iterate_records

NO_TIMESTAMP_LIMIT_MS = 2**63 - 1

_LEAST_MESSAGE_BYTES = 14  # the smallest size field of any format
_BYTES_UP_TO_MAGIC = MAGIC_POSITION + 1

_REJECTED = "One or more records have been rejected"
_REJECTED_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"


@dataclass(slots=True)
class Refusal:
    """Why nothing of the data is appended.

    Attributes:
        error_code: For the answer.
        reason: For the log, and for the answer when records are listed.
        is_before_log: The answer does not say the log start offset.
        record_errors: Index in the batch and reason.
    """

    error_code: ErrorCode
    reason: str
    is_before_log: bool = False
    record_errors: tuple[tuple[int, str | None], ...] = ()


@dataclass(slots=True)
class RecordRules:
    """The settings that the checks need.

    Attributes:
        max_message_bytes: The topic's max.message.bytes.
        timestamp_difference_max_ms: The topic's message.timestamp.difference.max.ms.
        is_create_time: Whether the topic's message.timestamp.type is CreateTime.
        is_compacted: Whether the topic's cleanup.policy holds compact.
        is_full: Walk the records of every batch.
    """

    max_message_bytes: int
    timestamp_difference_max_ms: int = NO_TIMESTAMP_LIMIT_MS
    is_create_time: bool = True
    is_compacted: bool = False
    is_full: bool = False

    @property
    def walks_records(self) -> bool:
        """Whether the records themselves must be looked at."""
        return (
            self.is_full
            or self.is_compacted
            or (self.is_create_time and self.timestamp_difference_max_ms != NO_TIMESTAMP_LIMIT_MS)
        )


def next_batch_bytes(records: Buffer, position: int) -> int | Refusal | None:
    """The size of the batch at `position`; None when no whole batch follows, which is no error.

    As Kafka's reader, it believes any length that holds a message of some format.
    """
    left_bytes = len(records) - position
    if left_bytes < LOG_OVERHEAD:
        return None
    length: int = INT32.unpack_from(records, position + 8)[0]
    if length < _LEAST_MESSAGE_BYTES:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {length} bytes", is_before_log=True)
    if left_bytes < _BYTES_UP_TO_MAGIC:
        return None
    magic = records[position + MAGIC_POSITION]
    if magic > MAGIC:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, f"magic {magic} is not known", is_before_log=True)
    return None if left_bytes < length + LOG_OVERHEAD else length + LOG_OVERHEAD


def read_client_batch(records: Buffer, rules: RecordRules) -> BatchHeader | Refusal:
    """Check that `records` is one batch that a client may append.

    Args:
        records: What the produce request holds for the partition; a partial batch at its end is ignored.
        rules: The topic's settings.

    Returns:
        The batch's header, or why the batch is refused.
    """
    # hot path: benchmarks/micro/test_log.py
    if len(records) < HEADER_BYTES:
        return _refuse_head(records)
    header = BatchHeader._make(HEADER.unpack_from(records))
    size = header.batch_length + LOG_OVERHEAD
    if size != len(records) or header.magic != MAGIC or size < HEADER_BYTES:
        refusal = _refuse_head(records)
        if refusal is not _FITS:
            return refusal
    if header.base_offset:
        return Refusal(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset} of a new batch is not 0")
    if size > rules.max_message_bytes:
        return Refusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {size} bytes is larger than max.message.bytes={rules.max_message_bytes}",
            is_before_log=True,
        )
    if size < HEADER_BYTES:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {size} bytes", is_before_log=True)
    if batch_crc(records, 0, size) != header.crc:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, "the record batch has a wrong CRC", is_before_log=True)
    if header.last_offset_delta + 1 != header.record_count or header.record_count <= 0:
        return Refusal(
            ErrorCode.INVALID_RECORD,
            f"{header.record_count} records in a batch with last offset delta {header.last_offset_delta}",
        )
    attributes = header.attributes
    if attributes & ~0x17 or header.producer_id >= 0:
        refused = _refuse_attributes(records, header)
        if refused is not None:
            return refused
    if attributes & 0x07 > Codec.ZSTD:
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"codec {attributes & 0x07} is not known", is_before_log=True)
    return header


_FITS = Refusal(ErrorCode.NONE, "exactly one batch of magic 2")


def _refuse_head(records: Buffer) -> Refusal:
    """Why the data does not start with exactly one batch of magic 2; `_FITS` when it does."""
    size = next_batch_bytes(records, 0)
    if isinstance(size, Refusal):
        return size
    if size is None:
        return Refusal(ErrorCode.INVALID_RECORD, "no record batch", is_before_log=True)
    if records[MAGIC_POSITION] != MAGIC:
        return Refusal(ErrorCode.INVALID_RECORD, f"magic {records[MAGIC_POSITION]} is not {MAGIC}", is_before_log=True)
    second_size = next_batch_bytes(records, size)
    if isinstance(second_size, Refusal):
        return second_size
    if second_size is not None:
        return Refusal(ErrorCode.INVALID_RECORD, "more than one record batch", is_before_log=True)
    return Refusal(ErrorCode.CORRUPT_MESSAGE, f"{size} bytes", is_before_log=True) if size < HEADER_BYTES else _FITS


def _refuse_attributes(records: Buffer, header: BatchHeader) -> Refusal | None:
    if header.is_control:
        return Refusal(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return Refusal(ErrorCode.INVALID_RECORD, f"producer {header.producer_id} without a sequence")
    if header.is_log_append_time:
        return _refuse_log_append_time(records)
    return None


def _refuse_log_append_time(batch: Buffer) -> Refusal:
    errors: list[tuple[int, str | None]] = []
    try:
        for index, record in enumerate(iterate_records(batch)):
            errors.append(
                (
                    index,
                    f"Invalid timestamp type in message {_describe(record)}. "
                    "Producer should not set timestamp type to LogAppendTime.",
                )
            )
    except CorruptRecordsError as error:
        return Refusal(ErrorCode.INVALID_RECORD, str(error))
    return Refusal(ErrorCode.INVALID_TIMESTAMP, _REJECTED_TIMESTAMP, record_errors=tuple(errors))


def _describe(record: Record) -> str:
    key_bytes = -1 if record.key is None else len(record.key)
    value_bytes = -1 if record.value is None else len(record.value)
    return (
        f"DefaultRecord(offset={record.offset}, timestamp={record.timestamp_ms}, key={max(key_bytes, 0)} bytes, "
        f"value={max(value_bytes, 0)} bytes)"
    )


def walk_records(batch: Buffer, rules: RecordRules, now_ms: int) -> Refusal | int:
    """Look at every record of a batch that `read_client_batch` let through.

    Returns:
        The largest timestamp, or why the batch is refused.
    """
    errors: list[tuple[int, str | None]] = []
    has_bad_timestamp = False
    largest_timestamp_ms = NO_TIMESTAMP
    try:
        for index, record in enumerate(iterate_records(batch)):
            if record.offset != index:
                return Refusal(ErrorCode.INVALID_RECORD, f"record {index} has offset delta {record.offset}")
            largest_timestamp_ms = max(largest_timestamp_ms, record.timestamp_ms)
            if rules.is_compacted and record.key is None:
                errors.append((index, "Compacted topic cannot accept message without key in topic partition."))
                continue
            reason = _refuse_timestamp(record, rules, now_ms)
            if reason is not None:
                has_bad_timestamp = True
                errors.append((index, reason))
    except CorruptRecordsError as error:
        return Refusal(ErrorCode.INVALID_RECORD, str(error))
    if has_bad_timestamp:
        return Refusal(ErrorCode.INVALID_TIMESTAMP, _REJECTED_TIMESTAMP, record_errors=tuple(errors))
    if errors:
        return Refusal(ErrorCode.INVALID_RECORD, _REJECTED, record_errors=tuple(errors))
    return largest_timestamp_ms


def _refuse_timestamp(record: Record, rules: RecordRules, now_ms: int) -> str | None:
    limit_ms = rules.timestamp_difference_max_ms
    timestamp_ms = record.timestamp_ms
    if not rules.is_create_time or timestamp_ms == NO_TIMESTAMP or abs(timestamp_ms - now_ms) <= limit_ms:
        return None
    return (
        f"Timestamp {timestamp_ms} of message with offset {record.offset} is out of range. The timestamp should be "
        f"within [{now_ms - limit_ms}, {now_ms + limit_ms}]"
    )
