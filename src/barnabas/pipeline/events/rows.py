"""Reads JSON records as rows of a table, column by column, where that takes no more than a look.

What is plainly none has a reason, in the words of `tables/evolution.py`: a value that is no JSON, a text where a number
is wanted. The rest is left to that module, which is slower and knows all: a field that has no column, one that stands
twice, a time in a form of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

from barnabas.pipeline.events.read import ARROW, column, right_value
from barnabas.pipeline.events.types import Kind
from barnabas.pipeline.tables.shapes import MISREAD, NO_JSON, NO_UTF8, NO_VALUE, VALUE_LENGTH, dotted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_KINDS = {kind.value.lower(): kind for kind in Kind}
# Between a name and its colon. Without it there are as many `":` as fields, or more where a text has one.
_BLANK_BEFORE_COLON = re.compile(rb'"\s+:')
# A whole number of more digits fits no column, and the parser does not tell it from one with a fraction.
_WHOLE_BEYOND = float(1 << 63)
_DIGIT = re.compile(r"\d")

_NUMBERS = (Kind.INT, Kind.LONG, Kind.DOUBLE)
_COLUMN_TYPES = {Kind.LONG: "bigint", Kind.TIME: "timestamp"}
_DESCRIBED = {str: "a string", int: "a whole number", bool: "a boolean"}


class RowReader:
    """Reads values as rows with certain columns."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        """Args:
        kinds: By column; a field of a record is the column of its name.
        """
        self._kinds = dict(kinds)
        self.type = pa.struct([pa.field(name, ARROW[kind]) for name, kind in kinds.items()])

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return rows, null where a value is not plainly one; and why it can be none, None where that is not plain."""
        # hot path: benchmarks/pipeline (every record)
        objects = [self._object(value) for value in values]
        index: list[int | None] = []
        rows: list[dict[str, Any]] = []
        for each in objects:
            index.append(None if each is None else len(rows))
            if each is not None:
                rows.append(each)
        struct, misfits = self._struct(rows)
        reasons: list[str | None] = [None] * len(values)
        if len(rows) == len(values) and not misfits:
            return struct, reasons
        for number, row in enumerate(index):
            if row is None:
                reasons[number] = _why_no_json(values[number])
            elif row in misfits:
                index[number], reasons[number] = None, self._why_misfit(rows[row])
        return struct.take(pa.array(index, pa.int32())), reasons

    def _object(self, value: bytes | None) -> dict[str, Any] | None:
        if not value:
            return None
        try:
            found = orjson.loads(value)
        except ValueError:
            return None
        if type(found) is not dict or not found.keys() <= self._kinds.keys():
            return None
        is_each_once = value.count(b'":') == len(found) and not _BLANK_BEFORE_COLON.search(value)
        return found if is_each_once else None

    def _struct(self, rows: Sequence[dict[str, Any]]) -> tuple[pa.StructArray, set[int]]:
        """Make the columns; and tell which rows have a value that does not plainly fit: it is null."""
        columns, misfits = [], set()
        for name, kind in self._kinds.items():
            values = [each.get(name) for each in rows]
            try:
                made = _plain_column(kind, values)
            except (ValueError, pa.ArrowException):
                wrong = [number for number, value in enumerate(values) if not _is_plain(kind, value)]
                for number in wrong:
                    values[number] = None
                misfits.update(wrong)
                made = _plain_column(kind, values)
            columns.append(made)
        return pa.StructArray.from_arrays(columns, fields=list(self.type)), misfits

    def _why_misfit(self, row: Mapping[str, Any]) -> str | None:
        """Say which field does not fit, the first by name as in a record's shape; None where that is not plain."""
        is_misread = False
        for name in sorted(row):
            kind, value = self._kinds[name], row[name]
            if _is_plain(kind, value):
                continue
            if kind is Kind.TIME and isinstance(value, str) and not _DIGIT.search(value):
                is_misread = True
            elif type(value) in _DESCRIBED and (kind not in _NUMBERS or type(value) is not int):
                if kind is Kind.TIME and isinstance(value, str):
                    return None
                there, here = _COLUMN_TYPES.get(kind, kind.value.lower()), _DESCRIBED[type(value)]
                shown = value if isinstance(value, str) else json.dumps(value)
                return f"field {dotted((name,))} is {there} in the table, and {here} here: {shown[:VALUE_LENGTH]}"
            else:
                return None
        return MISREAD if is_misread else None


def _plain_column(kind: Kind, values: list[Any]) -> pa.Array:
    """Make a column.

    Raises:
        ValueError: a value does not plainly fit.
    """
    made = column(kind, values)
    if kind is Kind.DOUBLE and pc.any(pc.greater_equal(pc.abs(made), _WHOLE_BEYOND)).as_py():
        raise ValueError
    return made


def _is_plain(kind: Kind, value: Any) -> bool:
    if value is None:
        return True
    return right_value(kind, value) == value and not (kind is Kind.DOUBLE and abs(value) >= _WHOLE_BEYOND)


def _why_no_json(value: bytes | None) -> str | None:
    """Say why a value is no record at all; None where another one may take it for one."""
    if value is None:
        return NO_VALUE
    try:
        json.loads(value.decode())
    except UnicodeDecodeError:
        return NO_UTF8
    except ValueError:
        return NO_JSON
    except RecursionError:
        pass
    return None


def row_reader(columns: StructType, reserved: Sequence[str]) -> RowReader | None:
    """Return what reads rows of a table; None where it has columns of other types, or such as have another name than
    their field.

    Args:
        columns: The table's.
        reserved: Those that are not the records'.
    """
    names = {name.lower() for name in reserved}
    kinds = {}
    for field in columns.fields:
        if field.name.lower() in names:
            continue
        kind = _KINDS.get(field.dataType.simpleString())
        if kind is None or field.name.removesuffix("_").lower() in names:
            return None
        kinds[field.name] = kind
    return RowReader(kinds) if kinds else None
