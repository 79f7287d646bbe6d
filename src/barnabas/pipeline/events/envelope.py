"""Reads Debezium's envelopes, each a change to a row of a database, with or without Connect's schema block.

| field | meaning |
| --- | --- |
| op | c: created, r: read by a snapshot, u: updated, d: deleted, t: table truncated, m: a message without a row |
| before, after | the row before and after the change: an object or null; for MongoDB, the object's JSON as a string |
| payload | the envelope, if the value has a schema block |

A row is copied from the value's text unchanged. Spark's functions would serialize it again, and thereby change numbers
that a DOUBLE cannot represent.

Source: Debezium 2.7's documentation of its connectors, data change events; Kafka Connect's JsonConverter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

from barnabas.pipeline.tables.schema_evolution import HALF_A_PAIR, NO_UTF8, VALUE_LENGTH

NO_ENVELOPE = "the value is not a Debezium envelope: neither it nor its payload is a JSON object with an op"
NO_PLACE_OF_TRUNCATE = (
    "the change is a truncate (op t), and its topic has several partitions: the deleted rows are unknown"
)

_OPS = tuple("crudtm")
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_decode = json.JSONDecoder().raw_decode
_MARK = re.compile(r"[ \t\n\r]*([{},:])[ \t\n\r]*")


class EnvelopeReader:
    """Reads values as changes: `op`, and `row` as JSON text.

    The row of a delete is the deleted row; a message has no row. A null value, such as the tombstone after a delete, is
    neither a change nor an error.
    """

    type = pa.struct([("op", pa.string()), ("row", pa.string())])

    def __init__(self, takes_truncates: bool = True) -> None:
        """Create a reader; it refuses truncates, with a reason, unless `takes_truncates`."""
        self._takes_truncates = takes_truncates

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return the changes, null if a value is not a change; and the reasons for refused values, otherwise None."""
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
    """The value is refused; the message is the reason."""


def _change(value: bytes) -> dict[str, str | None]:
    op, fields = _envelope(value)
    row = fields.get("before" if op == "d" else "after", "")
    if row.startswith('"'):
        row = str(json.loads(row))
        if _HALF_A_PAIR.search(row):
            raise _RefusedError(HALF_A_PAIR)
    if op in "cru" and not row.startswith("{"):
        raise _RefusedError(f"the Debezium envelope has op {op}, but no row in after")
    # Which fields of a deleted row are known depends on the database.
    return {"op": op, "row": None if op == "m" else row if row.startswith("{") else "{}"}


def _envelope(value: bytes) -> tuple[str, dict[str, str]]:
    """Return an envelope's op, and the JSON text of each field; raise _RefusedError if it is not an envelope."""
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
    """Return the JSON text of each field of a JSON object; raise ValueError if the text is not an object."""
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
    """Return the mark at `place`, and the place after it; raise ValueError if it is not one of `wanted`."""
    found = _MARK.match(text, place)
    if found is None or found[1] not in wanted:
        raise ValueError
    return found[1], found.end()
