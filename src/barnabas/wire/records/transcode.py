"""Fast conversion of ordinary records between formats, in one pass without an object per record.

Messages of magic 0 and 1 become the records of a batch of magic 2, and the reverse. The passes support only what
clients usually send. For everything else (damage, nested wrappers, mixed formats, numbers that do not ascend) they
return `None`, and the general path, record by record, finds the reason. Their output equals that of the general path,
byte for byte; tests/property/test_transcode.py compares the two.

The layouts are those of `legacy` and `record`.

Source: log format facts, message v0 / v1 and record batch v2; benchmarks/micro/test_walk.py.
"""

import struct
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import (
    BATCH_LENGTH_POSITION,
    INT32,
    INT64,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    Buffer,
)
from barnabas.wire.records.builder import encode_varint
from barnabas.wire.records.errors import TooLargeUnpackedError
from barnabas.wire.records.gil import PIECE_BYTES, extend, yield_gil
from barnabas.wire.records.record import LONGEST_INT32, LONGEST_INT64, read_varint

if TYPE_CHECKING:
    # The compiler's integer of 64 bits, which takes no memory; uncompiled nobody looks at the types of locals.
    from mypy_extensions import i64

# Head, key length, and what is the value's length where the key is empty or null.
_MESSAGE = (Struct(">qiIbbii"), Struct(">qiIbbqii"))
_KEY_LENGTH_POSITION = (18, 26)
# What the CRC covers of a message without a key up to its value, and of one with a key up to the key.
_KEYLESS = (Struct(">bbii"), Struct(">bbqii"))
_KEYED = (Struct(">bbi"), Struct(">bbqi"))
_MESSAGE_HEAD = Struct(">qiI")
_START = Struct(">qi")
_NULL_LENGTH = -1
_CRC_BYTES = 4

_NULL = b"\x01"
_SMALL_COUNT = 2048

# So many pieces are joined at a time: the objects of millions of tiny records would take many times their bytes.
_MOST_PARTS = 4096
# After so many messages a pass offers a turn: 1 to 3 ms where it is compiled.
_TURN_MESSAGES = 1 << 12
_TURN_MASK = _TURN_MESSAGES - 1
_SMALL = tuple(encode_varint(number) for number in range(_SMALL_COUNT))


class MessageScan(NamedTuple):
    """The result of a scan over a run of messages.

    Attributes:
        message_count: How many there are, at least one.
        first_offset, last_offset: As they stand in the messages.
        is_contiguous: Whether no offset is missing between them.
        least_timestamp_ms, max_timestamp_ms: -1 in magic 0.
        index_of_max_timestamp: The first message that has it; -1 where that is -1.
        has_null_key: Whether a key is null.
        largest_bytes: The size of the largest message.
    """

    message_count: int
    first_offset: int
    last_offset: int
    is_contiguous: bool
    least_timestamp_ms: int
    max_timestamp_ms: int
    index_of_max_timestamp: int
    has_null_key: bool
    largest_bytes: int


class MessageRun(NamedTuple):
    """Messages converted from records.

    Attributes:
        data: One after the other; empty if there is none.
        message_count: How many.
        first_offset, last_offset: Of the records; -1 if there is none.
        max_timestamp_ms: -1 in magic 0.
        offset_of_max_timestamp: The first one that has it; -1 where that is -1.
    """

    data: bytearray
    message_count: int
    first_offset: int
    last_offset: int
    max_timestamp_ms: int
    offset_of_max_timestamp: int


class RecordRun(NamedTuple):
    """Records converted from messages: as in a batch, with offset deltas from 0 and the first one's timestamp."""

    data: bytearray
    record_count: int
    base_timestamp_ms: int
    max_timestamp_ms: int


