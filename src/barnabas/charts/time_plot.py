"""Columns or lines over time: axes and shapes, in the units of the page's template.

The page draws a plot as an SVG, one unit wide per column and 100 units high, stretched to the available room. Labels
are HTML beside it, so letters keep their size on a phone and on a screen.

No library is used: browser libraries need megabytes of script (Plotly, Vega, Bokeh); Matplotlib, which draws SVG here,
is larger than everything else that a report needs and fixes colours and sizes in the file.

Invariants: heights are proportional to values, from a baseline at zero; labels never overlap.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from math import ceil, floor, log10
from typing import NamedTuple

from barnabas.charts import labels

# A Monday: steps of seven days begin on one.
_EPOCH = datetime(1969, 12, 29)
_SECOND, _MINUTE, _HOUR, _DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# From weeks on doubled and doubled again, so that a single event of a wrong century does not make a thousand columns.
_STEPS = (
    *(count * unit for unit in (_SECOND, _MINUTE) for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12, 24, 48, 168, 336, 672, *(1_344 << doubled for doubled in range(8)))),
)
_MOST_COLUMNS = 96
# As many have room on a wide page; on a narrow one its style shows each second.
_MOST_TIME_LABELS = 7
# Percent of the width: a label further to the right would reach out of the card.
_LAST_LABEL = 94


class Series(NamedTuple):
    """One value per column, None if a column has none; `style` is the CSS class of its colour."""

    name: str
    style: str
    values: Sequence[float | None]


class TimePlot(NamedTuple):
    """Values over time: the column n is from `start` + n × `step` on; stacked on each other, or each its own line.

    `about` says more of them; `unit` is what a value counts, or "%".
    """

    about: str
    unit: str
    start: datetime
    step: timedelta
    series: tuple[Series, ...]
    is_stacked: bool = True

    @property
    def column_count(self) -> int:
        """Return the number of columns."""
        return len(self.series[0].values)

    @property
    def ticks(self) -> list[float]:
        """Return 0 and the round values up to the first that reaches the highest: two to six, at equal distances."""
        columns = zip(*([value or 0 for value in series.values] for series in self.series), strict=True)
        highest = max((sum(column) if self.is_stacked else max(column) for column in columns), default=0)
        # What is that small is a share that nobody can see.
        if highest < 0.001:
            return [0, 1]
        power = 10.0 ** floor(log10(highest))
        # Their products with 5 run from 1 to 12.5 times the power, and the highest lies between 1 and 10 times.
        step = next(factor * power for factor in (0.2, 0.25, 0.5, 1, 2, 2.5) if 5 * factor * power >= highest)
        if self.unit != "%":
            step = ceil(step)
        return [round(n * step, 9) for n in range(ceil(round(highest / step, 12)) + 1)]

    def time_labels(self) -> list[tuple[float, str]]:
        """Return labels for round times, each with its place: percent of the width.

        A column of a day or more has its label in its middle.
        """
        span = self.column_count * self.step
        steps = [step for step in _STEPS if step % self.step == timedelta(0)]
        step = next((step for step in steps if span / step <= _MOST_TIME_LABELS), steps[-1])
        # Of days that are skipped none is rounder than the first.
        origin = self.start if step > _DAY else _EPOCH
        # Time since the start, because the next label may be after the last date that `datetime` has.
        passed = (origin - self.start) % step
        middle = self.step / 2 if self.step >= _DAY else timedelta(0)
        labels = []
        while (place := 100 * ((passed + middle) / span)) <= _LAST_LABEL:
            labels.append((place, _time_label(self.start + passed, step)))
            passed += step
        return labels

    def columns(self) -> Iterator[tuple[Series, list[tuple[int, float, float]]]]:
        """Yield each series with its boxes, stacked on the previous series: column, top and height."""
        unit = 100 / self.ticks[-1]
        heights = [0.0] * self.column_count
        for series in self.series:
            boxes = []
            for n, value in enumerate(series.values):
                if value:
                    heights[n] += value
                    boxes.append((n, 100 - unit * heights[n], unit * value))
            yield series, boxes

    def lines(self) -> Iterator[tuple[Series, list[tuple[float, float]]]]:
        """Yield each series with the points of its lines, in the middle of its columns; a missing value makes a gap."""
        unit = 100 / self.ticks[-1]
        for series in self.series:
            for is_there, run in groupby(enumerate(series.values), key=lambda numbered: numbered[1] is not None):
                if is_there:
                    yield series, [(n + 0.5, 100 - unit * (value or 0)) for n, value in run]

    def rows(self) -> list[list[str]]:
        """Return the data as table rows: each column's start, and the values of all series."""
        return [
            [self._when(self.start + n * self.step), *(self.said(series.values[n]) for series in self.series)]
            for n in range(self.column_count)
        ]

    def summary(self) -> str:
        """Return a description for screen readers: the start, and each series' highest and last value."""
        return "; ".join([f"from {self._when(self.start)} on", *map(self._summed_up, self.series)])

    def _summed_up(self, series: Series) -> str:
        known = [value for value in series.values if value is not None]
        if not known:
            return f"{series.name} unknown"
        return f"{series.name} at most {self.said(max(known))}, at last {self.said(known[-1])}"

    def _when(self, moment: datetime) -> str:
        if self.step >= _DAY:
            return labels.day(moment)
        return labels.timestamp(moment) if self.step >= _MINUTE else f"{labels.timestamp(moment)}:{moment:%S}"

    def tick_label(self, value: float) -> str:
        """Return the label of a height of the axis."""
        return f"{labels.tick(value)} %" if self.unit == "%" else labels.tick(value)

    def said(self, value: float | None) -> str:
        """Return a value with its unit, where it has one."""
        if value is None:
            return "–"
        return f"{value:.1f} %" if self.unit == "%" else labels.number(round(value))


def buckets(first: datetime, last: datetime, finest: timedelta = _HOUR) -> tuple[datetime, timedelta, int]:
    """Divide the time between two moments into columns, as fine as is readable, and as `finest` at most.

    Returns:
        Start of the first column, length of each, how many.
    """
    for step in _STEPS:
        if step < finest:
            continue
        start = _EPOCH + max((first - _EPOCH) // step * step, datetime.min - _EPOCH)
        count = (last - start) // step + 1
        if count <= _MOST_COLUMNS:
            break
    return start, step, count


def _time_label(moment: datetime, step: timedelta) -> str:
    if step >= 28 * _DAY:
        return labels.month(moment)
    if step >= _DAY or (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return labels.short_day(moment)
    return f"{moment:%H:%M}" if step >= _MINUTE else f"{moment:%H:%M:%S}"
