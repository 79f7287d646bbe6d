"""The pace of a subject's actions: exact sums over the intervals between actions, their mean and their variation.

The variation is the standard deviation divided by the mean. It is small for a timer's intervals, and 1 or more for
people's intervals, with or without the pauses between two visits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

# A pause longer than this ends a visit, by the usual definition.
_VISIT_PAUSE_MS = 30 * 60 * 1000

# Number, sum, and sum of squares of the intervals within a visit (`near`), and of the longer ones (`far`).
GAPS = ("near_gaps", "near_gap_ms_sum", "near_gap_ms2_sum", "far_gaps", "far_gap_ms_sum", "far_gap_ms2_sum")


def gap_sums() -> list[Column]:
    """Return the sums over a column `gap_ms`, with the names of `GAPS`; the sums of several groups can be added."""
    from pyspark.sql import functions as F

    near, far = (f"CASE WHEN gap_ms {how} {_VISIT_PAUSE_MS} THEN gap_ms END" for how in ("<=", ">"))
    # Sums of integers are exact in any order. Squares of months need a decimal, which is slow to add.
    decimal = f"CAST({far} AS DECIMAL(15, 0))"
    squares = f"({near}) * ({near})", f"{decimal} * {decimal}"
    parts = (
        f"count({near})",
        f"sum({near})",
        f"sum({squares[0]})",
        f"count({far})",
        f"sum({far})",
        f"sum({squares[1]})",
    )
    return [F.expr(f"coalesce({part}, 0) AS {name}") for part, name in zip(parts, GAPS, strict=True)]


def pace() -> tuple[Column, Column, Column]:
    """Return from the columns `GAPS` the number of intervals, their mean in seconds, and their variation.

    Only intervals within visits count, unless most are longer, as for feed readers: then all intervals count.
    """
    from pyspark.sql import functions as F

    def of(name: str) -> str:
        near, far = f"near_{name}", f"far_{name}"
        return f"CAST(CASE WHEN near_gaps >= far_gaps THEN {near} ELSE {near} + {far} END AS DOUBLE)"

    count = of("gaps")
    some = f"nullif({count}, 0)"
    mean_ms = f"({of('gap_ms_sum')} / {some})"
    deviation_ms = f"sqrt(greatest({of('gap_ms2_sum')} / {some} - {mean_ms} * {mean_ms}, 0D))"
    variation = f"round({deviation_ms} / CASE WHEN {mean_ms} > 0 THEN {mean_ms} END, 2)"
    return F.expr(f"CAST({count} AS INT)"), F.expr(f"round({mean_ms} / 1000, 1)"), F.expr(variation)
