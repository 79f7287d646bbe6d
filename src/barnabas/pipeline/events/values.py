"""Converts columns of parsed JSON values to Arrow arrays of the columns' types.

| column | accepts |
| --- | --- |
| TINYINT, SMALLINT, INT, BIGINT | a whole number within the range |
| FLOAT, DOUBLE | a whole number without loss; any other number as the nearest one, if that is finite |
| DECIMAL | a number with at most the column's digits, before and after the point |
| BOOLEAN, STRING | a boolean, a string |
| TIMESTAMP | a string: an ISO 8601 date, with or without time and zone; UTC without a zone |
| TIMESTAMP_NTZ, DATE | the same without a zone; DATE drops the time |
| BINARY | a string: Base64 |
| STRUCT, MAP, ARRAY | an object, an object, an array |

Each column has two methods: `build` converts all values at once and fails at the first doubtful value; `fit` converts
one value and raises the reason if it does not fit.

Source: Spark 4.0, `from_json`, `DateTimeUtils.stringToTimestamp`.
"""

from __future__ import annotations

import json
import math
import re
import struct
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import partial
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from barnabas.pipeline.events.read import column
from barnabas.pipeline.events.types import Kind
from barnabas.pipeline.tables.schema_evolution import VALUE_LENGTH, WHOLE_BEYOND, MisfitError, Number, dotted

# Exceptions of `build` for a value that may not fit.
DOUBTS = (ValueError, TypeError, ArithmeticError, pa.ArrowException)

_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
# Possessive, and the zone takes the rest of the text: otherwise a long text takes cubic time.
_TIME = re.compile(
    r"\s*+(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d*+))?)?\s*+(.*))?)?)?\s*+",
    re.ASCII | re.DOTALL,
)
_DATE = re.compile(r"\s*(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[ T].*)?)?)?\s*", re.ASCII | re.DOTALL)
_BLANKS = " \t\n\r\f\v"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::?(\d\d)(?::?(\d\d))?)?", re.ASCII)
_NULL = frozenset({type(None)})
_OBJECT, _LIST = frozenset({dict}), frozenset({list})

Path = tuple[str, ...]


class Column(ABC):
    """Converts the values of one column, field or element; None is null."""

    type: pa.DataType

    @abstractmethod
    def build(self, values: list[Any]) -> pa.Array:
        """Convert values as the parser returns them; raise DOUBTS if a value may not fit."""

    @abstractmethod
    def fit(self, value: Any, path: Path, is_judged: bool) -> object:
        """Convert one value to what `pa.array` takes for `type`.

        Args:
            value: The value; not null.
            path: The names of the enclosing objects and of the value.
            is_judged: Whether `Columns.add` accepted the shape of the record: then unknown fields are null or empty.

        Raises:
            MisfitError: the value does not fit.
        """


class _Scalar(Column):
    def __init__(
        self,
        name: str,
        arrow: pa.DataType,
        accepted: Collection[type],
        read: Callable[[Any], object] | None,
        build: Callable[[list[Any]], pa.Array] | None = None,
    ) -> None:
        """Create a column.

        Args:
            name: The type's name in reasons.
            arrow: The Arrow type.
            accepted: The types of its values.
            read: Converts a value, or raises one of `DOUBTS`; None: all values of these types fit unchanged.
            build: Converts many values.
        """
        self.type = arrow
        self._name = name
        self._accepted = frozenset(accepted)
        self._read = read
        self._build = build

    def build(self, values: list[Any]) -> pa.Array:
        # hot path: benchmarks/pipeline (every record)
        if self._build is not None:
            return self._build(values)
        if not set(map(type, values)) - _NULL <= self._accepted:
            raise ValueError
        if (read := self._read) is not None:
            values = [None if value is None else read(value) for value in values]
        return pa.array(values, self.type)

    def fit(self, value: Any, path: Path, is_judged: bool) -> object:
        try:
            if type(value) in self._accepted:
                return value if self._read is None else self._read(value)
        except DOUBTS:
            pass
        how = "cannot be parsed from" if type(value) is str else "cannot represent exactly"
        raise MisfitError(f"field {dotted(path)} is {self._name} in the table, which {how}: {shown(value)}")


