"""The rules for crawlers: what they rest on, and why.

| sign | points | why it tells |
| --- | --- | --- |
| no_assets | 3 | a browser asks for the images and styles of the pages it shows; counts where the site serves any |
| steady_pace | 3 | people read one page longer than another; a timer does not |
| around_the_clock | 3 | people sleep |
| no_referrer | 2 | who follows a link says where it stood; counts where visitors of the site do |
| one_referrer | 2 | or always the same place: nobody goes back there for each page |
| robots_txt | 2 | it is written for crawlers, and no page links to it |
| one_page | 2 | the same page over and over, for hours: what feed readers and probes do |
| heads | 2 | browsers don't ask for headers alone |
| fast | 2 | nobody reads page after page in two seconds each |
| breadth | 1 | hardly any page twice, and many of them: whoever takes all |
| errors | 1 | links that people are shown work |
| takes_part | -3 | it votes or posts |

One sign alone convicts nobody: `least_points` is above each. A visitor with few pages is not judged at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge, shaped
from barnabas.pipeline.jobs.security.user_agents import declared_pattern
from barnabas.pipeline.jobs.security.visitors import agent_figures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Of a site whose visitors fetch no assets, or name no referrer (a log in the common format), their lack says nothing.
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

# Who takes so many different pages takes the site's content.
_SCRAPED_PAGES = 50

VISITOR_SIGNS = (
    _NO_ASSETS,
    Sign(
        "steady_pace",
        3,
        # Of people's times between, which are log-normal with a spread of about 1, one run in 10,000 looks so steady.
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

# What many visitors do, each on his own, says nothing of paces, times of day and favourite pages.
#
# They count by address, not by request: one scraper with a browser's agent does not make crawlers of the others.
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
    """Judge visitors and agents by what they did: the agent's words are not read.

    Args:
        figures: What `with_shares` gives.
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
    # One address is judged as a visitor, with more to go by.
    of_agents = judge(
        agent_figures(figures).where(f"pages >= {least_pages} AND addresses > 1"),
        Rule("'crawler'", AGENT_SIGNS, points),
        "agent",
        ("agent",),
        lapse_hours,
    )
    return of_visitors.unionByName(of_agents)


def declared_bots(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Return a verdict for each of these visitors: its agent declares itself, be it for one request.

    Args:
        figures: What `with_shares` gives.
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

    # The pattern is a long one: each agent is held against it once. An aggregate of the key, not the key itself, as
    # Spark would move the filter below the aggregate.
    agents = figures.groupBy("agent").agg(F.max("agent").alias("says"))
    declared = agents.where(F.col("says").rlike(declared_pattern())).select("agent", F.lit(True).alias("is_declared"))
    return figures.join(F.broadcast(declared), "agent", "left").na.fill(False, ["is_declared"])
