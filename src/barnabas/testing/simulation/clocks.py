"""The clocks of hosts: one monotonic time for all, and an inaccurate wall clock for each.

Invariants: monotonic time is the loop's and never jumps; an untouched wall clock is the loop's time after a fixed
start.
"""

from barnabas.testing.simulation.loop import VirtualLoop

_START_MS = 1_600_000_000_000


class VirtualClock:
    """A host's time; see `Clock`."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._wall_us = _START_MS * 1_000
        # The loop's time at which `_wall_us` was set.
        self._since_us = 0
        self._drift_ppm = 0

    def _now_us(self) -> int:
        passed_us = self._loop.now_us - self._since_us
        return self._wall_us + passed_us + passed_us * self._drift_ppm // 1_000_000

    def now_ms(self) -> int:
        return self._now_us() // 1_000

    def monotonic_ms(self) -> int:
        return self._loop.now_us // 1_000

    def monotonic_ns(self) -> int:
        return self._loop.now_us * 1_000

    def jump(self, by_ms: int) -> None:
        """Set the wall clock forward, or back."""
        self._wall_us += by_ms * 1_000

    def drift(self, ppm: int) -> None:
        """Make the wall clock run too fast from now on, or too slowly, by this many millionths."""
        self._wall_us, self._since_us = self._now_us(), self._loop.now_us
        self._drift_ppm = ppm
