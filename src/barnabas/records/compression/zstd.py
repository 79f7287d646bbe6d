"""zstd: one or more frames.

Source: KIP-110; RFC 8878.
"""

import mmap

import cramjam

from barnabas.records.batch import Buffer
from barnabas.records.errors import CorruptRecordsError

_LEVEL = 3  # Kafka's


def compress(data: Buffer) -> bytes:
    """One frame at Kafka's level."""
    return bytes(cramjam.zstd.compress(data, level=_LEVEL))


def decompress(data: Buffer, max_bytes: int) -> bytes:
    """All frames one after the other.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    # The frame need not tell its size, and may lie about it. A mapping takes memory only where it is written, so
    # a small batch does not pay for the bound.
    with mmap.mmap(-1, max(max_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        try:
            size = cramjam.zstd.decompress_into(data, room)
        except cramjam.DecompressionError as error:
            raise CorruptRecordsError(f"zstd: {error} (at most {max_bytes} bytes)") from None
        if size > max_bytes:
            raise CorruptRecordsError(f"zstd: more than {max_bytes} bytes")
        return room[:size]
