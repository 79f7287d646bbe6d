"""The sections of the page, in their order: each gives its card, or None where its data was not asked for."""

from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from html import escape

from barnabas.pipeline.report import text
from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Item, Ranking, ReportData, Verdict
from barnabas.pipeline.report.parts import Bar, bars, card, counted, nothing, plot_with_figures
from barnabas.pipeline.report.time_plot import Series, TimePlot, buckets

Section = Callable[[ReportData], str | None]

_DAY = timedelta(days=1)
_MOST_DAYS = 366
_MOST_LAGS = 24


def views_over_time(data: ReportData) -> str | None:
    """Views by people and by declared crawlers."""
    if data.hours is None:
        return None
    if not data.hours:
        return card("Views", "", nothing("No page was viewed."))
    start, step, by_column = _by_column(data.hours)
    crawlers = tuple(sum(hour.crawler_views for hour in hours) for hours in by_column)
    views = tuple(sum(hour.views for hour in hours) for hours in by_column)
    people = tuple(total - part for total, part in zip(views, crawlers, strict=True))
    plot = TimePlot(
        "views",
        "Views over time",
        "views",
        start,
        step,
        (Series("people", "s1", people), Series("declared crawlers", "s2", crawlers)),
    )
    return card("Views", f"Each column is {_step_name(step)}", plot_with_figures(plot, "from"))


def visitors(data: ReportData) -> str | None:
    """Visitors and sessions per day."""
    if data.days is None:
        return None
    if not data.days:
        return card("Visitors and sessions", "", nothing("Nobody came."))
    days = _whole_days(data.days)
    plot = TimePlot(
        "visitors",
        "Visitors and sessions per day",
        "visitors",
        datetime.combine(days[0].day, time()),
        _DAY,
        (
            Series("visitors", "s1", tuple(day.visitors for day in days)),
            Series("sessions", "s2", tuple(day.sessions for day in days)),
        ),
        is_stacked=False,
    )
    return card(
        "Visitors and sessions", "Per day; a visitor is an address with an agent", plot_with_figures(plot, "day")
    )


def sessions(data: ReportData) -> str | None:
    """Sessions per day: of one page, of more."""
    if data.days is None:
        return None
    days = _whole_days(data.days)
    session_count = sum(day.sessions for day in days)
    if not session_count:
        return card("Sessions", "", nothing("There was no session."))
    plot = TimePlot(
        "sessions",
        "Sessions per day",
        "sessions",
        datetime.combine(days[0].day, time()),
        _DAY,
        (
            Series("of several pages", "s1", tuple(day.sessions - day.bounces for day in days)),
            Series("of one page", "s2", tuple(day.bounces for day in days)),
        ),
    )
    mean = sum(day.session_length_s for day in days) / session_count
    about = f"Per day on which they began; {text.duration(mean)} from first to last view on average"
    return card("Sessions", about, plot_with_figures(plot, "day"))


def errors(data: ReportData) -> str | None:
    """The share of errors over time."""
    if data.hours is None:
        return None
    if not data.hours:
        return card("Errors", "", nothing("No page was viewed."))
    start, step, by_column = _by_column(data.hours)
    plot = TimePlot(
        "errors",
        "Share of views that were answered with an error",
        "%",
        start,
        step,
        (
            Series("client errors (4xx)", "s1", _shares(by_column, lambda hour: hour.client_errors)),
            Series("server errors (5xx)", "s3", _shares(by_column, lambda hour: hour.server_errors)),
        ),
        is_stacked=False,
    )
    return card("Errors", f"Share of all views; each point is {_step_name(step)}", plot_with_figures(plot, "from"))


def crawlers_share(data: ReportData) -> str | None:
    """The crawlers' share of views per day."""
    if data.days is None:
        return None
    if not data.days:
        return card("Crawlers' share", "", nothing("No page was viewed."))
    days = _whole_days(data.days)
    shares = tuple(100 * day.crawler_views / day.views if day.views else 0.0 for day in days)
    plot = TimePlot(
        "crawlers",
        "Share of views by declared crawlers per day",
        "%",
        datetime.combine(days[0].day, time()),
        _DAY,
        (Series("declared crawlers", "s2", shares),),
    )
    about = "Share of each day's views; a declared crawler says in its agent what it is"
    return card("Crawlers' share", about, plot_with_figures(plot, "day"))


