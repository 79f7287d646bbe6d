"""What the report reads out of tables: the sums, the most first, times as they are whatever the time zones."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from barnabas.pipeline.report import collect
from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Item, Lag, ReportData, Totals, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_MOMENT = datetime(2015, 5, 17, 22, 30, tzinfo=UTC)
_DAYS = (date(2015, 5, 17), date(2015, 5, 18))


def frame(spark: SparkSession, schema: str, *rows: tuple[object, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), schema)


def test_without_tables_there_is_nothing_and_what_is_unknown_is_left_alone(spark: SparkSession) -> None:
    assert collect({}) == ReportData()
    assert collect({"orders": frame(spark, "a INT")}, title="t") == ReportData(title="t")
    assert collect({}, lags=[Lag("job", "topic", 0, 1)]).lags == (Lag("job", "topic", 0, 1),)


def test_totals_days_and_hours(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    try:
        data = collect(
            {
                "report_totals": frame(
                    spark,
                    "first_event TIMESTAMP, last_event TIMESTAMP, views BIGINT, visitors BIGINT, sessions BIGINT, "
                    "bounces BIGINT, session_length_p50_s BIGINT, bytes BIGINT, client_errors BIGINT, "
                    "server_errors BIGINT, crawler_views BIGINT, left_out_views BIGINT, more INT",
                    (None, _MOMENT, 1, 2, 3, 4, None, 5, 6, 7, 8, 9, 10),
                ),
                "report_days": frame(
                    spark,
                    "visitors BIGINT, day DATE, views BIGINT, crawler_views BIGINT, sessions BIGINT, bounces BIGINT, "
                    "session_length_s BIGINT",
                    (2, _DAYS[1], 1, 3, 4, 5, 6),
                    (8, _DAYS[0], 7, 9, 10, 11, 12),
                ),
                "report_hours": frame(
                    spark,
                    "hour TIMESTAMP, views BIGINT, crawler_views BIGINT, status_4xx BIGINT, status_5xx BIGINT",
                    (_MOMENT, 1, 2, 3, 4),
                    (_MOMENT.replace(hour=3), 5, 6, 7, 8),
                ),
            }
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert data.totals == Totals(None, _MOMENT, 1, 2, 3, 4, None, 5, 6, 7, 8, 9)
    assert data.days == (Day(_DAYS[0], 7, 8, 9, 10, 11, 12), Day(_DAYS[1], 1, 2, 3, 4, 5, 6))
    assert data.hours == (Hour(_MOMENT.replace(hour=3), 5, 6, 7, 8), Hour(_MOMENT, 1, 2, 3, 4))


def test_rankings_add_up_days_and_give_the_most_first_and_equal_ones_by_name(spark: SparkSession) -> None:
    pages = [(day, f"/{n:02}", n == 19, 1 + n % 7, 1 if n == 3 else 0, n % 2, 0) for day in _DAYS for n in range(20)]
    tables = {
        "report_pages": frame(
            spark,
            "day DATE, page STRING, is_asset BOOLEAN, views BIGINT, missing BIGINT, entries BIGINT, exits BIGINT",
            *pages,
        ),
        "report_referrers": frame(
            spark,
            "day DATE, host STRING, views BIGINT, is_own BOOLEAN",
            (_DAYS[0], None, 9, False),
            (_DAYS[0], "", 8, False),
            (_DAYS[0], "own.example", 7, True),
            (_DAYS[0], "b.example", 2, False),
            (_DAYS[0], "a.example", 1, False),
            (_DAYS[1], "a.example", 1, False),
        ),
        "report_crawlers": frame(spark, "agent STRING, views BIGINT", ("bot", 3)),
        "report_searches": frame(spark, "query STRING, searches BIGINT", ("q", 0)),
        "report_funnel": frame(
            spark,
            "day DATE, step INT, name STRING, visitors BIGINT",
            *((day, step, f"s{step}", 10 - step) for day in _DAYS for step in (2, 1)),
        ),
        "report_depth": frame(
            spark, "day DATE, pages_at_least INT, sessions BIGINT", (_DAYS[0], 10, 1), (_DAYS[1], 2, 5)
        ),
    }
    data = collect(tables)
    views: Counter[str] = Counter()
    for _, page, is_asset, count, *_ in pages:
        views[page] += 0 if is_asset else count
    wanted = sorted(((page, count) for page, count in views.items() if count), key=lambda row: (-row[1], row[0]))
    assert [(row.name, row.number) for row in data.pages.top] == wanted[:12]
    assert data.pages.total == sum(views.values())
    assert data.missing_pages.top == (Counted("/03", 2),)
    assert data.exit_pages.top == ()
    assert data.entry_pages.top[0] == Counted("/01", 2)
    assert data.referrers.top == (Counted("a.example", 2), Counted("b.example", 2))
    assert (data.searches.top, data.searches.total) == ((), 0)
    assert data.crawlers.top == (Counted("bot", 3),)
    assert data.funnel == (Counted("s1", 18), Counted("s2", 16))
    assert data.depth == (Counted("2", 5), Counted("10", 1))


def test_verdicts_alerts_and_items_of_the_other_jobs(spark: SparkSession) -> None:
    later = _MOMENT.replace(hour=23)
    data = collect(
        {
            "verdicts": frame(
                spark,
                "subject_kind STRING, subject STRING, what STRING, is_declared BOOLEAN, score DOUBLE, why STRING, "
                "first_seen TIMESTAMP, last_seen TIMESTAMP, until TIMESTAMP",
                ("address", "a", "scraper", False, 1.0, "w", _MOMENT, _MOMENT, later),
                ("address", "b", "scraper", False, 2.0, "w", None, None, None),
                ("address", "c", "declared_bot", True, 9.0, "w", None, None, None),
            ),
            "alerts": frame(
                spark,
                "alert STRING, subject STRING, state STRING, since TIMESTAMP, resolved_at TIMESTAMP, sentence STRING",
                ("silence", "x", "resolved", later, later, "s"),
                ("silence", "y", "firing", _MOMENT, None, "s"),
            ),
            "ranking": frame(
                spark,
                "item STRING, score DOUBLE, views BIGINT, clicks BIGINT, votes_for BIGINT, votes_against BIGINT",
                ("b", 1.0, 1, 2, 3, 5),
                ("a", 1.0, 1, 2, 3, 0),
            ),
        }
    )
    assert data.verdicts == (
        Verdict("b", "scraper", "w", None, None, None),
        Verdict("a", "scraper", "w", _MOMENT, _MOMENT, later),
    )
    assert data.verdict_count == 2
    assert data.alerts == (Alert("silence", "y", _MOMENT, None, "s"), Alert("silence", "x", later, later, "s"))
    assert data.items == (Item("a", 1.0, 1, 2, 3), Item("b", 1.0, 1, 2, -2))


def test_times_outside_of_pythons_range_are_cut(spark: SparkSession) -> None:
    latest = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
    micros = (latest - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    verdicts = frame(
        spark,
        "subject STRING, subject_kind STRING, what STRING, is_declared BOOLEAN, score DOUBLE, why STRING, "
        "first_seen BIGINT, last_seen BIGINT, until BIGINT",
        ("a", "user", "spammer", False, 1.0, "w", -(2**62), micros, micros + 1),
    )
    times = {name: f"timestamp_micros({name})" for name in ("first_seen", "last_seen", "until")}
    data = collect(
        {"verdicts": verdicts.selectExpr(*(f"{times.get(name, name)} AS {name}" for name in verdicts.columns))}
    )
    earliest = datetime(1, 1, 1, tzinfo=UTC)
    assert data.verdicts == (Verdict("a", "spammer", "w", earliest, latest, latest),)
