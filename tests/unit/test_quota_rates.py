"""The average rate of what comes in bursts (benchmarks/quotas), wherever in a period one looks."""

import random

import pytest

from benchmarks.quotas.rates import FIRST_WINDOW_S, MOST_S, average_rate

RUN_S = FIRST_WINDOW_S + 30 + MOST_S


@pytest.mark.parametrize("period_s", [11.0, 11.4])
@pytest.mark.parametrize("burst_s", [0.01, 0.5, 2.5, 6.0])
def test_bursts(period_s: float, burst_s: float) -> None:
    """Fifty megabytes at once in each period."""
    moves, total = [], 0.0
    for period in range(10):
        for step in range(100):
            total += 0.5
            moves.append((period * period_s + burst_s * step / 100, total))
    seen = [each for each in moves if each[0] < RUN_S]
    assert average_rate(seen, 30) == pytest.approx(50 / period_s, rel=0.01)


def test_what_is_steady() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    moves, now_s, total = [], 0.0, 0.0
    while now_s < RUN_S:
        now_s += dice.uniform(0, 0.02)
        total += 0.05
        moves.append((now_s, total))
    assert average_rate(moves, 30) == pytest.approx(5, rel=0.03)


def test_what_ended_too_soon_is_what_it_was_until_then() -> None:
    assert average_rate([(0.0, 50.0), (11.0, 100.0)], 30) == 0
    assert average_rate([(second, 5.0 * second) for second in range(44)], 30) == pytest.approx(5)
