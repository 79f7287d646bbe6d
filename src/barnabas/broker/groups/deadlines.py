"""Deadlines that move far more often than they expire: every heartbeat and commit moves one.

Invariant: postponing a deadline creates no timer; the existing timer checks the deadline again when it fires.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers

K = TypeVar("K")


class _Deadline:
    __slots__ = ("due_ms", "ring_ms", "timer")

    def __init__(self, due_ms: int, timer: Timer) -> None:
        self.due_ms = due_ms
        self.ring_ms = due_ms
        self.timer = timer


class Deadlines(Generic[K]):
    """Deadlines by key. Owned by the event loop."""

    __slots__ = ("_clock", "_deadlines", "_on_due", "_timers")

    def __init__(self, clock: Clock, timers: Timers, on_due: Callable[[K], object]) -> None:
        """Args:
        on_due: Called with the key of an expired deadline, which is removed first.
        """
        self._clock = clock
        self._timers = timers
        self._on_due = on_due
        self._deadlines: dict[K, _Deadline] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def set(self, key: K, delay_ms: int) -> None:
        """Set a key's deadline to `delay_ms` from now; it replaces an earlier one."""
        due_ms = self._clock.monotonic_ms() + max(delay_ms, 0)
        deadline = self._deadlines.get(key)
        if deadline is not None:
            if due_ms >= deadline.ring_ms:
                deadline.due_ms = due_ms
                return
            deadline.timer.cancel()
        self._deadlines[key] = _Deadline(due_ms, self._timers.call_later(delay_ms, self._ring, key))

    def cancel(self, key: K) -> None:
        """Cancel a key's deadline; does nothing if it has none."""
        deadline = self._deadlines.pop(key, None)
        if deadline is not None:
            deadline.timer.cancel()

    def clear(self) -> None:
        """Cancel all deadlines."""
        for key in list(self._deadlines):
            self.cancel(key)

    def _ring(self, key: K) -> None:
        deadline = self._deadlines[key]
        left_ms = deadline.due_ms - self._clock.monotonic_ms()
        if left_ms > 0:
            deadline.ring_ms = deadline.due_ms
            deadline.timer = self._timers.call_later(left_ms, self._ring, key)
            return
        del self._deadlines[key]
        self._on_due(key)
