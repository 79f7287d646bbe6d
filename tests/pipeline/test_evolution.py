"""JSON records without a declared schema, into a table that grows with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.tables.evolution import Conformed, conform
from barnabas.pipeline.tables.places import open_table
from barnabas.pipeline.tables.table import Progress
from tests.plainly_bad import PLAINLY_BAD
from tests.spark import forgets_sockets, forgotten_sockets, shared_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["forgotten_sockets"]  # a fixture of every test here

pytestmark = forgets_sockets


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


def records(spark: SparkSession, *values: str | None) -> DataFrame:
    return spark.createDataFrame(list(enumerate(values)), "_offset BIGINT, value STRING")


def schema_of(spark: SparkSession, ddl: str) -> StructType:
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def good(done: Conformed) -> dict[int, dict[str, object]]:
    rows = [row.asDict(recursive=True) for row in done.good.collect()]
    return {row.pop("_offset"): row for row in rows}


def bad(done: Conformed) -> dict[int, str]:
    return {row["_offset"]: row["reason"] for row in done.bad.collect()}


def test_columns_come_from_the_records(spark: SparkSession) -> None:
    rows = records(
        spark,
        '{"page": "/", "bytes": 7, "took": 1, "by": {"name": "x", "tags": ["a"]}, "none": null, "with.dot": true}',
        '{"page": "/a", "took": 0.5, "by": {"age": 3, "tags": []}, "_offset": 17, "empty": {}}',
    )
    done = conform(rows, None)
    assert done.schema.simpleString() == (
        "struct<_offset_:bigint,by:struct<age:bigint,name:string,tags:array<string>>,page:string,took:double,"
        "bytes:bigint,with.dot:boolean>"
    )
    assert done.has_grown
    assert bad(done) == {}
    assert good(done) == {
        0: {
            "by": {"name": "x", "tags": ["a"], "age": None},
            "bytes": 7,
            "page": "/",
            "took": 1.0,
            "with.dot": True,
            "_offset_": None,
        },
        1: {
            "by": {"name": None, "tags": [], "age": 3},
            "bytes": None,
            "page": "/a",
            "took": 0.5,
            "with.dot": None,
            "_offset_": 17,
        },
    }


def test_a_record_that_does_not_fit_is_bad_with_the_value_found(spark: SparkSession) -> None:
    table = schema_of(spark, "_offset BIGINT, page STRING, bytes BIGINT, by STRUCT<age: BIGINT>, at TIMESTAMP, n INT")
    done = conform(
        records(
            spark,
            '{"page": "/", "bytes": 7, "by": {"age": 3}, "at": "2015-05-17T10:05:03Z", "n": 1}',
            '{"page": 7}',
            '{"bytes": "many"}',
            '{"bytes": 1.5, "other": 1}',
            '{"by": {"age": "old"}}',
            '{"at": "yesterday"}',
            '{"n": 3000000000}',
            '{"PAGE": "/"}',
            "[1]",
            '{"page": "/"',
            '{"page": "/"} and more',
            '{"page": "/"}, {"page": "/"}',
            '{"page": "/", "page": "/a"}',
            None,
            '{"bytes": 123456789012345678901}',
        ),
        table,
    )
    assert list(good(done)) == [0]
    assert not done.has_grown
    no_json = "the value is not one JSON value, or a field stands in it twice"
    misread = "a value can't be read as its column's type"
    assert bad(done) == {
        1: "field page is string in the table, and a whole number here: 7",
        2: "field bytes is bigint in the table, and a string here: many",
        3: "field bytes is bigint in the table, and a number here: 1.5",
        4: "field by.age is bigint in the table, and a string here: old",
        5: misread,
        6: misread,
        7: "field PAGE differs in case only from page: /",
        8: "the record is an array, not an object",
        9: no_json,
        10: no_json,
        11: no_json,
        12: no_json,
        13: "the record has no value",
        14: "field bytes is a whole number beyond 64 bits: 123456789012345678901",
    }


def test_the_reasons_are_those_that_the_quick_reader_gives(spark: SparkSession) -> None:
    table = schema_of(spark, "name STRING, count INT, share DOUBLE, is_new BOOLEAN, at TIMESTAMP, size BIGINT")
    values = [None if value is None else bytearray(value) for value in PLAINLY_BAD]
    rows = spark.createDataFrame(list(enumerate(values)), "_offset BIGINT, value BINARY")
    done = conform(rows.selectExpr("_offset", "CAST(value AS STRING) AS value"), table)
    assert bad(done) == dict(enumerate(PLAINLY_BAD.values()))


def test_columns_that_are_too_narrow_for_a_good_record_are_widened(spark: SparkSession) -> None:
    table = schema_of(
        spark,
        "n INT, o STRUCT<x: SMALLINT, y: INT, z: STRING>, f FLOAT, g FLOAT, l ARRAY<STRUCT<p: INT>>,"
        " m MAP<STRING, INT>, keep INT, also MAP<STRING, INT>, _offset_ INT",
    )
    rows = records(
        spark,
        '{"n": 3000000000, "f": 0.1234567891, "g": 0.1}',
        '{"o": {"x": 40000, "y": 1, "z": "-"}, "l": [{"p": 1}, {"p": -3000000000}], "_offset": 3000000000}',
        '{"m": {"a": 1, "b": 3000000000}, "g": 16777216, "keep": 2147483647, "also": {"a": 1}}',
        '{"keep": 3000000000, "also": "bad"}',
    )
    done = conform(rows, table, widens=True)
    assert done.schema.simpleString() == (
        "struct<n:bigint,o:struct<x:bigint,y:bigint,z:string>,f:double,g:float,l:array<struct<p:bigint>>,"
        "m:map<string,bigint>,keep:int,also:map<string,int>,_offset_:bigint>"
    )
    found = good(done)
    assert (found[0]["n"], found[0]["f"]) == (3_000_000_000, 0.1234567891)
    assert found[1]["o"] == {"x": 40_000, "y": 1, "z": "-"}
    assert (found[1]["l"], found[1]["_offset_"]) == ([{"p": 1}, {"p": -3_000_000_000}], 3_000_000_000)
    assert (found[2]["m"], found[2]["keep"]) == ({"a": 1, "b": 3_000_000_000}, 2**31 - 1)
    assert bad(done) == {3: "field also is map<string,int> in the table, and a string here: bad"}


def test_a_number_that_a_column_of_few_digits_cannot_hold_is_bad(spark: SparkSession) -> None:
    table = schema_of(spark, "d DECIMAL(9,2), f FLOAT, m MAP<STRING, DOUBLE>")
    fits = ['{"d": 1.25, "f": 0.1}', '{"d": 1.50, "f": 16777216}', '{"d": 1e2, "m": {"k": 1}}', '{"d": null, "m": {}}']
    wrong = {
        '{"d": 1.005}': "field d is decimal(9,2) in the table, which cannot hold exactly: 1.005",
        '{"d": 12345678}': "field d is decimal(9,2) in the table, which cannot hold exactly: 12345678",
        '{"f": 16777217}': "field f is float in the table, which cannot hold exactly: 16777217",
        '{"f": 1e39}': "field f is float in the table, which cannot hold exactly: 1.0E39",
        '{"m": {"a.b": 9007199254740993}}': "field m[] is double in the table, which cannot hold exactly: "
        "9007199254740993",
        '{"m": {"k": 1e400}}': "field m[] is double in the table, which cannot hold exactly: a number beyond its range",
    }
    done = conform(records(spark, *fits, *wrong), table)
    assert bad(done) == {len(fits) + number: reason for number, reason in enumerate(wrong.values())}
    assert sorted(good(done)) == list(range(len(fits)))


def test_what_most_records_have_decides_about_a_new_field(spark: SparkSession) -> None:
    done = conform(records(spark, '{"a": "x"}', '{"a": 1}', '{"a": 2}'), None)
    assert done.schema.simpleString() == "struct<a:bigint>"
    assert bad(done) == {0: "field a is bigint in most records of the batch, and a string here: x"}
    done = conform(records(spark, '{"a": "x"}', '{"a": 1}'), None)
    assert done.schema.simpleString() == "struct<a:bigint>"


def test_bytes_that_are_no_text_are_not_replaced(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 0 AS _offset, CAST(unhex('7b2261223a22ff227d') AS STRING) AS value")
    assert bad(conform(rows, None)) == {0: "the value is not UTF-8"}


def test_a_field_called_like_a_column_that_is_carried_along_is_kept(spark: SparkSession) -> None:
    rows = records(spark, '{"key": "a", "value": 1, "reason": "why", "_shape": 2}').selectExpr("*", "'k' AS key")
    (found,) = good(conform(rows, None)).values()
    assert found == {"key": "k", "key_": "a", "value": 1, "reason": "why", "_shape": 2}


def test_a_batch_without_records_needs_no_columns(spark: SparkSession) -> None:
    done = conform(records(spark), None)
    assert (done.schema.names, good(done), bad(done)) == ([], {}, {})


@pytest.mark.parametrize("format_name", ["delta", pytest.param("parquet", marks=pytest.mark.whole)])
def test_a_table_grows_with_its_records(spark: SparkSession, format_name: str, tmp_path: Path) -> None:
    table = open_table(spark, str(tmp_path / "table"), format_name)
    batches = [
        ['{"a": 1, "o": {"x": 1}}', '{"later": null}'],
        ['{"a": 2, "o": {"y": "z"}, "l": [{"p": 1}]}', '{"a": "wrong"}'],
        ['{"later": "now", "l": [{"q": true}, {"p": 2}]}'],
    ]
    bad_count = 0
    for sequence, values in enumerate(batches, 1):
        done = conform(records(spark, *values), table.read().schema if table.exists() else None)
        table.append(done.good, Progress("load", sequence, "cluster", {}, {}))
        bad_count += done.bad.count()
    assert bad_count == 1
    found = sorted(
        json.dumps(row.asDict(recursive=True), sort_keys=True) for row in table.read().drop("_offset").collect()
    )
    assert found == [
        '{"a": 1, "l": null, "later": null, "o": {"x": 1, "y": null}}',
        '{"a": 2, "l": [{"p": 1, "q": null}], "later": null, "o": {"x": null, "y": "z"}}',
        '{"a": null, "l": [{"p": null, "q": true}, {"p": 2, "q": null}], "later": "now", "o": null}',
        '{"a": null, "l": null, "later": null, "o": null}',
    ]
