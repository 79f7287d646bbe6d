"""Retention of a job's facts, by unit of event time.

Facts of old units are deleted once digests hold what they told. The first unit whose facts are kept stands in the very
commit that deletes, as the progress of the run `keep-facts/JOB`. What comes for an earlier unit after that is late: it
stays in the table, is counted, and changes no result, for a unit's rows can't be made of a part of its facts.

Invariant: what is deleted was there, by topic, partition and offset, before the digests were computed.
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
        late_count: How many facts have come for units that are gone.
    """

    def __init__(self, job: str, table: Table, unit_s: int, keep_s: float | None) -> None:
        """Nothing is deleted without `keep_s`; what was before stays so."""
        self._table, self._unit_s, self._keep_s = table, unit_s, keep_s
        self._keeper = f"{_KEEPER}/{job}"
        self._own = table.progress(self._keeper)
        known = self._own or table.progress(_KEEPER)
        self.first_unit = None if known is None else known.offsets["unit"][0]
        self.late_count = 0

    @property
    def first_time(self) -> datetime | None:
        """The time from which on facts are kept; None: all are."""
        return None if self.first_unit is None else datetime.fromtimestamp(self.first_unit * self._unit_s, UTC)

    def has(self, unit: int) -> bool:
        """Return whether the facts of a unit are kept."""
        return self.first_unit is None or unit >= self.first_unit

    def kept(self, facts: DataFrame) -> DataFrame:
        """Leave out what came late."""
        return facts if self.first_unit is None else facts.where(f"NOT {self._is_before(self.first_unit)}")

    def old_places(self, facts: DataFrame, counts: dict[int, int], latest_s: float) -> tuple[int, str] | None:
        """Find what is to be deleted when the digests are written: up to which unit, and which facts, as SQL."""
        self.late_count = sum(count for unit, count in counts.items() if not self.has(unit))
        if self._keep_s is None:
            return None
        end = int((latest_s - self._keep_s) // self._unit_s)
        if not any(unit < end and self.has(unit) for unit in counts):
            return None
        old = self.kept(facts).where(self._is_before(end)).groupBy("_topic", "_partition")
        places = old.agg({"_offset": "max"}).collect()
        there = " OR ".join(
            f"_topic = {literal(t)} AND _partition = {n} AND _offset <= {last}" for t, n, last in places
        )
        return end, f"{self._is_before(end)} AND ({there})" + (
            "" if self.first_unit is None else f" AND NOT {self._is_before(self.first_unit)}"
        )

    def delete(self, end: int, where: str) -> None:
        """Delete what `old_places` found."""
        sequence = 1 + (self._own.sequence if self._own else 0)
        self._own = Progress(self._keeper, sequence, "", {"unit": {0: end}}, {})
        self._table.cut({}, self._own, where)
        self.first_unit = end

    def _is_before(self, unit: int) -> str:
        # In words that Spark and PostgreSQL understand.
        return f"(time < '{datetime.fromtimestamp(unit * self._unit_s, UTC).isoformat(sep=' ')}')"
