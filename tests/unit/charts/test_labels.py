from datetime import date, datetime

import pytest

from barnabas.charts import labels


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (999, "999"), (1_234_567, "1,234,567"), (-1_000, "-1,000"), (1_234_000_000, "1.234G"), (10**15, "1P")],
)
def test_numbers_have_commas_between_thousands_and_stay_short(value, said):
    assert labels.number(value) == said


def test_ticks_are_short():
    assert [labels.tick(value) for value in (0, 0.25, 2_500, 1.5e6)] == ["0", "0.25", "2,500", "1.5M"]


def test_times_are_as_precise_as_they_need_be():
    assert labels.timestamp(datetime(2015, 5, 17, 9, 5)) == "17 May 2015 09:05"
    assert (labels.short_day(date(2015, 5, 7)), labels.month(date(2015, 5, 7))) == ("7 May", "May 2015")
