import re
from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.report.time_plot import Series, TimePlot, buckets, draw

TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2999, 12, 31))
LABEL = re.compile(r'<text class="tick" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]+)</text>')


@given(TIMES, TIMES)
def test_columns_cover_the_time_and_are_few_enough(one, other):
    first, last = sorted((one, other))
    start, step, count = buckets(first, last)
    assert start <= first < start + step
    assert start + (count - 1) * step <= last < start + count * step
    assert count <= 96


def test_columns_of_seven_days_begin_on_mondays():
    start, step, _ = buckets(datetime(2015, 5, 17), datetime(2016, 5, 17))
    assert (step, start.weekday()) == (timedelta(days=7), 0)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 10**12), st.floats(0, 100)), min_size=1, max_size=400),
    st.sampled_from([timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=7)]),
    TIMES.filter(lambda time: time.year < 2980),
    st.booleans(),
    st.sampled_from(["views", "%"]),
)
def test_axes_hold_all_values_and_their_labels_have_room(values, step, start, is_stacked, unit):
    if is_stacked:
        values = [value or 0 for value in values]
    start = start.replace(minute=0, second=0, microsecond=0)
    plot = TimePlot("n", "title", unit, start, step, (Series("s", "s1", tuple(values)),), is_stacked)
    for picture, width in zip(draw(plot).split("</svg>")[:2], (340, 600), strict=True):
        labels = LABEL.findall(picture)
        heights = [float(y) for _, y, anchor, _ in labels if anchor == "end"]
        assert 2 <= len(heights) <= 6
        assert all(above - below <= -20 for below, above in pairwise(heights))
        # Of labels of the time none begins before the one ahead of it ends.
        ends = [(float(x) - 3.6 * len(t), float(x) + 3.6 * len(t)) for x, _, anchor, t in labels if anchor == "middle"]
        assert all(end < begin for (_, end), (begin, _) in pairwise(ends))
        assert all(begin >= 0 and end <= width for begin, end in ends)
        for y, height in re.findall(r'<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/>', picture):
            assert float(y) >= 9.9
            assert float(height) >= 0


def test_heights_are_in_proportion_and_stand_on_each_other():
    plot = TimePlot(
        "n",
        "t",
        "views",
        datetime(2015, 5, 17),
        timedelta(days=1),
        (Series("a", "s1", (1, 4)), Series("b", "s2", (3, 0))),
    )
    narrow = draw(plot).split("</svg>")[0]
    boxes = [(float(y), float(h)) for y, h in re.findall(r'y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/>', narrow)]
    (first_y, first), (second_y, second), (third_y, third) = boxes
    assert abs(second - 4 * first) < 0.01
    assert abs(third - 3 * first) < 0.01
    assert abs(third_y - second_y) < 0.01
    assert abs(third_y + third - first_y) < 0.01


def test_line_has_a_gap_where_there_is_no_value():
    values = (1.0, None, 2.0, 3.0)
    plot = TimePlot("n", "t", "%", datetime(2015, 5, 17), timedelta(hours=1), (Series("a", "s1", values),), False)
    lines = re.findall(r'points="([^"]+)"', draw(plot).split("</svg>")[0])
    assert [len(line.split()) for line in lines] == [1, 2]
