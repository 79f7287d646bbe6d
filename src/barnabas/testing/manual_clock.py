"""A clock and timers that a test advances."""

import heapq
import itertools
from collections.abc import Callable


class ManualTimer:
    """A callback that waits for the manual clock."""

    __slots__ = ("args", "callback", "is_cancelled")

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.callback = callback
        self.args = args
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualClock:
    """Time that stands still until `advance`; due timers run in order, each at its own time."""

    def __init__(self, now_ms: int = 1_600_000_000_000) -> None:
        self._now_ms = now_ms
        self._start_ms = now_ms
        self._due: list[tuple[float, int, ManualTimer]] = []
        self._sequence = itertools.count()

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._now_ms - self._start_ms

    def monotonic_ns(self) -> int:
        return (self._now_ms - self._start_ms) * 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[..., object], *args: object) -> ManualTimer:
        timer = ManualTimer(callback, args)
        heapq.heappush(self._due, (self._now_ms + max(delay_ms, 0), next(self._sequence), timer))
        return timer

    def advance(self, by_ms: int) -> None:
        """Advance time by `by_ms` and run every timer that becomes due meanwhile."""
        end_ms = self._now_ms + by_ms
        while self._due and self._due[0][0] <= end_ms:
            due_ms, _, timer = heapq.heappop(self._due)
            if timer.is_cancelled:
                continue
            self._now_ms = max(self._now_ms, int(due_ms))
            timer.callback(*timer.args)
        self._now_ms = end_ms

    @property
    def timer_count(self) -> int:
        """Return the number of waiting callbacks."""
        return sum(1 for _, _, timer in self._due if not timer.is_cancelled)
