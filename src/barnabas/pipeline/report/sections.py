"""What the page's sections show that is more than a list: plots, the funnel, times of alerts, lags.

A part that was not asked for is None; of a plot without anything to show, a text says so.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import NamedTuple

from barnabas.pipeline.report import text
from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Ranking, ReportData
from barnabas.pipeline.report.time_plot import Series, TimePlot, buckets

_DAY = timedelta(days=1)
_MOST_DAYS = 366
_MOST_LAGS = 24


class Plotted(NamedTuple):
    """A plot; `column` heads the first column of the same as a table."""

    about: str
    plot: TimePlot
    column: str


class Bar(NamedTuple):
    """A row: `name` may be anything; `said` is the value as people read it.

    `note` stands below the value and is short, `detail` below the bar.
    """

    name: str
    value: float
    said: str
    note: str = ""
    detail: str = ""


class Bars(NamedTuple):
    """Names with a bar each."""

    title: str
    about: str
    heads: tuple[str, str]
    bars: list[Bar]


class Span(NamedTuple):
    """An alert, and where its time lies in that of all: percent from the left, and of the width."""

    alert: Alert
    length_s: float
    left: float
    width: float


class Spans(NamedTuple):
    """The alerts' times."""

    about: str
    spans: list[Span]


def views(data: ReportData) -> Plotted | str | None:
    """Return views by people and by declared crawlers."""
    if not data.hours:
        return None if data.hours is None else "No page was viewed."
    start, step, by_column = _by_column(data.hours)
    crawlers = tuple(sum(hour.crawler_views for hour in hours) for hours in by_column)
    people = tuple(sum(hour.views for hour in hours) - part for hours, part in zip(by_column, crawlers, strict=True))
    series = (Series("people", "s1", people), Series("declared crawlers", "s2", crawlers))
    plot = TimePlot("views", "Views over time", "views", start, step, series)
    return Plotted(f"Each column is {_step_name(step)}", plot, "from")


def visitors(data: ReportData) -> Plotted | str | None:
    """Return visitors and sessions per day."""
    if not data.days:
        return None if data.days is None else "Nobody came."
    days = _whole_days(data.days)
    series = (
        Series("visitors", "s1", tuple(day.visitors for day in days)),
        Series("sessions", "s2", tuple(day.sessions for day in days)),
    )
    plot = TimePlot("visitors", "Visitors and sessions per day", "visitors", _first(days), _DAY, series, False)
    return Plotted("Per day; a visitor is an address with an agent", plot, "day")


def sessions(data: ReportData) -> Plotted | str | None:
    """Return sessions per day: of one page, of more."""
    if data.days is None:
        return None
    days = _whole_days(data.days)
    session_count = sum(day.sessions for day in days)
    if not session_count:
        return "There was no session."
    series = (
        Series("of several pages", "s1", tuple(day.sessions - day.bounces for day in days)),
        Series("of one page", "s2", tuple(day.bounces for day in days)),
    )
    mean = text.duration(sum(day.session_length_s for day in days) / session_count)
    about = f"Per day on which they began; {mean} from first to last view on average"
    return Plotted(about, TimePlot("sessions", "Sessions per day", "sessions", _first(days), _DAY, series), "day")


def errors(data: ReportData) -> Plotted | str | None:
    """Return the share of errors over time."""
    if not data.hours:
        return None if data.hours is None else "No page was viewed."
    start, step, by_column = _by_column(data.hours)
    series = (
        Series("client errors (4xx)", "s1", _shares(by_column, lambda hour: hour.client_errors)),
        Series("server errors (5xx)", "s3", _shares(by_column, lambda hour: hour.server_errors)),
    )
    title = "Share of views that were answered with an error"
    plot = TimePlot("errors", title, "%", start, step, series, False)
    return Plotted(f"Share of all views; each point is {_step_name(step)}", plot, "from")


def crawlers_share(data: ReportData) -> Plotted | str | None:
    """Return the crawlers' share of views per day."""
    if not data.days:
        return None if data.days is None else "No page was viewed."
    days = _whole_days(data.days)
    shares = tuple(100 * day.crawler_views / day.views if day.views else 0.0 for day in days)
    series = (Series("declared crawlers", "s2", shares),)
    plot = TimePlot("crawlers", "Share of views by declared crawlers per day", "%", _first(days), _DAY, series)
    return Plotted("Share of each day's views; a declared crawler says in its agent what it is", plot, "day")


def funnel(data: ReportData) -> Bars | None:
    """Return how far visitors came; where only views are known, how many pages sessions had."""
    if data.funnel is None and data.depth is None:
        return None
    steps = data.funnel or ()
    if sum(step.count for step in steps[1:]):
        about = "Visitors who did one step after the other on a day, all days added up"
        return Bars("Funnel", about, ("step", "visitors"), _counted(steps, steps[0].count))
    named = [Counted(f"{each.name} page{'s' * (each.name != '1')} or more", each.count) for each in data.depth or ()]
    title = "Depth" if named else "Funnel"
    bars = _counted(named, named[0].count) if named else []
    return Bars(title, "How many pages a session had", ("pages", "sessions"), bars)


