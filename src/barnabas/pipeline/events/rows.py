"""Reads JSON records as rows of a table whose columns grow with the records.

| record | result |
| --- | --- |
| fits the columns | a row; fields that are missing, null, `{}` or `[]` need no column |
| has values in fields that are not columns | its shape is counted: the caller adds columns (`grown`), and reads again |
| anything else | a reason with the field, its type and the value |

orjson parses the records, and `values.py` converts whole columns at once. A doubtful record (a field that may occur
twice, an unknown field, a value that does not convert) is judged alone: it is parsed again if digits may be lost, then
checked by its shape (`tables/schema_evolution.py`), then value by value.

This module needs pyarrow, but no Spark session: Spark's Python workers run it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql.types import StructType

from barnabas.pipeline.events.read import judged
from barnabas.pipeline.events.values import DOUBTS, Object, has_decimals, record_column, shown
from barnabas.pipeline.tables.schema_evolution import (
    HALF_A_PAIR,
    MAXIMUM_SHAPE_COUNT,
    NO_JSON,
    NO_UTF8,
    NO_VALUE,
    RESERVED,
    TOO_DEEP,
    TOO_MANY_KINDS,
    WHOLE_BEYOND,
    Columns,
    MisfitError,
    Number,
    shape_of,
)
from barnabas.pipeline.tables.table import USUAL_LIMITS, ColumnLimits

_NAME_END = re.compile(rb'"[ \t\n\r]*:')
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_MAY_BE_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(r".{0,60}\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

# Maximum text lengths of whole numbers that certainly fit, and that may fit, into 64 bits.
_SHORT_WHOLE_LENGTH, _LONG_WHOLE_LENGTH = 18, 20
_SIMPLE = frozenset({str, int, float, bool, type(None)})
_NO_FIELDS: dict[str, Any] = {}


class RowReader:
    """Reads values as rows with certain columns.

    Attributes:
        type: The rows' type: the columns without the reserved ones.
        shapes: How many records of each shape need more columns, or more fields within columns.
    """

    def __init__(
        self,
        columns: StructType | None,
        limits: ColumnLimits = USUAL_LIMITS,
        reserved: Sequence[str] = RESERVED,
        is_final: bool = False,
    ) -> None:
        """Create a reader.

        Args:
            columns: The table's columns; None if it does not exist yet.
            limits: Limits of the table's columns.
            reserved: Columns that do not belong to the records; `_` is appended to the column of a field with such a
                name.
            is_final: Whether no more columns are added: a record that needs more is refused with a reason.
        """
        self._limits, self._reserved, self._is_final = limits, tuple(reserved), is_final
        known = Columns(columns, reserved, limits)
        self._columns = known.schema
        self._record: Object = record_column(known.schema, known.field_of)
        self._field_of = known.field_of
        self._keeps_digits = has_decimals(known.schema)
        self.type: pa.StructType = self._record.type
        self.shapes: Counter[str] = Counter()
        # Shapes of records without objects and arrays, by names and types of the fields.
        self._shapes: dict[tuple[tuple[str, ...], tuple[type, ...]], str] = {}
        # By shape: whether it needs more columns, or why it does not fit.
        self._verdicts: dict[str, bool | MisfitError] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the reader's arguments."""
        return RowReader, (self._columns, self._limits, self._reserved, self._is_final)

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Read records' values.

        Returns:
            The rows, null for values that are not rows; and the reasons why they are not, None for rows and for records
            whose shape was counted.
        """
        # hot path: benchmarks/pipeline (every record)
        objects, doubtful = self._parsed(values)

        def parsed(number: int) -> Any:
            value = values[number]
            found = objects[number]
            return found if found and not _may_lack_digits(found) else _parsed_exactly(value)

        return self._rows(objects, doubtful, [None] * len(values), parsed)

    def read_objects(
        self, objects: Sequence[object], reasons: list[str | None]
    ) -> tuple[pa.StructArray, list[str | None]]:
        """Read records that are parsed already, as `read` does.

        Args:
            objects: JSON values. Numbers whose digits must be kept, and floats beyond 64 bits, are `Number`s.
            reasons: Why a record has no object, None if it has one; the other reasons are added.
        """
        doubtful = {
            number
            for number, (found, reason) in enumerate(zip(objects, reasons, strict=True))
            if reason is None and type(found) is not dict
        }
        dicts = [found if type(found) is dict else _NO_FIELDS for found in objects]
        if not self._record.knows(dicts):
            doubtful.update(number for number, found in enumerate(dicts) if not self._record.knows([found]))
        return self._rows(dicts, doubtful, reasons, lambda number: objects[number])

    def _parsed(self, values: Sequence[bytes | None]) -> tuple[list[dict[str, Any]], set[int]]:
        """Parse values.

        Returns:
            The objects, empty for values that are not objects; and the numbers of values that may not fit the columns.
            Their object is empty, unless it is certain that no field occurs twice.
        """
        if self._keeps_digits:
            return [_NO_FIELDS] * len(values), set(range(len(values)))
        objects = [_parsed_or_none(value) for value in values]
        doubtful = {number for number, found in enumerate(objects) if type(found) is not dict}
        for number in doubtful:
            objects[number] = _NO_FIELDS
        texts = [b"" if number in doubtful else value or b"" for number, value in enumerate(values)]
        # Each name of an object ends with `":`, so their counts are equal if no name occurs twice.
        ends = [text.count(b'":') for text in texts]
        if ends != list(map(len, objects)) or _has_blank_before_colon(texts):
            for number, (text, found, count) in enumerate(zip(texts, objects, ends, strict=True)):
                if number not in doubtful and not _has_each_name_once(text, found, count):
                    objects[number] = _NO_FIELDS
                    doubtful.add(number)
        if not self._record.knows(objects):
            doubtful.update(number for number, found in enumerate(objects) if not self._record.knows([found]))
        return objects, doubtful

    def _rows(
        self,
        objects: Sequence[dict[str, Any]],
        doubtful: set[int],
        reasons: list[str | None],
        parsed: Callable[[int], Any],
    ) -> tuple[pa.StructArray, list[str | None]]:
        """Convert objects to rows, and judge the doubtful ones; add the reasons of bad records to `reasons`.

        `doubtful` has their numbers. `parsed` returns a record by its number to judge it, or raises MisfitError.
        """
        columns = []
        for name, (_, column) in self._record.fields.items():
            values = [found.get(name) for found in objects]
            for number in doubtful:
                values[number] = None
            try:
                columns.append(column.build(values))
            except DOUBTS:
                for number, value in enumerate(values):
                    try:
                        if value is not None:
                            values[number] = column.fit(value, (name,), False)
                    except MisfitError:
                        values[number] = None
                        doubtful.add(number)
                columns.append(pa.array(values, column.type))
        if columns:
            rows = pa.StructArray.from_arrays(columns, fields=list(self.type))
        else:
            rows = pa.array([_NO_FIELDS] * len(objects), self.type)
        return judged(rows, doubtful, reasons, lambda number: self._judged(parsed(number)))

    def _judged(self, found: Any) -> object:
        """Return a record as a row, None if its shape was counted; raise MisfitError if it does not fit."""
        shape = self._shape(found)
        verdict = self._verdict(shape)
        if isinstance(verdict, MisfitError):
            value = found
            for name in verdict.names:
                if not isinstance(value, dict):
                    break
                value = value.get(self._field_of(name) if value is found else name)
            raise MisfitError(f"{verdict.reason}: {shown(value)}" if verdict.names else verdict.reason)
        if verdict:
            if self._is_final:
                raise MisfitError(TOO_MANY_KINDS)
            self.shapes[shape] += 1
            return None
        return self._record.fit(found, (), True)

    def _shape(self, found: Any) -> str:
        types = tuple(map(type, found.values())) if type(found) is dict else (dict,)
        if not _SIMPLE.issuperset(types):
            return shape_of(found)
        # Most records have the same fields as earlier ones.
        key = (tuple(found), types)
        if (shape := self._shapes.get(key)) is None:
            shape = shape_of(found)
            if len(self._shapes) < MAXIMUM_SHAPE_COUNT:
                self._shapes[key] = shape
        return shape

    def _verdict(self, shape: str) -> bool | MisfitError:
        """Return whether a shape needs more columns, or why it does not fit."""
        if shape not in self._verdicts:
            if len(self._verdicts) >= MAXIMUM_SHAPE_COUNT:
                # Columns are added for the most frequent shapes only.
                return True
            columns = Columns(self._columns, self._reserved, self._limits)
            try:
                columns.add(shape)
                self._verdicts[shape] = columns.has_grown
            except MisfitError as misfit:
                self._verdicts[shape] = misfit
        return self._verdicts[shape]


def _parsed_or_none(value: bytes | None) -> Any:
    try:
        return orjson.loads(value or b"")
    except ValueError:
        return None


def _has_blank_before_colon(texts: Sequence[bytes]) -> bool:
    """Return whether any of the texts may have a blank between a name and its colon."""
    text = b",".join(texts)
    return b" :" in text or any(blank in text and blank + b":" in text for blank in (b"\n", b"\r", b"\t"))


def _has_each_name_once(text: bytes, found: dict[str, Any], ends: int) -> bool:
    """Return whether certainly no field of an object occurs twice; `ends` is the number of `":` in the text."""
    count = _field_count(found)
    if count == ends and not _has_blank_before_colon([text]):
        return True
    return count == len(_NAME_END.findall(_ESCAPE.sub(b"", text) if b"\\" in text else text))


def _may_lack_digits(value: Any) -> bool:
    """Return whether an object has a number beyond 64 bits: the quick parser may have lost digits of it."""
    open_values = [value]
    while open_values:
        each = open_values.pop()
        for inner in each.values() if type(each) is dict else each:
            kind = type(inner)
            if kind is float or kind is int:
                if not -WHOLE_BEYOND < inner < WHOLE_BEYOND:
                    return True
            elif kind is dict or kind is list:
                open_values.append(inner)
    return False


def _field_count(value: Any) -> int:
    """Return the number of fields of an object and of the objects within it."""
    count = 0
    open_values = [value]
    while open_values:
        each = open_values.pop()
        if type(each) is dict:
            count += len(each)
            each = each.values()
        open_values += [inner for inner in each if type(inner) is dict or type(inner) is list]
    return count


def _parsed_exactly(value: bytes | None) -> Any:
    """Parse JSON without loss of digits; raise MisfitError if it is not one JSON value, or a field occurs twice."""
    if value is None:
        raise MisfitError(NO_VALUE)
    try:
        text = value.decode()
        found = _PARSE(text)
    except UnicodeDecodeError:
        raise MisfitError(NO_UTF8) from None
    except RecursionError:
        raise MisfitError(TOO_DEEP) from None
    except ValueError:
        raise MisfitError(NO_JSON) from None
    if _MAY_BE_HALF_A_PAIR.search(text) and (half := _HALF.search(_PAIR.sub("__", text.replace("\\\\", "__")))):
        raise MisfitError(f"{HALF_A_PAIR}: {half[0]}")
    return found


def _fields_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _whole(text: str) -> int | Number:
    if len(text) <= _SHORT_WHOLE_LENGTH:
        return int(text)
    # Python's int() refuses texts of thousands of digits.
    is_held = len(text) <= _LONG_WHOLE_LENGTH and -(1 << 63) <= int(text) < 1 << 63
    return int(text) if is_held else Number(text)


def _refuse(word: str) -> float:
    raise ValueError(word)


_PARSE = json.JSONDecoder(
    object_pairs_hook=_fields_once, parse_float=Number, parse_int=_whole, parse_constant=_refuse
).decode
