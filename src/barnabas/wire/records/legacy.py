"""Message sets: the formats before record batches, magic 0 (Kafka 0.8) and magic 1 (Kafka 0.10).

All integers are big-endian. A message, of which each has its own offset:

    pos  field          type    meaning
    0    offset         int64   of the message; of a wrapper, that of its last inner message
    8    size           int32   bytes after this field
    12   crc            uint32  CRC-32 (zlib's) of everything from position 16
    16   magic          int8    0 or 1
    17   attributes     int8    bits 0-2 codec (none, gzip, snappy, lz4), bit 3 (magic 1) log append time
    18   timestamp_ms   int64   magic 1 only; of a wrapper the largest inner one, or the append time
         key length     int32   -1 for null, then the key
         value length   int32   -1 for null, then the value

A message with a codec is a wrapper: its value is a compressed run of messages without a codec. Their offsets are
absolute in magic 0; in magic 1 they count from 0 and the last one stands for the wrapper's offset. A wrapper with the
append time gives it to all its messages.

Invariant: whatever the bytes say, reading them costs memory in proportion to them and `max_bytes`, and raises nothing
but `CorruptRecordsError`.

Source: log format facts, message v0 / v1; KIP-31 (relative offsets), KIP-32 (timestamps), KIP-57 (lz4).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP
from barnabas.wire.records.batch import (
    CODEC_MASK,
    INT32,
    INT64,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    UINT32,
    Buffer,
    Codec,
    MutableBuffer,
    View,
)
from barnabas.wire.records.errors import CorruptMessageError, CorruptRecordsError
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES, Record

# Where they stand in a message; batches have them elsewhere.
MESSAGE_CRC_POSITION = 12
MESSAGE_ATTRIBUTES_POSITION = 17
MESSAGE_TIMESTAMP_POSITION = 18

LEAST_MESSAGE_BYTES = 14  # the smallest size field that a message of magic 0 can have
MESSAGE_OVERHEAD = (26, 34)  # bytes of a message without key and value, by magic

_HEAD = (Struct(">qiIbb"), Struct(">qiIbbq"))


class MessageHeader(NamedTuple):
    """The fields before a message's key; none has been checked.

    It answers what `BatchHeader` does, so that a log can treat a message as a batch.
    """

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    max_timestamp_ms: int
    """The message's timestamp; -1 in magic 0."""

    @property
    def codec(self) -> int:
        """Return the number of the codec; those above 3 do not exist in message sets."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.magic > 0 and self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return False

    @property
    def is_control(self) -> bool:
        return False

    @property
    def has_producer_id(self) -> bool:
        return False

    @property
    def producer_id(self) -> int:
        return NO_PRODUCER_ID

    @property
    def producer_epoch(self) -> int:
        return NO_EPOCH

    @property
    def base_sequence(self) -> int:
        return NO_SEQUENCE

    @property
    def leader_epoch(self) -> int:
        return NO_EPOCH

    @property
    def last_offset(self) -> int:
        return self.offset

    @property
    def size_in_bytes(self) -> int:
        return self.size + LOG_OVERHEAD


@dataclass(slots=True)
class Message:
    """One message that is no wrapper, with the values that its wrapper defines filled in.

    Attributes:
        offset: The absolute one.
        timestamp_ms: -1 in magic 0.
        magic: Its own, which may differ from its wrapper's; above 1 it is laid out as magic 1.
        attributes: Its own.
        data: All its bytes, as they stand in the set.
    """

    offset: int
    timestamp_ms: int
    magic: int
    attributes: int
    data: View


def read_message_header(buf: Buffer, pos: int = 0) -> MessageHeader:
    """Read the header of the message at `pos`, without checks.

    Raises:
        CorruptRecordsError: The bytes left at `pos` hold no head.
    """
    try:
        # As in Kafka, only 0 means the old layout.
        if buf[pos + MAGIC_POSITION] == 0:
            return MessageHeader._make((*_HEAD[0].unpack_from(buf, pos), NO_TIMESTAMP))
        return MessageHeader._make(_HEAD[1].unpack_from(buf, pos))
    except (IndexError, struct.error):
        raise CorruptRecordsError(f"{len(buf) - pos} bytes are too few for a message") from None


def message_crc(buf: Buffer, pos: int, size: int) -> int:
    """Return the CRC-32 of the message of `size` bytes (log overhead included) at `pos`."""
    return crc32(memoryview(buf)[pos + MAGIC_POSITION : pos + size])


def is_message_crc_valid(buf: Buffer, pos: int, size: int) -> bool:
    """Return whether the message of `size` bytes at `pos` contains the CRC of its bytes."""
    stored: int = UINT32.unpack_from(buf, pos + MESSAGE_CRC_POSITION)[0]
    return stored == message_crc(buf, pos, size)


def set_offset(buf: MutableBuffer, pos: int, offset: int) -> None:
    """Set the offset of the message at `pos`, a wrapper's last offset; its CRC stays valid."""
    INT64.pack_into(buf, pos, offset)


