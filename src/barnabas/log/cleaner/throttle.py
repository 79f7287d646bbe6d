"""Keeps what the cleaner reads and writes below log.cleaner.io.max.bytes.per.second.

Invariant: measured over each interval of 300 ms or more, the rate is at most what is allowed, by waiting at its end.

Source: design page, log compaction; configuration page, log.cleaner.io.max.bytes.per.second.
"""

from collections.abc import Callable
from threading import Lock

from barnabas.core.clock import Clock

_INTERVAL_MS = 300


class Throttle:
    """One for all threads of the cleaner: who goes too fast holds up the others, too."""

    __slots__ = ("_bytes_per_s", "_clock", "_interval_bytes", "_interval_start_ms", "_lock", "_wait")

    def __init__(self, bytes_per_s: float, clock: Clock, wait: Callable[[float], object]) -> None:
        """Args:
        bytes_per_s: What is allowed.
        clock: Time.
        wait: Given seconds, comes back when they are over or nobody is interested any more.
        """
        self._bytes_per_s = max(bytes_per_s, 1.0)
        self._clock = clock
        self._wait = wait
        self._lock = Lock()
        self._interval_bytes = 0
        self._interval_start_ms = clock.monotonic_ms()

    def note(self, byte_count: int) -> None:
        """Note bytes that were read or written; waits where they were too many."""
        with self._lock:
            self._interval_bytes += byte_count
            elapsed_ms = self._clock.monotonic_ms() - self._interval_start_ms
            if elapsed_ms < _INTERVAL_MS and self._interval_bytes < self._bytes_per_s * _INTERVAL_MS / 1000:
                return
            early_ms = self._interval_bytes / self._bytes_per_s * 1000 - elapsed_ms
            if early_ms > 0:
                self._wait(early_ms / 1000)
            self._interval_start_ms = self._clock.monotonic_ms()
            self._interval_bytes = 0