def scan_messages(data: bytes, magic: int) -> MessageScan | None:
    """Check a run of messages without codec: sizes, CRCs, and that all have the same magic and create time.

    Args:
        data: Nothing but whole messages.
        magic: 0 or 1.

    Returns:
        None where it is anything else.
    """
    # hot path: benchmarks/micro/test_walk.py
    unpack = _MESSAGE[magic].unpack_from
    unpack_length = INT32.unpack_from
    view = memoryview(data)
    key_length_position: i64 = _KEY_LENGTH_POSITION[magic]
    least_size: i64 = key_length_position + 8
    position: i64 = 0
    total: i64 = len(data)
    size: i64
    key_bytes: i64
    value_bytes: i64
    value_start: i64
    end: i64
    largest: i64 = 0
    index = 0
    first_offset = last_offset = -1
    is_contiguous, has_null_key = True, False
    least_ms = max_ms = NO_TIMESTAMP
    index_of_max = -1
    while position < total:
        if position + least_size > total:
            return None
        if magic:
            offset, size, crc, own_magic, attributes, timestamp_ms, key_bytes, value_bytes = unpack(data, position)
        else:
            offset, size, crc, own_magic, attributes, key_bytes, value_bytes = unpack(data, position)
            timestamp_ms = NO_TIMESTAMP
        end = position + LOG_OVERHEAD + size
        if own_magic != magic or attributes or size < least_size - LOG_OVERHEAD or end > total:
            return None
        value_start = position + least_size
        if key_bytes > 0:
            value_start += key_bytes
            if value_start > end:
                return None
            value_bytes = unpack_length(data, value_start - 4)[0]
        elif key_bytes < 0:
            has_null_key = True
        if value_bytes > 0:
            value_start += value_bytes
        if value_start != end or crc32(view[position + MAGIC_POSITION : end]) != crc:
            return None
        if index == 0:
            first_offset, least_ms = offset, timestamp_ms
        else:
            if offset != last_offset + 1:
                is_contiguous = False
            if timestamp_ms < least_ms:
                least_ms = timestamp_ms
        last_offset = offset
        if timestamp_ms > max_ms:
            max_ms, index_of_max = timestamp_ms, index
        if size > largest:
            largest = size
        index += 1
        position = end
        if not index & _TURN_MASK:
            yield_gil()
    if not index:
        return None
    return MessageScan(
        index,
        first_offset,
        last_offset,
        is_contiguous,
        least_ms,
        max_ms,
        index_of_max,
        has_null_key,
        largest + LOG_OVERHEAD,
    )


def number_messages(data: memoryview, first_offset: int) -> None:
    """Set the offsets of messages in place, from an offset on; their CRCs stay valid.

    Args:
        data: Messages that `scan_messages` has found to be good.
        first_offset: The first one's.
    """
    unpack_length, pack_offset = INT32.unpack_from, INT64.pack_into
    position: i64 = 0
    total: i64 = len(data)
    size: i64
    offset = first_offset
    while position < total:
        size = unpack_length(data, position + BATCH_LENGTH_POSITION)[0]
        pack_offset(data, position, offset)
        offset += 1
        position += LOG_OVERHEAD + size
        if not offset & _TURN_MASK:
            yield_gil()


def newest_starts(data: Buffer, base_offset: int, count: int) -> list[tuple[int, int]]:
    """Return the starts of a set's last messages, as base offset (one above the message before) and position.

    Args:
        data: Nothing but whole messages, numbered.
        base_offset: The first one's.
        count: How many of them at most.
    """
    unpack_start = _START.unpack_from
    starts: list[tuple[int, int]] = []
    position: i64 = 0
    total: i64 = len(data)
    size: i64
    while position < total:
        starts.append((base_offset, position))
        offset, size = unpack_start(data, position)
        base_offset = offset + 1
        position += LOG_OVERHEAD + size
        if len(starts) >= _TURN_MESSAGES + count:
            # All of them at once would take long to be forgotten again, in one call.
            del starts[:-count]
            yield_gil()
    return starts[-count:]


