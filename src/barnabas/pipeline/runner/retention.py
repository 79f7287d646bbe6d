"""Retention of a job's facts, by time window of event time.

Facts of old windows are deleted once aggregates contain them. The first window whose facts are kept is stored in the
commit that deletes, as the progress of the run `keep-facts/JOB`. What comes for an earlier window after that is late:
it stays in the table, is counted, and changes no result, for a window's rows can't be made of a part of its facts.

Invariant: what is deleted was there, by topic, partition and offset, before the aggregates were computed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import literal
from barnabas.pipeline.tables.table import Progress, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Tables of earlier releases have the unit under this name alone, whatever the job.
_KEEPER = "keep-facts"


class Retention:
    """The retained part of one table of facts.

    Attributes:
        late_count: How many facts have come for windows that were deleted.
    """

    def __init__(self, job: str, table: Table, window_s: int, keep_s: float | None) -> None:
        """Nothing is deleted without `keep_s`; what was before stays so."""
        self._table, self._window_s, self._keep_s = table, window_s, keep_s
        self._keeper = f"{_KEEPER}/{job}"
        self._own = table.progress(self._keeper)
        known = self._own or table.progress(_KEEPER)
        self.first_window = None if known is None else known.offsets["unit"][0]
        self.late_count = 0

    @property
    def first_time(self) -> datetime | None:
        """The time from which on facts are kept; None: all are."""
        return None if self.first_window is None else datetime.fromtimestamp(self.first_window * self._window_s, UTC)

    def has(self, window: int) -> bool:
        """Return whether the facts of a window are kept."""
        return self.first_window is None or window >= self.first_window

    def kept(self, facts: DataFrame) -> DataFrame:
        """Leave out what came late."""
        return facts if self.first_window is None else facts.where(f"NOT {self._is_before(self.first_window)}")

    def find_expired(self, facts: DataFrame, counts: dict[int, int], latest_s: float) -> tuple[int, str] | None:
        """Find what is to be deleted when the aggregates are written: up to which window, and which facts, as SQL."""
        self.late_count = sum(count for window, count in counts.items() if not self.has(window))
        if self._keep_s is None:
            return None
        end = int((latest_s - self._keep_s) // self._window_s)
        if not any(window < end and self.has(window) for window in counts):
            return None
        old = self.kept(facts).where(self._is_before(end)).groupBy("_topic", "_partition")
        places = old.agg({"_offset": "max"}).collect()
        there = " OR ".join(
            f"_topic = {literal(t)} AND _partition = {n} AND _offset <= {last}" for t, n, last in places
        )
        return end, f"{self._is_before(end)} AND ({there})" + (
            "" if self.first_window is None else f" AND NOT {self._is_before(self.first_window)}"
        )

    def delete(self, end: int, where: str) -> None:
        """Delete what `find_expired` found."""
        sequence = 1 + (self._own.sequence if self._own else 0)
        self._own = Progress(self._keeper, sequence, "", {"unit": {0: end}}, {})
        self._table.delete_rows({}, self._own, where)
        self.first_window = end

    def _is_before(self, window: int) -> str:
        # In words that Spark and PostgreSQL understand.
        return f"(time < '{datetime.fromtimestamp(window * self._window_s, UTC).isoformat(sep=' ')}')"
