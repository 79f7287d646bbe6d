"""The primitives of the wire, and the base of every generated message.

All numbers are big-endian. `uvarint` is base 128, least significant group first, at most five bytes.

| type           | version not flexible           | flexible version                |
| -------------- | ------------------------------ | ------------------------------- |
| string         | int16 length, UTF-8; null = -1 | uvarint length + 1; null = 0    |
| bytes, records | int32 length; null = -1        | uvarint length + 1; null = 0    |
| array          | int32 count; null = -1         | uvarint count + 1; null = 0     |
| struct         | fields                         | fields, then the tagged section |

Bytes from the network are hostile: every length is checked against the remaining bytes before anything is read, and
every count against the remaining bytes and a budget before anything is built.

Source: protocol guide, "Protocol primitive types"; KIP-482 (tagged fields).
"""

import struct
from collections.abc import Callable
from typing import Any, ClassVar, Final, Self

from barnabas.core.errors import EncodeError, ProtocolError
from barnabas.wire.protocol.buffer import Records as Records
from barnabas.wire.protocol.buffer import Region as Region
from barnabas.wire.protocol.buffer import WireBuffer as WireBuffer
from barnabas.wire.protocol.buffer import mypyc_attr

# differs from Kafka (array-elements): a request other than Produce with more array elements than this is refused; see
# docs/differences.md.
REQUEST_ELEMENT_LIMIT: Final = 100_000
UNLIMITED_ELEMENTS: Final = 1 << 62

# What an int16 length can say.
MAX_STRING_BYTES: Final = 0x7FFF

# What a decoder may raise on bytes that are no message, besides ProtocolError. Who calls a function of DECODERS itself
# must treat these as a ProtocolError; `Message.decode` does.
MALFORMED: Final = (struct.error, IndexError, UnicodeDecodeError)
# What a function of ENCODERS may raise on a message that its version cannot say, besides EncodeError; `Message.encode`
# treats these as one.
UNSAYABLE: Final = (struct.error, UnicodeEncodeError)

_unpack_int16: Final = struct.Struct(">h").unpack_from
_unpack_int32: Final = struct.Struct(">i").unpack_from
_pack_int16: Final = struct.Struct(">h").pack
_pack_int32: Final = struct.Struct(">i").pack

_NULL_INT16: Final = b"\xff\xff"
_NULL_INT32: Final = b"\xff\xff\xff\xff"
_MAX_INT32: Final = 0x7FFFFFFF


class Budget:
    """The number of array elements (and unknown tagged fields) that one message may still contain."""

    __slots__ = ("elements_left",)

    def __init__(self, elements_left: int = REQUEST_ELEMENT_LIMIT) -> None:
        self.elements_left = elements_left

    def __repr__(self) -> str:
        return f"Budget({self.elements_left})"


class Missing:
    """The type of a default for array parameters for which None means null."""

    __slots__ = ()


MISSING: Final = Missing()


