"""Reads values in a schema registry's wire format as rows of a table.

| field | type | meaning |
| --- | --- | --- |
| magic | byte | 0 |
| schema id | int32, big-endian | the writer's schema |
| body | the rest | Avro's binary encoding, or a JSON text (JSON Schema) |

Each body is decoded with its own schema, and then read like JSON (`rows.py`). Bytes after an Avro body are ignored.

| Avro | as JSON | type of a new column |
| --- | --- | --- |
| int, long | number | BIGINT |
| float, double | number | DOUBLE |
| string, enum | string | STRING |
| bytes, fixed | string: Base64 | BINARY |
| decimal | number with all digits | DECIMAL |
| date | string: 2026-11-24 | DATE |
| timestamp-millis, timestamp-micros | string: 2026-11-24T10:00:00.000000Z | TIMESTAMP |
| local-timestamp-millis, local-timestamp-micros | the same without Z | TIMESTAMP_NTZ |
| record, map, array | object, object, array | STRUCT, MAP, ARRAY |
| union of null and a type, or of numbers of one kind | null, or as the type | as the type |
| another union | object: `member0`, `member1`, ... | STRUCT |

Values whose schema has fields that are not columns are counted in `shapes` (`schema_evolution.grown`).

Source: Confluent's documentation, Wire format; Apache Avro 1.12.0, specification; Spark 4.0, `from_avro`.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from fastavro import parse_schema, schemaless_reader
from pyspark.sql import types as T
from pyspark.sql.types import DataType, StructType

from barnabas.pipeline.events.rows import RowReader
from barnabas.pipeline.events.schema_registry import AVRO, JSON, NoSuchSchemaError, RegistryError, SchemaRegistry
from barnabas.pipeline.tables.schema_evolution import (
    MAXIMUM_DEPTH,
    NO_VALUE,
    RESERVED,
    SCHEMA,
    WHOLE_BEYOND,
    Columns,
    Number,
)
from barnabas.pipeline.tables.table import USUAL_LIMITS, ColumnLimits

_FRAME_BYTES = 5
# A batch with more ids probably has values without a frame; each id costs a request.
_MAXIMUM_ID_COUNT = 100
_MAXIMUM_PRECISION = 38
_SHOWN_BYTES = 40
_EPOCH = datetime(1970, 1, 1)
# Types with a name, by which the rest of a schema may refer to them.
_DEFINITIONS = ("enum", "fixed", "record", "error")

_Convert = Callable[[Any], Any]


class FramedReader:
    """Reads framed values as rows with certain columns.

    Attributes:
        type: The rows' type: the columns without the reserved ones.
        shapes: As in `RowReader`, and the number of values by schema with new fields.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        columns: StructType | None,
        limits: ColumnLimits = USUAL_LIMITS,
        reserved: Sequence[str] = RESERVED,
        is_final: bool = False,
    ) -> None:
        """Create a reader; `registry` returns the schemas, the other arguments are as in `RowReader`."""
        self._arguments = (registry, columns, limits, tuple(reserved), is_final)
        self._registry = registry
        self._rows = RowReader(columns, limits, reserved, is_final)
        self._is_final = is_final
        self._bodies: dict[int, _AvroBodies | str | None] = {}
        self._failure = ""
        self.type: pa.StructType = self._rows.type
        self.shapes: Counter[str] = self._rows.shapes

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the reader's arguments."""
        return FramedReader, self._arguments

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return rows and reasons as `RowReader.read`.

        Raises:
            RegistryError: the registry failed, and its `is_waited_for` is set.
        """
        objects: list[object] = [None] * len(values)
        reasons: list[str | None] = [None] * len(values)
        texts: dict[int, bytes] = {}
        for number, value in enumerate(values):
            if value is None:
                reasons[number] = NO_VALUE
            elif len(value) < _FRAME_BYTES or value[0]:
                shown = value[:_SHOWN_BYTES].hex().upper()
                reasons[number] = f"the value has no schema registry frame: {shown}"
            else:
                schema_id, body = int.from_bytes(value[1:_FRAME_BYTES], "big"), value[_FRAME_BYTES:]
                bodies = self._bodies_of(schema_id)
                if bodies is None:
                    texts[number] = body
                elif isinstance(bodies, str):
                    reasons[number] = bodies
                else:
                    try:
                        objects[number] = bodies.decode(body)
                    except Exception:  # fastavro raises many kinds for a broken body
                        reasons[number] = f"the value does not match its schema {schema_id}"
                    else:
                        if bodies.new_fields:
                            self.shapes[bodies.new_fields] += 1
        if not texts:
            return self._rows.read_objects(objects, reasons)
        of_texts, why = self._rows.read(list(texts.values()))
        if len(texts) == len(values):
            return of_texts, why
        index = list(range(len(values)))
        for number, (place, reason) in enumerate(zip(texts, why, strict=True)):
            objects[place], reasons[place], index[place] = {}, reason, len(values) + number
        rows, reasons = self._rows.read_objects(objects, reasons)
        return pa.concat_arrays([rows, of_texts]).take(pa.array(index, pa.int32())), reasons

    def _bodies_of(self, schema_id: int) -> _AvroBodies | str | None:
        """Return the decoder of a schema's bodies, a reason if none exists, None for JSON bodies; raise as `read`."""
        if schema_id in self._bodies:
            return self._bodies[schema_id]
        if len(self._bodies) >= _MAXIMUM_ID_COUNT:
            return f"the batch has too many schema ids; one is {schema_id}"
        found: _AvroBodies | str | None = self._failure
        if not found:
            try:
                found = self._made(schema_id)
            except NoSuchSchemaError as error:
                found = str(error)
            except RegistryError as error:
                if self._registry.is_waited_for:
                    raise
                # Send no more requests: a hanging registry would delay the batch by a timeout per id.
                found = self._failure = str(error)
        self._bodies[schema_id] = found
        return found

    def _made(self, schema_id: int) -> _AvroBodies | None:
        kind, schema = self._registry.schema(schema_id)
        if kind == JSON:
            return None
        if kind != AVRO:
            raise NoSuchSchemaError(f"schema {schema_id} has type {kind}: must be AVRO or JSON")
        bodies = _AvroBodies(schema_id, schema)
        _, columns, limits, reserved, is_final = self._arguments
        known = Columns(columns, reserved, limits)
        known.add_fields(bodies.fields)
        if is_final or not known.has_grown:
            bodies.new_fields = ""
        return bodies


