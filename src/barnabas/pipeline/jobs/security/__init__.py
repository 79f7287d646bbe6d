"""Security: find crawlers, scrapers, spammers, vote rings, credential stuffing and too many requests, with reasons.

`make_facts` keeps the fields of each event that the rules need, as a row of `security_facts`. `aggregate` drops repeats
and sums all facts of each visitor and user with new facts, and logins and votes by hour. `refresh` judges the sums
(`scoring.py`). So a verdict does not depend on the order of events, and it disappears with the events that support it.
Verdicts are delayed by the time between two refreshes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from barnabas.pipeline.events.types import FOLLOW, LOGIN, PAGE_VIEW, POST, VOTE
from barnabas.pipeline.facts import MICROS, latest_micros, of_same, once
from barnabas.pipeline.job import (
    LOOKBACK_DAYS,
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
from barnabas.pipeline.jobs.security.crawlers import declared_bots, find_crawlers, with_declared
from barnabas.pipeline.jobs.security.facts import FACTS, make_facts, with_seen
from barnabas.pipeline.jobs.security.logins import find_credential_stuffing, login_figures
from barnabas.pipeline.jobs.security.rates import PARAMETERS as RATES
from barnabas.pipeline.jobs.security.rates import fast_minutes, find_too_fast
from barnabas.pipeline.jobs.security.scoring import VERDICTS, strongest
from barnabas.pipeline.jobs.security.users import find_spammers, find_vote_rings, ring_figures, user_figures
from barnabas.pipeline.jobs.security.visitors import NO_AGENT, visitor_figures, with_shares

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VISITORS, USERS, HOURS = "security_visitors", "security_users", "security_hours"

HOUR_S, DAY_S = 3600, 24 * 3600


def aggregate(frames: Frames, parameters: Parameters) -> Frames:
    """Sum the facts of some hours, and all facts of the visitors and users in these hours."""
    from pyspark.sql import functions as F

    agent, days = F.coalesce("agent", F.lit(NO_AGENT)), int(parameters[LOOKBACK_DAYS])
    every = with_seen(frames[f"all_{FACTS}"]).withColumn("agent", agent)
    some = every if frames[FACTS] is frames[f"all_{FACTS}"] else with_seen(frames[FACTS]).withColumn("agent", agent)

    # If all facts are new, and without a lookback, the three calls get the same DataFrame.
    distinct = cache(once)

    def own(*key: str) -> DataFrame:
        return distinct(_recent(of_same(every, some, *key), days, key))

    return {
        VISITORS: visitor_figures(own("address", "agent")),
        USERS: user_figures(own("user")),
        HOURS: _hours(distinct(some), parameters),
    }


def _hours(facts: DataFrame, parameters: Parameters) -> DataFrame:
    """Sum logins by address and user, votes by user and target, and all other events of an hour together.

    If a limit of request rates is set, rows of the kind `rate` contain the subjects that exceeded it.
    """
    from pyspark.sql import functions as F

    def only(kinds: str, value: str) -> Column:
        return F.when(F.expr(kinds), F.expr(value))

    is_login, is_vote = "kind = 'login' AND address IS NOT NULL", "kind = 'vote' AND user IS NOT NULL AND number != 0"
    sums = facts.groupBy(
        F.floor(F.unix_seconds("time") / HOUR_S).alias("unit"),
        only(f"({is_login}) OR ({is_vote})", "kind").alias("kind"),
        only(is_login, "address").alias("address"),
        F.coalesce(only(is_login, "coalesce(user, '')"), only(is_vote, "user")).alias("user"),
        only(is_vote, "target").alias("target"),
    )
    hours = sums.agg(
        F.count("*").alias("events"),
        F.count_if(F.expr("kind = 'login' AND number = 0")).alias("failures"),
        F.min("time").alias("first_seen"),
        F.max("seen").alias("last_seen"),
    )
    return hours.unionByName(fast_minutes(facts, parameters)) if int(parameters["rate_limit"]) > 0 else hours


def refresh(frames: Frames, parameters: Parameters) -> Frames:
    """Compute the verdicts from the sums."""
    from pyspark.sql import functions as F

    hours = frames[HOURS]
    figures, users = frames[VISITORS], frames[USERS]
    if (days := int(parameters[LOOKBACK_DAYS])) > 0:
        newest = latest_micros(hours, F.unix_micros("last_seen")) // (DAY_S * MICROS)
        recent = F.col("last_seen") >= F.timestamp_seconds(F.lit((newest + 1 - days) * DAY_S))
        figures, users, hours = figures.where(recent), users.where(recent), hours.where(recent)
    figures, users, hours = _once(with_declared(with_shares(figures))), _once(users), _once(hours)
    logins = _once(login_figures(hours.where("kind = 'login'"), int(parameters["strange_names"])))
    rings = ring_figures(
        hours.where("kind = 'vote'"), int(parameters["ring_window_s"]), int(parameters["ring_least_items"])
    )
    verdicts = (
        declared_bots(figures.where("is_declared"), parameters)
        # Visitors whose agent declares itself have their verdict already.
        .unionByName(find_crawlers(figures.where("NOT is_declared"), parameters))
        .unionByName(find_credential_stuffing(logins, parameters))
        .unionByName(find_spammers(users, parameters))
        .unionByName(find_vote_rings(users, rings, parameters))
    )
    if int(parameters["rate_limit"]) > 0:
        verdicts = verdicts.unionByName(find_too_fast(hours.where("kind = 'rate'"), parameters))
    return {VERDICTS: strongest(_not_allowed(verdicts, str(parameters["allow"])))}


def _once(figures: DataFrame) -> DataFrame:
    """Compute figures now and keep them, because several rules read them and planning a second read takes long.

    Not `persist`, which keeps data until the session ends or it is released: a checkpoint is deleted with the last
    reference to it. Cost: the refresh fails, and must be repeated, if an executor is lost.
    """
    return figures.localCheckpoint()


def _recent(facts: DataFrame, lookback_days: int, key: tuple[str, ...]) -> DataFrame:
    """Keep the facts of the last `lookback_days` days up to the subject's newest fact; 0 keeps all facts."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if lookback_days <= 0:
        return facts
    newest = facts.withColumn("_newest", F.max(F.to_date("seen")).over(Window.partitionBy(*key)))
    return newest.where(F.col("day") > F.date_sub("_newest", lookback_days)).drop("_newest")


