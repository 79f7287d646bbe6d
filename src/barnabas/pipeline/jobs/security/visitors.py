"""Crawlers: figures of each visitor's page views, and the signs in them that no person sits behind.

A visitor is an address with an agent: one person, some people behind one door with the same browser, or one machine. An
agent, over all its addresses, is the second subject: large crawlers come from hundreds of addresses, a few requests
from each.

The figures are exact sums, so they don't depend on the order in which events came, nor on how Spark divided the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.jobs.security.paces import GAPS, gap_sums, pace

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NO_AGENT = "-"


def visitor_figures(views: DataFrame, actions: DataFrame) -> DataFrame:
    """Count what each visitor did.

    Args:
        views: Facts of page views, each once.
        actions: Facts of votes and posts: what crawlers don't do.

    Returns:
        A row for each address and agent. `assets` are requests for images, styles and the like, `pages` those to read
        anything else. What is sent, by forms, is neither.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    visitor = ["address", "agent"]
    views = views.select(
        "address",
        F.coalesce("agent", F.lit(NO_AGENT)).alias("agent"),
        "time",
        F.unix_millis("time").alias("ms"),
        "id",
        "target",
        F.col("number").between(400, 499).cast("int").alias("is_error"),
        "is_asset",
        "is_page",
        "referrer_key",
        F.col("is_head").cast("int").alias("is_head"),
    )
    before = Window.partitionBy(*visitor, "is_page").orderBy("ms", "id")
    any_before = Window.partitionBy(*visitor).orderBy("ms", "id")
    gap_ms = F.col("ms") - F.lag("ms").over(before)
    paced = views.withColumn("gap_ms", F.when(F.col("is_page"), gap_ms)).withColumn(
        "pause_ms", F.col("ms") - F.lag("ms").over(any_before)
    )
    of_pages = _sums_by_page(paced, visitor)
    totals = of_pages.groupBy(*visitor).agg(
        F.sum("requests").alias("requests"),
        *(F.sum(name).alias(name) for name in ("assets", "pages", "page_no_referrer", "errors", "heads")),
        F.sum(F.when(F.col("pages") > 0, 1).otherwise(0)).alias("distinct_pages"),
        F.max("pages").alias("top_page_requests"),
        F.sum(F.when(F.col("target").rlike(r"^/robots\.txt(\?|$)"), F.col("pages")).otherwise(0)).alias(
            "robots_txt_requests"
        ),
        # The same page as referrer always: least and greatest are one, which no set is needed for.
        F.min("least_referrer").alias("least_referrer"),
        F.max("greatest_referrer").alias("greatest_referrer"),
        *(F.sum(name).alias(name) for name in GAPS),
        F.max("pause_ms").alias("pause_ms"),
        F.bit_or("hours").alias("hours"),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )
    done = actions.groupBy("address", F.coalesce("agent", F.lit(NO_AGENT)).alias("agent")).agg(
        F.count("*").alias("actions")
    )
    gaps, mean_s, variation = pace()
    of_pace = {"paced_gaps": gaps, "seconds_between_pages": mean_s, "pace_variation": variation}
    figures = totals.withColumns(of_pace).drop(*GAPS).join(done, visitor, "left")
    return figures.withColumn("actions", F.coalesce("actions", F.lit(0)))


def _sums_by_page(paced: DataFrame, visitor: list[str]) -> DataFrame:
    """Sum up by visitor and page, so that distinct pages need no set in memory."""
    from pyspark.sql import functions as F

    is_page = F.col("is_page")
    return paced.groupBy(*visitor, "target").agg(
        F.count("*").alias("requests"),
        F.sum(F.col("is_asset").cast("int")).alias("assets"),
        F.sum(is_page.cast("int")).alias("pages"),
        F.sum((is_page & F.col("referrer_key").isNull()).cast("int")).alias("page_no_referrer"),
        F.min(F.when(is_page, F.col("referrer_key"))).alias("least_referrer"),
        F.max(F.when(is_page, F.col("referrer_key"))).alias("greatest_referrer"),
        F.sum("is_error").alias("errors"),
        F.sum("is_head").alias("heads"),
        *gap_sums(),
        F.max("pause_ms").alias("pause_ms"),
        F.bit_or(F.expr("shiftleft(1, hour(time))")).alias("hours"),
        F.min("time").alias("first_seen"),
        F.max("time").alias("last_seen"),
    )


def with_shares(figures: DataFrame) -> DataFrame:
    """Add the shares that the signs ask for, of each subject and of the whole site."""
    from pyspark.sql import functions as F

    def share(part: str, whole: str) -> Column:
        return F.round(F.col(part) / F.when(F.col(whole) > 0, F.col(whole)), 3)

    site = figures.agg(
        (F.sum("assets") / F.sum("requests")).alias("site_asset_share"),
        # An API that is called by POST has no pages.
        (1 - F.sum("page_no_referrer") / F.nullif(F.sum("pages"), F.lit(0))).alias("site_referrer_share"),
    )
    return (
        figures.withColumn("asset_share", share("assets", "requests"))
        .withColumn("no_referrer_share", share("page_no_referrer", "pages"))
        .withColumn("error_share", share("errors", "requests"))
        .withColumn("head_share", share("heads", "requests"))
        .crossJoin(F.broadcast(site))
    )


def with_paces(figures: DataFrame) -> DataFrame:
    """Add what only one visitor's figures tell: which pages, at what time of day, with what pauses."""
    from pyspark.sql import functions as F

    def of_pages(part: str) -> Column:
        return F.round(F.col(part) / F.when(F.col("pages") > 0, F.col("pages")), 3)

    return (
        figures.withColumn("top_page_share", of_pages("top_page_requests"))
        .withColumn("distinct_share", of_pages("distinct_pages"))
        .withColumn("hours_of_day", F.bit_count("hours"))
        .withColumn("span_hours", F.expr("(unix_millis(last_seen) - unix_millis(first_seen)) / 3600000"))
        .withColumn("longest_pause_hours", F.round(F.col("pause_ms") / 3_600_000, 1))
    )


def agent_figures(figures: DataFrame) -> DataFrame:
    """Sum up visitors by agent: what an agent did from all its addresses."""
    from pyspark.sql import functions as F

    sums = (
        "requests",
        "assets",
        "pages",
        "page_no_referrer",
        "errors",
        "heads",
        "robots_txt_requests",
        "actions",
    )
    return figures.groupBy("agent").agg(
        *(F.sum(name).alias(name) for name in sums),
        F.count("*").alias("addresses"),
        *(
            F.sum(F.expr(condition).cast("int")).alias(name)
            for name, condition in (
                ("asset_addresses", "assets > 0"),
                ("referrer_addresses", "page_no_referrer < pages"),
                ("robots_txt_addresses", "robots_txt_requests > 0"),
            )
        ),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )
