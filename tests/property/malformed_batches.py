"""Every kind of malformed record data that we could think of, each with the errors that it may get.

`kinds` gives them all; nothing here is random, so that a kind that fails has a name.
"""

from collections.abc import Iterator
from functools import cache
from struct import pack_into
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.batch import HEADER_BYTES, LOG_OVERHEAD, Codec, set_crc
from barnabas.wire.records.builder import BatchBuilder, encode_varint
from barnabas.wire.records.compression import compress
from barnabas.wire.records.legacy import message_crc
from barnabas.wire.records.message_set import MessageSetBuilder

CORRUPT = frozenset([ErrorCode.CORRUPT_MESSAGE])
INVALID = frozenset([ErrorCode.INVALID_RECORD])
TIMESTAMP = frozenset([ErrorCode.INVALID_TIMESTAMP])
UNKNOWN = frozenset([ErrorCode.UNKNOWN_SERVER_ERROR])
TOO_LARGE = frozenset([ErrorCode.MESSAGE_TOO_LARGE])

TIMESTAMP_MS = 1_600_000_000_000
MAX_MESSAGE_BYTES = 256 * 1024
BOMB_BYTES = 129 * 1024 * 1024

OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


class Kind(NamedTuple):
    """One kind.

    Attributes:
        name: Unique.
        data: What is produced for one partition.
        errors: Those that it may get.
        is_full: Found only where all records are walked.
        is_any_format: Sent by a client that does not know of batches.
    """

    name: str
    data: bytes
    errors: frozenset[ErrorCode]
    is_full: bool = False
    is_any_format: bool = False


def good_batch(codec: int = Codec.NONE, count: int = 3, *, has_headers: bool = True) -> bytearray:
    builder = BatchBuilder(Codec(codec))
    for index in range(count):
        builder.append(TIMESTAMP_MS + index, b"key%d" % index, b"value", [("h", b"x")] if has_headers else [])
    return builder.build()


def patched(data: bytearray, position: int, layout: str, *values: int, has_crc: bool = True) -> bytes:
    pack_into(layout, data, position, *values)
    if has_crc:
        set_crc(data, 0, len(data))
    return bytes(data)


def with_payload(payload: bytes, codec: int = Codec.NONE, count: int = 1, is_packed: bool = True) -> bytes:
    """A batch whose header is right and whose records are these."""
    data = bytearray(good_batch(Codec.NONE, max(count, 1)))[:HEADER_BYTES]
    data += compress(codec, payload) if codec != Codec.NONE and is_packed else payload
    pack_into(">i", data, 8, len(data) - LOG_OVERHEAD)
    pack_into(">h", data, 21, codec)
    set_crc(data, 0, len(data))
    return bytes(data)


def record(
    body: bytes | None = None,
    *,
    length: int | None = None,
    timestamp: bytes = b"\0",
    offset: bytes = b"\0",
    key: bytes = b"\x02k",
    value: bytes = b"\x02v",
    headers: bytes = b"\0",
) -> bytes:
    whole = b"\0" + timestamp + offset + key + value + headers if body is None else body
    return encode_varint(len(whole) if length is None else length) + whole


def kinds() -> Iterator[Kind]:
    """All of them."""
    yield from _lengths()
    yield from _cuts()
    yield from _heads()
    yield from _counts()
    yield from _flips()
    yield from _records()
    yield from _codecs()
    yield from _bombs()
    yield from _messages()
    yield from _wrappers()


def _lengths() -> Iterator[Kind]:
    for codec in (Codec.NONE, Codec.LZ4):
        for length in (-(2**31), -12, -1, 0, 1, 13):
            data = patched(good_batch(codec), 8, ">i", length, has_crc=False)
            yield Kind(f"length {length} {codec.name}", data, CORRUPT)
        size = len(good_batch(codec)) - LOG_OVERHEAD
        for length in (14, 30, 48):
            data = patched(good_batch(codec), 8, ">i", length, has_crc=False)
            yield Kind(f"length {length} {codec.name}", data, CORRUPT | INVALID)
        for length in (size - 1, size - 20):
            data = patched(good_batch(codec), 8, ">i", length, has_crc=False)
            yield Kind(f"length {size - length} short {codec.name}", data, CORRUPT)
        for length in (size + 1, size + 1000, 2**31 - 1):
            data = patched(good_batch(codec), 8, ">i", length, has_crc=False)
            yield Kind(f"length {length - size} long {codec.name}", data, INVALID)


