"""Shapes of JSON records, compared with a table's columns: the part of schema evolution without Spark.

A record's shape says which types its fields have, as JSON: `{"bytes":"bigint","pages":["string"]}`. A batch has few
shapes, however many records it has: so whether a record fits is decided once for each shape.

| JSON | column |
| --- | --- |
| whole number of 64 bits | BIGINT; fits a column of any number type |
| other number | DOUBLE |
| string | STRING; fits columns of times, dates and bytes if it reads as one |
| true, false | BOOLEAN |
| object | STRUCT, whose fields grow like columns; fits a MAP |
| array | ARRAY of what its elements have in common |
| null, {}, [] | none yet: the column comes with the first value that says what it is |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import COMMIT_COLUMN, USUAL_LIMITS, ColumnLimits

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

# Columns that are not the records'.
RESERVED = (*PLACE, KEY, DELETED, COMMIT_COLUMN)

# How deep objects and arrays may be nested: Spark and readers of tables go into types by recursion.
MAXIMUM_DEPTH = 32

# Why a record is bad whatever the table's columns are; and how much of a value is shown, in characters.
NO_VALUE = "the record has no value"
NO_UTF8 = "the value is not UTF-8"
TOO_DEEP = f"the value is nested more than {MAXIMUM_DEPTH} deep"
HALF_A_PAIR = "a string has half of a surrogate pair, which UTF-8 cannot encode"
NO_JSON = "the value is not one JSON value, or a field stands in it twice"
TOO_MANY_KINDS = "the batch has too many kinds of records"
VALUE_LENGTH = 100
NAME_LENGTH = 100

# More shapes in one batch belong to records whose fields are keys; records of the rarest are bad then.
MAXIMUM_SHAPE_COUNT = 5_000
# The least whole number of more than 64 bits, which fits no column.
WHOLE_BEYOND = float(1 << 63)
# What stands, among shapes, before the schema that records are written with.
SCHEMA = "schema "

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TEXTS = ("string", "timestamp", "timestamp_ntz", "date", "binary")


class MisfitError(Exception):
    """A record does not fit: why, and the path of the field (empty for the record)."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.names = path


class Number(float):
    """A number with its digits as they are written; a whole number is one beyond 64 bits."""

    text: str

    def __new__(cls, text: str) -> Number:
        """Create one from a JSON number."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        """Pickle it by its text."""
        return Number, (self.text,)


class Columns:
    """A table's columns, growing with the records that are seen.

    Args:
        table: What the table has; None when it is not there yet.
        reserved: Columns that are not the records'; a field of such a name has a column with `_` behind it.
        limits: Of the columns that are added.
    """

    def __init__(self, table: StructType | None, reserved: Iterable[str], limits: ColumnLimits = USUAL_LIMITS) -> None:
        from pyspark.sql.types import StructType

        self._limits = limits
        self._reserved = frozenset(name.lower() for name in reserved)
        fields = [] if table is None else [field for field in table.fields if field.name.lower() not in self._reserved]
        # A table may say more of its columns, which must not look like a column that has grown.
        self._table = _all_nullable(StructType(fields))
        self._now: StructType = StructType(list(self._table.fields))

    @property
    def schema(self) -> StructType:
        """The columns as they are now, those of the table first."""
        return self._now

    @property
    def has_grown(self) -> bool:
        """Whether there are columns, or fields of objects, that the table does not have."""
        return bool(self._now != self._table)

    def field_of(self, column: str) -> str:
        """Name the field of the records that a column is made of."""
        return column[:-1] if column.endswith("_") and column[:-1].lower() in self._reserved else column

    def add(self, shape: str) -> None:
        """Add the columns that a shape needs; raise MisfitError, and add none, if its records do not fit."""
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
        """Add columns for fields of a schema that are not columns, with their types, as far as the table takes them."""
        from pyspark.sql.types import StructField, StructType

        known = {name.lower() for name in self._now.names}
        columns = list(self._now.fields)
        for field in fields.fields:
            name = f"{field.name}_" if field.name.lower() in self._reserved else field.name
            is_taken = name.lower() in known or self._limits.refusal(name) or field.name != self.field_of(name)
            if not is_taken and len(columns) < self._limits.count:
                known.add(name.lower())
                columns.append(StructField(name, _all_nullable(field.dataType)))
        self._now = StructType(columns)


def grown(
    columns: StructType | None,
    shapes: Mapping[str, int],
    limits: ColumnLimits = USUAL_LIMITS,
    reserved: Iterable[str] = RESERVED,
) -> StructType:
    """Return a table's columns, without the reserved ones, and those that records of new shapes need.

    Args:
        columns: The table's columns; None when it does not exist yet.
        shapes: How many records have each shape, or are written with a schema (`SCHEMA` and a StructType in JSON).
            Fields of schemas come first, with their types. The more frequent one decides where shapes contradict each
            other, and the lesser text where they are as frequent; a shape that does not fit then adds nothing.
        limits: The columns that the table can have.
        reserved: Columns that are not the records'.
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
    """Return the type of elements of two types."""
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
    """Return a type without its metadata, in which everything may be null."""
    from pyspark.sql import types as T

    if isinstance(data_type, T.StructType):
        return T.StructType([T.StructField(field.name, _all_nullable(field.dataType)) for field in data_type.fields])
    if isinstance(data_type, T.ArrayType):
        return T.ArrayType(_all_nullable(data_type.elementType))
    if isinstance(data_type, T.MapType):
        return T.MapType(data_type.keyType, _all_nullable(data_type.valueType))
    return data_type


def _extend(table: DataType | None, now: DataType | None, found: _Kind, path: tuple[str, ...]) -> DataType | None:
    """Return a column's type after a value of type `found`; None as long as nothing is known of it.

    Args:
        table: The column's type in the table; None when it is not there.
        now: Its type with what this batch has brought so far.
        found: The value's type.
        path: Its name and those of the objects that it is in.
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
            for name, kind in found.items():
                _extend(now.valueType, now.valueType, kind, (*path, name))
            return now
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
    """Return whether a value may stand in a column; where that depends on the value, reading it will tell."""
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
    """Return a field's name as a reason has it."""
    return ".".join(name if re.fullmatch(r"\w+|\[\]", name) else quoted(name) for name in path).replace(".[]", "[]")
