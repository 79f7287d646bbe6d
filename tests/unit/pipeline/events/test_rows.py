"""Reading JSON records as rows of a table that grows with them."""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as T

from barnabas.pipeline.events.rows import RowReader
from barnabas.pipeline.tables.schema_evolution import RESERVED, grown
from barnabas.pipeline.tables.table import USUAL_LIMITS, ColumnLimits
from tests.plainly_bad import NO_JSON, PLAINLY_BAD

LONG, DOUBLE, STRING = T.LongType(), T.DoubleType(), T.StringType()
GOOD = b'{"name":"a","count":1,"share":0.5,"is_new":true,"at":"2026-11-24T10:00:00Z","size":5}'


def struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, data_type) for name, data_type in fields.items()])


PLAIN = struct(
    name=STRING, count=T.IntegerType(), share=DOUBLE, is_new=T.BooleanType(), at=T.TimestampType(), size=LONG
)


def load(
    values: Sequence[str | bytes | None],
    table: T.StructType | None = None,
    limits: ColumnLimits = USUAL_LIMITS,
    reserved: Sequence[str] = RESERVED,
) -> tuple[T.StructType, dict[int, dict[str, Any]], dict[int, str]]:
    """Read values as a batch does; gives the columns, and rows and reasons by the values' numbers."""
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    reader = RowReader(table, limits, reserved)
    rows, reasons = reader.read(encoded)
    columns = grown(table, reader.shapes, limits, reserved)
    if reader.shapes:
        reader = pickle.loads(pickle.dumps(RowReader(columns, limits, reserved, is_final=True)))
        rows, reasons = reader.read(encoded)
        assert not reader.shapes
    found = dict(enumerate(rows.to_pylist()))
    assert [row is None for row in found.values()] == [reason is not None for reason in reasons]
    return (
        columns,
        {number: row for number, row in found.items() if row is not None},
        {number: reason for number, reason in enumerate(reasons) if reason is not None},
    )


def reason_of(value: str | bytes | None, table: T.StructType = PLAIN) -> str:
    """Read a value between good ones; gives its reason, or "read"."""
    good = GOOD if table is PLAIN else b"{}"
    text = value.encode() if isinstance(value, str) else value
    _, rows, reasons = load([good, text, good], table)
    assert rows[0] == rows[2]
    return reasons.get(1, "read")


@pytest.mark.parametrize(
    "value",
    [
        GOOD.decode(),
        "{}",
        ' {"name" : "a", "count"\n: -2147483648}\n',
        '{"name": null, "share": 3, "size": 9223372036854775807}',
        '{"size": -9223372036854775808}',
        '{"share":9007199254740992}',
        '{"share":1152921504606846976}',
        '{"share":1e300}',
        '{"share":0.1234567890123456789012}',
        r'{"name":"a: \"b\": c"}',
        r'{"name":"\\ud83d \ud83d\ude00"}',
        '{"name":"' + "[" * 3_000 + '"}',
        '{"name":"é", "other": null, "more": {}, "list": [], "deep": {"x": [null, {}]}}',
    ],
)
def test_what_fits_is_a_row(value: str) -> None:
    assert reason_of(value) == "read"
    found = RowReader(PLAIN).read([value.encode()])[0].to_pylist()[0]
    at = {"at": datetime(2026, 11, 24, 10, tzinfo=UTC)}
    wanted = json.loads(value)
    assert found == {name: (wanted | at).get(name) if name in wanted else None for name in PLAIN.names}


@pytest.mark.parametrize("value", PLAINLY_BAD)
def test_a_value_that_is_no_row_has_a_reason(value: bytes | None) -> None:
    assert reason_of(value) == PLAINLY_BAD[value]


