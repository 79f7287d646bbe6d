"""Messages of formats v0 and v1 with all that a dump shows of them, each with its own CRC.

    int64 offset | int32 size | uint32 CRC-32 of all that follows | int8 magic | int8 attributes
    | v1: int64 timestamp | int32 key length, key | int32 value length, value (-1: null)

With a codec the value is a run of messages, compressed. Their offsets are absolute in v0; in v1 they count from 0 and
the outer message has the absolute offset of the last.

Source: implementation page, message format; log-format facts, message v0 / v1.
"""

import struct
import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from barnabas.records.batch import CODEC_MASK, LOG_APPEND_TIME_BIT, LOG_OVERHEAD, Codec
from barnabas.records.compression import decompress
from barnabas.records.errors import CorruptRecordsError

MESSAGE_OVERHEAD = 26
"""Bytes of the smallest message: v0 with null key and value."""

_CRC_END = 16
_HEAD = Struct(">qiIbb")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_NO_TIMESTAMP = -1


class MessageHead(NamedTuple):
    """What stands before key and value."""

    offset: int
    size_in_bytes: int
    crc: int
    magic: int
    attributes: int
    timestamp_ms: int


class StoredMessage(NamedTuple):
    """A message that is no outer one, with its absolute offset and the timestamp that counts."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    crc: int
    is_valid: bool
    size_in_bytes: int


def message_crc(data: memoryview) -> int:
    """CRC-32 of one whole message."""
    return zlib.crc32(data[_CRC_END:])


def read_head(data: memoryview, position: int = 0) -> MessageHead:
    """Read what stands before key and value.

    Raises:
        CorruptRecordsError: The data ends before that.
    """
    try:
        offset, size, crc, magic, attributes = _HEAD.unpack_from(data, position)
        timestamp_ms: int = _INT64.unpack_from(data, position + _HEAD.size)[0] if magic == 1 else _NO_TIMESTAMP
    except struct.error:
        raise CorruptRecordsError(f"a message is cut short after {len(data) - position} bytes") from None
    return MessageHead(offset, size + LOG_OVERHEAD, crc, magic, attributes, timestamp_ms)


def iterate_messages(data: memoryview, max_bytes: int) -> Iterator[StoredMessage]:
    """The message itself, or those inside it when it has a codec.

    Args:
        data: One whole message.
        max_bytes: How large its value may become when it is decompressed.

    Raises:
        CorruptRecordsError: The message, or one inside it, is damaged.
    """
    head = read_head(data)
    message = _read_message(data, 0)
    codec = head.attributes & CODEC_MASK
    if codec == Codec.NONE:
        yield message
        return
    if message.value is None:
        raise CorruptRecordsError(f"message {head.offset} is compressed and has no value")
    inner = memoryview(_decompress(codec, message.value, head.magic, max_bytes))
    messages = list(_inner_messages(inner))
    # Offsets inside v1 count from 0; the outer message has that of the last.
    first_offset = head.offset - messages[-1].offset if head.magic == 1 and messages else 0
    for each in messages:
        timestamp_ms = head.timestamp_ms if head.attributes & LOG_APPEND_TIME_BIT else each.timestamp_ms
        yield each._replace(offset=each.offset + first_offset, timestamp_ms=timestamp_ms)


def _inner_messages(data: memoryview) -> Iterator[StoredMessage]:
    position = 0
    while position < len(data):
        message = _read_message(data, position)
        yield message
        position += message.size_in_bytes


def _read_message(data: memoryview, position: int) -> StoredMessage:
    head = read_head(data, position)
    end = position + head.size_in_bytes
    if head.size_in_bytes < MESSAGE_OVERHEAD or end > len(data):
        raise CorruptRecordsError(f"a message of {head.size_in_bytes} bytes with {len(data) - position} left")
    place = position + _HEAD.size + (_INT64.size if head.magic == 1 else 0)
    key, place = _read_bytes(data, place, end)
    value, _ = _read_bytes(data, place, end)
    is_valid = zlib.crc32(data[position + _CRC_END : end]) == head.crc
    return StoredMessage(head.offset, head.timestamp_ms, key, value, head.crc, is_valid, head.size_in_bytes)


def _read_bytes(data: memoryview, position: int, end: int) -> tuple[bytes | None, int]:
    start = position + _INT32.size
    if start > end:
        raise CorruptRecordsError("a message ends within a length")
    length: int = _INT32.unpack_from(data, position)[0]
    if length < 0:
        return None, start
    if start + length > end:
        raise CorruptRecordsError(f"{length} bytes in a message with {end - start} left")
    return bytes(data[start : start + length]), start + length


def _decompress(codec: int, data: bytes, magic: int, max_bytes: int) -> bytes:
    if codec == Codec.LZ4 and magic == 0:
        from barnabas.inspection.lz4_header import with_right_checksum

        data = with_right_checksum(data)
    return decompress(codec, data, max_bytes)
