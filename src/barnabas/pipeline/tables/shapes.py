"""What JSON records are made of, held against a table's columns: the part of schema evolution that needs no Spark.

A record's shape is the type that Spark's `schema_of_variant` gives it, such as `OBJECT<page: STRING, bytes: BIGINT>`. A
batch has few of them, however many records it has: so whether a record fits is decided once for each shape.

| JSON | column |
| --- | --- |
| whole number of 64 bits | BIGINT; fits a column of any number type |
| other number | DOUBLE |
| string | STRING; fits columns of times, dates and bytes if it reads as one |
| true, false | BOOLEAN |
| object | STRUCT, whose fields grow like columns; fits a MAP |
| array | ARRAY of what its elements have in common |
| null, {}, [] | none yet: the column comes with the first value that says what it is |

Source: Spark 4.0, `schema_of_variant`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import quoted, widened
from barnabas.pipeline.tables.table import USUAL_LIMITS, ColumnLimits

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

# How deep objects and arrays may be nested: Spark and readers of tables go into types by recursion.
MAXIMUM_DEPTH = 32

# Why a record is bad whatever the table's columns are; and how much of a value is shown, in characters.
NO_VALUE = "the record has no value"
NO_UTF8 = "the value is not UTF-8"
TOO_DEEP = f"the value is nested more than {MAXIMUM_DEPTH} deep"
HALF_A_PAIR = "a string has half of a surrogate pair, which UTF-8 cannot encode"
NO_JSON = "the value is not one JSON value, or a field stands in it twice"
MISREAD = "a value can't be read as its column's type"
VALUE_LENGTH = 100
NAME_LENGTH = 100

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([A-Za-z_0-9]+(?:\(\d+,\d+\))?)|([<>:,]))")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TEXTS = ("string", "timestamp", "timestamp_ntz", "date", "binary")


class MisfitError(Exception):
    """A record does not fit: why, and the path of the field as `get_json_object` takes it ("" for the record)."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = "".join(f"['{name}']" for name in path if name != "[]")


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
        self._table = StructType(fields)
        self._now: StructType = StructType(list(fields))

    @property
    def schema(self) -> StructType:
        """The columns as they are now, those of the table first."""
        return self._now

    @property
    def has_grown(self) -> bool:
        """Whether there are columns, or fields of objects, that the table does not have."""
        return self._now != self._table

    def field_of(self, column: str) -> str:
        """Name the field of the records that a column is made of."""
        return column[:-1] if column.endswith("_") and column[:-1].lower() in self._reserved else column

    def widen(self, names: Collection[str]) -> None:
        """Have the numbers in these columns be as wide as they can."""
        from pyspark.sql.types import StructField, StructType

        self._now = StructType(
            [
                StructField(field.name, widened(field.dataType)) if field.name in names else field
                for field in self._now.fields
            ]
        )

    def add(self, shape: str) -> None:
        """Have the columns grow by what a shape has that they have not.

        Raises:
            MisfitError: records of this shape do not fit; nothing has grown then.
        """
        from pyspark.sql.types import StructField, StructType

        found = parse_shape(shape)
        if not isinstance(found, StructType):
            raise MisfitError(f"the record is {_described(found)}, not an object")
        for field in found.fields:
            if field.name != self.field_of(field.name):
                raise MisfitError(f"field {field.name} has the name of the column for {self.field_of(field.name)}")
        fields = [
            StructField(f"{field.name}_" if field.name.lower() in self._reserved else field.name, field.dataType)
            for field in found.fields
        ]
        grown = _extend_object(self._table, self._now, StructType(fields), ()) or self._now
        for name in grown.names[len(self._now.fields) :]:
            if why := self._limits.refusal(name):
                raise MisfitError(f"field {dotted((name,))[:NAME_LENGTH]} {why}")
        if len(grown.fields) > max(self._limits.count, len(self._now.fields)):
            raise MisfitError(f"with the record's new fields the table would have {len(grown.fields)} columns")
        self._now = grown


def parse_shape(shape: str) -> DataType:
    """Read what `schema_of_variant` gives.

    `VARIANT`, which it gives to elements of several types, comes as VariantType, a whole number beyond 64 bits as
    DecimalType, null as NullType.
    """
    tokens = [(match[1], match[2], match[3]) for match in _TOKEN.finditer(shape)]
    data_type, end = _parse(tokens, 0)
    assert end == len(tokens), shape
    return data_type


def has_types_of_json(data_type: DataType) -> bool:
    """Return whether a column's type is one that JSON values have by themselves, so that a record's shape tells if it
    fits.
    """
    from pyspark.sql import types as T

    if isinstance(data_type, T.StructType):
        return all(has_types_of_json(field.dataType) for field in data_type.fields)
    if isinstance(data_type, T.ArrayType):
        return has_types_of_json(data_type.elementType)
    return isinstance(data_type, T.StringType | T.LongType | T.DoubleType | T.BooleanType)


