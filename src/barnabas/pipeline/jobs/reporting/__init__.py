"""Reporting: visitors, pages, referrers, sessions, funnels and errors.

`make_facts` (`facts.py`) returns one slim row for each event, which is appended once. The result tables are computed
from these rows (`results.py`), so late and repeated events are counted correctly, and a stopped run loses nothing.
`aggregate` computes the tables by day, only for days with new facts or changed verdicts on their visitors. `refresh`
computes sessions, and all tables that span several days, from the tables by day.
"""

from barnabas.pipeline import verdicts
from barnabas.pipeline.facts import ASSETS
from barnabas.pipeline.job import Job, Mode, Parameter, TableOutput, TopicInput
from barnabas.pipeline.jobs.reporting import funnel
from barnabas.pipeline.jobs.reporting.facts import FACTS, INPUTS, make_facts
from barnabas.pipeline.jobs.reporting.results import CRAWLERS, compute_days, compute_results
from barnabas.pipeline.jobs.reporting.sessions import SECONDS_PER_DAY
from barnabas.pipeline.jobs.reporting.summary import summarize

# Tables by day, recomputed for days with new facts; `RESULTS` are computed from the last three.
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
        Parameter("session_gap_s", 1_800, "longest pause within a session, in seconds"),
        Parameter(
            "funnel",
            funnel.DEFAULT,
            "steps separated by ;, each event types separated by |, then perhaps a blank and a pattern",
        ),
        Parameter("crawlers", CRAWLERS, "pattern in the agents of declared crawlers; empty: no agent"),
        Parameter("assets", ASSETS, "pattern in targets that are not pages; empty: all targets are pages"),
        Parameter(
            "count_crawlers", True, "whether declared crawlers count in pages, referrers, sessions, funnel, searches"
        ),
        # The parameters above decide about declared crawlers.
        verdicts.leave_out("crawler,scraper"),
        Parameter("own_hosts", "", "the site's own host names, separated by commas: not referrers"),
    ),
    summarize=summarize,
)
