"""Control records that are no marker, or not a good one."""

import pytest

from barnabas.wire.records.control import EndTransactionMarker, MarkerType, read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record

VALUE = bytes(2) + (5).to_bytes(4, "big")


def test_later_versions_are_read_as_far_as_known() -> None:
    record = Record(9, 0, b"\x00\x07\x00\x01more", b"\x00\x03" + VALUE[2:] + b"more")
    assert read_marker(record) == EndTransactionMarker(MarkerType.COMMIT, 5)


@pytest.mark.parametrize("type_number", [2, 3, 77, -1])
def test_other_types_are_no_marker(type_number: int) -> None:
    assert read_marker(Record(9, 0, bytes(2) + type_number.to_bytes(2, "big", signed=True), b"")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, VALUE),
        (b"\x00\x00\x00", VALUE),
        (b"\xff\xff\x00\x01", VALUE),
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", VALUE[:5]),
        (b"\x00\x00\x00\x01", b"\xff\xff" + VALUE[2:]),
    ],
)
def test_markers_that_cannot_be_are_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptRecordsError):
        read_marker(Record(9, 0, key, value))
