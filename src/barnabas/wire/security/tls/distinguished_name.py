"""The subject of a certificate in Java's notation, by which access rules and quotas name its owner.

    Certificate ::= [ TBSCertificate, algorithm, signature ]
    TBSCertificate ::= [ [0] version, serial, algorithm, issuer, validity, subject, ... ]
    Name ::= [ RDN ... ], RDN ::= { [ type, value ] ... }

RFC 2253: the last RDN first, separated by `,`; several values of one by `+`. Types named in the RFC are printed by
their keywords and the value as text with escapes; others as a number and the value in hexadecimal.

Pure. Source: RFC 5280, RFC 2253; Java 17, X500Principal.getName and sun.security.x509.AVA.toRFC2253String.
"""

from collections.abc import Iterator
from typing import NamedTuple

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
# Types printed as text; all are read as UTF-8, as in Java.
_UTF8, _PRINTABLE, _T61, _IA5, _GENERAL, _BMP = 0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E
_TEXTS = frozenset([_UTF8, _PRINTABLE, _T61, _IA5, _GENERAL, _BMP])
_ESCAPED = frozenset(',=+<>#;"\\')
_SEQUENCE, _SET, _OID, _VERSION = 0x30, 0x31, 0x06, 0xA0


class _Value(NamedTuple):
    """One DER value: its tag, its start, the start of its content, and its end."""

    tag: int
    start: int
    content: int
    end: int


def subject(certificate: bytes) -> str:
    """Return the distinguished name of a certificate's subject.

    Args:
        certificate: DER.

    Raises:
        ValueError: The value is invalid.
    """
    outer = _value(certificate, 0, len(certificate), _SEQUENCE)
    inner = _value(certificate, outer.content, outer.end, _SEQUENCE)
    fields = list(_values(certificate, inner))
    if fields and fields[0].tag == _VERSION:
        del fields[0]
    if len(fields) < 5 or fields[4].tag != _SEQUENCE:
        raise ValueError("no certificate")
    return _name(certificate, fields[4])


def name(data: bytes) -> str:
    """Return a distinguished name in DER as text.

    Raises:
        ValueError: The value is invalid.
    """
    return _name(data, _value(data, 0, len(data), _SEQUENCE))


def _name(data: bytes, value: _Value) -> str:
    parts = []
    for rdn in _values(data, value):
        if rdn.tag != _SET:
            raise ValueError("no name")
        parts.append("+".join(_attribute(data, pair) for pair in _values(data, rdn)))
    return ",".join(reversed(parts))


def _attribute(data: bytes, pair: _Value) -> str:
    type_and_value = list(_values(data, pair))
    if pair.tag != _SEQUENCE or len(type_and_value) != 2 or type_and_value[0].tag != _OID:
        raise ValueError("no attribute")
    oid, value = type_and_value
    number = _oid(data[oid.content : oid.end])
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or number}=#{data[value.start : value.end].hex()}"
    return f"{keyword}={_escaped(data[value.content : value.end].decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    escaped = ["\\00" if char == "\0" else f"\\{char}" if char in _ESCAPED else char for char in text]
    chars = "".join(escaped)
    lead = len(chars) - len(chars.lstrip(" \r"))
    trail = len(chars.rstrip(" \r"))
    return "".join(f"\\{char}" if at < lead or at >= trail else char for at, char in enumerate(chars))


def _oid(content: bytes) -> str:
    if not content or content[-1] & 0x80:
        raise ValueError("no object identifier")
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _values(data: bytes, outer: _Value) -> Iterator[_Value]:
    position = outer.content
    while position < outer.end:
        value = _value(data, position, outer.end)
        yield value
        position = value.end


def _value(data: bytes, start: int, end: int, tag: int | None = None) -> _Value:
    """Return the value that begins here. Raises ValueError if none does, or one of another tag."""
    if end - start < 2 or (tag is not None and data[start] != tag):
        raise ValueError("no DER")
    length, content = data[start + 1], start + 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4 or content + count > end:
            raise ValueError("no DER")
        length, content = int.from_bytes(data[content : content + count], "big"), content + count
    if content + length > end:
        raise ValueError("no DER")
    return _Value(data[start], start, content, content + length)
