"""Reads Debezium's envelopes, each a change to a row of a database, with or without Connect's schema block around them.

| field | meaning |
| --- | --- |
| op | c: created, r: read by a snapshot, u: updated, d: deleted, t: the table was truncated, m: a message, of no row |
| before, after | the row as it was, and as it is: an object or null |
| payload | of a value with a schema block: the envelope |

A row is cut out of the value as it stands there. Spark's functions would write it anew, and with that change numbers
which no DOUBLE holds.

Source: Debezium 2.7's documentation of its connectors, data change events; Kafka Connect's JsonConverter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

from barnabas.pipeline.tables.schema_evolution import NO_UTF8, VALUE_LENGTH

NO_ENVELOPE = "the value is not a Debezium envelope: neither it nor its payload is a JSON object with an op"
NO_PLACE_OF_TRUNCATE = (
    "the change is a truncate (op t), and its topic has several partitions: the deleted rows are unknown"
)

_OPS = tuple("crudtm")
_decode = json.JSONDecoder().raw_decode
_MARK = re.compile(r"[ \t\n\r]*([{},:])[ \t\n\r]*")


class EnvelopeReader:
    """Reads values as changes: `op`, and `row` as JSON; of a delete the row as it was, of a message none.

    A value that is null, as behind a delete, is no change and has no reason.
    """

    type = pa.struct([("op", pa.string()), ("row", pa.string())])

    def __init__(self, takes_truncates: bool = True) -> None:
        """Read values; unless `takes_truncates`, a truncate has a reason as well."""
        self._takes_truncates = takes_truncates

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return changes, null where a value is none; and why one is not to be taken."""
        changes: list[dict[str, str | None] | None] = [None] * len(values)
        reasons: list[str | None] = [None] * len(values)
        for number, value in enumerate(values):
            if value is not None:
                try:
                    changes[number] = change = _change(value)
                    if change["op"] == "t" and not self._takes_truncates:
                        reasons[number] = NO_PLACE_OF_TRUNCATE
                except _RefusedError as refused:
                    reasons[number] = str(refused)
        return pa.array(changes, self.type), reasons


class _RefusedError(Exception):
    """A value is no change that can be taken: the message says why."""


def _change(value: bytes) -> dict[str, str | None]:
    op, fields = _envelope(value)
    row = fields.get("before" if op == "d" else "after", "")
    if op in "cru" and not row.startswith("{"):
        raise _RefusedError(f"the Debezium envelope has op {op}, but no row in after")
    # What is known of the row that a delete took away depends on the database.
    return {"op": op, "row": None if op == "m" else row if row.startswith("{") else "{}"}


def _envelope(value: bytes) -> tuple[str, dict[str, str]]:
    """Return an envelope's op, and its fields as they stand in the value; raise _RefusedError if it is none."""
    try:
        fields = _fields(value.decode())
        if "op" not in fields:
            fields = _fields(fields.get("payload", ""))
        op = json.loads(fields.get("op", ""))
    except UnicodeDecodeError:
        raise _RefusedError(NO_UTF8) from None
    except (ValueError, RecursionError):
        raise _RefusedError(NO_ENVELOPE) from None
    if op not in _OPS:
        known = f"{', '.join(_OPS[:-1])} or {_OPS[-1]}"
        raise _RefusedError(f"the Debezium envelope has an unknown op (must be {known}): {fields['op'][:VALUE_LENGTH]}")
    return op, fields


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a JSON object, each as it stands in the text; raise ValueError if it is none."""
    fields = {}
    mark, place = _mark(text, 0, "{")
    while mark != "}":
        name, place = _decode(text, place)
        _, begin = _mark(text, place, ":")
        _, end = _decode(text, begin)
        mark, place = _mark(text, end, ",}")
        fields[name] = text[begin:end]
    if place != len(text):
        raise ValueError
    return fields


def _mark(text: str, place: int, wanted: str) -> tuple[str, int]:
    """Return the mark at a place, and where what is behind it begins; raise ValueError if it is not wanted."""
    found = _MARK.match(text, place)
    if found is None or found[1] not in wanted:
        raise ValueError
    return found[1], found.end()
