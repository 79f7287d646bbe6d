"""How Spark's types and values stand in PostgreSQL, both ways.

| Spark | PostgreSQL |
| --- | --- |
| BYTE, SHORT; INT; LONG | smallint; integer; bigint |
| FLOAT; DOUBLE | real; double precision |
| DECIMAL(p, s) | numeric(p,s) |
| BOOLEAN; BINARY; DATE | boolean; bytea; date |
| STRING | text |
| TIMESTAMP; TIMESTAMP_NTZ | timestamp with time zone; without |
| STRUCT, ARRAY, MAP | jsonb; the Spark type stands, as JSON, in the column's comment |

No text of PostgreSQL holds the character NUL. It is stored as its picture, U+2400, and what was there stands, whole, in
the column `_nul` of the same row: a JSON object of the values in base64 by their columns. A table gets this column with
its first NUL, and `restored` undoes it.

Source: PostgreSQL 15, "COPY", text format; "JSON Types".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import ColumnLimits, TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

NUL_COLUMN = "_nul"
_NUL_PICTURE = "\u2400"
_NULL = "\\N"
# How a line of `as_lines` begins that has no NUL in it.
WITHOUT_NUL = f"{_NULL}\t"
MAX_NAME_BYTES = 63
# Of columns that staging tables have beside those of the rows.
ATTEMPT_COLUMN = "_barnabas_attempt"
# A table has 1,600 columns at most, columns of its own included.
COLUMN_LIMITS = ColumnLimits(
    1_580,
    MAX_NAME_BYTES,
    frozenset({NUL_COLUMN, ATTEMPT_COLUMN, "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}),
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
    """Name the type of a column as PostgreSQL does.

    Raises:
        TableError: PostgreSQL has none for it, or the column's name is too long or taken.
    """
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StringType, StructType

    kind = field.dataType
    if len(field.name.encode()) > MAX_NAME_BYTES:
        raise TableError(f"column {field.name!r}: PostgreSQL's names have at most {MAX_NAME_BYTES} bytes: rename it")
    if field.name == NUL_COLUMN:
        raise TableError(f"column {NUL_COLUMN!r} holds the texts with NUL characters of the others: rename it")
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


def merged(old: DataType, new: DataType) -> DataType:
    """Return the type that has the fields of both; `old` where they are no objects."""
    from pyspark.sql.types import ArrayType, MapType, NullType, StructField, StructType

    if isinstance(old, StructType) and isinstance(new, StructType):
        fields = {field.name.lower(): field for field in old.fields}
        for field in new.fields:
            name = field.name.lower()
            kind = merged(fields[name].dataType, field.dataType) if name in fields else field.dataType
            fields[name] = StructField(fields[name].name if name in fields else field.name, kind)
        return StructType(list(fields.values()))
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return ArrayType(merged(old.elementType, new.elementType))
    if isinstance(old, MapType) and isinstance(new, MapType):
        return MapType(old.keyType, merged(old.valueType, new.valueType))
    return new if isinstance(old, NullType) else old


def without_bytes(rows: DataFrame) -> DataFrame:
    """Make smallints of what is smaller, as PostgreSQL does."""
    from pyspark.sql.types import ByteType

    return rows.selectExpr(
        *(
            f"CAST({quoted(field.name)} AS SMALLINT) AS {quoted(field.name)}"
            if isinstance(field.dataType, ByteType)
            else quoted(field.name)
            for field in rows.schema.fields
        )
    )


def as_lines(rows: DataFrame) -> DataFrame:
    """Return each row as a line of COPY's text format: the NULs of its texts, then its columns.

    The work is done in Spark's JVM: Python has only to hand the lines on.
    """
    from pyspark.sql import functions as F

    texts: dict[str, tuple[Column, Column]] = {}
    for field in rows.schema.fields:
        pair = _text_and_stored(rows[quoted(field.name)], field)
        if pair is not None:
            texts[field.name] = pair
    nul: Column = F.lit(_NULL)
    if texts:
        whole = F.to_json(
            F.struct(
                *(
                    F.when(text != stored, F.base64(F.encode(text, "UTF-8"))).alias(name)
                    for name, (text, stored) in texts.items()
                )
            )
        )
        nul = F.when(whole == "{}", F.lit(_NULL)).otherwise(_escaped(whole))
    columns = [
        F.coalesce(
            _escaped(texts[field.name][1]) if field.name in texts else _plain(rows[quoted(field.name)], field.dataType),
            F.lit(_NULL),
        )
        for field in rows.schema.fields
    ]
    return rows.select(F.concat_ws("\t", nul, *columns).alias("line"))


def restored(rows: DataFrame, schema: StructType) -> DataFrame:
    """Return rows as they were written, from what a query gives: jsonb as text, and `_nul` where the table has it."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    kept = F.from_json(F.col(NUL_COLUMN), "MAP<STRING, STRING>") if NUL_COLUMN in rows.columns else None
    columns = []
    for field in schema.fields:
        column = F.col(quoted(field.name))
        is_json = _is_nested(field.dataType)
        if kept is not None and (is_json or isinstance(field.dataType, StringType)):
            column = F.coalesce(F.decode(F.unbase64(kept[field.name]), "UTF-8"), column)
        if is_json:
            column = F.from_json(column, field.dataType, _FORMATS)  # type: ignore[arg-type]  # takes any nested type
        columns.append(column.alias(field.name))
    return rows.select(*columns)


def _is_nested(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType

    return isinstance(kind, StructType | ArrayType | MapType)


def _text_and_stored(column: Column, field: StructField) -> tuple[Column, Column] | None:
    """Return a text or JSON column as it is, and as PostgreSQL takes it; None for any other."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    if isinstance(field.dataType, StringType):
        return column, F.replace(column, F.lit("\0"), F.lit(_NUL_PICTURE))
    if not _is_nested(field.dataType):
        return None
    text = F.to_json(column, _FORMATS)
    # A NUL's escape, and not an escaped backslash before "u0000".
    stored = F.regexp_replace(text, r"(?<!\\)((?:\\\\)*)\\u0000", f"$1{_NUL_PICTURE}")
    return text, F.when(F.instr(text, "\\u0000") > 0, stored).otherwise(text)


def _plain(column: Column, kind: DataType) -> Column:
    """Return a value in which nothing has to be escaped."""
    from pyspark.sql import functions as F

    match kind.typeName():
        case "binary":
            return F.concat(F.lit("\\\\x"), F.hex(column))
        case "timestamp":
            return F.date_format(column, _FORMATS["timestampFormat"])
        case "timestamp_ntz":
            return F.date_format(column, _NTZ_FORMAT)
        case _:
            return column.cast("string")


def _escaped(column: Column) -> Column:
    from pyspark.sql import functions as F

    for character, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        column = F.replace(column, F.lit(character), F.lit(escape))
    return column
