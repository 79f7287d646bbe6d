"""The criteria of a search: a key, a header, a text, conditions on fields of JSON.

A condition is first tested on raw JSON bytes, to avoid parsing most records. The bytes may be one value, or many
records with other bytes between them. After each field name equal to the last name of the condition's path, the value's
bytes are compared.

Invariant: if the result is False, no JSON in these bytes meets the condition. The result is True for a name that can be
written in several ways, and for a value that is a list, an object or a string with escapes.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from barnabas.page.messages.conditions import Condition
from barnabas.page.messages.json_text import JsonValue, Number, parse_json
from barnabas.wire.records.record import Record


class Criteria(NamedTuple):
    """The criteria of a search; all non-empty ones must match.

    Attributes:
        keys: The key must be one of these.
        header: `NAME`, or `NAME=TEXT`: the header must contain the text.
        text: The key or the value must contain it.
    """

    keys: tuple[bytes, ...] = ()
    header: str = ""
    text: str = ""
    conditions: tuple[Condition, ...] = ()

    def fits(self, record: Record) -> bool:
        """Return whether a masked record matches."""
        if self.keys and record.key not in self.keys:
            return False
        if self.header and not self._has_header(record):
            return False
        if self.text and not self._has_text(record):
            return False
        return not self.conditions or self._fulfils(record.value)

    def _has_header(self, record: Record) -> bool:
        wanted, _, text = self.header.partition("=")
        part = text.encode()
        return any(name == wanted and part in (value or b"") for name, value in record.headers)

    def _has_text(self, record: Record) -> bool:
        part = self.text.encode()
        return part in (record.value or b"") or part in (record.key or b"")

    def _fulfils(self, data: bytes | None) -> bool:
        if data is None:
            return False
        if not self._may_fulfil(data):
            return False
        try:
            value = parse_json(data.decode())
        except ValueError:
            return False
        return all(each.holds(value) for each in self.conditions)

    def may_be_in(self, payload: bytes) -> bool:
        """Return whether records in this unmasked payload may match."""
        if self.keys and not any(each in payload for each in self.keys):
            return False
        return self.text.encode() in payload and self._may_fulfil(payload)

    def _may_fulfil(self, data: bytes) -> bool:
        return all(raw_field(each).may_be_in(data) for each in self.conditions)


_LITERALS: Final[dict[bytes, JsonValue]] = {b"true": True, b"false": False, b"null": None}
# A longer value is compared, but not cached.
_LONGEST_KEPT: Final = 64
_MOST_KEPT: Final = 10_000
# A lookahead, so that the search continues within the value: it may contain another field.
_VALUE: Final = rb'"\s*+:\s*+(?=(?:"([^"\\]*+)"|([-+.0-9A-Za-z]++))?)'


class RawField:
    """A test of a condition on raw bytes."""

    def __init__(self, condition: Condition) -> None:
        name = condition.path[-1]
        self._condition = condition
        self._is_plain = name.isprintable() and not set(name) & set('"\\/')
        self._fields = re.compile(b'"' + re.escape(name.encode(errors="replace")) + _VALUE)
        units = name.encode("utf-16-be", errors="replace")
        codes = {units[at : at + 2].hex().encode() for at in range(0, len(units), 2)}
        # An empty name matches nothing.
        self._escaped = re.compile(rb"\\u(?:%b)" % (b"|".join(sorted(codes)) or b"(?!)"), re.IGNORECASE)
        self._kept_holds = lru_cache(_MOST_KEPT)(self._holds)

    def may_be_in(self, data: bytes) -> bool:
        """Return whether a value among these bytes may meet the condition."""
        if not self._is_plain or (b"\\u" in data and self._escaped.search(data)):
            return True
        for field in self._fields.finditer(data):
            text, literal = field.groups(b"")
            holds = self._holds if len(text) + len(literal) > _LONGEST_KEPT else self._kept_holds
            if holds(text, literal):
                return True
        return False

    def _holds(self, text: bytes, literal: bytes) -> bool:
        try:
            if literal:
                value = _LITERALS[literal] if literal in _LITERALS else Number(literal.decode())
                return self._condition.holds_for(value)
            # An empty value may also be a list, an object, or a text with escapes.
            return not text or self._condition.holds_for(text.decode())
        except UnicodeDecodeError:
            return True


@lru_cache(64)
def raw_field(condition: Condition) -> RawField:
    """Return the test on raw bytes for a condition."""
    return RawField(condition)
