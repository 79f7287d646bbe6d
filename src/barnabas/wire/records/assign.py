"""Preparation of produced data by a leader: checks, offsets, and conversion to the topic's format.

This is the general path, for data of any magic and topics of any `message.format.version` and `compression.type`, with
every one of Kafka's record checks. A log that trusts its producers has a shorter path for the usual case, one batch of
magic 2 that stays unchanged.

Data stays unchanged (offsets are set in place) if format and codec are the topic's and its records are numbered 0, 1,
2... inside; otherwise it is rewritten. Compressed data of magic 0 is always rewritten, because its inner offsets are
absolute.

Invariant: the data is changed only after every check has passed.

# differs from Kafka (transactional-old-format): a produce request with transactional records for a topic of an older
# format gets UNSUPPORTED_FOR_MESSAGE_FORMAT also where Kafka 2.7.2 stumbles before its own check
# (UNKNOWN_SERVER_ERROR).

Source: semantics facts, Produce, checks 8 to 10 and offsets; tests/unit/wire/records/produce-java-2.7.2.tsv.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_TIMESTAMP
from barnabas.wire.records import legacy
from barnabas.wire.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_LENGTH_POSITION,
    CODEC_MASK,
    HEADER_BYTES,
    INT16,
    INT32,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Buffer,
    Codec,
    View,
    read_header,
    set_base_offset,
    set_crc,
    set_leader_epoch,
    set_max_timestamp,
)
from barnabas.wire.records.batch_rules import refuse_batch, refuse_fields, too_large, unknown_codec, wrong_crc
from barnabas.wire.records.convert import (
    ProducerFields,
    Written,
    write_batch,
    write_batch_of_messages,
    write_messages,
    write_messages_of_batch,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import (
    AnyHeader,
    batches_of_any_magic,
    is_any_crc_valid,
    iterate_any_records,
    read_any_header,
)
from barnabas.wire.records.gil import copied
from barnabas.wire.records.message_walk import walk_usual_messages
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES, Record
from barnabas.wire.records.record_rules import RecordRefusal, Walked, WalkRules
from barnabas.wire.records.transcode import number_messages
from barnabas.wire.records.walk import walk_batch


@dataclass(slots=True)
class AppendTarget:
    """The format that the topic requires, and the position of the append.

    Attributes:
        magic: That of its message.format.version.
        codec: That of its compression.type; None keeps the producer's.
        max_message_bytes: Its max.message.bytes.
        base_offset: The log end offset, the first that is given out.
        leader_epoch: For the headers of batches.
        rules: The rules for the records.
        max_bytes: How large the records of a batch may become when they are decompressed or rewritten.
        has_zstd: Whether zstd may be written.
    """

    magic: int
    codec: int | None
    max_message_bytes: int
    base_offset: int
    leader_epoch: int = NO_EPOCH
    rules: WalkRules = field(default_factory=WalkRules)
    max_bytes: int = MAX_UNCOMPRESSED_BYTES
    has_zstd: bool = True


class Assigned(NamedTuple):
    """Data that is ready to append.

    Attributes:
        data: The bytes; the start of the buffer that was given, or new ones.
        record_count: Records in it; 0 where there was not a single whole batch.
        last_offset: Of its last record.
        max_timestamp_ms: Its largest timestamp, or the append time; -1 if there is none.
        offset_of_max_timestamp: The offset for the time index; -1 if there is none.
        is_rewritten: Whether `data` is new.
    """

    data: Buffer
    record_count: int
    last_offset: int
    max_timestamp_ms: int
    offset_of_max_timestamp: int
    is_rewritten: bool


@dataclass(slots=True)
class _Produced:
    """The result of reading the headers of the data.

    Attributes:
        data: The whole batches.
        header: The first one's.
        batch_count: How many there are.
        source_codec: The last codec that is one.
        walked: The result for their records, if it is known already.
    """

    data: View
    header: AnyHeader
    batch_count: int
    source_codec: int
    walked: Walked | None = None


def assign_offsets(records: bytearray | memoryview, target: AppendTarget, now_ms: int) -> Assigned | RecordRefusal:
    """Check a client's data for one partition, and prepare it for the append.

    Args:
        records: The data; a partial batch at its end is ignored. Writable: it may be changed in place.
        target: The topic's settings and the log's end.
        now_ms: The time that timestamps are compared with, and the append time.

    Returns:
        The data to append, or why nothing of it is appended; then `records` is as it was.
    """
    produced = _read_usual_messages(records, target, now_ms) or _read_heads(records, target)
    if produced is None:
        return Assigned(b"", 0, target.base_offset - 1, NO_TIMESTAMP, -1, is_rewritten=False)
    if isinstance(produced, RecordRefusal):
        return produced
    magic, source_codec = produced.header.magic, produced.source_codec
    codec = source_codec if target.codec is None else target.codec
    if codec == Codec.ZSTD and not target.has_zstd:
        reason = "zstd may not be written with an inter.broker.protocol.version below 2.1"
        return RecordRefusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)
    if produced.batch_count > 1 and (magic == MAGIC or source_codec != Codec.NONE):
        return RecordRefusal(ErrorCode.INVALID_RECORD, "Compressed outer record has more than one batch")
    is_rebuilt = codec != source_codec or magic != target.magic or (codec != Codec.NONE and magic == 0)
    walked = _walk(produced, target, now_ms, is_rebuilt=is_rebuilt)
    if isinstance(walked, RecordRefusal):
        return walked
    if is_rebuilt or (codec != Codec.NONE and not walked.is_numbered):
        return _rebuild(produced, walked, codec, target, now_ms)
    return _number_in_place(produced, walked, target, now_ms)


def recompress(batch: Buffer, payload: Buffer, codec: int) -> bytearray:
    """Recompress the records of one batch of magic 2 with another codec, byte for byte unchanged.

    Args:
        batch: One whole batch whose header and CRC have been checked. It stays as it is.
        payload: Its records, decompressed.
        codec: The new codec.

    Returns:
        The batch with everything else in its header as it was, and its CRC right.
    """
    if codec != Codec.NONE:
        from barnabas.wire.records.compression import compress

        payload = compress(codec, payload)
    data = bytearray(batch[:HEADER_BYTES]) + payload
    INT32.pack_into(data, BATCH_LENGTH_POSITION, len(data) - LOG_OVERHEAD)
    attributes: int = INT16.unpack_from(data, ATTRIBUTES_POSITION)[0]
    INT16.pack_into(data, ATTRIBUTES_POSITION, attributes & ~CODEC_MASK | codec)
    set_crc(data, 0, len(data))
    return data


def _read_usual_messages(records: bytearray | memoryview, target: AppendTarget, now_ms: int) -> _Produced | None:
    """Read headers and records of valid messages without codec in one pass; None for everything else."""
    if len(records) <= legacy.MESSAGE_ATTRIBUTES_POSITION or records[MAGIC_POSITION] >= MAGIC:
        return None
    if records[legacy.MESSAGE_ATTRIBUTES_POSITION] & CODEC_MASK:
        return None
    walked = walk_usual_messages(
        copied(records), records[MAGIC_POSITION], target.rules, now_ms, target.max_message_bytes
    )
    if walked is None:
        return None
    return _Produced(memoryview(records), read_any_header(records), walked.record_count, Codec.NONE, walked)


def _read_heads(records: bytearray | memoryview, target: AppendTarget) -> _Produced | RecordRefusal | None:
    """Check the header of each batch, in order, as Kafka does first; None if there is no whole batch."""
    first: AnyHeader | None = None
    batch_count = size = source_codec = 0
    try:
        for batch in batches_of_any_magic(records):
            header = read_any_header(batch)
            refusal = _refuse_head(batch, header, target)
            if refusal is not None:
                return refusal
            first = first or header
            source_codec = header.codec or source_codec
            batch_count += 1
            size += len(batch)
    except CorruptRecordsError as error:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, str(error), is_before_log=True)
    return None if first is None else _Produced(memoryview(records)[:size], first, batch_count, source_codec)


def _refuse_head(batch: memoryview, header: AnyHeader, target: AppendTarget) -> RecordRefusal | None:
    if isinstance(header, BatchHeader):
        return refuse_batch(batch, header, len(batch), target.max_message_bytes)
    if len(batch) > target.max_message_bytes:
        return too_large(len(batch), target.max_message_bytes)
    if not is_any_crc_valid(batch):
        return wrong_crc()
    return unknown_codec(header.codec) if header.codec > Codec.ZSTD else None


def _walk(produced: _Produced, target: AppendTarget, now_ms: int, *, is_rebuilt: bool) -> Walked | RecordRefusal:
    """Walk all batches and return the combined result."""
    if produced.walked is not None:
        return produced.walked
    total: Walked | None = None
    for batch in batches_of_any_magic(produced.data):
        header = read_any_header(batch)
        if header.magic != produced.header.magic:
            return RecordRefusal(ErrorCode.INVALID_RECORD, "batches of more than one magic")
        if isinstance(header, BatchHeader):
            refusal = _refuse_header(header, target.magic)
            if refusal is not None:
                return refusal
        walked = walk_batch(batch, target.rules, now_ms, is_rebuilt=is_rebuilt, max_bytes=target.max_bytes)
        if isinstance(walked, RecordRefusal):
            return walked
        total = walked if total is None else _together(total, walked)
    assert total is not None
    return total


def _together(first: Walked, second: Walked) -> Walked:
    # Only messages without a codec come in numbers, and how those are numbered is all the same.
    is_larger = second.max_timestamp_ms > first.max_timestamp_ms
    return Walked(
        first.record_count + second.record_count,
        second.max_timestamp_ms if is_larger else first.max_timestamp_ms,
        first.record_count + second.index_of_max_timestamp if is_larger else first.index_of_max_timestamp,
        min(first.least_timestamp_ms, second.least_timestamp_ms),
        is_numbered=False,
        has_headers=False,
    )


def _refuse_header(header: BatchHeader, target_magic: int) -> RecordRefusal | None:
    refusal = refuse_fields(header)
    if refusal is None and target_magic < MAGIC and (header.is_transactional or header.has_producer_id):
        return RecordRefusal(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"transactional and idempotent records cannot be kept in magic {target_magic}",
        )
    return refusal


def _rebuild(
    produced: _Produced, walked: Walked, codec: int, target: AppendTarget, now_ms: int
) -> Assigned | RecordRefusal:
    refusal = _refuse_rebuild(walked, codec, target.magic)
    if refusal is not None:
        return refusal
    try:
        written = _write(produced, walked, codec, target, now_ms)
    except CorruptRecordsError as error:
        return RecordRefusal(ErrorCode.INVALID_RECORD, str(error))
    if len(written.data) > target.max_message_bytes:
        size = max(len(batch) for batch in batches_of_any_magic(written.data))
        if size > target.max_message_bytes:
            return too_large(size, target.max_message_bytes)
    return Assigned(*written, is_rewritten=True)


def _refuse_rebuild(walked: Walked, codec: int, magic: int) -> RecordRefusal | None:
    """Reject data that Kafka's own builder rejects; Kafka has no error code for it."""
    reason = None
    if walked.least_timestamp_ms < NO_TIMESTAMP:
        reason = f"Invalid negative timestamp {walked.least_timestamp_ms}"
    elif magic < MAGIC and walked.has_headers:
        reason = f"Magic v{magic} does not support record headers"
    elif magic < MAGIC and codec == Codec.ZSTD:
        reason = f"ZStandard compression is not supported for magic {magic}"
    return None if reason is None else RecordRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, reason)


