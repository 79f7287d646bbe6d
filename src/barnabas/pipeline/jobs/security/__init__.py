"""Security: who crawls, scrapes, spams, votes in rings, or tries stolen passwords; and why it is thought so.

`transform` keeps of each event what the rules need, as a row of `security_facts`; `refresh` drops repeats, sums up the
facts by visitor, agent, address and user, and judges the sums (`judging.py`). So a verdict does not depend on the order
in which events came, and comes and goes with the events that speak for it; its delay is the time between two refreshes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.events.types import FOLLOW, LOGIN, PAGE_VIEW, POST, VOTE
from barnabas.pipeline.job import (
    Frames,
    Job,
    Mode,
    Parameter,
    Parameters,
    Summary,
    TableOutput,
    TopicInput,
    TopicOutput,
)
from barnabas.pipeline.jobs.security.crawlers import declared_agents, declared_bots, find_crawlers
from barnabas.pipeline.jobs.security.facts import FACTS, distinct_of, transform
from barnabas.pipeline.jobs.security.judging import VERDICTS, strongest
from barnabas.pipeline.jobs.security.logins import find_credential_stuffing, login_figures
from barnabas.pipeline.jobs.security.users import find_spammers, find_vote_rings, ring_figures, user_figures
from barnabas.pipeline.jobs.security.visitors import visitor_figures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def refresh(frames: Frames, parameters: Parameters) -> Frames:
    """Judge all that the facts tell of."""
    from pyspark.sql import functions as F

    facts = _recent(frames[FACTS], int(parameters["lookback_days"]))
    views = distinct_of(facts, "page_view")
    figures = _once(visitor_figures(views, distinct_of(facts, "vote", "post")))
    declared = _once(declared_agents(facts.where("kind = 'page_view'")))
    logins = _once(login_figures(distinct_of(facts, "login"), int(parameters["strange_names"])))
    users = _once(user_figures(distinct_of(facts, "post", "follow", "vote")))
    rings = ring_figures(
        distinct_of(facts, "vote"), int(parameters["ring_window_s"]), int(parameters["ring_least_items"])
    )
    verdicts = (
        declared_bots(figures, declared, parameters)
        # Who says himself what he is has that verdict with each of his visitors.
        .unionByName(find_crawlers(figures, parameters).join(F.broadcast(declared), "agent", "left_anti"))
        .unionByName(find_credential_stuffing(logins, parameters))
        .unionByName(find_spammers(users, parameters))
        .unionByName(find_vote_rings(users, rings, parameters))
    )
    return {VERDICTS: strongest(_not_allowed(verdicts, str(parameters["allow"])))}


def _once(figures: DataFrame) -> DataFrame:
    """Compute figures here and now, and keep them: several rules look at them.

    Not `persist`, which keeps for the whole session what nobody gives back: this is gone with the last reference to it.
    What it costs: when an executor is lost meanwhile, the refresh fails and has to be done again.
    """
    return figures.localCheckpoint()


def _recent(facts: DataFrame, lookback_days: int) -> DataFrame:
    from pyspark.sql import functions as F

    if lookback_days <= 0:
        return facts
    newest = facts.agg(F.max("day").alias("newest")).first()
    return facts if newest is None else facts.where(F.col("day") > F.date_sub(F.lit(newest["newest"]), lookback_days))


def _not_allowed(verdicts: DataFrame, allowed: str) -> DataFrame:
    """Leave out addresses, agents and users that are not to be judged: one's own probes."""
    from pyspark.sql import functions as F

    names = [name.strip() for name in allowed.split(",") if name.strip()]
    for column in ("address", "agent", "user") if names else ():
        verdicts = verdicts.where(~F.coalesce(F.col(column).isin(names), F.lit(False)))
    return verdicts


def summarize(frames: Frames, parameters: Parameters) -> list[Summary]:
    """Show how many there are of each kind, and the surest of those that don't say themselves what they are."""
    from pyspark.sql import functions as F

    verdicts = frames[VERDICTS]
    kinds = verdicts.groupBy("what", "subject_kind").agg(F.count("*").alias("verdicts")).orderBy("what", "subject_kind")
    surest = verdicts.where("NOT is_declared").orderBy(F.col("score").desc(), "subject_kind", "subject")
    return [
        Summary("Verdicts", kinds),
        Summary("The surest", surest.select("what", "subject", "score", "why").limit(10)),
    ]


JOB = Job(
    name="security",
    does="finds crawlers, scrapers, spammers, vote rings and credential stuffing, and says why",
    inputs=tuple(TopicInput(event.name, event) for event in (PAGE_VIEW, VOTE, POST, FOLLOW, LOGIN)),
    outputs=(
        TableOutput(FACTS, partition_by=("day",)),
        TableOutput(VERDICTS, Mode.REPLACE),
        TopicOutput(VERDICTS, key=("subject_kind", "subject")),
    ),
    transform=transform,
    refresh=refresh,
    parameters=(
        Parameter("lookback_days", 0, "how many days before the newest event count, with it; 0: all that are kept"),
        Parameter("lapse_hours", 168, "how long after its subject was seen last a verdict holds"),
        Parameter("allow", "", "addresses, agents and users that get no verdict, comma between"),
        Parameter("crawler_points", 5, "points that make a crawler"),
        Parameter("crawler_pages", 10, "fewest page requests that are judged"),
        Parameter("stuffing_names", 10, "names that never got in from one address: many"),
        Parameter("strange_names", 2, "names that never got in from one address: strange, where others do the same"),
        Parameter("campaign_addresses", 8, "strange addresses within an hour that make a campaign"),
        Parameter("guessing_failures", 20, "failed logins at few names that are no forgotten password"),
        Parameter("spam_same_text", 5, "times that one user writes the same text: spam"),
        Parameter("spam_posts_in_an_hour", 20, "posts within an hour: many"),
        Parameter("spam_follows_in_an_hour", 30, "follows within an hour: spam"),
        Parameter("spam_votes_in_an_hour", 100, "votes within an hour: spam"),
        Parameter("ring_window_s", 900, "seconds between two votes that were cast together"),
        Parameter("ring_least_items", 3, "items on which two must have met to be of one ring"),
    ),
    summarize=summarize,
)
