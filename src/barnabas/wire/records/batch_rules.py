"""Checks of a batch header before a leader appends the batch, on every path.

The order of the checks is Kafka's, because the first failure determines the error. `walk` checks the records
themselves.

Source: semantics facts, Produce, checks 4, 8 and 9.
"""

from typing import Final

from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.batch import ATTRIBUTES_POSITION, CODEC_MASK, CONTROL_BIT, BatchHeader, Codec
from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.record_rules import RecordRefusal

_HIGHEST_CODEC: Final = int(Codec.ZSTD)


def refuse_batch(batch: memoryview, header: BatchHeader, size: int, max_message_bytes: int) -> RecordRefusal | None:
    """Return why a batch of magic 2 is rejected, by checks that come before its fields are trusted.

    Args:
        batch: Begins with it.
        header: Its header.
        size: Its bytes, all of which are in `batch`; fewer than a header's are a wrong CRC.
        max_message_bytes: The topic's max.message.bytes.
    """
    # hot path: benchmarks/micro/test_log.py
    if header.base_offset:
        return RecordRefusal(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset} of a new batch is not 0")
    if size > max_message_bytes:
        return too_large(size, max_message_bytes)
    if crc32c(batch[ATTRIBUTES_POSITION:size]) != header.crc:
        return wrong_crc()
    if header.attributes & CODEC_MASK > _HIGHEST_CODEC:
        return unknown_codec(header.codec)
    return None


def refuse_fields(header: BatchHeader) -> RecordRefusal | None:
    """Return why a batch of magic 2 cannot be a client's, by its header fields."""
    # hot path: benchmarks/micro/test_log.py
    if header.last_offset_delta + 1 != header.record_count or header.record_count <= 0:
        return RecordRefusal(
            ErrorCode.INVALID_RECORD,
            f"{header.record_count} records in a batch with last offset delta {header.last_offset_delta}",
        )
    if header.attributes & CONTROL_BIT:
        return RecordRefusal(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return RecordRefusal(ErrorCode.INVALID_RECORD, f"producer {header.producer_id} without a sequence")
    return None


def too_large(size: int, max_message_bytes: int) -> RecordRefusal:
    """Return the refusal of a batch or message of more than max.message.bytes."""
    return RecordRefusal(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"a batch of {size} bytes is larger than max.message.bytes={max_message_bytes}",
        is_before_log=True,
    )


def wrong_crc() -> RecordRefusal:
    """Return the refusal of a batch or message with a wrong CRC."""
    return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, "the record batch has a wrong CRC", is_before_log=True)


def unknown_codec(codec: int) -> RecordRefusal:
    """Return the refusal of an unknown codec."""
    return RecordRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"codec {codec} is not known", is_before_log=True)
