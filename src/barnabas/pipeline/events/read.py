"""Reads events from records, column by column: a typed struct for a good record, a reason in words for a bad one.

A good record meets all of these conditions:

- JSON: it is one object in UTF-8 and nothing else. Avro: it has the format of `avro.py`.
- `type` is the wanted type, and `version` is at least 1.
- It has every field that its version requires, and all fields have their declared types.

Unknown fields and higher versions come from newer producers and are accepted in JSON; in Avro their schema is unknown,
so they are refused. Every other record is bad; no invalid value becomes null silently. Invalid are, for example, a
number instead of a string or the reverse, a number outside its type's range, NaN, infinity, and a time that is not
ISO 8601 with a zone. If a field occurs twice, the last one counts.

How: a parser in C decodes the values, and all values of a column are checked at once. Only if that check fails, each
value of the column is checked, and only the records with wrong values are parsed again, to find the reason.

This module needs pyarrow, but not Spark: Spark's Python workers call it (`parse.py`).

Source: RFC 8259; Apache Avro 1.12.0, specification: Single-object encoding, Schema Resolution.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import orjson
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

from barnabas.pipeline.events.encode import is_encodable
from barnabas.pipeline.events.types import TIMES_US, EventType, Field, Format, Kind
from barnabas.pipeline.tables.schema_evolution import MisfitError

# Maximum number of characters of a bad value in a reason.
SHOWN_CHARACTERS = 80

ARROW = {
    Kind.STRING: pa.string(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIME: pa.timestamp("us", tz="UTC"),
}
_PYTHON: dict[Kind, frozenset[type]] = {
    Kind.STRING: frozenset({str}),
    Kind.INT: frozenset({int}),
    Kind.LONG: frozenset({int}),
    Kind.DOUBLE: frozenset({int, float}),
    Kind.BOOLEAN: frozenset({bool}),
    Kind.TIME: frozenset({str}),
}
_BITS = {Kind.INT: 31, Kind.LONG: 63}
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:)(\d\d?)(\.\d*)?(Z|[+-](?:0\d|1[0-8]):[0-5]\d)")
# Times that Arrow parses unchanged.
_PLAIN_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-](0\d|1[0-7]):[0-5]\d)$"
_ARROW_TIME = re.compile(_PLAIN_TIME)
_NULL = frozenset({type(None)})

Object = Mapping[str, Any]


class EventReader:
    """Reads records as events of one type."""

    def __init__(self, event: EventType, event_format: Format) -> None:
        """Create a reader for events of this type, in this format."""
        self._event = event
        self._is_avro = event_format == "avro"
        self._decode: Callable[[bytes], Object] = _avro_decoder(event) if event_format == "avro" else orjson.loads
        self.type = pa.struct([pa.field(field.name, ARROW[field.kind]) for field in event.fields])

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return the events, null for bad values; and the reasons why values are bad, None for good values."""
        # hot path: benchmarks/pipeline (every record)
        objects = [self._decoded(value) for value in values]
        suspects = {number for number, found in enumerate(objects) if not found}
        struct = self._struct(objects, suspects)
        return judged(struct, suspects, [None] * len(values), lambda number: self._checked(values[number]))

    def _decoded(self, value: bytes | None) -> Object:
        """Decode a value; return an empty object if it is not an object."""
        try:
            found = self._decode(value)  # type: ignore[arg-type]  # None raises
        except (ValueError, TypeError, MisfitError):
            return {}
        return found if type(found) is dict else {}

    def _struct(self, objects: Sequence[Object], suspects: set[int]) -> pa.StructArray:
        """Return the events of records; add the numbers of records that may be bad to `suspects`: ignore their rows."""
        columns = []
        for field in self._event.fields:
            values = [each.get(field.name) for each in objects]
            try:
                columns.append(column(field.kind, values))
            except (ValueError, pa.ArrowException):
                # Some of the values may be good when converted one by one.
                for number, value in enumerate(values):
                    if value is not None and right_value(field.kind, value) != value:
                        suspects.add(number)
                        values[number] = None
                columns.append(column(field.kind, values))
        doubts = [pc.not_equal(columns[0], self._event.name), pc.less(columns[1], 1)]
        for field, made in zip(self._event.fields, columns, strict=True):
            if field.is_required and made.null_count:
                lacking = pc.is_null(made)
                doubts.append(
                    lacking if field.since == 1 else pc.and_(lacking, pc.greater_equal(columns[1], field.since))
                )
        for doubt in doubts:
            if pc.any(doubt).as_py():
                suspects.update(pc.indices_nonzero(doubt).to_pylist())
        return pa.StructArray.from_arrays(columns, fields=list(self.type))

    def _checked(self, value: bytes | None) -> Object:
        """Read a single record; raise MisfitError with the reason if it is bad."""
        if not value:
            raise MisfitError("the record has no value")
        if self._is_avro:
            return self._right(self._decode(value))
        try:
            return self._right(orjson.loads(value))
        except (ValueError, AttributeError, MisfitError):
            # Retry with a parser that keeps numbers of any length, and is less strict.
            return self._right(_parsed_slowly(value))

    def _right(self, found: Object) -> Object:
        return {field.name: self._value(field, found) for field in self._event.fields}

    def _value(self, field: Field, found: Object) -> object:
        value = found.get(field.name)
        if value is None:
            version = found.get("version")
            if field.is_required and (field.since == 1 or (isinstance(version, int) and version >= field.since)):
                raise MisfitError(f"the required field '{field.name}' is missing")
            return None
        right = right_value(field.kind, value)
        if right is None:
            wrong = {Kind.TIME: "is not an ISO 8601 time with a zone", Kind.DOUBLE: "is not a finite DOUBLE"}
            if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 1023:
                wrong[Kind.DOUBLE] = "cannot be represented exactly by a DOUBLE"
            what = wrong.get(field.kind, f"is not of type {field.kind.value}")
            raise MisfitError(f"field '{field.name}' {what}: {_shown(value)}")
        if field.name == "type" and value != self._event.name:
            raise MisfitError(f"field 'type' is not '{self._event.name}': {_shown(value)}")
        if field.name == "version" and value < 1:
            raise MisfitError(f"field 'version' must be at least 1: {_shown(value)}")
        return datetime.fromisoformat(right) if field.kind is Kind.TIME and isinstance(right, str) else right


