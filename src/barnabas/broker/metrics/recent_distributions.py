"""Snapshots of the distributions, so that quantiles and shares cover only the last minutes.

Each minute, the distributions are copied; quantiles cover the time since the oldest copy, which is five minutes old
(or as old as the broker).

# differs from Kafka (recent-quantiles): Kafka's histograms keep a sample of 1,028 values, with a bias to recent ones.

Source: metrics facts (Kafka's histograms drop values older than five minutes, its meters those older than one).
"""

from collections import deque
from collections.abc import Callable, Mapping

from barnabas.broker.metrics.snapshot import NOTHING, Distribution, Labels
from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers

INTERVAL_MS = 60_000
_COPIES = 5

# By name of the metric and labels.
Distributions = Mapping[tuple[str, Labels], Distribution]


class RecentDistributions:
    """The distributions of the last minutes. Owned by the event loop."""

    def __init__(
        self,
        clock: Clock,
        timers: Timers,
        distributions: Callable[[], Distributions],
        computing_ms: Callable[[], int],
    ) -> None:
        """Args:
        distributions: Returns copies of the current distributions.
        computing_ms: Returns the CPU time of the event loop's thread.
        """
        self._clock = clock
        self._timers = timers
        self._distributions = distributions
        self._computing_ms = computing_ms
        self._copies: deque[Distributions] = deque([{}], _COPIES)
        # Time and CPU time at the last two copies.
        self._marks = deque([(clock.monotonic_ms(), computing_ms())], 2)
        self._timer: Timer | None = None

    def start(self) -> None:
        """Begin to take snapshots."""
        self._timer = self._timers.call_later(INTERVAL_MS, self._remember)

    def stop(self) -> None:
        """Stop taking snapshots."""
        if self._timer is not None:
            self._timer.cancel()

    def before(self, name: str, labels: Labels) -> Distribution:
        """Return a distribution as it was at the beginning of the recent period."""
        return self._copies[0].get((name, labels), NOTHING)

    def idle_share(self) -> float:
        """Return the share of the last one or two minutes in which the event loop used no CPU, 0 to 1."""
        began_ms, computed_ms = self._marks[0]
        elapsed_ms = self._clock.monotonic_ms() - began_ms
        if elapsed_ms <= 0:
            return 1.0
        return min(max(1.0 - (self._computing_ms() - computed_ms) / elapsed_ms, 0.0), 1.0)

    def _remember(self) -> None:
        self._timer = self._timers.call_later(INTERVAL_MS, self._remember)
        self._copies.append(self._distributions())
        self._marks.append((self._clock.monotonic_ms(), self._computing_ms()))
