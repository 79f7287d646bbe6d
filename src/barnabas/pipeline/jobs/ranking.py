"""Ranking: the popularity of each item, and the items that users choose for a query (docs/pipeline/ranking.md).

**Computation.** `make_facts` returns one slim fact for each view, click, search and vote. `aggregate` sums them by
hour, only for hours with new facts. `refresh` computes the rankings from the sums. It reads the last `half_life_hours`
× `horizon_half_lives` hours up to the latest event's; older events are ignored. A ranking depends only on the set of
facts. There is no state to lose, so a kill, a rewind or a backfill cannot make a ranking wrong.

**Score.** Age counts in whole hours before the latest event's hour. So an item's score changes with its own events and
at the end of the hour, not with every batch, and the topic gets only changed items. Weights are whole millionths and
all sums are of integers, so scores are exactly the same for any order and batches of events.

**Click-through rate.** Rates are smoothed; otherwise an item with one search and one click would rank first. If an item
has more clicks than searches, its clicks also count as searches.

**Crawlers.** The sums of an hour keep events that are left out separate. An hour is recomputed if a verdict on one of
its subjects appears or disappears, which the runner detects with `mark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipeline import verdicts
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.facts import MICROS, believed_micros, last_of, latest_micros, once, rows_of, shown, without_query
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

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import Column, DataFrame

HOUR_S = 3600

# A weight of 1. A sum of a thousand million points with this weight is a thousand times below the limit of 64 bits.
ONE = 1_000_000

_COLUMNS = {
    "id": "string",
    "time": "time",
    "kind": "string",
    "item": "string",
    "query": "string",
    "user": "string",
    "value": "int32",
    "address": "string",
    "agent": "string",
}
_COUNTS = ("views", "clicks", "votes_for", "votes_against")


def make_facts(name: str, events: pa.Table) -> pa.Table:
    """Return the facts (id, time, kind, item, query, user, value, address, agent, place) of events."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    made: dict[str, Any] = {}
    match name:
        case "page_view":
            events = shown(events)
            made |= {"kind": "view", "item": without_query(events["page"]), "user": None}
        case "click":
            made |= {"kind": "click", "item": without_query(events["item"]), "query": _plain(events["query"])}
            made["user"] = None
        case "search":
            query = _plain(events["query"])
            events, query = events.filter(pc.is_valid(query)), query.drop_null()
            made |= {"kind": "search", "query": query, "user": None}
        case "vote":
            made |= {"kind": "vote", "value": pc.sign(events["value"])}
    return rows_of(events, _COLUMNS, made)


