"""Columns or lines over time, as SVG.

A plot is drawn twice: for a narrow and for a wide place. The page shows the one that fits, so that letters keep their
size; an SVG that is only scaled is unreadable on a phone or clumsy on a screen. Colours are the page's CSS classes, so
they follow dark and light.

Why no library: those that draw in the browser bring megabytes of script (Plotly, Vega, Bokeh), those that draw SVG here
(Matplotlib) are larger than all else that a report needs and fix colours and sizes in the file.

Invariants: heights are proportional to values, from a baseline at zero; labels never overlap; all text is in the
page's font at about its size; no text of users comes in here, only numbers and times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from itertools import groupby
from math import ceil, floor, log10

from barnabas.pipeline.report import text

# A Monday: steps of seven days begin on one.
_EPOCH = datetime(1969, 12, 29)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
# From weeks on doubled and doubled again, so that a single event of a wrong century does not make a thousand columns.
_STEPS_H = (1, 2, 3, 6, 12, 24, 48, 168, 336, 672, *(1_344 << doubled for doubled in range(8)))
# Of letters of 12 units, at the most.
_LETTER_WIDTH = 7.2
_LABEL_ROOM = 56
_MOST_COLUMNS = 96
_MOST_HINTS = 200
_WIDEST_COLUMN = 44.0


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each column, None where there is none; `style` is the CSS class that colours it."""

    name: str
    style: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TimePlot:
    """Values over time: the column n is from `start` + n × `step` on; stacked on each other, or each its own line.

    `unit` is what a value counts, or "%".
    """

    name: str
    title: str
    unit: str
    start: datetime
    step: timedelta
    series: tuple[Series, ...]
    is_stacked: bool = True

    @property
    def column_count(self) -> int:
        """The number of columns."""
        return len(self.series[0].values)


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of the plot's area in its picture."""

    style: str
    width: float
    height: float
    left: float
    right: float = 10
    top: float = 10
    bottom: float = 26

    @property
    def area_width(self) -> float:
        return self.width - self.left - self.right

    @property
    def base(self) -> float:
        return self.height - self.bottom

    @property
    def area_height(self) -> float:
        return self.base - self.top


def buckets(first: datetime, last: datetime) -> tuple[datetime, timedelta, int]:
    """Divide the time between two moments into columns, as fine as is readable.

    Returns:
        Start of the first column, length of each, how many.
    """
    for step_h in _STEPS_H:
        step = step_h * _HOUR
        start = _EPOCH + (first - _EPOCH) // step * step
        count = (last - start) // step + 1
        if count <= _MOST_COLUMNS:
            break
    return start, step, count


def draw(plot: TimePlot) -> str:
    """Draw a plot, narrow and wide."""
    columns = zip(*([value or 0 for value in series.values] for series in plot.series), strict=True)
    highest = max((sum(column) if plot.is_stacked else max(column) for column in columns), default=0)
    ticks = _ticks(highest, is_whole=plot.unit != "%")
    left = 12 + _LETTER_WIDTH * max(len(_tick_label(plot, value)) for value in ticks)
    places = (_Place("narrow", 340, 210, left), _Place("wide", 600, 240, left))
    return "".join(_picture(plot, ticks, place) for place in places)


def _picture(plot: TimePlot, ticks: Sequence[float], place: _Place) -> str:
    name = f"{plot.name}-{place.style}"
    names = ", ".join(series.name for series in plot.series)
    end = plot.start + plot.column_count * plot.step
    what = f"{names}, from {text.moment(plot.start)} to {text.moment(end)} UTC; the figures are in the table below."
    return (
        f'<svg class="plot {place.style}" viewBox="0 0 {place.width:g} {place.height:g}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{escape(plot.title)}</title>'
        f'<desc id="{name}-d">{escape(what)}</desc>'
        + _value_axis(plot, ticks, place)
        + _time_axis(plot, place)
        + (_columns if plot.is_stacked else _lines)(plot, ticks[-1], place)
        + (_hints(plot, place) if place.style == "wide" else "")
        + "</svg>"
    )


def _ticks(highest: float, is_whole: bool) -> list[float]:
    """Return 0 and the round values up to the first that is not below the highest: two to six in all."""
    # What is that small is a share that nobody can see.
    if highest < 0.001:
        return [0, 1]
    power = 10.0 ** floor(log10(highest))
    # Their products with 5 run from 1 to 12.5 times the power, and the highest lies between 1 and 10 times.
    step = next(factor * power for factor in (0.2, 0.25, 0.5, 1, 2, 2.5) if 5 * factor * power >= highest)
    if is_whole:
        step = ceil(step)
    return [round(n * step, 9) for n in range(ceil(round(highest / step, 9)) + 1)]


def _tick_label(plot: TimePlot, value: float) -> str:
    return f"{text.tick(value)}{' %' if plot.unit == '%' else ''}"


def _value_axis(plot: TimePlot, ticks: Sequence[float], place: _Place) -> str:
    drawn = []
    for value in ticks:
        y = place.base - place.area_height * value / ticks[-1]
        label = _tick_label(plot, value)
        drawn.append(
            f'<line class="{"axis" if value == 0 else "grid"}" x1="{place.left:g}" x2="{place.width - place.right:g}" '
            f'y1="{y:.2f}" y2="{y:.2f}"/>'
            f'<text class="tick" x="{place.left - 6:g}" y="{y + 4:.2f}" text-anchor="end">{label}</text>'
        )
    return "".join(drawn)


