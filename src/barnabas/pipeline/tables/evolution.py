"""JSON records without a declared schema, brought into the columns of a table that grow with them.

New fields become new columns, within objects too. A field that has another type than its column makes its record a bad
one, with a reason: the table never changes a type, and a value is never bent or dropped. `shapes.py` says what fits. A
table that can widens a column for numbers that it is too narrow for: all of the column where it has several.

Two records of one batch that differ about a new field: the shape that more records have decides, the text of the shape
where they are as many. So it comes out the same when the batch is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.tables.columns import quoted, widened
from barnabas.pipeline.tables.commits import COMMIT_COLUMN
from barnabas.pipeline.tables.exactness import inexact_numbers
from barnabas.pipeline.tables.shapes import (
    HALF_A_PAIR,
    MAXIMUM_DEPTH,
    MISREAD,
    NO_JSON,
    NO_UTF8,
    NO_VALUE,
    TOO_DEEP,
    VALUE_LENGTH,
    Columns,
    MisfitError,
    has_types_of_json,
)
from barnabas.pipeline.tables.table import USUAL_LIMITS, ColumnLimits

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

RESERVED = (*PLACE, KEY, DELETED, COMMIT_COLUMN)

# More in one batch are records whose fields are keys; the rarest are bad then.
_MAXIMUM_SHAPE_COUNT = 5_000

_SHAPE, _REASON, _PATH, _PARSED, _MISREAD = "_shape", "reason", "_path", "_parsed", "_barnabas_misread"
_NUMBERS = "_numbers"

# What stands for a number with a fraction, and for a whole one written with `.0`, whatever its digits.
_FRACTION = r"DECIMAL\((?:\d|1[0-8]),0\)|DECIMAL\(\d+,[1-9]\d*\)"


# Whether a text is nested too deep, by its brackets outside of strings. Few texts have so many brackets at all.
_IS_TOO_DEEP = rf"""
    octet_length(value) - octet_length(replace(replace(value, '[', ''), '{{', '')) > {MAXIMUM_DEPTH} AND aggregate(
        regexp_extract_all(
            regexp_replace(
                translate(regexp_replace(replace(replace(value, r'\\', ''), r'\"', ''), '"[^"]*+"', ''), '{{}}', '[]'),
                r'[^\[\]]++', ''
            ),
            r'\[++|\]++', 0
        ),
        struct(0 AS depth, 0 AS most),
        (found, run) -> if(
            startswith(run, '['),
            struct(found.depth + length(run) AS depth, greatest(found.most, found.depth + length(run)) AS most),
            struct(found.depth - length(run) AS depth, found.most AS most)
        ),
        found -> found.most > {MAXIMUM_DEPTH}
    )
"""
# The first escape of half a surrogate pair, with some text before it for the reason; "" where there is none.
_HALF_A_PAIR = r"""
    if(
        value RLIKE r'\\u[dD][89a-fA-F]',
        regexp_extract(
            regexp_replace(
                replace(value, r'\\', '__'), r'\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}', '__'
            ),
            r'.{0,60}\\u[dD][89a-fA-F][0-9a-fA-F]{2}', 0
        ),
        ''
    )
