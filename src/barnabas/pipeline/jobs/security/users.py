"""Spammers and vote rings: accounts that write, follow and vote unlike people.

A ring is a group of accounts that repeatedly vote for the same items within minutes of each other. Two honest people
may meet at a popular item. So the rule counts how often the same two meet, relative to the number of their votes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security.intervals import GAPS, gap_sums, pace
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# If more people than this vote for an item within one window, the search for pairs leaves out their votes: the item is
# popular, and the number of pairs grows with the square. A ring votes for many items, so the others reveal it.
_MOST_VOTERS_IN_A_WINDOW = 300

_TOGETHER_SHARE = 0.35


def user_figures(facts: DataFrame) -> DataFrame:
    """Count the posts, follows and votes of each user.

    Args:
        facts: Distinct facts with `seen`; only posts, follows and votes count.

    Returns:
        A row for each user. `same_text` is the number of posts with the user's most frequent text,
        `most_..._in_an_hour` the highest number within any 60 minutes.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    each = Window.partitionBy("user", "kind")
    hour = each.orderBy("second").rangeBetween(-3600, 0)
    before = each.orderBy("ms")
    done = (
        facts.where("user IS NOT NULL AND (kind IN ('post', 'vote') OR kind = 'follow' AND number = 1)")
        .repartition("user")
        .withColumn("ms", F.unix_millis("time"))
        .withColumn("second", F.unix_seconds("time"))
        .withColumn("in_an_hour", F.count("*").over(hour))
        .withColumn("gap_ms", F.col("ms") - F.lag("ms").over(before))
    )
    of_text = done.groupBy("user", "kind", "text_key").agg(
        F.expr("count(*) AS events"),
        F.expr("count_if(has_link) AS links"),
        F.expr("max(in_an_hour) AS in_an_hour"),
        *gap_sums(),
        F.expr("min(seen) AS first_seen"),
        F.expr("max(seen) AS last_seen"),
    )
    of_kind = of_text.groupBy("user", "kind").agg(
        *(F.expr(f"sum({name}) AS {name}") for name in ("events", "links", *GAPS)),
        F.expr("max(CASE WHEN text_key IS NOT NULL THEN events END) AS same_text"),
        F.expr("max(in_an_hour) AS in_an_hour"),
        F.expr("min(first_seen) AS first_seen"),
        F.expr("max(last_seen) AS last_seen"),
    )
    gaps, mean_s, variation = pace()
    paced = of_kind.withColumn("paced", gaps).withColumn("mean_s", mean_s).withColumn("variation", variation)
    figures = paced.groupBy("user").agg(
        *(
            F.expr(f"max(CASE WHEN kind = '{kind}' THEN {name} END) AS {alias}")
            for kind in ("post", "follow", "vote")
            for name, alias in (
                ("events", f"{kind}s"),
                ("in_an_hour", f"most_{kind}s_in_an_hour"),
                ("paced", f"{kind}_gaps"),
                ("mean_s", f"seconds_between_{kind}s"),
                ("variation", f"{kind}_pace_variation"),
            )
        ),
        F.expr("sum(links) AS links"),
        F.expr("max(same_text) AS same_text"),
        F.expr("min(first_seen) AS first_seen"),
        F.expr("max(last_seen) AS last_seen"),
    )
    return figures.withColumn("link_share", F.round(F.col("links") / F.when(F.col("posts") > 0, F.col("posts")), 3))


