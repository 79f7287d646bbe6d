"""When a run's queries are to be started anew, and what they still have to wait for then."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import pytest

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.pace import Spread
from barnabas.pipeline.runner.pacer import READ, Debt, Pacer, Stopped, Used
from barnabas.pipeline.runner.positions import Extent
from barnabas.pipeline.runner.quota_watch import Sample
from barnabas.pipeline.runner.reading import Reading, WastedError
from barnabas.pipeline.tables.table import Offsets
from barnabas.wire.quotas.limits import QuotaKind

EXTENTS = {"t": {0: Extent(0, 9), 1: Extent(0, 9)}}


@dataclass
class Plan:
    limits: Limits
    trigger_s: float | None = 1.0


@pytest.mark.parametrize(
    ("limits", "is_divided", "leaves_out"),
    [
        (Limits(records_per_s_per_partition=10), True, True),
        # With state there can't be another number of sources.
        (Limits(records_per_s_per_partition=10), False, False),
        (Limits(records_per_s=10), True, False),
    ],
)
def test_a_partition_that_was_added(limits: Limits, is_divided: bool, leaves_out: bool) -> None:
    reading = Reading(Plan(limits), None, is_divided=is_divided)
    reading.begin(["t"])
    reading.sources({"t": {0: 0}})
    assert reading.leaves_out(EXTENTS) is leaves_out
    reading.begin(["t"])
    reading.sources({"t": {0: 0, 1: 0}})
    assert not reading.leaves_out(EXTENTS)


class Holding:
    """A pacer whose holds last until they are ended."""

    def __init__(self) -> None:
        self.settled: list[tuple[Debt, bool]] = []

    def follow(self, topics: Iterable[str]) -> None:
        pass

    def refresh(self) -> None:
        pass

    def begin(self, kind: QuotaKind) -> None:
        pass

    def settle(self, debt: Debt, stopped: Stopped) -> None:
        self.settled.append((debt, stopped.wait(0.0)))


def test_a_hold_that_a_new_start_has_ended_goes_on_before_the_next_batch() -> None:
    pacer = Holding()
    reading = Reading(Plan(Limits()), cast(Pacer, pacer))
    debt = Debt(READ, {0: 7.0}, "a quota")
    reading.begin(["t"])
    reading.begin_batch()
    reading.end()
    reading.settle(debt)
    # What were read now would be thrown away with the query.
    assert not reading.begin_batch()
    reading.begin(["t"])
    reading.begin_batch()
    # It is paid for now.
    reading.begin_batch()
    assert pacer.settled == [(debt, True), (debt, True), (debt, False)]


class Limited:
    """A pacer with one limit, which tells what it was told."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.leaders: dict[str, dict[int, int]] = {"t": {0: 7, 1: 7}}
        self.limited_by = ""
        self.asked_count = 0
        self.is_limited = False
        self.wasted: dict[str, dict[int, float]] = {}
        self.sample_count = 0
        self.settled: list[Debt] = []
        self.spreads: list[Spread] = []

    def follow(self, topics: Iterable[str]) -> None:
        pass

    def refresh(self) -> None:
        pass

    def has_quota(self, kind: QuotaKind) -> bool:
        return kind is READ

    def sample(self, starts: Offsets) -> Sample:
        self.sample_count += 1
        return Sample(100.0, 5_000.0)

    def limits(self, kind: QuotaKind) -> dict[int, float]:
        return {7: self.limit}

    def rates(self, kind: QuotaKind, batch_s: float, read_s: float) -> dict[int, float]:
        return {7: self.limit}

    def expect(self, kind: QuotaKind, batch_s: float, read_s: float) -> None:
        pass

    def begin(self, kind: QuotaKind) -> None:
        pass

    def ask_soon(self) -> None:
        self.asked_count += 1

    def tightest(self, kind: QuotaKind) -> str:
        return "a quota"

    def note_limited(self, kind: QuotaKind) -> None:
        self.is_limited = True

    def owe(self, kind: QuotaKind, used: Used, spread: Spread) -> Debt:
        self.spreads.append(spread)
        return Debt(kind, {7: 0.0}, "")

    def settle(self, debt: Debt, stopped: Stopped) -> None:
        self.settled.append(debt)

    def waste(self, kind: QuotaKind, used: dict[str, dict[int, float]], spread: Spread) -> Debt:
        self.wasted = used
        return Debt(kind, {7: 1.0}, "")


