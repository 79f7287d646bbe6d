"""News feed: for each user, the latest actions of the followed people, newest first; similar actions share an entry.

**Computation.** `make_facts` returns one slim fact for each post, vote, follow and view by a logged-in user.
`aggregate` computes, for each user with new facts, the followed people and the newest actions. `refresh` builds the
feeds from these: actions in the last `horizon_days` days before the latest event. So a feed depends only on the set of
facts: late votes, withdrawn votes and unfollows have the right effect in any order. Only changed feeds are written to
the topic.

**Entries.** One entry for each (verb, item): "anna, bert and 3 others voted for X", with the time of the newest action.

| verb | from | item |
| --- | --- | --- |
| posted | post without a parent | the post |
| commented on | post with a parent | the parent |
| voted for | a user's last vote for the item, if it is above 0 | the item |
| viewed | view of a page that was shown, by a logged-in user | the page without its query |

Views are anonymous: an entry shows only their number, which must be at least `least_viewers`. A feed never contains the
user's own actions, and following oneself has no effect. The last follow event by time decides whether A follows B, or
the last by id if the times are equal.

**Cost.** All facts of users with new facts are read; of other users, only the follows and newest actions. Actions are
deduplicated before the join with followers. Only the newest `newest_per_user` named actions of each user, and as many
views, reach the followers. So the join has at most follows × 2 × `newest_per_user` rows, however active a user is.

**Limits.** If `newest_per_user` is at least `entries`, no named entry is missing and none has a wrong time: a follower
who sees an older action also sees the newer ones, which fill the feed. But an entry's number of actors misses older
actions of very active users. An entry of views can be missing if most of its viewers have viewed many pages since.
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

# Maximum number of names in an entry, newest first; the other actors are only counted.
NAMED_ACTORS = 3

_COLUMNS = {"id": "string", "time": "time", "kind": "string", "user": "string", "item": "string", "value": "int32"}


def make_facts(name: str, events: pa.Table) -> pa.Table:
    """Return the facts (id, time, kind, user, item, value, place) of events; a follow's item is the followed user."""
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
    """Compute the follows and the newest actions of each user with new facts."""
    from pyspark.sql import functions as F

    some, unit = tables["feed_facts"], F.floor(F.unix_seconds("time") / HOUR_S).alias("unit")
    hours = some.groupBy(unit, "kind").agg(F.count("*").alias("count"), F.max(believed_micros()).alias("believed"))
    facts = of_same(tables["all_feed_facts"], some, "user")
    # Ignore events with a time far after their record's, because they would remain the newest forever.
    believed = facts.where(F.unix_micros("time") == believed_micros())
    done = F.struct("verb", "item", "time")
    doings = _doings(believed.where("kind <> 'follow'"), int(parameters["newest_per_user"]))
    parts = (
        # Users without follows and actions need a row, too: it replaces their earlier row.
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
    """Build the feeds."""
    from pyspark.sql import functions as F

    people = tables["feed_people"]
    latest = latest_micros(tables["feed_hours"], F.col("believed"))
    horizon = int(float(parameters["horizon_days"]) * DAY_S * MICROS)
    follows = people.select("user", F.explode("follows").alias("actor"))
    doings = people.select(F.col("user").alias("actor"), F.inline("doings"))
    return {"feed": _feeds(follows, doings.where(F.unix_micros("time") > latest - horizon), parameters)}


def summarize(tables: Frames, parameters: Parameters) -> list[Summary]:
    """Return the newest entry of each of the fullest feeds."""
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
    """Return (user, actor) if the user's last follow event for the actor is a follow, not an unfollow."""
    from pyspark.sql import functions as F

    # Repeats of an event need not be dropped: their content is the same.
    return (
        last_of(facts.where("user <> item"), "user", "item")
        .where("value = 1")
        .select("user", F.col("item").alias("actor"))
    )


def _doings(facts: DataFrame, newest_per_user: int) -> DataFrame:
    """Return (actor, verb, item, time): the newest distinct actions of each user."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    voted = last_of(facts.where("kind = 'voted for'"), "user", "item").where("value > 0")
    done = facts.where("kind <> 'voted for'").unionByName(voted)
    # This also drops repeats: their user, verb, item and time are the same.
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
    """Return (user, entries) of all users whose feed is not empty."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    is_view = F.col("verb") == "viewed"
    newest_actors_first = F.sort_array(F.collect_list(F.struct(-F.unix_micros("time"), "actor")))
    # Partition by user once: the steps below need only a user's rows, so Spark does not shuffle again.
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
    does="makes each user's news feed: recent activity of the users that the user follows",
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
        Parameter("entries", 50, "maximum number of entries in a feed"),
        Parameter("horizon_days", 7.0, "maximum age of an entry in days"),
        Parameter("least_viewers", 3, "minimum number of followed users who viewed a page, for an entry about it"),
        Parameter("newest_per_user", 50, "newest actions, and newest views, of each user that reach followers"),
    ),
    summarize=summarize,
)
