"""Conversions between the columns of Iceberg and of Spark.

Names that Iceberg reserves (`_partition`, `_file`, `_pos`, ...) are stored with an underscore appended; Spark's columns
have the names without it. Spark's columns have Iceberg's field ids, by which its Parquet reader finds them in files.

Source: Iceberg's table specification, schemas and data types, reserved field names; Spark 4.0, `ParquetUtils.FIELD_ID`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from pyiceberg import types as ice
from pyiceberg.schema import Schema
from pyspark.sql import types as T

from barnabas.pipeline.tables.table import TableError

_FIELD_ID = "parquet.field.id"
_RESERVED = frozenset(
    ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")
)
# If several Spark types map to one Iceberg type, columns are read as the last one.
_PRIMITIVES: tuple[tuple[T.DataType, ice.IcebergType], ...] = (
    (T.BooleanType(), ice.BooleanType()),
    (T.ByteType(), ice.IntegerType()),
    (T.ShortType(), ice.IntegerType()),
    (T.IntegerType(), ice.IntegerType()),
    (T.LongType(), ice.LongType()),
    (T.FloatType(), ice.FloatType()),
    (T.DoubleType(), ice.DoubleType()),
    (T.StringType(), ice.StringType()),
    (T.BinaryType(), ice.BinaryType()),
    (T.DateType(), ice.DateType()),
    (T.TimestampType(), ice.TimestamptzType()),
    (T.TimestampNTZType(), ice.TimestampType()),
)
_OF_SPARK = {spark.simpleString(): iceberg for spark, iceberg in _PRIMITIVES}
_OF_ICEBERG = {str(iceberg): spark for spark, iceberg in _PRIMITIVES}


def stored_name(name: str) -> str:
    """Return the name under which Iceberg stores a column."""
    return name + "_" if name.rstrip("_").lower() in _RESERVED else name


def shown_name(name: str) -> str:
    """Return the name of a stored column for users."""
    return name[:-1] if name.endswith("_") and name.rstrip("_").lower() in _RESERVED else name


def iceberg_schema(columns: T.StructType, location: str) -> Schema:
    """Return Iceberg's schema of Spark's columns, all optional; raise TableError if Iceberg lacks a type."""
    ids = count(1)

    def translated(kind: T.DataType, column: str) -> ice.IcebergType:
        match kind:
            case T.StructType():
                return ice.StructType(*fields_of(kind, f"{column}."))
            case T.ArrayType():
                return ice.ListType(next(ids), translated(kind.elementType, f"{column}[]"), False)
            case T.MapType():
                key, value = translated(kind.keyType, f"{column}.key"), translated(kind.valueType, f"{column}.value")
                return ice.MapType(next(ids), key, next(ids), value, False)
            case T.DecimalType():
                return ice.DecimalType(kind.precision, kind.scale)
        if (found := _OF_SPARK.get(kind.simpleString())) is None:
            raise TableError(f"{location}: column {column} has the type {kind.simpleString()}, which Iceberg lacks")
        return found

    def fields_of(struct: T.StructType, path: str) -> Iterable[ice.NestedField]:
        for field in struct.fields:
            name = field.name if path else stored_name(field.name)
            yield ice.NestedField(next(ids), name, translated(field.dataType, f"{path}{field.name}"), required=False)

    return Schema(*fields_of(columns, ""))


def spark_schema(schema: Schema, *, has_ids: bool = False) -> T.StructType:
    """Return a table's columns as Spark columns, with the names for users, without types that Spark lacks.

    Args:
        schema: The table's schema.
        has_ids: Whether to add each field's Iceberg id to its metadata.
    """

    def translated(kind: ice.IcebergType) -> T.DataType | None:
        match kind:
            case ice.StructType():
                return struct_of(kind.fields, is_top=False)
            case ice.ListType():
                element = translated(kind.element_type)
                return element and T.ArrayType(element)
            case ice.MapType():
                key, value = translated(kind.key_type), translated(kind.value_type)
                return T.MapType(key, value) if key and value else None
            case ice.DecimalType():
                return T.DecimalType(kind.precision, kind.scale)
        return _OF_ICEBERG.get(str(kind))

    def struct_of(fields: Iterable[ice.NestedField], *, is_top: bool) -> T.StructType:
        found = []
        for field in fields:
            if (kind := translated(field.field_type)) is not None:
                metadata = {_FIELD_ID: field.field_id} if has_ids else {}
                found.append(T.StructField(shown_name(field.name) if is_top else field.name, kind, True, metadata))
        return T.StructType(found)

    return struct_of(schema.fields, is_top=True)


def columns_without_spark_type(schema: Schema) -> list[tuple[str, str]]:
    """Return the names and types of the columns, and of fields within columns, that `spark_schema` lacks."""
    found = []
    for field_id in sorted(schema.field_ids):
        kind = schema.find_type(field_id)
        if kind.is_primitive and not isinstance(kind, ice.DecimalType) and str(kind) not in _OF_ICEBERG:
            found.append((schema.find_column_name(field_id) or "", str(kind)))
    return found


def part_of(schema: Schema, columns: T.StructType) -> Schema:
    """Return the part of a table's schema that rows have, in the order of the rows.

    Args:
        schema: The table's schema, with all columns of the rows.
        columns: The rows' columns; the result also omits fields of objects that they lack.
    """

    def fields_of(there: ice.StructType | Schema, wanted: T.StructType, *, is_top: bool) -> Iterable[ice.NestedField]:
        known = {field.name.lower(): field for field in there.fields}
        for field in wanted.fields:
            own = known[(stored_name(field.name) if is_top else field.name).lower()]
            kind = translated(own.field_type, field.dataType)
            yield ice.NestedField(own.field_id, own.name, kind, required=own.required)

    def translated(there: ice.IcebergType, wanted: T.DataType) -> ice.IcebergType:
        match there, wanted:
            case ice.StructType(), T.StructType():
                return ice.StructType(*fields_of(there, wanted, is_top=False))
            case ice.ListType(), T.ArrayType():
                element = translated(there.element_type, wanted.elementType)
                return ice.ListType(there.element_id, element, there.element_required)
            case ice.MapType(), T.MapType():
                key, value = translated(there.key_type, wanted.keyType), translated(there.value_type, wanted.valueType)
                return ice.MapType(there.key_id, key, there.value_id, value, there.value_required)
        return there

    return Schema(*fields_of(schema, columns, is_top=True))