def _write(produced: _Produced, walked: Walked, codec: int, target: AppendTarget, now_ms: int) -> Written:
    append_time_ms = None if target.rules.is_create_time else now_ms
    header = produced.header
    payload = walked.payload
    if payload is not None and target.magic == MAGIC and header.magic == MAGIC and walked.is_numbered:
        # The records are as they have to be: only the codec changes.
        data = recompress(produced.data, payload, codec)
        assigned = _number_in_place(_Produced(memoryview(data), read_header(data), 1, codec), walked, target, now_ms)
        last_offset = assigned.last_offset
        return Written(data, assigned.record_count, last_offset, assigned.max_timestamp_ms, last_offset)
    if payload is not None and target.magic == MAGIC > header.magic:
        return write_batch_of_messages(
            payload, header.magic, codec, target.base_offset, target.leader_epoch, append_time_ms, target.max_bytes
        )
    if payload is not None and target.magic < MAGIC and isinstance(header, BatchHeader) and walked.is_numbered:
        written = write_messages_of_batch(
            payload, header, target.magic, codec, target.base_offset, append_time_ms, target.max_bytes
        )
        if written is not None:
            return written
    records = _records(produced.data, target.max_bytes)
    if target.magic < MAGIC:
        return write_messages(records, target.magic, codec, target.base_offset, append_time_ms, target.max_bytes)
    producer = ProducerFields(header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional)
    return write_batch(
        records, codec, target.base_offset, target.leader_epoch, producer, append_time_ms, target.max_bytes
    )


