"""The criteria of a search: a key, a header, a text, conditions on fields of JSON."""

from typing import NamedTuple

from barnabas.page.messages.conditions import Condition
from barnabas.page.messages.json_text import parse_json
from barnabas.page.messages.raw_fields import raw_field
from barnabas.wire.records.record import Record


class Criteria(NamedTuple):
    """The criteria of a search; all that are not empty apply.

    Attributes:
        keys: The key is one of these.
        header: `NAME`, or `NAME=TEXT`: the header has the text in it.
        text: Key or value has it in it.
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
