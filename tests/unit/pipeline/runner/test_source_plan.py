"""A run's sources: by its own limits, per partition, and per leader where quotas hold."""

import pytest

from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.positions import Extent
from barnabas.pipeline.runner.source_plan import Fetching, SourcePlan, differ, leave_out, plan_sources

STARTS = {"t": {0: 5, 1: 6, 2: 7}, "u": {0: 8}}
LEADERS = {"t": {0: 1, 1: 2, 2: 1}, "u": {0: 2}}


def test_without_quotas_one_source_reads_all() -> None:
    assert plan_sources(STARTS, Limits(), 1.0, 100.0, {}, {}) == [SourcePlan(STARTS, None)]
    limits = Limits(records_per_s=50)
    assert plan_sources(STARTS, limits, 2.0, 100.0, LEADERS, {}) == [SourcePlan(STARTS, 100)]


def test_a_limit_per_partition_makes_each_a_source() -> None:
    plans = plan_sources(STARTS, Limits(records_per_s_per_partition=10), 1.0, 100.0, {}, {})
    assert [each.starts for each in plans] == [{"t": {0: 5}}, {"t": {1: 6}}, {"t": {2: 7}}, {"u": {0: 8}}]
    assert {(each.max_offsets, each.is_assigned) for each in plans} == {(10, True)}


def test_each_leader_is_read_by_its_own_quota() -> None:
    plans = plan_sources(STARTS, Limits(), 1.0, 100.0, LEADERS, {1: 1_000_000.0, 2: 200_000.0})
    assert [each.starts for each in plans] == [{"t": {0: 5, 2: 7}}, {"t": {1: 6}, "u": {0: 8}}]
    assert [each.max_offsets for each in plans] == [10_500, 2_100]
    assert all(each.is_assigned for each in plans)


def test_one_leader_is_one_source_that_reads_new_partitions_too() -> None:
    leaders = {"t": {0: 1, 1: 1, 2: 1}, "u": {0: 1}}
    (plan,) = plan_sources(STARTS, Limits(), 0.5, 100.0, leaders, {1: 1_000_000.0})
    assert (plan.max_offsets, plan.is_assigned, plan.fetch_bytes) == (5_250, False, 16_406)


@pytest.mark.parametrize(
    ("fetching", "fetch_bytes", "fetch_wait_ms"),
    [
        # 500,000 bytes of each of four partitions, two at a time: a partition in 750 ms, of small batches many at once.
        (Fetching(1.5, 1.5, 2, 1.0, 8_000.0), 31_250, 47),
        # A batch at a time, and no part of one: each in its time, a tenth of which is other work.
        (Fetching(1.5, 1.35, 2, 1.0, 16_000.0), 1, 22),
        (Fetching(1.5, 0.0, 2, 1.0, 16_000.0), 1, 1),
        # All at the same time: half as fast.
        (Fetching(1.5, 1.5, 4, 1.0, 16_000.0), 1, 48),
        # A fifth of the bytes on the wire.
        (Fetching(1.5, 1.5, 2, 0.2, 16_000.0), 1, 120),
        (Fetching(1.5, 1.5, 2, 1.0, 200_000.0), 1, 300),
        # Of batches larger than all that is to be read none is waited for.
        (Fetching(1.5, 1.5, 2, 1.0, 600_000.0), 62_500, None),
        # Without a wait small batches come at once; and where it is not known when they are read they are a burst.
        (Fetching(1.5, 0.0, 2, 1.0, 8_000.0), 62_500, None),
        (Fetching(0.0, 0.0, 2, 1.0, 16_000.0), 65_625, None),
    ],
)
def test_under_a_quota_a_batch_is_read_evenly(fetching: Fetching, fetch_bytes: int, fetch_wait_ms: int | None) -> None:
    leaders = {"t": {0: 1, 1: 1, 2: 1}, "u": {0: 1}}
    (plan,) = plan_sources(STARTS, Limits(), 2.0, 100.0, leaders, {1: 1_000_000.0}, fetching=fetching)
    assert (plan.fetch_bytes, plan.fetch_wait_ms) == (fetch_bytes, fetch_wait_ms)


def test_a_leader_without_a_quota_is_limited_by_nothing() -> None:
    plans = plan_sources(STARTS, Limits(), 1.0, 100.0, LEADERS, {2: 200_000.0})
    assert [(each.max_offsets, each.fetch_bytes) for each in plans] == [(None, None), (2_100, 16_384)]


