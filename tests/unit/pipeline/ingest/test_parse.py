"""Rows of records: places, keys, tombstones, changes of a database; and records that are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.pipeline.events.envelope import EnvelopeReader
from barnabas.pipeline.events.read import EventReader
from barnabas.pipeline.events.types import FOLLOW
from barnabas.pipeline.ingest.parse import KEY_HAS_NUL, KEY_NOT_UTF8, NO_KEY, RecordParser
from barnabas.pipeline.ingest.source import Records
from barnabas.pipeline.ingest.task import _parsed

READER = EventReader(FOLLOW, "json")


def follow(number: int) -> bytes:
    fields = {"type": "follow", "version": 1, "id": str(number), "time": "2026-03-06T19:00:00Z"}
    return json.dumps({**fields, "user": "a", "followee": "b", "is_following": True}).encode()


def records(*each: tuple[bytes | None, bytes | None]) -> Records:
    count = len(each)
    return Records(
        "follows", [3] * count, list(range(7, 7 + count)), [1_000] * count, *map(list, zip(*each, strict=True))
    )


def parse(
    parser: RecordParser, *each: tuple[bytes | None, bytes | None]
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    rows, refusals = parser.parse(records(*each))
    return rows.to_pylist(), {refusal.number: refusal.reason for refusal in refusals}


def test_a_row_has_the_fields_and_the_place_of_its_record():
    rows, refused = parse(RecordParser(READER), (None, follow(0)), (b"k", follow(1)))
    assert not refused
    assert [(row["id"], row["_topic"], row["_partition"], row["_offset"]) for row in rows] == [
        ("0", "follows", 3, 7),
        ("1", "follows", 3, 8),
    ]
    assert {row["_timestamp"].timestamp() for row in rows} == {1.0}


def test_a_bad_record_is_refused_and_the_others_keep_their_places():
    rows, refused = parse(RecordParser(READER), (None, follow(0)), (None, b"{"), (None, None), (None, follow(3)))
    assert [row["_offset"] for row in rows] == [7, 10]
    assert refused.keys() == {1, 2}


@pytest.mark.parametrize("by_key", [False, True])
def test_a_record_with_a_timestamp_that_is_not_a_date_is_refused(by_key: bool):
    first, end = -62_135_596_800_000, 253_402_300_800_000
    # A producer that stamps microseconds makes the year 57881.
    timestamps = [1_000, first, end - 1, first - 1, end, 1_764_374_400_000_000, 2**63 - 1]
    found = records(*[(b"k", follow(number)) for number in range(len(timestamps))])
    found.timestamps_ms = timestamps
    rows, refusals = RecordParser(READER, by_key).parse(found)
    assert [time.year for time in rows["_timestamp"].to_pylist()] == [1970, 1, 9999]
    assert {refusal.number for refusal in refusals} == {3, 4, 5, 6}
    assert str(timestamps[5]) in refusals[2].reason


def test_by_key_a_record_without_a_value_is_a_deleted_row():
    parser = RecordParser(READER, by_key=True)
    rows, refused = parse(parser, (b"k", follow(0)), (b"k", None), (b"k", b"{"))
    assert [(row["_key"], row["_deleted"], row["id"]) for row in rows] == [("k", False, "0"), ("k", True, None)]
    assert refused.keys() == {2}


@pytest.mark.parametrize(("key", "reason"), [(None, NO_KEY), (b"\xff", KEY_NOT_UTF8), (b"a\0b", KEY_HAS_NUL)])
def test_by_key_a_record_must_have_a_key_that_is_text(key: bytes | None, reason: str):
    rows, refused = parse(RecordParser(READER, by_key=True), (key, follow(0)), (key, None), (b"k", follow(1)))
    assert [row["_key"] for row in rows] == ["k"]
    assert refused == {0: reason, 1: reason}


def change(op: str, **fields: object) -> bytes:
    return json.dumps({"op": op, **fields}).encode()


ROW = json.loads(follow(0))
CHANGES = [
    (b"k", change("c", after=ROW)),
    (b"k", change("d", before=ROW)),
    (b"k", None),
    (b"k", change("m")),
    (None, change("t")),
    (b"k", b"no envelope"),
]


def test_changes_by_key_are_rows_and_deleted_rows():
    parser = RecordParser(READER, by_key=True, envelope=EnvelopeReader())
    rows, refused = parse(parser, *CHANGES)
    assert [(row["_staged_op"], row["_key"], row["_deleted"]) for row in rows] == [
        ("c", "k", False),
        ("d", "k", True),
        ("t", None, True),
    ]
    assert refused.keys() == {5}


def test_changes_that_are_appended_are_a_row_each():
    rows, refused = parse(RecordParser(READER, envelope=EnvelopeReader()), *CHANGES[:4], CHANGES[5])
    assert [(row["_op"], row["id"]) for row in rows] == [("c", "0"), ("d", "0")]
    assert refused.keys() == {4}


def test_a_record_that_breaks_the_reader_is_found_and_refused():
    class Broken(EventReader):
        def read(self, values):
            if b"boom" in values:
                raise RecursionError("too deep")
            return super().read(values)

    each = [(None, follow(0)), (None, b"boom"), (None, follow(2)), (None, follow(3))]
    found = list(_parsed(RecordParser(Broken(FOLLOW, "json")), records(*each)))
    assert sum(rows.num_rows for _, rows, _ in found) == 3
    ((part, reason),) = [(part, refusal.reason) for part, _, refusals in found for refusal in refusals]
    assert part.offsets == [8]
    assert "RecursionError" in reason


def test_a_reason_for_all_refuses_all():
    rows, refused = parse(RecordParser(READER, refusal="too large"), (None, follow(0)), (None, None))
    assert (rows, refused) == ([], {0: "too large", 1: "too large"})
