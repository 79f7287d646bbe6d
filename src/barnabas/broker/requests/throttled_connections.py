"""Throttled connections: the request is answered, and the next one is not read until the throttle time is over.

If limits change while a connection is throttled, its remaining time is computed again: it never waits longer than the
current limits require.

Source: semantics, quotas; Kafka 2.7.2, ThrottledChannel, ClientQuotaManager.throttle.
"""

from collections import deque
from collections.abc import Callable

from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.manager import Client, Quotas
from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers
from barnabas.wire.quotas.limits import QuotaKind

# Connections that are reviewed in one turn of the event loop, after limits have changed.
_LOOKS_PER_TURN = 200


class ThrottledConnection:
    """A connection that is throttled."""

    __slots__ = ("_all", "bucket", "client", "limit", "release", "timer", "until_ms")

    def __init__(
        self,
        all_of_them: "ThrottledConnections",
        client: Client,
        bucket: Bucket | None,
        until_ms: int,
        timer: Timer,
        release: Callable[[], object],
    ) -> None:
        self._all = all_of_them
        self.client = client
        self.bucket = bucket
        self.limit = None if bucket is None else bucket.limit
        self.until_ms = until_ms
        self.timer = timer
        self.release = release

    def end(self) -> None:
        """End the throttling, because the time is over or the client disconnected."""
        self._all.forget(self)


class ThrottledConnections:
    """All throttled connections. Owned by the event loop.

    Attributes:
        on_throttle: Called with each new throttle; None: no listener.
    """

    __slots__ = ("_clock", "_quotas", "_throttled", "_timers", "_to_review", "on_throttle")

    def __init__(self, quotas: Quotas, clock: Clock, timers: Timers) -> None:
        self._quotas = quotas
        self._clock = clock
        self._timers = timers
        self._throttled: dict[ThrottledConnection, None] = {}
        self._to_review: deque[ThrottledConnection] = deque()
        self.on_throttle: Callable[[Client, Bucket | None, int], object] | None = None
        quotas.on_change = self._limits_changed

    def __len__(self) -> int:
        return len(self._throttled)

    def begin(
        self, client: Client, bucket: Bucket | None, throttle_ms: int, release: Callable[[], object]
    ) -> ThrottledConnection:
        """Throttle a connection.

        Args:
            bucket: The bucket that throttles it; None: not throttled by a limit that may change.
            release: Called when the throttle time is over, unless `end` was called before.
        """
        until_ms = self._clock.monotonic_ms() + throttle_ms
        connection: ThrottledConnection

        def is_over() -> None:
            connection.end()
            release()

        connection = ThrottledConnection(
            self, client, bucket, until_ms, self._timers.call_later(throttle_ms, is_over), is_over
        )
        self._throttled[connection] = None
        client.throttled_ms += throttle_ms
        if self.on_throttle is not None:
            self.on_throttle(client, bucket, throttle_ms)
        if bucket is not None:
            bucket.throttled_connection_count += 1
            self._quotas.throttled_connection_counts[bucket.kind] += 1
        return connection

    def forget(self, connection: ThrottledConnection) -> None:
        if connection not in self._throttled:
            return
        del self._throttled[connection]
        connection.timer.cancel()
        bucket = connection.bucket
        if bucket is not None:
            bucket.throttled_connection_count -= 1
            self._quotas.throttled_connection_counts[bucket.kind] -= 1

    def _limits_changed(self) -> None:
        """Review the throttled connections in several turns, because there may be very many."""
        if not self._throttled:
            return
        is_planned = bool(self._to_review)
        # Including those that were reviewed already, because limits have changed again.
        self._to_review = deque(self._throttled)
        if not is_planned:
            self._timers.call_later(0, self._review)

    def _review(self) -> None:
        for _ in range(min(_LOOKS_PER_TURN, len(self._to_review))):
            connection = self._to_review.popleft()
            bucket = connection.bucket
            # The request quota never throttles for longer than a window.
            if bucket is not None and bucket.kind is not QuotaKind.REQUEST and connection in self._throttled:
                self._recalculate(connection, bucket.kind)
        if self._to_review:
            self._timers.call_later(0, self._review)

    def _recalculate(self, connection: ThrottledConnection, kind: QuotaKind) -> None:
        now_ms = self._clock.monotonic_ms()
        left_ms = 0
        if self._quotas.is_enabled[kind]:
            bucket = connection.client.bucket(kind, now_ms)
            if bucket is connection.bucket and bucket.limit == connection.limit:
                # Another limit has changed.
                return
            left_ms = bucket.excess_ms(now_ms)
        if now_ms + left_ms < connection.until_ms:
            connection.timer.cancel()
            connection.until_ms = now_ms + left_ms
            connection.timer = self._timers.call_later(left_ms, connection.release)