def test_partitions_without_a_known_leader_are_read_by_the_strictest_quota() -> None:
    plans = plan_sources({"t": {0: 5, 1: 6}}, Limits(), 1.0, 100.0, {"t": {0: 1}}, {1: 1e6, 2: 2e5})
    assert [(each.starts, each.max_offsets) for each in plans] == [({"t": {0: 5}}, 10_500), ({"t": {1: 6}}, 2_100)]


def test_what_must_not_be_divided_is_one_source_by_the_strictest_quota_whoever_leads() -> None:
    for leaders in (LEADERS, {}, {"t": {0: 1, 1: 1, 2: 1}, "u": {0: 1}}):
        for rates in ({}, {1: 1e6}, {1: 1e6, 2: 2e5}):
            (plan,) = plan_sources(STARTS, Limits(), 1.0, 100.0, leaders, rates, is_divided=False)
            most = round(1.05 * min(rates.values()) / 100) if rates else None
            assert (plan.starts, plan.max_offsets, plan.is_assigned) == (STARTS, most, False)


def test_the_run_s_own_limit_holds_where_it_is_stricter() -> None:
    (plan,) = plan_sources({"t": {0: 5}}, Limits(records_per_s=10), 1.0, 100.0, {"t": {0: 1}}, {1: 1e6})
    assert plan.max_offsets == 10


def test_with_a_limit_per_partition_a_leader_s_partitions_share_its_quota() -> None:
    limits = Limits(records_per_s_per_partition=9_000)
    plans = plan_sources(STARTS, limits, 1.0, 100.0, LEADERS, {1: 1_000_000.0})
    assert [each.max_offsets for each in plans] == [5_250, 9_000, 5_250, 9_000]


def test_sources_are_started_anew_for_other_leaders_and_for_batches_that_are_far_off() -> None:
    planned = [SourcePlan({"t": {0: 5}}, 1_000)]
    assert not differ(planned, [SourcePlan({"t": {0: 9}}, 1_500)])
    assert differ(planned, [SourcePlan({"t": {0: 5}}, 1_700)])
    assert differ(planned, [SourcePlan({"t": {0: 5}}, 600)])
    assert differ(planned, [SourcePlan({"t": {0: 5}}, None)])
    assert differ(planned, [SourcePlan({"t": {0: 5}}, 1_000), SourcePlan({"t": {1: 5}}, 1_000)])
    assert not differ([SourcePlan(STARTS, None)], [SourcePlan(STARTS, None)])
    even = SourcePlan(STARTS, 1_000, fetch_bytes=10_000, fetch_wait_ms=100)
    assert not differ([even], [SourcePlan(STARTS, 1_000, fetch_bytes=10_000)])
    assert not differ([even], [SourcePlan(STARTS, 1_000, fetch_bytes=1, fetch_wait_ms=100)])
    assert differ([even], [SourcePlan(STARTS, 1_000, fetch_bytes=10_000, fetch_wait_ms=200)])
    assert not differ([even], [SourcePlan(STARTS, 1_000, fetch_bytes=20_000, fetch_wait_ms=200)])
    # Of a wait that is short beside all else that an answer takes half is as good.
    short, shorter = (SourcePlan(STARTS, 1_000, fetch_bytes=1, fetch_wait_ms=each) for each in (16, 8))
    assert not differ([short], [shorter])
    # Where batches are late a little more speed is worth a new start; less is not.
    faster, slower = (SourcePlan(STARTS, 1_000, fetch_bytes=10_000, fetch_wait_ms=each) for each in (70, 130))
    assert not differ([even], [faster])
    assert differ([even], [faster], 1.2)
    assert not differ([even], [faster], 1.5)
    assert not differ([even], [slower], 1.2)


def test_a_partition_that_was_added_is_missed_by_sources_that_read_the_others_alone() -> None:
    def extents(*numbers: int) -> dict[str, dict[int, Extent]]:
        return {"t": {number: Extent(0, 0) for number in numbers}, "other": {0: Extent(0, 0)}}

    one, two = SourcePlan({"t": {0: 5}}, 10, True), SourcePlan({"t": {1: 5}}, 10, True)
    assert not leave_out([one, two], extents(0, 1))
    assert leave_out([one, two], extents(0, 1, 2))
    assert not leave_out([SourcePlan({"t": {0: 5}}, 10)], extents(0, 1))
    # A topic that is gone is another matter.
    assert not leave_out([one, two], {})