"""


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


def conform(
    values: DataFrame,
    table: StructType | None,
    reserved: Sequence[str] = RESERVED,
    *,
    widens: bool = False,
    limits: ColumnLimits = USUAL_LIMITS,
) -> Conformed:
    """Divide records into those that fit a table, new columns included, and those that do not.

    Args:
        values: A column `value` (STRING) with JSON, and any others, which are carried along and are reserved like the
            ones below. It is read once here and once by each of `good` and `bad`: persist it where that is dear.
        table: The table's columns; None when it is not there yet.
        reserved: The table's columns that are not the records'; a field of such a name gets a column with `_` behind.
        widens: Whether the table's columns of numbers can become wider.
        limits: Of the columns that the table can have.
    """
    from pyspark.sql import functions as F

    shaped = values.withColumn(_SHAPE, _shape())
    carried = [name for name in values.columns if name != "value"]
    columns = Columns(table, (*reserved, *carried), limits)
    outgrown = _outgrown(columns) if widens else {}
    counts = shaped.groupBy(_SHAPE).agg(F.count(F.lit(1)).alias("count"), *map(F.bool_or, outgrown.values()))
    counted = counts.orderBy(F.desc("count"), _SHAPE).limit(_MAXIMUM_SHAPE_COUNT + 1).collect()
    misfits: list[tuple[str, str, str]] = []
    to_widen: set[str] = set()
    for row in counted[:_MAXIMUM_SHAPE_COUNT]:
        try:
            if row[_SHAPE] is not None:
                columns.add(row[_SHAPE])
                to_widen.update(name for name, is_outgrown in zip(outgrown, row[2:], strict=True) if is_outgrown)
        except MisfitError as misfit:
            misfits.append((row[_SHAPE], misfit.reason, misfit.path))
    columns.widen(to_widen)
    is_whole = not misfits and len(counted) <= _MAXIMUM_SHAPE_COUNT and all(row[_SHAPE] is not None for row in counted)
    judged = values.withColumn(_REASON, F.lit(None).cast("string"))
    if not is_whole:
        judged = _judged(shaped, misfits, [row[_SHAPE] for row in counted])
    # Where types are those of JSON a shape tells all; else it is up to the value: a text that is no time, a number that
    # is too large for an INT. That costs another look at each record.
    is_told_by_shape = all(has_types_of_json(field.dataType) for field in columns.schema.fields)
    if inexact := inexact_numbers(columns.schema, columns.field_of, _NUMBERS):
        written, reason = inexact
        judged = judged.withColumn(_NUMBERS, F.when(F.col(_REASON).isNull(), written))
        judged = judged.withColumn(_REASON, F.coalesce(F.col(_REASON), F.expr(reason)))
    parsed = judged.withColumn(_PARSED, F.when(F.col(_REASON).isNull(), _parse(columns, is_told_by_shape)))
    if not is_told_by_shape:
        misread = F.when(F.col(_PARSED)[_MISREAD].isNotNull(), MISREAD)
        parsed = parsed.withColumn(_REASON, F.coalesce(F.col(_REASON), misread))
    good = parsed.where(F.col(_REASON).isNull()).select(
        *map(quoted, carried),
        *(F.col(_PARSED)[columns.field_of(field.name)].alias(field.name) for field in columns.schema.fields),
    )
    bad = parsed.where(F.col(_REASON).isNotNull()).select(*map(quoted, values.columns), _REASON)
    return Conformed(columns.schema, columns.has_grown, good, bad)


def _judged(shaped: DataFrame, misfits: Sequence[tuple[str, str, str]], shapes: Sequence[str | None]) -> DataFrame:
    """Say of each record why it is bad, in the column `_REASON`; null where it is not.

    Args:
        shaped: The records with their shapes.
        misfits: Shapes that do not fit, why, and the path of the field.
        shapes: All shapes that were looked at, and one more where there are still others.
    """
    from pyspark.sql import functions as F

    spark = shaped.sparkSession
    reason = (
        F.when(F.col("value").isNull(), NO_VALUE)
        .when(~F.is_valid_utf8("value"), NO_UTF8)
        .when(F.expr(_IS_TOO_DEEP), TOO_DEEP)
        .when(F.expr(_HALF_A_PAIR) != "", F.concat(F.lit(f"{HALF_A_PAIR}: "), F.expr(_HALF_A_PAIR)))
        .when(F.col(_SHAPE).isNull(), NO_JSON)
        .otherwise(F.lit(None))
    )
    if len(shapes) > _MAXIMUM_SHAPE_COUNT:
        known = spark.createDataFrame([(shape,) for shape in shapes[:-1]], f"{_SHAPE} STRING")
        shaped = shaped.join(F.broadcast(known.withColumn("_is_known", F.lit(True))), _SHAPE, "left")
        reason = F.coalesce(reason, F.when(F.col("_is_known").isNull(), "the batch has too many kinds of records"))
    if misfits:
        misfit_rows = spark.createDataFrame(list(misfits), f"{_SHAPE} STRING, _misfit STRING, {_PATH} STRING")
        shaped = shaped.join(F.broadcast(misfit_rows), _SHAPE, "left")
        found = F.expr(f"get_json_object(value, concat('$', {_PATH}))")
        with_value = F.concat(F.col("_misfit"), F.lit(": "), F.substring(found, 1, VALUE_LENGTH))
        reason = F.coalesce(reason, F.when(F.col(_PATH) != "", with_value), F.col("_misfit"))
    return shaped.withColumn(_REASON, reason)


def _shape() -> Column:
    """Return a record's shape; null where it is not one JSON value, is nested too deep, or has half a surrogate pair.

    The parser stops behind the first value, whatever comes then; so it is given an array that must have one element.
    """
    from pyspark.sql import functions as F

    array = F.try_parse_json(F.concat(F.lit("["), F.try_validate_utf8("value"), F.lit("]")))
    one = F.try_variant_get(array, "$[0]", "variant")
    is_one = F.try_variant_get(array, "$[1]", "variant").isNull()
    is_one = ~F.expr(_IS_TOO_DEEP) & (F.expr(_HALF_A_PAIR) == "") & is_one
    return F.when(is_one, F.regexp_replace(F.schema_of_variant(one), _FRACTION, "DOUBLE"))


def _outgrown(columns: Columns) -> dict[str, Column]:
    """Say of each column with numbers that can be wider whether a record's are too wide for it."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructField, StructType

    narrow = [field for field in columns.schema.fields if widened(field.dataType) != field.dataType]
    fields = [StructField(columns.field_of(field.name), widened(field.dataType)) for field in narrow]
    found = F.from_json("value", StructType(fields))

    def text(value: Column) -> Column:
        # Of a FLOAT with the digits that it holds: 0.1 is as good there as in a DOUBLE.
        return F.to_json(F.struct(value))

    values = {field.name: found[columns.field_of(field.name)] for field in narrow}
    return {
        field.name: text(values[field.name].alias("value"))
        != text(values[field.name].try_cast(field.dataType).alias("value"))
        for field in narrow
    }


def _parse(columns: Columns, is_told_by_shape: bool) -> Column:
    """Return the fields of a record that fits; one that can't be read although its shape fits ends the batch."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [StructField(columns.field_of(field.name), field.dataType) for field in columns.schema.fields]
    options = {"allowNonNumericNumbers": "false"}
    if is_told_by_shape:
        return F.from_json("value", StructType(fields), {**options, "mode": "FAILFAST"})
    schema = StructType([*fields, StructField(_MISREAD, StringType())])
    return F.from_json("value", schema, {**options, "columnNameOfCorruptRecord": _MISREAD})
