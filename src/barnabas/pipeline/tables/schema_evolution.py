"""Shapes of JSON records, compared with a table's columns: the part of schema evolution that does not use Spark.

A record's shape is JSON with the types of its fields: `{"bytes":"bigint","pages":["string"]}`. A batch has few shapes,
even if it has many records. So each shape is checked once.

| JSON | column |
| --- | --- |
| whole number of 64 bits | BIGINT; fits a column of any number type |
| other number | DOUBLE |
| string | STRING; fits columns of timestamps, dates and bytes if it can be parsed |
| true, false | BOOLEAN |
| object | STRUCT, whose fields grow like columns; fits a MAP, whose values grow likewise |
| array | ARRAY of the common type of its elements |
| null, {}, [] | no column until a value shows its type |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.tables.columns import merged, quoted
from barnabas.pipeline.tables.table import COMMIT_COLUMN, USUAL_LIMITS, ColumnLimits

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

# Columns that are not fields of the records.
RESERVED = (*PLACE, KEY, DELETED, COMMIT_COLUMN)

# Maximum nesting of objects and arrays, because Spark and readers of tables process types recursively.
MAXIMUM_DEPTH = 32

# Reasons that do not depend on the table's columns, and maximum lengths in messages, in characters.
NO_VALUE = "the record has no value"
NO_UTF8 = "the value is not UTF-8"
TOO_DEEP = f"the value is nested more than {MAXIMUM_DEPTH} deep"
HALF_A_PAIR = "a string has half of a surrogate pair, which UTF-8 cannot encode"
NO_JSON = "the value is not one JSON value, or a field stands in it twice"
TOO_MANY_KINDS = "the batch has too many kinds of records"
VALUE_LENGTH = 100
NAME_LENGTH = 100

# Batches with more shapes have records whose field names are data; then records of the rarest shapes are rejected.
MAXIMUM_SHAPE_COUNT = 5_000
# The smallest whole number that exceeds 64 bits and so fits no column.
WHOLE_BEYOND = float(1 << 63)
# Prefix that marks, among shapes, a schema that records were written with.
SCHEMA = "schema "

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TEXTS = ("string", "timestamp", "timestamp_ntz", "date", "binary")


class MisfitError(Exception):
    """A record does not fit: the reason, and the path of the field (empty for the record)."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.names = path


class Number(float):
    """A number with the digits of its JSON text; if it is whole, it exceeds 64 bits."""

    text: str

    def __new__(cls, text: str) -> Number:
        """Create it from the text of a JSON number."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        """Pickle it by its text."""
        return Number, (self.text,)


class Columns:
    """A table's columns, which grow with the shapes of records.

    Args:
        table: The table's columns; None if the table does not exist yet.
        reserved: Columns that are not fields of the records; a field with such a name gets a column with `_` appended.
        limits: Limits of added columns.
    """

    def __init__(self, table: StructType | None, reserved: Iterable[str], limits: ColumnLimits = USUAL_LIMITS) -> None:
        from pyspark.sql.types import StructType

        self._limits = limits
        self._reserved = frozenset(name.lower() for name in reserved)
        fields = [] if table is None else [field for field in table.fields if field.name.lower() not in self._reserved]
        # Nullability and metadata of the table's columns must not count as growth.
        self._table = _all_nullable(StructType(fields))
        self._now: StructType = StructType(list(self._table.fields))

    @property
    def schema(self) -> StructType:
        """The current columns, those of the table first."""
        return self._now

    @property
    def has_grown(self) -> bool:
        """Whether the columns include columns, or fields of objects, that the table lacks."""
        return bool(self._now != self._table)

    def field_of(self, column: str) -> str:
        """Return the name of the field of the records that a column contains."""
        return column[:-1] if column.endswith("_") and column[:-1].lower() in self._reserved else column

    def add(self, shape: str) -> None:
        """Add the columns that a shape needs; if its records do not fit, add no column and raise MisfitError."""
        found = json.loads(shape)
        if not isinstance(found, dict):
            raise MisfitError(f"the record is {_described(found)}, not an object")
        for name in found:
            if name != self.field_of(name):
                raise MisfitError(f"field {name} has the name of the column for {self.field_of(name)}")
        fields = {f"{name}_" if name.lower() in self._reserved else name: kind for name, kind in found.items()}
        grown = _extend_object(self._table, self._now, fields, ()) or self._now
        for name in grown.names[len(self._now.fields) :]:
            if why := self._limits.refusal(name):
                raise MisfitError(f"field {dotted((name,))[:NAME_LENGTH]} {why}")
        if len(grown.fields) > max(self._limits.count, len(self._now.fields)):
            raise MisfitError(f"with the record's new fields the table would have {len(grown.fields)} columns")
        self._now = grown

    def add_fields(self, fields: StructType) -> None:
        """Add the columns, and the fields of objects, that a schema has more, as far as the table's limits allow."""
        from pyspark.sql.types import StructField, StructType

        known = {name.lower() for name in self._now.names}
        wanted = []
        for field in fields.fields:
            name = f"{field.name}_" if field.name.lower() in self._reserved else field.name
            is_refused = self._limits.refusal(name) or field.name != self.field_of(name)
            if not is_refused and (name.lower() in known or len(known) < self._limits.count):
                known.add(name.lower())
                wanted.append(StructField(name, _all_nullable(field.dataType)))
        self._now = merged(self._now, StructType(wanted))