def _parse(tokens: list[tuple[str | None, str | None, str | None]], start: int) -> tuple[DataType, int]:
    from pyspark.sql import types as T

    word = tokens[start][1]
    if word == "ARRAY":
        element, end = _parse(tokens, start + 2)
        return T.ArrayType(element), end + 1
    if word == "OBJECT":
        fields: list[StructField] = []
        position = start + 2
        while tokens[position][2] != ">":
            if tokens[position][2] == ",":
                position += 1
            in_backticks, plain, _ = tokens[position]
            name = in_backticks.replace("``", "`") if in_backticks is not None else plain
            assert name is not None
            data_type, position = _parse(tokens, position + 2)
            fields.append(T.StructField(name, data_type))
        return T.StructType(fields), position + 1
    assert word is not None, tokens
    if match := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", word):
        return T.DecimalType(int(match[1]), int(match[2])), start + 1
    simple: dict[str, DataType] = {
        "BIGINT": T.LongType(),
        "DOUBLE": T.DoubleType(),
        "STRING": T.StringType(),
        "BOOLEAN": T.BooleanType(),
        "VOID": T.NullType(),
        "VARIANT": T.VariantType(),
    }
    return simple[word], start + 1


def _extend(table: DataType | None, now: DataType | None, found: DataType, path: tuple[str, ...]) -> DataType | None:
    """Return a column's type after a value of type `found`; None as long as nothing is known of it.

    Args:
        table: The column's type in the table; None when it is not there.
        now: Its type with what this batch has brought so far.
        found: The value's type.
        path: Its name and those of the objects that it is in.
    """
    from pyspark.sql import types as T

    if isinstance(found, T.NullType):
        return now
    if isinstance(found, T.VariantType):
        raise MisfitError(f"field {dotted(path)} has elements of several types", path)
    if isinstance(found, T.DecimalType):
        # Elements of both kinds, 1 and 2.0, come as this very type; else it is a whole number of more digits.
        if path[-1] != "[]" or (found.precision, found.scale) != (20, 0):
            raise MisfitError(f"field {dotted(path)} is a whole number beyond 64 bits", path)
        found = T.DoubleType()
    if isinstance(found, T.StructType):
        if isinstance(now, T.MapType):
            for field in found.fields:
                _extend(now.valueType, now.valueType, field.dataType, (*path, field.name))
            return now
        if now is None or isinstance(now, T.StructType):
            return _extend_object(table if isinstance(table, T.StructType) else None, now, found, path)
    if isinstance(found, T.ArrayType) and (now is None or isinstance(now, T.ArrayType)):
        of_table = table.elementType if isinstance(table, T.ArrayType) else None
        element = _extend(of_table, now.elementType if now else None, found.elementType, (*path, "[]"))
        return None if element is None else T.ArrayType(element)
    if now is None or _fits(now, found):
        return now or found
    if table is None and isinstance(now, T.LongType) and isinstance(found, T.DoubleType):
        return found
    where = "in the table" if table is not None else "in most records of the batch"
    raise MisfitError(f"field {dotted(path)} is {now.simpleString()} {where}, and {_described(found)} here", path)


def _extend_object(
    table: StructType | None, now: StructType | None, found: StructType, path: tuple[str, ...]
) -> StructType | None:
    from pyspark.sql.types import StructField, StructType

    in_table = {field.name: field.dataType for field in table.fields} if table else {}
    fields = {field.name: field.dataType for field in now.fields} if now else {}
    spelled = {name.lower(): name for name in fields}
    for field in found.fields:
        here = (*path, field.name)
        if not field.name:
            raise MisfitError(f"a field of {dotted(path) or 'the record'} has an empty name", path)
        other = spelled.setdefault(field.name.lower(), field.name)
        if other != field.name:
            raise MisfitError(f"field {dotted(here)} differs in case only from {dotted((*path, other))}", here)
        grown = _extend(in_table.get(field.name), fields.get(field.name), field.dataType, here)
        if grown is not None:
            fields[field.name] = grown
    return StructType([StructField(name, data_type) for name, data_type in fields.items()]) if fields else None


def _fits(column: DataType, found: DataType) -> bool:
    """Return whether a value may stand in a column; where that depends on the value, reading it will tell."""
    name, value = column.simpleString(), found.simpleString()
    is_number = name in _NUMBERS or name.startswith("decimal")
    match value:
        case "bigint":
            return is_number
        case "double":
            return name in ("float", "double") or name.startswith("decimal")
        case "string":
            return name in _TEXTS
        case _:
            return name == value


def _described(found: DataType) -> str:
    from pyspark.sql import types as T

    if isinstance(found, T.StructType):
        return "an object"
    if isinstance(found, T.ArrayType):
        return "an array"
    names = {"bigint": "a whole number", "double": "a number", "string": "a string", "boolean": "a boolean"}
    return names.get(found.simpleString(), "null")


def dotted(path: tuple[str, ...]) -> str:
    """Return a field's name as a reason has it."""
    return ".".join(name if re.fullmatch(r"\w+|\[\]", name) else quoted(name) for name in path).replace(".[]", "[]")
