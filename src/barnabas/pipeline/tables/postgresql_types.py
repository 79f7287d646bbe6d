"""Conversions of types and values between Spark and PostgreSQL.

docs/pipeline/postgresql.md lists the types.

PostgreSQL's texts can't contain the character NUL. It is stored as U+2400 (symbol for null). The column `_nul` of the
same row then has the original values: a JSON object from column to the whole value in base64. The first NUL in a table
adds this column, and `restored` restores the values.

Source: PostgreSQL 15, "JSON Types".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import ColumnLimits, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

NUL_COLUMN = "_nul"
_NUL_PICTURE = "\u2400"
# The JSON escape of NUL, but not an escaped backslash before "u0000".
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
MAX_NAME_BYTES = 63
# PostgreSQL's limit is 1,600 columns, including the table's own columns.
COLUMN_LIMITS = ColumnLimits(
    1_580,
    MAX_NAME_BYTES,
    frozenset({NUL_COLUMN, "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}),
    has_nul=False,
)

# Microseconds, and the zone's offset for timestamps with a zone.
_NTZ_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_FORMATS = {"timestampFormat": f"{_NTZ_FORMAT}XXX", "timestampNTZFormat": _NTZ_FORMAT}

_NAMES = {
    "byte": "smallint",
    "short": "smallint",
    "integer": "integer",
    "long": "bigint",
    "float": "real",
    "double": "double precision",
    "boolean": "boolean",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}
_SPARK_NAMES = {name: spark for spark, name in _NAMES.items() if spark != "byte"}
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")


def postgresql_type(field: StructField) -> str:
    """Return a column's PostgreSQL type; raise TableError if PostgreSQL does not support its type or name."""
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StringType, StructType

    kind = field.dataType
    if len(field.name.encode()) > MAX_NAME_BYTES:
        raise TableError(f"column {field.name!r}: PostgreSQL's names have at most {MAX_NAME_BYTES} bytes: rename it")
    if field.name == NUL_COLUMN:
        raise TableError(f"column name {NUL_COLUMN!r} is reserved for texts with NUL characters: rename it")
    if isinstance(kind, StructType | ArrayType | MapType):
        return "jsonb"
    if isinstance(kind, DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    if isinstance(kind, StringType):
        return "text"
    if kind.typeName() not in _NAMES:
        raise TableError(f"column {field.name!r}: PostgreSQL has no type for {kind.simpleString()}: convert it")
    return _NAMES[kind.typeName()]


def spark_type(name: str, comment: str | None) -> DataType:
    """Return a column's Spark type, from the name of its PostgreSQL type and the column's comment."""
    from pyspark.sql.types import DecimalType, StructType

    numeric = _NUMERIC.fullmatch(name)
    if numeric:
        return DecimalType(int(numeric[1]), int(numeric[2]))
    found: object = _SPARK_NAMES.get(name, "string")
    if name == "jsonb" and comment is not None and comment.startswith("{"):
        found = json.loads(comment)
    # pyspark's only public function that parses a type's JSON is the one for a struct.
    one = {"name": "x", "type": found, "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [one]}).fields[0].dataType


def without_nul(text: str, kind: str) -> str:
    """Replace NUL characters by U+2400; in JSON (`kind` is jsonb), replace their escapes."""
    if kind == "jsonb":
        return _ESCAPED_NUL.sub(rf"\1{_NUL_PICTURE}", text)
    return text.replace("\0", _NUL_PICTURE)


def is_nested(kind: DataType) -> bool:
    """Return whether PostgreSQL stores the values of a type as jsonb."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    return isinstance(kind, StructType | ArrayType | MapType)


def restored(rows: DataFrame, schema: StructType) -> DataFrame:
    """Return rows as they were written, from a query's result: jsonb as text, and `_nul` if the table has it."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    kept = F.from_json(F.col(NUL_COLUMN), "MAP<STRING, STRING>") if NUL_COLUMN in rows.columns else None
    columns = []
    for field in schema.fields:
        column = F.col(quoted(field.name))
        is_json = is_nested(field.dataType)
        if kept is not None and (is_json or isinstance(field.dataType, StringType)):
            column = F.coalesce(F.decode(F.unbase64(kept[field.name]), "UTF-8"), column)
        if is_json:
            column = F.from_json(column, field.dataType, _FORMATS)  # type: ignore[arg-type]  # takes any nested type
        columns.append(column.alias(field.name))
    return rows.select(*columns)
