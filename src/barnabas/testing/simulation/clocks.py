"""The clocks of hosts: one monotonic time for all, and a wall clock for each that goes wrong.

Invariants: monotonic time is the loop's and never jumps; a wall clock that was not touched is the loop's time
after a fixed moment.
"""

from barnabas.testing.simulation.loop import VirtualLoop

_START_MS = 1_600_000_000_000


class VirtualClock:
    """A host's time; see `Clock`."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._wall_us = _START_MS * 1_000
        # When that was so.
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
        """Let the wall clock go too fast from now on, or too slowly, by so many millionths."""
        self._wall_us, self._since_us = self._now_us(), self._loop.now_us
        self._drift_ppm = ppm