def judged(
    rows: pa.StructArray, doubtful: set[int], reasons: list[str | None], judge: Callable[[int], object]
) -> tuple[pa.StructArray, list[str | None]]:
    """Judge the doubtful rows one by one, and return all rows with the results, and `reasons`.

    Args:
        rows: All rows; those with a reason become null.
        doubtful: The numbers of the rows to judge.
        reasons: Why a record is not a row, otherwise None; the reasons of judged rows are added.
        judge: Returns a row by its number, or None for null without a reason; raises MisfitError.
    """
    index = [number if reason is None else None for number, reason in enumerate(reasons)]
    fitted: list[object] = []
    for number in sorted(doubtful):
        index[number] = None
        try:
            row = judge(number)
        except MisfitError as misfit:
            reasons[number] = misfit.reason
            continue
        if row is not None:
            index[number] = len(reasons) + len(fitted)
            fitted.append(row)
    if fitted:
        rows = pa.concat_arrays([rows, pa.array(fitted, rows.type)])
    return (rows.take(pa.array(index, pa.int32())) if None in index or fitted else rows), reasons


def column(kind: Kind, values: list[Any]) -> pa.Array:
    """Convert parsed values to an Arrow array; raise ValueError if a value may not have this type."""
    types = set(map(type, values)) - _NULL
    if not types <= _PYTHON[kind]:
        if kind is Kind.TIME and types == {datetime}:
            return pa.array(values, ARROW[kind])
        raise ValueError
    if kind is Kind.TIME:
        texts = pa.array(values, pa.string())
        if pc.all(pc.match_substring_regex(texts, _PLAIN_TIME)).as_py() is False:
            raise ValueError
        made = texts.cast(ARROW[kind])
        ends = pc.min_max(made.cast(pa.int64())).as_py().values()
        if any(end is not None and end not in TIMES_US for end in ends):
            raise ValueError
        return made
    if kind is Kind.DOUBLE and int in types:
        floats = [None if value is None else float(value) for value in values]
        if floats != values:
            raise ValueError
        values = floats
    try:
        made = pa.array(values, ARROW[kind])
    except OverflowError as error:
        raise ValueError(str(error)) from error
    if kind is Kind.DOUBLE and pc.all(pc.is_finite(made)).as_py() is False:
        raise ValueError
    return made


