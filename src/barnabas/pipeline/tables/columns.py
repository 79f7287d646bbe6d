"""Columns of rows that are to be written, held against those of the table that they go to.

A column is known by its name whatever its case, as in Spark. A table never changes the type of a column: what its
readers have taken for a number stays one. But a number may become a wider one that holds all its values, in a table
that can.
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
    """Return a column's name as it stands in SQL, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return a text as it stands in SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def aligned(rows: DataFrame, schema: StructType | None, location: str, *, widens: bool = False) -> DataFrame:
    """Return rows in `aligned_columns`; new columns that are null throughout are left out: no format can hold them."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import NullType

    own = rows.schema.fields
    columns = aligned_columns(rows.schema, schema, location, widens=widens).fields
    known = [each for each in columns if not isinstance(each.dataType, NullType)]
    if [(each.name, each.dataType) for each in own] == [(each.name, each.dataType) for each in known]:
        # Most often; each column of a selection is some calls of the JVM.
        return rows
    return rows.select(*(F.col(quoted(each.name)).cast(each.dataType).alias(each.name) for each in known))


def aligned_columns(
    columns: StructType, schema: StructType | None, location: str, *, widens: bool = False
) -> StructType:
    """Return columns of rows under the table's own spelling, in the order of the rows.

    Args:
        columns: Those of the rows.
        schema: The table's; None when it is not there yet.
        location: Of the table, for the error.
        widens: Whether a number may be wider than the table's. One that is narrower comes as the table's then.

    Raises:
        TableError: a column has another type than in the table, or two differ in case only.
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


def widened(own: DataType, other: DataType | None = None) -> DataType:
    """Return a type whose numbers are as wide as another type's where those are wider; as wide as can be without one.

    No value changes by that.
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
