"""From figures to verdicts: signs, points, sentences, evidence.

A rule is a list of signs. A sign is a claim about one subject's figures, in Spark SQL, with the points that it is worth
and the sentence that says it. A subject with as many points as the rule asks for gets a verdict, and the sentences of
the signs that hold are its reason: what is not said there did not count. `judge` is a function of figures and
parameters alone: no clock, no state, no other subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VERDICTS = "verdicts"

# Who a verdict is about; a verdict has those of them that it is about, the others are null.
WHO = ("address", "agent", "user")

# The figures that a verdict may show, and their types. One that a rule does not look at is null in its verdicts.
EVIDENCE = {
    "points": "INT",
    "signs": "ARRAY<STRING>",
    "requests": "BIGINT",
    "addresses": "BIGINT",
    "pages": "BIGINT",
    "distinct_pages": "BIGINT",
    "asset_share": "DOUBLE",
    "no_referrer_share": "DOUBLE",
    "error_share": "DOUBLE",
    "head_share": "DOUBLE",
    "top_page_share": "DOUBLE",
    "robots_txt_requests": "BIGINT",
    "seconds_between_pages": "DOUBLE",
    "pace_variation": "DOUBLE",
    "hours_of_day": "INT",
    "longest_pause_hours": "DOUBLE",
    "actions": "BIGINT",
    "attempts": "BIGINT",
    "failures": "BIGINT",
    "names_tried": "BIGINT",
    "names_let_in": "BIGINT",
    "names_never_let_in": "BIGINT",
    "campaign_addresses": "BIGINT",
    "campaign_names": "BIGINT",
    "posts": "BIGINT",
    "same_text": "BIGINT",
    "link_share": "DOUBLE",
    "most_posts_in_an_hour": "BIGINT",
    "follows": "BIGINT",
    "most_follows_in_an_hour": "BIGINT",
    "votes": "BIGINT",
    "most_votes_in_an_hour": "BIGINT",
    "seconds_between_posts": "DOUBLE",
    "post_pace_variation": "DOUBLE",
    "seconds_between_votes": "DOUBLE",
    "vote_pace_variation": "DOUBLE",
    "ring_members": "BIGINT",
    "votes_with_ring": "BIGINT",
    "requests_in_a_minute": "BIGINT",
    "minutes_too_fast": "BIGINT",
}


@dataclass(frozen=True, slots=True)
class Sign:
    """One claim. `condition` and `says` are Spark SQL over the figures: a condition, and a text."""

    name: str
    points: int
    condition: str
    says: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The signs that make a subject a `what` (Spark SQL) where they are worth `least_points` in all."""

    what: str
    signs: Sequence[Sign]
    least_points: int


def judge(figures: DataFrame, rule: Rule, subject_kind: str, who: Sequence[str], lapse_hours: int) -> DataFrame:
    """Return a verdict for each subject with points enough.

    Args:
        figures: One row a subject: columns `who`, first_seen, last_seen, and those that the signs name. The ones that
            `EVIDENCE` names become the evidence.
        rule: The signs.
        subject_kind: What `who` makes up: "address", "visitor" (address and agent), "agent", "user", "token".
        who: Those of `WHO` that make up the subject, or a token.
        lapse_hours: How long after it was seen last a verdict holds.
    """
    from pyspark.sql import functions as F

    def each(of: str) -> list[Column]:
        return [F.when(F.expr(sign.condition), F.expr(getattr(sign, of))) for sign in rule.signs]

    points = reduce(
        lambda total, sign: total + F.when(F.expr(sign.condition), sign.points).otherwise(0), rule.signs, F.lit(0)
    )
    names = [F.when(F.expr(sign.condition), F.lit(sign.name)) for sign in rule.signs]
    judged = (
        figures.withColumn("points", points)
        .where(F.col("points") >= rule.least_points)
        .withColumn("signs", F.array_compact(F.array(*names)))
        .withColumn("why", F.concat_ws("; ", *each("says")))
    )
    return shaped(
        judged,
        subject_kind,
        who,
        what=F.expr(rule.what),
        is_declared=F.lit(False),
        # Twice the points that are needed is as sure as it gets.
        score=F.round(F.least(F.lit(1.0), F.col("points") / (2.0 * rule.least_points)), 2),
        lapse_hours=lapse_hours,
    )


def shaped(
    judged: DataFrame,
    subject_kind: str,
    who: Sequence[str],
    *,
    what: Column,
    is_declared: Column,
    score: Column,
    lapse_hours: int,
) -> DataFrame:
    """Return rows of the table `verdicts`, from ones with `who`, why, first_seen, last_seen and some of `EVIDENCE`."""
    from pyspark.sql import functions as F

    # What is missing is null: its type is told, so that all rules' rows go into one table.
    evidence = F.struct(
        *(
            (F.col(name) if name in judged.columns else F.lit(None)).cast(type_name).alias(name)
            for name, type_name in EVIDENCE.items()
        )
    )
    return judged.select(
        F.lit(subject_kind).alias("subject_kind"),
        F.concat_ws(" ", *who).alias("subject"),
        *((F.col(name) if name in who else F.lit(None).cast("string")).alias(name) for name in WHO),
        what.alias("what"),
        is_declared.alias("is_declared"),
        score.cast("double").alias("score"),
        "why",
        evidence.alias("evidence"),
        "first_seen",
        "last_seen",
        (F.col("last_seen") + F.expr(f"INTERVAL {lapse_hours} HOURS")).alias("until"),
    )


def strongest(verdicts: DataFrame) -> DataFrame:
    """Keep one verdict per subject: a declaration before all, else the surest; of these the latest, then by name."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy("subject_kind", "subject").orderBy(
        F.col("is_declared").desc(), F.col("score").desc(), F.col("last_seen").desc(), "what"
    )
    return verdicts.withColumn("_rank", F.row_number().over(order)).where("_rank = 1").drop("_rank")
