"""The average rate of traffic in bursts.

A client that is faster than its limit immediately uses the budget of the rate's eleven windows of one second. It is
then throttled until that burst leaves the windows, and starts again. So with Kafka and with Barnabas, its rate has a
period of slightly more than eleven seconds, and any 30 s contain two or three bursts. Therefore the average is taken
between the peaks of two periods at least 30 s apart: it is the slope of the line that touches the steps from above.
"""

from collections.abc import Sequence

WINDOWS_S = 11.0
"""`quota.window.num` times `quota.window.size.seconds`."""
FIRST_WINDOW_S = 12.0
"""The time after which a client's initial budget is used up and forgotten; also the maximum length of a period."""
MOST_S = 2 * FIRST_WINDOW_S
"""The additional time that is needed to see a whole period at both ends of the measured time."""
_ROUNDS = 4


def average_rate(moves: Sequence[tuple[float, float]], for_s: float) -> float:
    """Return the bytes per second from the end of the first window on.

    Args:
        moves: Time in seconds since the first entry, and total bytes by then.
        for_s: Minimum time to average over.
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
    """Return the peak of a period: where a client is furthest ahead of one with this constant rate."""
    within = [each for each in moves if from_s <= each[0] < from_s + FIRST_WINDOW_S]
    return max(within, key=lambda each: each[1] - rate * each[0], default=None)


def _moved_by(moves: Sequence[tuple[float, float]], at_s: float) -> float:
    return max((total for now_s, total in moves if now_s <= at_s), default=0.0)