def _not_allowed(verdicts: DataFrame, allowed: str) -> DataFrame:
    """Leave out addresses, agents, users and tokens that must not get a verdict, such as your own probes."""
    from pyspark.sql import functions as F

    names = [name.strip() for name in allowed.split(",") if name.strip()]
    for column in ("address", "agent", "user", "subject") if names else ():
        verdicts = verdicts.where(~F.coalesce(F.col(column).isin(names), F.lit(False)))
    return verdicts


def summarize(frames: Frames, parameters: Parameters) -> list[Summary]:
    """Return the number of verdicts of each kind, and the most certain verdicts that are not declarations."""
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
    does="finds crawlers, scrapers, spammers, vote rings, credential stuffing and too many requests, and says why",
    inputs=tuple(TopicInput(event.name, event) for event in (PAGE_VIEW, VOTE, POST, FOLLOW, LOGIN)),
    outputs=(
        TableOutput(FACTS, partition_by=("day",)),
        TableOutput(VISITORS, Mode.AGGREGATE, key=("address", "agent")),
        TableOutput(USERS, Mode.AGGREGATE, key=("user",)),
        TableOutput(HOURS, Mode.AGGREGATE),
        TableOutput(VERDICTS, Mode.REPLACE),
        TopicOutput(VERDICTS, key=("subject_kind", "subject")),
    ),
    facts=make_facts,
    refresh=refresh,
    aggregate=aggregate,
    window_s=HOUR_S,
    parameters=(
        Parameter(
            LOOKBACK_DAYS,
            0,
            "maximum age of facts in days, before their subject's newest event, and of that event; 0: no limit",
        ),
        Parameter("lapse_hours", 168, "hours from its subject's last event until a verdict expires"),
        Parameter("allow", "", "addresses, agents, users and tokens that never get a verdict, separated by commas"),
        Parameter("crawler_points", 5, "points required for a crawler"),
        Parameter("crawler_pages", 10, "minimum number of page requests"),
        Parameter("stuffing_names", 10, "names without a successful login from one address: many"),
        Parameter(
            "strange_names",
            2,
            "names without a successful login from one address: suspicious, if other addresses do the same",
        ),
        Parameter("campaign_addresses", 8, "suspicious addresses within an hour that make a campaign"),
        Parameter("guessing_failures", 20, "failed logins with few names that exceed a forgotten password"),
        Parameter("spam_same_text", 5, "times that one user posts the same text: spam"),
        Parameter("spam_posts_in_an_hour", 20, "posts within an hour: many"),
        Parameter("spam_follows_in_an_hour", 30, "follows within an hour: spam"),
        Parameter("spam_votes_in_an_hour", 100, "votes within an hour: spam"),
        Parameter("ring_window_s", 900, "maximum seconds between two votes that count as cast together"),
        Parameter("ring_least_items", 3, "items on which two users must have met to be in one ring"),
        *RATES,
    ),
    summarize=summarize,
)