def _plain(query: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return queries in lower case with single blanks; null if nothing is left."""
    import pyarrow.compute as pc

    found = pc.utf8_lower(pc.utf8_trim(pc.replace_substring_regex(query, r"[ \t\n\x0B\f\r]+", " "), " "))
    return pc.if_else(pc.equal(found, ""), None, found)


def aggregate(tables: Frames, parameters: Parameters) -> Frames:
    """Sum the facts of some hours by item and query; of votes, keep the last one of each user and item.

    Facts that are left out have sums of their own (`is_left_out`).
    """
    from pyspark.sql import functions as F

    unit = F.floor(F.unix_seconds("time") / HOUR_S)
    facts = verdicts.marked(tables["ranking_facts"], tables, parameters).withColumn(
        "is_left_out", F.expr("mark IS NOT NULL")
    )
    facts = once(facts.withColumn("unit", unit).withColumn("believed", believed_micros()))
    votes = last_of(facts.where("kind = 'vote'"), "unit", "user", "item", "is_left_out")
    counted = facts.where("kind <> 'vote'").unionByName(votes)
    sums = counted.groupBy("unit", "kind", "item", "query", "user", "value", "is_left_out").agg(
        F.count("*").alias("count"),
        F.max("time").alias("time"),
        # Decides which of several votes at the same time is the last; null for other kinds.
        F.max(F.when(F.col("kind") == "vote", F.col("id"))).alias("id"),
        F.max("believed").alias("believed"),
    )
    return {"ranking_hours": sums}


def refresh(tables: Frames, parameters: Parameters) -> Frames:
    """Compute the rankings from the sums of each hour."""
    from pyspark.sql import functions as F

    sums = tables["ranking_hours"]
    latest = latest_micros(sums, F.col("believed")) // MICROS // HOUR_S
    half_life_hours = float(parameters["half_life_hours"])
    age_hours = F.lit(latest) - F.col("unit")
    recent = sums.where(age_hours.between(0, half_life_hours * float(parameters["horizon_half_lives"])))
    weight = F.round(F.pow(F.lit(0.5), age_hours / half_life_hours) * ONE).cast("BIGINT")
    recent = recent.withColumn("weight", weight)
    left_out = recent.where("is_left_out").groupBy("item").agg(F.sum("count").alias("left_out"))
    recent = recent.where("NOT is_left_out")
    # Compute it once, because both rankings use it; the checkpoint is deleted with the last reference to it.
    by_query = _by_query(recent, parameters).localCheckpoint()
    items = _by_item(recent, by_query, parameters).join(left_out, "item", "left").fillna(0, ["left_out"])
    return {"ranking": items, "query_ranking": by_query.drop("_searches")}


def summarize(tables: Frames, parameters: Parameters) -> list[Summary]:
    """Return the best items, the best one for each of the most frequent queries, and the number of facts left out."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    items = tables["ranking"].orderBy(F.desc("score"), "item").limit(20)
    best_first = Window.partitionBy("query").orderBy(F.desc("click_through_rate"), F.desc("clicks"), "item")
    best = tables["query_ranking"].withColumn("_rank", F.row_number().over(best_first)).where("_rank = 1").drop("_rank")
    count, is_left_out = F.col("count"), F.col("is_left_out")
    by_kind = (
        tables["ranking_hours"]
        .groupBy("kind")
        .agg(
            F.sum(F.when(is_left_out, 0).otherwise(count)).alias("counted"),
            F.sum(F.when(is_left_out, count).otherwise(0)).alias("left_out"),
        )
    )
    return [
        Summary("items people care for", items.select("item", "score", *_COUNTS, "click_through_rate")),
        Summary(
            "what is clicked for the most frequent queries",
            best.orderBy(F.desc("searches"), "query").limit(20).select("query", "searches", "item", "clicks"),
        ),
        Summary(verdicts.said(tables, parameters), by_kind.orderBy("kind")),
    ]


def _by_item(sums: DataFrame, by_query: DataFrame, parameters: Parameters) -> DataFrame:
    """Return (item, counts, click_through_rate, score) of every item with a view, click or vote."""
    from pyspark.sql import functions as F

    voted = last_of(sums.where("kind = 'vote'"), "user", "item").where("value <> 0")
    happened = sums.where("kind IN ('view', 'click')").unionByName(voted)
    kind, value, count = F.col("kind"), F.col("value"), F.col("count")

    def counted(condition: Column) -> Column:
        return F.sum(F.when(condition, count).otherwise(0))

    points = (
        F.when(kind == "view", F.lit(parameters["view_points"]))
        .when(kind == "click", F.lit(parameters["click_points"]))
        .otherwise(value * F.lit(parameters["vote_points"]))
        .cast("BIGINT")
    )
    items = happened.groupBy("item").agg(
        counted(kind == "view").alias("views"),
        counted(kind == "click").alias("clicks"),
        counted(value > 0).alias("votes_for"),
        counted(value < 0).alias("votes_against"),
        F.sum(points * count * F.col("weight")).alias("_score"),
        F.max("time").alias("latest"),
    )
    found = by_query.groupBy("item").agg(F.sum("clicks").alias("_clicks"), F.sum("_searches").alias("_searches"))
    return items.join(found, "item", "left").select(
        "item",
        *_COUNTS,
        _rate(F.coalesce("_clicks", F.lit(0)), F.coalesce("_searches", F.lit(0)), parameters),
        F.round(F.col("_score") / ONE, 3).alias("score"),
        "latest",
    )


def _by_query(sums: DataFrame, parameters: Parameters) -> DataFrame:
    """Return (query, item, searches, clicks, click_through_rate, score) of every item that was clicked for a query.

    The additional column `_searches` is the number of searches that count as having shown the item.
    """
    from pyspark.sql import functions as F

    searches = sums.where("kind = 'search'").groupBy("query").agg(F.sum("count").alias("_asked"))
    clicks = sums.where("kind = 'click' AND query IS NOT NULL")
    chosen = clicks.groupBy("query", "item").agg(
        F.sum("count").alias("clicks"),
        F.sum(F.col("count") * F.col("weight")).alias("_score"),
        F.max("time").alias("latest"),
    )
    asked = F.coalesce("_asked", F.lit(0))
    shown = chosen.join(searches, "query", "left").withColumn("_searches", F.greatest(asked, "clicks"))
    return shown.select(
        "query",
        "item",
        asked.alias("searches"),
        "clicks",
        _rate(F.col("clicks"), F.col("_searches"), parameters),
        F.round(F.col("_score") / ONE, 3).alias("score"),
        "latest",
        "_searches",
    )


def _rate(clicks: Column, searches: Column, parameters: Parameters) -> Column:
    from pyspark.sql import functions as F

    smoothed = (clicks + F.lit(parameters["prior_clicks"])) / (searches + F.lit(parameters["prior_searches"]))
    return F.round(smoothed, 6).alias("click_through_rate")


JOB = Job(
    name="ranking",
    does="ranks items by views, clicks and votes, and the items that are chosen for a query",
    inputs=(
        *(TopicInput(name, EVENT_TYPES[name]) for name in ("page_view", "click", "search", "vote")),
        verdicts.VERDICTS,
    ),
    outputs=(
        TableOutput("ranking_facts"),
        TableOutput("ranking_hours", Mode.AGGREGATE),
        TableOutput("ranking", Mode.REPLACE),
        TopicOutput("ranking", ("item",)),
        TableOutput("query_ranking", Mode.REPLACE),
        # The item first: pages contain no blanks (queries do), so no two pairs have the same record key.
        TopicOutput("query_ranking", ("item", "query"), topic="query-ranking"),
    ),
    facts=make_facts,
    refresh=refresh,
    aggregate=aggregate,
    mark=verdicts.marked,
    window_s=HOUR_S,
    parameters=(
        Parameter("half_life_hours", 24.0, "hours after which an event weighs half as much"),
        Parameter("horizon_half_lives", 14, "maximum age of events in half-lives"),
        Parameter("view_points", 1, "points that a view adds to an item's score"),
        Parameter("click_points", 3, "points that a click adds"),
        Parameter("vote_points", 10, "points that a vote adds, or a vote against subtracts"),
        Parameter("prior_clicks", 1, "clicks added to each item for its click-through rate"),
        Parameter("prior_searches", 20, "searches added to each item for its click-through rate"),
        verdicts.leave_out("declared_bot,crawler,scraper"),
    ),
    summarize=summarize,
)