NOT_EXACT = "in the table, which cannot represent exactly"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("[1]", "the record is an array, not an object"),
        ("5", "the record is a whole number, not an object"),
        ('{"name":"a"}, {"name":"a"}', NO_JSON),
        ('{"name":"a","name":"b"}', NO_JSON),
        ('{"name":"a","name" :"b"}', NO_JSON),
        ('{"name" :"a","name"\n:"b"}', NO_JSON),
        (r'{"name":"\":","name":"b"}', NO_JSON),
        ('{"new":[{"x":{"a":1,"a":1}}]}', NO_JSON),
        ('{"share":NaN}', NO_JSON),
        ('{"Name":"a"}', "field Name differs in case only from name: a"),
        ('{"Name":null}', "field Name differs in case only from name: null"),
        ('{"":null}', "a field of the record has an empty name"),
        (r'{"name":"cut \ud800"}', r'half of a surrogate pair, which UTF-8 cannot encode: {"name":"cut \ud800'),
        ('{"name":1.50}', "field name is string in the table, and a number here: 1.5"),
        ('{"name":{"x": "é"}}', 'field name is string in the table, and an object here: {"x":"é"}'),
        ('{"name":[1]}', "field name is string in the table, and an array here: [1]"),
        ('{"count":1.0}', "field count is int in the table, and a number here: 1.0"),
        ('{"count":2147483648}', f"field count is int {NOT_EXACT}: 2147483648"),
        ('{"size":9223372036854775808}', "field size is a whole number beyond 64 bits: 9223372036854775808"),
        ('{"size":18446744073709551616}', "field size is a whole number beyond 64 bits: 18446744073709551616"),
        ('{"new":18446744073709551616}', "field new is a whole number beyond 64 bits: 18446744073709551616"),
        ('{"share":100000000000000000000}', "field share is a whole number beyond 64 bits: 100000000000000000000"),
        ('{"share":' + "1" * 5_000 + "}", "field share is a whole number beyond 64 bits: " + "1" * 100),
        ('{"share":9007199254740993}', f"field share is double {NOT_EXACT}: 9007199254740993"),
        ('{"share":9223372036854775807}', f"field share is double {NOT_EXACT}: 9223372036854775807"),
        ('{"share":1e400}', f"field share is double {NOT_EXACT}: 1e400"),
        ('{"at":"2026-02-30T10:00:00Z"}', "field at is timestamp in the table, which cannot be parsed from"),
        ("[" * 900_000, "the value is nested more than 32 deep"),
        ('{"o": ' + "[" * 32 + "]" * 32 + "}", "the value is nested more than 32 deep"),
        ('{"o": ' + '{"x": ' * 990 + "1" + "}" * 991, "the value is nested more than 32 deep"),
    ],
)
def test_a_doubtful_value_has_a_reason(value: str, reason: str) -> None:
    assert reason in reason_of(value)
    assert reason_of(value).startswith(reason) or "half of" in reason


def test_columns_come_from_the_records() -> None:
    columns, rows, reasons = load(
        [
            '{"page": "/", "bytes": 7, "took": 1, "by": {"name": "x", "tags": ["a"]}, "none": null, "with.dot": true}',
            '{"page": "/a", "took": 0.5, "by": {"age": 3, "tags": []}, "_offset": 17, "empty": {}}',
        ]
    )
    assert columns.simpleString() == (
        "struct<_offset_:bigint,by:struct<age:bigint,name:string,tags:array<string>>,page:string,took:double,"
        "bytes:bigint,with.dot:boolean>"
    )
    assert reasons == {}
    first = {"by": {"name": "x", "tags": ["a"], "age": None}, "bytes": 7, "page": "/", "took": 1.0}
    second = {"by": {"name": None, "tags": [], "age": 3}, "bytes": None, "page": "/a", "took": 0.5}
    assert rows == {0: {**first, "with.dot": True, "_offset_": None}, 1: {**second, "with.dot": None, "_offset_": 17}}


