"""Tells when the event loop stood still: then every client of this broker waited.

A thread would see the stall while it lasts; a timer on the loop itself sees it once it is over, costs next to nothing
and can say how long it was. That is enough for a log line.

Source: design page, the shape: what blocks goes to executors.
"""

import logging

from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

_INTERVAL_MS = 50
WARN_FROM_MS = 500


class Watchdog:
    """Measures by how much a periodic timer is late.

    Attributes:
        longest_stall_ms: The longest one seen.
    """

    def __init__(self, clock: Clock, timers: Timers) -> None:
        self._clock = clock
        self._timers = timers
        self._timer: Timer | None = None
        self._due_ms = 0
        self.longest_stall_ms = 0

    def start(self) -> None:
        self._due_ms = self._clock.monotonic_ms() + _INTERVAL_MS
        self._timer = self._timers.call_later(_INTERVAL_MS, self._check)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        log.info("longest stall of the event loop: %d ms", self.longest_stall_ms)

    def _check(self) -> None:
        stall_ms = self._clock.monotonic_ms() - self._due_ms
        if stall_ms > self.longest_stall_ms:
            self.longest_stall_ms = stall_ms
        if stall_ms >= WARN_FROM_MS:
            log.warning("the event loop stood still for %d ms: every client waited", stall_ms)
        self.start()