def _records(data: memoryview, max_bytes: int) -> Iterator[Record]:
    for batch in batches_of_any_magic(data):
        yield from iterate_any_records(batch, max_bytes)


def _number_in_place(produced: _Produced, walked: Walked, target: AppendTarget, now_ms: int) -> Assigned:
    append_time_ms = None if target.rules.is_create_time else now_ms
    magic, has_codec = produced.header.magic, produced.source_codec != Codec.NONE
    last_offset = target.base_offset + walked.record_count - 1
    if magic == MAGIC:
        _patch_batch(produced, walked, target, append_time_ms)
    elif has_codec:
        timestamp_ms = walked.max_timestamp_ms if append_time_ms is None else append_time_ms
        _patch_message(produced.data, last_offset, timestamp_ms, is_log_append_time=append_time_ms is not None)
    elif produced.walked is not None and append_time_ms is None:
        number_messages(produced.data, target.base_offset)
    else:
        for offset, message in enumerate(batches_of_any_magic(produced.data), target.base_offset):
            own_ms = max(read_any_header(message).max_timestamp_ms, NO_TIMESTAMP)
            timestamp_ms = own_ms if append_time_ms is None else append_time_ms
            _patch_message(message, offset, timestamp_ms, is_log_append_time=append_time_ms is not None)

    max_timestamp_ms, offset_of_max = walked.max_timestamp_ms, -1
    if walked.index_of_max_timestamp >= 0:
        offset_of_max = target.base_offset + walked.index_of_max_timestamp
    if append_time_ms is not None:
        max_timestamp_ms, offset_of_max = append_time_ms, target.base_offset
    if has_codec or (magic == MAGIC and append_time_ms is not None):
        offset_of_max = last_offset
    return Assigned(
        produced.data, walked.record_count, last_offset, max_timestamp_ms, offset_of_max, is_rewritten=False
    )


def _patch_batch(produced: _Produced, walked: Walked, target: AppendTarget, append_time_ms: int | None) -> None:
    data, header = produced.data, produced.header
    timestamp_ms = walked.max_timestamp_ms if append_time_ms is None else append_time_ms
    is_append_time = append_time_ms is not None
    set_base_offset(data, 0, target.base_offset)
    set_leader_epoch(data, 0, target.leader_epoch)
    if header.max_timestamp_ms != timestamp_ms or header.is_log_append_time != is_append_time:
        set_max_timestamp(data, 0, len(data), timestamp_ms, is_log_append_time=is_append_time)


def _patch_message(message: memoryview, offset: int, timestamp_ms: int, *, is_log_append_time: bool) -> None:
    header = legacy.read_message_header(message)
    legacy.set_offset(message, 0, offset)
    if header.magic > 0 and (
        header.max_timestamp_ms != timestamp_ms or header.is_log_append_time != is_log_append_time
    ):
        legacy.set_timestamp(message, 0, len(message), timestamp_ms, is_log_append_time=is_log_append_time)