def test_a_table_grows_in_objects_and_arrays() -> None:
    table: T.StructType | None = None
    found: list[dict[str, Any]] = []
    for values in (
        ['{"a": 1, "o": {"x": 1}}', '{"later": null}'],
        ['{"a": 2, "o": {"y": "z"}, "l": [{"p": 1}]}', '{"a": "wrong"}'],
        ['{"later": "now", "l": [{"q": true}, {"p": 2}]}'],
    ):
        table, rows, _ = load(values, table)
        found += rows.values()
    assert table is not None
    assert (
        table.simpleString()
        == "struct<a:bigint,o:struct<x:bigint,y:string>,l:array<struct<p:bigint,q:boolean>>,later:string>"
    )
    assert [{name: value for name, value in row.items() if value is not None} for row in found] == [
        {"a": 1, "o": {"x": 1}},
        {},
        {"a": 2, "o": {"x": None, "y": "z"}, "l": [{"p": 1}]},
        {"later": "now", "l": [{"p": None, "q": True}, {"p": 2, "q": None}]},
    ]


def test_nested_columns_are_read() -> None:
    table = struct(
        o=struct(a=LONG, l=T.ArrayType(struct(x=DOUBLE, m=T.MapType(STRING, LONG))), e=T.StructType()),
        m=T.MapType(STRING, T.ArrayType(T.DateType())),
    )
    values = [
        '{"o": {"a": 1, "l": [{"x": 1}, null, {"m": {}}, {"m": {"k": 2, "n": null}}], "e": {}}}',
        '{"o": null, "m": {"k": ["2026-11-24", null], "n": null}}',
        '{"m": {}, "o": {"l": []}}',
        '{"o": {"l": [{"x": 9007199254740993}]}}',
        '{"o": {"a": "1"}, "m": {"k": ["never"]}}',
        '{"m": {"k": ["never"]}}',
        '{"o": {"l": [{"x": true}]}}',
    ]
    columns, rows, reasons = load(values, table)
    assert columns == table
    assert rows == {
        0: {
            "o": {
                "a": 1,
                "l": [{"x": 1.0, "m": None}, None, {"x": None, "m": []}, {"x": None, "m": [("k", 2), ("n", None)]}],
                "e": {},
            },
            "m": None,
        },
        1: {"o": None, "m": [("k", [date(2026, 11, 24), None]), ("n", None)]},
        2: {"o": {"a": None, "l": [], "e": None}, "m": []},
    }
    assert reasons == {
        3: f"field o.l[].x is double {NOT_EXACT}: 9007199254740993",
        4: "field o.a is bigint in the table, and a string here: 1",
        5: "field m[][] is date in the table, which cannot be parsed from: never",
        6: 'field o.l[].x is double in the table, and a boolean here: [{"x":true}]',
    }


@pytest.mark.parametrize(
    ("data_type", "text", "value"),
    [
        (T.TimestampType(), "2015-05-17T10:05:03Z", datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)),
        (T.TimestampType(), "2015-05-17 1:05", datetime(2015, 5, 17, 1, 5, tzinfo=UTC)),
        (T.TimestampType(), "2015-05", datetime(2015, 5, 1, tzinfo=UTC)),
        (T.TimestampType(), "2015-05-17T10:05:03.1234567+02:30", datetime(2015, 5, 17, 7, 35, 3, 123456, tzinfo=UTC)),
        (T.TimestampType(), "2015-05-17T10:05:03 Europe/Berlin", datetime(2015, 5, 17, 8, 5, 3, tzinfo=UTC)),
        (T.TimestampType(), " 2015-05-17T10:05:03.  Europe/Berlin\n ", datetime(2015, 5, 17, 8, 5, 3, tzinfo=UTC)),
        (T.TimestampType(), "2015-05-17T10:05:03 UTC\nUTC", None),
        (T.TimestampType(), "2015-05-17T10:05:03+18:00", datetime(2015, 5, 16, 16, 5, 3, tzinfo=UTC)),
        (T.TimestampType(), "2015-05-17T10:05:03+18:01", None),
        (T.TimestampType(), "2015-05-17T10:05:03+05:60", None),
        (T.TimestampType(), "2015-05-17T10:05:03 Nowhere/../x", None),
        (T.TimestampNTZType(), "2015-05-17T10:05:03.5", datetime(2015, 5, 17, 10, 5, 3, 500_000)),
        (T.TimestampNTZType(), "2015-05-17T10:05:03Z", None),
        (T.DateType(), "2015-05-17T10:05:03Z", date(2015, 5, 17)),
        (T.DateType(), "2015-5-7", date(2015, 5, 7)),
        (T.DateType(), "17.5.2015", None),
        (T.BinaryType(), "AAH/", b"\0\1\xff"),
        (T.BinaryType(), "AAH", None),
    ],
)
def test_a_text_is_read_as_its_column_s_type(data_type: T.DataType, text: str, value: object) -> None:
    _, rows, reasons = load([json.dumps({"v": text})], struct(v=data_type))
    if value is None:
        where = f"field v is {data_type.simpleString()} in the table"
        assert reasons == {0: f"{where}, which cannot be parsed from: {text}"}
    else:
        assert rows == {0: {"v": value}}


