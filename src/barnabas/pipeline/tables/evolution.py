"""JSON records without a declared schema, brought into the columns of a table that grow with them.

New fields become new columns, within objects too. A field that has another type than its column makes its record a bad
one, with a reason: the table never changes a type, and a value is never bent or dropped. `shapes.py` says what fits.

Two records of one batch that differ about a new field: the shape that more records have decides, the text of the shape
where they are as many. So it comes out the same when the batch is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.job import PLACE
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.commits import COMMIT_COLUMN
from barnabas.pipeline.tables.shapes import Columns, MisfitError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

RESERVED = (*PLACE, COMMIT_COLUMN)

# More in one batch are records whose fields are keys; the rarest are bad then.
_MAXIMUM_SHAPE_COUNT = 5_000
_VALUE_LENGTH = 100

_SHAPE, _REASON, _PATH, _PARSED, _MISREAD = "_shape", "reason", "_path", "_parsed", "_barnabas_misread"

# What stands for a number with a fraction, and for a whole one written with `.0`, whatever its digits.
_FRACTION = r"DECIMAL\((?:\d|1[0-8]),0\)|DECIMAL\(\d+,[1-9]\d*\)"


@dataclass(frozen=True, slots=True)
class Conformed:
    """A batch, divided.

    `schema` has the columns that the table's records have from now on, without the reserved ones. `good` has the
    batch's columns beside `value` and then these; `bad` has the batch's columns and `reason`.
    """

    schema: StructType
    has_grown: bool
    good: DataFrame
    bad: DataFrame


def infer(rows: DataFrame) -> StructType:
    """Give the columns that the JSON objects in the column `value` need."""
    return conform(rows, None).schema


def conform(values: DataFrame, table: StructType | None, reserved: Sequence[str] = RESERVED) -> Conformed:
    """Divide records into those that fit a table, new columns included, and those that do not.

    Args:
        values: A column `value` (STRING) with JSON, and any others, which are carried along. It is read once here and
            once by each of `good` and `bad`: persist it where that is dear.
        table: The table's columns; None when it is not there yet.
        reserved: The table's columns that are not the records'; a field of such a name gets a column with `_` behind.
    """
    from pyspark.sql import functions as F  # noqa: N812

    spark = values.sparkSession
    shaped = values.withColumn(_SHAPE, _shape())
    counted = shaped.groupBy(_SHAPE).count().orderBy(F.desc("count"), _SHAPE).limit(_MAXIMUM_SHAPE_COUNT + 1).collect()
    columns = Columns(table, reserved)
    verdicts: list[tuple[str, str, str]] = []
    for row in counted[:_MAXIMUM_SHAPE_COUNT]:
        try:
            if row[_SHAPE] is not None:
                columns.add(row[_SHAPE])
        except MisfitError as misfit:
            verdicts.append((row[_SHAPE], misfit.reason, misfit.path))
    unread = (
        F.when(F.col("value").isNull(), "the record has no value")
        .when(F.col(_SHAPE).isNull(), "the value is not one JSON value, or a field stands in it twice")
        .otherwise(F.lit(None))
    )
    if len(counted) > _MAXIMUM_SHAPE_COUNT:
        known = spark.createDataFrame([(row[_SHAPE],) for row in counted[:-1]], f"{_SHAPE} STRING")
        shaped = shaped.join(F.broadcast(known.withColumn("_is_known", F.lit(True))), _SHAPE, "left")
        unread = F.coalesce(unread, F.when(F.col("_is_known").isNull(), "the batch has too many kinds of records"))
    if verdicts:
        verdict_rows = spark.createDataFrame(verdicts, f"{_SHAPE} STRING, _verdict STRING, {_PATH} STRING")
        shaped = shaped.join(F.broadcast(verdict_rows), _SHAPE, "left")
        found = F.expr(f"get_json_object(value, concat('$', {_PATH}))")
        with_value = F.concat(F.col("_verdict"), F.lit(": "), F.substring(found, 1, _VALUE_LENGTH))
        unread = F.coalesce(unread, F.when(F.col(_PATH) != "", with_value), F.col("_verdict"))
    judged = shaped.withColumn(_REASON, unread)
    parsed = judged.withColumn(_PARSED, F.when(F.col(_REASON).isNull(), _parse(columns)))
    # Where the column's type leaves it to the value: a text that is no time, a number that is too large for an INT.
    is_misread = F.col(_PARSED)[_MISREAD].isNotNull()
    carried = [quoted(name) for name in values.columns if name != "value"]
    good = parsed.where(F.col(_REASON).isNull() & ~F.coalesce(is_misread, F.lit(False))).select(
        *carried,
        *(F.col(_PARSED)[columns.field_of(field.name)].alias(field.name) for field in columns.schema.fields),
    )
    misread = F.when(is_misread, "a value can't be read as its column's type")
    bad = parsed.withColumn(_REASON, F.coalesce(F.col(_REASON), misread)).where(F.col(_REASON).isNotNull())
    return Conformed(columns.schema, columns.has_grown, good, bad.select(*map(quoted, values.columns), _REASON))


def _shape() -> Column:
    """Give a record's shape; null where it is not one JSON value.

    The parser stops behind the first value, whatever comes then; so it is given an array that must have one element.
    """
    from pyspark.sql import functions as F  # noqa: N812

    array = F.try_parse_json(F.concat(F.lit("["), F.col("value"), F.lit("]")))
    one = F.try_variant_get(array, "$[0]", "variant")
    is_one = F.try_variant_get(array, "$[1]", "variant").isNull()
    return F.when(is_one, F.regexp_replace(F.schema_of_variant(one), _FRACTION, "DOUBLE"))


def _parse(columns: Columns) -> Column:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [StructField(columns.field_of(field.name), field.dataType) for field in columns.schema.fields]
    schema = StructType([*fields, StructField(_MISREAD, StringType())])
    return F.from_json("value", schema, {"columnNameOfCorruptRecord": _MISREAD, "allowNonNumericNumbers": "false"})
