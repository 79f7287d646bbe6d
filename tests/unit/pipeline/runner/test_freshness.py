"""How fresh rows are: waits by step, what derived rows add, and the window of a minute."""

from barnabas.pipeline.runner.freshness import Freshness, count_steps, waits_of


class _Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_quantile_is_what_such_a_share_of_the_records_waited_at_most():
    freshness = Freshness(_Clock())
    freshness.commit({1.0: 90, 5.0: 9, 60.0: 1}, is_derived=False)
    assert freshness.quantiles(0.5, 0.9, 0.99, 1.0) == [1.0, 1.0, 5.0, 60.0]


def test_a_step_is_a_wait_and_what_passed_since_and_records_without_a_time_are_left_out():
    waits = waits_of({0: 3, 4: 2, None: 7}, 0.5)
    assert waits == {1.5: 3, 1.25**4 + 0.5: 2}


def test_records_wait_until_rows_are_derived_from_them():
    clock = _Clock()
    freshness = Freshness(clock)
    freshness.commit({1.0: 10}, is_derived=True)
    assert freshness.quantiles(0.5) == [None]
    opened = freshness.begin_refresh()
    # This one comes while the rows are derived, so it is of the next time.
    freshness.commit({1.0: 5}, is_derived=True)
    clock.now_s += 4
    freshness.end_refresh(opened)
    assert freshness.quantiles(0.5, 1.0) == [5.0, 5.0]
    opened = freshness.begin_refresh()
    freshness.end_refresh(opened, is_done=False)
    clock.now_s += 8
    freshness.end_refresh(freshness.begin_refresh())
    assert freshness.quantiles(0.5, 1.0) == [5.0, 13.0]


def test_what_came_more_than_a_minute_ago_is_forgotten():
    clock = _Clock()
    freshness = Freshness(clock)
    freshness.commit({9.0: 1}, is_derived=False)
    clock.now_s += 59
    freshness.commit({1.0: 1}, is_derived=False)
    assert freshness.quantiles(1.0) == [9.0]
    clock.now_s += 2
    assert freshness.quantiles(1.0) == [1.0]
    clock.now_s += 61
    assert freshness.quantiles(1.0) == [None]


def test_records_are_counted_by_the_step_of_their_wait() -> None:
    steps = count_steps([99_900, 90_000, 90_000, -1, 200_000], 100.0)
    assert (sum(steps.values()), steps[None]) == (5, 1)
    # A record of the future has waited as little as can be told.
    assert waits_of(steps, 0.0).keys() == {wait for wait in waits_of(steps, 0.0) if 0.04 < wait < 12.6}
    assert [count for _, count in sorted(waits_of(steps, 0.0).items())] == [1, 1, 2]
