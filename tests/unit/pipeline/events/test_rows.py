"""Reading rows by a look: what is plainly one, and what is left to those who know all."""

import pytest

from barnabas.pipeline.events.rows import RowReader
from barnabas.pipeline.events.types import Kind
from tests.plainly_bad import PLAINLY_BAD

GOOD = b'{"name":"a","count":1,"share":0.5,"is_new":true,"at":"2026-11-24T10:00:00Z","size":5}'
KINDS = {
    "name": Kind.STRING,
    "count": Kind.INT,
    "share": Kind.DOUBLE,
    "is_new": Kind.BOOLEAN,
    "at": Kind.TIME,
    "size": Kind.LONG,
}


def reason_of(value: bytes | None) -> str | None:
    """Read a value between good ones, which are read; gives its reason, or that it was read."""
    rows, reasons = RowReader(KINDS).read([GOOD, value, GOOD])
    first, found, last = rows.to_pylist()
    assert first == last
    assert first["name"] == "a"
    assert (reasons[0], reasons[2]) == (None, None)
    assert found is None or reasons[1] is None
    return "read" if found is not None else reasons[1]


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        b"{}",
        b'{"name": null, "count": -2147483648}',
        b'{"share": 3, "size": 9223372036854775807}',
        b'{"share":9007199254740992}',
        b'{"name":"a: \\"b\\" c"}',
        '{"name":"é"}'.encode(),
    ],
)
def test_what_fits_is_read(value: bytes) -> None:
    assert reason_of(value) == "read"


@pytest.mark.parametrize(
    "value",
    [
        b"[1]",
        b"5",
        b'{"other":1}',
        b'{"Name":"a"}',
        b'{"name":"\\ud800"}',
        b'{"name":1.5}',
        b'{"name":{}}',
        b'{"name":[1]}',
        b'{"count":1.0}',
        b'{"count":2147483648}',
        b'{"size":9223372036854775808}',
        b'{"share":100000000000000000000}',
        b'{"share":9007199254740993}',
        b'{"share":1e999}',
        b'{"share":NaN}',
        b'{"at":"2026-11-24"}',
        b'{"at":"2026-02-30T10:00:00Z"}',
        b'{"count":"many","at":"2026-11-24"}',
        b'{"name":"a","name":"b"}',
        b'{"name":"a","name" :"b"}',
        b'{"name" :"a","name"\n:"b"}',
        b"[" * 100_000,
    ],
)
def test_what_is_not_plainly_a_row_is_left(value: bytes) -> None:
    assert reason_of(value) is None


@pytest.mark.parametrize("value", PLAINLY_BAD)
def test_what_is_plainly_none_has_its_reason(value: bytes | None) -> None:
    assert reason_of(value) == PLAINLY_BAD[value]


@pytest.mark.parametrize("zone", ["+18:00", "-18:59", "+05:60"])
def test_a_zone_that_arrow_does_not_take_ends_no_batch(zone: str) -> None:
    assert reason_of(b'{"at":"2026-11-24T10:00:00%s"}' % zone.encode()) is None
