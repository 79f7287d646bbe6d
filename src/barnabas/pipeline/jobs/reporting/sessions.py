"""Sessions: a visitor's page views without a long pause between them.

A visitor is an (address, agent) pair. A view begins a new session if it is more than the gap after the visitor's
previous view. Views at the same time are ordered by their position in the topic; most logs have a resolution of one
second. A session may span midnight; it belongs to the day on which it begins (UTC).

Invariant: each page view is in one session; the order of arrival matters only between views at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MICROS_PER_S = 1_000_000
SECONDS_PER_DAY = 86_400
_VISITOR = ["address", "agent", "is_crawler"]

# Minimum numbers of pages: the funnel steps of a site that sends only page views.
DEPTHS = (1, 2, 3, 5, 10)


def parts_of_sessions(views: DataFrame, gap_s: int) -> DataFrame:
    """Split the page views of each day into parts of sessions, regardless of other days.

    Args:
        views: Distinct page views: unit (the day's number), visitor (a hash of address and agent), address, agent,
            is_crawler, time, subject and the columns of the record's position.
        gap_s: The longest pause within a session, in seconds.

    Returns:
        A row for each part: unit, address, agent, is_crawler, started, ended, pages, entry_page, exit_page.
    """
    from pyspark.sql import functions as F

    each = views.withColumns(
        {
            "started": F.col("time"),
            "ended": F.col("time"),
            "pages": F.lit(1),
            "entry_page": F.col("subject"),
            "exit_page": F.col("subject"),
        }
    )
    parts = _joined(each, ["visitor", "unit"], ["started", "_topic", "_partition", "_offset"], gap_s)
    return parts.select("unit", *_VISITOR, "started", "ended", "pages", "entry_page", "exit_page")


def sessions(parts: DataFrame, gap_s: int) -> DataFrame:
    """Join the parts of sessions that span midnight.

    Args:
        parts: The parts of all days.
        gap_s: The longest pause within a session, in seconds.

    Returns:
        A row per session: day, address, agent, is_crawler, started, ended, length_s, pages, entry_page, exit_page.
        `length_s` is from the first view to the last, in whole seconds: 0 for a session of one view.
    """
    from pyspark.sql import functions as F

    length_micros = F.unix_micros("ended") - F.unix_micros("started")
    return _joined(parts, _VISITOR, ["started"], gap_s).select(
        F.date_from_unix_date(F.floor(F.unix_seconds("started") / SECONDS_PER_DAY).cast("int")).alias("day"),
        *_VISITOR,
        "started",
        "ended",
        F.floor(length_micros / MICROS_PER_S).alias("length_s"),
        "pages",
        "entry_page",
        "exit_page",
    )


def _joined(parts: DataFrame, whose: list[str], order: list[str], gap_s: int) -> DataFrame:
    """Join consecutive parts if the pause between them is at most the gap."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy(*whose).orderBy(*order)
    started, ended = F.unix_micros("started"), F.unix_micros("ended")

    def is_long(pause: Column) -> Column:
        return F.coalesce(pause > gap_s * MICROS_PER_S, F.lit(True))

    def at_end(name: str) -> Column:
        return F.when(F.col("_ends"), F.col(name)).otherwise(F.lead(name).over(in_order)).alias(name)

    marked = parts.withColumns(
        {
            "_begins": is_long(started - F.lag(ended).over(in_order)),
            "_ends": is_long(F.lead(started).over(in_order) - ended),
            "_pages": F.sum("pages").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
        }
    )
    # Keep the first part of each session, and the last one if it is another part.
    both = marked.where("_begins OR _ends").select(
        *(name for name in marked.columns if name not in ("ended", "exit_page", "_pages")),
        *map(at_end, ("ended", "exit_page", "_pages")),
        (F.col("_pages") - F.col("pages")).alias("_before"),
    )
    return both.where("_begins").withColumn("pages", F.col("_pages") - F.col("_before"))


def depth(visits: DataFrame) -> DataFrame:
    """Count sessions by their minimum number of pages.

    Returns:
        Rows (day, pages_at_least, sessions), one for each day with a session and each of `DEPTHS`.
    """
    from pyspark.sql import functions as F

    steps = F.explode(F.array(*(F.lit(depth) for depth in DEPTHS))).alias("pages_at_least")
    return (
        visits.select("day", "pages", steps)
        .groupBy("day", "pages_at_least")
        .agg(F.count_if(F.col("pages") >= F.col("pages_at_least")).alias("sessions"))
    )
