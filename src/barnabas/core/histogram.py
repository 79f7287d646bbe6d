"""Histograms with logarithmic buckets: quantiles of frequent events at the cost of one addition each.

A histogram is a list of `BUCKET_COUNT` ints, so that the hot path makes no call. Each power of two is divided into
eight buckets. A bucket's width is at most an eighth of its values, so the error of a quantile is at most 6 %:

    value += SHIFT
    bits = value.bit_length()
    buckets[(bits << 3) + ((value >> (bits - 4)) & 7)] += 1

Invariant: counts only grow, so the events since a time are the difference of two copies.

Source: HdrHistogram's logarithmic buckets with linear parts.
"""

from collections.abc import Sequence

BUCKET_COUNT = 64 << 3
SHIFT = 8
"""Added to each value, so that at least three bits follow its highest bit."""


def new_buckets() -> list[int]:
    """Return an empty histogram, for values below 2^63."""
    return [0] * BUCKET_COUNT


def index_of(value: int) -> int:
    """Return the bucket of a value, 0 or more."""
    value += SHIFT
    bits = value.bit_length()
    return (bits << 3) + ((value >> (bits - 4)) & 7)


def middle_of(index: int) -> float:
    """Return the value that represents a bucket."""
    bits, part = index >> 3, index & 7
    return (8 + part + 0.5) * float(1 << (bits - 4)) - SHIFT


class Durations:
    """A histogram of durations.

    Attributes:
        buckets: A histogram of nanoseconds.
        sum_ns: The sum of all durations.
    """

    __slots__ = ("buckets", "sum_ns")

    def __init__(self) -> None:
        self.buckets = new_buckets()
        self.sum_ns = 0

    def note(self, elapsed_ns: int) -> None:
        """Record a duration."""
        self.buckets[index_of(elapsed_ns)] += 1
        self.sum_ns += elapsed_ns


def quantiles(buckets: Sequence[int], zero_count: int, shares: Sequence[float]) -> list[float]:
    """Return the values below which these shares of all values are; NaN without values.

    Args:
        zero_count: Number of values that were 0 and are not in the buckets.
        shares: From 0 to 1, ascending.
    """
    count = zero_count + sum(buckets)
    if not count:
        return [float("nan")] * len(shares)
    found: list[float] = []
    below, index = zero_count, -1
    for share in shares:
        while below < share * count:
            index += 1
            below += buckets[index]
        found.append(0.0 if index < 0 else middle_of(index))
    return found
