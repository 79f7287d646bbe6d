"""A token bucket: limits bursts and the rate after them. Pure.

Its capacity is the tokens of all windows together. It is filled at the limit's rate. A request may overdraw it if any
token is left.

Source: KIP-599; Kafka 2.7.2, org.apache.kafka.common.metrics.stats.TokenBucket, ControllerMutationQuotaManager.
"""

from math import floor, inf

from barnabas.core.windowed_rate import MOST_MS


class TokenBucket:
    """Counts tokens. The caller passes the limit, which may change."""

    __slots__ = ("_burst_s", "_tokens", "_updated_ms")

    def __init__(self, burst_s: float) -> None:
        """Args:
        burst_s: Seconds in which it is filled.
        """
        self._burst_s = burst_s
        # Full for any limit.
        self._tokens = inf
        self._updated_ms = 0

    def tokens(self, now_ms: int, limit_per_s: float) -> float:
        """Return the number of tokens; negative if the bucket is overdrawn."""
        added = limit_per_s * ((now_ms - self._updated_ms) / 1_000)
        self._tokens = min(limit_per_s * self._burst_s, self._tokens + added)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, now_ms: int, limit_per_s: float, count: float) -> None:
        """Take tokens, even more than are left."""
        self._tokens = min(limit_per_s * self._burst_s, self.tokens(now_ms, limit_per_s) - count)

    def wait_ms(self, now_ms: int, limit_per_s: float) -> int:
        """Return for how many milliseconds it is overdrawn; 0 if it is not."""
        tokens = self.tokens(now_ms, limit_per_s)
        return floor(min(-tokens / limit_per_s * 1_000, MOST_MS) + 0.5) if tokens < 0 else 0

    def fill(self) -> None:
        """Fill the bucket, because its use is not counted for now."""
        self._tokens = inf