class Object(Column):
    """A STRUCT, or the whole record."""

    def __init__(self, fields: Mapping[str, tuple[str, Column]]) -> None:
        """Create a column of `fields`: by name of the field in the records, the column's name and the column."""
        self.fields = dict(fields)
        self.type = pa.struct([pa.field(name, each.type) for name, each in self.fields.values()])
        self._names = frozenset(self.fields)
        # Unknown fields that were null or empty in good records, by lower-case name: names must differ beyond case.
        self._harmless: dict[str, str] = {}

    def knows(self, objects: Sequence[dict[str, Any]]) -> bool:
        """Return whether all fields of the objects are columns, or known to be without a value."""
        # hot path: benchmarks/pipeline (every record)
        if all(map(self._names.issuperset, objects)):
            return True
        return all(self._is_harmless(each) for each in objects)

    def _is_harmless(self, found: dict[str, Any]) -> bool:
        return all(
            not found[name] and found[name] in (None, {}, []) and self._harmless.get(name.lower()) == name
            for name in found.keys() - self._names
        )

    def build(self, values: list[Any]) -> pa.Array:
        types, mask = set(map(type, values)), None
        if not types - _NULL <= _OBJECT:
            raise ValueError
        if types & _NULL:
            mask = pa.array([value is None for value in values], pa.bool_())
            values = [{} if value is None else value for value in values]
        if not self.knows(values):
            raise ValueError
        arrays = [each.build([value.get(name) for value in values]) for name, (_, each) in self.fields.items()]
        if not arrays:
            return pa.array([{}] * len(values), self.type)
        return pa.StructArray.from_arrays(arrays, fields=list(self.type), mask=mask)

    def fit(self, value: Any, path: Path, is_judged: bool) -> object:
        if type(value) is not dict or not (is_judged or self.knows([value])):
            raise MisfitError("")
        fitted = {}
        for name in sorted(value):
            if name not in self.fields:
                if len(self._harmless) < _HARMLESS_COUNT:
                    self._harmless.setdefault(name.lower(), name)
            elif value[name] is not None:
                column_name, each = self.fields[name]
                fitted[column_name] = each.fit(value[name], (*path, name), is_judged)
        return fitted


# If there are more unknown names, they are probably keys of data, not fields.
_HARMLESS_COUNT = 1_000


class _Array(Column):
    def __init__(self, element: Column) -> None:
        self._element = element
        self.type = pa.list_(pa.field("element", element.type))

    def build(self, values: list[Any]) -> pa.Array:
        if not set(map(type, values)) - _NULL <= _LIST:
            raise ValueError
        elements = self._element.build(list(chain.from_iterable(filter(None, values))))
        return pa.ListArray.from_arrays(_offsets(values), elements, type=self.type)

    def fit(self, value: Any, path: Path, is_judged: bool) -> object:
        if type(value) is not list:
            raise MisfitError("")
        inner = (*path, "[]")
        return [None if each is None else self._element.fit(each, inner, is_judged) for each in value]


class _Map(Column):
    def __init__(self, value: Column) -> None:
        self._value = value
        self.type = pa.map_(pa.string(), value.type)

    def build(self, values: list[Any]) -> pa.Array:
        if not set(map(type, values)) - _NULL <= _OBJECT:
            raise ValueError
        full = list(filter(None, values))
        keys = pa.array(list(chain.from_iterable(full)), pa.string())
        items = self._value.build(list(chain.from_iterable(each.values() for each in full)))
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=self.type)

    def fit(self, value: Any, path: Path, is_judged: bool) -> object:
        if type(value) is not dict:
            raise MisfitError("")
        inner = (*path, "[]")
        return [
            (name, None if each is None else self._value.fit(each, inner, is_judged)) for name, each in value.items()
        ]


def record_column(columns: StructType, field_of: Callable[[str], str]) -> Object:
    """Return a converter of records to rows of these columns; `field_of` returns the field of a column."""
    return Object({field_of(each.name): (each.name, _column(each.dataType)) for each in columns.fields})


def has_decimals(data_type: DataType) -> bool:
    """Return whether a type contains decimal numbers, for which the parser must keep all digits."""
    return "decimal(" in data_type.simpleString()


def shown(value: Any) -> str:
    """Return the beginning of a value, to be shown in a reason."""
    if isinstance(value, str):
        return value[:VALUE_LENGTH]
    text = value.text if isinstance(value, Number) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text[:VALUE_LENGTH]