def grown(
    columns: StructType | None,
    shapes: Mapping[str, int],
    limits: ColumnLimits = USUAL_LIMITS,
    reserved: Iterable[str] = RESERVED,
) -> StructType:
    """Return a table's columns, without the reserved ones, and the columns that records of new shapes need.

    Args:
        columns: The table's columns; None if the table does not exist yet.
        shapes: The number of records of each shape or schema (`SCHEMA` and a StructType in JSON). Schemas are applied
            first, then shapes, the more frequent ones first, and the smaller text first among equals. A shape that
            contradicts an earlier one adds no column.
        limits: The columns that the table can have.
        reserved: Columns that are not fields of the records.
    """
    from pyspark.sql.types import StructType

    known = Columns(columns, reserved, limits)
    ordered = sorted(shapes, key=lambda shape: (not shape.startswith(SCHEMA), -shapes[shape], shape))
    for shape in ordered[:MAXIMUM_SHAPE_COUNT]:
        with suppress(MisfitError):
            if shape.startswith(SCHEMA):
                known.add_fields(StructType.fromJson(json.loads(shape.removeprefix(SCHEMA))))
            else:
                known.add(shape)
    return known.schema


def shape_of(value: Any) -> str:
    """Return the shape of a JSON value; raise MisfitError if it is nested too deep."""
    return json.dumps(_kind(value, 0), separators=(",", ":"), sort_keys=True)


# A type: a word, the types of an object's fields by name, or a list of the type of an array's elements.
_Kind = str | dict[str, Any] | list[Any]
_NOTHING, _WHOLE, _FRACTION, _BEYOND, _SEVERAL = "null", "bigint", "double", "beyond", "several"
_WORDS = {type(None): _NOTHING, str: "string", bool: "boolean", int: _WHOLE, float: _FRACTION}
_DESCRIBED = {_WHOLE: "a whole number", _FRACTION: "a number", "string": "a string", "boolean": "a boolean"}


def _kind(value: Any, depth: int) -> _Kind:
    word = _WORDS.get(type(value))
    if word is not None:
        return word
    if isinstance(value, Number):
        return _BEYOND if value.text.lstrip("-").isdigit() else _FRACTION
    if depth == MAXIMUM_DEPTH:
        raise MisfitError(TOO_DEEP)
    if isinstance(value, dict):
        return {name: _kind(each, depth + 1) for name, each in value.items()}
    element: _Kind = _NOTHING
    for each in value:
        element = _common(element, _kind(each, depth + 1))
    return [element]


