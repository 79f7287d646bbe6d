"""Summary of the reporting job for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Summary
from barnabas.pipeline.verdicts import said

if TYPE_CHECKING:
    from barnabas.pipeline.job import Frames, Parameters

_ROWS = 10


def summarize(frames: Frames, parameters: Parameters) -> list[Summary]:
    """Return the latest days, and the first rows of the lists over all days; equal counts are sorted by name.

    Args:
        frames: The job's result tables by name, and the verdicts, if there are any.
        parameters: The job's.
    """
    from pyspark.sql import functions as F

    pages = frames["report_pages"].groupBy("page", "is_asset").agg(F.sum("views").alias("views"), F.sum("missing"))
    pages = pages.withColumnRenamed("sum(missing)", "missing")
    referrers = frames["report_referrers"].where("NOT is_own AND host <> ''").groupBy("host")
    steps = frames["report_funnel"].groupBy("step", "name").agg(F.sum("visitors").alias("visitors"))
    searches = frames["report_searches"].groupBy("query").agg(F.sum("searches").alias("searches"))
    days = frames["report_days"].select(
        "day",
        "views",
        "visitors",
        "sessions",
        F.round("bounce_share", 3).alias("bounce_share"),
        "crawler_views",
        "left_out_views",
        "client_errors",
        "server_errors",
    )
    return [
        Summary(f"Days, latest first (UTC); {said(frames, parameters)}", days.orderBy(F.desc("day")).limit(_ROWS)),
        Summary(
            "Pages with most views",
            pages.where("NOT is_asset").orderBy(F.desc("views"), "page").select("page", "views").limit(_ROWS),
        ),
        Summary(
            "Pages that do not exist",
            pages.where("missing > 0").orderBy(F.desc("missing"), "page").select("page", "missing").limit(_ROWS),
        ),
        Summary(
            "Referrers",
            referrers.agg(F.sum("views").alias("views")).orderBy(F.desc("views"), "host").limit(_ROWS),
        ),
        Summary("Funnel: visitors per step, summed over days", steps.orderBy("step", "name")),
        Summary(
            "Searches",
            searches.where("searches > 0").orderBy(F.desc("searches"), "query").limit(_ROWS),
        ),
    ]
