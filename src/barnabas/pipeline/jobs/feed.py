"""News feed: for each user what the people did whom he follows, newest first, several people's doings in one entry.

**Shape.** `make_facts` makes one slim fact of each post, vote, follow and view by somebody who is logged in.
`aggregate` notes of each user with new facts whom he follows in the end, and the newest of what he did. `refresh` puts
the feeds together from that: what happened in the last `horizon_days` days before the latest event. So a feed is a
function of the set of facts: late votes, a vote that is taken back and an unfollow are right in any order. Only
users whose feed has changed are written to the topic.

**Entries.** One entry for each (verb, item): "anna, bert and 3 others voted for X", with the time of the newest.

| verb | from | item |
| --- | --- | --- |
| posted | post without a parent | the post |
| commented on | post with a parent | the parent |
| voted for | a user's last vote for the item, where it is above 0 | what was voted for |
| viewed | view of a page that was shown, by somebody logged in | the page without its query |

Views have no names, as who reads what is nobody's business: only a number, and no entry below `least_viewers`. One's
own doings are not in one's feed, and following oneself does nothing. Whether A follows B is what the last follow event
by time says, or by id where the times are the same.

**Costs.** Of a user with new facts all of his own are read; of the others only whom they follow and the newest of what
they did. What each user did is made distinct before it meets the followers, and of each user only the newest
`newest_per_user` named doings, and as many views, go to the followers: rows of the join are bounded by follows × 2 ×
`newest_per_user`, however busy a celebrity is. **What that gets wrong.** As long as `newest_per_user` is not below
`entries`, no named entry is missing and none has a wrong time: an older doing can't be among the newest entries of
anybody who sees the newer ones as well. But a user's doing beyond his newest is missing in an entry's number of actors,
and an entry of views can be missing where most of its viewers viewed so much else since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.facts import (
    MICROS,
    believed_micros,
    last_of,
    latest_micros,
    of_same,
    rows_of,
    shown,
    without_query,
)
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
    from pyspark.sql import DataFrame

HOUR_S, DAY_S = 3600, 24 * 3600

# So many names are told, the newest first; the others are a number.
NAMED_ACTORS = 3

_COLUMNS = {"id": "string", "time": "time", "kind": "string", "user": "string", "item": "string", "value": "int32"}


def make_facts(name: str, events: pa.Table) -> pa.Table:
    """Return the facts (id, time, kind, user, item, value, place) of events; a follow's item is who is followed."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    made: dict[str, Any] = {}
    match name:
        case "post":
            parent = events["parent"]
            is_comment = pc.is_valid(parent)
            made["kind"] = pc.if_else(is_comment, "commented on", "posted")
            made["item"] = pc.if_else(is_comment, parent, events["item"])
        case "vote":
            made |= {"kind": "voted for", "item": events["item"], "value": pc.sign(events["value"])}
        case "follow":
            made |= {"kind": "follow", "item": events["followee"], "value": events["is_following"]}
        case "page_view":
            events = shown(events)
            events = events.filter(pc.is_valid(events["user"]))
            made |= {"kind": "viewed", "item": without_query(events["page"])}
    return rows_of(events, _COLUMNS, made)


def aggregate(tables: Frames, parameters: Parameters) -> Frames:
    """Find whom each user with new facts follows, and the newest of what he did."""
    from pyspark.sql import functions as F

    some, unit = tables["feed_facts"], F.floor(F.unix_seconds("time") / HOUR_S).alias("unit")
    hours = some.groupBy(unit, "kind").agg(F.count("*").alias("count"), F.max(believed_micros()).alias("believed"))
    facts = of_same(tables["all_feed_facts"], some, "user")
    # An event that claims to be much later than its record would be the newest for ever.
    believed = facts.where(F.unix_micros("time") == believed_micros())
    done = F.struct("verb", "item", "time")
    doings = _doings(believed.where("kind <> 'follow'"), int(parameters["newest_per_user"]))
    parts = (
        # Who has nothing left to be told of has a row as well.
        facts.select("user").distinct(),
        _follows(believed.where("kind = 'follow'")),
        doings.select(F.col("actor").alias("user"), done.alias("done")),
    )
    together = parts[0].unionByName(parts[1], True).unionByName(parts[2], True)
    people = together.groupBy("user").agg(
        F.sort_array(F.collect_list("actor")).alias("follows"), F.sort_array(F.collect_list("done")).alias("doings")
    )
    return {"feed_people": people, "feed_hours": hours}


def refresh(tables: Frames, parameters: Parameters) -> Frames:
    """Put the feeds together."""
    from pyspark.sql import functions as F

    people = tables["feed_people"]
    latest = latest_micros(tables["feed_hours"], F.col("believed"))
    horizon = int(float(parameters["horizon_days"]) * DAY_S * MICROS)
    follows = people.select("user", F.explode("follows").alias("actor"))
    doings = people.select(F.col("user").alias("actor"), F.inline("doings"))
    return {"feed": _feeds(follows, doings.where(F.unix_micros("time") > latest - horizon), parameters)}


