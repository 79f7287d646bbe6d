"""Steps as records of the audit topic."""

import json
from dataclasses import replace

import pytest

from barnabas.clients.admin_quota_states import Limited
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, Verdict, parse_entity, read_entry

VERDICT = Verdict(
    "address",
    "192.0.2.7",
    "credential_stuffing",
    0.9,
    "60 % of 41 attempts failed",
    1_794_924_000_000,
    1_795_528_800_000,
    evidence={"attempts": 41, "signs": ["names"]},
)
ENTRY = Entry(
    Step.LIMITED,
    Entity("client-id", "web=192.0.2.7"),
    {"producer_byte_rate": 1024.0},
    VERDICT,
    "security",
    1_794_924_001_001,
    1_794_924_000_999,
    1_794_927_600_999,
)


def test_a_record_says_whom_what_why_and_until_when():
    assert ENTRY.key() == b"client-id=web=192.0.2.7"
    assert json.loads(ENTRY.value()) == {
        "step": "limited",
        "entity": {"client-id": "web=192.0.2.7"},
        "limits": {"producer_byte_rate": 1024.0},
        "time": "2026-11-17T14:00:01.001Z",
        "since": "2026-11-17T14:00:00.999Z",
        "until": "2026-11-17T15:00:00.999Z",
        "run": "security",
        "verdict": {
            "subject_kind": "address",
            "subject": "192.0.2.7",
            "what": "credential_stuffing",
            "score": 0.9,
            "why": "60 % of 41 attempts failed",
            "last_seen": "2026-11-17T14:00:00.000Z",
            "until": "2026-11-24T14:00:00.000Z",
            "evidence": {"attempts": 41, "signs": ["names"]},
        },
    }


@pytest.mark.parametrize(
    ("step", "then", "is_dry"),
    [(step, None, False) for step in Step if step is not Step.LIFTING]
    + [(Step.LIFTING, Step.PARDONED, False)]
    + [(step, None, True) for step in (Step.LIMITED, Step.RENEWED, Step.KEPT, Step.LIFTED, Step.CLOSED)],
)
def test_a_step_is_read_as_it_was_written(step, then, is_dry):
    entry = Entry(
        step, ENTRY.entity, ENTRY.limits, VERDICT, "security", 1, 2, 253_402_300_799_999, then, "a note", is_dry
    )
    assert read_entry(entry.key(), entry.value()) == entry


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (-62_135_596_800_001, "0001-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
        (2**63 - 1, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_times_outside_of_the_calendar_are_cut(time_ms: int, text: str):
    verdict = replace(VERDICT, last_seen_ms=time_ms, until_ms=time_ms)
    record = json.loads(replace(ENTRY, verdict=verdict, until_ms=time_ms).value())
    assert [record["until"], record["verdict"]["last_seen"], record["verdict"]["until"]] == [text] * 3


def test_a_dry_run_is_told_by_key_and_step():
    entry = Entry(Step.LIMITED, ENTRY.entity, {}, VERDICT, "security", 1, 2, 3, is_dry=True)
    assert entry.key() == b"dry-run client-id=web=192.0.2.7"
    assert json.loads(entry.value())["step"] == "would-limit"


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b'{"step": "limited"}', b'{"step": 1, "entity": {}}'])
def test_what_is_no_step_is_passed_over(value):
    assert read_entry(b"user=alice", value) is None


def test_a_step_of_a_newer_version_is_passed_over():
    said = {**json.loads(ENTRY.value()), "step": "forgiven"}
    assert read_entry(ENTRY.key(), json.dumps(said).encode()) is None


def test_entities():
    assert parse_entity("user=alice") == Entity("user", "alice")
    assert parse_entity("client-id=a=b") == Entity("client-id", "a=b")
    assert str(Entity("user", "alice")) == "user=alice"
    assert Entity("user", "alice").limited == Limited("alice", None)
    assert Entity("client-id", "importer").limited == Limited(None, "importer")
    for text in ("alice", "user=", "group=g", ""):
        with pytest.raises(ValueError, match="write user=NAME or client-id=NAME"):
            parse_entity(text)
