"""Masks: fields, keys and headers of a topic's records that the page hides when it shows, searches or saves them.

    TOPIC_PATTERN:PATH,...      hide these
    TOPIC_PATTERN:!PATH,...     hide all others

A path is a sequence of nested JSON fields (`customer.email`) from the top, where lists are transparent, or is
`@key`, `@value`, `@headers` or `@headers.NAME`. Names are case-insensitive, and a field whose name has dots
(`"customer.email"`) matches like nested fields. A hidden value is shown as `***`.

Invariants: the whole value is hidden if paths cannot be applied to it (it is not JSON, or not an object). A string, a
key or a header is hidden if it may itself contain a hidden field, such as JSON in a string.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from barnabas.core.errors import ConfigError
from barnabas.page.messages.json_text import JsonValue, Number, parse_json, write_json
from barnabas.wire.records.record import Record

HIDDEN: Final = "***"
_HIDDEN_BYTES: Final = HIDDEN.encode()

Path = tuple[str, ...]


class Mask(NamedTuple):
    """Paths that are hidden, or exempt, in the topics that match a pattern.

    Attributes:
        pattern: `*` stands for any text.
        paths: Casefolded.
        is_all_but: Whether the paths are exempt, and all others are hidden.
        text: The mask as typed.
        inside: Pattern that finds possible hidden fields in casefolded text; None: no search.
    """

    pattern: str
    paths: frozenset[Path]
    is_all_but: bool
    text: str
    inside: re.Pattern[str] | None

    def hides(self, path: Path) -> bool:
        """Return whether everything below a path is hidden."""
        is_named = any(path[:length] in self.paths for length in range(1, len(path) + 1))
        return is_named != self.is_all_but

    def leads_on(self, path: Path) -> bool:
        """Return whether hidden or exempt fields may be deeper."""
        return any(each[: len(path)] == path for each in self.paths)

    def may_be_inside(self, text: str) -> bool:
        """Return whether a text may contain a hidden field."""
        return self.inside is not None and self.inside.search(text.casefold()) is not None


def parse_mask(text: str) -> Mask:
    """Parse a mask. Raises ConfigError."""
    pattern, colon, rest = text.partition(":")
    is_all_but = rest.startswith("!")
    # A header's name may have dots.
    names = [each.strip().casefold() for each in rest.removeprefix("!").split(",")]
    paths = [tuple(each.split(".", 1 if each.startswith("@") else -1)) for each in names]
    if not colon or not pattern or any(not step for path in paths for step in path):
        raise ConfigError(f"--mask {text}: write it as TOPIC_PATTERN:FIELD.PATH,... or TOPIC_PATTERN:!FIELD.PATH,...")
    return Mask(pattern, frozenset(paths), is_all_but, text, None if is_all_but else _inside(paths))


def _inside(paths: Iterable[Path]) -> re.Pattern[str] | None:
    """Return a pattern that finds fields of the paths within a text.

    The pattern matches the last name of a path before a colon or an equals sign (`"email": ...`, `email=...`), with any
    number of quotes. It also matches JSON's escape of a character, because it can be part of any name.
    """
    names = "|".join(sorted(re.escape(path[-1]) for path in paths if not path[0].startswith("@")))
    return re.compile(rf"(?:{names})[\\\"']*+\s*+[:=]|\\u[0-9a-f]{{4}}") if names else None


def masks_of(topic: str, masks: Iterable[Mask]) -> tuple[Mask, ...]:
    """Return the masks that apply to a topic."""
    return tuple(each for each in masks if fnmatchcase(topic, each.pattern))


def masked(record: Record, masks: Sequence[Mask]) -> Record:
    """Hide the masked parts of a record."""
    for mask in masks:
        headers = tuple(
            (name, _masked_bytes(value, ("@headers", name.casefold()), mask)) for name, value in record.headers
        )
        key = _masked_bytes(record.key, ("@key",), mask)
        record = record._replace(key=key, value=_masked_value(record.value, mask), headers=headers)
    return record


def _masked_bytes(data: bytes | None, path: Path, mask: Mask) -> bytes | None:
    """Hide a key, or the value of a header."""
    if data is None or not (mask.hides(path) or mask.may_be_inside(data.decode(errors="replace"))):
        return data
    return _HIDDEN_BYTES


def hides_keys(masks: Sequence[Mask]) -> bool:
    """Return whether searches by key are forbidden, because a hit would reveal the key."""
    return any(mask.hides(("@key",)) for mask in masks)


def _masked_value(data: bytes | None, mask: Mask) -> bytes | None:
    of_value = frozenset(path for path in mask.paths if not path[0].startswith("@"))
    is_named = ("@value",) in mask.paths
    if data is None or (is_named if mask.is_all_but else not is_named and not of_value):
        return data
    if is_named:
        return _HIDDEN_BYTES
    try:
        value = parse_json(data.decode())
    except ValueError:
        return _HIDDEN_BYTES
    if not isinstance(value, dict | list):
        return _HIDDEN_BYTES
    # A text may contain a lone surrogate (`\ud800`), which is not valid in UTF-8.
    return write_json(_masked_json(value, (), mask._replace(paths=of_value))).encode(errors="backslashreplace")


def _masked_json(value: JsonValue, path: Path, mask: Mask) -> JsonValue:
    if isinstance(value, list):
        return [_masked_json(each, path, mask) for each in value]
    if isinstance(value, dict):
        return {name: _masked_field(each, (*path, *name.casefold().split(".")), mask) for name, each in value.items()}
    # A list element that is not an object or a list.
    return HIDDEN


def _masked_field(value: JsonValue, path: Path, mask: Mask) -> JsonValue:
    if mask.leads_on(path) and path not in mask.paths:
        return _masked_json(value, path, mask)
    if mask.hides(path):
        return HIDDEN
    return value if mask.is_all_but else _masked_texts(value, mask)


def _masked_texts(value: JsonValue, mask: Mask) -> JsonValue:
    """Hide strings that may contain a hidden field."""
    match value:
        case Number():
            return value
        case str():
            return HIDDEN if mask.may_be_inside(value) else value
        case list():
            return [_masked_texts(each, mask) for each in value]
        case dict():
            return {name: _masked_texts(each, mask) for name, each in value.items()}
    return value