def summarize(tables: Frames, parameters: Parameters) -> list[Summary]:
    """Show the newest entries of the fullest feeds, one a user."""
    from pyspark.sql import functions as F

    fullest = tables["feed"].withColumn("entry_count", F.size("entries")).orderBy(F.desc("entry_count"), "user")
    newest = F.col("entries")[0]
    others = newest["actor_count"] - F.size(newest["actors"])
    names = F.concat_ws(", ", newest["actors"])
    who = (
        F.when(F.size(newest["actors"]) == 0, F.concat(newest["actor_count"], F.lit(" people")))
        .when(others > 0, F.concat(names, F.lit(" and "), others, F.lit(" others")))
        .otherwise(names)
    )
    sentence = F.concat_ws(" ", who, newest["verb"], newest["item"])
    rows = fullest.select("user", "entry_count", newest["time"].alias("time"), sentence.alias("newest_entry"))
    return [Summary("the fullest feeds, and the newest entry of each", rows.limit(20))]


def _follows(facts: DataFrame) -> DataFrame:
    """Return (user, actor) where the user follows the actor in the end."""
    from pyspark.sql import functions as F

    # Repeats of an event need not be dropped: the last one says the same.
    return (
        last_of(facts.where("user <> item"), "user", "item")
        .where("value = 1")
        .select("user", F.col("item").alias("actor"))
    )


def _doings(facts: DataFrame, newest_per_user: int) -> DataFrame:
    """Return (actor, verb, item, time): what each user did, once, the newest of it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    voted = last_of(facts.where("kind = 'voted for'"), "user", "item").where("value > 0")
    done = facts.where("kind <> 'voted for'").unionByName(voted)
    # This drops repeats as well: they have user, verb, item and time of the first.
    distinct = done.groupBy(F.col("user").alias("actor"), F.col("kind").alias("verb"), "item")
    is_view = F.col("verb") == "viewed"
    newest_first = Window.partitionBy("actor", is_view).orderBy(F.desc("time"), "verb", "item")
    return (
        distinct.agg(F.max("time").alias("time"))
        .withColumn("_age", F.row_number().over(newest_first))
        .where(F.col("_age") <= newest_per_user)
        .drop("_age")
    )


def _feeds(follows: DataFrame, doings: DataFrame, parameters: Parameters) -> DataFrame:
    """Return (user, entries) of all users whose followed people did something."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    is_view = F.col("verb") == "viewed"
    newest_actors_first = F.sort_array(F.collect_list(F.struct(-F.unix_micros("time"), "actor")))
    # By user once: all that follows stays within a user's rows, and so they are not moved again.
    seen = follows.join(doings, "actor").repartition("user")
    entries = (
        seen.groupBy("user", "verb", "item")
        .agg(
            F.max("time").alias("time"),
            F.count("*").cast("INT").alias("actor_count"),
            F.slice(newest_actors_first["actor"], 1, NAMED_ACTORS).alias("actors"),
        )
        .where(~is_view | (F.col("actor_count") >= F.lit(parameters["least_viewers"])))
        .withColumn("actors", F.when(is_view, F.array().cast("ARRAY<STRING>")).otherwise(F.col("actors")))
    )
    newest_first = Window.partitionBy("user").orderBy(F.desc("time"), "verb", "item")
    newest = entries.withColumn("_age", F.row_number().over(newest_first))
    entry = F.struct("_age", "verb", "item", "actors", "actor_count", "time")
    in_order = F.sort_array(F.collect_list(entry))
    return (
        newest.where(F.col("_age") <= F.lit(parameters["entries"]))
        .groupBy("user")
        .agg(F.transform(in_order, lambda each: each.dropFields("_age")).alias("entries"))
    )


JOB = Job(
    name="feed",
    does="makes each user's news feed: what the people did whom he follows",
    inputs=tuple(TopicInput(name, EVENT_TYPES[name]) for name in ("post", "vote", "follow", "page_view")),
    outputs=(
        TableOutput("feed_facts"),
        TableOutput("feed_people", Mode.AGGREGATE, key=("user",)),
        TableOutput("feed_hours", Mode.AGGREGATE),
        TableOutput("feed", Mode.REPLACE),
        TopicOutput("feed", ("user",)),
    ),
    facts=make_facts,
    refresh=refresh,
    aggregate=aggregate,
    window_s=HOUR_S,
    parameters=(
        Parameter("entries", 50, "the most entries a feed has"),
        Parameter("horizon_days", 7.0, "what is older than so many days is in no feed"),
        Parameter("least_viewers", 3, "views are told when so many of the people whom one follows viewed a page"),
        Parameter("newest_per_user", 50, "of each user so many newest doings, and as many views, reach the followers"),
    ),
    summarize=summarize,
)
