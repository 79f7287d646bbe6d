"""The lz4 frame of magic 0, whose header checksum is wrong.

The first Java clients took the checksum over the frame's magic, too, so a frame of magic 0 begins with
`04224d18 60 40 1a` where the frame format wants `04224d18 60 40 82`. Brokers and clients write it like that in
magic 0 to this day, and read it without looking at the checksum. Everything else is an ordinary frame.

    4 bytes magic | byte flags (bit 3: content size follows, bit 0: dictionary id follows) | byte block size
    [8 bytes content size] [4 bytes dictionary id] | byte checksum: bits 8-15 of the xxHash32 of flags up to here

Source: KIP-57; LZ4 frame format; xxHash algorithm, 32 bits.
"""

from barnabas.wire.records.batch import Buffer
from barnabas.wire.records.compression import lz4

_FRAME_MAGIC = b"\x04\x22\x4d\x18"
_FLAGS_POSITION = 4
_HAS_CONTENT_SIZE = 0x08
_HAS_DICTIONARY_ID = 0x01

_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_MASK = 0xFFFFFFFF
_LONGEST_SHORT_INPUT = 15


def compress(data: Buffer) -> bytes:
    """Return one frame like that of magic 1, with the wrong checksum."""
    frame = bytearray(lz4.compress(data))
    position = _checksum_position(frame)
    frame[position] = _checksum(frame[:position])
    return bytes(frame)


def decompress(data: Buffer, max_bytes: int) -> bytes:
    """Return the content of the first frame, whatever its header checksum.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    frame = bytearray(data)
    if len(frame) > _FLAGS_POSITION and frame.startswith(_FRAME_MAGIC):
        position = _checksum_position(frame)
        if position < len(frame):
            frame[position] = _checksum(frame[_FLAGS_POSITION:position])
    return lz4.decompress(frame, max_bytes)


def _checksum_position(frame: bytearray) -> int:
    flags = frame[_FLAGS_POSITION]
    optional_bytes = (8 if flags & _HAS_CONTENT_SIZE else 0) + (4 if flags & _HAS_DICTIONARY_ID else 0)
    return _FLAGS_POSITION + 2 + optional_bytes


def _checksum(descriptor: bytearray) -> int:
    return _short_xxh32(descriptor) >> 8 & 0xFF


def _short_xxh32(data: bytearray) -> int:
    """Return xxHash32 with seed 0 of at most 15 bytes, the longest descriptor here."""
    assert len(data) <= _LONGEST_SHORT_INPUT
    digest = _PRIME_5 + len(data)
    words_end = len(data) & ~3
    for position in range(0, words_end, 4):
        word = int.from_bytes(data[position : position + 4], "little")
        digest = _rotate(digest + word * _PRIME_3, 17) * _PRIME_4 & _MASK
    for byte in data[words_end:]:
        digest = _rotate(digest + byte * _PRIME_5, 11) * _PRIME_1 & _MASK
    digest = (digest ^ digest >> 15) * _PRIME_2 & _MASK
    digest = (digest ^ digest >> 13) * _PRIME_3 & _MASK
    return digest ^ digest >> 16


def _rotate(number: int, bits: int) -> int:
    number &= _MASK
    return (number << bits | number >> 32 - bits) & _MASK
