"""AES in CBC mode with PKCS#5 padding: for the few passwords that Kafka keeps encrypted in the registry. Pure.

Nothing of it is fast, or hides from whoever can measure times; nobody may use it for what a peer sends.

Source: FIPS 197; NIST SP 800-38A, CBC; RFC 8018, section 6.1.1.
"""

from functools import cache

BLOCK_BYTES = 16


def encrypt_cbc(key: bytes, iv: bytes, plain: bytes) -> bytes:
    """Encrypt.

    Args:
        key: 16, 24 or 32 bytes.
        iv: 16 bytes, never the same twice.
    """
    words = _expand(key)
    count = BLOCK_BYTES - len(plain) % BLOCK_BYTES
    padded = plain + bytes([count]) * count
    out, before = bytearray(), iv
    for start in range(0, len(padded), BLOCK_BYTES):
        before = _encrypt(words, _xor(padded[start : start + BLOCK_BYTES], before))
        out += before
    return bytes(out)


def decrypt_cbc(key: bytes, iv: bytes, data: bytes) -> bytes:
    """Decrypt.

    Raises:
        ValueError: It was not encrypted so, or with another key.
    """
    if not data or len(data) % BLOCK_BYTES or len(iv) != BLOCK_BYTES:
        raise ValueError("not a whole number of blocks")
    words = _expand(key)
    out, before = bytearray(), iv
    for start in range(0, len(data), BLOCK_BYTES):
        block = data[start : start + BLOCK_BYTES]
        out += _xor(_decrypt(words, block), before)
        before = block
    count = out[-1]
    if not 1 <= count <= BLOCK_BYTES or out[-count:] != bytes([count]) * count:
        raise ValueError("the padding is wrong")
    return bytes(out[:-count])


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _times(a: int, b: int) -> int:
    """The product of two polynomials modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


@cache
def _boxes() -> tuple[bytes, bytes]:
    """The substitution of bytes and its inverse."""
    box = bytearray(256)
    for value in range(256):
        inverse = next((other for other in range(256) if _times(value, other) == 1), 0)
        turned = inverse
        for _ in range(4):
            inverse = (inverse << 1 | inverse >> 7) & 0xFF
            turned ^= inverse
        box[value] = turned ^ 0x63
    back = bytearray(256)
    for value, other in enumerate(box):
        back[other] = value
    return bytes(box), bytes(back)


def _expand(key: bytes) -> list[bytes]:
    """The keys of all rounds, 16 bytes each."""
    if len(key) not in (16, 24, 32):
        raise ValueError(f"a key of {len(key)} bytes")
    box, _ = _boxes()
    length = len(key) // 4
    words = [key[start : start + 4] for start in range(0, len(key), 4)]
    constant = 1
    for index in range(length, 4 * (length + 7)):
        word = words[-1]
        if index % length == 0:
            word = (word[1:] + word[:1]).translate(box)
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _times(constant, 2)
        elif length > 6 and index % length == 4:
            word = word.translate(box)
        words.append(_xor(word, words[-length]))
    return [b"".join(words[start : start + 4]) for start in range(0, len(words), 4)]


def _mix(block: bytes, factors: tuple[int, int, int, int]) -> bytes:
    out = bytearray()
    for start in range(0, BLOCK_BYTES, 4):
        column = block[start : start + 4]
        for row in range(4):
            mixed = 0
            for index, value in enumerate(column):
                mixed ^= _times(value, factors[(index - row) % 4])
            out.append(mixed)
    return bytes(out)


def _encrypt(words: list[bytes], block: bytes) -> bytes:
    box, _ = _boxes()
    block = _xor(block, words[0])
    for word in words[1:]:
        block = block.translate(box)
        block = bytes(block[(index + 4 * (index % 4)) % BLOCK_BYTES] for index in range(BLOCK_BYTES))
        if word is not words[-1]:
            block = _mix(block, (2, 3, 1, 1))
        block = _xor(block, word)
    return block


def _decrypt(words: list[bytes], block: bytes) -> bytes:
    _, back = _boxes()
    for word in words[:0:-1]:
        block = _xor(block, word)
        if word is not words[-1]:
            block = _mix(block, (14, 11, 13, 9))
        block = bytes(block[(index - 4 * (index % 4)) % BLOCK_BYTES] for index in range(BLOCK_BYTES))
        block = block.translate(back)
    return _xor(block, words[0])
