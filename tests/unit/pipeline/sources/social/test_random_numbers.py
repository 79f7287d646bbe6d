"""Numbers of chance: distributed as they say, without the machine's own exp and log."""

import math
from collections import Counter
from random import Random
from statistics import fmean, median

import pytest

from barnabas.pipeline.sources.social.random_numbers import (
    WAITS,
    exponential_of,
    log_normal,
    pick,
    rank,
    seeded,
    some,
    whole,
    zipf,
)


@pytest.mark.parametrize("exponent", [-40, -6.125, -1, 0, 1e-9, 0.5, 3, 20])
def test_exponential_is_that_of_the_machine_to_six_digits(exponent: float):
    assert exponential_of(exponent) == pytest.approx(math.exp(exponent), rel=1e-5)


def test_log_normal_has_its_median_and_spread():
    quantiles = log_normal(30, 0.8)
    assert median(quantiles) == pytest.approx(30, rel=0.01)
    assert quantiles[int(0.841 * len(quantiles))] == pytest.approx(30 * math.exp(0.8), rel=0.02)
    assert quantiles[int(0.159 * len(quantiles))] == pytest.approx(30 / math.exp(0.8), rel=0.02)


def test_waits_are_exponential():
    assert fmean(WAITS) == pytest.approx(1, rel=0.01)
    assert median(WAITS) == pytest.approx(math.log(2), rel=0.01)


def test_zipf_has_its_slope():
    random, ends = Random(3), zipf(1_000)
    counts = Counter(rank(random, ends) for _ in range(100_000))
    for each in (0, 1, 3, 9, 30):
        assert counts[each] / counts[0] == pytest.approx(1 / (each + 1), rel=0.15)


def test_choices():
    random = Random(5)
    assert {whole(random, 2, 4) for _ in range(100)} == {2, 3, 4}
    assert {pick(random, "abc") for _ in range(100)} == set("abc")
    assert len(set(some(random, range(10), 4))) == 4
    assert sorted(some(random, range(3), 9)) == [0, 1, 2]
    assert sorted(some(random, range(50), 50)) == list(range(50)) != some(random, range(50), 50)


def test_everybody_draws_numbers_of_their_own():
    assert seeded(1, "a").random() == seeded(1, "a").random()
    assert len({seeded(*names).random() for names in ((1, "a"), (2, "a"), (1, "b"), (1, "a", 0))}) == 4
