"""The average rate of what comes in bursts.

A client that could be faster than its limit spends at once what the rate's eleven windows of a second allow, is held
until that second is forgotten, and begins anew: with Kafka as with Barnabas its rate has a period of eleven seconds and
a bit. Over any 30 s there are two of these bursts or three. So the average runs from the moment at which the client is
furthest ahead in one period to that in another, 30 s later or more: it is the slope of the line that touches the steps.
"""

from collections.abc import Sequence

WINDOWS_S = 11.0
"""`quota.window.num` times `quota.window.size.seconds`."""
FIRST_WINDOW_S = 12.0
"""When what a client had saved up before it came is spent and forgotten, and as long as a period at the most."""
MOST_S = 2 * FIRST_WINDOW_S
"""So much longer than the time that was asked for it takes to see a whole period at both ends."""
_ROUNDS = 4


def average_rate(moves: Sequence[tuple[float, float]], for_s: float) -> float:
    """Bytes a second, from the end of the first window on.

    Args:
        moves: When something was moved, in seconds since the first time, and how many bytes had been moved by then.
        for_s: So long at the least.
    """
    rate = (_moved_by(moves, FIRST_WINDOW_S + for_s) - _moved_by(moves, FIRST_WINDOW_S)) / for_s
    for _ in range(_ROUNDS):
        first = _furthest_ahead(moves, FIRST_WINDOW_S, rate)
        last = first and _furthest_ahead(moves, first[0] + for_s, rate)
        if first is None or last is None:
            return rate
        rate = (last[1] - first[1]) / (last[0] - first[0])
    return rate


def _furthest_ahead(moves: Sequence[tuple[float, float]], from_s: float, rate: float) -> tuple[float, float] | None:
    """Where in a period a client is furthest ahead of one that always has this rate."""
    within = [each for each in moves if from_s <= each[0] < from_s + FIRST_WINDOW_S]
    return max(within, key=lambda each: each[1] - rate * each[0], default=None)


def _moved_by(moves: Sequence[tuple[float, float]], at_s: float) -> float:
    return max((total for now_s, total in moves if now_s <= at_s), default=0.0)