def funnel(data: ReportData) -> str | None:
    """How far visitors came; where only views are known, how many pages sessions had."""
    if data.funnel is None and data.depth is None:
        return None
    steps = data.funnel or ()
    if sum(step.count for step in steps[1:]):
        about = "Visitors who did one step after the other on a day, all days added up"
        return card("Funnel", about, _steps(("step", "visitors"), steps))
    if data.depth:
        named = tuple(Counted(_pages(step.name), step.count) for step in data.depth)
        return card("Depth", "How many pages a session had", _steps(("pages", "sessions"), named))
    return card("Funnel", "", nothing("Nobody took the first step."))


def verdicts(data: ReportData) -> str | None:
    """Who misbehaves, and why it is thought so."""
    if data.verdicts is None:
        return None
    if not data.verdicts:
        return card("Security", "", nothing("There is no verdict against anybody."), is_wide=True)
    shown = len(data.verdicts)
    about = f"{shown} of {text.number(max(shown, data.verdict_count))} verdicts against who does not say what he is"
    items = "".join(f"<li>{_verdict(verdict)}</li>" for verdict in data.verdicts)
    return card("Security", about, f'<ul class="list">{items}</ul>', is_wide=True)


def alerts(data: ReportData) -> str | None:
    """What was wrong, and when."""
    if data.alerts is None:
        return None
    if not data.alerts:
        return card("Alerts", "", nothing("Nothing was wrong."), is_wide=True)
    begin = min(text.naive(alert.since) for alert in data.alerts)
    end = max(text.naive(alert.resolved_at or alert.since) for alert in data.alerts)
    if data.totals is not None and data.totals.first_event and data.totals.last_event:
        begin = min(begin, text.naive(data.totals.first_event))
        end = max(end, text.naive(data.totals.last_event))
    firing = sum(alert.resolved_at is None for alert in data.alerts)
    counts = f"{firing} firing, {len(data.alerts) - firing} resolved"
    about = f"{counts}; the bars run from {text.moment(begin)} to {text.moment(end)}"
    items = "".join(f"<li>{_alert(alert, begin, end)}</li>" for alert in data.alerts)
    return card("Alerts", about, f'<ul class="list">{items}</ul>', is_wide=True)


def items(data: ReportData) -> str | None:
    """What people care for most."""
    if data.items is None:
        return None
    if not data.items:
        return card("Ranking", "", nothing("No item has a score."))
    rows = [Bar(item.name, item.score, text.decimal(item.score), detail=_of_item(item)) for item in data.items]
    return card("Ranking", "Views, clicks and votes; older ones weigh less", bars(("item", "score"), rows, "s4"))


def lags(data: ReportData) -> str | None:
    """How far jobs are behind."""
    if data.lags is None:
        return None
    if not data.lags:
        return card("Lag", "", nothing("No job reads a topic."))
    rows = [
        Bar(f"{text.plain(lag.job, 40)}: {lag.topic}-{lag.partition}", lag.records, text.number(lag.records))
        for lag in sorted(data.lags, key=lambda lag: (-lag.records, lag.job, lag.topic, lag.partition))[:_MOST_LAGS]
    ]
    total = sum(lag.records for lag in data.lags)
    about = f"Records of a partition that the job has not read yet: {text.number(total)} in {len(data.lags)} partitions"
    if len(rows) < len(data.lags):
        about += f"; the {len(rows)} with most"
    return card("Lag", about, bars(("job: topic-partition", "records"), rows, "s2"), is_wide=True)


def _ranking(
    part: Callable[[ReportData], Ranking | None], title: str, about: str, heads: tuple[str, str], empty: str, style: str
) -> Section:
    def section(data: ReportData) -> str | None:
        ranking = part(data)
        if ranking is None:
            return None
        if not ranking.top:
            return card(title, "", nothing(empty))
        return card(title, about, bars(heads, counted(ranking.top, ranking.total), style))

    return section


