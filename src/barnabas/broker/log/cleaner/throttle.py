"""Limits the bytes that the cleaner reads and writes to log.cleaner.io.max.bytes.per.second.

Invariant: over each interval of at least 300 ms, the rate is at most the limit; the throttle waits at the interval's
end. The limit may change at any time, and a change applies at once, also to threads that wait.

Source: design page, log compaction; configuration page, log.cleaner.io.max.bytes.per.second.
"""

from collections.abc import Callable
from threading import Lock

from barnabas.core.clock import Clock

_INTERVAL_MS = 300


class Throttle:
    """The throttle shared by all cleaner threads: one thread that is too fast delays the others, too.

    Attributes:
        noted_bytes: All bytes read and written so far.
    """

    __slots__ = (
        "_allowed_bytes_per_s",
        "_clock",
        "_interval_bytes",
        "_interval_start_ms",
        "_lock",
        "_wait",
        "noted_bytes",
    )

    def __init__(self, allowed_bytes_per_s: Callable[[], float], clock: Clock, wait: Callable[[float], object]) -> None:
        """Args:
        allowed_bytes_per_s: Returns the current limit; called in the cleaner's threads.
        clock: The clock.
        wait: Waits for a number of seconds; returns True early if the cleaner stops.
        """
        self._allowed_bytes_per_s = allowed_bytes_per_s
        self._clock = clock
        self._wait = wait
        self._lock = Lock()
        self.noted_bytes = 0
        self._interval_bytes = 0
        self._interval_start_ms = clock.monotonic_ms()

    def note(self, byte_count: int) -> None:
        """Count bytes that were read or written; wait if they exceed the rate."""
        with self._lock:
            self.noted_bytes += byte_count
            self._interval_bytes += byte_count
            elapsed_ms: float = self._clock.monotonic_ms() - self._interval_start_ms
            if elapsed_ms < _INTERVAL_MS and self._interval_bytes < self._bytes_per_s() * _INTERVAL_MS / 1000:
                return
            while (early_ms := self._interval_bytes / self._bytes_per_s() * 1000 - elapsed_ms) > 0:
                step_ms = min(early_ms, _INTERVAL_MS)
                if self._wait(step_ms / 1000):
                    break
                elapsed_ms += step_ms
            self._interval_start_ms = self._clock.monotonic_ms()
            self._interval_bytes = 0

    def _bytes_per_s(self) -> float:
        return max(self._allowed_bytes_per_s(), 1.0)