@mypyc_attr(allow_interpreted_subclasses=True)
class Part:
    """A struct of the protocol, equal to another of its class if all fields are equal.

    Attributes:
        FIELDS: Their names, in the schema's order.
        PARTS: Which of them are parts of their own: name, class, and whether there are several.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    PARTS: "ClassVar[tuple[tuple[str, type[Part], bool], ...]]" = ()
    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # mutable values have no hash; this is how Python is told

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.FIELDS)})"


@mypyc_attr(allow_interpreted_subclasses=True)
class Message(Part):
    """A top-level struct: a request, a response, a header or a record's key or value.

    Attributes:
        API_KEY: Of requests and responses the API's key, of coordinator keys and values the record type, else -1.
        MIN_VERSION, MAX_VERSION: The versions that the schema knows.
        ELEMENT_LIMIT: How many array elements `decode` lets pass when it is given no budget.
        DECODERS, ENCODERS: The codecs by version; None where the version does not exist.
    """

    __slots__ = ()

    SCHEMA_NAME: ClassVar[str]
    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    ELEMENT_LIMIT: ClassVar[int] = UNLIMITED_ELEMENTS
    # Any: each subclass narrows these to its own type, which a base class cannot name.
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[Any, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[Any, WireBuffer], None] | None, ...]]

    @classmethod
    def decode(cls, version: int, buf: memoryview, pos: int = 0, budget: Budget | None = None) -> tuple[Self, int]:
        """Decode one message.

        Args:
            version: The API's version.
            buf: Bytes (format B, contiguous); `records` fields of the result are slices of it.
            pos: Where the message starts.
            budget: Bounds the array elements; the class's ELEMENT_LIMIT when None.

        Returns:
            The message and the position after it. Bytes after it are the caller's business.

        Raises:
            ProtocolError: The bytes are no such message.
        """
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise ProtocolError(f"{cls.SCHEMA_NAME} has no version {version}")
        decoder = cls.DECODERS[version]
        assert decoder is not None
        try:
            return decoder(buf, pos, budget or Budget(cls.ELEMENT_LIMIT))
        except MALFORMED as error:
            raise ProtocolError(f"malformed {cls.SCHEMA_NAME} v{version}: {error}") from error
        except ProtocolError as error:
            raise ProtocolError(f"malformed {cls.SCHEMA_NAME} v{version}: {error}") from None

    def encode(self, version: int, out: WireBuffer) -> None:
        """Append the message to a buffer.

        Raises:
            EncodeError: The version does not exist, or cannot say what the message holds (a number out of range, a
                null, a value of a field that the version lacks and that may not be dropped).
        """
        if not self.MIN_VERSION <= version <= self.MAX_VERSION:
            raise EncodeError(f"{self.SCHEMA_NAME} has no version {version}")
        encoder = self.ENCODERS[version]
        assert encoder is not None
        try:
            encoder(self, out)
        except UNSAYABLE as error:
            raise EncodeError(f"cannot encode {self.SCHEMA_NAME} v{version}: {error}") from error


def not_in_version(field: str) -> EncodeError:
    """Return the error for a value whose field the version lacks."""
    return EncodeError(f"{field} is set, and this version has no such field")


def not_nullable(field: str) -> EncodeError:
    """Return the error for a null where the version allows none."""
    return EncodeError(f"{field} is null, which this version cannot say")


def check_count(count: int, left: int, least_bytes: int, budget: Budget) -> None:
    """Check the count of an array before anything is built.

    Args:
        count: As read, not null.
        left: Bytes that are left in the message.
        least_bytes: The fewest bytes that one element takes.
        budget: Charged with the elements.

    Raises:
        ProtocolError: The count is negative, cannot fit into what is left, or exceeds the budget.
    """
    if count < 0:
        raise ProtocolError("null array")
    if count * least_bytes > left:
        raise ProtocolError(f"array of {count} elements in {left} bytes")
    budget.elements_left -= count
    if budget.elements_left < 0:
        raise ProtocolError("too many array elements")


def read_uvarint(buf: memoryview, pos: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 31 bits."""
    byte = buf[pos]
    pos += 1
    if byte < 0x80:
        return byte, pos
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _MAX_INT32:
                break
            return value, pos
    raise ProtocolError("varint too long")


