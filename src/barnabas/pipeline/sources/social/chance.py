"""Random numbers that are the same on every machine.

Only `Random.random()` is used, whose numbers Python guarantees for an integer seed, and arithmetic that IEEE 754 gives
to the last bit (+, -, *, /). `math.exp`, `math.log` and `**` come from the machine's C library and differ between
machines in the last digit, and `sum` of floats between versions of Python: so none of them is used in this package, and
what is log-normal or exponential comes out of tables made here.

Source: Python's documentation of `random`, "Notes on Reproducibility".
"""

from bisect import bisect_right
from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from random import Random
from typing import TypeVar

T = TypeVar("T")

_CELLS = 1024
_DOUBLINGS = 30


def seeded(*names: object) -> Random:
    """Return a generator of its own to whoever has these names: what one draws moves nobody else's numbers."""
    digest = sha256("/".join(map(str, names)).encode()).digest()
    return Random(int.from_bytes(digest[:8], "big"))


def exponential_of(exponent: float) -> float:
    """Return e to the power of a number between about -50 and 50, to six digits or so: (1 + x/2^30)^(2^30)."""
    value = 1 + exponent / (1 << _DOUBLINGS)
    for _ in range(_DOUBLINGS):
        value *= value
    return value


def _normal_quantiles() -> list[float]:
    # The density summed up in steps from -3.5 to 3.5, then read the other way round.
    step = 1 / 256
    places = [index * step for index in range(-896, 897)]
    ends = list(accumulate(exponential_of(-place * place / 2) for place in places))
    wanted = [(cell / _CELLS) * ends[-1] for cell in range(_CELLS + 1)]
    return [places[min(bisect_right(ends, mark), len(places) - 1)] for mark in wanted]


def _waiting_quantiles() -> list[float]:
    # -ln(1 - u): the step from one cell to the next is the series of ln((1 + t) / (1 - t)).
    waits = [0.0]
    for cell in range(_CELLS - 1):
        ratio = (_CELLS - cell) / (_CELLS - cell - 1)
        small = (ratio - 1) / (ratio + 1)
        logarithm, power = 0.0, small
        for exponent in range(1, 81, 2):
            logarithm += power / exponent
            power *= small * small
        waits.append(waits[-1] + 2 * logarithm)
    return [*waits, waits[-1] + 1]


_NORMAL = _normal_quantiles()
_WAITING = _waiting_quantiles()


def waiting(random: Random) -> float:
    """Return a number with an exponential distribution of mean 1, 9 at the most: the wait for what comes by chance."""
    place = random.random() * _CELLS
    cell = int(place)
    low = _WAITING[cell]
    return low + (_WAITING[cell + 1] - low) * (place - cell)


def early(random: Random) -> float:
    """Return a number from 0 up to 1, sooner a small one: half of them are below a quarter."""
    number = random.random()
    return number * number


class LogNormal:
    """Numbers whose logarithm is normal: think times, sizes, latencies."""

    __slots__ = ("_table",)

    def __init__(self, median: float, sigma: float) -> None:
        """Make the table: one in six numbers is above `median` times e^sigma, one in six below their quotient."""
        self._table = [median * exponential_of(sigma * normal) for normal in _NORMAL]

    def draw(self, random: Random) -> float:
        """Return one number."""
        place = random.random() * _CELLS
        cell = int(place)
        low = self._table[cell]
        return low + (self._table[cell + 1] - low) * (place - cell)


class Weighted:
    """Places 0, 1, ... drawn by weight."""

    __slots__ = ("_ends", "_sum")

    def __init__(self, weights: Sequence[float]) -> None:
        self._ends = list(accumulate(weights))
        self._sum = self._ends[-1]

    def draw(self, random: Random) -> int:
        """Return one place."""
        return bisect_right(self._ends, random.random() * self._sum)


def zipf(count: int, offset: int = 0) -> Weighted:
    """Draw ranks 0 to `count` - 1 with weight 1 / (rank + 1 + offset).

    Zipf's law; with an offset that of Mandelbrot, whose first few are no more than the others' equals.
    """
    return Weighted([1 / (rank + offset) for rank in range(1, count + 1)])


def whole(random: Random, low: int, high: int) -> int:
    """Return one of the whole numbers from `low` to `high`, both included."""
    return low + int(random.random() * (high - low + 1))


def between(random: Random, low: float, high: float) -> float:
    """Return a number from `low` up to `high`."""
    return low + (high - low) * random.random()


def pick(random: Random, choices: Sequence[T]) -> T:
    """Return one of them."""
    return choices[int(random.random() * len(choices))]


def some(random: Random, choices: Sequence[T], count: int) -> list[T]:
    """Return `count` different ones (all of them where there are fewer), in an order of chance."""
    left = list(choices)
    for place in range(min(count, len(left))):
        other = place + int(random.random() * (len(left) - place))
        left[place], left[other] = left[other], left[place]
    return left[:count]


def shuffled(random: Random, choices: Sequence[T]) -> list[T]:
    """Return all of them in an order of chance."""
    return some(random, choices, len(choices))
