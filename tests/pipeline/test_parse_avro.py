"""Reading events in Avro with Spark: versions, and what is bad."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipeline.events import EVENT_TYPES, EventType, Field, Kind
from barnabas.pipeline.events.avro import avro_schema, encode_avro, schema_fingerprint
from barnabas.pipeline.events.parse import parsed

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


TIME = datetime(2015, 5, 17, 10, 5, 3, 7, tzinfo=UTC)
FIRST = EventType(
    "e",
    "es",
    1,
    "id",
    (Field("text", Kind.STRING, is_required=True), Field("number", Kind.INT), Field("figure", Kind.DOUBLE)),
)
SECOND = EventType(
    "e",
    "es",
    2,
    "id",
    (*FIRST.own_fields, Field("flag", Kind.BOOLEAN, is_required=True, since=2), Field("seen", Kind.TIME, since=2)),
)
OLD = encode_avro(FIRST, {"id": "1", "time": TIME, "text": "é", "number": -5, "figure": 1.5})
NEW = encode_avro(SECOND, {"id": "2", "time": TIME, "text": "x", "flag": False, "seen": TIME})
READ = {"type": "e", "time": TIME.replace(tzinfo=None)}
OLD_READ = {**READ, "version": 1, "id": "1", "text": "é", "number": -5, "figure": 1.5}
NEW_READ = {**READ, "version": 2, "id": "2", "text": "x", "number": None, "figure": None, "flag": False}


def read(spark: SparkSession, event: EventType, *values: bytes | None) -> list[Row]:
    records = spark.createDataFrame(list(enumerate(values)), "place INT, value BINARY")
    return parsed(records, event, "avro").orderBy("place").collect()


def test_every_version_comes_out_as_the_newest(spark: SparkSession) -> None:
    old, new = read(spark, SECOND, OLD, NEW)
    assert (old.reason, new.reason) == (None, None)
    assert old.event.asDict() == {**OLD_READ, "flag": None, "seen": None}
    assert new.event.asDict() == {**NEW_READ, "seen": READ["time"]}


def test_an_unknown_version_is_bad(spark: SparkSession) -> None:
    old, new = read(spark, FIRST, OLD, NEW)
    assert (old.reason, old.event.asDict()) == (None, OLD_READ)
    fingerprint = schema_fingerprint(avro_schema(SECOND, 2)).hex().upper()
    reason = f"the writer's schema is not a schema of e: its fingerprint is {fingerprint}"
    assert (new.reason, new.event) == (reason, None)


def test_what_is_broken_says_why(spark: SparkSession) -> None:
    header, body = OLD[:10], OLD[10:]
    cases: list[tuple[bytes | None, str]] = [
        (None, "the record has no value"),
        (b"", "the record has no value"),
        (b"\xc3", "the value is not an Avro single-object encoding: C3"),
        (OLD[:9], "the value is not an Avro single-object encoding: C301"),
        (b'{"type":"e"}', "the value is not an Avro single-object encoding: 7B22"),
        *((OLD[:end], "the body does not match version 1 of e") for end in range(10, len(OLD))),
        (NEW[:-1], "the body does not match version 2 of e"),
        (header + b"\xff" * 40, "the body does not match version 1 of e"),
        # A length that nothing could hold.
        (header + b"\x02e\x04\xfe\xff\xff\xff\xff\xff\x7f", "the body does not match version 1 of e"),
        (header + body.replace(b"\x02e", b"\x02f", 1), "field 'type' is not 'e': \"f\""),
        (header + body.replace(b"\x02e\x02", b"\x02e\x00", 1), "field 'version' must be at least 1"),
        (header + body.replace("é".encode(), b"\xc3\x28"), "field 'text' is not UTF-8"),
        (
            encode_avro(FIRST, {"id": "1", "time": TIME, "text": "", "figure": 1.5})[:-8] + b"\0" * 6 + b"\xf0\x7f",
            "field 'figure' is not a finite DOUBLE",
        ),
    ]
    for row in read(spark, SECOND, *(value for value, _ in cases)):
        assert row.event is None, cases[row.place]
        assert (row.reason or "").startswith(cases[row.place][1]), cases[row.place]


def test_fingerprints_are_those_of_avro_itself(spark: SparkSession) -> None:
    avro = spark._jvm.org.apache.avro
    for event in EVENT_TYPES.values():
        schema = avro_schema(event, event.version)
        number = avro.SchemaNormalization.parsingFingerprint64(avro.Schema.Parser().parse(json.dumps(schema)))
        assert schema_fingerprint(schema) == number.to_bytes(8, "little", signed=True)
