"""Reading rows by a look: what is plainly one, and what is left to those who know all."""

import pytest

from barnabas.pipeline.events.rows import RowReader
from barnabas.pipeline.events.types import Kind

GOOD = b'{"name":"a","count":1,"share":0.5,"is_new":true,"at":"2026-11-24T10:00:00Z","size":5}'
KINDS = {
    "name": Kind.STRING,
    "count": Kind.INT,
    "share": Kind.DOUBLE,
    "is_new": Kind.BOOLEAN,
    "at": Kind.TIME,
    "size": Kind.LONG,
}


def is_read(value: bytes | None) -> list[bool]:
    """Tell of a value and its good neighbours which were read."""
    rows, reasons = RowReader(KINDS).read([GOOD, value, GOOD])
    assert reasons == [None] * 3
    return [row is not None for row in rows.to_pylist()]


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        b"{}",
        b'{"name": null, "count": -2147483648}',
        b'{"share": 3, "size": 9223372036854775807}',
        b'{"name":"a: \\"b\\" c"}',
        '{"name":"é"}'.encode(),
    ],
)
def test_what_fits_is_read(value: bytes) -> None:
    assert is_read(value) == [True, True, True]


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[1]",
        b"5",
        b'{"name":"a"} x',
        b'{"name":"\xff"}',
        b'{"other":1}',
        b'{"Name":"a"}',
        b'{"name":1}',
        b'{"count":1.0}',
        b'{"count":2147483648}',
        b'{"size":9223372036854775808}',
        b'{"share":100000000000000000000}',
        b'{"share":1e999}',
        b'{"is_new":1}',
        b'{"at":"2026-11-24"}',
        b'{"at":"2026-02-30T10:00:00Z"}',
        b'{"name":"a","name":"b"}',
        b'{"name":"a","name" :"b"}',
        b'{"name" :"a","name"\n:"b"}',
    ],
)
def test_what_is_not_plainly_a_row_is_left(value: bytes | None) -> None:
    assert is_read(value) == [True, False, True]
