"""snappy in both framings that producers use: Java's xerial stream, and one raw block (librdkafka).

A xerial stream, integers big-endian:

    82 53 4e 41 50 50 59 00 | int32 version 1 | int32 least compatible version 1
    then blocks: int32 length | raw snappy of up to 32 KiB

A negative length that is the start of the magic opens a further stream, as when streams were joined.

Source: snappy format description; xerial's stream as in Kafka's clients.
"""

from struct import Struct

import cramjam

from barnabas.wire.records.batch import Buffer
from barnabas.wire.records.errors import CorruptRecordsError, TooLargeUnpackedError
from barnabas.wire.records.gil import copied

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_HIGHEST_COMPATIBLE_VERSION = 1
_BLOCK_BYTES = 32 * 1024
_LENGTH = Struct(">i")

# A copy of 3 bytes gives at most 64; below that ratio a raw block cannot hold what its head promises.
_GREATEST_RATIO = 22


def compress(data: Buffer) -> bytes:
    """Return a xerial stream, in the form of Kafka's Java clients."""
    parts = [_XERIAL_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: Buffer, max_bytes: int) -> bytes:
    """Return the content of a xerial stream or one raw block, distinguished by the magic.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    view = memoryview(data)
    if len(view) < len(_XERIAL_HEADER) or view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_block(view, max_bytes)
    parts: list[bytes] = []
    room = max_bytes
    for block in _xerial_blocks(view):
        part = _decompress_block(block, room)
        room -= len(part)
        parts.append(part)
    return b"".join(parts)


def _xerial_blocks(view: memoryview) -> list[memoryview]:
    blocks: list[memoryview] = []
    position, end = 0, len(view)
    while position < end:
        if view[position : position + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            if position > end:
                raise CorruptRecordsError("snappy: the stream's header is cut short")
            least_version: int = _LENGTH.unpack_from(view, position - _LENGTH.size)[0]
            if least_version > _HIGHEST_COMPATIBLE_VERSION:
                raise CorruptRecordsError(f"snappy: stream of version {least_version}")
            continue
        if end - position < _LENGTH.size:
            raise CorruptRecordsError("snappy: a block's length is cut short")
        length: int = _LENGTH.unpack_from(view, position)[0]
        position += _LENGTH.size
        if length < 0 or length > end - position:
            raise CorruptRecordsError(f"snappy: a block of {length} bytes with {end - position} left")
        blocks.append(view[position : position + length])
        position += length
    return blocks


def _decompress_block(block: memoryview, max_bytes: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > max_bytes:
            raise TooLargeUnpackedError(f"snappy: more than {max_bytes} bytes")
        if size > len(block) * _GREATEST_RATIO:
            raise CorruptRecordsError(f"snappy: {len(block)} bytes cannot hold {size}")
        room = bytearray(size)
        cramjam.snappy.decompress_raw_into(block, room)
    except cramjam.DecompressionError as error:
        raise CorruptRecordsError(f"snappy: {error}") from None
    return copied(room)
