"""Figures of each visitor's page views, from which `crawlers.py` finds visitors that are not people.

A visitor is an address with an agent: one person, several people who share an address and a browser, or one machine.
The second subject is an agent with all its addresses: large crawlers use hundreds of addresses, with a few requests
from each.

The figures are exact sums, so they do not depend on the order of events or on Spark's partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.jobs.security.intervals import GAPS, gap_sums, pace

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NO_AGENT = "-"


def visitor_figures(facts: DataFrame) -> DataFrame:
    """Compute the figures of each visitor.

    Args:
        facts: Distinct facts with `seen`; votes and posts, which crawlers do not make, are only counted.

    Returns:
        A row for each address and agent with views. `assets` are requests for images, styles and so on, `pages` GET
        and HEAD requests for anything else. Other requests, such as POST of a form, are neither.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    agent, is_view = F.coalesce("agent", F.lit(NO_AGENT)), F.col("kind") == "page_view"
    visitor = F.xxhash64("address", agent).alias("visitor")
    done = facts.where("kind IN ('page_view', 'vote', 'post') AND address IS NOT NULL").select(
        # The rows to shuffle and sort are short: a hash identifies a visitor.
        visitor,
        "address",
        agent.alias("agent"),
        F.when(is_view, F.col("seen")).alias("seen"),
        F.when(is_view, F.unix_millis("time")).alias("ms"),
        F.when(is_view & F.col("is_page"), F.unix_millis("time")).alias("page_ms"),
        (is_view & F.col("number").between(400, 499)).alias("is_error"),
        "is_asset",
        "is_head",
        "referrer_key",
    )
    in_order = Window.partitionBy("visitor").orderBy("ms")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    paced = done.withColumns(
        {
            "pause_ms": F.col("ms") - F.max("ms").over(before),
            "gap_ms": F.col("page_ms") - F.max("page_ms").over(before),
        }
    )
    sums = (
        "count(ms) AS requests",
        "count_if(is_asset) AS assets",
        "count(page_ms) AS pages",
        "count_if(page_ms IS NOT NULL AND referrer_key IS NULL) AS page_no_referrer",
        "count_if(is_error) AS errors",
        "count_if(is_head) AS heads",
        # If all referrers are the same page, the least and the greatest are equal. This needs no set.
        "min(CASE WHEN page_ms IS NOT NULL THEN referrer_key END) AS least_referrer",
        "max(CASE WHEN page_ms IS NOT NULL THEN referrer_key END) AS greatest_referrer",
        "max(pause_ms) AS pause_ms",
        "bit_or(shiftleft(1, hour(seen))) AS hours",
        "min(seen) AS first_seen",
        "max(seen) AS last_seen",
        "count_if(ms IS NULL) AS actions",
    )
    totals = paced.groupBy("visitor", "address", "agent").agg(*map(F.expr, sums), *gap_sums())
    # Count distinct pages without a set in memory. Shuffle before the first sum: most visitors view a page only once.
    is_robots = F.col("target").rlike(r"^/robots\.txt(\?|$)").alias("is_robots")
    of_pages = (
        facts.where(is_view & F.col("is_page"))
        .select(visitor, F.xxhash64("target").alias("page"), is_robots)
        .repartition("visitor")
        .groupBy("visitor", "page")
        .agg(F.count("*").alias("requests"), F.count_if("is_robots").alias("robots"))
        .groupBy("visitor")
        .agg(
            F.count("*").alias("distinct_pages"),
            F.max("requests").alias("top_page_requests"),
            F.sum("robots").alias("robots_txt_requests"),
        )
    )
    figures = totals.where("requests > 0").join(of_pages, "visitor", "left").na.fill(0, of_pages.columns[1:])
    gaps, mean_s, variation = pace()
    of_pace = {"paced_gaps": gaps, "seconds_between_pages": mean_s, "pace_variation": variation}
    return figures.withColumns(of_pace).drop("visitor", *GAPS)


def with_shares(figures: DataFrame) -> DataFrame:
    """Add the figures that the signs of visitors use: shares of each and of the whole site, hours of day, pauses."""
    from pyspark.sql import functions as F

    site = figures.agg(
        (F.sum("assets") / F.sum("requests")).alias("site_asset_share"),
        # An API that is called by POST has no pages.
        (1 - F.sum("page_no_referrer") / F.nullif(F.sum("pages"), F.lit(0))).alias("site_referrer_share"),
    )
    return figures.crossJoin(F.broadcast(site)).withColumns(
        {
            **_shares(),
            "top_page_share": _share("top_page_requests", "pages"),
            "distinct_share": _share("distinct_pages", "pages"),
            "hours_of_day": F.bit_count("hours"),
            "span_hours": F.expr("(unix_millis(last_seen) - unix_millis(first_seen)) / 3600000"),
            "longest_pause_hours": F.round(F.col("pause_ms") / 3_600_000, 1),
        }
    )


def _shares() -> dict[str, Column]:
    """Return the shares that the signs of visitors and of agents use."""
    return {
        "asset_share": _share("assets", "requests"),
        "no_referrer_share": _share("page_no_referrer", "pages"),
        "error_share": _share("errors", "requests"),
        "head_share": _share("heads", "requests"),
    }


def _share(part: str, whole: str) -> Column:
    from pyspark.sql import functions as F

    return F.expr(f"round({part} / CASE WHEN {whole} > 0 THEN {whole} END, 3)")


def agent_figures(figures: DataFrame) -> DataFrame:
    """Sum the result of `with_shares` by agent, over all addresses of the agent."""
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
    sums_of = figures.groupBy("agent", "site_asset_share", "site_referrer_share").agg(
        *(F.expr(f"sum({name}) AS {name}") for name in sums),
        F.expr("count(*) AS addresses"),
        F.expr("count_if(assets > 0) AS asset_addresses"),
        F.expr("count_if(page_no_referrer < pages) AS referrer_addresses"),
        F.expr("count_if(robots_txt_requests > 0) AS robots_txt_addresses"),
        F.expr("min(first_seen) AS first_seen"),
        F.expr("max(last_seen) AS last_seen"),
    )
    return sums_of.withColumns(_shares())
