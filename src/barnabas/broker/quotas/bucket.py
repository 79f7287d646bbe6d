"""Measures the use of a quota by all clients that share its limit.

Windows forget within seconds, but a throttle time may last minutes. So a bucket also records until when admitted
requests use up its limit (`used_up_until_ms`). Clients that reconnect, or use several connections, must wait until
then. For a client that observes its throttle times on a single connection, that time is always over: it gets Kafka's
throttle times.

Source: semantics, quotas; Kafka 2.7.2, ClientQuotaManager, ClientRequestQuotaManager, ControllerMutationQuotaManager.
"""

from math import ceil, floor, inf
from typing import NamedTuple

from barnabas.broker.quotas.token_bucket import TokenBucket
from barnabas.core.windowed_rate import MOST_MS, WindowedAverage, WindowedRate
from barnabas.wire.quotas.levels import Resolution
from barnabas.wire.quotas.limits import QuotaKind

# Kafka averages throttle times over the defaults of `metrics.num.samples` and `metrics.sample.window.ms`.
_THROTTLE_SAMPLES = 2
_THROTTLE_WINDOW_MS = 30_000


class Windows(NamedTuple):
    """`quota.window.num` and `quota.window.size.seconds`."""

    sample_count: int
    window_ms: int

    @property
    def burst_s(self) -> float:
        """Seconds in which an empty token bucket is filled."""
        return self.sample_count * self.window_ms / 1_000


