"""Masks: what of a topic's records nobody may see, not by looking, by searching or by a download.

    TOPIC_PATTERN:PATH,...      these are hidden
    TOPIC_PATTERN:!PATH,...     all others are hidden

A path leads through the fields of JSON (`customer.email`), past lists as if they were not there, or is
`@key`, `@value`, `@headers` or `@headers.NAME`. What is hidden reads `***`.

Invariant: a value in which a path can't be looked for (no JSON, or no object) is hidden whole.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from barnabas.core.errors import ConfigError
from barnabas.page.messages.json_text import JsonValue, parse_json, write_json
from barnabas.wire.records.record import Record

HIDDEN: Final = "***"
_HIDDEN_BYTES: Final = HIDDEN.encode()

Path = tuple[str, ...]


class Mask(NamedTuple):
    """What is hidden, or left, in the topics of a pattern (`*` stands for any text); `text` is as it was written."""

    pattern: str
    paths: frozenset[Path]
    is_all_but: bool
    text: str

    def hides(self, path: Path) -> bool:
        """Whether all below a path is hidden."""
        is_named = any(path[:length] in self.paths for length in range(1, len(path) + 1))
        return is_named != self.is_all_but

    def leads_on(self, path: Path) -> bool:
        """Whether what is hidden or left may lie deeper."""
        return any(each[: len(path)] == path for each in self.paths)


def parse_mask(text: str) -> Mask:
    """Read a mask. Raises ConfigError."""
    pattern, colon, rest = text.partition(":")
    is_all_but = rest.startswith("!")
    # Names of headers have dots, too.
    names = [each.strip() for each in rest.removeprefix("!").split(",")]
    paths = [tuple(each.split(".", 1 if each.startswith("@") else -1)) for each in names]
    if not colon or not pattern or any(not step for path in paths for step in path):
        raise ConfigError(f"--mask {text}: write it as TOPIC_PATTERN:FIELD.PATH,... or TOPIC_PATTERN:!FIELD.PATH,...")
    return Mask(pattern, frozenset(paths), is_all_but, text)


def masks_of(topic: str, masks: Iterable[Mask]) -> tuple[Mask, ...]:
    """Return those that a topic has."""
    return tuple(each for each in masks if fnmatchcase(topic, each.pattern))


def masked(record: Record, masks: Sequence[Mask]) -> Record:
    """Hide what a topic's masks hide of a record."""
    for mask in masks:
        headers = tuple(
            (name, _HIDDEN_BYTES if value is not None and mask.hides(("@headers", name)) else value)
            for name, value in record.headers
        )
        key = _HIDDEN_BYTES if record.key is not None and mask.hides(("@key",)) else record.key
        record = record._replace(key=key, value=_masked_value(record.value, mask), headers=headers)
    return record


def hides_keys(masks: Sequence[Mask]) -> bool:
    """Whether keys may not be looked for: finding one would tell it."""
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
    # A text may hold half a character (`\ud800`), which is no UTF-8.
    return write_json(_masked_json(value, (), mask._replace(paths=of_value))).encode(errors="backslashreplace")


def _masked_json(value: JsonValue, path: Path, mask: Mask) -> JsonValue:
    if isinstance(value, list):
        return [_masked_json(each, path, mask) for each in value]
    if isinstance(value, dict):
        return {name: _masked_field(each, (*path, name), mask) for name, each in value.items()}
    # An element of a list beside those that have fields.
    return HIDDEN


def _masked_field(value: JsonValue, path: Path, mask: Mask) -> JsonValue:
    if mask.leads_on(path) and path not in mask.paths:
        return _masked_json(value, path, mask)
    return HIDDEN if mask.hides(path) else value
