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

# All times between, and those within a visit (`near`): how many, their sum, and the sum of their squares.
GAPS = ("gaps", "gap_ms_sum", "gap_ms2_sum", "near_gaps", "near_gap_ms_sum", "near_gap_ms2_sum")


def gap_sums() -> list[Column]:
    """Return the sums over a column `gap_ms`, named as `GAPS` says; sums of them are sums again."""
    from pyspark.sql import functions as F

    # Decimals: sums of whole numbers are exact in whatever order they are added, and squares of months fit.
    gap = F.col("gap_ms").cast("decimal(15,0)")
    near = F.when(F.col("gap_ms") <= _VISIT_PAUSE_MS, gap)
    sums = (F.count(gap), F.sum(gap), F.sum(gap * gap), F.count(near), F.sum(near), F.sum(near * near))
    return [total.alias(name) for total, name in zip(sums, GAPS, strict=True)]


def pace() -> tuple[Column, Column, Column]:
    """Return, from the columns `GAPS`: how many times between were looked at, their mean in seconds, their variation.

    Looked at are those within visits, but of who comes rarely, as feed readers do, all.
    """
    from pyspark.sql import functions as F

    is_near = F.col("near_gaps") * 2 >= F.col("gaps")

    def of(name: str) -> Column:
        return F.when(is_near, F.col(f"near_{name}")).otherwise(F.col(name)).cast("double")

    count = of("gaps")
    some = F.when(count > 0, count)
    mean_ms = of("gap_ms_sum") / some
    deviation_ms = F.sqrt(F.greatest(of("gap_ms2_sum") / some - mean_ms * mean_ms, F.lit(0.0)))
    return count.cast("int"), F.round(mean_ms / 1000, 1), F.round(deviation_ms / F.when(mean_ms > 0, mean_ms), 2)
