"""Clocks: time comes from an injected clock, so that tests can move it.

Invariant: nothing in the package but `SystemClock` reads the system's time for a decision.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for stored times, monotonic time for durations."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch; may jump when the system's clock is set."""
        ...

    def monotonic_ms(self) -> int:
        """Return milliseconds since an arbitrary start; never goes back."""
        ...

    def monotonic_ns(self) -> int:
        """Return nanoseconds since an arbitrary start, for measurements only; never goes back."""
        ...


class SystemClock:
    """The system's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    # hot path: benchmarks/load (several times for each request); assigned directly, to save a call
    monotonic_ns = staticmethod(time.monotonic_ns)