def set_timestamp(buf: MutableBuffer, pos: int, size: int, timestamp_ms: int, *, is_log_append_time: bool) -> None:
    """Set timestamp, timestamp type and CRC of the message of magic 1 and `size` bytes at `pos`."""
    attributes = buf[pos + MESSAGE_ATTRIBUTES_POSITION] & CODEC_MASK
    if is_log_append_time:
        attributes |= LOG_APPEND_TIME_BIT
    buf[pos + MESSAGE_ATTRIBUTES_POSITION] = attributes
    INT64.pack_into(buf, pos + MESSAGE_TIMESTAMP_POSITION, timestamp_ms)
    UINT32.pack_into(buf, pos + MESSAGE_CRC_POSITION, message_crc(buf, pos, size))


def iterate_messages(message: Buffer, max_bytes: int = MAX_UNCOMPRESSED_BYTES) -> Iterator[Record]:
    """Yield the records of one message: itself, or those inside a wrapper.

    Keys and values are copies. CRCs are not checked here.

    Args:
        message: One whole message from its offset on; what follows it is not looked at.
        max_bytes: How large the inner messages may become when they are decompressed.

    Raises:
        CorruptRecordsError: While iterating, at the first thing that is wrong.
    """
    for inner in unwrap(message, max_bytes):
        if inner.magic > 1:
            raise CorruptRecordsError(f"magic {inner.magic} of message {inner.offset} in a message set")
        yield to_record(inner)


def to_record(message: Message) -> Record:
    """Return key and value of a message, copied.

    Raises:
        CorruptRecordsError: A length in it is invalid.
    """
    key, position = _read_bytes(message.data, _key_position(message.magic))
    value, _ = _read_bytes(message.data, position)
    return Record(
        message.offset,
        message.timestamp_ms,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )


def has_key(message: Message) -> bool:
    """Return whether the message's key is not null.

    Raises:
        CorruptRecordsError: The key's length is missing.
    """
    return _read_bytes(message.data, _key_position(message.magic))[0] is not None


def base_offset(message: Buffer, max_bytes: int = MAX_UNCOMPRESSED_BYTES) -> int:
    """Return the offset of the first record of a message; a wrapper must be unpacked for it.

    Raises:
        CorruptRecordsError: The message is damaged.
    """
    return next(unwrap(message, max_bytes)).offset


def unwrap(message: Buffer, max_bytes: int = MAX_UNCOMPRESSED_BYTES) -> Iterator[Message]:
    """Yield the messages of one message: itself, or those inside a wrapper, with only their sizes checked.

    Raises:
        CorruptRecordsError: When the wrapper, an inner size or the compressed data is damaged; some of it only while
            iterating.
    """
    header = read_message_header(message)
    if header.codec == Codec.NONE:
        return iter((whole_message(message, header),))
    value = wrapped_value(message, header)
    return inner_messages(header, decompress_value(header, value, max_bytes))