class _AvroBodies:
    """Decodes bodies of one schema.

    Attributes:
        fields: The fields of the schema, with their types.
        new_fields: The fields as a shape; "" if no columns need to be added.
    """

    def __init__(self, schema_id: int, text: str) -> None:
        try:
            raw = json.loads(text)
            schema = parse_schema(raw)
            # fastavro returns underlying types; they are converted here, so that values out of range are detected.
            self._plain = parse_schema(_without_logical_types(raw))
        except Exception:  # fastavro raises many kinds for an invalid schema
            raise NoSuchSchemaError(f"schema {schema_id} is not a valid Avro schema") from None
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise NoSuchSchemaError(f"schema {schema_id} is not a record schema")
        try:
            found = _Types().of(schema, 0)
        except _UnsupportedError as error:
            raise NoSuchSchemaError(f"schema {schema_id} has {error}, which is not supported") from None
        self._convert = found.convert
        self.fields = found.data_type if isinstance(found.data_type, StructType) else StructType()
        self.new_fields = SCHEMA + self.fields.json()

    def decode(self, body: bytes) -> Any:
        """Return a body as JSON values; raise any kind of exception for a broken body."""
        found: Any = schemaless_reader(BytesIO(body), self._plain, None)
        return found if self._convert is None else self._convert(found)


class _UnsupportedError(Exception):
    """An unsupported part of a schema."""


class _Type(NamedTuple):
    """A type of a schema.

    Attributes:
        data_type: Spark's type.
        convert: Converts values to JSON values; None if no conversion is needed.
        is_empty: Whether values take no bytes: a small body could claim any number of them.
        decoded: fastavro's Python type of the values, by which the members of a union are told apart.
    """

    data_type: DataType
    convert: _Convert | None = None
    is_empty: bool = False
    decoded: type = dict


