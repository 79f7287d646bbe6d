"""How Spark's types and values stand in PostgreSQL, both ways.

docs/pipeline/postgresql.md lists the types.

No text of PostgreSQL holds the character NUL. It is stored as its picture, U+2400, and what was there stands, whole, in
the column `_nul` of the same row: a JSON object of the values in base64 by their columns. A table gets this column with
its first NUL, and `restored` undoes it.

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
# A NUL's escape, and not an escaped backslash before "u0000".
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
MAX_NAME_BYTES = 63
# A table has 1,600 columns at most, columns of its own included.
COLUMN_LIMITS = ColumnLimits(
    1_580,
    MAX_NAME_BYTES,
    frozenset({NUL_COLUMN, "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}),
    has_nul=False,
)

# To the microsecond, and with the zone's offset where there is one.
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
    """Return PostgreSQL's type of a column; raise TableError if it has none, or refuses the column's name."""
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
    """Return Spark's type of a column, from PostgreSQL's name of its type and the column's comment."""
    from pyspark.sql.types import DecimalType, StructType

    numeric = _NUMERIC.fullmatch(name)
    if numeric:
        return DecimalType(int(numeric[1]), int(numeric[2]))
    found: object = _SPARK_NAMES.get(name, "string")
    if name == "jsonb" and comment is not None and comment.startswith("{"):
        found = json.loads(comment)
    # The one public way from a type's JSON to the type leads through a structure.
    one = {"name": "x", "type": found, "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [one]}).fields[0].dataType


def without_nul(text: str, kind: str) -> str:
    """Replace NUL characters by their picture; in JSON (`kind` is jsonb) their escapes."""
    if kind == "jsonb":
        return _ESCAPED_NUL.sub(rf"\1{_NUL_PICTURE}", text)
    return text.replace("\0", _NUL_PICTURE)


def is_nested(kind: DataType) -> bool:
    """Return whether PostgreSQL has the values of a type as jsonb."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    return isinstance(kind, StructType | ArrayType | MapType)


def restored(rows: DataFrame, schema: StructType) -> DataFrame:
    """Return rows as they were written, from what a query gives: jsonb as text, and `_nul` where the table has it."""
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
