"""The metrics at one moment as plain values: collected on the event loop, encoded in another thread.

Invariant: a snapshot's contents never change: lists are copies.
"""

from collections.abc import Sequence
from typing import NamedTuple

Labels = tuple[str, ...]


class Distribution(NamedTuple):
    """A histogram at one moment; see `core/histogram.py`.

    Attributes:
        sample_count: Number of values that the buckets cover, including zeros, which are in no bucket.
        value_count: Number of all values.
        total: Sum of all values, in the unit of the metric.
        scale: Divisor that converts bucket values to that unit.
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
        labels: Values in the order of the family's label names; empty values are omitted.
        before: For a distribution, its state at the beginning of the period that quantiles cover.
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
