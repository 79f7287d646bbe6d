"""How much time batches are given, by what the ones before took."""

import pytest

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_times import BatchTimes


def report(duration_s: float, read_s: float, record_count: int = 1_000) -> BatchReport:
    return BatchReport(0, record_count, 0, 88 * record_count, duration_s, {}, {}, 0.2, read_s)


def taken(
    duration_s: float, read_s: float, count: int = 12, *, is_held: bool = True, trigger_s: float | None = None
) -> BatchTimes:
    times = BatchTimes(trigger_s, is_even=read_s > 0)
    times.begin()
    times.plan(1_000, 0.5)
    times.is_held = is_held
    for _ in range(count):
        times.take(report(duration_s, read_s))
    return times


@pytest.mark.parametrize(
    ("work_s", "is_held", "interval_s"),
    [(0.15, True, 1.0), (0.4, True, 2.0), (0.9, True, 4.8), (1.5, True, 9.6), (1.5, False, 4.8), (5.0, True, 9.6)],
)
def test_batches_get_as_much_time_as_makes_their_work_a_small_part(
    work_s: float, is_held: bool, interval_s: float
) -> None:
    # Planning takes a tenth of a second, and starting to read a quarter.
    times = taken(0.85 + work_s, 1.2, is_held=is_held)
    assert times.interval_s == interval_s
    assert times.read_s(interval_s) == pytest.approx(max(0.0, interval_s - 1.1 * work_s), abs=0.1)


def test_a_trigger_that_was_asked_for_is_the_shortest_time() -> None:
    assert taken(1.0, 1.2, trigger_s=2.0).interval_s == 2.0
    assert taken(4.0, 1.2, trigger_s=2.0).interval_s > 2.0


def test_nothing_is_learnt_from_the_first_batches_of_a_run_nor_planned_by_the_first_ones_of_a_query() -> None:
    times = taken(30.0, 1.2, 2)
    assert (times.interval_s, times.are_known, times.are_late(2.0)) == (2.0, False, False)
    times.take(report(1.2, 1.2))
    assert (times.interval_s, times.are_known) == (2.0, True)
    times.begin()
    assert not times.are_known


def test_what_is_no_waiting_takes_from_the_wait() -> None:
    # Half of a second is waiting, 0.45 s are not.
    times = taken(2.0, 1.2)
    assert times.wait_s(2.0, 0) == 2.0
    assert times.wait_s(2.0, 2_000) == pytest.approx(2.0 - 2 * 0.45, abs=0.02)
    assert times.wait_s(2.0, 50_000) == 0.0


def test_where_a_batch_comes_at_once_it_is_not_known_when() -> None:
    times = BatchTimes(None, is_even=False)
    assert times.take(report(1.0, 0.9)) == (0.0, 0.0, 0.0)
    assert times.read_s(5.0) == 0.0
