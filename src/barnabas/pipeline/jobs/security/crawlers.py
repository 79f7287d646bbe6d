"""The rules for crawlers, and the reason for each sign.

| sign | points | reason |
| --- | --- | --- |
| no_assets | 3 | a browser requests the images and styles of its pages; counts only if the site serves any |
| steady_pace | 3 | people read some pages longer than others; a timer does not |
| around_the_clock | 3 | people sleep |
| no_referrer | 2 | a click sends a referrer; counts only if the site's visitors send referrers |
| one_referrer | 2 | people do not return to the same place for each page |
| robots_txt | 2 | the file is for crawlers, and no page links to it |
| one_page | 2 | feed readers and probes request the same page for hours |
| heads | 2 | browsers do not request headers only |
| fast | 2 | people do not read page after page in two seconds each |
| breadth | 1 | it downloads everything: many pages, and hardly any of them twice |
| errors | 1 | links on pages work |
| takes_part | -3 | it votes or posts |

No sign alone leads to a verdict: `least_points` exceeds the points of each. Visitors with few pages are not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge, shaped
from barnabas.pipeline.jobs.security.user_agents import MOST_SEARCHED, declared_pattern
from barnabas.pipeline.jobs.security.visitors import agent_figures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# If no visitor of a site requests assets or sends referrers (a log in the common format), their lack proves nothing.
_NO_ASSETS = Sign(
    "no_assets",
    3,
    "requests * site_asset_share >= 4 AND asset_share <= 0.01",
    "concat('asked for ', pages, ' pages and next to none of their images and styles')",
)
_NO_REFERRER = Sign(
    "no_referrer",
    2,
    "site_referrer_share >= 0.1 AND no_referrer_share >= 0.95",
    "concat(int(100 * no_referrer_share), ' % of its page requests name no referrer')",
)
_ROBOTS_TXT = Sign("robots_txt", 2, "robots_txt_requests > 0", "'read robots.txt'")
_ERRORS = Sign("errors", 1, "error_share >= 0.2", "concat(int(100 * error_share), ' % of its requests failed')")
_HEADS = Sign("heads", 2, "head_share >= 0.5", "concat(int(100 * head_share), ' % of its requests were HEAD')")
_BREADTH = Sign(
    "breadth",
    1,
    "distinct_pages >= 20 AND distinct_share >= 0.9",
    "concat('hardly asked for a page twice: ', distinct_pages, ' different ones in ', pages)",
)
_TAKES_PART = Sign(
    "takes_part",
    -3,
    "actions >= 3 AND actions >= 0.02 * pages",
    "concat('but voted or posted ', actions, ' times')",
)

# A crawler that requests this many different pages copies the site's content.
_SCRAPED_PAGES = 50

VISITOR_SIGNS = (
    _NO_ASSETS,
    Sign(
        "steady_pace",
        3,
        # People's intervals are log-normal with a spread of about 1: one series in 10,000 looks this steady.
        "pace_variation <= CASE WHEN paced_gaps >= 30 THEN 0.45 WHEN paced_gaps >= 20 THEN 0.4 "
        "WHEN paced_gaps >= 15 THEN 0.35 WHEN paced_gaps >= 12 THEN 0.3 END",
        "concat('a page every ', seconds_between_pages, ' s, give or take ', int(100 * pace_variation), ' %')",
    ),
    Sign(
        "around_the_clock",
        3,
        "hours_of_day >= 18 AND longest_pause_hours <= 8 AND span_hours >= 24",
        "concat('busy in ', hours_of_day, ' hours of the day, with no pause above ', longest_pause_hours, ' hours')",
    ),
    _NO_REFERRER,
    Sign(
        "one_referrer",
        2,
        "no_referrer_share <= 0.5 AND least_referrer = greatest_referrer",
        "'names the same referrer for each page'",
    ),
    _ROBOTS_TXT,
    Sign(
        "one_page",
        2,
        "top_page_share >= 0.8 AND span_hours >= 6",
        "concat('one page makes up ', int(100 * top_page_share), ' % of what it asked for')",
    ),
    _HEADS,
    Sign(
        "fast",
        2,
        "paced_gaps >= 30 AND seconds_between_pages <= 2",
        "concat('a page every ', seconds_between_pages, ' s')",
    ),
    _BREADTH,
    _ERRORS,
    _TAKES_PART,
)

# Pace, times of day and favourite pages are not signs here, because they mix many independent visitors.
#
# Addresses count, not requests: one scraper with a browser's agent must not accuse the other visitors.
AGENT_SIGNS = (
    Sign(
        "no_assets",
        3,
        "requests * site_asset_share >= 4 AND asset_addresses <= 0.25 * addresses",
        "concat('of ', addresses, ' addresses ', addresses - asset_addresses, ' asked for pages and for no images')",
    ),
    Sign(
        "no_referrer",
        2,
        "site_referrer_share >= 0.1 AND referrer_addresses <= 0.1 * addresses",
        "concat('of ', addresses, ' addresses ', addresses - referrer_addresses, ' never named a referrer')",
    ),
    Sign(
        "robots_txt",
        2,
        "robots_txt_addresses >= 0.1 * addresses",
        "concat('of ', addresses, ' addresses ', robots_txt_addresses, ' read robots.txt')",
    ),
    _HEADS,
    _ERRORS,
    _TAKES_PART,
)


def find_crawlers(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge visitors and agents by their behaviour, without reading the agent's text.

    Args:
        figures: The result of `with_shares`.
        parameters: The job's.
    """
    points = int(parameters["crawler_points"])
    lapse_hours = int(parameters["lapse_hours"])
    least_pages = int(parameters["crawler_pages"])
    what = f"if(distinct_pages >= {_SCRAPED_PAGES}, 'scraper', 'crawler')"
    of_visitors = judge(
        figures.where(f"pages >= {least_pages}"),
        Rule(what, VISITOR_SIGNS, points),
        "visitor",
        ("address", "agent"),
        lapse_hours,
    )
    # An agent with one address is judged as a visitor, which has more signs.
    of_agents = judge(
        agent_figures(figures).where(f"pages >= {least_pages} AND addresses > 1"),
        Rule("'crawler'", AGENT_SIGNS, points),
        "agent",
        ("agent",),
        lapse_hours,
    )
    return of_visitors.unionByName(of_agents)


def declared_bots(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Return a verdict for each of these visitors, even for one request: its agent declares itself.

    Args:
        figures: The result of `with_declared`, only visitors whose agent declares itself.
        parameters: The job's.
    """
    return shaped(
        figures.selectExpr("*", "concat('its agent says so: ', agent) AS why"),
        "visitor",
        ("address", "agent"),
        what="'declared_bot'",
        is_declared=True,
        score="1",
        lapse_hours=int(parameters["lapse_hours"]),
    )


def with_declared(figures: DataFrame) -> DataFrame:
    """Add whether a visitor's agent declares itself (`is_declared`)."""
    from pyspark.sql import functions as F

    # The pattern is long, so it is matched once per agent. It is matched against an aggregate of the key: Spark would
    # push a filter on the key itself below the aggregate.
    agents = figures.groupBy("agent").agg(F.max("agent").alias("says"))
    declared = agents.where(F.col("says").substr(1, MOST_SEARCHED).rlike(declared_pattern()))
    declared = declared.select("agent", F.lit(True).alias("is_declared"))
    return figures.join(F.broadcast(declared), "agent", "left").na.fill(False, ["is_declared"])
