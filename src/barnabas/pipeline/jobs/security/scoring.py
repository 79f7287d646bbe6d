"""Turn figures into verdicts: signs, points, sentences, evidence.

A rule is a list of signs. A sign is a claim about one subject's figures, in Spark SQL, with its points and a sentence.
A subject with the points that the rule requires gets a verdict. Its reason consists of the sentences of all signs that
counted. `judge` depends only on figures and parameters: not on a clock, state or other subjects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERDICTS = "verdicts"

# Columns for the subject of a verdict; columns that are not part of the subject are null.
WHO = ("address", "agent", "user")

# Later times have no form in ISO 8601, and none in Python.
_LATEST = "TIMESTAMP '9999-12-31 23:59:59Z'"

# The figures that a verdict may contain, and their types. Figures that a rule does not use are null in its verdicts.
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
    """The signs that give a subject the verdict `what` (Spark SQL) if their points sum to at least `least_points`."""

    what: str
    signs: Sequence[Sign]
    least_points: int


def judge(figures: DataFrame, rule: Rule, subject_kind: str, who: Sequence[str], lapse_hours: int) -> DataFrame:
    """Return a verdict for each subject with enough points.

    Args:
        figures: One row per subject: the columns `who`, first_seen, last_seen, and those that the signs use. Columns
            with names in `EVIDENCE` become the evidence.
        rule: The signs.
        subject_kind: Kind of the subject: "address", "visitor" (address and agent), "agent", "user", "token".
        who: The columns of the subject's name: some of `WHO`, or "token".
        lapse_hours: Hours from the subject's last event until the verdict expires.
    """
    held = [(f"CASE WHEN {sign.condition} THEN", sign) for sign in rule.signs]
    points = " + ".join(f"{case} {sign.points} ELSE 0 END" for case, sign in held)
    names = ", ".join(f"{case} '{sign.name}' END" for case, sign in held)
    sentences = ", ".join(f"{case} {sign.says} END" for case, sign in held)
    judged = (
        figures.selectExpr("*", f"{points} AS points")
        .where(f"points >= {rule.least_points}")
        .selectExpr("*", f"array_compact(array({names})) AS signs", f"concat_ws('; ', {sentences}) AS why")
    )
    # Twice the required points give the highest score.
    score = f"round(least(1.0D, points / {2.0 * rule.least_points}D), 2)"
    return shaped(judged, subject_kind, who, what=rule.what, score=score, lapse_hours=lapse_hours)


def shaped(
    judged: DataFrame,
    subject_kind: str,
    who: Sequence[str],
    *,
    what: str,
    score: str,
    lapse_hours: int,
    is_declared: bool = False,
) -> DataFrame:
    """Return rows of the table `verdicts`, from rows with `who`, why, first_seen, last_seen and some of `EVIDENCE`.

    `what` and `score` are Spark SQL.
    """
    there = set(judged.columns)
    # Missing figures are null, with their type, so that the rows of all rules fit one table. One text instead of forty
    # columns, because each call on a column is a round trip to the JVM.
    evidence = ", ".join(
        f"'{name}', CAST({name if name in there else 'NULL'} AS {type_name})" for name, type_name in EVIDENCE.items()
    )
    return judged.selectExpr(
        f"'{subject_kind}' AS subject_kind",
        f"concat_ws(' ', {', '.join(map(quoted, who))}) AS subject",
        *(f"{quoted(name) if name in who else 'CAST(NULL AS STRING)'} AS {quoted(name)}" for name in WHO),
        f"{what} AS what",
        f"{is_declared} AS is_declared",
        f"CAST({score} AS DOUBLE) AS score",
        "why",
        f"named_struct({evidence}) AS evidence",
        # `last_seen` is believed (`with_seen`), but `first_seen` may be the time that an event has.
        "least(first_seen, last_seen) AS first_seen",
        "last_seen",
        f"least(last_seen + INTERVAL {lapse_hours} HOURS, {_LATEST}) AS until",
    )


def strongest(verdicts: DataFrame) -> DataFrame:
    """Keep one verdict per subject: a declaration first, then by highest score, latest `last_seen`, and `what`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy("subject_kind", "subject").orderBy(
        F.col("is_declared").desc(), F.col("score").desc(), F.col("last_seen").desc(), "what"
    )
    return verdicts.withColumn("_rank", F.row_number().over(order)).where("_rank = 1").drop("_rank")
