"""zstd: one or more frames.

Source: KIP-110; RFC 8878.
"""

import mmap

import cramjam

from barnabas.wire.records.batch import Buffer
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.gil import PIECE_BYTES, copied

_LEVEL = 3  # Kafka's

# The unpacked size is unknown: usually it is at most this and a few times the compressed size.
_LEAST_ROOM_BYTES = 64 * 1024
_USUAL_RATIO = 4


def compress(data: Buffer) -> bytes:
    """Return one frame at Kafka's level."""
    return bytes(cramjam.zstd.compress(data, level=_LEVEL))


def decompress(data: Buffer, max_bytes: int) -> bytes:
    """Return the content of all frames.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    usual_bytes = min(len(data) * _USUAL_RATIO + _LEAST_ROOM_BYTES, max_bytes)
    # A longer buffer would be zeroed in one call, during which no other thread runs.
    if usual_bytes <= PIECE_BYTES:
        small = bytearray(usual_bytes)
        try:
            size = cramjam.zstd.decompress_into(data, small)
            return bytes(memoryview(small)[:size])
        except cramjam.DecompressionError:
            # Damaged, or larger than usual: the library does not tell which.
            pass
    # The frame need not tell its size, and may lie about it. A mapping takes memory only where it is written; to make
    # one costs half as much as to unpack a batch of 16 KB.
    with mmap.mmap(-1, max(max_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        try:
            size = cramjam.zstd.decompress_into(data, room)
        except cramjam.DecompressionError as error:
            raise CorruptRecordsError(f"zstd: {error} (at most {max_bytes} bytes)") from None
        if size > max_bytes:
            raise CorruptRecordsError(f"zstd: more than {max_bytes} bytes")
        with memoryview(room) as whole, whole[:size] as unpacked:
            return copied(unpacked)