# Two of about the same height follow each other: they stand side by side.
ALL: tuple[Section, ...] = (
    views_over_time,
    visitors,
    _ranking(lambda data: data.pages, "Pages", "What was viewed most", ("page", "views"), "No page was viewed.", "s1"),
    _ranking(
        lambda data: data.referrers,
        "Referrers",
        "Where visitors came from, as far as browsers say so",
        ("site", "views"),
        "Nobody came from another site.",
        "s1",
    ),
    funnel,
    sessions,
    errors,
    crawlers_share,
    _ranking(
        lambda data: data.missing_pages,
        "Missing pages",
        "Asked for and not there (404, 410)",
        ("page", "requests"),
        "Nothing was missing.",
        "s3",
    ),
    _ranking(
        lambda data: data.crawlers,
        "Crawlers",
        "Declared ones, by agent",
        ("agent", "views"),
        "No crawler has declared itself.",
        "s2",
    ),
    _ranking(
        lambda data: data.entry_pages,
        "Entry pages",
        "Where sessions began",
        ("page", "sessions"),
        "There was no session.",
        "s1",
    ),
    _ranking(
        lambda data: data.exit_pages,
        "Exit pages",
        "Where sessions ended",
        ("page", "sessions"),
        "There was no session.",
        "s1",
    ),
    _ranking(
        lambda data: data.searches,
        "Searches",
        "What was searched for",
        ("query", "searches"),
        "Nobody searched for anything.",
        "s1",
    ),
    items,
    verdicts,
    alerts,
    lags,
)


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
    """Give the last year of days, in order and with those on which nothing was."""
    if not days:
        return []
    known = {day.day: day for day in days}
    last = max(known)
    first = max(min(known), last - (_MOST_DAYS - 1) * _DAY)
    every = [first + n * _DAY for n in range((last - first) // _DAY + 1)]
    return [known.get(day) or Day(day, 0, 0, 0, 0, 0, 0) for day in every]


def _steps(heads: tuple[str, str], steps: Sequence[Counted]) -> str:
    return bars(heads, counted(steps, steps[0].count))


def _pages(least: str) -> str:
    return "1 page or more" if least == "1" else f"{least} pages or more"


def _verdict(verdict: Verdict) -> str:
    seen = []
    if verdict.first_seen is not None and verdict.last_seen is not None:
        first, last = text.naive(verdict.first_seen), text.naive(verdict.last_seen)
        seen.append(f"seen {text.moment(first)} to {text.moment(last)}")
    if verdict.until is not None:
        seen.append(f"holds until {text.moment(text.naive(verdict.until))}")
    return (
        f'<div class="head"><strong>{text.shown(verdict.subject)}</strong>'
        f'<span class="chip">{escape(text.plain(verdict.what.replace("_", " "), 40))}</span>'
        f'<span class="soft">{", ".join(seen)}</span></div><p>{text.shown(verdict.why, 400)}</p>'
    )


def _alert(alert: Alert, begin: datetime, end: datetime) -> str:
    since = text.naive(alert.since)
    until = end if alert.resolved_at is None else text.naive(alert.resolved_at)
    span = (end - begin) / timedelta(seconds=1) or 1.0
    left = 100 * ((since - begin) / timedelta(seconds=1)) / span
    width = 100 * ((until - since) / timedelta(seconds=1)) / span
    is_firing = alert.resolved_at is None
    when = f"since {text.moment(since)}"
    if not is_firing:
        length = text.duration((until - since) / timedelta(seconds=1))
        when = f"{text.moment(since)} to {text.moment(until)} ({length})"
    chip = '<span class="chip">firing</span>' if is_firing else '<span class="chip good">resolved</span>'
    style = "span firing" if is_firing else "span"
    return (
        f'<div class="head"><strong>{text.shown(alert.name)}</strong>{text.shown(alert.subject)}{chip}'
        f'<span class="soft">{when}</span></div><p>{text.shown(alert.sentence, 400)}</p>'
        f'<span class="track"><span class="{style}" style="left:{left:.3f}%;width:{width:.3f}%"></span></span>'
    )


def _of_item(item: Item) -> str:
    return f"{text.number(item.views)} views, {text.number(item.clicks)} clicks, {text.number(item.votes)} votes"
