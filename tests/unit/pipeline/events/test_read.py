"""Reading events without Spark: each value alone, and beside good ones, comes out the same."""

import pytest

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.read import EventReader, column, right_value
from barnabas.pipeline.events.types import Kind
from tests.pipeline.test_parse import BAD_VALUES, GOOD, GOOD_VALUES, PAGE_VIEW, having

READER = EventReader(PAGE_VIEW, "json")
NEIGHBOUR = GOOD.encode()

DEEP = "[" * 900 + "]" * 900
BAD = {
    **BAD_VALUES,
    "a deep array for text": (having(agent=...)[:-1] + f',"agent":{DEEP}}}', "field 'agent' is not of type STRING: "),
    "half a pair for a number": (GOOD.replace("200", '"\\ud800"'), "field 'status' is not of type INT: "),
    "whole number as a fraction": (having(status=200.0), "field 'status' is not of type INT: 200.0"),
    "a whole number without end": (having(status=10**400), "field 'status' is not of type INT: 1000"),
    "a time of the year 0": (having(time="0000-12-31T23:00:00Z"), "field 'time' is not an ISO 8601 time with a zone: "),
    "a time before the year 1 in UTC": (
        having(time="0001-01-01T00:30:00+01:00"),
        "field 'time' is not an ISO 8601 time with a zone: ",
    ),
    "a time after the year 9999 in UTC": (
        having(time="9999-12-31T23:30:00-01:00"),
        "field 'time' is not an ISO 8601 time with a zone: ",
    ),
    "a double without end": (having(latency_ms=10**400), "field 'latency_ms' is not a finite DOUBLE: 1000"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_says_why_alone_and_beside_good_ones(name: str) -> None:
    value, reason = BAD[name]
    value = value.encode() if isinstance(value, str) else value
    events, (alone,) = READER.read([value])
    assert alone is not None
    assert alone.startswith(reason)
    alone.encode()
    assert events.null_count == 1
    events, reasons = READER.read([NEIGHBOUR, value, NEIGHBOUR])
    assert reasons == [None, alone, None]
    assert [event is None for event in events.to_pylist()] == [False, True, False]


@pytest.mark.parametrize("name", GOOD_VALUES)
def test_a_good_value_is_the_same_alone_and_beside_a_bad_one(name: str) -> None:
    value = GOOD_VALUES[name][0].encode()
    (alone,) = READER.read([value])[0].to_pylist()
    assert alone is not None
    assert READER.read([b"{", value])[0].to_pylist() == [None, alone]


def test_a_half_pair_in_a_text_becomes_a_question_mark() -> None:
    (event,) = READER.read([GOOD.replace("/\u00e9", "\\ud800").encode()])[0].to_pylist()
    assert event["page"] == "?"


@pytest.mark.parametrize("event", EVENT_TYPES.values(), ids=str)
def test_no_values_are_no_events(event: object) -> None:
    for event_format in ("json", "avro"):
        events, reasons = EventReader(event, event_format).read([])  # type: ignore[arg-type]  # each of the formats
        assert (len(events), reasons) == (0, [])


def test_a_zone_that_arrow_does_not_take_is_read_or_has_a_reason() -> None:
    assert right_value(Kind.TIME, "2026-11-24T10:00:00+18:00") == "2026-11-23T16:00:00.000000Z"
    assert column(Kind.TIME, ["2026-11-23T16:00:00.000000Z"]).null_count == 0
    assert right_value(Kind.TIME, "2026-11-24T10:00:00+05:60") is None
