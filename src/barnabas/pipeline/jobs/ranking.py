"""Ranking: how much people care for each item, and which items they choose for a query (docs/pipeline/ranking.md).

**Shape.** `make_facts` makes one slim fact of each view, click, search and vote. `aggregate` adds them up by hour, for
the hours with new facts alone. `refresh` computes the rankings from the sums of the `half_life_hours` ×
`horizon_half_lives` hours before that of the latest event; what is older has no weight left. There is no state that
could be lost, so a kill, a rewind or a backfill can't make a ranking wrong: it is a function of the set of facts.

**Score.** Age is counted in whole hours from the latest event's hour: an item's score then changes when something
happened to it or the hour ends, not with every batch, and the topic carries what changed. Weights are whole millionths
and sums are sums of whole numbers, so the score is the same to the last digit in whatever order and batches the events
came.

**Click-through rate.** Rates are smoothed: else one search with one click would stand on top. More clicks than searches
count as so many searches.

**Crawlers.** An hour's sums keep those who are left out apart, and are made anew where a verdict on somebody in it has
come or gone, which the runner sees by `mark`.
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

# A weight of 1. A thousand million points with this weight stay a thousand times below what 64 bits hold.
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
    """Return queries in lower case, blanks run together; null where nothing is left."""
    import pyarrow.compute as pc

    found = pc.utf8_lower(pc.utf8_trim(pc.replace_substring_regex(query, r"[ \t\n\x0B\f\r]+", " "), " "))
    return pc.if_else(pc.equal(found, ""), None, found)


def aggregate(tables: Frames, parameters: Parameters) -> Frames:
    """Add up the facts of some hours: by item and query, and of votes the last one of each user and item.

    Those who are left out are added up by themselves (`is_left_out`).
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
        # Which of the votes at the same time is the last one; of no other kind.
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
    # Here and now, as both rankings are made of it; gone with the last reference to it.
    by_query = _by_query(recent, parameters).localCheckpoint()
    items = _by_item(recent, by_query, parameters).join(left_out, "item", "left").fillna(0, ["left_out"])
    return {"ranking": items, "query_ranking": by_query.drop("_searches")}


def summarize(tables: Frames, parameters: Parameters) -> list[Summary]:
    """Show the best items, the best one for each of the most frequent queries, and how much was left out."""
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
    """Return (item, counts, click_through_rate, score) of every item to which something happened."""
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

    Beside these stands `_searches`: the searches that are taken to have shown the item.
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
        # The item first: pages have no blanks, queries do, and so no two pairs have the same record key.
        TopicOutput("query_ranking", ("item", "query"), topic="query-ranking"),
    ),
    facts=make_facts,
    refresh=refresh,
    aggregate=aggregate,
    mark=verdicts.marked,
    window_s=HOUR_S,
    parameters=(
        Parameter("half_life_hours", 24.0, "after this many hours an event weighs half as much"),
        Parameter("horizon_half_lives", 14, "events that are older than so many half-lives are left out"),
        Parameter("view_points", 1, "what a view adds to an item's score"),
        Parameter("click_points", 3, "what a click adds"),
        Parameter("vote_points", 10, "what a vote adds, or a vote against takes away"),
        Parameter("prior_clicks", 1, "clicks that every click-through rate starts with"),
        Parameter("prior_searches", 20, "searches that every click-through rate starts with"),
        verdicts.leave_out("declared_bot,crawler,scraper"),
    ),
    summarize=summarize,
)
