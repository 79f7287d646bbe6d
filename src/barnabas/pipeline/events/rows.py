"""Reads JSON records as rows of a table, column by column, where that takes no more than a look.

What is not plainly a row is left to `tables/evolution.py`, which is slower and knows all: a field that has no column or
another type, one that stands twice, a value that is no object. So nothing here judges a record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

from barnabas.pipeline.events.read import ARROW, column, right_value
from barnabas.pipeline.events.types import Kind

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_KINDS = {kind.value.lower(): kind for kind in Kind}
# Between a name and its colon. Without it there are as many `":` as fields, or more where a text has one.
_BLANK_BEFORE_COLON = re.compile(rb'"\s+:')
# A whole number of more digits fits no column, and the parser does not tell it from one with a fraction.
_WHOLE_BEYOND = float(1 << 63)


class RowReader:
    """Reads values as rows with certain columns."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        """Args:
        kinds: By column; a field of a record is the column of its name.
        """
        self._kinds = dict(kinds)
        self.type = pa.struct([pa.field(name, ARROW[kind]) for name, kind in kinds.items()])

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return rows, null where a value is not plainly one; there is never a reason."""
        # hot path: benchmarks/pipeline (every record)
        objects = [self._object(value) for value in values]
        rows = [each for each in objects if each is not None]
        try:
            struct = self._struct(rows)
        except (ValueError, pa.ArrowException):
            objects = [each if each is not None and self._is_plain(each) else None for each in objects]
            rows = [each for each in objects if each is not None]
            struct = self._struct(rows)
        if len(rows) < len(values):
            numbers = iter(range(len(rows)))
            index = [None if each is None else next(numbers) for each in objects]
            struct = struct.take(pa.array(index, pa.int32()))
        return struct, [None] * len(values)

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

    def _struct(self, rows: Sequence[dict[str, Any]]) -> pa.StructArray:
        columns = []
        for name, kind in self._kinds.items():
            made = column(kind, [each.get(name) for each in rows])
            if kind is Kind.DOUBLE and pc.any(pc.greater_equal(pc.abs(made), _WHOLE_BEYOND)).as_py():
                raise ValueError
            columns.append(made)
        return pa.StructArray.from_arrays(columns, fields=list(self.type))

    def _is_plain(self, row: dict[str, Any]) -> bool:
        for name, value in row.items():
            kind = self._kinds[name]
            if value is not None and right_value(kind, value) != value:
                return False
            if kind is Kind.DOUBLE and value is not None and abs(value) >= _WHOLE_BEYOND:
                return False
        return True


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
