"""Jute, ZooKeeper's encoding: decodes frames and encodes responses. Pure.

| type | bytes |
| --- | --- |
| int, long | 4 or 8, big-endian, signed |
| boolean | 1 |
| buffer, ustring (UTF-8) | int length, then the bytes; -1: null |
| vector | int count, then the elements; -1: null |

Invariant: every length and count is checked against the remaining bytes before memory is allocated.

Source: ZooKeeper 3.5.9, org.apache.jute.BinaryInputArchive and BinaryOutputArchive.
"""

from struct import Struct
from struct import error as struct_error

from barnabas.core.errors import ProtocolError

_INT = Struct(">i")
_LONG = Struct(">q")
_NULL = b"\xff\xff\xff\xff"


class MalformedError(ProtocolError):
    """The bytes are not a valid record."""


class JuteReader:
    """Reads one frame from its start."""

    __slots__ = ("_frame", "_position")

    def __init__(self, frame: memoryview) -> None:
        self._frame = frame
        self._position = 0

    @property
    def left_bytes(self) -> int:
        """The number of unread bytes."""
        return len(self._frame) - self._position

    def integer(self) -> int:
        try:
            (value,) = _INT.unpack_from(self._frame, self._position)
        except struct_error:
            raise MalformedError("a record ends too early") from None
        self._position += 4
        number: int = value
        return number

    def long(self) -> int:
        try:
            (value,) = _LONG.unpack_from(self._frame, self._position)
        except struct_error:
            raise MalformedError("a record ends too early") from None
        self._position += 8
        number: int = value
        return number

    def boolean(self) -> bool:
        if not self.left_bytes:
            raise MalformedError("a record ends too early")
        self._position += 1
        return self._frame[self._position - 1] != 0

    def buffer(self) -> bytes | None:
        """Read a buffer; the caller owns the bytes."""
        length = self.integer()
        if length == -1:
            return None
        if not 0 <= length <= self.left_bytes:
            raise MalformedError(f"a length of {length} where {self.left_bytes} bytes are left")
        start, self._position = self._position, self._position + length
        return bytes(self._frame[start : self._position])

    def string(self) -> str | None:
        """Read a string; as in Java, invalid UTF-8 becomes U+FFFD."""
        data = self.buffer()
        return None if data is None else data.decode("utf-8", "replace")

    def required_string(self) -> str:
        text = self.string()
        if text is None:
            raise MalformedError("null where a text has to be")
        return text

    def count(self, least_bytes: int) -> int:
        """Read the count of a vector, which must not be null; each element has at least `least_bytes`."""
        count = self.integer()
        if not 0 <= count <= self.left_bytes // least_bytes:
            raise MalformedError(f"a vector of {count} where {self.left_bytes} bytes are left")
        return count

    def rest(self) -> "JuteReader":
        """Return a reader of a copy of the remaining bytes, which remains valid after the frame is released."""
        return JuteReader(memoryview(bytes(self._frame[self._position :])))


def write_int(value: int, out: bytearray) -> None:
    out += _INT.pack(value)


def write_long(value: int, out: bytearray) -> None:
    out += _LONG.pack(value)


def write_buffer(value: bytes | None, out: bytearray) -> None:
    if value is None:
        out += _NULL
    else:
        out += _INT.pack(len(value))
        out += value


def write_string(value: str, out: bytearray) -> None:
    write_buffer(value.encode("utf-8", "replace"), out)


def write_strings(values: list[str], out: bytearray) -> None:
    out += _INT.pack(len(values))
    for value in values:
        write_string(value, out)
