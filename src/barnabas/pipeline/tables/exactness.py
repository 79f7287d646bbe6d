"""Which numbers of a JSON record its columns cannot hold exactly, as SQL.

| column | holds |
| --- | --- |
| FLOAT, DOUBLE | a whole number of which no digit is lost; of any other the nearest, if it is finite |
| DECIMAL | numbers with at most its digits, before and after the point |

Columns of whole numbers need no check here: Spark refuses what they cannot hold, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import literal, quoted
from barnabas.pipeline.tables.shapes import VALUE_LENGTH, dotted

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

# Others have too few digits to be inexact in a DOUBLE, and too small an exponent to be infinite.
_MAY_BE_INEXACT = r"value RLIKE r'\d{16}|[eE]\+?\d{3}'"

# What a cast to BIGINT takes for 2^63 - 1.
_BEYOND = "9223372036854775808D"


def inexact_numbers(columns: StructType, field_of: Callable[[str], str], name: str) -> tuple[Column, str] | None:
    """Return how to find a number in `value` that its column cannot hold exactly; None if there can be none.

    Args:
        columns: Of the table.
        field_of: Names the field of the records that a column is made of.
        name: Of a column for the numbers as they are written.

    Returns:
        What that column has, and as SQL of it the reason, which names the first such number.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructField, StructType

    wanted = StructType([StructField(field_of(field.name), field.dataType) for field in columns.fields])
    texts = _texts(wanted)
    if not isinstance(texts, StructType):
        return None
    is_suspect = F.expr(_MAY_BE_INEXACT if _has_doubles_alone(wanted) else "true")
    reasons = ", ".join(_reasons(wanted, name, ()))
    return F.when(is_suspect, F.from_json("value", texts)), f"coalesce({reasons})"


def _texts(kind: DataType) -> DataType | None:
    """Return the type with each inexact number as the text of it, and nothing else; None where there is none."""
    from pyspark.sql import types as T

    if isinstance(kind, T.DoubleType | T.FloatType | T.DecimalType):
        return T.StringType()
    if isinstance(kind, T.ArrayType):
        inner = _texts(kind.elementType)
        return inner and T.ArrayType(inner)
    if isinstance(kind, T.MapType):
        inner = _texts(kind.valueType)
        return inner and T.MapType(T.StringType(), inner)
    if isinstance(kind, T.StructType):
        fields = [(field.name, _texts(field.dataType)) for field in kind.fields]
        known = [T.StructField(name, inner) for name, inner in fields if inner is not None]
        return T.StructType(known) if known else None
    return None


def _has_doubles_alone(kind: DataType) -> bool:
    from pyspark.sql import types as T

    if isinstance(kind, T.StructType):
        return all(_has_doubles_alone(field.dataType) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return _has_doubles_alone(kind.elementType)
    if isinstance(kind, T.MapType):
        return _has_doubles_alone(kind.valueType)
    return not isinstance(kind, T.FloatType | T.DecimalType)


def _reasons(kind: DataType, text: str, path: tuple[str, ...]) -> Iterator[str]:
    """Return SQL of a reason for each number in a type.

    Args:
        kind: The type.
        text: The value as SQL, its numbers as texts.
        path: Of the value.
    """
    from pyspark.sql import types as T

    if isinstance(kind, T.StructType):
        for field in kind.fields:
            if _texts(field.dataType) is not None:
                yield from _reasons(field.dataType, f"{text}.{quoted(field.name)}", (*path, field.name))
        return
    if isinstance(kind, T.ArrayType | T.MapType):
        element, values = (
            (kind.elementType, text) if isinstance(kind, T.ArrayType) else (kind.valueType, f"map_values({text})")
        )
        each = f"each{len(path)}"
        for reason in _reasons(element, each, (*path, "[]")):
            found = f"transform({values}, {each} -> {reason})"
            yield f"get(filter({found}, reason -> reason IS NOT NULL), 0)"
        return
    name = kind.simpleString()
    held = f"try_cast({text} AS {name})"
    if isinstance(kind, T.DecimalType):
        is_inexact = f"{held} IS NULL OR {held} != try_cast({text} AS decimal(38,18))"
    else:
        is_whole, whole = rf"{text} RLIKE r'^-?\d+$'", f"try_cast({text} AS bigint)"
        is_inexact = (
            f"if({is_whole}, NOT coalesce({held} < {_BEYOND} AND try_cast({held} AS bigint) = {whole}, false),"
            f" coalesce(abs({held}) = double('Infinity'), true))"
        )
    why = f"field {dotted(path)} is {name} in the table, which cannot hold exactly: "
    shown = f"if(contains({text}, 'Infinity'), 'a number beyond its range', left({text}, {VALUE_LENGTH}))"
    yield f"if({text} IS NOT NULL AND ({is_inexact}), {literal(why)} || {shown}, NULL)"