def _common(one: _Kind, other: _Kind) -> _Kind:
    """Return the common type of two elements of an array."""
    if one == other or other == _NOTHING:
        return one
    if one == _NOTHING:
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {name: _common(one.get(name, _NOTHING), each) for name, each in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [_common(one[0], other[0])]
    numbers = (_WHOLE, _FRACTION, _BEYOND)
    if one in numbers and other in numbers:
        return max(one, other, key=numbers.index)
    return _SEVERAL


def _all_nullable(data_type: Any) -> Any:
    """Return a type without metadata and with all fields nullable."""
    from pyspark.sql import types as T

    if isinstance(data_type, T.StructType):
        return T.StructType([T.StructField(field.name, _all_nullable(field.dataType)) for field in data_type.fields])
    if isinstance(data_type, T.ArrayType):
        return T.ArrayType(_all_nullable(data_type.elementType))
    if isinstance(data_type, T.MapType):
        return T.MapType(data_type.keyType, _all_nullable(data_type.valueType))
    return data_type


def _extend(table: DataType | None, now: DataType | None, found: _Kind, path: tuple[str, ...]) -> DataType | None:
    """Return a column's type after a value of type `found`; None while the type is unknown.

    Args:
        table: The column's type in the table; None if the table lacks it.
        now: Its type after the earlier shapes of this batch.
        found: The value's type.
        path: Its name, after the names of the objects that contain it.
    """
    from pyspark.sql import types as T

    if found == _NOTHING:
        return now
    if found == _SEVERAL:
        raise MisfitError(f"field {dotted(path)} has elements of several types", path)
    if found == _BEYOND:
        raise MisfitError(f"field {dotted(path)} is a whole number beyond 64 bits", path)
    if isinstance(found, dict):
        if isinstance(now, T.MapType):
            of_table, value = table.valueType if isinstance(table, T.MapType) else None, now.valueType
            for name, kind in found.items():
                value = _extend(of_table, value, kind, (*path, name)) or value
            return T.MapType(now.keyType, value)
        if now is None or isinstance(now, T.StructType):
            return _extend_object(table if isinstance(table, T.StructType) else None, now, found, path)
    elif isinstance(found, list):
        if now is None or isinstance(now, T.ArrayType):
            of_table = table.elementType if isinstance(table, T.ArrayType) else None
            element = _extend(of_table, now.elementType if now else None, found[0], (*path, "[]"))
            return None if element is None else T.ArrayType(element)
    else:
        types = {_WHOLE: T.LongType(), _FRACTION: T.DoubleType(), "string": T.StringType(), "boolean": T.BooleanType()}
        is_new_fraction = table is None and isinstance(now, T.LongType) and found == _FRACTION
        if now is None or is_new_fraction:
            return types[found]
        if _fits(now.simpleString(), found):
            return now
    where = "in the table" if table is not None else "in most records of the batch"
    raise MisfitError(f"field {dotted(path)} is {now.simpleString()} {where}, and {_described(found)} here", path)


def _extend_object(
    table: StructType | None, now: StructType | None, found: Mapping[str, _Kind], path: tuple[str, ...]
) -> StructType | None:
    from pyspark.sql.types import StructField, StructType

    in_table = {field.name: field.dataType for field in table.fields} if table else {}
    fields = {field.name: field.dataType for field in now.fields} if now else {}
    spelled = {name.lower(): name for name in fields}
    for name, kind in found.items():
        here = (*path, name)
        if not name:
            raise MisfitError(f"a field of {dotted(path) or 'the record'} has an empty name", path)
        other = spelled.setdefault(name.lower(), name)
        if other != name:
            raise MisfitError(f"field {dotted(here)} differs in case only from {dotted((*path, other))}", here)
        grown = _extend(in_table.get(name), fields.get(name), kind, here)
        if grown is not None:
            fields[name] = grown
    return StructType([StructField(name, data_type) for name, data_type in fields.items()]) if fields else None


def _fits(column: str, found: str) -> bool:
    """Return whether a value's type fits a column; if that depends on the value, reading the value checks it."""
    match found:
        case "bigint":
            return column in _NUMBERS or column.startswith("decimal")
        case "double":
            return column in ("float", "double") or column.startswith("decimal")
        case "string":
            return column in _TEXTS
        case _:
            return column == found


def _described(found: _Kind) -> str:
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else "an array"
    return _DESCRIBED.get(found, "null")


def dotted(path: tuple[str, ...]) -> str:
    """Return a field's path in the form used in messages."""
    return ".".join(name if re.fullmatch(r"\w+|\[\]", name) else quoted(name) for name in path).replace(".[]", "[]")
