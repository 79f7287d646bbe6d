"""How fresh rows are: what passes from a record's timestamp until its rows are in the tables. Pure, but for the clock.

Waits are counted by steps, each a quarter longer than the one before, so a quantile is at most so much too long.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from math import log

# Counts of records by the seconds that they waited.
Waits = Mapping[float, int]

_STEP = 1.25
_LOG_STEP = log(_STEP)
_NO_TIME = -(1 << 32)
_LEAST_S = 0.05
_WINDOW_S = 60.0


def count_steps(timestamps_ms: Sequence[int], now_s: float) -> Counter[int | None]:
    """Count records by the step of their wait until now; None where a record has no time."""
    import numpy as np

    # hot path: benchmarks/pipeline (every record)
    waits_s = np.maximum(now_s - np.asarray(timestamps_ms, np.float64) / 1000, _LEAST_S)
    steps = np.where(np.asarray(timestamps_ms) >= 0, np.ceil(np.log(waits_s) / _LOG_STEP), _NO_TIME).astype(np.int64)
    found, counts = np.unique(steps, return_counts=True)
    return Counter(
        {None if step == _NO_TIME else step: count for step, count in zip(found.tolist(), counts.tolist(), strict=True)}
    )


def waits_of(steps: Mapping[int | None, int], passed_s: float) -> Counter[float]:
    """Return waits of so many records by step, `passed_s` after the steps were told."""
    return Counter({_STEP**step + passed_s: count for step, count in steps.items() if step is not None})


class Freshness:
    """The waits of those records whose rows came in the last minute; batches and refreshes are of several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: deque[tuple[float, Waits]] = deque()
        # Of batches whose rows are in the job's own tables, and not yet in what is derived from them.
        self._open: list[tuple[float, Waits]] = []

    def commit(self, waits: Waits, is_derived: bool) -> None:
        """Take in a batch that has been written now; where rows are derived from it, its records wait for those."""
        with self._lock:
            (self._open if is_derived else self._seen).append((self._clock(), waits))

    def begin_refresh(self) -> list[tuple[float, Waits]]:
        """Return what a refresh that begins now will have taken in."""
        with self._lock:
            opened, self._open = self._open, []
        return opened

    def end_refresh(self, opened: list[tuple[float, Waits]], is_done: bool = True) -> None:
        """Take in that rows have been derived, or that they have not: then they are of the next refresh."""
        now_s = self._clock()
        with self._lock:
            if not is_done:
                self._open = opened + self._open
                return
            for committed_s, waits in opened:
                longer = {wait_s + now_s - committed_s: count for wait_s, count in waits.items()}
                self._seen.append((now_s, longer))

    def quantiles(self, *shares: float) -> list[float | None]:
        """Return how long at most such shares of the records waited, in seconds; None where there were none."""
        waits: Counter[float] = Counter()
        with self._lock:
            while self._seen and self._seen[0][0] < self._clock() - _WINDOW_S:
                self._seen.popleft()
            for _, each in self._seen:
                waits.update(each)
        return [_quantile(waits, share) for share in shares]


def _quantile(waits: Waits, share: float) -> float | None:
    wanted = share * sum(waits.values())
    below = 0
    for wait_s, count in sorted(waits.items()):
        below += count
        if below >= wanted:
            return wait_s
    return None
