"""Rates of recent events, counted in a few rotating time windows. Pure.

A window ends with the first event after its time. The number of windows equals the number of samples, and windows that
are too old are emptied. The rate is the sum of the windows divided by the time since the oldest began, but at least by
the time of all windows but one, so that an initial burst does not count as a high rate.

Source: semantics, quotas (rate); Kafka 2.7.2, org.apache.kafka.common.metrics.stats.Rate, SimpleRate, Avg, SampledStat.
"""

from math import ceil, floor

# The largest value of the response field: 24 days.
MOST_MS = 2**31 - 1


class Windows:
    """Sums in windows of time.

    Attributes:
        sums: The sum of each window.
        current: The current window.
        total: The sum of all windows at the last event or query.
        due_ms: Before this time no window ends or becomes too old: events are added to the current window and
            to the total, and nothing else happens.
    """

    __slots__ = ("_sample_count", "_starts_ms", "_window_ms", "current", "due_ms", "sums", "total")

    def __init__(self, window_ms: int, sample_count: int) -> None:
        self._window_ms = window_ms
        self._sample_count = sample_count
        self.sums: list[float] = []
        self._starts_ms: list[int] = []
        self.current = 0
        self.total: float = 0.0
        self.due_ms = 0

    def record(self, now_ms: int, value: float = 1.0) -> None:
        """Count an event.

        Args:
            now_ms: Time of a clock that never goes back.
            value: The amount to add; a negative one subtracts.
        """
        # hot path: benchmarks/load (every request of a client that has a quota)
        if now_ms >= self.due_ms:
            self._advance(now_ms)
        self.sums[self.current] += value
        self.total += value

    def _advance(self, now_ms: int) -> None:
        """Begin a new window if the last one's time has passed, and drop windows that are too old."""
        starts_ms = self._starts_ms
        if not starts_ms:
            self._begin(0, now_ms)
        elif now_ms - starts_ms[self.current] >= self._window_ms:
            self.current = (self.current + 1) % self._sample_count
            self._begin(self.current, now_ms)
        self.forget_old(now_ms)

    def forget_old(self, now_ms: int) -> None:
        """Empty the windows that are too old."""
        if now_ms < self.due_ms:
            return
        starts_ms = self._starts_ms
        lifetime_ms = self._sample_count * self._window_ms
        for index, start_ms in enumerate(starts_ms):
            if now_ms - start_ms >= lifetime_ms:
                self._begin(index, now_ms)
        # Summed again, because single additions and subtractions may leave a rounding error.
        self.total = sum(self.sums)
        if starts_ms:
            self.due_ms = min(starts_ms[self.current] + self._window_ms, min(starts_ms) + lifetime_ms)

    def _begin(self, index: int, now_ms: int) -> None:
        if index < len(self.sums):
            self.sums[index], self._starts_ms[index] = 0.0, now_ms
        else:
            self.sums.append(0.0)
            self._starts_ms.append(now_ms)


class WindowedRate(Windows):
    """A rate per second."""

    __slots__ = ()

    def rate_per_s(self, now_ms: int) -> float:
        """Return the rate; 0 if no event was ever counted."""
        measured_ms = self.measured_ms(now_ms)
        return self.total / (measured_ms / 1_000) if measured_ms else 0.0

    def measured_ms(self, now_ms: int) -> int:
        """Return the time over which the rate is taken; 0 if no event was ever counted."""
        starts_ms = self._starts_ms
        if not starts_ms:
            return 0
        self.forget_old(now_ms)
        elapsed_ms = now_ms - min(starts_ms)
        missing = self._sample_count - 1 - elapsed_ms // self._window_ms
        return elapsed_ms + missing * self._window_ms if missing > 0 else elapsed_ms

    def excess_ms(self, now_ms: int, limit_per_s: float) -> int:
        """Return the pause in ms after which the rate is back at its limit; 0: it does not exceed the limit.

        Args:
            limit_per_s: More than 0.
        """
        # hot path: benchmarks/load (every request of a client that has a quota)
        measured_ms = self.measured_ms(now_ms)
        if not measured_ms:
            return 0
        rate = self.total / (measured_ms / 1_000)
        if rate <= limit_per_s:
            return 0
        # As Kafka rounds: a half is rounded up.
        return floor(min((rate - limit_per_s) / limit_per_s * measured_ms, MOST_MS) + 0.5)


class SimpleRate(Windows):
    """A rate per second over the time since the oldest window began, but at least one window.

    So a burst is limited to one window's amount. Replication throttling uses this rate.
    """

    __slots__ = ()

    def rate_per_s(self, now_ms: int) -> float:
        """Return the rate; 0 if no recent event was counted."""
        self.forget_old(now_ms)
        return self.total / max(now_ms - self._oldest_ms(now_ms), self._window_ms) * 1_000

    def wait_ms(self, now_ms: int, limit_per_s: float) -> int:
        """Return the pause in ms after which the rate is back at its limit; 0: it does not exceed the limit.

        The pause ends at the latest when the oldest window is dropped; then call again.
        """
        # hot path: every throttled partition of a follower's fetch
        self.forget_old(now_ms)
        oldest_ms = self._oldest_ms(now_ms)
        elapsed_ms = now_ms - oldest_ms
        if self.total * 1_000 <= limit_per_s * max(elapsed_ms, self._window_ms):
            return 0
        left_ms = oldest_ms + self._sample_count * self._window_ms - now_ms
        return min(ceil(self.total * 1_000 / limit_per_s) - elapsed_ms, left_ms) if limit_per_s > 0 else left_ms

    def _oldest_ms(self, now_ms: int) -> int:
        return min(self._starts_ms, default=now_ms)


class WindowedAverage:
    """The average of recent events."""

    __slots__ = ("_counts", "_sums")

    def __init__(self, window_ms: int, sample_count: int) -> None:
        self._sums = Windows(window_ms, sample_count)
        self._counts = Windows(window_ms, sample_count)

    def record(self, now_ms: int, value: float) -> None:
        """Count an event."""
        self._sums.record(now_ms, value)
        self._counts.record(now_ms)

    def average(self, now_ms: int) -> float | None:
        """Return the average of the recent events; None without events."""
        self._sums.forget_old(now_ms)
        self._counts.forget_old(now_ms)
        return self._sums.total / self._counts.total if self._counts.total else None
