"""The header checksum of lz4 frames in messages of v0, which Kafka computed over the wrong bytes.

    04 22 4d 18 | int8 flags | int8 block size | with bit 3 of the flags: int64 content size | int8 checksum

The checksum is the second byte of the xxHash32 of what stands between the magic and itself; in messages of v0 the
magic was hashed as well. Readers of v0 must accept both.

Source: KIP-57; LZ4 frame format; xxHash specification; log-format facts, message v0 / v1.
"""

_MAGIC_BYTES = 4
_CONTENT_SIZE_FLAG = 0x08
_MASK = 0xFFFFFFFF
_PRIME_2, _PRIME_3, _PRIME_5 = 0x85EBCA77, 0xC2B2AE3D, 0x165667B1
_PRIME_4, _PRIME_1 = 0x27D4EB2F, 0x9E3779B1


def with_right_checksum(frame: bytes) -> bytes:
    """The frame with the header checksum that every reader of lz4 expects."""
    if len(frame) <= _MAGIC_BYTES:
        return frame
    end = _MAGIC_BYTES + (10 if frame[_MAGIC_BYTES] & _CONTENT_SIZE_FLAG else 2)
    if len(frame) <= end:
        return frame
    checksum = _short_xxhash32(frame[_MAGIC_BYTES:end]) >> 8 & 0xFF
    return frame[:end] + bytes([checksum]) + frame[end + 1 :]


def _short_xxhash32(data: bytes) -> int:
    """xxHash32 with seed 0 of less than 16 bytes."""
    number = (_PRIME_5 + len(data)) & _MASK
    whole = len(data) // 4 * 4
    for index in range(0, whole, 4):
        number = (number + int.from_bytes(data[index : index + 4], "little") * _PRIME_3) & _MASK
        number = (number << 17 | number >> 15) * _PRIME_4 & _MASK
    for byte in data[whole:]:
        number = (number + byte * _PRIME_5) & _MASK
        number = (number << 11 | number >> 21) * _PRIME_1 & _MASK
    number = (number ^ number >> 15) * _PRIME_2 & _MASK
    number = (number ^ number >> 13) * _PRIME_3 & _MASK
    return number ^ number >> 16