class Bucket:
    """Measures one kind of use by all clients with the same tags.

    Attributes:
        resolution: Its tags and the current limit.
        last_used_ms: Time of the last recorded use.
        throttle_count: How often a client was throttled.
        throttle_total_ms: The sum of all throttle times.
        throttled_connection_count: The number of connections throttled now.
        used_up_until_ms: The end of the last throttle time; a client that did not wait itself is throttled until then.
    """

    __slots__ = (
        "_allowance",
        "_least_measured_s",
        "_most_ms",
        "_next_turn_ms",
        "_rate",
        "_throttle_times",
        "_tokens",
        "kind",
        "last_used_ms",
        "resolution",
        "throttle_count",
        "throttle_total_ms",
        "throttled_connection_count",
        "used_up_until_ms",
    )

    def __init__(self, kind: QuotaKind, resolution: Resolution, windows: Windows, now_ms: int) -> None:
        self.kind = kind
        # A rate is measured over at least this period, so use up to `_allowance` never exceeds the limit. The allowance
        # is -inf with a token bucket, and inf without a limit.
        self._least_measured_s = (windows.sample_count - 1) * windows.window_ms / 1_000
        self._allowance = inf
        self.resolution = resolution
        self.last_used_ms = now_ms
        self.throttle_count = self.throttle_total_ms = self.throttled_connection_count = 0
        self.used_up_until_ms = 0
        # When the limit would have served all reserved turns, if there were no other requests.
        self._next_turn_ms: float = 0
        self._rate = WindowedRate(windows.window_ms, windows.sample_count)
        self._throttle_times: WindowedAverage | None = None
        # A client above its request quota is throttled for at most one window.
        self._most_ms = windows.window_ms if kind is QuotaKind.REQUEST else 0
        self._tokens = TokenBucket(windows.burst_s) if kind is QuotaKind.CONTROLLER_MUTATION else None
        self.set_limit(resolution)

    @property
    def limit(self) -> float | None:
        return self.resolution.limit

    def set_limit(self, resolution: Resolution) -> None:
        """Set another limit; the measured use is kept."""
        if resolution.limit is None and self._tokens is not None:
            self._tokens.fill()
        if resolution.limit != self.resolution.limit:
            # Both were computed from the previous limit.
            self.used_up_until_ms, self._next_turn_ms = 0, 0
        self.resolution = resolution
        if self._tokens is not None:
            self._allowance = -inf
        else:
            self._allowance = inf if resolution.limit is None else resolution.limit * self._least_measured_s

    def record(self, now_ms: int, value: float) -> int:
        """Count a use; return for how many milliseconds to throttle the client."""
        # hot path: benchmarks/load (every request of a client that has a quota)
        self.last_used_ms = now_ms
        rate = self._rate
        if now_ms < rate.due_ms:
            # Same as `rate.record`, without the call.
            rate.sums[rate.current] += value
            rate.total += value
        else:
            rate.record(now_ms, value)
        if rate.total <= self._allowance and now_ms >= self.used_up_until_ms:
            return 0
        limit = self.resolution.limit
        if limit is None:
            return 0
        if self._tokens is not None:
            self._tokens.take(now_ms, limit, value)
        excess_ms = self.excess_ms(now_ms)
        left_ms = self.used_up_until_ms - now_ms
        if left_ms > 0 and self.kind is QuotaKind.PRODUCE:
            # The windows no longer include use for which other clients are still throttled.
            excess_ms = max(excess_ms, min(left_ms + floor(value / limit * 1_000 + 0.5), MOST_MS))
        if self.kind is not QuotaKind.FETCH:
            # A fetch above the limit is answered empty, so it uses nothing.
            self.used_up_until_ms = max(self.used_up_until_ms, now_ms + excess_ms)
        return excess_ms

    def reserve_turn(self, now_ms: int, value: float) -> int:
        """Reserve a turn for a request that arrives without having waited for the limit.

        Such requests get consecutive turns at the limit's rate, regardless of the throttle times of other clients. A
        burst of the size that all windows but one allow is not delayed.

        Args:
            value: The value that will be counted for the request.

        Returns:
            Milliseconds until its turn.
        """
        limit = self.resolution.limit
        if limit is None or self._tokens is not None:
            return max(0, self.used_up_until_ms - now_ms)
        turn_ms = max(now_ms, self.used_up_until_ms, ceil(self._next_turn_ms))
        self._next_turn_ms = max(self._next_turn_ms, turn_ms - self._least_measured_s * 1_000) + value / limit * 1_000
        return min(turn_ms - now_ms, MOST_MS)

    def release_turn(self, value: float) -> None:
        """Release a turn reserved for a request that will not arrive."""
        if self.resolution.limit is not None:
            self._next_turn_ms -= value / self.resolution.limit * 1_000

    def take_back(self, now_ms: int, value: float) -> None:
        """Subtract use that was just recorded but did not happen."""
        self._rate.record(now_ms, -value)

    def excess_ms(self, now_ms: int) -> int:
        """Return for how long clients must wait now, in milliseconds."""
        limit = self.resolution.limit
        if limit is None:
            return 0
        if self._tokens is not None:
            return self._tokens.wait_ms(now_ms, limit)
        excess_ms = self._rate.excess_ms(now_ms, limit)
        return min(excess_ms, self._most_ms) if self._most_ms else excess_ms

    def note_throttle(self, now_ms: int, throttle_ms: int) -> None:
        """Record that a client was throttled."""
        times = self._throttle_times
        if times is None:
            times = self._throttle_times = WindowedAverage(_THROTTLE_WINDOW_MS, _THROTTLE_SAMPLES)
        times.record(now_ms, throttle_ms)
        self.throttle_count += 1
        self.throttle_total_ms += throttle_ms

    # --- for metrics and explanations

    def rate_per_s(self, now_ms: int) -> float:
        """Return the measured rate, in the kind's unit."""
        return self._rate.rate_per_s(now_ms)

    def measured_ms(self, now_ms: int) -> int:
        """Return the period over which the rate is measured."""
        return self._rate.measured_ms(now_ms)

    def throttle_average_ms(self, now_ms: int) -> float | None:
        """Return the average of recent throttle times; None: no client was throttled."""
        return self._throttle_times.average(now_ms) if self._throttle_times is not None else None

    def tokens(self, now_ms: int) -> float | None:
        """Return the tokens of the token bucket; None if there is no bucket, or no limit."""
        limit = self.resolution.limit
        return self._tokens.tokens(now_ms, limit) if self._tokens is not None and limit is not None else None