def write_uvarint(value: int, out: WireBuffer) -> None:
    """Write an unsigned varint."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_compact_count(buf: memoryview, pos: int, least_bytes: int, budget: Budget) -> tuple[int, int]:
    """Read and check the count of a compact array that may not be null."""
    # hot path: nearly every count fits into one byte (benchmarks/cluster, every fetch of a follower)
    count = buf[pos]
    if count >= 0x80:
        count, pos = read_uvarint(buf, pos)
    else:
        pos += 1
    check_count(count - 1, len(buf) - pos, least_bytes, budget)
    return count - 1, pos


def read_compact_nullable_count(buf: memoryview, pos: int, least_bytes: int, budget: Budget) -> tuple[int, int]:
    """Read and check the count of a compact array; -1 is null."""
    count, pos = read_uvarint(buf, pos)
    if count:
        check_count(count - 1, len(buf) - pos, least_bytes, budget)
    return count - 1, pos


# Strings. `take_...` is given a length that was read together with the numbers before it.


def _check_string_bytes(length: int) -> None:
    """Reject a string that an int16 length cannot express, also in flexible versions."""
    if length > MAX_STRING_BYTES:
        raise ProtocolError(f"string of {length} bytes")


def wrong_length(kind: str, length: int, pos: int, buf: memoryview) -> ProtocolError:
    """Return the error for a string, bytes or records that exceed the remaining bytes."""
    return ProtocolError(f"{kind} of {length} bytes at {pos} of {len(buf)}")


def take_string(buf: memoryview, pos: int, length: int) -> tuple[str, int]:
    """Take a string of a known length."""
    end = pos + length
    if length < 0 or end > len(buf):
        raise wrong_length("string", length, pos, buf)
    return str(buf[pos:end], "utf-8"), end


def take_nullable_string(buf: memoryview, pos: int, length: int) -> tuple[str | None, int]:
    """Take a string of a known length; null if the length is negative."""
    if length < 0:
        return None, pos
    end = pos + length
    if end > len(buf):
        raise wrong_length("string", length, pos, buf)
    return str(buf[pos:end], "utf-8"), end


def read_string(buf: memoryview, pos: int) -> tuple[str, int]:
    """Read a string with an int16 length."""
    (length,) = _unpack_int16(buf, pos)
    pos += 2
    end = pos + length
    if length < 0 or end > len(buf):
        raise wrong_length("string", length, pos, buf)
    return str(buf[pos:end], "utf-8"), end


def read_nullable_string(buf: memoryview, pos: int) -> tuple[str | None, int]:
    """Read a nullable string with an int16 length."""
    (length,) = _unpack_int16(buf, pos)
    if length < 0:
        return None, pos + 2
    return take_string(buf, pos + 2, length)


def read_compact_string(buf: memoryview, pos: int) -> tuple[str, int]:
    """Read a string with a uvarint length."""
    # hot path: nearly every length fits into one byte (benchmarks/micro/test_protocol.py).
    length = buf[pos]
    if length >= 0x80:
        length, pos = read_uvarint(buf, pos)
        _check_string_bytes(length - 1)
        return take_string(buf, pos, length - 1)
    return take_string(buf, pos + 1, length - 1)


def read_compact_nullable_string(buf: memoryview, pos: int) -> tuple[str | None, int]:
    """Read a nullable string with a uvarint length."""
    length, pos = read_uvarint(buf, pos)
    _check_string_bytes(length - 1)
    return take_nullable_string(buf, pos, length - 1)


def write_string(value: str, out: WireBuffer) -> None:
    """Write a string with an int16 length."""
    data = value.encode()
    out += _pack_int16(len(data))
    out += data


def write_nullable_string(value: str | None, out: WireBuffer) -> None:
    """Write a nullable string with an int16 length."""
    if value is None:
        out += _NULL_INT16
    else:
        write_string(value, out)


def write_compact_string(value: str, out: WireBuffer) -> None:
    """Write a string with a uvarint length."""
    data = value.encode()
    if len(data) < 0x7F:
        out.append(len(data) + 1)
    else:
        if len(data) > MAX_STRING_BYTES:
            raise EncodeError(f"string of {len(data)} bytes")
        write_uvarint(len(data) + 1, out)
    out += data


def write_compact_nullable_string(value: str | None, out: WireBuffer) -> None:
    """Write a nullable string with a uvarint length."""
    if value is None:
        out.append(0)
    else:
        write_compact_string(value, out)


# Bytes: copied when read.


def take_bytes(buf: memoryview, pos: int, length: int) -> tuple[bytes, int]:
    """Copy bytes of a known length."""
    end = pos + length
    if length < 0 or end > len(buf):
        raise ProtocolError(f"{length} bytes at {pos} of {len(buf)}")
    return bytes(buf[pos:end]), end


def take_nullable_bytes(buf: memoryview, pos: int, length: int) -> tuple[bytes | None, int]:
    """Copy bytes of a known length; null if the length is negative."""
    if length < 0:
        return None, pos
    return take_bytes(buf, pos, length)


def read_bytes(buf: memoryview, pos: int) -> tuple[bytes, int]:
    """Read bytes with an int32 length."""
    (length,) = _unpack_int32(buf, pos)
    return take_bytes(buf, pos + 4, length)


def read_nullable_bytes(buf: memoryview, pos: int) -> tuple[bytes | None, int]:
    """Read nullable bytes with an int32 length."""
    (length,) = _unpack_int32(buf, pos)
    return take_nullable_bytes(buf, pos + 4, length)


def read_compact_bytes(buf: memoryview, pos: int) -> tuple[bytes, int]:
    """Read bytes with a uvarint length."""
    length, pos = read_uvarint(buf, pos)
    return take_bytes(buf, pos, length - 1)


def read_compact_nullable_bytes(buf: memoryview, pos: int) -> tuple[bytes | None, int]:
    """Read nullable bytes with a uvarint length."""
    length, pos = read_uvarint(buf, pos)
    return take_nullable_bytes(buf, pos, length - 1)


def write_bytes(value: bytes, out: WireBuffer) -> None:
    """Write bytes with an int32 length."""
    out += _pack_int32(len(value))
    out += value


def write_nullable_bytes(value: bytes | None, out: WireBuffer) -> None:
    """Write nullable bytes with an int32 length."""
    if value is None:
        out += _NULL_INT32
    else:
        write_bytes(value, out)


def write_compact_bytes(value: bytes, out: WireBuffer) -> None:
    """Write bytes with a uvarint length."""
    write_uvarint(len(value) + 1, out)
    out += value


def write_compact_nullable_bytes(value: bytes | None, out: WireBuffer) -> None:
    """Write nullable bytes with a uvarint length."""
    if value is None:
        out.append(0)
    else:
        write_compact_bytes(value, out)


# Records: a slice of the input when read (writable if the input is), bytes or a file region when written.


def take_nullable_records(buf: memoryview, pos: int, length: int) -> tuple[memoryview | None, int]:
    """Slice out records of a known length; null if the length is negative."""
    if length < 0:
        return None, pos
    end = pos + length
    if end > len(buf):
        raise wrong_length("records", length, pos, buf)
    return buf[pos:end], end


def read_nullable_records(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
    """Read nullable records with an int32 length."""
    (length,) = _unpack_int32(buf, pos)
    return take_nullable_records(buf, pos + 4, length)


def read_compact_nullable_records(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
    """Read nullable records with a uvarint length."""
    length, pos = read_uvarint(buf, pos)
    return take_nullable_records(buf, pos, length - 1)


def write_nullable_records(value: Records | None, out: WireBuffer) -> None:
    """Write nullable records with an int32 length; of a region the length alone."""
    if value is None:
        out += _NULL_INT32
    elif isinstance(value, (bytes, bytearray, memoryview)):
        out += _pack_int32(len(value))
        out += value
    else:
        out += _pack_int32(value.length)
        out.add_region(value)


def write_compact_nullable_records(value: Records | None, out: WireBuffer) -> None:
    """Write nullable records with a uvarint length; of a region the length alone."""
    if value is None:
        out.append(0)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        write_uvarint(len(value) + 1, out)
        out += value
    else:
        write_uvarint(value.length + 1, out)
        out.add_region(value)


# Elements of arrays whose count is known and checked.


def read_int32s(buf: memoryview, pos: int, count: int) -> list[int]:
    """Read int32 elements."""
    return list(struct.unpack_from(f">{count}i", buf, pos))


def read_int64s(buf: memoryview, pos: int, count: int) -> list[int]:
    """Read int64 elements."""
    return list(struct.unpack_from(f">{count}q", buf, pos))


def write_int32s(values: list[int], out: WireBuffer) -> None:
    """Write int32 elements."""
    # hot path: benchmarks/whole (metadata: three lists for each partition, mostly of a few replicas, one, or none)
    count = len(values)
    if count == 1:
        out += _pack_int32(values[0])
    elif count:
        out += struct.pack(f">{count}i", *values)


def write_int64s(values: list[int], out: WireBuffer) -> None:
    """Write int64 elements."""
    out += struct.pack(f">{len(values)}q", *values)


# The tagged section at the end of every struct in a flexible version.


def read_tagged_count(buf: memoryview, pos: int, budget: Budget) -> tuple[int, int]:
    """Read the number of tagged fields, and charge it to the budget, because each takes a step of a loop."""
    count, pos = read_uvarint(buf, pos)
    if count:
        check_count(count, len(buf) - pos, 2, budget)
    return count, pos


def read_tag(buf: memoryview, pos: int) -> tuple[int, int, int]:
    """Read the head of a tagged field.

    Returns:
        The tag, where the value ends, and where it starts.
    """
    tag, pos = read_uvarint(buf, pos)
    size, pos = read_uvarint(buf, pos)
    end = pos + size
    if end > len(buf):
        raise ProtocolError(f"tagged field of {size} bytes at {pos} of {len(buf)}")
    return tag, end, pos


def check_tag_end(pos: int, end: int) -> None:
    """Reject a tagged field whose value does not end at its declared size."""
    # differs from Kafka (tagged-field-size): it ignores the size of a field that it knows.
    if pos != end:
        raise ProtocolError(f"tagged field ends at {pos}, its size says {end}")


def skip_tagged_fields(buf: memoryview, pos: int, budget: Budget) -> int:
    """Skip a tagged section without known fields."""
    count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(count):
        # differs from Kafka (unknown-tagged-fields): it keeps them, and counts them by nothing.
        _, pos, _ = read_tag(buf, pos)
    return pos


def write_tagged_fields(fields: list[tuple[int, WireBuffer]], out: WireBuffer) -> None:
    """Write a tagged section; the tags must ascend."""
    if not fields:
        out.append(0)
        return
    write_uvarint(len(fields), out)
    for tag, value in fields:
        write_uvarint(tag, out)
        write_uvarint(len(value), out)
        out += value
