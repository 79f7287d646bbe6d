"""Events as Avro: the layout of a value, and its schema's fingerprint."""

from datetime import UTC, datetime
from io import BytesIO

import fastavro
import pytest

from barnabas.pipeline.events import EVENT_TYPES, EventType, Field, Kind
from barnabas.pipeline.events.avro import avro_schema, encode_avro, schema_fingerprint

FOLLOW = EVENT_TYPES["follow"]
TIME = datetime(2015, 5, 17, 10, 5, 3, 7, tzinfo=UTC)
FIELDS = {"id": "a:1", "time": TIME, "user": "ü", "followee": "b", "is_following": True}


def test_value_is_marker_fingerprint_and_body() -> None:
    value = encode_avro(FOLLOW, FIELDS)
    schema = avro_schema(FOLLOW, 1)
    assert value[:2] == b"\xc3\x01"
    assert value[2:10] == schema_fingerprint(schema)
    event = fastavro.schemaless_reader(BytesIO(value[10:]), fastavro.parse_schema(schema), None)
    assert event == {"type": "follow", "version": 1, "address": None, **FIELDS}


def test_fingerprint_is_that_of_the_specification() -> None:
    # Of the schema "null", given in Avro's own test data (share/test/data/schema-tests.txt) as 7195948357588979594.
    assert schema_fingerprint_of_null() == (7195948357588979594).to_bytes(8, "little")


def schema_fingerprint_of_null() -> bytes:
    return bytes.fromhex(fastavro.schema.fingerprint('"null"', "CRC-64-AVRO"))


def test_an_older_version_is_written_with_its_own_schema() -> None:
    event = EventType("e", "es", 2, "id", (Field("new", Kind.STRING, is_required=True, since=2),))
    old = encode_avro(event, {"id": "1", "time": TIME, "version": 1})
    assert old[2:10] == schema_fingerprint(avro_schema(event, 1)) != schema_fingerprint(avro_schema(event, 2))


def test_what_is_not_of_the_type_is_refused() -> None:
    with pytest.raises(ValueError, match="the required field 'user' is missing"):
        encode_avro(FOLLOW, {**FIELDS, "user": None})