def _cuts() -> Iterator[Kind]:
    whole = bytes(good_batch())
    for size in (1, 7, 8, 11, 12, 16, 17, 20, 21, 40, 60, 61, 62, len(whole) - 1):
        yield Kind(f"cut at {size}", whole[:size], INVALID)
    yield Kind("two batches", whole + whole, INVALID)
    yield Kind("a message behind a batch", whole + bytes(messages(1)), INVALID)
    yield Kind("a bad length behind a batch", whole + bytes(8) + b"\0\0\0\1" + bytes(20), CORRUPT)
    yield Kind("an unknown magic behind a batch", whole + bytes(8) + b"\0\0\0\x40\0\0\0\0\7" + bytes(80), CORRUPT)
    for filler in (0, 0xFF):
        name = "zeros" if filler == 0 else "ones"
        yield Kind(f"nothing but {name}", bytes([filler]) * 100, CORRUPT)
    yield Kind("text", b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody lost\r\n\r\n" * 2, CORRUPT | INVALID)


def _heads() -> Iterator[Kind]:
    for offset in (1, -1, 2**63 - 1, -(2**63)):
        yield Kind(f"base offset {offset}", patched(good_batch(), 0, ">q", offset), INVALID)
    for magic in (0, 1):
        yield Kind(f"magic {magic}", patched(good_batch(), 16, ">B", magic), INVALID)
    for magic in (3, 4, 127, 128, 255):
        yield Kind(f"magic {magic}", patched(good_batch(), 16, ">B", magic), CORRUPT)
    for codec in (5, 6, 7):
        yield Kind(f"codec {codec}", patched(good_batch(), 21, ">h", codec), UNKNOWN)
    for codec in Codec:
        yield Kind(f"append time {codec.name}", patched(good_batch(codec), 21, ">h", 8 | codec), TIMESTAMP)
        yield Kind(f"control {codec.name}", patched(good_batch(codec), 21, ">h", 0x20 | codec), INVALID)
        yield Kind(f"transactional control {codec.name}", patched(good_batch(codec), 21, ">h", 0x30 | codec), INVALID)
    for sequence in (-1, -2, -(2**31)):
        data = patched(good_batch(), 43, ">qhi", 5, 0, sequence)
        yield Kind(f"producer with sequence {sequence}", data, INVALID)
    data = with_payload(record(value=encode_varint(MAX_MESSAGE_BYTES) + bytes(MAX_MESSAGE_BYTES)))
    yield Kind("larger than max.message.bytes", data, TOO_LARGE)
    yield Kind("larger than max.message.bytes, wrong CRC", data[:-1] + b"\1", TOO_LARGE)


def _counts() -> Iterator[Kind]:
    for delta in (-(2**31), -1, 0, 1, 3, 4, 2**31 - 1):
        yield Kind(f"last offset delta {delta}", patched(good_batch(), 23, ">i", delta), INVALID)
    for count in (-(2**31), -1, 0, 1, 2, 4, 2**31 - 1):
        yield Kind(f"record count {count}", patched(good_batch(), 57, ">i", count), INVALID)
    empty = bytearray(with_payload(b""))
    pack_into(">i", empty, 23, -1)
    yield Kind("no records and none said", patched(empty, 57, ">i", 0), INVALID)
    for codec in Codec:
        for said in (1, 2, 4, 5):
            data = good_batch(codec)
            pack_into(">i", data, 23, said - 1)
            name = f"{said} records said, 3 there, {codec.name}"
            yield Kind(name, patched(data, 57, ">i", said), INVALID, is_full=True)


def _flips() -> Iterator[Kind]:
    whole = bytes(good_batch())
    for position in range(17, len(whole), 2):
        data = bytearray(whole)
        data[position] ^= 1 << position % 8
        yield Kind(f"a bit of byte {position}", bytes(data), CORRUPT)


def _records() -> Iterator[Kind]:
    long_varint = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    broken = {
        "no record": b"",
        "length alone": b"\x10",
        "length -1": record(length=-1),
        "length 0": record(length=0),
        "length too small": record(length=5),
        "length too large": record(length=60),
        "length of 2 GB": record(length=2**31 - 1),
        "length that never ends": b"\xff" * 6 + record(),
        "key beyond the record": record(key=encode_varint(100) + b"k"),
        "key of 2 GB": record(key=encode_varint(2**31 - 1) + b"k"),
        "key length that never ends": record(key=long_varint),
        "value beyond the record": record(value=encode_varint(100) + b"v"),
        "value length that never ends": record(value=long_varint),
        "value into the next record": record(value=b"\x08v", length=8) + record(offset=b"\x02"),
        "no value": record(body=b"\0\0\0\x02k"),
        "no headers": record(body=b"\0\0\0\x02k\x02v"),
        "header count -1": record(headers=b"\x01"),
        "header count too large": record(headers=b"\x20"),
        "header count of 2^30": record(headers=encode_varint(2**30)),
        "header without a key": record(headers=b"\x02\x01\x02v"),
        "header key beyond the record": record(headers=b"\x02\x40k\x02v"),
        "header value beyond the record": record(headers=b"\x02\x02k\x40v"),
        "header without a value": record(headers=b"\x02\x02k"),
        "timestamp that never ends": record(timestamp=b"\xff" * 11),
        "timestamp beyond 64 bits": record(timestamp=encode_varint(2**63 - 1)),
        "offset delta that never ends": record(offset=b"\xff" * 6),
        "offset delta 1 first": record(offset=b"\x02"),
        "offset delta -1": record(offset=b"\x01"),
        "offset delta 2^31-1": record(offset=encode_varint(2**31 - 1)),
        "bytes behind the record": record() + b"\0",
        "a record behind the record": record() + record(offset=b"\x02"),
    }
    for name, payload in broken.items():
        for codec in (Codec.NONE, Codec.GZIP, Codec.ZSTD):
            if payload or codec == Codec.NONE:
                yield Kind(f"record: {name} {codec.name}", with_payload(payload, codec), INVALID, is_full=True)
    ordered = {
        "the same offset delta twice": (b"\0", b"\0"),
        "offset deltas with a gap": (b"\0", b"\x04"),
        "offset deltas descending": (b"\x02", b"\0"),
    }
    for name, deltas in ordered.items():
        payload = b"".join(record(offset=delta) for delta in deltas)
        for codec in Codec:
            yield Kind(f"{name} {codec.name}", with_payload(payload, codec, 2), INVALID | UNKNOWN, is_full=True)


def _codecs() -> Iterator[Kind]:
    errors = INVALID | UNKNOWN
    for codec in list(Codec)[1:]:
        packed = bytes(compress(codec, record() * 20))
        damaged = {
            "garbage": b"abcdefghijk" * 3,
            "nothing": b"",
            "half of it": packed[: len(packed) // 2],
            "its head": packed[:4],
            "uncompressed data": record(),
            "zeros": bytes(50),
        }
        for name, payload in damaged.items():
            yield Kind(f"{codec.name}: {name}", with_payload(payload, codec, is_packed=False), errors, is_full=True)
        for other in list(Codec)[1:]:
            if other != codec:
                data = with_payload(bytes(compress(other, record())), codec, is_packed=False)
                yield Kind(f"{codec.name}: {other.name}", data, errors, is_full=True)


@cache
def _bomb(codec: Codec) -> bytes:
    """Compress a bomb once: four test modules ask for the kinds while they are collected."""
    return bytes(compress(codec, bytes(BOMB_BYTES)))


def _bombs() -> Iterator[Kind]:
    for codec in (Codec.GZIP, Codec.ZSTD):
        packed = _bomb(codec)
        errors = INVALID | UNKNOWN
        yield Kind(f"bomb {codec.name}", with_payload(packed, codec, is_packed=False), errors, is_full=True)


def messages(magic: int, codec: int = Codec.NONE, count: int = 1) -> bytearray:
    builder = MessageSetBuilder(magic, codec)
    for offset in range(count):
        builder.append(offset, TIMESTAMP_MS, b"key", b"value")
    return builder.build()


def _checked(data: bytearray) -> bytes:
    pack_into(">I", data, 12, message_crc(data, 0, len(data)))
    return bytes(data)


def _messages() -> Iterator[Kind]:
    for magic in (0, 1):
        key_position = 18 if magic == 0 else 26
        whole = bytes(messages(magic))
        for position in range(12, len(whole), 3):
            if position != 16:
                data = bytearray(whole)
                data[position] ^= 0x10
                yield Kind(f"magic {magic}: a bit of byte {position}", bytes(data), CORRUPT, is_any_format=True)
        for size in (-(2**31), -1, 0, 13):
            data = bytearray(whole)
            pack_into(">i", data, 8, size)
            yield Kind(f"magic {magic}: size {size}", bytes(data), CORRUPT, is_any_format=True)
        for other in (3, 100, 255):
            data = bytearray(whole)
            data[16] = other
            yield Kind(f"magic {magic}: magic {other}", _checked(data), CORRUPT, is_any_format=True)
        for codec in (5, 6, 7):
            data = bytearray(whole)
            data[17] = codec
            yield Kind(f"magic {magic}: codec {codec}", _checked(data), UNKNOWN, is_any_format=True)
        for name, position in (("key", key_position), ("value", key_position + 7)):
            data = bytearray(whole)
            pack_into(">i", data, position, 1000)
            yield Kind(f"magic {magic}: {name} beyond it", _checked(data), INVALID | CORRUPT | UNKNOWN, False, True)
        other_magic = bytes(messages(1 - magic))
        yield Kind(f"magic {magic} and {1 - magic}", whole + other_magic, INVALID, is_any_format=True)
        yield Kind(f"magic {magic} and a batch", whole + bytes(good_batch()), INVALID, is_any_format=True)
    yield Kind("magic 1: append time", _checked(_with_attributes(1, 8)), TIMESTAMP, is_any_format=True)
    yield Kind("two batches of an old client", bytes(good_batch()) * 2, INVALID, is_any_format=True)


def _with_attributes(magic: int, attributes: int) -> bytearray:
    data = messages(magic)
    data[17] = attributes
    return data


def _wrapper(magic: int, codec: int, value: bytes | None) -> bytes:
    """A wrapper with this value, not compressed by us."""
    builder = MessageSetBuilder(magic)
    builder.append(0, TIMESTAMP_MS, None, value)
    data = builder.build()
    data[17] = codec
    return _checked(data)


def _wrappers() -> Iterator[Kind]:
    errors = INVALID | CORRUPT | UNKNOWN
    for magic in (0, 1):
        for codec in OLD_CODECS[1:]:
            name = f"magic {magic} {codec.name}"
            yield Kind(f"{name}: no value", _wrapper(magic, codec, None), errors, is_any_format=True)
            yield Kind(f"{name}: garbage", _wrapper(magic, codec, b"abcdefghijk" * 3), errors, is_any_format=True)
            if magic == 0 and codec == Codec.LZ4:
                continue
            inner = bytes(messages(magic, count=2))
            damaged = bytearray(inner)
            damaged[-1] ^= 1
            zero_size = bytearray(inner)
            pack_into(">i", zero_size, 8, 0)
            other = bytes(messages(1 - magic))
            for problem, payload in {
                "an inner CRC": bytes(damaged),
                "an inner size": bytes(zero_size),
                "another magic inside": other,
                "a wrapper inside": bytes(messages(magic, codec)),
                "nothing inside": b"",
                "half a message inside": inner[:20],
            }.items():
                data = _wrapper(magic, codec, bytes(compress(codec, payload)))
                yield Kind(f"{name}: {problem}", data, errors, is_any_format=True)
            two = bytes(messages(magic, codec)) * 2
            yield Kind(f"{name}: two wrappers", two, INVALID, is_any_format=True)
    yield Kind("magic 1: a zstd wrapper", _wrapper(1, Codec.ZSTD, b"abc"), errors, is_any_format=True)
