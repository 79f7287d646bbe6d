"""How large a run's batches are by quotas, when its queries are started anew, and what it says limits it."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from barnabas.pipeline.runner import reading as module
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES, Limits
from barnabas.pipeline.runner.positions import Extent
from barnabas.pipeline.runner.quota import READ, WRITE, Quota
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.reading import Allowance, Reading
from barnabas.wire.quotas.limits import QuotaKind

EXTENTS = {"t": {0: Extent(0, 9), 1: Extent(0, 9)}}
STARTS = {"t": {0: 0, 1: 0}}
# As it is guessed before a batch was read.
RECORD_BYTES = 1_000


@dataclass
class Plan:
    limits: Limits = field(default_factory=Limits)
    trigger_s: float | None = 1.0


class Told:
    """Quotas as a cluster tells them."""

    def __init__(self, *limits: float, kind: QuotaKind = READ, sharer_count: int = 1) -> None:
        self.kind = kind
        self.limits = list(limits)
        self.sharer_count = sharer_count
        self.limited: list[QuotaKind] = []

    def ask(self, *, again: bool = False) -> None:
        pass

    def of(self, kind: QuotaKind) -> list[Quota]:
        assert kind is self.kind
        return [Quota(kind, broker_id, limit, "me", self.sharer_count) for broker_id, limit in enumerate(self.limits)]

    def rate(self, kind: QuotaKind) -> float | None:
        return sum(self.limits) / self.sharer_count if self.limits else None

    def strictest(self, kind: QuotaKind) -> str:
        return str(min(self.of(kind), key=lambda each: each.limit))

    def note_limited(self, kind: QuotaKind) -> None:
        self.limited.append(kind)


def reading_of(*told: Told, plan: Plan | None = None, most_offsets: int = 1_000_000) -> Reading:
    allowances = [Allowance(cast(QuotaClient, each), each.kind) for each in told]
    return Reading(plan or Plan(), allowances, most_offsets=most_offsets)


def started(reading: Reading) -> int | None:
    """Start a query; gives what its batches may have."""
    reading.begin()
    (plan,) = reading.sources(STARTS)
    return plan.max_offsets


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def take(reading: Reading, *record_counts: int, record_bytes: int = RECORD_BYTES) -> None:
    for count in record_counts:
        reading.account(BatchReport(1, count, 0, count * (record_bytes - RECORD_OVERHEAD_BYTES), 0.5, {}))


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
    reading = Reading(Plan(limits), is_divided=is_divided)
    reading.begin()
    reading.sources({"t": {0: 0}})
    assert reading.leaves_out(EXTENTS) is leaves_out
    reading.begin()
    reading.sources(STARTS)
    assert not reading.leaves_out(EXTENTS)


def test_a_batch_is_what_quotas_allow_in_ten_seconds_or_a_longer_trigger_s_time() -> None:
    assert started(reading_of()) == 1_000_000
    assert started(reading_of(Told())) == 1_000_000
    assert started(reading_of(Told(100_000.0))) == 1_000
    assert started(reading_of(Told(100_000.0), plan=Plan(trigger_s=None))) == 1_000
    assert started(reading_of(Told(100_000.0), plan=Plan(trigger_s=20.0))) == 2_000
    # Limits are per broker, and shared by all who use what they allow.
    assert started(reading_of(Told(100_000.0, 60_000.0))) == 1_600
    assert started(reading_of(Told(100_000.0, sharer_count=2))) == 500
    assert started(reading_of(Told(1.0))) == 1


def test_of_what_may_be_read_and_what_may_be_written_the_lesser_is_a_batch() -> None:
    assert started(reading_of(Told(100_000.0), Told(40_000.0, kind=WRITE))) == 400
    assert started(reading_of(Told(), Told(40_000.0, kind=WRITE))) == 400
    assert started(reading_of(Told(100_000.0), Told(kind=WRITE))) == 1_000


def test_a_batch_has_no_more_than_it_may_whatever_quotas_allow() -> None:
    assert started(reading_of(Told(), most_offsets=100)) == 100
    assert started(reading_of(Told(100_000.0), most_offsets=100)) == 100
    assert started(reading_of(Told(100_000.0), most_offsets=2_000)) == 1_000


@pytest.mark.parametrize(
    ("before", "after", "is_planned_anew"),
    [
        ([100_000.0], [100_000.0], False),
        ([100_000.0], [150_000.0], False),
        ([100_000.0], [200_000.0], True),
        ([100_000.0], [50_000.0], True),
        ([100_000.0], [], True),
        ([], [100_000.0], True),
        ([], [], False),
    ],
)
def test_a_limit_that_changes_is_planned_by_at_once(
    before: list[float], after: list[float], is_planned_anew: bool
) -> None:
    told = Told(*before)
    reading = reading_of(told)
    started(reading)
    told.limits = after
    assert reading.reason_to_restart() == ("a quota has changed" if is_planned_anew else "")
    started(reading)
    assert reading.reason_to_restart() == ""


def test_batches_that_are_far_too_large_or_small_are_planned_anew_after_some(clock: Clock) -> None:
    reading = reading_of(Told(100_000.0))
    assert started(reading) == 1_000
    for count in (1_000, 100, 100):
        take(reading, count, record_bytes=200)
        assert reading.reason_to_restart() == ""
    take(reading, 100, record_bytes=200)
    assert "the size of records has changed" in reading.reason_to_restart()
    assert started(reading) == 5_000
    take(reading, *[100] * 4, record_bytes=200)
    assert reading.reason_to_restart() == ""


def full_batches(reading: Reading, clock: Clock, most: int | None, took_s: float) -> None:
    for _ in range(4):
        clock.now_s += took_s
        take(reading, most or 0)


def test_batches_that_end_early_are_made_larger_until_they_take_their_time(clock: Clock) -> None:
    reading = reading_of(Told(100_000.0))
    most = started(reading)
    full_batches(reading, clock, most, 2.0)
    assert "are made larger" in reading.reason_to_restart()
    assert started(reading) == 5_000
    full_batches(reading, clock, 5_000, 8.0)
    assert reading.reason_to_restart() == ""
    # There is an end to that, where it is no quota that lets them end so early.
    for _ in range(9):
        full_batches(reading, clock, started(reading), 0.1)
        reading.reason_to_restart()
    assert started(reading) == 32 * 1_000
    assert reading.reason_to_restart() == ""


def test_batches_that_take_long_are_made_no_smaller(clock: Clock) -> None:
    reading = reading_of(Told(100_000.0))
    full_batches(reading, clock, started(reading), 60.0)
    assert reading.reason_to_restart() == ""


def test_batches_that_end_early_as_there_is_no_more_are_left_as_they_are(clock: Clock) -> None:
    reading = reading_of(Told(100_000.0))
    started(reading)
    full_batches(reading, clock, 100, 1.0)
    assert reading.reason_to_restart() == ""


def test_records_of_another_size_make_a_limit_in_bytes_another_number_of_them() -> None:
    reading = reading_of(plan=Plan(Limits(bytes_per_s=10_000)))
    assert started(reading) == 10
    take(reading, 10, record_bytes=500)
    assert "records have another size" in reading.reason_to_restart()
    assert started(reading) == 20
    assert reading.reason_to_restart() == ""


@pytest.mark.parametrize(
    ("limits", "record_count", "limited_by"),
    [
        (Limits(), 1_000, "quota consumer_byte_rate 100,000 B/s of me at broker 0"),
        (Limits(), 800, "nothing"),
        (Limits(records_per_s=50), 50, "--max-messages-per-s 50"),
        (Limits(records_per_s=200), 200, "quota consumer_byte_rate 100,000 B/s of me at broker 0"),
        (Limits(records_per_s_per_partition=20), 40, "--max-rate-per-partition 20"),
        (Limits(records_per_s_per_partition=80), 160, "quota consumer_byte_rate 100,000 B/s of me at broker 0"),
    ],
)
def test_the_limit_that_cut_a_batch_short_is_named(limits: Limits, record_count: int, limited_by: str) -> None:
    told = Told(100_000.0)
    reading = reading_of(told, plan=Plan(limits))
    reading.begin()
    reading.sources(STARTS)
    take(reading, record_count)
    assert reading.limited_by == limited_by
    # Who uses all that a quota allows says so to those who share it.
    assert told.limited == ([READ] if limited_by.startswith("quota") else [])


def test_the_strictest_broker_s_quota_is_named() -> None:
    reading = reading_of(Told(), Told(70_000.0, 30_000.0, kind=WRITE))
    take(reading, started(reading) or 0)
    assert reading.limited_by == "quota producer_byte_rate 30,000 B/s of me at broker 1"


def test_without_a_quota_a_batch_as_large_as_it_may_be_is_limited_by_nothing_that_was_set() -> None:
    reading = reading_of(most_offsets=100)
    take(reading, started(reading) or 0)
    assert reading.limited_by == "nothing"
