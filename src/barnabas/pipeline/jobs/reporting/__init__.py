"""Reporting: who came, what they looked at, how they got there, how far they went, and what failed.

`make_facts` (`facts.py`) keeps a slim row of each event, appended once. The result tables are computed from them
(`results.py`), so late and repeated events are counted right, and a stopped run has nothing to lose: those that tell of
one day alone for the days with new facts or other verdicts on who is in them (`aggregate`), sessions and what goes over
several days from these (`refresh`).
"""

from barnabas.pipeline import verdicts
from barnabas.pipeline.facts import ASSETS
from barnabas.pipeline.job import Job, Mode, Parameter, TableOutput, TopicInput
from barnabas.pipeline.jobs.reporting import funnel
from barnabas.pipeline.jobs.reporting.facts import FACTS, INPUTS, make_facts
from barnabas.pipeline.jobs.reporting.results import CRAWLERS, compute_days, compute_results
from barnabas.pipeline.jobs.reporting.sessions import SECONDS_PER_DAY
from barnabas.pipeline.jobs.reporting.summary import summarize

# By day, of which those with new facts are computed anew; the last three are what the others are made of.
DAYS = (
    "report_hours",
    "report_referrers",
    "report_crawlers",
    "report_funnel",
    "report_searches",
    "report_views",
    "report_visitors",
    "report_visits",
)
RESULTS = ("report_totals", "report_days", "report_pages", "report_sessions", "report_depth")

JOB = Job(
    name="reporting",
    does="visitors, sessions, pages, referrers, errors and funnels per day, for tables and the HTML report",
    inputs=(*(TopicInput(event.name, event) for event in INPUTS), verdicts.VERDICTS),
    outputs=(
        TableOutput(FACTS),
        *(TableOutput(name, Mode.AGGREGATE) for name in DAYS),
        *(TableOutput(name, Mode.REPLACE) for name in RESULTS),
    ),
    facts=make_facts,
    refresh=compute_results,
    aggregate=compute_days,
    mark=verdicts.marked,
    window_s=SECONDS_PER_DAY,
    parameters=(
        Parameter("session_gap_s", 1_800, "the longest pause within a session"),
        Parameter("funnel", funnel.DEFAULT, "the steps: event types with | between, a blank and a pattern; next step"),
        Parameter("crawlers", CRAWLERS, "an agent with this pattern in it is a declared crawler; empty: none is"),
        Parameter("assets", ASSETS, "a target with this pattern in it is no page; empty: all are pages"),
        Parameter(
            "count_crawlers", True, "whether declared crawlers count in pages, referrers, sessions, funnel, searches"
        ),
        # Who says so himself is the business of the parameters above.
        verdicts.leave_out("crawler,scraper"),
        Parameter("own_hosts", "", "the site's own host names, comma between: not where visitors come from"),
    ),
    summarize=summarize,
)
