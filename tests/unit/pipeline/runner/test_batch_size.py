"""How large a run's batches are by quotas and its own limits, and what it says limits it."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_size import BatchSizer
from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES, Limits
from barnabas.pipeline.runner.quota import READ, Quota
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.wire.quotas.limits import QuotaKind

STARTS = {"t": {0: 0, 1: 0}}
PLENTY = {"t": {0: 10_000_000, 1: 10_000_000}}
# As is guessed, too, before a batch was read.
RECORD_BYTES = 1_000


@dataclass
class Plan:
    limits: Limits = field(default_factory=Limits)
    trigger_s: float | None = 1.0


class Told:
    """Quotas as a cluster tells them."""

    def __init__(self, *limits: float, sharer_count: int = 1) -> None:
        self.limits = list(limits)
        self.sharer_count = sharer_count
        self.limited: list[QuotaKind] = []

    def ask(self, *, again: bool = False) -> None:
        pass

    def of(self, kind: QuotaKind) -> list[Quota]:
        assert kind is READ
        return [Quota(kind, broker_id, limit, "me", self.sharer_count) for broker_id, limit in enumerate(self.limits)]

    def rate(self, kind: QuotaKind) -> float | None:
        return sum(self.limits) / self.sharer_count if self.limits else None

    def strictest(self, kind: QuotaKind) -> str:
        return str(min(self.of(kind), key=lambda each: each.limit))

    def note_limited(self, kind: QuotaKind) -> None:
        self.limited.append(kind)


def pace_of(told: Told | None = None, plan: Plan | None = None) -> BatchSizer:
    """Make a pace that has seen a batch of records of `RECORD_BYTES`."""
    pace = new_pace_of(told, plan)
    take(pace, 1)
    return pace


def new_pace_of(told: Told | None = None, plan: Plan | None = None) -> BatchSizer:
    return BatchSizer(plan or Plan(), cast(QuotaClient | None, told))


def planned(pace: BatchSizer, core_count: int = 1) -> int:
    """Plan a batch where there is plenty to be read; gives how many offsets it has."""
    return sum(pace.next_ends(STARTS, PLENTY, core_count)["t"].values())


def take(pace: BatchSizer, count: int, record_bytes: int = RECORD_BYTES) -> None:
    pace.account(BatchReport(count, 0, count * (record_bytes - RECORD_OVERHEAD_BYTES), 0.5, {}))


def test_a_batch_is_what_quotas_allow_in_ten_seconds_or_a_longer_trigger_s_time() -> None:
    assert planned(pace_of()) == 400_000
    assert planned(pace_of(Told())) == 400_000
    assert planned(pace_of(Told(100_000.0))) == 1_000
    assert planned(pace_of(Told(100_000.0), plan=Plan(trigger_s=None))) == 1_000
    assert planned(pace_of(Told(100_000.0), plan=Plan(trigger_s=20.0))) == 2_000
    # Limits are per broker, and shared by all who use what they allow.
    assert planned(pace_of(Told(100_000.0, 60_000.0))) == 1_600
    assert planned(pace_of(Told(100_000.0, sharer_count=2))) == 500
    # One of each partition that is behind.
    assert planned(pace_of(Told(1.0))) == 2


def test_a_batch_has_no_more_than_it_may_whatever_quotas_allow() -> None:
    assert planned(pace_of(Told(1_000_000_000.0))) == 400_000
    assert planned(pace_of(Told(1_000_000_000.0)), core_count=2) == 800_000


def test_partitions_share_a_batch_by_how_far_they_are_behind() -> None:
    pace = pace_of(plan=Plan(Limits(records_per_s=100)))
    starts = {"t": {0: 50, 1: 0, 2: 7}, "u": {0: 3}}
    assert pace.next_ends(starts, {"t": {0: 60, 1: 20, 2: 7}, "u": {0: 9}}, 1) == {
        "t": {0: 60, 1: 20, 2: 7},
        "u": {0: 9},
    }
    # Who is little behind waits for nobody; what ends before it begins, as at the end of a run, is left as it is.
    ends = {"t": {0: 51, 1: 900, 2: 5}, "u": {0: 102}}
    assert pace.next_ends(starts, ends, 1) == {"t": {0: 51, 1: 90, 2: 7}, "u": {0: 12}}


def test_a_rate_per_partition_holds_for_each_and_what_one_leaves_is_not_for_the_other() -> None:
    pace = pace_of(plan=Plan(Limits(records_per_s_per_partition=10), 2.0))
    assert pace.next_ends(STARTS, {"t": {0: 5, 1: 100}}, 1) == {"t": {0: 5, 1: 20}}
    # Together with a limit for all.
    pace = pace_of(plan=Plan(Limits(records_per_s=10, records_per_s_per_partition=8)))
    assert pace.next_ends(STARTS, {"t": {0: 100, 1: 100}}, 1) == {"t": {0: 5, 1: 5}}
    assert pace.next_ends(STARTS, {"t": {0: 0, 1: 100}}, 1) == {"t": {0: 0, 1: 8}}


def test_a_limit_below_one_record_lets_one_pass() -> None:
    pace = pace_of(plan=Plan(Limits(records_per_s=0.1)))
    assert pace.next_ends({"t": {0: 0}}, {"t": {0: 9}}, 1) == {"t": {0: 1}}


def test_a_batch_is_planned_by_what_holds_when_it_begins() -> None:
    told = Told(100_000.0)
    pace = pace_of(told)
    assert planned(pace) == 1_000
    for limits, count in (([150_000.0], 1_500), ([], 400_000), ([50_000.0], 500)):
        told.limits = limits
        assert planned(pace) == count


def test_a_batch_that_is_cut_short_is_held_by_the_quota_and_followed_at_once() -> None:
    told, ends = Told(100_000.0), {"t": {0: 400, 1: 400}}
    for pace, limited_by in ((pace_of(told, Plan(trigger_s=None)), str(told.of(READ)[0])), (pace_of(), "nothing")):
        assert pace.next_ends(STARTS, ends, 1) == ends
        pace.account(BatchReport(500, 0, 500 * RECORD_BYTES, 10.0, {"t": {0: 400, 1: 100}}))
        assert pace.limited_by == limited_by
        assert pace.next_after_s(3.0) == 1.0
        assert pace.next_ends(STARTS, ends, 1) == ends
        pace.account(BatchReport(800, 0, 800 * RECORD_BYTES, 9.0, ends))
        assert pace.limited_by == "nothing"


def test_records_of_another_size_are_another_number_of_them() -> None:
    for pace, before, after in (
        (new_pace_of(Told(10_000.0)), 100, 500),
        (new_pace_of(plan=Plan(Limits(bytes_per_s=100_000))), 100, 500),
    ):
        assert planned(pace) == before
        take(pace, 10, record_bytes=200)
        assert planned(pace) == after


def test_a_batch_is_bounded_in_records() -> None:
    pace = new_pace_of(Told())
    assert planned(pace) == 400_000
    # What limits allow is less.
    assert planned(new_pace_of(Told(10_000.0))) == 100
    assert planned(new_pace_of(plan=Plan(Limits(records_per_s=20)))) == 20


def test_more_cores_have_larger_batches() -> None:
    assert planned(new_pace_of(), core_count=4) == 1_600_000


def test_an_answer_is_a_part_of_a_batch_within_bounds() -> None:
    sizes = []
    for limit in (None, 1.0, 800_000.0, 900_000.0, 1e9):
        pace = pace_of(Told(limit) if limit else Told())
        planned(pace)
        sizes.append(pace.fetch_bytes)
    # A power of two, so that it is seldom another one: with it consumers are made anew.
    assert sizes == [None, 16_384, 262_144, 524_288, 1_048_576]


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
    pace = pace_of(told, plan=Plan(limits))
    planned(pace)
    take(pace, record_count)
    assert pace.limited_by == limited_by
    # Who uses all that a quota allows says so to those who share it.
    assert told.limited == ([READ] if limited_by.startswith("quota") else [])


def test_the_strictest_broker_s_quota_is_named() -> None:
    pace = pace_of(Told(70_000.0, 30_000.0))
    take(pace, planned(pace))
    assert pace.limited_by == "quota consumer_byte_rate 30,000 B/s of me at broker 1"


def test_without_a_quota_a_batch_as_large_as_it_may_be_is_limited_by_nothing_that_was_set() -> None:
    pace = pace_of()
    take(pace, planned(pace))
    assert pace.limited_by == "nothing"


def test_the_next_batch_waits_as_long_as_this_one_took_where_nothing_is_left_to_read():
    pace = pace_of(plan=Plan(trigger_s=None))
    pace.next_ends(STARTS, {"t": {0: 100, 1: 100}}, 2)
    assert [pace.next_after_s(took_s) for took_s in (0.1, 3.0, 7.0, 30.0)] == [1.0, 4.5, 10.0, 10.0]


def test_batches_of_jobs_that_share_the_cores_are_further_apart_but_not_in_a_backlog():
    pace = BatchSizer(Plan(trigger_s=None), None, apart_s=4.0)
    pace.next_ends(STARTS, {"t": {0: 100, 1: 100}}, 2)
    assert [pace.next_after_s(took_s) for took_s in (0.1, 3.0, 30.0)] == [4.0, 4.5, 10.0]
    pace.next_ends(STARTS, PLENTY, 2)
    assert pace.next_after_s(0.1) == 1.0


def test_the_next_batch_of_a_backlog_waits_for_nothing_but_a_limit_s_second():
    pace = pace_of(plan=Plan(trigger_s=None))
    pace.next_ends(STARTS, PLENTY, 2)
    assert pace.next_after_s(3.0) == 1.0


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        (Limits(records_per_s=500), 500),
        (Limits(bytes_per_s=100 * RECORD_BYTES), 100),
        (Limits(records_per_s_per_partition=20), 40),
    ],
)
def test_a_limit_without_an_interval_is_for_a_second(limits: Limits, count: int) -> None:
    pace = pace_of(plan=Plan(limits, trigger_s=0.0))
    assert (planned(pace), pace.next_after_s(0.1)) == (count, 1.0)


def test_a_trigger_of_zero_without_a_limit_waits_for_nothing() -> None:
    pace = pace_of(plan=Plan(trigger_s=0.0))
    assert (planned(pace), pace.next_after_s(0.1)) == (400_000, 0.0)


def test_a_trigger_that_was_asked_for_holds():
    pace = pace_of(plan=Plan(trigger_s=5.0))
    pace.next_ends(STARTS, {"t": {0: 100, 1: 100}}, 2)
    assert pace.next_after_s(4.0) == 5.0
