"""Events: what stands in a record, and what a record tells about the place of a replay."""

import json

import pytest

from barnabas.pipeline.line_events import (
    SCHEMA,
    Place,
    encode_marker,
    encode_unreadable,
    encode_view,
    place_of,
)
from barnabas.pipeline.sources.access_log import View

VIEW = View(7, 1_431_857_103, "192.0.2.7", "GET", '/ä?"b\\', 200, None, None, "agent")


def test_view_holds_what_the_log_has():
    assert json.loads(encode_view(VIEW)) == {
        "type": "view",
        "line": 7,
        "time": "2015-05-17T10:05:03Z",
        "address": "192.0.2.7",
        "method": "GET",
        "page": '/ä?"b\\',
        "status": 200,
        "agent": "agent",
    }


def test_every_field_is_in_the_schema():
    names = {column.split()[0] for column in SCHEMA.split(", ")}
    full = VIEW._replace(size_bytes=1, referrer="r")
    for event in (encode_view(full), encode_marker(8, 0), encode_unreadable(9, "?")):
        assert set(json.loads(event)) <= names


def test_places():
    assert place_of(encode_view(VIEW)) == Place(7, is_marker=False)
    assert place_of(encode_unreadable(9, "?")) == Place(9, is_marker=False)
    assert place_of(encode_marker(8, 0)) == Place(8, is_marker=True)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"{", b"\xff", b"[]", b"1", b'{"line":1}', b'{"line":"1","type":"view"}', b'{"line":1,"type":"x"}'],
)
def test_other_values_are_no_place(value: bytes | None):
    assert place_of(value) is None
