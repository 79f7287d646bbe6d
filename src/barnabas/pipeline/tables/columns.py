"""Columns of rows that are to be written, held against those of the table that they go to.

A column is known by its name whatever its case, as in Spark. A table never changes the type of a column: what its
readers have taken for a number stays one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


def quoted(name: str) -> str:
    """Return a column's name as it stands in SQL, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return a text as it stands in SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def aligned(rows: DataFrame, schema: StructType | None, location: str) -> DataFrame:
    """Return rows under the table's own spelling of its columns; new columns stay, unless they are null throughout.

    Args:
        rows: What is to be written.
        schema: The table's; None when it is not there yet.
        location: Of the table, for the error.

    Raises:
        TableError: a column has another type than in the table, or two differ in case only.
    """
    from pyspark.sql.types import NullType

    known = {field.name.lower(): field for field in schema.fields} if schema else {}
    chosen: list[str] = []
    seen: dict[str, str] = {}
    for field in rows.schema.fields:
        name = field.name.lower()
        if name in seen:
            raise TableError(f"{location}: columns {seen[name]!r} and {field.name!r} differ in case only: rename one")
        seen[name] = field.name
        if name not in known:
            # Spark's type of a column of which nothing is known yet; no format can hold it.
            if not isinstance(field.dataType, NullType):
                chosen.append(quoted(field.name))
            continue
        target = known[name]
        if difference := type_difference(target.dataType, field.dataType, target.name):
            column, of_table, of_rows = difference
            raise TableError(
                f"{location}: column {column} is {of_table} in the table and {of_rows} in the new rows: "
                "convert it, or write to another column"
            )
        source = quoted(field.name)
        if isinstance(field.dataType, NullType):
            source = f"CAST(NULL AS {target.dataType.simpleString()})"
        chosen.append(f"{source} AS {quoted(target.name)}")
    return rows.selectExpr(*chosen)


def with_all_columns(rows: DataFrame, schema: StructType) -> DataFrame:
    """Add the table's columns that rows do not have, as nulls; `rows` are aligned."""
    there = {name.lower() for name in rows.columns}
    missing = [field for field in schema.fields if field.name.lower() not in there]
    if not missing:
        return rows
    from pyspark.sql import functions as F

    return rows.select("*", *(F.lit(None).cast(field.dataType).alias(field.name) for field in missing))


def type_difference(table: DataType, rows: DataType, column: str) -> tuple[str, str, str] | None:
    """Find the first column or field whose type differs: its name with dots, its type in the table and in the rows.

    A field of an object that one of both does not have is no difference.
    """
    from pyspark.sql.types import ArrayType, MapType, NullType, StructType

    if isinstance(table, StructType) and isinstance(rows, StructType):
        known = {field.name.lower(): field for field in table.fields}
        for field in rows.fields:
            target = known.get(field.name.lower())
            if target is not None:
                found = type_difference(target.dataType, field.dataType, f"{column}.{target.name}")
                if found:
                    return found
        return None
    if isinstance(table, ArrayType) and isinstance(rows, ArrayType):
        return type_difference(table.elementType, rows.elementType, f"{column}[]")
    if isinstance(table, MapType) and isinstance(rows, MapType):
        return type_difference(table.keyType, rows.keyType, f"{column}.key") or type_difference(
            table.valueType, rows.valueType, f"{column}.value"
        )
    if isinstance(rows, NullType) or table == rows:
        return None
    return column, table.simpleString(), rows.simpleString()


def merged(table: StructType | None, rows: StructType) -> StructType:
    """Return the columns of a table after such rows: its own in their order, then the new ones; all may be null.

    Fields of objects are merged likewise. Types are the table's: `aligned` has seen to it that they are the same.
    """
    from pyspark.sql.types import StructField, StructType

    fields = {field.name.lower(): field for field in table.fields} if table else {}
    for field in rows.fields:
        name = field.name.lower()
        known = fields.get(name)
        data_type = _merged_type(known.dataType, field.dataType) if known else field.dataType
        fields[name] = StructField(known.name if known else field.name, data_type)
    return StructType([StructField(field.name, field.dataType) for field in fields.values()])


def _merged_type(table: DataType, rows: DataType) -> DataType:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(table, StructType) and isinstance(rows, StructType):
        return merged(table, rows)
    if isinstance(table, ArrayType) and isinstance(rows, ArrayType):
        return ArrayType(_merged_type(table.elementType, rows.elementType))
    if isinstance(table, MapType) and isinstance(rows, MapType):
        return MapType(table.keyType, _merged_type(table.valueType, rows.valueType))
    return table
