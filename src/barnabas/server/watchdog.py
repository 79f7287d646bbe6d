"""Measures for how long the event loop was blocked, during which every client of this broker waits.

A thread would see the stall while it lasts; a timer on the loop itself sees it once it is over, costs next to nothing
and can say how long it was. That is enough for a log line.

Time in which this thread was ready to run and the machine had no core for it is no stall of the loop and is left out,
where the system tells it (Linux). Waiting for a disk, a lock or the interpreter's other threads counts.

Source: design page, the shape: what blocks goes to executors; proc(5), schedstat.
"""

import contextlib
import logging
import os
from collections.abc import Callable

from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

_INTERVAL_MS = 50
WARN_FROM_MS = 500
_MOST_NOTED = 3

_SCHEDULER_STATISTICS = "/proc/thread-self/schedstat"
_NS_PER_MS = 1_000_000


class CoreWait:
    """How long this thread has waited for a core since it began; always 0 where the system does not tell."""

    __slots__ = ("_fd",)

    def __init__(self) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.open(_SCHEDULER_STATISTICS, os.O_RDONLY | os.O_CLOEXEC)

    def __call__(self) -> int:
        """Milliseconds; only the thread's own."""
        if self._fd < 0:
            return 0
        # Time on a core, time waiting for one (both in ns), number of turns.
        return int(os.pread(self._fd, 100, 0).split()[1]) // _NS_PER_MS

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Watchdog:
    """Measures how late a periodic timer of the event loop runs.

    Attributes:
        longest_stall_ms: The longest one seen.
        noted_count: How often something was done on the loop that should have been done elsewhere.
    """

    def __init__(self, clock: Clock, timers: Timers, core_wait_ms: Callable[[], int] = lambda: 0) -> None:
        """Args:
        core_wait_ms: How long the loop's thread has waited for a core in all.
        """
        self._clock = clock
        self._timers = timers
        self._core_wait_ms = core_wait_ms
        self._timer: Timer | None = None
        self._due_ms = 0
        self._waited_ms = 0
        self._noted: list[str] = []
        self.longest_stall_ms = 0
        self.noted_count = 0

    def start(self) -> None:
        """Begin to measure."""
        self._due_ms = self._clock.monotonic_ms() + _INTERVAL_MS
        self._waited_ms = self._core_wait_ms()
        self._timer = self._timers.call_later(_INTERVAL_MS, self._check)

    def note(self, text: str) -> None:
        """Something was done on the loop that should have been done elsewhere: a stall may come of it."""
        self.noted_count += 1
        if len(self._noted) < _MOST_NOTED:
            self._noted.append(text)

    def stop(self) -> None:
        """Stop measuring and say what the longest stall was."""
        if self._timer is not None:
            self._timer.cancel()
            log.info(
                "longest stall of the event loop: %d ms; segments that were made on it: %d",
                self.longest_stall_ms,
                self.noted_count,
            )

    def _check(self) -> None:
        late_ms = self._clock.monotonic_ms() - self._due_ms
        stall_ms = late_ms - (self._core_wait_ms() - self._waited_ms)
        if stall_ms > self.longest_stall_ms:
            self.longest_stall_ms = stall_ms
        if stall_ms >= WARN_FROM_MS:
            noted = f" ({', '.join(self._noted)} on it)" if self._noted else ""
            log.warning("the event loop stood still for %d ms: every client waited%s", stall_ms, noted)
        self._noted.clear()
        self.start()
