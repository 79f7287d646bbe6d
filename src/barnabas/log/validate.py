"""What a client's batch must be before a leader appends it as it is: the short way, for one batch of magic 2.

The order of the checks is Kafka's, because the first that fails names the error. Data of another format, and topics
whose rules look at the records, go the long way through `barnabas.records.assign`.

# differs from Kafka (record-walk): the record count, the offset deltas and the largest timestamp inside a batch whose
# header and CRC are right are trusted unless barnabas.record.validation=full asks for the walk.

Source: semantics facts, Produce, checks 4, 8 and 9.
"""

from barnabas.core.error_code import ErrorCode
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
from barnabas.records.walk import RecordRefusal, WalkRules, walk_batch

_LEAST_MESSAGE_BYTES = 14  # the smallest size field of any format
_BYTES_UP_TO_MAGIC = MAGIC_POSITION + 1


def next_batch_bytes(records: Buffer, position: int) -> int | RecordRefusal | None:
    """The size of the batch at `position`; None when no whole batch follows, which is no error.

    As Kafka's reader, it believes any length that holds a message of some format.
    """
    left_bytes = len(records) - position
    if left_bytes < LOG_OVERHEAD:
        return None
    length: int = INT32.unpack_from(records, position + 8)[0]
    if length < _LEAST_MESSAGE_BYTES:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {length} bytes", is_before_log=True)
    if left_bytes < _BYTES_UP_TO_MAGIC:
        return None
    magic = records[position + MAGIC_POSITION]
    if magic > MAGIC:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"magic {magic} is not known", is_before_log=True)
    return None if left_bytes < length + LOG_OVERHEAD else length + LOG_OVERHEAD


def read_client_batch(records: Buffer, max_message_bytes: int) -> BatchHeader | RecordRefusal:
    """Check that `records` is one batch that a client may append.

    Args:
        records: What the produce request holds for the partition; a partial batch at its end is ignored.
        max_message_bytes: The topic's max.message.bytes.

    Returns:
        The batch's header, or why the batch is refused.
    """
    # hot path: benchmarks/micro/test_log.py
    if len(records) < HEADER_BYTES:
        refusal = refuse_head(records)
        return refusal if refusal is not None else _no_batch()
    header = BatchHeader._make(HEADER.unpack_from(records))
    size = header.batch_length + LOG_OVERHEAD
    if size != len(records) or header.magic != MAGIC or size < HEADER_BYTES:
        refusal = refuse_head(records)
        if refusal is not None:
            return refusal
    if header.base_offset:
        return RecordRefusal(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset} of a new batch is not 0")
    if size > max_message_bytes:
        return RecordRefusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {size} bytes is larger than max.message.bytes={max_message_bytes}",
            is_before_log=True,
        )
    if size < HEADER_BYTES:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {size} bytes", is_before_log=True)
    if batch_crc(records, 0, size) != header.crc:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, "the record batch has a wrong CRC", is_before_log=True)
    attributes = header.attributes
    if attributes & 0x07 > Codec.ZSTD:
        return RecordRefusal(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"codec {attributes & 0x07} is not known", is_before_log=True
        )
    if header.last_offset_delta + 1 != header.record_count or header.record_count <= 0:
        return RecordRefusal(
            ErrorCode.INVALID_RECORD,
            f"{header.record_count} records in a batch with last offset delta {header.last_offset_delta}",
        )
    if attributes & ~0x17 or header.producer_id >= 0:
        refusal = _refuse_attributes(records[:size], header)
        if refusal is not None:
            return refusal
    return header


def refuse_head(records: Buffer) -> RecordRefusal | None:
    """Why the data does not start with exactly one batch of magic 2; None when it does."""
    size = next_batch_bytes(records, 0)
    if isinstance(size, RecordRefusal):
        return size
    if size is None:
        return _no_batch()
    if records[MAGIC_POSITION] != MAGIC:
        reason = f"magic {records[MAGIC_POSITION]} is not {MAGIC}"
        return RecordRefusal(ErrorCode.INVALID_RECORD, reason, is_before_log=True)
    second_size = next_batch_bytes(records, size)
    if isinstance(second_size, RecordRefusal):
        return second_size
    if second_size is not None:
        return RecordRefusal(ErrorCode.INVALID_RECORD, "more than one record batch", is_before_log=True)
    if size < HEADER_BYTES:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, f"{size} bytes", is_before_log=True)
    return None


def _no_batch() -> RecordRefusal:
    return RecordRefusal(ErrorCode.INVALID_RECORD, "no record batch", is_before_log=True)


def _refuse_attributes(batch: Buffer, header: BatchHeader) -> RecordRefusal | None:
    if header.is_control:
        return RecordRefusal(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return RecordRefusal(ErrorCode.INVALID_RECORD, f"producer {header.producer_id} without a sequence")
    if header.is_log_append_time:
        # Only the log may set it: the walk lists every record.
        walked = walk_batch(batch, WalkRules(is_create_time=False), 0)
        return walked if isinstance(walked, RecordRefusal) else None
    return None
