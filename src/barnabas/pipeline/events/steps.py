"""How records are parsed: in steps, each a projection whose columns are made of those of the steps before.

Invariant: what is costly is a column of its own, and what is made of it stands in a later step. So a record is parsed
once, and the plan shows it. Within one expression Spark computes what is costly anew for each use that stands in a
branch (CASE, the fields of a struct). It merges no step into the next that uses a costly column twice or more.

Source: Spark 4.0's `EquivalentExpressions`, `CollapseProject`, `PushPredicateThroughNonJoin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Steps = list[dict[str, "Column"]]


def reason_of(name: str) -> str:
    """Name the column with the reason why a record is no such event."""
    return f"_{name}_reason"


def in_steps(records: DataFrame, steps: Steps) -> DataFrame:
    """Add the columns of each step."""
    for step in steps:
        records = records.withColumns(step)
    return records


def is_here() -> Column:
    """Always true; but as it counts as not deterministic, no filter on what is made of it is moved below the parsing.

    There records would be parsed once more for the filter.
    """
    from pyspark.sql import functions as F

    return F.spark_partition_id() >= 0
