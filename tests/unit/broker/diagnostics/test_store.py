"""What happened, within its bound."""

import json

import pytest

from barnabas.broker.diagnostics import Row
from barnabas.broker.diagnostics.events import Events, RepeatedEvents, encoded
from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn
from barnabas.broker.diagnostics.store import DiagnosticStore

MIB = 1024 * 1024


def rows(events: Events) -> list[object]:
    return [json.loads(line) for line in events.lines()]


def test_the_newest_are_kept_and_the_others_counted() -> None:
    told: list[bytes] = []
    events = Events(3, 10_000)
    events.ended = told.append
    for number in range(5):
        events.add({"n": number})
    assert rows(events) == [{"n": 2}, {"n": 3}, {"n": 4}]
    assert events.left_out == 2
    assert told == [encoded({"n": number}) for number in range(5)]


def test_large_ones_push_out_more() -> None:
    events = Events(1_000, 1_000)
    for number in range(100):
        events.add({"n": number, "text": "x" * 200})
    assert events.kept_bytes <= 1_000
    assert len(events.lines()) == 3
    assert events.left_out == 97


def test_texts_are_cut() -> None:
    assert len(encoded({"client_id": "x" * 32_000})) < 300


def test_rows_of_a_clock_that_was_ahead_are_closed() -> None:
    told: list[bytes] = []
    events = RepeatedEvents(10, 100_000)
    events.ended = told.append
    for user, now_ms in (("alice", 7_200_000), ("bob", 7_200_000), ("alice", 1_000)):
        events.note((user, "app"), now_ms)
    events.seal(1_000)
    ahead, now = ({"first_ms": at_ms, "last_ms": at_ms, "count": 1} for at_ms in (7_200_000, 1_000))
    assert rows(events) == [ahead, ahead, now]
    assert len(told) == 2


def test_what_repeats_within_a_minute_is_one_row() -> None:
    events = RepeatedEvents(10, 100_000)
    for now_ms in (0, 10_000, 59_999, 60_000, 61_000):
        events.note(("alice", "app"), now_ms)
    events.note(("bob", "app"), 61_000)
    assert rows(events) == [
        {"first_ms": 0, "last_ms": 59_999, "count": 3},
        {"first_ms": 60_000, "last_ms": 61_000, "count": 2},
        {"first_ms": 61_000, "last_ms": 61_000, "count": 1},
    ]
    told: list[bytes] = []
    events.ended = told.append
    events.seal(120_500)
    assert len(told) == 1
    events.seal_all()
    assert len(told) == 2
    assert len(rows(events)) == 3


def test_very_many_that_repeat_are_bounded() -> None:
    events = RepeatedEvents(1_000, 100_000)
    for number in range(5_000):
        events.note((str(number),), 0)
    assert events.kept_bytes <= 100_000
    assert len(events.lines()) + events.left_out == 5_000


def test_it_goes_on_after_a_restart() -> None:
    written: list[tuple[str, bytes]] = []
    before = DiagnosticStore(MIB, 5_000)
    before.requests.add({"at_ms": 1, "api": "Produce"})
    # Nobody writes yet.
    before.set_listener(lambda kind, line: written.append((kind, line)))
    before.throttles.note(("alice",), 1)
    before.stalls.add({"at_ms": 2, "ms": 60})
    before.seal_all()
    after = DiagnosticStore(MIB, 9_000)
    for kind, line in written:
        after.restore(kind, json.loads(line))
    assert [*map(len, (after.requests.lines(), after.throttles.lines(), after.stalls.lines()))] == [1, 1, 1]
    assert (before.kept_since_ms, after.kept_since_ms) == (5_000, 1)
    broken: list[tuple[str, Row]] = [("nonsense", {"at_ms": 1}), ("requests", {})]
    for kind, row in broken:
        with pytest.raises((KeyError, TypeError)):
            after.restore(kind, row)


def test_a_rebalance_that_goes_on_stays_the_last_one() -> None:
    diagnostics = DiagnosticStore(MIB, 0)
    diagnostics.rebalances.note("g", Note(Turn.BEGAN, Reason.JOINED), 5_000)
    old: Row = {"group": "g", "began_ms": 1, "outcome": "stable", "gather_ms": 1, "came": [], "went": []}
    diagnostics.restore("rebalances", old)
    diagnostics.rebalances.note("g", Note(Turn.EMPTY), 6_000)
    assert [row["outcome"] for row in diagnostics.rebalances.rows("g")] == ["stable", "empty"]
    with pytest.raises(KeyError):
        diagnostics.restore("rebalances", {"group": "g", "began_ms": 1})
    assert len(diagnostics.rebalances.rows("g")) == 2