class _Types:
    """The types of a schema."""

    def __init__(self) -> None:
        # By name; None while a type is being defined.
        self._named: dict[str, _Type | None] = {}

    def of(self, schema: Any, depth: int) -> _Type:
        if depth > MAXIMUM_DEPTH:
            raise _UnsupportedError(f"types nested more than {MAXIMUM_DEPTH} deep")
        if isinstance(schema, list):
            return self._union(schema, depth)
        details = schema if isinstance(schema, dict) else {}
        name = details.get("type", schema)
        if isinstance(name, list | dict):
            return self.of(name, depth)
        found = self._found(name, details, depth)
        if name in _DEFINITIONS:
            self._named[details["name"]] = found
        return found

    def _found(self, name: Any, details: Any, depth: int) -> _Type:
        match name:
            case "null":
                return _Type(T.NullType(), is_empty=True)
            case "boolean":
                return _Type(T.BooleanType(), decoded=bool)
            case "string" | "enum":
                return _Type(T.StringType(), decoded=str)
            case "int" | "long":
                return _of_whole(name, details.get("logicalType"))
            case "float" | "double":
                return _Type(T.DoubleType(), _plain_number, decoded=float)
            case "bytes" | "fixed":
                return _of_bytes(details)._replace(decoded=bytes)
            case "array":
                element, convert, is_empty, _ = self.of(details["items"], depth + 1)
                if is_empty:
                    raise _UnsupportedError("an array whose elements have no bytes")
                made: DataType = element if isinstance(element, T.NullType) else T.ArrayType(element)
                return _Type(made, convert and (lambda all: [_converted(convert, each) for each in all]), decoded=list)
            case "map":
                element, convert, _, _ = self.of(details["values"], depth + 1)
                made = element if isinstance(element, T.NullType) else T.MapType(T.StringType(), element)
                return _Type(
                    made, convert and (lambda all: {key: _converted(convert, each) for key, each in all.items()})
                )
            case "record" | "error":
                self._named[details["name"]] = None
                return self._record(details["fields"], depth)
            case _:
                if (known := self._named.get(name)) is None:
                    raise _UnsupportedError(f"the type {name} within itself")
                return known

    def _record(self, fields: Sequence[Any], depth: int) -> _Type:
        made = {field["name"]: self.of(field["type"], depth + 1) for field in fields}
        types = [
            T.StructField(name, each.data_type)
            for name, each in made.items()
            if not isinstance(each.data_type, T.NullType)
        ]
        converts = {name: each.convert for name, each in made.items() if each.convert is not None}

        def converted(found: dict[str, Any]) -> dict[str, Any]:
            for name, convert in converts.items():
                found[name] = _converted(convert, found[name])
            return found

        is_empty = all(each.is_empty for each in made.values())
        return _Type(T.StructType(types) if types else T.NullType(), converted if converts else None, is_empty)

    def _union(self, schema: Sequence[Any], depth: int) -> _Type:
        members = [self.of(each, depth) for each in schema if _name_of(each) != "null"]
        if len(members) < 2:
            return members[0]._replace(is_empty=False) if members else _Type(T.NullType())
        names = {_name_of(each) for each in schema} - {"null"}
        if names in ({"int", "long"}, {"float", "double"}) and len({str(each.data_type) for each in members}) == 1:
            return members[0]
        by_type: dict[type, int] = {}
        for number, each in enumerate(members):
            if by_type.setdefault(each.decoded, number) != number:
                raise _UnsupportedError("a union whose types cannot be told apart")

        def converted(value: Any) -> dict[str, Any]:
            number = by_type[type(value)]
            return {f"member{number}": _converted(members[number].convert, value)}

        fields = [T.StructField(f"member{at}", each.data_type) for at, each in enumerate(members)]
        return _Type(T.StructType(fields), converted)


def _name_of(schema: Any) -> str:
    """Return the name of a type; any text for a union directly within a union, which is not valid Avro."""
    return str(schema.get("type")) if isinstance(schema, dict) else str(schema)


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(each) for each in schema]
    if isinstance(schema, dict):
        return {name: _without_logical_types(each) for name, each in schema.items() if name != "logicalType"}
    return schema


def _converted(convert: _Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _of_whole(name: str, logical_type: object) -> _Type:
    known: dict[tuple[str, object], _Type] = {
        ("int", "date"): _Type(T.DateType(), _date_text),
        ("long", "timestamp-millis"): _Type(T.TimestampType(), lambda value: _time_text(value * 1_000) + "Z"),
        ("long", "timestamp-micros"): _Type(T.TimestampType(), lambda value: _time_text(value) + "Z"),
        ("long", "local-timestamp-millis"): _Type(T.TimestampNTZType(), lambda value: _time_text(value * 1_000)),
        ("long", "local-timestamp-micros"): _Type(T.TimestampNTZType(), _time_text),
    }
    return known.get((name, logical_type), _Type(T.LongType()))._replace(decoded=int)


def _of_bytes(details: Any) -> _Type:
    is_empty = details.get("type") == "fixed" and not details["size"]
    if details.get("logicalType") != "decimal":
        return _Type(T.BinaryType(), lambda value: b64encode(value).decode(), is_empty)
    precision, scale = details.get("precision"), details.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision <= _MAXIMUM_PRECISION:
        raise _UnsupportedError(f"a decimal number of precision {precision} and scale {scale}")
    return _Type(T.DecimalType(precision, scale), lambda value: _decimal_number(value, scale), is_empty)


def _decimal_number(value: bytes, scale: int) -> int | Number:
    digits = int.from_bytes(value, "big", signed=True)
    if scale:
        return Number(f"{Decimal(f'{digits}E-{scale}'):f}")
    # A larger whole number would not fit a column.
    return digits if abs(digits) < WHOLE_BEYOND else Number(f"{digits}.0")


def _plain_number(value: float) -> float:
    return Number(repr(value)) if abs(value) >= WHOLE_BEYOND and math.isfinite(value) else value


def _date_text(days: int) -> str:
    return (date(1970, 1, 1) + timedelta(days)).isoformat()


def _time_text(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
