"""Results of the reporting job, computed from its facts; `docs/pipeline/reporting.md` says what each column means.

Invariants: a repeated fact counts once (by type and id); results depend only on the set of facts, not on their order;
counts are integers, and a share is one division of two of them. Days and hours are in UTC, whatever the session's time
zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from barnabas.pipeline import verdicts
from barnabas.pipeline.facts import numbered
from barnabas.pipeline.jobs.reporting import funnel
from barnabas.pipeline.jobs.reporting.facts import FACTS
from barnabas.pipeline.jobs.reporting.sessions import SECONDS_PER_DAY, depth, parts_of_sessions, sessions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from barnabas.pipeline.job import Frames, Parameters

# Agents that declare themselves a bot, a crawler or a feed reader, in upper or lower case. The security job detects
# agents that lie.
CRAWLERS = r"(?i)bot|crawl|spider|slurp|feed|reader|fetch|archiver|(^|[^a-z])rss|\+https?://"

_MISSING = (404, 410)


def compute_days(frames: Frames, parameters: Parameters) -> dict[str, DataFrame]:
    """Compute the tables whose rows depend on one day only, for some days.

    Each table reads the columns that it needs from the facts' files. This is faster than a copy of the distinct facts,
    and needs no memory for it. Only the repeats and the crawlers are computed first, because they are few.

    Args:
        frames: `report_facts`, and the verdicts, if there are any.
        parameters: The job's.

    Returns:
        The tables by name.

    Raises:
        ValueError: the parameter `funnel` is invalid.
    """
    steps = funnel.parse(str(parameters["funnel"]))
    activity = _activity(frames[FACTS], frames, parameters)
    views = activity.where("type = 'page_view'")
    audience, counted = views.where("NOT is_left_out"), activity.where("NOT is_left_out")
    pages = audience.where("NOT is_asset")
    found = {
        "report_hours": _hours(views),
        "report_referrers": _referrers(pages, str(parameters["own_hosts"])),
        "report_crawlers": _crawlers(views.where("is_crawler")),
        "report_funnel": funnel.funnel(counted, steps),
        "report_searches": _searches(counted),
        "report_views": _views(audience),
        "report_visitors": _visitors(activity),
    }
    units = {name: rows.withColumn("unit", _window_of(rows)) for name, rows in found.items()}
    return {**units, "report_visits": parts_of_sessions(pages, int(parameters["session_gap_s"]))}


def compute_results(frames: Frames, parameters: Parameters) -> dict[str, DataFrame]:
    """Compute the other tables from the tables by day: sessions span midnight, visitors come on several days.

    Args:
        frames: The tables of `compute_days`, for all days.
        parameters: The job's.

    Returns:
        The tables by name.
    """
    visits = sessions(frames["report_visits"], int(parameters["session_gap_s"])).localCheckpoint()
    visitors = frames["report_visitors"]
    return {
        "report_totals": _totals(visitors, visits),
        "report_days": _days(visitors, visits),
        "report_pages": _pages(frames["report_views"], visits),
        "report_sessions": visits,
        "report_depth": depth(visits),
    }


def _window_of(rows: DataFrame) -> Column:
    """Return the number of a row's day since 1970."""
    from pyspark.sql import functions as F

    of_hour = F.floor(F.unix_seconds("hour") / SECONDS_PER_DAY) if "hour" in rows.columns else F.unix_date("day")
    return of_hour.cast("bigint")


def _activity(facts: DataFrame, frames: Frames, parameters: Parameters) -> DataFrame:
    """Drop repeats, and count the copies of each fact (`copies`).

    Adds unit, day, visitor, is_asset, is_crawler (declared or found), and is_left_out for crawlers that do not count.
    """
    from pyspark.sql import functions as F

    # Counts of visitors compare this hash instead of two long texts.
    rows = facts.withColumn("visitor", F.xxhash64("address", "agent"))
    crawlers = _crawling(rows, frames, parameters).localCheckpoint()
    unit = F.floor(F.unix_seconds("time") / SECONDS_PER_DAY)
    return (
        numbered(rows, "type", "id")
        .where("copy = 1")
        .join(F.broadcast(crawlers), "visitor", "left")
        .select(
            *(name for name in rows.columns if name not in ("id", "_timestamp")),
            "copies",
            unit.alias("unit"),
            F.date_from_unix_date(unit.cast("int")).alias("day"),
            F.col("_is_left_out").isNotNull().alias("is_crawler"),
            F.coalesce("_is_left_out", F.lit(False)).alias("is_left_out"),
            _matches("subject", str(parameters["assets"])).alias("is_asset"),
        )
    )


