"""Views per page and minute, in event time.

Invariants: a line counts once however often it comes; the marker and unreadable lines count nowhere; a row is written
once, when the watermark has passed its minute, and never changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.jobs.job import Job
from barnabas.pipeline.line_events import VIEW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW_S = 60


def count_views(events: DataFrame, watermark_s: int) -> DataFrame:
    """Count views per minute and page.

    Args:
        events: Columns of `events.SCHEMA`.
        watermark_s: How far out of order events may be; more than the log's disorder, or views are lost.

    Returns:
        Rows (minute, page, views).
    """
    from pyspark.sql import functions as F  # noqa: N812

    # A repeat has the line and the time of the first. With the time in the key, Spark forgets a line just when the
    # watermark passes its time, and from then on drops a repeat as late: so no repeat is ever counted, however late it
    # comes, and the state holds no more than a watermark's worth of lines.
    # (dropDuplicatesWithinWatermark is for repeats whose times differ; it would hold each line twice as long.)
    distinct = events.where("time IS NOT NULL").withWatermark("time", f"{watermark_s} seconds")
    distinct = distinct.dropDuplicates(["line", "time"])
    views = F.sum(F.when(F.col("type") == VIEW, 1).otherwise(0))
    # The marker is left out by its count of no views, not by its type: Spark moves a filter on the type below the
    # watermark, and then the marker would not move event time on.
    return (
        distinct.groupBy(F.window("time", f"{WINDOW_S} seconds").alias("minute"), "page")
        .agg(views.alias("views"))
        .where("views > 0")
        .select(F.col("minute.start").alias("minute"), "page", "views")
    )


JOB = Job("pageviews", "page views", "views per page and minute", WINDOW_S, ("minute", "page", "views"), count_views)
