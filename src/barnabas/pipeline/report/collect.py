"""From tables to what the report shows: every list is sorted and cut by Spark, so little of them comes here.

Tables are known by their names, those of the jobs reporting, security, operations and ranking; which ones there are
decides what the report has. Equal counts are in the order of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Item, Lag, Ranking, ReportData, Totals, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

_TOP = 12
_MOST_VERDICTS = 25
_MOST_ALERTS = 25
_MOST_HOURS = 24 * 366
_NO_REFERRER = "''"


def collect(
    tables: Mapping[str, DataFrame],
    *,
    title: str = "Activity report",
    made_at: datetime | None = None,
    lags: Sequence[Lag] | None = None,
) -> ReportData:
    """Read what the report shows.

    Args:
        tables: DataFrames by the name of their table; unknown ones are left alone.
        title: Of the page.
        made_at: When it is made, for the foot of the page.
        lags: How far jobs are behind; the tables don't know.
    """
    data = ReportData(title=title, made_at=made_at, lags=None if lags is None else tuple(lags))
    for name, read in _READERS.items():
        if name in tables:
            data = read(data, tables[name])
    return data


def _totals(data: ReportData, rows: DataFrame) -> ReportData:
    found = rows.selectExpr("*", *_micros("first_event", "last_event")).first()
    if found is None:
        return data
    totals = Totals(
        _time(found, "first_event"),
        _time(found, "last_event"),
        found["views"],
        found["visitors"],
        found["sessions"],
        found["bounces"],
        found["session_length_p50_s"],
        found["bytes"],
        found["client_errors"],
        found["server_errors"],
        found["crawler_views"],
    )
    return replace(data, totals=totals)


def _days(data: ReportData, rows: DataFrame) -> ReportData:
    names = ("day", "views", "visitors", "crawler_views", "sessions", "bounces", "session_length_s")
    return replace(data, days=tuple(Day(*row) for row in rows.select(*names).orderBy("day").collect()))


def _hours(data: ReportData, rows: DataFrame) -> ReportData:
    from pyspark.sql import functions as F

    latest = rows.orderBy(F.desc("hour")).limit(_MOST_HOURS).selectExpr("*", *_micros("hour"))
    found = [
        Hour(_known(_time(row, "hour")), row["views"], row["crawler_views"], row["status_4xx"], row["status_5xx"])
        for row in latest.collect()
    ]
    return replace(data, hours=tuple(sorted(found, key=lambda hour: hour.hour)))


def _pages(data: ReportData, rows: DataFrame) -> ReportData:
    return replace(
        data,
        pages=_ranking(rows.where("NOT is_asset"), "page", "views"),
        missing_pages=_ranking(rows, "page", "missing"),
        entry_pages=_ranking(rows, "page", "entries"),
        exit_pages=_ranking(rows, "page", "exits"),
    )


def _referrers(data: ReportData, rows: DataFrame) -> ReportData:
    others = rows.where(f"host <> {_NO_REFERRER} AND NOT is_own")
    return replace(data, referrers=_ranking(others, "host", "views"))


def _searches(data: ReportData, rows: DataFrame) -> ReportData:
    return replace(data, searches=_ranking(rows, "query", "searches"))


def _crawlers(data: ReportData, rows: DataFrame) -> ReportData:
    return replace(data, crawlers=_ranking(rows, "agent", "views"))


def _funnel(data: ReportData, rows: DataFrame) -> ReportData:
    from pyspark.sql import functions as F

    steps = rows.groupBy("step", "name").agg(F.sum("visitors").alias("visitors")).orderBy("step", "name").collect()
    return replace(data, funnel=tuple(Counted(row["name"], row["visitors"]) for row in steps))


def _depth(data: ReportData, rows: DataFrame) -> ReportData:
    from pyspark.sql import functions as F

    steps = rows.groupBy("pages_at_least").agg(F.sum("sessions").alias("sessions")).orderBy("pages_at_least").collect()
    return replace(data, depth=tuple(Counted(str(row["pages_at_least"]), row["sessions"]) for row in steps))


def _verdicts(data: ReportData, rows: DataFrame) -> ReportData:
    from pyspark.sql import functions as F

    strangers = rows.where("NOT is_declared")
    first = strangers.orderBy(F.desc("score"), "subject_kind", "subject").limit(_MOST_VERDICTS)
    times = ("first_seen", "last_seen", "until")
    found = tuple(
        Verdict(row["subject"], row["what"], row["why"], *(_time(row, name) for name in times))
        for row in first.selectExpr("*", *_micros(*times)).collect()
    )
    return replace(data, verdicts=found, verdict_count=strangers.count())


def _alerts(data: ReportData, rows: DataFrame) -> ReportData:
    from pyspark.sql import functions as F

    latest = rows.orderBy(F.col("resolved_at").isNotNull(), F.desc("since"), "alert", "subject").limit(_MOST_ALERTS)
    found = latest.selectExpr("*", *_micros("since", "resolved_at")).collect()
    alerts = tuple(
        Alert(row["alert"], row["subject"], _known(_time(row, "since")), _time(row, "resolved_at"), row["sentence"])
        for row in found
    )
    return replace(data, alerts=alerts)


def _items(data: ReportData, rows: DataFrame) -> ReportData:
    from pyspark.sql import functions as F

    best = rows.orderBy(F.desc("score"), "item").limit(_TOP).collect()
    items = tuple(
        Item(row["item"], row["score"], row["views"], row["clicks"], row["votes_for"] - row["votes_against"])
        for row in best
    )
    return replace(data, items=items)


_READERS: dict[str, Callable[[ReportData, DataFrame], ReportData]] = {
    "report_totals": _totals,
    "report_days": _days,
    "report_hours": _hours,
    "report_pages": _pages,
    "report_referrers": _referrers,
    "report_crawlers": _crawlers,
    "report_searches": _searches,
    "report_funnel": _funnel,
    "report_depth": _depth,
    "verdicts": _verdicts,
    "alerts": _alerts,
    "ranking": _items,
}


def _ranking(rows: DataFrame, name: str, count: str) -> Ranking:
    """Add up the days, and give the names with the most."""
    from pyspark.sql import functions as F

    counts = rows.groupBy(name).agg(F.sum(count).alias("_count")).where("_count > 0")
    top = counts.orderBy(F.desc("_count"), name).limit(_TOP).collect()
    total = counts.agg(F.coalesce(F.sum("_count"), F.lit(0)).alias("_total")).collect()[0]["_total"]
    return Ranking(tuple(Counted(row[name], row["_count"]) for row in top), total)


def _micros(*names: str) -> list[str]:
    """Read times as numbers: as times they would come in the time zone of this process."""
    return [f"unix_micros({name}) AS {name}_micros" for name in names]


def _time(row: Row, name: str) -> datetime | None:
    micros = row[f"{name}_micros"]
    return None if micros is None else datetime.fromtimestamp(micros / 1_000_000, UTC)


def _known(value: datetime | None) -> datetime:
    assert value is not None
    return value
