"""What a job declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Job:
    """One job: its name, what it reads, and the function that does it.

    `transform` takes a DataFrame of events (`events.SCHEMA`) and the watermark in seconds, and gives the rows of the
    job's table, in append mode. `columns` are that table's columns, in order.
    """

    name: str
    reads: str
    writes: str
    window_s: int
    columns: tuple[str, ...]
    transform: Callable[[DataFrame, int], DataFrame]
