"""Freshness of rows: the time from a record's timestamp until its rows are in the tables. Pure, except for the clock.

Waits are counted in steps, each a quarter longer than the previous one, so a quantile is at most a quarter too long.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from math import log

# Counts of records by their wait in seconds.
Waits = Mapping[float, int]

_STEP = 1.25
_LOG_STEP = log(_STEP)
_NO_TIME = -(1 << 32)
_LEAST_S = 0.05
_WINDOW_S = 60.0


def count_steps(timestamps_ms: Sequence[int], now_s: float) -> Counter[int | None]:
    """Count records by the step of their wait until now; None: the record has no timestamp."""
    import numpy as np

    # hot path: benchmarks/pipeline (every record)
    waits_s = np.maximum(now_s - np.asarray(timestamps_ms, np.float64) / 1000, _LEAST_S)
    steps = np.where(np.asarray(timestamps_ms) >= 0, np.ceil(np.log(waits_s) / _LOG_STEP), _NO_TIME).astype(np.int64)
    found, counts = np.unique(steps, return_counts=True)
    return Counter(
        {None if step == _NO_TIME else step: count for step, count in zip(found.tolist(), counts.tolist(), strict=True)}
    )


def waits_of(steps: Mapping[int | None, int], passed_s: float) -> Counter[float]:
    """Convert counts by step to counts by wait, `passed_s` after the steps were counted."""
    return Counter({_STEP**step + passed_s: count for step, count in steps.items() if step is not None})


class Freshness:
    """The waits of records whose rows were written in the last minute. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: deque[tuple[float, Waits]] = deque()
        # Batches that are committed, but not yet in the derived tables.
        self._open: list[tuple[float, Waits]] = []

    def commit(self, waits: Waits, is_derived: bool) -> None:
        """Record a batch that was committed now; with `is_derived`, its records also wait for the next refresh."""
        with self._lock:
            (self._open if is_derived else self._seen).append((self._clock(), waits))

    def begin_refresh(self) -> list[tuple[float, Waits]]:
        """Return the batches that a refresh starting now will include."""
        with self._lock:
            opened, self._open = self._open, []
        return opened

    def end_refresh(self, opened: list[tuple[float, Waits]], is_done: bool = True) -> None:
        """Record the end of a refresh; if it failed, its batches wait for the next refresh."""
        now_s = self._clock()
        with self._lock:
            if not is_done:
                self._open = opened + self._open
                return
            for committed_s, waits in opened:
                longer = {wait_s + now_s - committed_s: count for wait_s, count in waits.items()}
                self._seen.append((now_s, longer))

    def quantiles(self, *shares: float) -> list[float | None]:
        """Return quantiles of the waits in seconds; None if there were no records."""
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