def records_of_messages(data: bytes, magic: int) -> RecordRun:
    """Convert messages to records.

    Args:
        data: Messages that `scan_messages` has found to be good.
        magic: Theirs, 0 or 1.
    """
    # hot path: benchmarks/micro/test_walk.py
    unpack = _MESSAGE[magic].unpack_from
    unpack_length = INT32.unpack_from
    small = _SMALL
    key_length_position: i64 = _KEY_LENGTH_POSITION[magic]
    position: i64 = 0
    total: i64 = len(data)
    size: i64
    key_bytes: i64
    value_bytes: i64
    start: i64
    end: i64
    built = bytearray()
    parts: list[bytes] = []
    add = parts.append
    index = 0
    base_ms = max_ms = timestamp_ms = NO_TIMESTAMP
    while position < total:
        if magic:
            _, size, _, _, _, timestamp_ms, key_bytes, value_bytes = unpack(data, position)
        else:
            _, size, _, _, _, key_bytes, value_bytes = unpack(data, position)
        end = position + LOG_OVERHEAD + size
        if index == 0:
            base_ms = max_ms = timestamp_ms
        elif timestamp_ms > max_ms:
            max_ms = timestamp_ms
        delta_ms = timestamp_ms - base_ms
        head = small[delta_ms] if 0 <= delta_ms < _SMALL_COUNT else encode_varint(delta_ms)
        head += small[index] if index < _SMALL_COUNT else encode_varint(index)
        start = position + key_length_position + 4
        if key_bytes < 0:
            head += _NULL
        else:
            head += small[key_bytes] if key_bytes < _SMALL_COUNT else encode_varint(key_bytes)
            if key_bytes:
                head += data[start : start + key_bytes]
                start += key_bytes
                value_bytes = unpack_length(data, start)[0]
        start += 4
        if value_bytes < 0:
            head += _NULL
            value_bytes = 0
        else:
            head += small[value_bytes] if value_bytes < _SMALL_COUNT else encode_varint(value_bytes)
        length = 2 + len(head) + value_bytes
        add(small[length] if length < _SMALL_COUNT else encode_varint(length))
        add(b"\0")
        add(head)
        if end - start > PIECE_BYTES:
            extend(built, b"".join(parts))
            parts.clear()
            extend(built, memoryview(data)[start:end])
        else:
            add(data[start:end])
        add(b"\0")
        if len(parts) > _MOST_PARTS:
            extend(built, b"".join(parts))
            parts.clear()
            yield_gil()
        index += 1
        position = end
    extend(built, b"".join(parts))
    return RecordRun(built, index, base_ms, max_ms)