def whole_message(message: Buffer, header: MessageHeader) -> Message:
    """Return a message with its own values.

    Raises:
        CorruptRecordsError: The buffer does not hold it.
    """
    size = header.size_in_bytes
    if header.size < LEAST_MESSAGE_BYTES or size > len(message):
        raise CorruptRecordsError(f"message {header.offset} of {size} bytes in a buffer of {len(message)}")
    return Message(header.offset, header.max_timestamp_ms, header.magic, header.attributes, memoryview(message)[:size])


def wrapped_value(message: Buffer, header: MessageHeader) -> memoryview:
    """Return the compressed value of a wrapper.

    Raises:
        CorruptRecordsError: The value is missing, or message sets do not support the codec.
    """
    data = whole_message(message, header).data
    if header.codec > Codec.LZ4:
        raise CorruptRecordsError(f"codec {header.codec} of message {header.offset} of magic {header.magic}")
    _, position = _read_bytes(data, _key_position(header.magic))
    value, _ = _read_bytes(data, position)
    if value is None:
        raise CorruptRecordsError(f"message {header.offset} has a codec and no value")
    return value


def decompress_value(header: MessageHeader, value: memoryview, max_bytes: int) -> bytes:
    """Return the message set in a wrapper's value.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    if header.codec == Codec.LZ4 and header.magic == 0:
        from barnabas.wire.records.compression import old_lz4

        return old_lz4.decompress(value, max_bytes)
    from barnabas.wire.records.compression import decompress

    return decompress(header.codec, value, max_bytes)


def inner_messages(header: MessageHeader, payload: bytes) -> Iterator[Message]:
    """Yield the messages in a wrapper, with the absolute offsets and the timestamps that the wrapper defines.

    Raises:
        CorruptRecordsError: Before the first one where a size cannot be, there is no message at all, or the wrapper's
            offset is too small; while iterating, where a message is compressed, too.
    """
    view = memoryview(payload)
    start = _start_offset(header, view)
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    for data in _split(view):
        inner = read_message_header(data)
        if inner.codec != Codec.NONE:
            raise CorruptRecordsError(f"message {header.offset} holds a message that is compressed, too")
        timestamp_ms = inner.max_timestamp_ms
        if append_time_ms is not None and inner.magic > 0:
            timestamp_ms = append_time_ms
        yield Message(start + inner.offset, timestamp_ms, inner.magic, inner.attributes, data)


def _key_position(magic: int) -> int:
    return MESSAGE_TIMESTAMP_POSITION if magic == 0 else MESSAGE_TIMESTAMP_POSITION + INT64.size


def _start_offset(header: MessageHeader, payload: memoryview) -> int:
    """Return the base of the inner offsets. Checks every inner size, so a damaged set yields no record at all."""
    last_offset: int | None = None
    for inner in _split(payload):
        last_offset = INT64.unpack_from(inner)[0]
    if last_offset is None:
        raise CorruptRecordsError(f"message {header.offset} has a codec and holds no message")
    # Some versions of librdkafka leave the wrapper's offset at 0.
    if header.magic == 0 or header.offset == 0:
        return 0
    if header.offset < last_offset:
        raise CorruptRecordsError(f"message {header.offset} holds a message {last_offset}")
    return header.offset - last_offset


def _split(payload: memoryview) -> Iterator[memoryview]:
    """Yield the whole messages of a decompressed value; as in Kafka, an incomplete last one is left out."""
    position, end = 0, len(payload)
    while end - position >= LOG_OVERHEAD:
        size: int = INT32.unpack_from(payload, position + INT64.size)[0]
        if size < LEAST_MESSAGE_BYTES:
            raise CorruptMessageError(f"an inner message of {size} bytes")
        stop = position + LOG_OVERHEAD + size
        if stop > end:
            return
        yield payload[position:stop]
        position = stop


def _read_bytes(data: memoryview, position: int) -> tuple[memoryview | None, int]:
    start = position + INT32.size
    if start > len(data):
        raise CorruptRecordsError(f"a message of {len(data)} bytes ends before its key or value")
    length: int = INT32.unpack_from(data, position)[0]
    if length < 0:
        return None, start
    stop = start + length
    if stop > len(data):
        raise CorruptRecordsError(f"{length} bytes in a message with {len(data) - start} left")
    return data[start:stop], stop
