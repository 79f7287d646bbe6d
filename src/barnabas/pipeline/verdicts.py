"""Verdicts of the job security, for jobs that exclude their subjects, such as bots, from the activity of people.

Such a job reads the table `VERDICTS` and marks its facts with `marked`. Its parameter `leave_out` names the verdicts
that count (column `what`). The subject of a verdict is a visitor (address and agent), an agent, an address or a user.

Invariant: a mark depends on the fact and the table alone. So a verdict excludes all facts of its subject, earlier ones
too, and the facts count again once the verdict is no longer in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Frames, Parameter, Parameters, TableInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERDICTS = TableInput("verdicts", job="security")

# The columns of a fact that identify the subject of a verdict, by the kind of subject.
_SUBJECTS = {"visitor": ("address", "agent"), "agent": ("agent",), "address": ("address",), "user": ("user",)}

# The agent in a verdict on facts without an agent.
_NO_AGENT = "-"


def leave_out(default: str) -> Parameter:
    """Return the parameter `leave_out`."""
    return Parameter(
        "leave_out", default, "verdicts of the job security whose subjects are left out, separated by commas"
    )


def marked(facts: DataFrame, tables: Frames, parameters: Parameters) -> DataFrame:
    """Add to facts the column `mark`: the verdict that excludes the fact, or null.

    Args:
        facts: May have the columns address, agent and user.
        tables: The verdicts, if their table exists.
        parameters: Must have `leave_out`.
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
    """Describe the exclusion in one line, for a summary."""
    whats = _whats(parameters)
    if not whats:
        return "nobody is left out (leave_out is empty)"
    if VERDICTS.name not in tables:
        return "nobody is left out, as there is no table of verdicts: run the job security"
    return f"left out, by the job security: {', '.join(whats)}"


def _whats(parameters: Parameters) -> list[str]:
    return [each.strip() for each in str(parameters["leave_out"]).split(",") if each.strip()]