def started(limit: float = 100_000.0, own: float = 0.0) -> tuple[Reading, Limited]:
    pacer = Limited(limit)
    reading = Reading(Plan(Limits(records_per_s=own)), cast(Pacer, pacer))
    reading.begin(["t"])
    reading.sources({"t": {0: 0, 1: 0}})
    return reading, pacer


@pytest.mark.parametrize(
    ("limit", "is_new", "is_waste"),
    [(100_000.0, False, False), (105_000.0, False, False), (200_000.0, True, False), (50_000.0, True, True)],
)
def test_a_limit_that_changes_is_planned_by_at_once(limit: float, is_new: bool, is_waste: bool) -> None:
    reading, pacer = started()
    assert not reading.reason_to_restart()
    reading.begin_batch()
    with reading.while_read():
        pacer.limit = limit
        assert bool(reading.reason_to_restart()) is is_new
        assert reading.wastes_a_batch() is is_waste
        reading.waste_batch()
    # What is read by now is written.
    assert not reading.wastes_a_batch()
    if is_waste:
        assert pacer.wasted["t"].keys() == {0, 1}
    reading.begin(["t"])
    reading.sources({"t": {0: 0, 1: 0}})
    assert not reading.reason_to_restart()
    # A sample is a fetch, which a limit that fell holds.
    assert pacer.sample_count == 1


def test_a_batch_that_is_given_up_before_it_is_read_is_not_read_and_the_next_one_waits_for_room() -> None:
    reading, pacer = started()
    assert not reading.wastes_a_batch()
    reading.begin_batch()
    pacer.limit /= 2
    assert reading.wastes_a_batch()
    reading.waste_batch()
    assert pacer.wasted == {"t": {0: 0.0, 1: 0.0}}
    with pytest.raises(WastedError), reading.while_read():
        pytest.fail("it is read")
    reading.begin(["t"])
    assert pacer.settled == []
    reading.begin_batch()
    assert pacer.settled == [Debt(READ, {7: 1.0}, "")]


def test_where_all_of_a_batch_comes_at_once_none_is_given_up() -> None:
    pacer = Limited(100_000.0)
    reading = Reading(Plan(Limits()), cast(Pacer, pacer), is_even=False)
    reading.begin(["t"])
    reading.sources({"t": {0: 0, 1: 0}})
    reading.begin_batch()
    pacer.limit /= 2
    assert not reading.wastes_a_batch()


def report(record_count: int) -> BatchReport:
    return BatchReport(0, record_count, 0, 88 * record_count, 1.0, {}, {"t": {0: 100}}, 0.2, 0.6)


def test_a_run_whose_batches_are_full_says_that_it_is_limited_and_one_with_little_to_read_does_not() -> None:
    for record_count, is_limited in ((10, False), (1_000, True)):
        reading, pacer = started()
        reading.begin_batch()
        reading.account(report(record_count))
        assert pacer.is_limited is is_limited
        assert reading.limited_by == ("a quota" if is_limited else "nothing")


@pytest.mark.parametrize(
    ("own", "limited_by"), [(1.0e6, "a quota"), (5.0e2, "--max-messages-per-s 500"), (0.0, "a quota")]
)
def test_of_a_full_batch_the_stricter_limit_is_told_and_who_keeps_below_a_quota_shares_none(
    own: float, limited_by: str
) -> None:
    reading, pacer = started(own=own)
    reading.begin_batch()
    reading.account(report(1_000))
    assert reading.limited_by == limited_by
    assert pacer.is_limited is (limited_by == "a quota")


def test_brokers_are_asked_at_both_ends_of_reading_and_the_next_batch_begins_a_little_after_a_hold() -> None:
    reading, pacer = started()
    for _ in range(3):
        asked_count = pacer.asked_count
        reading.begin_batch()
        with reading.while_read():
            assert pacer.asked_count == asked_count + 1
        assert pacer.asked_count == asked_count + 2
        reading.settle(reading.account(report(1_000)))
    assert pacer.spreads[0].lead_s == 0.0
    assert pacer.spreads[-1].lead_s > 0.0
