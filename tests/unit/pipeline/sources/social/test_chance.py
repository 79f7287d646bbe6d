"""Numbers of chance: distributed as they say, without the machine's own exp and log."""

import math
from collections import Counter
from random import Random
from statistics import fmean, median

import pytest

from barnabas.pipeline.sources.social.chance import (
    LogNormal,
    Weighted,
    exponential_of,
    pick,
    seeded,
    shuffled,
    some,
    waiting,
    whole,
    zipf,
)


@pytest.mark.parametrize("exponent", [-40, -6.125, -1, 0, 1e-9, 0.5, 3, 20])
def test_exponential_is_that_of_the_machine_to_six_digits(exponent: float):
    assert exponential_of(exponent) == pytest.approx(math.exp(exponent), rel=1e-5)


def test_log_normal_has_its_median_and_spread():
    distribution, random = LogNormal(30, 0.8), Random(1)
    drawn = sorted(distribution.draw(random) for _ in range(20_000))
    assert median(drawn) == pytest.approx(30, rel=0.03)
    assert drawn[int(0.841 * len(drawn))] == pytest.approx(30 * math.exp(0.8), rel=0.05)
    assert drawn[int(0.159 * len(drawn))] == pytest.approx(30 / math.exp(0.8), rel=0.05)


def test_waiting_is_exponential():
    random = Random(2)
    drawn = [waiting(random) for _ in range(20_000)]
    assert fmean(drawn) == pytest.approx(1, rel=0.03)
    assert median(drawn) == pytest.approx(math.log(2), rel=0.04)
    assert 0 <= min(drawn) < max(drawn) < 9


def test_zipf_has_its_slope():
    random, ranks = Random(3), zipf(1_000)
    counts = Counter(ranks.draw(random) for _ in range(100_000))
    for rank in (0, 1, 3, 9, 30):
        assert counts[rank] / counts[0] == pytest.approx(1 / (rank + 1), rel=0.15)


def test_weights_of_nothing_are_never_drawn():
    random, weighted = Random(4), Weighted([0, 3, 0, 1, 0])
    counts = Counter(weighted.draw(random) for _ in range(4_000))
    assert set(counts) == {1, 3}
    assert counts[1] / counts[3] == pytest.approx(3, rel=0.15)


def test_choices():
    random = Random(5)
    assert {whole(random, 2, 4) for _ in range(100)} == {2, 3, 4}
    assert {pick(random, "abc") for _ in range(100)} == set("abc")
    assert len(set(some(random, range(10), 4))) == 4
    assert sorted(some(random, range(3), 9)) == [0, 1, 2]
    assert sorted(shuffled(random, range(50))) == list(range(50)) != shuffled(random, range(50))


def test_everybody_draws_numbers_of_their_own():
    assert seeded(1, "a").random() == seeded(1, "a").random()
    assert len({seeded(*names).random() for names in ((1, "a"), (2, "a"), (1, "b"), (1, "a", 0))}) == 4
