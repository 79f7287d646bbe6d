"""Matches the columns of new rows with the columns of their table.

Column names are case-insensitive, as in Spark. A table never changes the type of a column, as readers depend on it. The
exception: some formats can widen a number to a type that can represent all its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


_WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "float": ("double",),
}


def quoted(name: str) -> str:
    """Return a column name as a quoted SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return a text as a SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def aligned(rows: DataFrame, schema: StructType | None, location: str, *, widens: bool = False) -> DataFrame:
    """Return rows with `aligned_columns`, without new columns of the type null, which no format can store."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import NullType

    own = rows.schema.fields
    columns = aligned_columns(rows.schema, schema, location, widens=widens).fields
    known = [each for each in columns if not isinstance(each.dataType, NullType)]
    if [(each.name, each.dataType) for each in own] == [(each.name, each.dataType) for each in known]:
        # The usual case. A selection would cost several calls to the JVM for each column.
        return rows
    return rows.select(*(F.col(quoted(each.name)).cast(each.dataType).alias(each.name) for each in known))


def aligned_columns(
    columns: StructType, schema: StructType | None, location: str, *, widens: bool = False
) -> StructType:
    """Return columns of rows with the spelling of the table's names, in the order of the rows.

    Args:
        columns: Columns of the rows.
        schema: The table's schema; None if the table does not exist yet.
        location: Location of the table, for errors.
        widens: Whether a number may be wider than the table's. Narrower numbers then get the table's type.

    Raises:
        TableError: a column has another type than in the table, or two columns differ in case only.
    """
    from pyspark.sql.types import NullType, StructField, StructType

    known = {field.name.lower(): field for field in schema.fields} if schema else {}
    chosen: dict[str, StructField] = {}
    for field in columns.fields:
        name = field.name.lower()
        if name in chosen:
            raise TableError(
                f"{location}: columns {chosen[name].name!r} and {field.name!r} differ in case only: rename one"
            )
        target = known.get(name, field)
        there, here = target.dataType, field.dataType
        if widens:
            there, here = widened(there, here), widened(here, there)
        if difference := type_difference(there, here, target.name):
            column, of_table, of_rows = difference
            raise TableError(
                f"{location}: column {column} is {of_table} in the table and {of_rows} in the new rows: "
                "convert it, or write to another column"
            )
        chosen[name] = StructField(target.name, there if isinstance(here, NullType) else here)
    return StructType(list(chosen.values()))


def type_difference(table: DataType, rows: DataType, column: str) -> tuple[str, str, str] | None:
    """Return the first column or field whose types differ, or None: its dotted name, the table's type, the rows' type.

    A field that only the table's object or only the rows' object has does not count.
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


def widened(own: DataType, other: DataType | None = None) -> DataType:
    """Return a type with its numbers widened to those of another type, or as far as possible if `other` is None.

    Widening changes no value. A number stays as it is if the other type is not wider.
    """
    from pyspark.sql import types as T

    if isinstance(own, T.StructType) and (other is None or isinstance(other, T.StructType)):
        others = None if other is None else {field.name.lower(): field.dataType for field in other.fields}

        def type_of(field: T.StructField) -> DataType:
            wanted = None if others is None else others.get(field.name.lower(), field.dataType)
            return widened(field.dataType, wanted)

        return T.StructType(
            [T.StructField(field.name, type_of(field), field.nullable, field.metadata) for field in own.fields]
        )
    if isinstance(own, T.ArrayType) and (other is None or isinstance(other, T.ArrayType)):
        return T.ArrayType(widened(own.elementType, other and other.elementType), own.containsNull)
    if isinstance(own, T.MapType) and (other is None or isinstance(other, T.MapType)):
        return T.MapType(own.keyType, widened(own.valueType, other and other.valueType), own.valueContainsNull)
    wider = _WIDER.get(own.simpleString(), ())
    if other is not None:
        return other if other.simpleString() in wider else own
    return own if not wider else T.DoubleType() if wider[-1] == "double" else T.LongType()


def merged(table: StructType | None, rows: StructType) -> StructType:
    """Return a table's columns after a write of rows: its own in their order, then the new ones; all are nullable.

    Fields of objects are merged likewise. Types are the table's: `aligned` has checked that the rows' are the same.
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