@pytest.mark.parametrize("text", ["{}x", "2015{}x", "2015-05-17T10:05:03{}x\nx", "2015-05-17T10:05:03.5{}x\nx"])
def test_a_long_text_that_is_no_time_is_refused_at_once(text: str) -> None:
    value = json.dumps({"v": text.format(" " * 100_000)}).encode()
    began_s = time.process_time()
    _, reasons = RowReader(struct(v=T.TimestampType())).read([value])
    assert reasons[0] is not None
    assert time.process_time() - began_s < 1


@pytest.mark.parametrize(
    ("data_type", "number", "value"),
    [
        (T.ByteType(), "-128", -128),
        (T.ByteType(), "128", None),
        (T.ShortType(), "32767", 32767),
        (T.ShortType(), "-32769", None),
        (T.IntegerType(), "3000000000", None),
        (T.FloatType(), "0.1", pytest.approx(0.1)),
        (T.FloatType(), "16777216", 16777216.0),
        (T.FloatType(), "16777217", None),
        (T.FloatType(), "1e39", None),
        (T.DecimalType(9, 2), "1.25", Decimal("1.25")),
        (T.DecimalType(9, 2), "1.500", Decimal("1.50")),
        (T.DecimalType(9, 2), "1e2", Decimal("100.00")),
        (T.DecimalType(9, 2), "1.005", None),
        (T.DecimalType(9, 2), "12345678", None),
        (T.DecimalType(9, 2), "1.2500000000000000001", None),
        (T.DecimalType(38, 18), f"{10**19}.{10**17 + 1}", Decimal(f"{10**19}.{10**17 + 1}")),
        (T.DecimalType(9, 2), "1e1000000", None),
        (T.DecimalType(9, 2), "1e-1000000", None),
    ],
)
def test_a_number_that_its_column_cannot_hold_is_bad(data_type: T.DataType, number: str, value: object) -> None:
    _, rows, reasons = load([f'{{"v": {number}}}'], struct(v=data_type))
    if value is None:
        assert reasons == {0: f"field v is {data_type.simpleString()} {NOT_EXACT}: {number}"}
    else:
        assert rows == {0: {"v": value}}


def test_what_most_records_have_decides_about_a_new_field() -> None:
    columns, _, reasons = load(['{"a": "x"}', '{"a": 1}', '{"a": 2}'])
    assert columns.simpleString() == "struct<a:bigint>"
    assert reasons == {0: "field a is bigint in the table, and a string here: x"}
    assert load(['{"a": "x"}', '{"a": 1}'])[0].simpleString() == "struct<a:bigint>"
    assert load(['{"a": 2.5}', '{"a": 1}', '{"a": 1}'])[0].simpleString() == "struct<a:double>"


def test_elements_have_one_type() -> None:
    columns, rows, reasons = load(
        ['{"l": [1, 2.5, null], "o": [{"a": 1}, {"b": [[]]}, {"a": 0.5}]}', '{"m": [1, "x"]}']
    )
    assert columns.simpleString() == "struct<l:array<double>,o:array<struct<a:double>>>"
    assert rows == {0: {"l": [1.0, 2.5, None], "o": [{"a": 1.0}, {"a": None}, {"a": 0.5}]}}
    assert reasons == {1: 'field m[] has elements of several types: [1,"x"]'}
    table = struct(l=T.ArrayType(LONG))
    assert reason_of('{"l": [1, 2.5]}', table) == "field l[] is bigint in the table, and a number here: [1,2.5]"