def alert_spans(data: ReportData) -> Spans | None:
    """Return when what was wrong was so."""
    if not data.alerts:
        return None
    begin = min(text.naive(alert.since) for alert in data.alerts)
    end = max(text.naive(alert.resolved_at or alert.since) for alert in data.alerts)
    if data.totals is not None and data.totals.first_event and data.totals.last_event:
        begin = min(begin, text.naive(data.totals.first_event))
        end = max(end, text.naive(data.totals.last_event))
    firing = sum(alert.resolved_at is None for alert in data.alerts)
    counts = f"{firing} firing, {len(data.alerts) - firing} resolved"
    about = f"{counts}; the bars run from {text.moment(begin)} to {text.moment(end)}"
    return Spans(about, [_span(alert, begin, end) for alert in data.alerts])


def items(data: ReportData) -> list[Bar] | None:
    """Return what people care for most."""
    if data.items is None:
        return None
    found = []
    for item in data.items:
        counts = ((item.views, "views"), (item.clicks, "clicks"), (item.votes, "votes"))
        detail = ", ".join(f"{text.number(count)} {name}" for count, name in counts)
        found.append(Bar(item.name, item.score, text.decimal(item.score), detail=detail))
    return found


def lags(data: ReportData) -> Bars | None:
    """Return how far jobs are behind."""
    if data.lags is None:
        return None
    bars = [
        Bar(f"{text.plain(lag.job, 40)}: {lag.topic}-{lag.partition}", lag.records, text.number(lag.records))
        for lag in sorted(data.lags, key=lambda lag: (-lag.records, lag.job, lag.topic, lag.partition))[:_MOST_LAGS]
    ]
    total = sum(lag.records for lag in data.lags)
    about = f"Records of a partition that the job has not read yet: {text.number(total)} in {len(data.lags)} partitions"
    if len(bars) < len(data.lags):
        about += f"; the {len(bars)} with most"
    return Bars("Lag", about, ("job: topic-partition", "records"), bars)


PARTS: Mapping[str, Callable[[ReportData], object]] = {
    part.__name__: part
    for part in (views, visitors, sessions, errors, crawlers_share, funnel, alert_spans, items, lags)
}
"""By the names that the page has for them."""


def ranked(ranking: Ranking | None) -> list[Bar] | None:
    """Return the names with the most."""
    return None if ranking is None else _counted(ranking.top, ranking.total)


def _by_column(hours: Sequence[Hour]) -> tuple[datetime, timedelta, list[list[Hour]]]:
    """Put hours into columns of a plot."""
    moments = [text.naive(hour.hour) for hour in hours]
    start, step, count = buckets(min(moments), max(moments))
    columns: list[list[Hour]] = [[] for _ in range(count)]
    for moment, hour in zip(moments, hours, strict=True):
        columns[(moment - start) // step].append(hour)
    return start, step, columns


def _shares(by_column: Sequence[Sequence[Hour]], part: Callable[[Hour], int]) -> tuple[float | None, ...]:
    return tuple(
        100 * sum(map(part, hours)) / whole if (whole := sum(hour.views for hour in hours)) else None
        for hours in by_column
    )


def _step_name(step: timedelta) -> str:
    hours = step // timedelta(hours=1)
    if hours < 24:
        return "one hour" if hours == 1 else f"{hours} hours"
    return "one day" if hours == 24 else f"{hours // 24} days"


def _whole_days(days: Sequence[Day]) -> list[Day]:
    """Return the last year of days, in order and with those on which nothing was."""
    if not days:
        return []
    known = {day.day: day for day in days}
    last = max(known)
    first = max(min(known), last - (_MOST_DAYS - 1) * _DAY)
    every = [first + n * _DAY for n in range((last - first) // _DAY + 1)]
    return [known.get(day) or Day(day, 0, 0, 0, 0, 0, 0) for day in every]


def _first(days: Sequence[Day]) -> datetime:
    return datetime.combine(days[0].day, time())


def _counted(rows: Sequence[Counted], whole: int) -> list[Bar]:
    """Return counts with their shares of a whole."""
    return [Bar(row.name, row.count, text.number(row.count), text.share(row.count, whole)) for row in rows]


def _span(alert: Alert, begin: datetime, end: datetime) -> Span:
    since = text.naive(alert.since)
    until = end if alert.resolved_at is None else text.naive(alert.resolved_at)
    length_s = (until - since) / timedelta(seconds=1)
    whole_s = (end - begin) / timedelta(seconds=1) or 1.0
    return Span(alert, length_s, 100 * ((since - begin) / timedelta(seconds=1)) / whole_s, 100 * length_s / whole_s)
