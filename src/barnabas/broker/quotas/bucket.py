"""Measures the use by clients that share a limit.

Windows forget within seconds, but a throttle time may last minutes. So a bucket also records until when its limit is
used up by admitted requests (`used_up_until_ms`): this counts on other connections, too. For a client that waits on
its one connection, as told, that time is always over: it gets the same throttle times as from Kafka.

Source: semantics, quotas; Kafka 2.7.2, ClientQuotaManager, ClientRequestQuotaManager, ControllerMutationQuotaManager.
"""

from math import ceil, floor, inf
from typing import NamedTuple

from barnabas.broker.quotas.token_bucket import TokenBucket
from barnabas.core.windowed_rate import MOST_MS, WindowedAverage, WindowedRate
from barnabas.wire.quotas.levels import Resolution
from barnabas.wire.quotas.limits import QuotaKind

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
    """Measures one kind of use by all clients with the same tags.

    Attributes:
        resolution: Its tags, and the current limit.
        last_used_ms: When something was counted last.
        throttle_count: How often a client was throttled.
        throttle_total_ms: How long, in all.
        throttled_connection_count: How many connections are throttled now.
        used_up_until_ms: The end of the last throttle time; a client that has not waited itself waits until then.
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
        # A rate is taken over this time at the least, so up to so much it is not above the limit. (Nothing is where
        # tokens decide, everything where there is no limit.)
        self._least_measured_s = (windows.sample_count - 1) * windows.window_ms / 1_000
        self._allowance = inf
        self.resolution = resolution
        self.last_used_ms = now_ms
        self.throttle_count = self.throttle_total_ms = self.throttled_connection_count = 0
        self.used_up_until_ms = 0
        # When all who keep a place had their turn and paid for it, if that were all.
        self._next_turn_ms: float = 0
        self._rate = WindowedRate(windows.window_ms, windows.sample_count)
        self._throttle_times: WindowedAverage | None = None
        # Who takes too much of the broker's time is throttled for a window at the most.
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
            # It was reckoned by another limit.
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
            # As `rate.record`, without the call.
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
            # The windows forget what others still wait for.
            excess_ms = max(excess_ms, min(left_ms + floor(value / limit * 1_000 + 0.5), MOST_MS))
        if self.kind is not QuotaKind.FETCH:
            # Of a fetch nothing leaves that is too much.
            self.used_up_until_ms = max(self.used_up_until_ms, now_ms + excess_ms)
        return excess_ms

    def reserve_turn(self, now_ms: int, value: float) -> int:
        """Reserve a turn for a request that arrives without having waited for the limit.

        Those who come so have their turns one after the other, as the limit allows, whatever others were told
        meanwhile. What all windows but one let through at once is free for them, too.

        Args:
            value: The value with which it will be counted.

        Returns:
            In how many milliseconds its turn is.
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
        """Subtract a use that was just counted and did not happen."""
        self._rate.record(now_ms, -value)

    def excess_ms(self, now_ms: int) -> int:
        """Return for how long the clients must wait, as of now."""
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

    # --- for looking at

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