def _crawling(rows: DataFrame, frames: Frames, parameters: Parameters) -> DataFrame:
    """Return the visitors that are crawlers, and whether they are left out of activity."""
    from pyspark.sql import functions as F

    visitors = verdicts.marked(rows.select("visitor", "address", "agent").distinct(), frames, parameters)
    is_found, is_declared = F.col("mark").isNotNull(), _matches("agent", str(parameters["crawlers"]))
    is_left_out = is_found | (is_declared & F.lit(not parameters["count_crawlers"]))
    # Count, because Spark would evaluate a plain condition on each fact, and the pattern is slow.
    flags = visitors.groupBy("visitor").agg(
        F.count_if(is_found | is_declared).alias("_marks"), (F.count_if(is_left_out) > 0).alias("_is_left_out")
    )
    return flags.where("_marks > 0").drop("_marks")


def _matches(column: str, pattern: str) -> Column:
    """Return whether a text contains the pattern; false if the text is null or the pattern is empty."""
    from pyspark.sql import functions as F

    return F.coalesce(F.col(column).rlike(pattern), F.lit(False)) if pattern else F.lit(False)


# SQL texts instead of calls on columns: each call is a round trip to the JVM, and a refresh would have hundreds.
_TRAFFIC = (
    "count_if(type = 'page_view') AS views",
    "count_if(type = 'page_view' AND NOT is_asset) AS page_views",
    "count_if(type = 'page_view' AND is_crawler) AS crawler_views",
    "count_if(type = 'page_view' AND is_left_out) AS left_out_views",
    "coalesce(sum(bytes), 0) AS bytes",
    "count_if(status BETWEEN 400 AND 499) AS client_errors",
    "count_if(status BETWEEN 500 AND 599) AS server_errors",
)
_OTHERS = (
    "count_if(type = 'click') AS clicks",
    "count_if(type = 'search') AS searches",
    "count_if(type = 'vote') AS votes",
    "count_if(type = 'post') AS posts",
    "count_if(type = 'login') AS logins",
    "count_if(type = 'login' AND NOT is_success) AS failed_logins",
)
_SUMS = ("page_views", "crawler_views", "left_out_views", "bytes", "client_errors", "server_errors")
_OTHER_SUMS = ("clicks", "searches", "votes", "posts", "logins", "failed_logins")

# Sums over one row per visitor; an address and agent without views do not count as a visitor.
_PER_VISITOR_SUMS = (
    "coalesce(sum(views), 0) AS views",
    "count_if(views > 0) AS visitors",
    "count_if(views > 0 AND is_crawler) AS crawler_visitors",
    "count_if(left_out_views > 0) AS left_out_visitors",
    *(f"coalesce(sum({name}), 0) AS {name}" for name in (*_SUMS, *_OTHER_SUMS)),
)

_VISIT_SUMS = (
    "count(*) AS sessions",
    "count_if(pages = 1) AS bounces",
    "count_if(pages = 1) / nullif(count(*), 0) AS bounce_share",
    "coalesce(sum(length_s), 0) AS session_length_s",
    "CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY length_s) AS BIGINT) AS session_length_p50_s",
)


def _named(texts: Iterable[str]) -> Iterator[Column]:
    from pyspark.sql import functions as F

    return map(F.expr, texts)


def _visitors(activity: DataFrame) -> DataFrame:
    """Sum the events of each visitor on each day."""
    events = ("count(*) AS events", "sum(copies) AS facts", "min(time) AS first", "max(time) AS last")
    return activity.groupBy("day", "address", "agent", "is_crawler").agg(*_named((*_TRAFFIC, *_OTHERS, *events)))


def _days(visitors: DataFrame, visits: DataFrame) -> DataFrame:
    traffic = visitors.groupBy("day").agg(*_named(_PER_VISITOR_SUMS))
    # Each session begins with a view, so every day with sessions has traffic.
    joined = traffic.join(visits.groupBy("day").agg(*_named(_VISIT_SUMS)), "day", "left")
    return joined.fillna(0, ["sessions", "bounces", "session_length_s"])


