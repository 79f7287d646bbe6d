"""Verdicts of the job security on actors, for jobs that exclude them from the activity of people.

Such a job reads the table `VERDICTS`, has a parameter `leave_out`, which names the verdicts that count (its column
`what`), and marks its facts by `marked`. A fact is of an accused visitor (address and agent), agent, address or user.

Invariant: a mark depends on the fact and the table alone. So a verdict counts for all that its subject did, before and
after it was found, and what it left out counts again when it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Frames, Parameter, Parameters, TableInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERDICTS = TableInput("verdicts", job="security")

# Those of a fact's columns that make up the subject of a verdict, by its kind.
_SUBJECTS = {"visitor": ("address", "agent"), "agent": ("agent",), "address": ("address",), "user": ("user",)}

# What a verdict has where an agent is missing.
_NO_AGENT = "-"


def leave_out(default: str) -> Parameter:
    """Return the parameter."""
    return Parameter("leave_out", default, "who has such a verdict of the job security is left out, comma between")


def marked(facts: DataFrame, tables: Frames, parameters: Parameters) -> DataFrame:
    """Put beside each fact, as `mark`, the verdict that is to be left out; null where there is none.

    Args:
        facts: Columns address, agent and user, as far as there are any.
        tables: The verdicts, if there are any.
        parameters: With `leave_out`.
    """
    from pyspark.sql import functions as F

    whats, columns = _whats(parameters), facts.columns
    if VERDICTS.name not in tables or not whats:
        return facts.withColumn("mark", F.lit(None).cast("string"))
    verdicts = tables[VERDICTS.name].where(F.col("what").isin(whats))
    kinds = {row[0] for row in verdicts.select("subject_kind").distinct().collect()}
    marks = [F.lit(None).cast("string")]
    agent = F.coalesce(F.nullif("agent", F.lit("")), F.lit(_NO_AGENT))
    for kind, who in _SUBJECTS.items():
        if kind in kinds and set(who) <= set(columns):
            keys = {f"_{kind}_{name}": agent if name == "agent" else F.col(name) for name in who}
            mark = F.concat_ws(" ", "what", "subject")
            accused = verdicts.where(F.col("subject_kind") == kind).withColumns({**keys, f"_{kind}": mark})
            accused = accused.groupBy(*keys).agg(F.max(f"_{kind}").alias(f"_{kind}"))
            facts = facts.withColumns(keys).join(F.broadcast(accused), list(keys), "left")
            marks.append(F.col(f"_{kind}"))
    return facts.select(*columns, F.coalesce(*marks).alias("mark"))


def said(tables: Frames, parameters: Parameters) -> str:
    """Say who is left out, for a summary."""
    whats = _whats(parameters)
    if not whats:
        return "nobody is left out (leave_out is empty)"
    if VERDICTS.name not in tables:
        return "nobody is left out, as there is no table of verdicts: run the job security"
    return f"left out, by the job security: {', '.join(whats)}"


def _whats(parameters: Parameters) -> list[str]:
    return [each.strip() for each in str(parameters["leave_out"]).split(",") if each.strip()]
