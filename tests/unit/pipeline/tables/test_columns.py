"""What a column's type becomes where its numbers are widened."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from barnabas.pipeline.tables.columns import widened

INT, LONG, FLOAT, DOUBLE, STRING = IntegerType(), LongType(), FloatType(), DoubleType(), StringType()


def objects(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (INT, LONG, LONG),
        (LONG, INT, LONG),
        (FLOAT, DOUBLE, DOUBLE),
        # Not all whole numbers of 32 bits are a FLOAT, and who reads whole ones wants no fraction.
        (INT, DOUBLE, INT),
        (STRING, LONG, STRING),
        (INT, None, LONG),
        (FLOAT, None, DOUBLE),
        (STRING, None, STRING),
        (ArrayType(INT, False), ArrayType(LONG), ArrayType(LONG, False)),
        (MapType(INT, INT), MapType(LONG, LONG), MapType(INT, LONG)),
        (objects(a=INT, b=INT, c=STRING), objects(A=LONG, d=LONG), objects(a=LONG, b=INT, c=STRING)),
        (objects(a=INT), objects(), objects(a=INT)),
        (ArrayType(objects(a=INT, b=FLOAT)), None, ArrayType(objects(a=LONG, b=DOUBLE))),
        (objects(a=INT), LONG, objects(a=INT)),
    ],
)
def test_numbers_become_as_wide_as_the_wider_of_both(own: DataType, other: DataType | None, expected: DataType) -> None:
    assert widened(own, other) == expected