def right_value(kind: Kind, value: Any) -> object:
    """Convert a value for its column; return None if it has another type."""
    if kind is Kind.TIME:
        # Avro's decoder returns a datetime.
        return _plain_time(value) if isinstance(value, str) else value if isinstance(value, datetime) else None
    if type(value) not in _PYTHON[kind]:
        return None
    if kind in _BITS:
        return value if -(1 << _BITS[kind]) <= value < 1 << _BITS[kind] else None
    if kind is Kind.DOUBLE:
        is_held = abs(value) < 1 << 1023 and math.isfinite(value) and float(value) == value
        return float(value) if is_held else None
    # Replace unpaired surrogates, which JSON can express and UTF-8 can't.
    return value.encode(errors="replace").decode() if kind is Kind.STRING else value


def _plain_time(text: str) -> str | None:
    """Return a time in a form that Arrow parses, in microseconds; None if the text is not a time."""
    try:
        if _ARROW_TIME.match(text):
            # Raises OverflowError if the time in UTC is not in TIMES_US.
            datetime.fromisoformat(text).astimezone(UTC)
            return text
        match = _TIME.fullmatch(text)
        if match is None:
            return None
        date, minutes, seconds, fraction, zone = match.groups()
        plain = f"{date}T{minutes}{seconds:0>2}{(fraction or '.')[:7]}".removesuffix(".") + zone
        time = datetime.fromisoformat(plain)
        # Arrow does not parse zones of 18 hours.
        return plain if _ARROW_TIME.match(plain) else f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}".zfill(27)
    except (ValueError, OverflowError):
        return None


def _parsed_slowly(value: bytes) -> Object:
    """Parse JSON with a parser that keeps numbers of any length; raise MisfitError if it is not one object."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise MisfitError(f"the value is not UTF-8: {value.hex().upper()[:SHOWN_CHARACTERS]}") from None
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise MisfitError(f"the value is not one JSON object: {text[:SHOWN_CHARACTERS]}")
    return found


def _refuse(word: str) -> float:
    raise ValueError(word)


def _avro_decoder(event: EventType) -> Callable[[bytes], Object]:
    """Return a decoder of Avro values: the fingerprint selects the writer's schema, results have the newest version."""
    # fastavro is not installed with the command line alone.
    from fastavro import parse_schema, schemaless_reader

    from barnabas.pipeline.events.avro import HEADER_BYTES, MARKER, avro_schema, reader_schema, schema_fingerprint

    newest = parse_schema(reader_schema(event))
    writers = {}
    for version in range(1, event.version + 1):
        schema = avro_schema(event, version)
        writers[MARKER + schema_fingerprint(schema)] = version, parse_schema(schema)
    texts = [field.name for field in event.fields if field.kind is Kind.STRING]

    def decode(value: bytes) -> Object:
        header = value[:HEADER_BYTES]
        if not header.startswith(MARKER) or len(header) < HEADER_BYTES:
            shown = value.hex().upper()[:SHOWN_CHARACTERS]
            raise MisfitError(f"the value is not an Avro single-object encoding: {shown}")
        if header not in writers:
            fingerprint = header[len(MARKER) :].hex().upper()
            raise MisfitError(f"the writer's schema is not a schema of {event.name}: its fingerprint is {fingerprint}")
        version, writer = writers[header]
        try:
            found: Any = schemaless_reader(
                BytesIO(value[HEADER_BYTES:]), writer, newest, handle_unicode_errors="surrogateescape"
            )
        except Exception:  # fastavro raises many kinds for a broken body
            raise MisfitError(f"the body does not match version {version} of {event.name}") from None
        for name in texts:
            text = found[name]
            if text is not None and not is_encodable(text):
                raise MisfitError(f"field '{name}' is not UTF-8")
        return found  # type: ignore[no-any-return]

    return decode


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        return "a value that is nested too deeply to be shown"
    return text[:SHOWN_CHARACTERS].encode(errors="replace").decode()
