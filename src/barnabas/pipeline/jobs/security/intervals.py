"""At what pace somebody does one thing after another: exact sums over the times between, and what follows from them.

A timer's times between are alike: their standard deviation is a small part of their mean (the variation). People's are
not: theirs is the mean or more, with or without the pauses between two visits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

# A pause as long as this ends a visit: the usual measure.
_VISIT_PAUSE_MS = 30 * 60 * 1000

# The times between within a visit (`near`) and the longer ones: how many, their sum, and the sum of their squares.
GAPS = ("near_gaps", "near_gap_ms_sum", "near_gap_ms2_sum", "far_gaps", "far_gap_ms_sum", "far_gap_ms2_sum")


def gap_sums() -> list[Column]:
    """Return the sums over a column `gap_ms`, named as `GAPS` says; sums of them are sums again."""
    from pyspark.sql import functions as F

    near = F.when(F.col("gap_ms") <= _VISIT_PAUSE_MS, F.col("gap_ms"))
    far = F.when(F.col("gap_ms") > _VISIT_PAUSE_MS, F.col("gap_ms"))
    # Sums of whole numbers are exact in any order. Squares of months need a decimal, which is slow to add.
    squares = near * near, far.cast("decimal(15,0)") * far.cast("decimal(15,0)")
    parts = (F.count(near), F.sum(near), F.sum(squares[0]), F.count(far), F.sum(far), F.sum(squares[1]))
    return [F.coalesce(part, F.lit(0)).alias(name) for part, name in zip(parts, GAPS, strict=True)]


def pace() -> tuple[Column, Column, Column]:
    """Return, from the columns `GAPS`: how many times between were looked at, their mean in seconds, their variation.

    Looked at are those within visits, but of who comes rarely, as feed readers do, all.
    """
    from pyspark.sql import functions as F

    def of(name: str) -> Column:
        near, far = F.col(f"near_{name}"), F.col(f"far_{name}")
        return F.when(F.col("near_gaps") >= F.col("far_gaps"), near).otherwise(near + far).cast("double")

    count = of("gaps")
    some = F.when(count > 0, count)
    mean_ms = of("gap_ms_sum") / some
    deviation_ms = F.sqrt(F.greatest(of("gap_ms2_sum") / some - mean_ms * mean_ms, F.lit(0.0)))
    return count.cast("int"), F.round(mean_ms / 1000, 1), F.round(deviation_ms / F.when(mean_ms > 0, mean_ms), 2)
