"""The cleaner's passes over records refuse what is none, with `CorruptRecordsError` and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.log.cleaner.record_scan import choose_kept, choose_marked, read_keys, rebase_timestamps
from barnabas.wire.records.builder import encode_varint
from barnabas.wire.records.errors import CorruptRecordsError


def record(delta_ms: int) -> bytes:
    body = b"\0" + encode_varint(delta_ms) + b"\0\x02k\x02v\0"
    return encode_varint(len(body)) + body


def test_timestamps_are_counted_from_the_first_record_that_stays() -> None:
    stays = record(5) + record(1000) + record(-7)
    assert rebase_timestamps(stays, is_log_append_time=False) == (record(0) + record(995) + record(-12), 5, 995)
    assert rebase_timestamps(stays, is_log_append_time=True) == (record(0) * 3, 5, 0)


@pytest.mark.parametrize(
    "stays",
    [
        b"",
        b"\x02",
        record(3) + b"\x08\0",
        # A record of one byte whose timestamp goes on behind it.
        record(3) + b"\x02\0\x80\x80\x01",
        record(3) + b"\x10\0\x06",
    ],
    ids=["nothing", "no timestamp", "cut short", "a timestamp beyond its record", "a record beyond the end"],
)
def test_records_whose_timestamps_cannot_be_are_refused(stays: bytes) -> None:
    with pytest.raises(CorruptRecordsError):
        rebase_timestamps(stays, is_log_append_time=False)


@given(st.binary(max_size=60), st.integers(0, 4))
def test_no_bytes_make_a_pass_raise_anything_else(data: bytes, record_count: int) -> None:
    newest: dict[bytes | None, int] = {}
    for run in (
        lambda: read_keys(data, 0, len(data), record_count, 7),
        lambda: choose_kept(data, 0, len(data), record_count, 7, newest.get, 9, keeps_tombstones=False),
        lambda: choose_marked(data, 0, record_count + 1, 7, [1] * (record_count + 1), keeps_tombstones=False),
        lambda: rebase_timestamps(data, is_log_append_time=False),
    ):
        try:
            run()
        except CorruptRecordsError:
            pass
