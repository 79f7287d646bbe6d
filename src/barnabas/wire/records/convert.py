"""Conversion of records between formats: down-conversion for old clients, and rewriting of produced data.

Down-conversion, for a Fetch of version 0-1 (magic 0) or 2-3 (magic 1), goes batch by batch, so that at most one is
unpacked at a time. Offsets, codecs and timestamp types stay; headers, and timestamps in magic 0, are lost; control
batches are dropped, and so are the records of an uncompressed batch before the requested offset.

Rewriting, for a produce request whose format or codec is not the topic's, puts all records into one batch of magic 2 or
one wrapper, or a run of messages, numbered without gaps from the log's end.

# differs from Kafka (converted-size): a batch that would become larger than `max_bytes` is refused.

Source: semantics facts, Fetch (data format) and Produce (offsets); KIP-31, KIP-32, KIP-283 (lazy down-conversion).
"""

import struct
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP
from barnabas.wire.records.batch import MAGIC, MAGIC_POSITION, BatchHeader, Buffer, Codec, set_max_timestamp
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.errors import CorruptRecordsError, UnsupportedCodecError
from barnabas.wire.records.formats import AnyHeader, iterate_any_records, read_any_header
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES, Record, read_payload
from barnabas.wire.records.transcode import messages_of_records, records_of_messages

_OVERFLOW_HEAD = Struct(">qi")
_LEAST_OVERFLOW_LENGTH = 61


class Written(NamedTuple):
    """Rewritten records.

    Attributes:
        data: One batch, one wrapper, or a run of messages.
        record_count: Records in it.
        last_offset: Of its last record.
        max_timestamp_ms: Its largest timestamp, or the append time; -1 if there is none.
        offset_of_max_timestamp: As Kafka's time index wants it: the last offset of what holds that timestamp.
    """

    data: bytearray
    record_count: int
    last_offset: int
    max_timestamp_ms: int
    offset_of_max_timestamp: int


