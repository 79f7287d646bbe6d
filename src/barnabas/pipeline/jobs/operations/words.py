"""Numbers in words, for sentences that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def in_words(number: str) -> Column:
    """Return a number in a column with three decimals at the most, and none that are 0."""
    from pyspark.sql import functions as F

    return F.regexp_replace(F.format_string("%.3f", F.col(number)), r"\.?0+$", "")
