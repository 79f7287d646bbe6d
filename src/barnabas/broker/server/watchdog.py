"""Measures for how long the event loop was blocked, during which every client of this broker waits.

A timer on the loop itself detects a stall once it is over, knows its length, and costs next to nothing. That is enough
for a log line. A stall is measured from the time at which the timer was due, so its first part is missed: at most one
interval. Intervals are short while there is work or stalls are queried, and long otherwise.

Time in which this thread was ready to run and the machine had no free core does not count, if the system reports it
(Linux). Waiting for a disk, a lock or the interpreter's other threads counts; the computing part of a stall is reported
beside it.

Source: design page, the shape: what blocks goes to executors; proc(5), schedstat.
"""

import contextlib
import logging
import os
from collections.abc import Callable
from typing import NamedTuple

from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

IDLE_INTERVAL_MS = 50
BUSY_INTERVAL_MS = 10
ASKED_INTERVAL_MS = 2
# The computing time that makes an interval a busy one.
_BUSY_FROM_MS = 2
INFORM_FROM_MS = 50
WARN_FROM_MS = 500
_MOST_NOTED = 3

_SCHEDULER_STATISTICS = "/proc/thread-self/schedstat"
_NS_PER_MS = 1_000_000


class CoreUse(NamedTuple):
    """A thread's use of its time since it began.

    Attributes:
        computing_ms: On a core.
        waiting_ms: Ready to run, without a core.
    """

    computing_ms: int
    waiting_ms: int


NO_CORE_USE = CoreUse(0, 0)


class ThreadCoreUse:
    """Returns the creating thread's use of cores; zero if the system does not report it."""

    __slots__ = ("_fd",)

    def __init__(self) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.open(_SCHEDULER_STATISTICS, os.O_RDONLY | os.O_CLOEXEC)

    def __call__(self) -> CoreUse:
        """Return that thread's use, whichever thread calls."""
        if self._fd < 0:
            return NO_CORE_USE
        # Time on a core, time waiting for one (both in ns), number of turns.
        computing_ns, waiting_ns = os.pread(self._fd, 100, 0).split()[:2]
        return CoreUse(int(computing_ns) // _NS_PER_MS, int(waiting_ns) // _NS_PER_MS)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Stalls(NamedTuple):
    """The longest stalls of the event loop, in milliseconds.

    Attributes:
        longest_ms: The longest stall for any reason but the lack of a core.
        longest_computing_ms: The longest computing part of a stall.
    """

    longest_ms: int
    longest_computing_ms: int


NO_STALLS = Stalls(0, 0)


class Watchdog:
    """Measures how late a periodic timer of the event loop runs.

    Attributes:
        stalls: The longest stalls since the start.
        stall_count, stalled_ms: Number and total length of the stalls of `INFORM_FROM_MS` or more.
        on_stall: Called for each of these, with its length, its computing part, and the noted work on the loop.
        noted_count: Number of calls of `note`.
    """

    def __init__(self, clock: Clock, timers: Timers, core_use: Callable[[], CoreUse] = lambda: NO_CORE_USE) -> None:
        """Args:
        core_use: Returns the use of cores by the loop's thread.
        """
        self._clock = clock
        self._timers = timers
        self._core_use = core_use
        self._timer: Timer | None = None
        self._due_ms = 0
        self._used = NO_CORE_USE
        self._noted: list[str] = []
        self._stalls_of_late = NO_STALLS
        self._is_asked = False
        self.on_stall: Callable[[int, int, str], object] = lambda stall_ms, computing_ms, noted: None
        self.stalls = NO_STALLS
        self.noted_count = 0
        self.stall_count = self.stalled_ms = 0

    @property
    def longest_stall_ms(self) -> int:
        """The longest stall since the start."""
        return self.stalls.longest_ms

    def start(self) -> None:
        """Begin to measure."""
        self._plan(self._core_use(), IDLE_INTERVAL_MS)

    def note(self, text: str) -> None:
        """Record work on the event loop that belongs to an executor, as a possible cause of a stall."""
        self.noted_count += 1
        if len(self._noted) < _MOST_NOTED:
            self._noted.append(text)

    def stalls_of_late(self) -> Stalls:
        """Return the longest stalls since the last call; the first call begins to measure them closely."""
        self._is_asked = True
        # A stall may be in progress.
        self._look(self._core_use())
        stalls, self._stalls_of_late = self._stalls_of_late, NO_STALLS
        return stalls

    def stop(self) -> None:
        """Stop measuring and log the longest stall."""
        if self._timer is not None:
            self._timer.cancel()
            log.info(
                "longest stall of the event loop: %d ms (%d ms of computing); segments created on it: %d",
                *self.stalls,
                self.noted_count,
            )

    def _plan(self, used: CoreUse, interval_ms: int) -> None:
        self._used = used
        self._due_ms = self._clock.monotonic_ms() + interval_ms
        self._timer = self._timers.call_later(interval_ms, self._check)

    def _check(self) -> None:
        used = self._core_use()
        computed_ms = used.computing_ms - self._used.computing_ms
        self._look(used)
        self._noted.clear()
        busy_ms = ASKED_INTERVAL_MS if self._is_asked else BUSY_INTERVAL_MS
        self._plan(used, busy_ms if self._is_asked or computed_ms >= _BUSY_FROM_MS else IDLE_INTERVAL_MS)

    def _look(self, used: CoreUse) -> None:
        late_ms = self._clock.monotonic_ms() - self._due_ms
        stall_ms = late_ms - (used.waiting_ms - self._used.waiting_ms)
        if stall_ms <= 0:
            return
        computing_ms = min(stall_ms, used.computing_ms - self._used.computing_ms)
        self.stalls = _longest(self.stalls, stall_ms, computing_ms)
        self._stalls_of_late = _longest(self._stalls_of_late, stall_ms, computing_ms)
        if stall_ms >= INFORM_FROM_MS:
            self.stall_count += 1
            self.stalled_ms += stall_ms
            self.on_stall(stall_ms, computing_ms, ", ".join(self._noted))
        if stall_ms >= WARN_FROM_MS:
            noted = f" ({', '.join(self._noted)} on it)" if self._noted else ""
            log.warning("the event loop stalled for %d ms: every client waited%s", stall_ms, noted)
        elif stall_ms >= INFORM_FROM_MS:
            log.info("the event loop stalled for %d ms, %d ms of it computing", stall_ms, computing_ms)


def _longest(stalls: Stalls, stall_ms: int, computing_ms: int) -> Stalls:
    return Stalls(max(stalls.longest_ms, stall_ms), max(stalls.longest_computing_ms, computing_ms))