def ring_figures(votes: DataFrame, window_s: int, least_items: int) -> DataFrame:
    """Find users who vote together.

    Args:
        votes: The time (`first_seen`) of each user's first vote for each target, by hour.
        window_s: Maximum number of seconds between two votes that count as cast together.
        least_items: Minimum number of items for which two users must have voted together to be partners.

    Returns:
        A row for each user with partners: its hash (`voter`), `ring_members` (its partners and itself),
        `votes_with_ring` (items that it shares with its most frequent partner) and `voted_items`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # Only a user's first vote for an item counts, not a repeated, changed or withdrawn one.
    first_seen = votes.repartition("user").groupBy("user", F.col("target").alias("item")).agg(F.min("first_seen"))
    slot = F.floor(F.col("second") / window_s).alias("slot")
    cast = first_seen.select("user", "item", F.unix_seconds("min(first_seen)").alias("second")).select(
        "*", slot, F.count("*").over(Window.partitionBy("user")).alias("items")
    )
    in_slot = cast.withColumn("voters", F.count("*").over(Window.partitionBy("item", "slot")))
    # Most voters have voted for too few items to be anyone's partner.
    rare = in_slot.where((F.col("voters") <= _MOST_VOTERS_IN_A_WINDOW) & (F.col("items") >= least_items))
    # Each vote is joined with the votes of its own slot and of the next one, so each pair is found once. There are
    # many pairs, so they contain hashes instead of users.
    voter = F.struct(F.xxhash64("user").alias("voter"), "items")
    first = rare.select("item", "slot", voter.alias("a"), F.col("second").alias("a_second"))
    second = rare.select(
        "item",
        F.explode(F.array(F.col("slot"), F.col("slot") - 1)).alias("slot"),
        F.col("slot").alias("b_slot"),
        voter.alias("b"),
        F.col("second").alias("b_second"),
    )
    met = (
        first.join(second, ["item", "slot"])
        .where(f"abs(a_second - b_second) <= {window_s} AND if(b_slot = slot, a < b, a != b)")
        .groupBy(F.least("a", "b").alias("a"), F.greatest("a", "b").alias("b"))
        .agg(F.count("*").alias("together"))
    )
    # The shared items must be a large part of both users' items, because active voters meet many others.
    pairs = met.where(f"together >= {least_items} AND together >= {_TOGETHER_SHARE} * greatest(a.items, b.items)")
    return (
        pairs.select(F.inline(F.array("a", "b")), "together")
        .groupBy("voter")
        .agg(
            (F.count("*") + 1).alias("ring_members"),
            F.max("together").alias("votes_with_ring"),
            F.max("items").alias("voted_items"),
        )
    )


def find_spammers(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge users by the result of `user_figures`."""
    signs = (
        Sign(
            "same_text",
            5,
            f"same_text >= {int(parameters['spam_same_text'])} AND same_text >= 0.25 * posts",
            "concat('wrote the same text ', same_text, ' times in ', posts, ' posts, but for links, figures and case')",
        ),
        Sign(
            "many_posts",
            3,
            f"most_posts_in_an_hour >= {int(parameters['spam_posts_in_an_hour'])}",
            "concat('wrote ', most_posts_in_an_hour, ' posts within an hour')",
        ),
        Sign(
            "links",
            2,
            "posts >= 5 AND link_share >= 0.5",
            "concat(int(100 * link_share), ' % of its ', posts, ' posts have a link')",
        ),
        Sign(
            "many_follows",
            5,
            f"most_follows_in_an_hour >= {int(parameters['spam_follows_in_an_hour'])}",
            "concat('followed ', most_follows_in_an_hour, ' others within an hour')",
        ),
        *(
            Sign(
                f"steady_{kind}s",
                3,
                f"{kind}_gaps >= 15 AND {kind}_pace_variation <= 0.5",
                f"concat('one {kind} every ', seconds_between_{kind}s, ' s, give or take ', "
                f"int(100 * {kind}_pace_variation), ' %')",
            )
            for kind in ("post", "vote")
        ),
        Sign("all_votes", 2, "votes >= 50", "concat('voted ', votes, ' times')"),
        Sign(
            "many_votes",
            5,
            f"most_votes_in_an_hour >= {int(parameters['spam_votes_in_an_hour'])}",
            "concat('voted ', most_votes_in_an_hour, ' times within an hour')",
        ),
    )
    return judge(figures, Rule("'spammer'", signs, 5), "user", ("user",), int(parameters["lapse_hours"]))


def find_vote_rings(figures: DataFrame, rings: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge users by the results of `user_figures` and `ring_figures`."""
    from pyspark.sql import functions as F

    signs = (
        Sign(
            "votes_together",
            5,
            "ring_members >= 3",
            "concat('voted within minutes of ', ring_members - 1, ' others, again and again: with one of them for ', "
            "votes_with_ring, ' of its ', voted_items, ' items')",
        ),
    )
    in_rings = figures.withColumn("voter", F.xxhash64("user")).join(rings, "voter")
    return judge(in_rings, Rule("'vote_ring'", signs, 5), "user", ("user",), int(parameters["lapse_hours"]))
