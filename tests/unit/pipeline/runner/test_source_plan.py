"""A run's sources: by its own limits, by quotas, and per partition."""

from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.positions import Extent
from barnabas.pipeline.runner.source_plan import BatchSize, SourcePlan, leave_out, plan_sources

STARTS = {"t": {0: 5, 1: 6, 2: 7}, "u": {0: 8}}


def test_without_quotas_one_source_reads_all() -> None:
    assert plan_sources(STARTS, Limits(), 1.0, 100.0) == [SourcePlan(STARTS, None)]
    assert plan_sources(STARTS, Limits(records_per_s=50), 2.0, 100.0) == [SourcePlan(STARTS, 100)]


def test_a_limit_per_partition_makes_each_a_source() -> None:
    plans = plan_sources(STARTS, Limits(records_per_s_per_partition=10), 1.0, 100.0)
    assert [each.starts for each in plans] == [{"t": {0: 5}}, {"t": {1: 6}}, {"t": {2: 7}}, {"u": {0: 8}}]
    assert {(each.max_offsets, each.is_assigned) for each in plans} == {(10, True)}


def test_under_a_quota_one_source_reads_in_answers_that_are_a_small_part_of_a_batch() -> None:
    by_quota = BatchSize(10_000, 3_200_000.0)
    assert plan_sources(STARTS, Limits(), 1.0, 100.0, by_quota) == [SourcePlan(STARTS, 10_000, False, 100_000)]


def test_an_answer_is_neither_tiny_nor_larger_than_consumers_take_by_default() -> None:
    answers = [
        plan_sources(STARTS, Limits(), 1.0, 100.0, BatchSize(10, byte_count))[0].fetch_bytes
        for byte_count in (1_000.0, 1e12)
    ]
    assert answers == [16_384, 1_048_576]


def test_the_stricter_of_the_run_s_own_limit_and_a_quota_holds() -> None:
    for own, quota, most in ((10, 500, 10), (900, 500, 500)):
        (plan,) = plan_sources(STARTS, Limits(records_per_s=own), 1.0, 100.0, BatchSize(quota, 1e6))
        assert plan.max_offsets == most


def test_with_a_limit_per_partition_all_partitions_share_a_quota() -> None:
    limits = Limits(records_per_s_per_partition=9_000)
    for quota, most in ((10_000, 2_500), (100_000, 9_000), (1, 1)):
        plans = plan_sources(STARTS, limits, 1.0, 100.0, BatchSize(quota, 1e6))
        assert [each.max_offsets for each in plans] == [most] * 4


def test_a_partition_that_was_added_is_missed_by_sources_that_read_the_others_alone() -> None:
    def extents(*numbers: int) -> dict[str, dict[int, Extent]]:
        return {"t": {number: Extent(0, 0) for number in numbers}, "other": {0: Extent(0, 0)}}

    one, two = SourcePlan({"t": {0: 5}}, 10, True), SourcePlan({"t": {1: 5}}, 10, True)
    assert not leave_out([one, two], extents(0, 1))
    assert leave_out([one, two], extents(0, 1, 2))
    assert not leave_out([SourcePlan({"t": {0: 5}}, 10)], extents(0, 1))
    # A topic that is gone is another matter.
    assert not leave_out([one, two], {})
