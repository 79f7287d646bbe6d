"""Numbers in words, for sentences that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def in_words(number: str, *, is_grouped: bool = False) -> Column:
    """Return a number in a column with three decimals at the most, and none that are 0; grouped: 1,048,576."""
    from pyspark.sql import functions as F

    form = "%,.3f" if is_grouped else "%.3f"
    return F.regexp_replace(F.format_string(form, F.col(number)), r"\.?0+$", "")
