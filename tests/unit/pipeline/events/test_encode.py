"""Events as JSON: what is sent, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from barnabas.pipeline.events import EVENT_TYPES, EventType, Field, Kind
from barnabas.pipeline.events.encode import encode_json, record_key

PAGE_VIEW = EVENT_TYPES["page_view"]
TIME = datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)
VIEW = {"id": "a:1", "time": TIME, "address": "192.0.2.1", "method": "GET", "page": "/é", "status": 200}


def test_json_is_compact_in_declared_order_and_leaves_out_what_is_not_there() -> None:
    fields = {"agent": None, "status": 200, **VIEW}
    assert encode_json(PAGE_VIEW, fields).decode() == (
        '{"type":"page_view","version":1,"id":"a:1","time":"2015-05-17T10:05:03Z","address":"192.0.2.1",'
        '"method":"GET","page":"/é","status":200}'
    )


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (TIME, "2015-05-17T10:05:03Z"),
        (TIME.replace(microsecond=250_000), "2015-05-17T10:05:03.250Z"),
        (TIME.replace(microsecond=1), "2015-05-17T10:05:03.000001Z"),
        (TIME.astimezone(timezone(timedelta(hours=-7))), "2015-05-17T10:05:03Z"),
    ],
)
def test_time_has_a_fraction_only_where_it_needs_one(time: datetime, text: str) -> None:
    assert f'"time":"{text}"'.encode() in encode_json(PAGE_VIEW, {**VIEW, "time": time})


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"page": None}, "the required field 'page' is missing"),
        ({"colour": "red"}, "version 1 has no field 'colour'"),
        ({"status": "200"}, "field 'status' is not of type INT: '200'"),
        ({"status": True}, "field 'status' is not of type INT: True"),
        ({"status": 1 << 31}, "field 'status' is not of type INT: 2147483648"),
        ({"bytes": 1 << 63}, "field 'bytes' is not of type BIGINT"),
        ({"latency_ms": float("nan")}, "field 'latency_ms' is not of type DOUBLE: nan"),
        ({"page": 5}, "field 'page' is not of type STRING: 5"),
        ({"page": "\ud800"}, "field 'page' is not of type STRING"),
        ({"time": datetime(2015, 5, 17)}, "field 'time' is not of type TIMESTAMP"),
        ({"time": "2015-05-17T10:05:03Z"}, "field 'time' is not of type TIMESTAMP"),
        ({"type": "click"}, "field 'type' must be 'page_view': 'click'"),
        ({"version": 2}, "field 'version' must be from 1 to 1: 2"),
        ({"version": "1"}, "field 'version' must be from 1 to 1: '1'"),
    ],
)
def test_what_is_not_of_the_type_is_refused_by_name(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^page_view: {complaint}"):
        encode_json(PAGE_VIEW, {**VIEW, **fields})


def test_an_older_version_has_no_newer_field() -> None:
    event = EventType("e", "es", 2, "id", (Field("new", Kind.STRING, is_required=True, since=2),))
    envelope = {"id": "1", "time": TIME}
    assert b'"version":1' in encode_json(event, {**envelope, "version": 1})
    assert b'"version":2' in encode_json(event, {**envelope, "new": "x"})
    with pytest.raises(ValueError, match="version 1 has no field 'new'"):
        encode_json(event, {**envelope, "version": 1, "new": "x"})


def test_key_is_the_value_of_the_types_key_field() -> None:
    assert record_key(PAGE_VIEW, VIEW) == b"192.0.2.1"
    with pytest.raises(ValueError, match="the key's field 'address' is not a string: None"):
        record_key(PAGE_VIEW, {})
