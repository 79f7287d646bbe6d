"""Contents of the page's sections that need more than a list; plots, `depth`, `spans`, `lags` take no empty list."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import NamedTuple

from barnabas.charts import labels
from barnabas.charts.time_plot import Series, TimePlot, buckets
from barnabas.pipeline.report import text
from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Item, Lag, Ranking, ReportData, Totals

_DAY = timedelta(days=1)
_MOST_DAYS = 366
_MOST_LAGS = 24


class Bar(NamedTuple):
    """A row with a bar: `name` may be any text; `said` is the formatted value.

    The page shows the short `note` below the value, and `detail` below the bar.
    """

    name: str
    value: float
    said: str
    note: str = ""
    detail: str = ""


class Span(NamedTuple):
    """An alert and its bar on the time axis of all alerts: left end and width, in percent of the axis."""

    alert: Alert
    length_s: float
    left: float
    width: float


def tiles(totals: Totals) -> list[tuple[str, str]]:
    """Return the figures at the top of the page, as (name, value)."""
    length = totals.session_length_p50_s
    return [
        ("Views", labels.number(totals.views)),
        ("Visitors", labels.number(totals.visitors)),
        ("Sessions", labels.number(totals.sessions)),
        ("One-page sessions", text.share(totals.bounces, totals.sessions)),
        ("Median session", "–" if length is None else text.duration(length)),
        ("Errors", text.share(totals.client_errors + totals.server_errors, totals.views)),
        ("Crawlers", text.share(totals.crawler_views, totals.views)),
        ("Excluded as crawlers", text.share(totals.left_out_views, totals.views)),
        ("Bytes sent", text.size(totals.bytes)),
    ]


def views(hours: Sequence[Hour]) -> TimePlot:
    """Return views by people and by crawlers."""
    start, step, columns = _columns(hours)
    people = Series("people", "s1", [column.views - column.crawler_views for column in columns])
    crawlers = Series("crawlers", "s2", [column.crawler_views for column in columns])
    return TimePlot(f"Each column covers {_step_name(step)}", "views", start, step, (people, crawlers))


def visitors(days: Sequence[Day]) -> TimePlot:
    """Return visitors and sessions per day."""
    days = _whole_days(days)
    people = Series("visitors", "s1", [day.visitors for day in days])
    sessions = Series("sessions", "s2", [day.sessions for day in days])
    about = "Per day; a visitor is an address with an agent"
    return TimePlot(about, "visitors", _begin(days), _DAY, (people, sessions), is_stacked=False)


def sessions(days: Sequence[Day]) -> TimePlot:
    """Return sessions per day: of several pages, and of one."""
    days = _whole_days(days)
    long = Series("several pages", "s1", [day.sessions - day.bounces for day in days])
    short = Series("one page", "s2", [day.bounces for day in days])
    about, count = "By start day", sum(day.sessions for day in days)
    # All sessions may be older than the days that are shown.
    if count:
        mean = text.duration(sum(day.session_length_s for day in days) / count)
        about += f"; {mean} from first to last view on average"
    return TimePlot(about, "sessions", _begin(days), _DAY, (long, short))


def errors(hours: Sequence[Hour]) -> TimePlot:
    """Return the share of errors over time."""
    start, step, columns = _columns(hours)
    client = Series("client errors (4xx)", "s1", [_percent(column.status_4xx, column.views) for column in columns])
    server = Series("server errors (5xx)", "s3", [_percent(column.status_5xx, column.views) for column in columns])
    about = f"Share of all views; each point covers {_step_name(step)}"
    return TimePlot(about, "%", start, step, (client, server), is_stacked=False)


def crawlers_share(days: Sequence[Day]) -> TimePlot:
    """Return the crawlers' share of views per day."""
    days = _whole_days(days)
    shares = Series("crawlers", "s2", [_percent(day.crawler_views, day.views) or 0.0 for day in days])
    about = "Share of each day's views; declared by their agent, or detected by the job security"
    return TimePlot(about, "%", _begin(days), _DAY, (shares,))


def ranked(ranking: Ranking | None) -> list[Bar] | None:
    """Return the names of a ranking with their counts and shares."""
    return None if ranking is None else _counted(ranking.top, ranking.total)


