"""Collect the report's data from tables. Spark sorts and limits every list, so this process receives few rows.

Tables are identified by the names that the jobs reporting, security, operations and ranking use. The report has the
parts whose tables exist. Equal counts are sorted by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Item, Lag, Ranking, ReportData, Totals, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Shown = TypeVar("_Shown", Totals, Day, Hour, Counted, Verdict, Alert, Item)

_TOP = 12
_MOST_VERDICTS = 25
_MOST_ALERTS = 25
_MOST_HOURS = 24 * 366
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The times that `datetime` has, in microseconds since 1970.
_EARLIEST, _LATEST = (
    (end.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for end in (datetime.min, datetime.max)
)


def collect(
    tables: Mapping[str, DataFrame],
    *,
    title: str = "Activity report",
    made_at: datetime | None = None,
    lags: Sequence[Lag] | None = None,
) -> ReportData:
    """Read the report's data from DataFrames by table name; ignore unknown tables.

    `made_at` is shown in the page's footer; `lags` has the jobs' lags, which are not in the tables.
    """
    data = ReportData(title=title, made_at=made_at, lags=None if lags is None else tuple(lags))
    for name, read in _PARTS.items():
        if name in tables:
            parts: dict[str, Any] = read(tables[name])
            data = replace(data, **parts)
    return data


def _pages(rows: DataFrame) -> dict[str, object]:
    return {
        "pages": _ranking(rows.where("NOT is_asset"), "page", "views"),
        "missing_pages": _ranking(rows, "page", "missing"),
        "entry_pages": _ranking(rows, "page", "entries"),
        "exit_pages": _ranking(rows, "page", "exits"),
    }


def _verdicts(rows: DataFrame) -> dict[str, object]:
    strangers = rows.where("NOT is_declared")
    worst = strangers.orderBy("score", "subject_kind", "subject", ascending=[False, True, True]).limit(_MOST_VERDICTS)
    return {"verdicts": _read(worst, Verdict), "verdict_count": strangers.count()}


def _alerts(rows: DataFrame) -> dict[str, object]:
    order = ("resolved_at IS NOT NULL", "-unix_micros(since)", "alert", "subject")
    return {"alerts": _read(_first(rows, _MOST_ALERTS, *order), Alert)}


def _items(rows: DataFrame) -> dict[str, object]:
    best = _first(rows, _TOP, "-score", "item")
    return {"items": _read(best.selectExpr("*", "votes_for - votes_against AS votes"), Item)}


# Functions that read parts of the report from a table, by the table's name.
_PARTS: dict[str, Callable[[DataFrame], dict[str, object]]] = {
    "report_totals": lambda rows: {"totals": next(iter(_read(rows, Totals)), None)},
    "report_days": lambda rows: {"days": _read(rows.orderBy("day"), Day)},
    "report_hours": lambda rows: {"hours": _read(_first(rows, _MOST_HOURS, "-unix_micros(hour)"), Hour)[::-1]},
    "report_pages": _pages,
    "report_referrers": lambda rows: {"referrers": _ranking(rows.where("host <> '' AND NOT is_own"), "host", "views")},
    "report_crawlers": lambda rows: {"crawlers": _ranking(rows, "agent", "views")},
    "report_searches": lambda rows: {"searches": _ranking(rows, "query", "searches")},
    "report_funnel": lambda rows: {"funnel": _steps(rows, "step", "name", "visitors")},
    "report_depth": lambda rows: {"depth": _steps(rows, "pages_at_least", "pages_at_least", "sessions")},
    "verdicts": _verdicts,
    "alerts": _alerts,
    "ranking": _items,
}


def _first(rows: DataFrame, most: int, *order: str) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.orderBy(*map(F.expr, order)).limit(most)


def _read(rows: DataFrame, shown: type[_Shown]) -> tuple[_Shown, ...]:
    """Read the columns that are fields of `shown`."""
    types = dict(rows.dtypes)
    # Read times as numbers: PySpark would convert them to the time zone of this process.
    columns = [f"unix_micros({name})" if types[name] == "timestamp" else name for name in shown._fields]
    found = []
    for row in rows.selectExpr(*columns).collect():
        values: list[Any] = [
            _time(value) if types[name] == "timestamp" else value
            for name, value in zip(shown._fields, row, strict=True)
        ]
        found.append(shown(*values))
    return tuple(found)


def _time(micros: int | None) -> datetime | None:
    """Return a time in microseconds since 1970, limited to the years 1 to 9999."""
    return None if micros is None else _EPOCH + timedelta(microseconds=max(_EARLIEST, min(micros, _LATEST)))


def _ranking(rows: DataFrame, name: str, count: str) -> Ranking:
    """Sum a count over the days, and return the names with the highest sums."""
    numbers = rows.groupBy(name).agg({count: "sum"}).toDF("name", "number").where("number > 0")
    total = numbers.selectExpr("coalesce(sum(number), 0)").collect()[0][0]
    return Ranking(_read(_first(numbers, _TOP, "-number", "name"), Counted), total)


def _steps(rows: DataFrame, place: str, name: str, count: str) -> tuple[Counted, ...]:
    """Sum a count over the days for each step, and return the steps in order."""
    steps = rows.selectExpr(f"{place} AS place", f"string({name}) AS name", count)
    numbers = steps.groupBy("place", "name").agg({count: "sum"}).orderBy("place", "name")
    return _read(numbers.toDF("place", "name", "number"), Counted)