def _totals(visitors: DataFrame, visits: DataFrame) -> DataFrame:
    """Return one row over all days; a visitor who came on several days counts once."""
    per_visitor = visitors.groupBy("address", "agent").agg(
        *_named(f"sum({name}) AS {name}" for name in ("views", *_SUMS, *_OTHER_SUMS, "events", "facts")),
        # Days whose facts have been deleted do not reflect later verdicts.
        *_named(("max(is_crawler) AS is_crawler", "min(first) AS first", "max(last) AS last")),
    )
    events = ("min(first) AS first_event", "max(last) AS last_event", "coalesce(sum(events), 0) AS events")
    repeats = "coalesce(sum(facts - events), 0) AS _repeats"
    traffic = per_visitor.selectExpr(*events, *_PER_VISITOR_SUMS, repeats)
    return traffic.crossJoin(visits.selectExpr(*_VISIT_SUMS)).selectExpr("* EXCEPT (_repeats)", "_repeats AS repeats")


def _hours(views: DataFrame) -> DataFrame:
    hour = "timestamp_seconds(unix_seconds(time) - pmod(unix_seconds(time), 3600)) AS hour"
    return views.groupBy(*_named([hour])).agg(
        *_named(
            (
                "count(DISTINCT visitor) AS visitors",
                "count(*) AS views",
                "count_if(is_crawler) AS crawler_views",
                "coalesce(sum(bytes), 0) AS bytes",
                *(f"count_if(status BETWEEN {each}00 AND {each}99) AS status_{each}xx" for each in range(1, 6)),
            )
        )
    )


def _views(views: DataFrame) -> DataFrame:
    """Count the views of each page on each day."""
    missing = f"count_if(status IN ({', '.join(map(str, _MISSING))})) AS missing"
    sums = ("count(*) AS views", "count(DISTINCT visitor) AS visitors", "coalesce(sum(bytes), 0) AS bytes", missing)
    return views.groupBy("day", *_named(["subject AS page"]), "is_asset").agg(*_named(sums))


def _pages(views: DataFrame, visits: DataFrame) -> DataFrame:
    """Add the number of sessions that began and ended with each page to the views of pages."""
    from pyspark.sql import functions as F

    sums = ("views", "visitors", "bytes", "missing", "entries", "exits")
    zero = F.lit(0).cast("bigint")

    def ends(column: str, counted: str) -> DataFrame:
        counts = visits.groupBy("day", F.col(column).alias("page")).agg(F.count("*").alias(counted))
        zeros = [zero.alias(name) for name in sums if name != counted]
        return counts.withColumns({"is_asset": F.lit(False)}).select("*", *zeros)

    seen = views.select("day", "page", "is_asset", *sums[:4], *(zero.alias(name) for name in sums[4:]))
    # A session past midnight may end on a page without views on the session's day.
    both = seen.unionByName(ends("entry_page", "entries")).unionByName(ends("exit_page", "exits"))
    return both.groupBy("day", "page", "is_asset").agg(*(F.sum(name).alias(name) for name in sums))


def _referrers(views: DataFrame, own_hosts: str) -> DataFrame:
    from pyspark.sql import functions as F

    own = [host.strip().lower() for host in own_hosts.split(",") if host.strip()]
    counts = views.groupBy("day", F.expr("referrer_host AS host")).agg(
        *_named(("count(*) AS views", "count(DISTINCT visitor) AS visitors"))
    )
    return counts.withColumn("is_own", F.coalesce(F.col("host").isin(*own), F.lit(False)) if own else F.lit(False))


def _crawlers(views: DataFrame) -> DataFrame:
    return views.groupBy("day", "agent").agg(*_named(("count(*) AS views", "coalesce(sum(bytes), 0) AS bytes")))


def _searches(activity: DataFrame) -> DataFrame:
    """Count the searches by day and query, and the clicks on their results."""
    asked = activity.where("type IN ('search', 'click') AND query IS NOT NULL")
    return asked.groupBy("day", "query").agg(
        *_named(
            (
                "count_if(type = 'search') AS searches",
                "count(DISTINCT CASE WHEN type = 'search' THEN visitor END) AS visitors",
                "count_if(type = 'search' AND result_count = 0) AS without_result",
                "count_if(type <> 'search') AS clicks",
            )
        )
    )
