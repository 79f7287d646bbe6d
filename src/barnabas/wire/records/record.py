"""The records inside a batch of magic 2.

A record, every varint zigzag-encoded, lengths of -1 standing for null (key and values only):

    varint length (bytes after it) | int8 attributes (unused) | varlong timestamp delta | varint offset delta
    varint key length, key | varint value length, value
    varint header count, each: varint key length, UTF-8 key, varint value length, value

Invariant: whatever the bytes say, reading them costs memory in proportion to the batch and `max_bytes`, and raises
nothing but `CorruptRecordsError`.

Source: implementation page, record and record header.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.wire.records.batch import HEADER_BYTES, MAGIC, BatchHeader, Buffer, Codec, read_header
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.gil import copied

# differs from Kafka (unpacked-size): a batch may grow this large when it is unpacked, Kafka's brokers unpack without a
# limit.
MAX_UNCOMPRESSED_BYTES = 128 * 1024 * 1024

# Bytes that a varint may take.
LONGEST_INT32 = 5
LONGEST_INT64 = 10

RecordHeaders = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """One record with its absolute offset and timestamp."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: RecordHeaders = ()


def iterate_records(batch: Buffer, max_bytes: int = MAX_UNCOMPRESSED_BYTES) -> Iterator[Record]:
    """Iterate over the records of one batch, control records included.

    Keys and values are copies: the buffer may be reused once a record is there. The CRC is not checked here.

    Args:
        batch: One whole batch from its base offset on; what follows it is not looked at.
        max_bytes: How large the records may become when they are decompressed.

    Raises:
        CorruptRecordsError: While iterating, at the first thing that is wrong: header, compressed data, a length, a
            count, or bytes that no record accounts for.
    """
    header = read_header(batch)
    yield from iterate_payload(read_payload(batch, header, max_bytes), header)


def iterate_payload(data: bytes, header: BatchHeader) -> Iterator[Record]:
    """Iterate over the decompressed records of one batch.

    Raises:
        CorruptRecordsError: While iterating, at the first thing that is wrong.
    """
    position = 0
    try:
        for _ in range(header.record_count):
            record, position = _read_record(data, position, header)
            yield record
    except IndexError:
        raise CorruptRecordsError(f"the records of batch {header.base_offset} end within a number") from None
    if position != len(data):
        raise CorruptRecordsError(
            f"{len(data) - position} bytes follow the {header.record_count} records of batch {header.base_offset}"
        )


def read_payload(batch: Buffer, header: BatchHeader, max_bytes: int = MAX_UNCOMPRESSED_BYTES) -> bytes:
    """Return the records of a batch as one run of bytes, decompressed.

    Raises:
        CorruptRecordsError: The header is invalid, or the compressed data is damaged or larger than `max_bytes`.
    """
    size = header.size_in_bytes
    if header.magic != MAGIC:
        raise CorruptRecordsError(f"magic {header.magic} of batch {header.base_offset} is not {MAGIC}")
    if size < HEADER_BYTES or size > len(batch):
        raise CorruptRecordsError(f"batch {header.base_offset} of {size} bytes in a buffer of {len(batch)}")
    if header.record_count < 0:
        raise CorruptRecordsError(f"record count {header.record_count} of batch {header.base_offset}")
    payload = memoryview(batch)[HEADER_BYTES:size]
    # Compaction leaves empty batches that keep their codec without any compressed data.
    if header.codec == Codec.NONE or header.record_count == 0:
        return copied(payload)
    from barnabas.wire.records.compression import decompress

    return decompress(header.codec, payload, max_bytes)


def _read_record(data: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    # hot path: a byte below 128 is a whole varint, as most are; a call for each would cost more than all the rest
    # (benchmarks/micro/test_records.py).
    byte = data[position]
    if byte < 0x80:
        length = (byte >> 1) ^ -(byte & 1)
        position += 1
    else:
        length, position = read_varint(data, position, LONGEST_INT32)
    end = position + length
    # Bytes beyond `end` belong to the next record: whatever is read below must stop there.
    if length < 0 or end > len(data):
        raise CorruptRecordsError(f"a record of {length} bytes with {len(data) - position} left")

    position += 1
    byte = data[position]
    if byte < 0x80:
        timestamp_delta = (byte >> 1) ^ -(byte & 1)
        position += 1
    else:
        timestamp_delta, position = read_varint(data, position, LONGEST_INT64)
    byte = data[position]
    if byte < 0x80:
        offset_delta = (byte >> 1) ^ -(byte & 1)
        position += 1
    else:
        offset_delta, position = read_varint(data, position, LONGEST_INT32)

    key, position = _read_bytes(data, position, end)
    value, position = _read_bytes(data, position, end)
    headers: RecordHeaders = ()
    if data[position] == 0:
        position += 1
    else:
        headers, position = _read_headers(data, position, end)
    if position != end:
        raise CorruptRecordsError(f"a record of {length} bytes holds {position - end + length}")

    timestamp_ms = header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms + timestamp_delta
    return Record(header.base_offset + offset_delta, timestamp_ms, key, value, headers), position


def _read_headers(data: bytes, position: int, end: int) -> tuple[RecordHeaders, int]:
    count, position = read_varint(data, position, LONGEST_INT32)
    # Two lengths are the least that a header has.
    if count < 0 or count * 2 > end - position:
        raise CorruptRecordsError(f"{count} record headers in {end - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, position = _read_bytes(data, position, end)
        if key is None:
            raise CorruptRecordsError("a record header without a key")
        value, position = _read_bytes(data, position, end)
        # Java's clients, too, read a damaged key with replacement characters.
        headers.append((key.decode(errors="replace"), value))
    return tuple(headers), position


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    byte = data[position]
    if byte < 0x80:
        length = (byte >> 1) ^ -(byte & 1)
        position += 1
    else:
        length, position = read_varint(data, position, LONGEST_INT32)
    if length < 0:
        return None, position
    stop = position + length
    if stop > end:
        raise CorruptRecordsError(f"{length} bytes in a record with {end - position} left")
    return data[position:stop], stop


def read_varint(data: bytes, position: int, longest: int) -> tuple[int, int]:
    """Return the number at `position` and the position after it.

    Args:
        data: The data.
        position: Where it begins.
        longest: `LONGEST_INT32` or `LONGEST_INT64`.

    Raises:
        CorruptRecordsError: It goes on after `longest` bytes.
        IndexError: The data ends within it.
    """
    number = shift = 0
    for _ in range(longest):
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            # Java drops the bits that do not fit.
            number &= 0xFFFFFFFF if longest == LONGEST_INT32 else 0xFFFFFFFFFFFFFFFF
            return (number >> 1) ^ -(number & 1), position
        shift += 7
    raise CorruptRecordsError(f"a varint of more than {longest} bytes")