class ProducerFields(NamedTuple):
    """The producer fields of a batch of magic 2."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False


def down_convert(
    batches: Iterable[Buffer],
    to_magic: int,
    first_offset: int,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Iterator[Buffer]:
    """Convert batches for a client that does not support their format.

    Args:
        batches: Whole batches or messages of any magic, in order; taken one by one.
        to_magic: The newest format that the client knows, 0 or 1.
        first_offset: The offset that it asked for.
        max_bytes: How large one batch may become, before compression.

    Yields:
        A message set for each batch that has something for the client; a slice of the input where it is in a format
        that the client knows.

    Raises:
        UnsupportedCodecError: While iterating, at a batch that is compressed with zstd.
        CorruptRecordsError: While iterating, at a batch that is damaged or too large.
    """
    for batch in batches:
        if batch[MAGIC_POSITION] <= to_magic:
            yield batch
            continue
        converted = _down_convert_batch(batch, to_magic, first_offset, max_bytes)
        if converted is not None:
            yield converted


def overflow_message(remaining_bytes: int) -> bytes:
    """Return a message that fills the rest of a response whose promised size was too large.

    Kafka's clients take it for a message that was cut short.

    Args:
        remaining_bytes: How many bytes of the answer are left.

    Returns:
        At most as many bytes: a head that promises more than there are, and zeros.
    """
    head = _OVERFLOW_HEAD.pack(-1, max(remaining_bytes + 1, _LEAST_OVERFLOW_LENGTH))
    return (head + bytes(max(remaining_bytes - len(head), 0)))[:remaining_bytes]


def write_messages(
    records: Iterable[Record],
    magic: int,
    codec: int,
    base_offset: int,
    append_time_ms: int | None = None,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Written:
    """Rewrite records as a message set of magic 0 or 1; offsets run from `base_offset`, headers are lost.

    Args:
        records: At least one; taken one by one.
        magic: 0 or 1.
        codec: What to compress with; not zstd.
        base_offset: The first offset.
        append_time_ms: With log append time, the time for all.
        max_bytes: How large it may become, before compression.

    Raises:
        CorruptRecordsError: It becomes larger, or a record is damaged.
    """
    builder = MessageSetBuilder(magic, codec, append_time_ms, max_bytes)
    for offset, record in enumerate(records, base_offset):
        builder.append(offset, record.timestamp_ms, record.key, record.value)
    return _written(builder, codec, base_offset, append_time_ms)


def _written(builder: MessageSetBuilder, codec: int, base_offset: int, append_time_ms: int | None) -> Written:
    data = builder.build()
    offset_of_max = builder.offset_of_max_timestamp if append_time_ms is None else base_offset
    if codec != Codec.NONE or offset_of_max < 0:
        offset_of_max = builder.last_offset
    max_timestamp_ms = builder.max_timestamp_ms if append_time_ms is None else append_time_ms
    return Written(data, builder.record_count, builder.last_offset, max_timestamp_ms, offset_of_max)


def write_batch(
    records: Iterable[Record],
    codec: int,
    base_offset: int,
    leader_epoch: int = NO_EPOCH,
    producer: ProducerFields = ProducerFields(),  # noqa: B008  # a tuple
    append_time_ms: int | None = None,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Written:
    """Rewrite records as one batch of magic 2; offsets run from `base_offset`.

    Args:
        records: At least one; taken one by one.
        codec: What to compress with.
        base_offset: The first offset.
        leader_epoch: For its header.
        producer: For its header.
        append_time_ms: With log append time, the time for all; the records keep theirs beside it, as in Kafka.
        max_bytes: How large it may become, before compression.

    Raises:
        CorruptRecordsError: It becomes larger, or a record is damaged.
    """
    builder = BatchBuilder(
        Codec(codec),
        producer.producer_id,
        producer.producer_epoch,
        producer.base_sequence,
        is_transactional=producer.is_transactional,
    )
    for record in records:
        builder.append(record.timestamp_ms, record.key, record.value, record.headers)
        if builder.uncompressed_bytes > max_bytes:
            raise CorruptRecordsError(f"a batch of more than {max_bytes} bytes")
    return _written_batch(builder, base_offset, leader_epoch, append_time_ms)


def _written_batch(builder: BatchBuilder, base_offset: int, leader_epoch: int, append_time_ms: int | None) -> Written:
    try:
        data = builder.build(base_offset, leader_epoch)
    except struct.error:
        raise CorruptRecordsError("timestamps or offsets that do not fit 64 bits") from None
    max_timestamp_ms = max(builder.max_timestamp_ms, NO_TIMESTAMP)
    if append_time_ms is not None:
        max_timestamp_ms = append_time_ms
        set_max_timestamp(data, 0, len(data), append_time_ms, is_log_append_time=True)
    last_offset = base_offset + builder.record_count - 1
    return Written(data, builder.record_count, last_offset, max_timestamp_ms, last_offset)


def write_messages_of_batch(
    payload: bytes,
    header: BatchHeader,
    magic: int,
    codec: int,
    base_offset: int,
    append_time_ms: int | None = None,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Written | None:
    """Like `write_messages`, in one pass over the records of a batch that are numbered 0, 1, 2...

    Args:
        payload: They, decompressed.
        header: The batch's, which does not say log append time.
        magic, codec, base_offset, append_time_ms, max_bytes: As there.

    Returns:
        None where something about them is out of the ordinary.

    Raises:
        CorruptRecordsError: It becomes larger, or a record is damaged.
    """
    builder = MessageSetBuilder(magic, codec, append_time_ms, max_bytes)
    is_relative = magic > 0 and codec != Codec.NONE
    run = messages_of_records(
        payload,
        header.record_count,
        base_offset,
        header.base_timestamp_ms,
        magic,
        append_time_ms,
        base_offset,
        max_bytes,
        is_relative=is_relative,
    )
    if run is None:
        return None
    builder.take_run(run)
    return _written(builder, codec, base_offset, append_time_ms)


def write_batch_of_messages(
    messages: bytes,
    magic: int,
    codec: int,
    base_offset: int,
    leader_epoch: int,
    append_time_ms: int | None,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Written:
    """Like `write_batch`, in one pass over messages.

    Args:
        messages: What `transcode.scan_messages` has found to be good.
        magic: Theirs.
        codec, base_offset, leader_epoch, append_time_ms, max_bytes: As there.

    Raises:
        CorruptRecordsError: It becomes larger.
    """
    builder = BatchBuilder(Codec(codec))
    builder.take_run(*records_of_messages(messages, magic))
    if builder.uncompressed_bytes > max_bytes:
        raise CorruptRecordsError(f"a batch of more than {max_bytes} bytes")
    return _written_batch(builder, base_offset, leader_epoch, append_time_ms)


def _down_convert_batch(batch: Buffer, to_magic: int, first_offset: int, max_bytes: int) -> bytearray | None:
    header = read_any_header(batch)
    if header.is_control:
        return None
    if header.codec == Codec.ZSTD and batch[MAGIC_POSITION] == MAGIC:
        raise UnsupportedCodecError(f"the batch at offset {header.last_offset} is compressed with zstd")
    builder = _down_builder(header, to_magic, max_bytes)
    has_codec = header.codec != Codec.NONE
    if isinstance(header, BatchHeader):
        run = messages_of_records(
            read_payload(batch, header, max_bytes),
            header.record_count,
            header.base_offset,
            header.base_timestamp_ms,
            to_magic,
            header.max_timestamp_ms if header.is_log_append_time else None,
            header.base_offset if has_codec else first_offset,
            max_bytes,
            is_relative=to_magic > 0 and has_codec,
        )
        if run is not None:
            builder.take_run(run)
            return builder.build() if builder.record_count else None
    try:
        for record in iterate_any_records(batch, max_bytes):
            if has_codec or record.offset >= first_offset:
                builder.append(record.offset, record.timestamp_ms, record.key, record.value)
    except ValueError as error:
        raise CorruptRecordsError(str(error)) from None
    return builder.build() if builder.record_count else None


def _down_builder(header: AnyHeader, to_magic: int, max_bytes: int) -> MessageSetBuilder:
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    try:
        return MessageSetBuilder(to_magic, header.codec, append_time_ms, max_bytes)
    except ValueError as error:
        raise CorruptRecordsError(str(error)) from None
