from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.charts.time_plot import Series, TimePlot, buckets

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2999, 12, 31))


@given(TIMES, TIMES)
def test_columns_cover_the_time_and_are_few_enough(one, other):
    first, last = sorted((one, other))
    start, step, count = buckets(first, last)
    assert start <= first < start + step
    assert start + (count - 1) * step <= last < start + count * step
    assert count <= 96


@pytest.mark.parametrize("first", [datetime(1, 1, 1), datetime(2015, 5, 17), datetime(9999, 12, 31, 23, 59)])
@pytest.mark.parametrize("last", [datetime(1, 1, 3), datetime(2015, 5, 17, 1), datetime(9999, 12, 31, 23, 59)])
def test_columns_and_labels_at_the_ends_of_the_calendar(first, last):
    first, last = sorted((first, last))
    start, step, count = buckets(first, last)
    assert start <= first
    assert timedelta(0) <= last - (start + (count - 1) * step) < step
    plot = plot_of([1] * count, step=step, start=start)
    assert len(plot.rows()) == count
    assert len(plot.time_labels()) >= 1


def test_columns_of_seven_days_begin_on_mondays():
    start, step, _ = buckets(datetime(2015, 5, 17), datetime(2016, 5, 17))
    assert (step, start.weekday()) == (timedelta(days=7), 0)


def plot_of(*values, step=timedelta(days=1), start=datetime(2015, 5, 17), is_stacked=True, unit="views"):
    return TimePlot("about", unit, start, step, tuple(Series("s", "s1", each) for each in values), is_stacked)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 10**12), st.floats(0, 100)), min_size=1, max_size=400),
    st.sampled_from([timedelta(seconds=10), timedelta(minutes=1), HOUR, 6 * HOUR, DAY, 7 * DAY]),
    TIMES.filter(lambda time: time.year < 2980),
    st.booleans(),
    st.sampled_from(["views", "%"]),
)
def test_axes_hold_all_values_and_their_labels_have_room(values, step, start, is_stacked, unit):
    start = start.replace(minute=0, second=0, microsecond=0)
    plot = plot_of(values, step=step, start=start, is_stacked=is_stacked, unit=unit)
    ticks = plot.ticks
    assert 2 <= len(ticks) <= 6
    assert ticks[-1] >= max(value or 0 for value in values)
    steps = [above - below for below, above in pairwise(ticks)]
    assert max(steps) - min(steps) < 1e-6 * ticks[-1]
    assert min(steps) > 0
    # Each has a seventh of the width at least.
    places = [place for place, _ in plot.time_labels()]
    assert all(after - before >= 100 / 7 - 0.001 for before, after in pairwise(places))
    assert all(0 <= place <= 94 for place in places)
    for _, boxes in plot.columns():
        assert all(top >= -0.001 and height >= 0 for _, top, height in boxes)
    for _, points in plot.lines():
        assert all(-0.001 <= y <= 100 for _, y in points)


def test_the_highest_tick_reaches_a_value_just_above_a_round_one():
    assert plot_of([10**10 + 1]).ticks[-1] > 10**10


def test_heights_are_in_proportion_and_stand_on_each_other():
    (_, lower), (_, upper) = plot_of((1, 4), (3, 0)).columns()
    (_, first_top, first), (_, _, second) = lower
    ((_, third_top, third),) = upper
    assert second == pytest.approx(4 * first)
    assert third == pytest.approx(3 * first)
    assert first_top + first == pytest.approx(100)
    assert third_top + third == pytest.approx(first_top)


def test_line_has_a_gap_where_there_is_no_value():
    plot = plot_of((1.0, None, 2.0, 3.0), step=timedelta(hours=1), is_stacked=False, unit="%")
    assert [[x for x, _ in points] for _, points in plot.lines()] == [[0.5], [2.5, 3.5]]


def test_an_hour_is_told_by_the_minute_and_five_minutes_by_ten_seconds():
    start, step, count = buckets(
        datetime(2026, 5, 17, 9, 0, 30), datetime(2026, 5, 17, 10, 0, 30), timedelta(seconds=10)
    )
    assert (start, step, count) == (datetime(2026, 5, 17, 9), timedelta(minutes=1), 61)
    hour = plot_of([None] * 60 + [7], step=step, start=start)
    assert [label for _, label in hour.time_labels()] == ["09:00", "09:10", "09:20", "09:30", "09:40", "09:50"]
    start, step, count = buckets(start, start + timedelta(minutes=5), timedelta(seconds=10))
    assert (step, count) == (timedelta(seconds=10), 31)
    assert plot_of([1] * 31, step=step, start=start).rows()[1] == ["17 May 2026 09:00:10", "1"]
    start, step, count = buckets(start, start + timedelta(seconds=20), timedelta(seconds=1))
    labels = plot_of([1] * count, step=step, start=start).time_labels()
    assert [label for _, label in labels] == ["09:00:00", "09:00:05", "09:00:10", "09:00:15"]


def test_what_is_said_of_a_plot_is_its_begin_its_highest_values_and_its_last():
    plot = plot_of((1, 5, 2, None), (None,) * 4, step=timedelta(minutes=1))
    assert plot.summary() == "from 17 May 2015 00:00 on; s at most 5, at last 2; s unknown"
