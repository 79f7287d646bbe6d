"""Spammers and vote rings: accounts that write, follow and vote as people don't.

A ring is a group of accounts that vote for the same items within minutes of each other, again and again. Two honest
people meet so at a popular item now and then; what counts is how often the same two meet, beside how much they vote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security.intervals import GAPS, gap_sums, pace
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A vote by more people than this within one window is left out of the search for pairs: it is a popular item's, and
# the pairs grow with the square. A ring votes for many items, and is found by the others.
_MOST_VOTERS_IN_A_WINDOW = 300

_TOGETHER_SHARE = 0.35


def user_figures(facts: DataFrame) -> DataFrame:
    """Count what each user did.

    Args:
        facts: Facts, each once; those of posts, follows and votes count.

    Returns:
        A row for each user. `same_text` counts the posts of the text that it wrote most often, `most_..._in_an_hour`
        are over any 60 minutes.
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
        F.expr("min(time) AS first_seen"),
        F.expr("max(time) AS last_seen"),
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
    """Find who votes together.

    Args:
        votes: The time (`first_seen`) of each user's first vote for each target, by hour.
        window_s: Votes so far apart, at most, were cast together.
        least_items: Two who voted so for fewer items than this have not met.

    Returns:
        A row for each user with partners: its hash (`voter`), how many, and on how many items it met the one that it
        met most.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # A vote is for the item; one that is cast again, or taken back, is not another.
    first_seen = votes.repartition("user").groupBy("user", F.col("target").alias("item")).agg(F.min("first_seen"))
    slot = F.floor(F.col("second") / window_s).alias("slot")
    cast = first_seen.select("user", "item", F.unix_seconds("min(first_seen)").alias("second")).select(
        "*", slot, F.count("*").over(Window.partitionBy("user")).alias("items")
    )
    in_slot = cast.withColumn("voters", F.count("*").over(Window.partitionBy("item", "slot")))
    # Most voters have too few items to meet anybody so often.
    rare = in_slot.where((F.col("voters") <= _MOST_VOTERS_IN_A_WINDOW) & (F.col("items") >= least_items))
    # Each meets those of its own slot and of the next one; so a pair is found once, whichever of them is first. There
    # are many pairs: a user is a hash in them.
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
    # Of both their votes it must be a good part: who votes a lot meets many.
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
    """Judge users by what `user_figures` gives."""
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
    """Judge users by what `user_figures` and `ring_figures` give."""
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
