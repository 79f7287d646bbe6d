"""Decodes bytes to text, in a detected or chosen format."""

import codecs
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from barnabas.page.messages.json_text import parse_json

AUTO: Final = "auto"
MOST_SHOWN_BYTES: Final = 2_048
_INTEGER_BYTES: Final = (1, 2, 4, 8)
_AUTO_INTEGER_BYTES: Final = (4, 8)
_UUID_BYTES: Final = 16
_UUID_VERSIONS: Final = range(1, 9)


class Shown(NamedTuple):
    """The displayed form of bytes.

    Attributes:
        kind: The detected or chosen kind; `null` for null.
        text: The displayed part.
        size: The total size in bytes.
        is_cut: Whether only a part is displayed.
    """

    kind: str
    text: str
    size: int
    is_cut: bool


NULL: Final = Shown("null", "", 0, False)


def decode(data: bytes | None, kind: str = AUTO, most_bytes: int = MOST_SHOWN_BYTES) -> Shown:
    """Decode bytes as a kind; if that is impossible, as the detected one."""
    if data is None:
        return NULL
    shown = _DECODERS[kind](data, most_bytes) if kind in _DECODERS else None
    return shown or _guess(data, most_bytes)


def _guess(data: bytes, most_bytes: int) -> Shown:
    if data[:1] in (b"{", b"[") and (found := _json(data, most_bytes)) is not None:
        return found
    try:
        # For a large value only the start is checked; it may end within a character.
        start = codecs.getincrementaldecoder("utf-8")().decode(data[:most_bytes], len(data) <= most_bytes)
        if all(each.isprintable() or each in "\t\r\n" for each in start):
            return Shown("text", start, len(data), len(data) > most_bytes)
    except UnicodeDecodeError:
        pass
    if len(data) == _UUID_BYTES and data[6] >> 4 in _UUID_VERSIONS and data[8] >> 6 == 0b10:
        return Shown("UUID", str(UUID(bytes=data)), len(data), False)
    if len(data) in _AUTO_INTEGER_BYTES:
        return Shown("integer", str(int.from_bytes(data, "big", signed=True)), len(data), False)
    return _hex(data, most_bytes)


def _text(data: bytes, most_bytes: int) -> Shown:
    is_cut = len(data) > most_bytes
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data[:most_bytes], not is_cut)
    return Shown("text", text, len(data), is_cut)


def _json(data: bytes, most_bytes: int) -> Shown | None:
    """Return JSON as written, because a parsed and rewritten number may differ."""
    try:
        parse_json(data.decode())
    except ValueError:
        return None
    return _text(data, most_bytes)._replace(kind="JSON")


def _integer(data: bytes, _: int) -> Shown | None:
    if len(data) not in _INTEGER_BYTES:
        return None
    return Shown("integer", str(int.from_bytes(data, "big", signed=True)), len(data), False)


def _uuid(data: bytes, _: int) -> Shown | None:
    return Shown("UUID", str(UUID(bytes=data)), len(data), False) if len(data) == _UUID_BYTES else None


def _hex(data: bytes, most_bytes: int) -> Shown:
    return Shown("hex", data[: most_bytes // 3].hex(" "), len(data), len(data) > most_bytes // 3)


_DECODERS: Final[dict[str, Callable[[bytes, int], Shown | None]]] = {
    "JSON": _json,
    "text": _text,
    "integer": _integer,
    "UUID": _uuid,
    "hex": _hex,
}
KINDS: Final = (AUTO, *_DECODERS)
