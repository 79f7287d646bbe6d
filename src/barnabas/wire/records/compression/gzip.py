"""gzip: one or more members, as Java's `GZIPInputStream` reads them.

Source: RFC 1952.
"""

import zlib

from barnabas.wire.records.batch import Buffer
from barnabas.wire.records.errors import CorruptRecordsError, TooLargeUnpackedError
from barnabas.wire.records.gil import joined

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_MEMBER_MAGIC = b"\x1f\x8b"

# zlib copies what follows a member's end: in pieces, a flood of empty members costs no time that grows by its square.
_PIECE_BYTES = 16 * 1024


def compress(data: Buffer) -> bytes:
    """Return one member at zlib's default level, without a time in its header."""
    return zlib.compress(data, wbits=_GZIP_WINDOW)


def decompress(data: Buffer, max_bytes: int) -> bytes:
    """Return the content of all members; bytes that begin no further member are ignored, as in Java.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    view = memoryview(data)
    parts: list[bytes] = []
    position, room = 0, max_bytes
    while True:
        position, room = _decompress_member(view, position, room, parts)
        if room < 0:
            raise TooLargeUnpackedError(f"gzip: more than {max_bytes} bytes")
        if view[position : position + len(_MEMBER_MAGIC)] != _MEMBER_MAGIC:
            return joined(parts)


def _decompress_member(view: memoryview, position: int, room: int, parts: list[bytes]) -> tuple[int, int]:
    member = zlib.decompressobj(_GZIP_WINDOW)
    while not member.eof and room >= 0:
        piece = view[position : position + _PIECE_BYTES]
        if not piece:
            raise CorruptRecordsError("gzip: cut short")
        try:
            # One more than there is room for: 0 would mean no limit, and an exact fit must be told from too much.
            part = member.decompress(piece, room + 1)
        except zlib.error as error:
            raise CorruptRecordsError(f"gzip: {error}") from None
        if part:
            parts.append(part)
            room -= len(part)
        position += len(piece) - len(member.unused_data)
    return position, room
