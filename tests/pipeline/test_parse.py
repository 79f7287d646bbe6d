"""Reading events with Spark: what is good comes out typed, and what is bad says why."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.events import EVENT_TYPES, Kind
from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.parse import parsed
from tests.spark import plan_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


PAGE_VIEW = EVENT_TYPES["page_view"]
TIME = datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)
VIEW = {
    "id": "a:1",
    "time": TIME,
    "address": "192.0.2.1",
    "method": "GET",
    "page": "/é",
    "status": 200,
    "bytes": (1 << 63) - 1,
    "latency_ms": 3.5,
}
GOOD = encode_json(PAGE_VIEW, VIEW).decode()


def having(**fields: object) -> str:
    """Give the good event with fields set, or taken out (`...`)."""
    event = {**json.loads(GOOD), **fields}
    return json.dumps({name: value for name, value in event.items() if value is not ...}, ensure_ascii=False)


GOOD_VALUES: dict[str, tuple[str, dict[str, object]]] = {
    "as written": (GOOD, {}),
    "with blanks around": (f" \n{GOOD}\r\n", {}),
    "unknown field": (having(colour={"red": [1, {"address": 5}]}), {}),
    "unknown field with arrays": (having(a=[{"b": [1]}], b=[[]]), {}),
    "higher version": (having(version=9), {"version": 9}),
    "field that is null": (having(agent=None), {"agent": None}),
    "whole number for a double": (having(latency_ms=5), {"latency_ms": 5.0}),
    "name written with an escape": (GOOD.replace("address", "\\u0061ddress"), {}),
    "field twice, the last one good": (GOOD.replace('"address"', '"address":5,"address"'), {}),
    "text that looks like a field": (having(page='"address":5'), {"page": '"address":5'}),
    "text that looks like a number": (having(user="-12.5e3"), {"user": "-12.5e3"}),
    "text that looks like an object": (having(user='{"a":1}'), {"user": '{"a":1}'}),
    "text that looks like a boolean": (having(user="true"), {"user": "true"}),
    "empty text": (having(user=""), {"user": ""}),
    "brackets in text": (having(user="}]"), {"user": "}]"}),
    "time with an offset": (having(time="2015-05-17T12:05:03+02:00"), {}),
    "time with a blank": (having(time="2015-05-17 10:05:03Z"), {}),
    "time with microseconds": (
        having(time="2015-05-17T10:05:03.123456Z"),
        {"time": datetime(2015, 5, 17, 10, 5, 3, 123456)},
    ),
    "a huge record": (having(page="x" * 900_000), {"page": "x" * 900_000}),
}

NO_OBJECT = "the value is not one JSON object: "
BAD_VALUES: dict[str, tuple[str | bytes | None, str]] = {
    "tombstone": (None, "the record has no value"),
    "nothing": (b"", "the record has no value"),
    "blank": (" ", NO_OBJECT),
    "no UTF-8": (b"\xff\xfe", "the value is not UTF-8: FFFE"),
    "half a character": (GOOD.encode().replace("é".encode(), b"\xc3"), "the value is not UTF-8: 7B2274"),
    "text": ("x" * 300, NO_OBJECT + "x" * 80),
    "cut short": (GOOD[:-1], NO_OBJECT + GOOD[:80]),
    "null": ("null", NO_OBJECT + "null"),
    "number": ("5", NO_OBJECT + "5"),
    "array": (f"[{GOOD}]", NO_OBJECT + "[{"),
    "garbage behind": (GOOD + " garbage", NO_OBJECT),
    "two objects": (GOOD + GOOD, NO_OBJECT),
    "two objects with a comma": (f"{GOOD},{GOOD}", NO_OBJECT),
    "a bracket behind": (GOOD + "]", NO_OBJECT),
    "what would close and open again": (GOOD + '],"x":[{}', NO_OBJECT),
    "single quotes": (GOOD.replace('"', "'"), NO_OBJECT),
    "NaN": (having(latency_ms=float("nan")), NO_OBJECT),
    "deep nesting": (GOOD[:-1] + ',"z":' + "[" * 2000 + "]" * 2000 + "}", NO_OBJECT),
    "NaN as text": (having(latency_ms="NaN"), "field 'latency_ms' is not a finite DOUBLE: \"NaN\""),
    "infinite number": (GOOD.replace("3.5", "1e999"), "field 'latency_ms' is not a finite DOUBLE: Infinity"),
    "required field missing": (having(page=...), "the required field 'page' is missing"),
    "required field null": (having(page=None), "the required field 'page' is missing"),
    "time missing": (having(time=...), "the required field 'time' is missing"),
    "text for an int": (having(status="200"), "field 'status' is not of type INT: \"200\""),
    "fraction for an int": (having(status=200.5), "field 'status' is not of type INT: 200.5"),
    "int too large": (having(status=1 << 31), "field 'status' is not of type INT: 2147483648"),
    "long too large": (having(bytes=1 << 63), "field 'bytes' is not of type BIGINT: 9223372036854775808"),
    "number for text": (having(address=-5.5), "field 'address' is not of type STRING: -5.5"),
    "number for text, name escaped": (
        GOOD.replace('address":"192.0.2.1"', '\\u0061ddress":5'),
        "field 'address' is not of type STRING: 5",
    ),
    "object for text": (having(agent={"a": 1}), "field 'agent' is not of type STRING: {\"a\":1}"),
    "array for text": (having(agent=["a"]), "field 'agent' is not of type STRING: [\"a\"]"),
    "boolean for text": (having(agent=True), "field 'agent' is not of type STRING: true"),
    "field twice, the last one bad": (GOOD[:-1] + ',"address":5}', "field 'address' is not of type STRING: 5"),
    "another type": (having(type="click"), "field 'type' is not 'page_view': \"click\""),
    "no version": (having(version=...), "the required field 'version' is missing"),
    "version 0": (having(version=0), "field 'version' must be at least 1: 0"),
    "version as text": (having(version="1"), "field 'version' is not of type INT: \"1\""),
    "a year for a time": (having(time="2015"), "field 'time' is not an ISO 8601 time with a zone: \"2015\""),
    "a time of day": (having(time="12:30"), "field 'time' is not an ISO 8601 time with a zone: \"12:30\""),
    "a number for a time": (having(time=1431857103), "field 'time' is not an ISO 8601 time with a zone: 1431857103"),
    "no zone": (having(time="2015-05-17T10:05:03"), "field 'time' is not an ISO 8601 time with a zone: "),
    "no such day": (having(time="2015-02-30T10:05:03Z"), "field 'time' is not an ISO 8601 time with a zone: "),
}


def read(spark: SparkSession, values: dict[str, str | bytes | None]) -> DataFrame:
    rows = [(name, value.encode() if isinstance(value, str) else value) for name, value in values.items()]
    return parsed(spark.createDataFrame(rows, "name STRING, value BINARY"), PAGE_VIEW).drop("value")


def test_good_records_come_out_typed(spark: SparkSession) -> None:
    plain = {field.name: VIEW.get(field.name) for field in PAGE_VIEW.fields}
    plain.update(type="page_view", version=1, time=TIME.replace(tzinfo=None))
    rows = read(spark, {name: value for name, (value, _) in GOOD_VALUES.items()}).collect()
    assert {row.name: row.reason for row in rows} == dict.fromkeys(GOOD_VALUES)
    for row in rows:
        assert row.event.asDict() == {**plain, **GOOD_VALUES[row.name][1]}, row.name


def test_bad_records_say_why_and_come_out_null(spark: SparkSession) -> None:
    rows = read(spark, {name: value for name, (value, _) in BAD_VALUES.items()}).collect()
    assert len(rows) == len(BAD_VALUES)
    for row in rows:
        assert row.reason is not None, row.name
        assert row.reason.startswith(BAD_VALUES[row.name][1]), row.name
        assert len(row.reason) < 200
        assert row.event is None, row.name


def test_struct_is_of_the_events_schema(spark: SparkSession) -> None:
    names = {Kind.STRING: "string", Kind.INT: "int", Kind.LONG: "bigint", Kind.DOUBLE: "double"}
    names |= {Kind.BOOLEAN: "boolean", Kind.TIME: "timestamp"}
    records = spark.createDataFrame([(b"{}",)], "value BINARY")
    for event in EVENT_TYPES.values():
        found = parsed(records, event).select("event.*").dtypes
        assert found == [(field.name, names[field.kind]) for field in event.fields]


@pytest.mark.parametrize("pick", ["reason IS NULL", "reason IS NOT NULL"])
@pytest.mark.parametrize("columns", [["name", "event.*"], ["name"]])
def test_a_filter_on_the_reason_does_not_parse_again(spark: SparkSession, pick: str, columns: list[str]) -> None:
    rows = read(spark, {"good": GOOD, "bad": "x"}).where(pick).select(*columns)
    assert plan_of(rows).count("MapInArrow") == 1
    assert [row.name for row in rows.collect()] == ["good" if pick == "reason IS NULL" else "bad"]
