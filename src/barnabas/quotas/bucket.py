"""What is measured of those who share a limit.

Source: semantics, quotas; Kafka 2.7.2, ClientQuotaManager, ClientRequestQuotaManager, ControllerMutationQuotaManager.
"""

from math import inf
from typing import NamedTuple

from barnabas.core.windowed_rate import WindowedAverage, WindowedRate
from barnabas.quotas.levels import Resolution
from barnabas.quotas.limits import QuotaKind
from barnabas.quotas.token_bucket import TokenBucket

# Kafka averages throttle times over what `metrics.num.samples` and `metrics.sample.window.ms` are unless set.
_THROTTLE_SAMPLES = 2
_THROTTLE_WINDOW_MS = 30_000


class Windows(NamedTuple):
    """`quota.window.num` and `quota.window.size.seconds`."""

    sample_count: int
    window_ms: int

    @property
    def burst_s(self) -> float:
        """In how many seconds a token bucket is filled."""
        return self.sample_count * self.window_ms / 1_000


class Bucket:
    """What is measured of one kind, of all who have the same tags.

    Attributes:
        resolution: Whose it is, and the limit that is in force.
        last_used_ms: When something was counted last.
        throttle_count: How often somebody was told to wait.
        throttle_total_ms: How long, in all.
        held_count: How many connections are held at the moment.
    """

    __slots__ = (
        "_allowance",
        "_least_measured_s",
        "_most_ms",
        "_rate",
        "_throttle_times",
        "_tokens",
        "held_count",
        "kind",
        "last_used_ms",
        "resolution",
        "throttle_count",
        "throttle_total_ms",
    )

    def __init__(self, kind: QuotaKind, resolution: Resolution, windows: Windows, now_ms: int) -> None:
        self.kind = kind
        # A rate is taken over this time at the least, so up to so much it is not above the limit. (Nothing is where
        # tokens decide, everything where there is no limit.)
        self._least_measured_s = (windows.sample_count - 1) * windows.window_ms / 1_000
        self._allowance = inf
        self.resolution = resolution
        self.last_used_ms = now_ms
        self.throttle_count = self.throttle_total_ms = self.held_count = 0
        self._rate = WindowedRate(windows.window_ms, windows.sample_count)
        self._throttle_times: WindowedAverage | None = None
        # Who takes too much of the broker's time is held for a window at the most.
        self._most_ms = windows.window_ms if kind is QuotaKind.REQUEST else 0
        self._tokens = TokenBucket(windows.burst_s) if kind is QuotaKind.CONTROLLER_MUTATION else None
        self.set_limit(resolution)

    @property
    def limit(self) -> float | None:
        return self.resolution.limit

    def set_limit(self, resolution: Resolution) -> None:
        """Another limit is in force; what was measured stays."""
        if resolution.limit is None and self._tokens is not None:
            self._tokens.fill()
        self.resolution = resolution
        if self._tokens is not None:
            self._allowance = -inf
        else:
            self._allowance = inf if resolution.limit is None else resolution.limit * self._least_measured_s

    def record(self, now_ms: int, value: float) -> int:
        """Count what was asked for; for how many milliseconds whoever asked is to be held."""
        # hot path: benchmarks/load (every request of a client that has a quota)
        self.last_used_ms = now_ms
        rate = self._rate
        if now_ms < rate.due_ms:
            # As `rate.record`, without the call.
            rate.sums[rate.current] += value
            rate.total += value
        else:
            rate.record(now_ms, value)
        if rate.total <= self._allowance:
            return 0
        if self._tokens is not None:
            limit = self.resolution.limit
            if limit is None:
                return 0
            self._tokens.take(now_ms, limit, value)
            return self._tokens.wait_ms(now_ms, limit)
        return self.excess_ms(now_ms)

    def take_back(self, now_ms: int, value: float) -> None:
        """What was counted a moment ago did not happen."""
        self._rate.record(now_ms, -value)

    def excess_ms(self, now_ms: int) -> int:
        """For how long nothing may be asked for, as of now."""
        limit = self.resolution.limit
        if limit is None:
            return 0
        if self._tokens is not None:
            return self._tokens.wait_ms(now_ms, limit)
        excess_ms = self._rate.excess_ms(now_ms, limit)
        return min(excess_ms, self._most_ms) if self._most_ms else excess_ms

    def note_throttle(self, now_ms: int, throttle_ms: int) -> None:
        """Somebody was told to wait."""
        times = self._throttle_times
        if times is None:
            times = self._throttle_times = WindowedAverage(_THROTTLE_WINDOW_MS, _THROTTLE_SAMPLES)
        times.record(now_ms, throttle_ms)
        self.throttle_count += 1
        self.throttle_total_ms += throttle_ms

    # --- for looking at

    def rate_per_s(self, now_ms: int) -> float:
        """What was measured, in the kind's unit."""
        return self._rate.rate_per_s(now_ms)

    def measured_ms(self, now_ms: int) -> int:
        """The time that the rate is taken over."""
        return self._rate.measured_ms(now_ms)

    def throttle_average_ms(self, now_ms: int) -> float | None:
        """How long those were held who were held lately; None: nobody was."""
        return self._throttle_times.average(now_ms) if self._throttle_times is not None else None

    def tokens(self, now_ms: int) -> float | None:
        """What the token bucket holds; None where there is none, or no limit."""
        limit = self.resolution.limit
        return self._tokens.tokens(now_ms, limit) if self._tokens is not None and limit is not None else None