def messages_of_records(
    payload: bytes,
    record_count: int,
    base_offset: int,
    base_timestamp_ms: int,
    magic: int,
    append_time_ms: int | None,
    first_offset: int,
    max_bytes: int,
    *,
    is_relative: bool,
) -> MessageRun | None:
    """Convert the records of a batch of magic 2 to messages; headers are lost.

    Args:
        payload: The records, decompressed.
        record_count: How many.
        base_offset: The base of their offset deltas.
        base_timestamp_ms: The base of their timestamp deltas.
        magic: 0 or 1.
        append_time_ms: With log append time, the time for all.
        first_offset: Records below it are left out.
        max_bytes: How large it may become.
        is_relative: The messages are for a wrapper of magic 1: their offsets count from the first one's.

    Returns:
        None where the payload is anything else than so many records in ascending order.

    Raises:
        CorruptRecordsError: It becomes larger.
    """
    # hot path: benchmarks/micro/test_walk.py; varints of one or two bytes inline, see docs/adr/0004.
    attributes = LOG_APPEND_TIME_BIT if magic and append_time_ms is not None else 0
    pack_keyless, pack_keyed = _KEYLESS[magic].pack, _KEYED[magic].pack
    pack_head, pack_length = _MESSAGE_HEAD.pack, INT32.pack
    built = bytearray()
    parts: list[bytes] = []
    add = parts.append
    position: i64 = 0
    total: i64 = len(payload)
    number: i64
    second: i64
    end: i64
    key_start: i64
    key_end: i64
    value_start: i64
    value_end: i64
    size: i64
    built_bytes: i64 = 0
    # What may leave 64 bits stays the language's own integer.
    delta: int
    count = 0
    run_start = last_offset = offset_of_max = -1
    max_ms = NO_TIMESTAMP
    try:
        for _ in range(record_count):
            number = payload[position]
            position += 1
            if number >= 0x80:
                second = payload[position]
                if second < 0x80:
                    number += (second << 7) - 0x80
                    position += 1
                else:
                    length, position = read_varint(payload, position - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            end = position + (number >> 1)
            if number & 1 or end > total:
                return None

            number = payload[position + 1]
            position += 2
            if number < 0x80:
                delta = (number >> 1) ^ -(number & 1)
            else:
                second = payload[position]
                if second < 0x80:
                    number += (second << 7) - 0x80
                    delta = (number >> 1) ^ -(number & 1)
                    position += 1
                else:
                    delta, position = read_varint(payload, position - 1, LONGEST_INT64)
            timestamp_ms = base_timestamp_ms + delta

            number = payload[position]
            position += 1
            if number >= 0x80:
                second = payload[position]
                if second < 0x80:
                    number += (second << 7) - 0x80
                    position += 1
                else:
                    delta, position = read_varint(payload, position - 1, LONGEST_INT32)
                    number = delta << 1 if delta >= 0 else 1
            if number & 1:
                return None
            delta = number >> 1
            offset = base_offset + delta
            if count and offset <= last_offset:
                return None

            number = payload[position]
            position += 1
            if number >= 0x80:
                second = payload[position]
                if second < 0x80:
                    number += (second << 7) - 0x80
                    position += 1
                else:
                    length, position = read_varint(payload, position - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            key_start = key_end = -1
            if not number & 1:
                key_start = position
                key_end = position = position + (number >> 1)

            number = payload[position]
            position += 1
            if number >= 0x80:
                second = payload[position]
                if second < 0x80:
                    number += (second << 7) - 0x80
                    position += 1
                else:
                    length, position = read_varint(payload, position - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            value_start = value_end = position
            if not number & 1:
                value_end = position = position + (number >> 1)
            if position >= end:
                return None
            if payload[position]:
                if not _are_headers(payload, position, end):
                    return None
            elif position + 1 != end:
                return None
            position = end

            if offset < first_offset:
                continue
            if append_time_ms is not None:
                timestamp_ms = append_time_ms
            value_bytes = _NULL_LENGTH if number & 1 else value_end - value_start
            if key_start < 0:
                if magic:
                    head = pack_keyless(magic, attributes, timestamp_ms, _NULL_LENGTH, value_bytes)
                else:
                    head = pack_keyless(magic, attributes, _NULL_LENGTH, value_bytes)
            else:
                if magic:
                    head = pack_keyed(magic, attributes, timestamp_ms, key_end - key_start)
                else:
                    head = pack_keyed(magic, attributes, key_end - key_start)
                head = b"".join((head, payload[key_start:key_end], pack_length(value_bytes)))
            size = _CRC_BYTES + len(head) + value_end - value_start
            if not count:
                run_start = offset
            set_offset = offset - run_start if is_relative else offset
            if value_end - value_start > PIECE_BYTES:
                large = memoryview(payload)[value_start:value_end]
                add(pack_head(set_offset, size, crc32(large, crc32(head))))
                add(head)
                extend(built, b"".join(parts))
                parts.clear()
                extend(built, large)
            else:
                value = payload[value_start:value_end]
                add(pack_head(set_offset, size, crc32(value, crc32(head))))
                add(head)
                add(value)
            count += 1
            last_offset = offset
            if magic and timestamp_ms > max_ms:
                max_ms, offset_of_max = timestamp_ms, offset
            if len(parts) > _MOST_PARTS:
                extend(built, b"".join(parts))
                parts.clear()
                yield_gil()
            built_bytes += LOG_OVERHEAD + size
            if built_bytes > max_bytes:
                raise TooLargeUnpackedError(f"a message set of more than {max_bytes} bytes")
    except (IndexError, struct.error):
        return None
    if position != total:
        return None
    extend(built, b"".join(parts))
    return MessageRun(built, count, run_start, last_offset, max_ms, offset_of_max)


def _are_headers(payload: bytes, position: int, end: int) -> bool:
    """Return whether the bytes between two positions are exactly record headers.

    Raises:
        IndexError: The payload ends within them.
        CorruptRecordsError: A number in them is too long.
    """
    count, position = read_varint(payload, position, LONGEST_INT32)
    # Two lengths are the least that a header has.
    if count < 0 or count * 2 > end - position:
        return False
    for _ in range(count):
        key_bytes, position = read_varint(payload, position, LONGEST_INT32)
        if key_bytes < 0:
            return False
        value_bytes, position = read_varint(payload, position + key_bytes, LONGEST_INT32)
        position += max(value_bytes, 0)
        if position > end:
            return False
    return position == end
