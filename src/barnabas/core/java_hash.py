"""Java's hash of a string, by which Kafka distributes partitions over fetchers and groups over partitions.

    h = 31 * h + unit, over the UTF-16 units, as int32

Source: Java's `String.hashCode`.
"""

from struct import unpack

_INT32_MASK = 0xFFFFFFFF
_INT32_SIGN = 0x80000000


def java_hash_code(text: str) -> int:
    """Return Java's `String.hashCode`."""
    encoded = text.encode("utf-16-be")
    hash_code = 0
    for unit in unpack(f">{len(encoded) // 2}H", encoded):
        hash_code = (31 * hash_code + unit) & _INT32_MASK
    return as_int32(hash_code)


def as_int32(number: int) -> int:
    """Return the low 32 bits of a number as an int32."""
    number &= _INT32_MASK
    return number - 2 * (number & _INT32_SIGN)


def kafka_abs(hash_code: int) -> int:
    """Return an int32 without its sign; Java's abs of the smallest one becomes 0, as in Kafka."""
    return 0 if hash_code == -_INT32_SIGN else abs(hash_code)
