"""How often something happened lately: a few windows of time that are counted in turn. Pure.

A window ends with the first event after its time; as many are kept as there are samples, and those that are too old to
count are emptied. The rate is what they hold, divided by the time since the oldest began, which counts as all windows
but one at the least: so a burst at the beginning is not taken for a high rate.

Source: semantics, quotas (rate); Kafka 2.7.2, org.apache.kafka.common.metrics.stats.Rate, SampledStat.
"""


class WindowedRate:
    """Counts events."""

    __slots__ = ("_counts", "_current", "_sample_count", "_starts_ms", "_window_ms")

    def __init__(self, window_ms: int, sample_count: int) -> None:
        self._window_ms = window_ms
        self._sample_count = sample_count
        self._counts: list[float] = []
        self._starts_ms: list[int] = []
        self._current = 0

    def record(self, now_ms: int, value: float = 1.0) -> None:
        """Count an event."""
        if not self._counts:
            self._begin(0, now_ms)
        elif now_ms - self._starts_ms[self._current] >= self._window_ms:
            self._current = (self._current + 1) % self._sample_count
            self._begin(self._current, now_ms)
        self._counts[self._current] += value

    def excess_ms(self, now_ms: int, limit_per_s: float) -> int:
        """How long nothing may happen for the rate to be at its limit again; 0: it is not above it."""
        self._drop_old(now_ms)
        elapsed_ms = self._elapsed_ms(now_ms)
        if elapsed_ms <= 0:
            return 0
        rate = sum(self._counts) * 1_000 / elapsed_ms
        return max(0, round((rate - limit_per_s) / limit_per_s * elapsed_ms))

    def _begin(self, index: int, now_ms: int) -> None:
        if index < len(self._counts):
            self._counts[index], self._starts_ms[index] = 0.0, now_ms
        else:
            self._counts.append(0.0)
            self._starts_ms.append(now_ms)

    def _drop_old(self, now_ms: int) -> None:
        for index, start_ms in enumerate(self._starts_ms):
            if now_ms - start_ms >= self._sample_count * self._window_ms:
                self._begin(index, now_ms)

    def _elapsed_ms(self, now_ms: int) -> int:
        if not self._starts_ms:
            return 0
        elapsed_ms = now_ms - min(self._starts_ms)
        missing = self._sample_count - 1 - elapsed_ms // self._window_ms
        return elapsed_ms + max(missing, 0) * self._window_ms