def steps(data: ReportData) -> list[Bar] | None:
    """Return the number of visitors who reached each step of the funnel; None if only views are known."""
    counts = data.funnel or ()
    is_more_than_views = any(step.number for step in counts[1:])
    return _counted(counts, counts[0].number) if is_more_than_views else None


def depth(counts: Sequence[Counted]) -> list[Bar]:
    """Return the number of sessions by their minimum number of pages."""
    named = [Counted(f"{pages} page{'s' * (pages != '1')} or more", number) for pages, number in counts]
    return _counted(named, counts[0].number)


def items(ranking: Sequence[Item] | None) -> list[Bar] | None:
    """Return the items of the ranking with their scores."""
    return None if ranking is None else [_item(*item) for item in ranking]


def _item(name: str, score: float, views: int, clicks: int, votes: int) -> Bar:
    counts = f"{labels.number(views)} views, {labels.number(clicks)} clicks, {labels.number(votes)} votes"
    return Bar(name, score, text.decimal(score), detail=counts)


def spans(alerts: Sequence[Alert], totals: Totals | None) -> tuple[str, list[Span]]:
    """Return a sentence about the alerts, and the bar of each on their common time axis."""
    times = [time for alert in alerts for time in (alert.since, alert.resolved_at)]
    times += [totals.first_event, totals.last_event] if totals else []
    known = [text.naive(time) for time in times if time]
    begin, end = min(known), max(known)
    firing = sum(alert.resolved_at is None for alert in alerts)
    counts = f"{firing} firing, {len(alerts) - firing} resolved"
    about = f"{counts}; time axis from {labels.timestamp(begin)} to {labels.timestamp(end)}"
    return about, [_span(alert, begin, end) for alert in alerts]


def _span(alert: Alert, begin: datetime, end: datetime) -> Span:
    since = text.naive(alert.since)
    length = (end if alert.resolved_at is None else text.naive(alert.resolved_at)) - since
    whole = end - begin or timedelta(seconds=1)
    return Span(alert, length.total_seconds(), 100 * ((since - begin) / whole), 100 * (length / whole))


def lags(partitions: Sequence[Lag]) -> tuple[str, list[Bar]]:
    """Return a sentence about the jobs' lag, and the partitions with the largest lags."""
    most = sorted(partitions, key=lambda lag: (-lag.records, *lag))[:_MOST_LAGS]
    total = labels.number(sum(lag.records for lag in partitions))
    about = f"Records that the job has not read yet: {total} in {len(partitions)} partitions"
    if len(most) < len(partitions):
        about += f"; the {len(most)} largest lags"
    return about, [
        Bar(f"{text.plain(lag.job, 40)}: {lag.topic}-{lag.partition}", lag.records, labels.number(lag.records))
        for lag in most
    ]


def _columns(hours: Sequence[Hour]) -> tuple[datetime, timedelta, list[Hour]]:
    """Sum hours into the columns of a plot; return the first column's start, the columns' length, and the sums."""
    moments = [text.naive(hour.hour) for hour in hours]
    start, step, count = buckets(min(moments), max(moments))
    sums = [[0] * (len(Hour._fields) - 1) for _ in range(count)]
    for moment, hour in zip(moments, hours, strict=True):
        column = (moment - start) // step
        sums[column] = [known + more for known, more in zip(sums[column], hour[1:], strict=True)]
    return start, step, [Hour(start + n * step, *column) for n, column in enumerate(sums)]


def _step_name(step: timedelta) -> str:
    hours = step // timedelta(hours=1)
    if hours < 24:
        return "one hour" if hours == 1 else f"{hours} hours"
    return "one day" if hours == 24 else f"{hours // 24} days"


def _whole_days(days: Sequence[Day]) -> list[Day]:
    """Return the days of the last year in order; days without data are all zeros."""
    known = {day.day: day for day in days}
    last = max(known)
    count = min((last - min(known)) // _DAY + 1, _MOST_DAYS)
    every = [last - n * _DAY for n in reversed(range(count))]
    return [known.get(day) or Day(day, 0, 0, 0, 0, 0, 0) for day in every]


def _begin(days: Sequence[Day]) -> datetime:
    return datetime.combine(days[0].day, time())


def _counted(rows: Sequence[Counted], whole: int) -> list[Bar]:
    """Return counts with their shares of a whole."""
    return [Bar(name, number, labels.number(number), text.share(number, whole)) for name, number in rows]


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
