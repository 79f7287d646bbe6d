"""The figures of one moment as plain values: collected on the event loop, encoded elsewhere.

Invariant: nothing in a snapshot changes any more: lists are copies.
"""

from collections.abc import Sequence
from typing import NamedTuple

Labels = tuple[str, ...]


class Distribution(NamedTuple):
    """A histogram at one moment; see `core/histogram.py`.

    Attributes:
        sample_count: Of how many values these are the buckets, those that were 0 included; 0 is in no bucket.
        value_count: How many values there were.
        total: Their sum, in the unit of the metric.
        scale: The divisor of the buckets' values for that unit.
    """

    buckets: Sequence[int]
    sample_count: int
    value_count: int
    total: float
    scale: float


NOTHING = Distribution((), 0, 0, 0.0, 1.0)


class Row(NamedTuple):
    """One value of a metric.

    Attributes:
        labels: Values in the order of the family's names; an empty one is left out.
        before: Of a distribution: what it was at the beginning of the time that quantiles are about.
    """

    labels: Labels
    value: float | Distribution
    before: Distribution = NOTHING


class Snapshot:
    """Rows by the name of their metric."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {}

    def put(self, name: str, value: float, *labels: str) -> None:
        """Add a value of a metric."""
        self.rows.setdefault(name, []).append(Row(labels, value))

    def put_distribution(self, name: str, value: Distribution, before: Distribution, *labels: str) -> None:
        """Add a distribution."""
        self.rows.setdefault(name, []).append(Row(labels, value, before))