def _time_axis(plot: TimePlot, place: _Place) -> str:
    """Label as many columns as have room beside each other; a column of a day or more has its label in its middle."""
    span = plot.column_count * plot.step
    middle = plot.step / 2 if plot.step >= _DAY else timedelta(0)
    drawn, free_from = [], 0.0
    for moment, label in _time_labels(plot, int(place.area_width // _LABEL_ROOM)):
        x = place.left + place.area_width * ((moment + middle - plot.start) / span)
        half = _LETTER_WIDTH * len(label) / 2
        if x - half < free_from or x + half > place.width:
            continue
        free_from = x + half + 8
        drawn.append(
            f'<line class="axis" x1="{x:.2f}" x2="{x:.2f}" y1="{place.base:g}" y2="{place.base + 4:g}"/>'
            f'<text class="tick" x="{x:.2f}" y="{place.base + 18:g}" text-anchor="middle">{label}</text>'
        )
    return "".join(drawn)


def _time_labels(plot: TimePlot, most: int) -> list[tuple[datetime, str]]:
    """Return the beginnings of some columns with their labels: round times, about as many as wanted at the most."""
    span = plot.column_count * plot.step
    steps = [hours * _HOUR for hours in _STEPS_H if hours * _HOUR % plot.step == timedelta(0)]
    step = next((step for step in steps if span / step <= most), steps[-1])
    # Of days that are skipped none is rounder than the first.
    origin = plot.start if step > _DAY else _EPOCH
    moment = origin + -((origin - plot.start) // step) * step
    labels = []
    while moment < plot.start + span:
        if step >= 28 * _DAY:
            label = text.month(moment)
        else:
            label = text.short_day(moment) if step >= _DAY or moment.hour == 0 else f"{moment:%H:%M}"
        labels.append((moment, label))
        moment += step
    return labels


def _columns(plot: TimePlot, highest: float, place: _Place) -> str:
    """Draw stacked columns."""
    pitch = place.area_width / plot.column_count
    width = min(_WIDEST_COLUMN, pitch - min(4.0, pitch * 0.25))
    bases = [0.0] * plot.column_count
    drawn = []
    for series in plot.series:
        boxes = []
        for n, value in enumerate(series.values):
            if value:
                bases[n] += value
                x, y = place.left + (n + 0.5) * pitch - width / 2, place.base - place.area_height * bases[n] / highest
                height = place.area_height * value / highest
                boxes.append(f'<rect x="{x:.2f}" y="{y:.3f}" width="{width:.2f}" height="{height:.3f}"/>')
        drawn.append(f'<g class="fill {series.style}">{"".join(boxes)}</g>')
    return "".join(drawn)


def _lines(plot: TimePlot, highest: float, place: _Place) -> str:
    """Draw a line for each series through the middle of its columns, with a gap where there is no value.

    Dots show the values where there are few, and a value that stands alone.
    """
    pitch = place.area_width / plot.column_count
    drawn = []
    for series in plot.series:
        for is_there, run in groupby(enumerate(series.values), key=lambda numbered: numbered[1] is not None):
            if not is_there:
                continue
            points = [
                (place.left + (n + 0.5) * pitch, place.base - place.area_height * (value or 0) / highest)
                for n, value in run
            ]
            path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
            drawn.append(f'<polyline class="line {series.style}" points="{path}"/>')
            if len(points) == 1 or plot.column_count <= 31:
                drawn += [f'<circle class="dot {series.style}" cx="{x:.2f}" cy="{y:.2f}" r="3.2"/>' for x, y in points]
    return "".join(drawn)


def _hints(plot: TimePlot, place: _Place) -> str:
    """Lay a box over each column that says its values to a mouse."""
    if plot.column_count > _MOST_HINTS:
        return ""
    pitch = place.area_width / plot.column_count
    drawn = []
    for n in range(plot.column_count):
        said = ", ".join(f"{series.name} {value_label(plot, series.values[n])}" for series in plot.series)
        drawn.append(
            f'<rect class="hint" x="{place.left + n * pitch:.2f}" y="{place.top:g}" width="{pitch:.2f}" '
            f'height="{place.area_height:g}"><title>{column_label(plot, n)}: {escape(said)}</title></rect>'
        )
    return "".join(drawn)


def rows(plot: TimePlot) -> list[list[str]]:
    """Return the same as a table: of each column its label, and the values of all series."""
    return [
        [column_label(plot, n), *(value_label(plot, series.values[n]) for series in plot.series)]
        for n in range(plot.column_count)
    ]


def column_label(plot: TimePlot, n: int) -> str:
    """Say when a column begins."""
    begin = plot.start + n * plot.step
    return text.day(begin) if plot.step >= 24 * _HOUR else text.moment(begin)


def value_label(plot: TimePlot, value: float | None) -> str:
    """Say a value with its unit, where it has one."""
    if value is None:
        return "–"
    return f"{value:.1f} %" if plot.unit == "%" else text.number(round(value))
