"""Quantiles from counts in buckets of a logarithmic scale."""

import math
from random import Random

import pytest

from barnabas.core.histogram import BUCKET_COUNT, index_of, middle_of, new_buckets, quantiles


def counted(values):
    buckets = new_buckets()
    for value in values:
        buckets[index_of(value)] += 1
    return buckets


def test_a_value_is_taken_for_one_that_is_wrong_by_a_sixteenth_at_the_most():
    dice = Random(1)
    values = [
        0,
        1,
        7,
        8,
        9,
        15,
        16,
        17,
        2**62,
        2**63 - 9,
        *(dice.randrange(0, 1 << dice.randrange(1, 63)) for _ in range(2000)),
    ]
    for value in values:
        assert abs(middle_of(index_of(value)) - value) <= value / 16 + 1, value


def test_greater_values_are_never_counted_before_smaller_ones():
    dice = Random(2)
    values = sorted(dice.randrange(0, 1 << dice.randrange(1, 63)) for _ in range(2000))
    indexes = [index_of(value) for value in values]
    assert indexes == sorted(indexes)
    assert index_of(2**63 - 9) < BUCKET_COUNT


def test_quantiles_are_those_of_the_sorted_values():
    dice = Random(3)
    values = sorted(int(dice.lognormvariate(12, 2)) + 8 for _ in range(5000))
    shares = [0.5, 0.75, 0.95, 0.99, 0.999]
    for share, found in zip(shares, quantiles(counted(values), 0, shares), strict=True):
        exact = values[math.ceil(share * len(values)) - 1]
        assert abs(found - exact) <= exact / 16 + 2


@pytest.mark.parametrize(("zero_count", "expected"), [(0, 96), (1, 0), (3, 0)])
def test_what_took_no_time_counts_as_well(zero_count, expected):
    (median,) = quantiles(counted([96]), zero_count, [0.5])
    assert abs(median - expected) <= 7


def test_without_values_there_are_no_quantiles():
    assert all(map(math.isnan, quantiles(new_buckets(), 0, [0.5, 0.99])))
