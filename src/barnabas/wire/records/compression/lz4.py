"""lz4: one frame of independent blocks of 64 KiB.

Java's reader refuses blocks that lean on the ones before them, which the library's frames have by default. A frame as
Kafka's clients write it, integers little-endian:

    04 22 4d 18 60 40 82                  magic, flags (version 1, independent blocks), block size 64 KiB, checksum
    uint32 size | block                   of up to 64 KiB; bit 31 of the size: it is not compressed
    uint32 0                              the end

Source: KIP-57; LZ4 frame format.
"""

from struct import Struct

from lz4 import block, frame  # type: ignore[import-untyped]  # the package has no types

from barnabas.wire.records.batch import Buffer
from barnabas.wire.records.errors import CorruptRecordsError, TooLargeUnpackedError
from barnabas.wire.records.gil import joined

_HEADER = bytes.fromhex("04224d18604082")
_END = bytes(4)
_SIZE = Struct("<I")
_BLOCK_BYTES = 64 * 1024
_IS_UNCOMPRESSED = 1 << 31

# What a batch unpacks to is not known: the room begins with this and a few times what is compressed, and doubles. No
# call gets more than the most: it copies what it has filled once more before another thread may run.
_LEAST_ROOM_BYTES = 64 * 1024
_MOST_ROOM_BYTES = 4 * 1024 * 1024
_USUAL_RATIO = 4


def compress(data: Buffer) -> bytes:
    """Return one frame, in the form of Kafka's Java clients."""
    # The library's own frames cost three times as much, because it makes a context for each.
    parts: list[Buffer] = [_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_BYTES):
        piece = view[start : start + _BLOCK_BYTES]
        packed: bytes = block.compress(piece, store_size=False)
        if len(packed) < len(piece):
            parts += (_SIZE.pack(len(packed)), packed)
        else:
            parts += (_SIZE.pack(len(piece) | _IS_UNCOMPRESSED), piece)
    parts.append(_END)
    return b"".join(parts)


# differs from Kafka (lz4-linked-blocks): Java refuses to read them.
def decompress(data: Buffer, max_bytes: int) -> bytes:
    """Return the content of the first frame; later bytes are ignored, as in Java. Linked blocks are read as well.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    # The library allocates the whole allowed output size, which costs more than a batch.
    decompressor = frame.LZ4FrameDecompressor()
    parts: list[bytes] = []
    room, more = max_bytes + 1, data
    wanted = max(len(data) * _USUAL_RATIO, _LEAST_ROOM_BYTES)
    while not decompressor.eof:
        try:
            part: bytes = decompressor.decompress(more, min(wanted, _MOST_ROOM_BYTES, room))
        except (RuntimeError, ValueError, EOFError) as error:
            raise CorruptRecordsError(f"lz4: {error}") from None
        parts.append(part)
        room -= len(part)
        if room <= 0:
            raise TooLargeUnpackedError(f"lz4: more than {max_bytes} bytes")
        if not decompressor.eof and (decompressor.needs_input or not part):
            raise CorruptRecordsError("lz4: cut short")
        wanted, more = wanted * 2, b""
    return joined(parts)
