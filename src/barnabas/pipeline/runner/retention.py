"""Retention of a job's facts, by time window of event time.

Facts of old windows are deleted once aggregates contain them. The first window whose facts are kept is stored in the
commit that deletes, as the progress of the run `keep-facts/JOB`. Facts that arrive later for an earlier window are
late: they stay in the table and are counted, but change no result, because a window's rows need all its facts.

Invariant: deleted facts existed, by topic, partition and offset, before the aggregates were computed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import literal
from barnabas.pipeline.tables.table import Progress, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Earlier releases stored the first window under this name alone, for every job.
_KEEPER = "keep-facts"


class Retention:
    """The retained part of one table of facts.

    Attributes:
        late_count: Number of facts for windows before the first kept one.
    """

    def __init__(self, job: str, table: Table, window_s: int, keep_s: float | None) -> None:
        """Without `keep_s` nothing more is deleted; earlier deletions stay in effect."""
        self._table, self._window_s, self._keep_s = table, window_s, keep_s
        self._keeper = f"{_KEEPER}/{job}"
        self._own = table.progress(self._keeper)
        known = self._own or table.progress(_KEEPER)
        self.first_window = None if known is None else known.offsets["unit"][0]
        self.late_count = 0

    @property
    def first_time(self) -> datetime | None:
        """The time from which facts are kept; None: all are."""
        return None if self.first_window is None else datetime.fromtimestamp(self.first_window * self._window_s, UTC)

    def has(self, window: int) -> bool:
        """Return whether the facts of a window are kept."""
        return self.first_window is None or window >= self.first_window

    def kept(self, facts: DataFrame) -> DataFrame:
        """Drop late facts."""
        return facts if self.first_window is None else facts.where(f"NOT {self._is_before(self.first_window)}")

    def find_expired(self, facts: DataFrame, counts: dict[int, int], latest_s: float) -> tuple[int, str] | None:
        """Return the facts to delete once the aggregates are written: the end window, and SQL; None: no facts."""
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
        """Delete the facts that `find_expired` returned."""
        sequence = 1 + (self._own.sequence if self._own else 0)
        self._own = Progress(self._keeper, sequence, "", {"unit": {0: end}}, {})
        self._table.delete_rows({}, self._own, where)
        self.first_window = end

    def _is_before(self, window: int) -> str:
        # SQL that Spark and PostgreSQL both accept.
        return f"(time < '{datetime.fromtimestamp(window * self._window_s, UTC).isoformat(sep=' ')}')"