def _column(data_type: DataType) -> Column:
    if isinstance(data_type, T.StructType):
        return Object({each.name: (each.name, _column(each.dataType)) for each in data_type.fields})
    if isinstance(data_type, T.ArrayType):
        return _Array(_column(data_type.elementType))
    if isinstance(data_type, T.MapType) and isinstance(data_type.keyType, T.StringType):
        return _Map(_column(data_type.valueType))
    name = data_type.simpleString()
    if isinstance(data_type, T.DecimalType):
        precision, scale = data_type.precision, data_type.scale
        return _Scalar(name, pa.decimal128(precision, scale), _NUMBERS, lambda value: _decimal(value, precision, scale))
    if name in _SCALARS:
        return _Scalar(name, *_SCALARS[name])
    if isinstance(data_type, T.StringType):
        return _Scalar(name, pa.string(), (str,), None)
    # JSON has no values of such a type: the shape check refuses every value.
    return _Scalar(name, to_arrow_type(data_type), (), None)


_NUMBERS = (int, float, Number)


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Return the index of each value's first element, null for a null, and at last the number of all elements."""
    offsets: list[int | None] = []
    place = 0
    for value in values:
        offsets.append(None if value is None else place)
        place += len(value) if value else 0
    return pa.array([*offsets, place], pa.int32())


def _doubles(values: list[Any]) -> pa.Array:
    made = column(Kind.DOUBLE, values)
    # The parser returns a whole number beyond 64 bits as a float, too.
    if pc.any(pc.greater_equal(pc.abs(made), WHOLE_BEYOND)).as_py():
        raise ValueError
    return made


def _whole(value: int, bits: int) -> int:
    if not -(1 << bits) <= value < 1 << bits:
        raise ValueError
    return value


def _double(value: Any) -> float:
    made = float(value)
    if not math.isfinite(made) or (type(value) is int and int(made) != value):
        raise ValueError
    if type(value) is float and abs(value) >= WHOLE_BEYOND:
        raise ValueError
    return made


def _float(value: Any) -> float:
    _double(value)
    made = float(struct.unpack("<f", struct.pack("<f", value))[0])
    if type(value) is int and int(made) != value:
        raise ValueError
    return made


def _decimal(value: Any, precision: int, scale: int) -> Decimal:
    made = Decimal(value.text if type(value) is Number else repr(value))
    if not made.is_finite() or (made and made.adjusted() >= precision - scale):
        raise ValueError
    return made.quantize(Decimal((0, (1,), -scale)), context=_EXACT)


def _time(text: str) -> datetime:
    time, zone = _parts_of_time(text)
    return time.replace(tzinfo=UTC) if not zone else (time - _offset(zone, time)).replace(tzinfo=UTC)


def _local_time(text: str) -> datetime:
    time, zone = _parts_of_time(text)
    if zone:
        raise ValueError
    return time


def _parts_of_time(text: str) -> tuple[datetime, str]:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    microsecond = int(f"{fraction or '':0<6}"[:6])
    time = datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), microsecond
    )
    return time, (zone or "").rstrip(_BLANKS)


def _offset(zone: str, time: datetime) -> timedelta:
    if zone in ("Z", "UTC", "GMT", "UT"):
        return timedelta()
    if match := _OFFSET.fullmatch(zone):
        sign, hours, minutes, seconds = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        if int(minutes or 0) > 59 or int(seconds or 0) > 59 or offset > timedelta(hours=18):
            raise ValueError
        return -offset if sign == "-" else offset
    try:
        return time.replace(tzinfo=ZoneInfo(zone)).utcoffset() or timedelta()
    except (KeyError, OSError):
        raise ValueError from None


def _date(text: str) -> date:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError
    return date(*(int(part or 1) for part in match.groups()))


_SCALARS: dict[str, tuple[Any, ...]] = {
    "tinyint": (pa.int8(), (int,), partial(_whole, bits=7)),
    "smallint": (pa.int16(), (int,), partial(_whole, bits=15)),
    "int": (pa.int32(), (int,), partial(_whole, bits=31), partial(column, Kind.INT)),
    "bigint": (pa.int64(), (int,), partial(_whole, bits=63), partial(column, Kind.LONG)),
    "float": (pa.float32(), _NUMBERS, _float),
    "double": (pa.float64(), _NUMBERS, _double, _doubles),
    "boolean": (pa.bool_(), (bool,), None),
    "timestamp": (pa.timestamp("us", "UTC"), (str,), _time, partial(column, Kind.TIME)),
    "timestamp_ntz": (pa.timestamp("us"), (str,), _local_time),
    "date": (pa.date32(), (str,), _date),
    "binary": (pa.binary(), (str,), partial(b64decode, validate=True)),
}
"""Arguments of `_Scalar`, by the type's name."""