def test_fields_with_reserved_names_have_columns_of_their_own() -> None:
    columns, rows, reasons = load(
        ['{"key": "a", "_offset": 1}', '{"key_": 1}', '{"key": 1}'], struct(key_=STRING), reserved=("key", "_offset")
    )
    assert columns.names == ["key_", "_offset_"]
    assert rows == {0: {"key_": "a", "_offset_": 1}}
    assert reasons == {
        1: "field key_ has the name of the column for key",
        2: "field key_ is string in the table, and a whole number here: 1",
    }


def test_a_record_with_more_columns_than_the_table_takes_is_bad() -> None:
    limits = ColumnLimits(2, name_bytes=6)
    columns, rows, reasons = load(['{"a": 1, "b": 1, "c": 1}', '{"longest": 1}', '{"a": 1}'], limits=limits)
    assert columns.simpleString() == "struct<a:bigint>"
    assert rows == {2: {"a": 1}}
    assert reasons[0] == "with the record's new fields the table would have 3 columns"
    assert "7 bytes" in reasons[1]


def test_a_shape_that_was_not_counted_is_one_too_many() -> None:
    rows, reasons = RowReader(struct(a=LONG), is_final=True).read([b'{"b": 1}', b'{"a": 1}'])
    assert (reasons, rows.to_pylist()) == (["the batch has too many kinds of records", None], [None, {"a": 1}])


def test_shapes_are_counted_for_records_that_need_columns_alone() -> None:
    reader = RowReader(struct(a=LONG, o=struct(x=LONG)))
    values = [b'{"a": 1}', b'{"a": 1, "b": 1}', b'{"b": 2, "a": 2}', b'{"o": {"y": ""}}', b'{"a": "x", "b": 1}']
    rows, reasons = reader.read(values)
    assert reader.shapes == Counter({'{"a":"bigint","b":"bigint"}': 2, '{"o":{"y":"string"}}': 1})
    assert [row is None for row in rows.to_pylist()] == [False, True, True, True, True]
    assert [number for number, reason in enumerate(reasons) if reason] == [4]


def test_a_column_that_cannot_be_null_is_no_other_column() -> None:
    table = T.StructType(
        [
            T.StructField("a", LONG, nullable=False, metadata={"comment": "a number"}),
            T.StructField("l", T.ArrayType(STRING, containsNull=False)),
        ]
    )
    reader = RowReader(table)
    # The blank makes it doubtful.
    assert reader.read([b'{"a" : 1, "x": "\\": ", "l": ["b"]}'])[1] == [None]
    assert list(reader.shapes) == ['{"a":"bigint","l":["string"],"x":"string"}']
    assert reader.read([b'{"a": 1, "A": null}'])[1] != [None]
    assert reader.read([b'{"a": 1e2}'])[1] == ["field a is bigint in the table, and a number here: 100.0"]


def test_a_reader_without_records_needs_no_columns() -> None:
    assert load([]) == (T.StructType(), {}, {})
    assert load(["{}", None]) == (T.StructType(), {0: {}}, {1: "the record has no value"})


def test_parsed_objects_are_read_as_texts_are() -> None:
    reader = RowReader(struct(a=LONG, at=T.TimestampType()))
    objects = [{"a": 1, "at": "2026-11-24T10:00:00Z"}, None, {"a": "x"}, {"b": 1}, None]
    rows, reasons = reader.read_objects(objects, [None, "lost", None, None, None])
    assert rows.to_pylist() == [{"a": 1, "at": datetime(2026, 11, 24, 10, tzinfo=UTC)}, None, None, None, None]
    assert reasons == [
        None,
        "lost",
        "field a is bigint in the table, and a string here: x",
        None,
        "the record is null, not an object",
    ]
    assert reader.shapes == {'{"b":"bigint"}': 1}
