"""The scheduler: runs checks and tasks at the end of the event loop's current turn.

    checks: has the event of a waiting operation happened? ─► tasks: late answers, connections with more requests

Three kinds of work are added here: waiting operations whose event may have happened (`Purgatory`), answers that
completed while another request was handled (so that a request is never run inside another one), and connections whose
time slice ended before their requests did. Checks run first, so their answers leave in the same turn.

If there are very many of them (one append completes thousands of long polls), a turn ends after its time slice. The
rest runs in the next turn.

Invariants: each check or task runs once, in the order of addition. One added while its kind runs waits for the next
turn, after the sockets are polled. An exception is logged and does not affect the others.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

log = logging.getLogger(__name__)

Task: TypeAlias = Callable[[], object]

# Time slice per turn of each kind: checks, tasks, and readable sockets (`selector.py`). Others wait at most for the
# sum. With up to FEW entries, each as long as a connection's turn (net/connection.py) at most, the clock is not read.
MOST_NS: Final = 4_000_000
FEW: Final = 16


class Scheduler:
    """The waiting checks and tasks. Owned by the event loop's thread."""

    __slots__ = ("_checks", "_defer", "_is_planned", "_now_ns", "_tasks")

    def __init__(self, defer: Callable[[Task], object], now_ns: Callable[[], int]) -> None:
        """Args:
        defer: Runs a function in the loop's next turn (`loop.call_soon`).
        now_ns: Monotonic nanoseconds.
        """
        self._defer = defer
        self._now_ns = now_ns
        self._checks: list[Task] = []
        self._tasks: list[Task] = []
        self._is_planned = False

    def __len__(self) -> int:
        return len(self._checks) + len(self._tasks)

    def add(self, task: Task) -> None:
        """Run a task at the end of this turn."""
        # hot path: benchmarks/load (every answer that was waited for)
        self._tasks.append(task)
        if not self._is_planned:
            self._plan()

    def add_check(self, check: Task) -> None:
        """Run a check at the end of this turn, before its tasks."""
        # hot path: benchmarks/load (every append that an operation waits for)
        self._checks.append(check)
        if not self._is_planned:
            self._plan()

    def finish(self) -> None:
        """Run everything that waits, and all work added meanwhile, until nothing is left. For the broker's shutdown."""
        while self:
            self._run()

    def _plan(self) -> None:
        self._is_planned = True
        self._defer(self._run)

    def _run(self) -> None:
        checks, self._checks = self._checks, []
        self._checks[:0] = self._run_some(checks, "check")
        # Work added from here on runs in the next turn, including checks that checks have added.
        tasks, self._tasks = self._tasks, []
        self._is_planned = False
        if self._checks:
            self._plan()
        left = self._run_some(tasks, "task")
        if left:
            self._tasks[:0] = left
            if not self._is_planned:
                self._plan()

    def _run_some(self, tasks: list[Task], kind: str) -> list[Task]:
        """Run them in order; return those for which there was no time."""
        end_ns = self._now_ns() + MOST_NS if len(tasks) > FEW else 0
        for number, task in enumerate(tasks, 1):
            try:
                task()
            except Exception:
                log.exception("a %s at the end of a turn failed", kind)
            if end_ns and self._now_ns() >= end_ns:
                return tasks[number:]
        return []
