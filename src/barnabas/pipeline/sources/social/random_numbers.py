"""Draw random numbers that are the same on every machine.

The package uses only `Random.random()`, which Python guarantees for an integer seed, and the operations +, -, * and /,
which IEEE 754 defines to the last bit. `math.exp`, `math.log` and `**` differ between C libraries, and `sum` of floats
between Python versions. Numbers of other distributions are picked from tables of `CELLS` quantiles.

Source: Python's documentation of `random`, "Notes on Reproducibility".
"""

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256
from itertools import accumulate
from random import Random
from typing import TypeVar

T = TypeVar("T")

CELLS = 1024
_DOUBLINGS = 30


def seeded(*names: object) -> Random:
    """Return a generator that depends only on these names."""
    return Random(int.from_bytes(sha256("/".join(map(str, names)).encode()).digest()[:8], "big"))


def exponential_of(exponent: float) -> float:
    """Return e to the power of a number between about -50 and 50, to six digits: (1 + x/2^30)^(2^30)."""
    value = 1 + exponent / (1 << _DOUBLINGS)
    for _ in range(_DOUBLINGS):
        value *= value
    return value


def _normal_quantiles() -> list[float]:
    places = [index / 256 for index in range(-896, 897)]
    ends = list(accumulate(exponential_of(-place * place / 2) for place in places))
    return [places[bisect_right(ends, (cell + 0.5) / CELLS * ends[-1])] for cell in range(CELLS)]


_NORMAL = _normal_quantiles()

WAITS = tuple(float(-(1 - (cell + Decimal("0.5")) / CELLS).ln()) for cell in range(CELLS))
"""Quantiles of the exponential distribution with mean 1: the waiting times between independent events."""


def log_normal(median: float, sigma: float) -> tuple[float, ...]:
    """Return quantiles of a log-normal distribution: one sixth is above `median` times e^sigma."""
    return tuple(median * exponential_of(sigma * normal) for normal in _NORMAL)


def zipf(count: int, offset: int = 0) -> list[float]:
    """Return the cumulative weights of ranks from 0 by Zipf's law, with Mandelbrot's offset; draw with `rank`."""
    return list(accumulate(1 / (rank + offset) for rank in range(1, count + 1)))


def rank(random: Random, ends: list[float]) -> int:
    """Draw a rank by cumulative weights."""
    return bisect_right(ends, random.random() * ends[-1])


def whole(random: Random, low: int, high: int) -> int:
    """Draw an integer from `low` to `high`, both included."""
    return low + int(random.random() * (high - low + 1))


def between(random: Random, low: float, high: float) -> float:
    """Draw a number from `low` up to `high`."""
    return low + (high - low) * random.random()


def early(random: Random) -> float:
    """Draw a number from 0 up to 1; half of them are below a quarter."""
    number = random.random()
    return number * number


def pick(random: Random, choices: Sequence[T]) -> T:
    """Draw one of the choices."""
    return choices[int(random.random() * len(choices))]


def some(random: Random, choices: Sequence[T], count: int) -> list[T]:
    """Draw `count` different choices in random order; all of them if there are fewer."""
    left = list(choices)
    for place in range(min(count, len(left))):
        other = place + int(random.random() * (len(left) - place))
        left[place], left[other] = left[other], left[place]
    return left[:count]
