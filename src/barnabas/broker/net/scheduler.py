"""The scheduler: runs checks and tasks at the end of the event loop's current turn.

    checks: has the event of a waiting operation happened? ─► tasks: late answers, connections with more requests

Three kinds of work are added here: waiting operations whose event may have happened (`Purgatory`), answers that
completed while another request was handled (completing one never runs another request inside of it), and connections
whose time slice ended before their requests did. Checks run first, so their answers leave in the same turn.

With very many of them (one append completes thousands of long polls) a turn ends after its time slice; the rest runs in
the next turn.

Invariants: each check or task runs once, in the order of addition; one that is added while its kind runs waits for the
next turn, after the sockets were polled; an exception is logged and does not affect the others.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

log = logging.getLogger(__name__)

Task: TypeAlias = Callable[[], object]

# For so long checks, tasks, and what arrived (`selector.py`) are each handled in one turn. Others wait for the sum at
# the most, and where so few wait that each may take as long as a connection's turn (net/connection.py) nobody looks at
# the clock.
MOST_NS: Final = 4_000_000
FEW: Final = 16


class Scheduler:
    """The checks and tasks that wait. Belongs to the event loop's thread."""

    __slots__ = ("_checks", "_defer", "_is_planned", "_now_ns", "_tasks")

    def __init__(self, defer: Callable[[Task], object], now_ns: Callable[[], int]) -> None:
        """Args:
        defer: Runs something in the loop's next turn (`loop.call_soon`).
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
        # hot path: benchmarks/load (every append that somebody waits for)
        self._checks.append(check)
        if not self._is_planned:
            self._plan()

    def finish(self) -> None:
        """Run all that waits, and what comes of it, until nothing is left: the broker stops, there is no later turn."""
        while self:
            self._run()

    def _plan(self) -> None:
        self._is_planned = True
        self._defer(self._run)

    def _run(self) -> None:
        checks, self._checks = self._checks, []
        self._checks[:0] = self._run_some(checks, "check")
        # What is added from here on has its turn in the next one, and so have checks that checks have added.
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
        """Run them in order; those for which there was no time."""
        end_ns = self._now_ns() + MOST_NS if len(tasks) > FEW else 0
        for number, task in enumerate(tasks, 1):
            try:
                task()
            except Exception:
                log.exception("a %s at the end of a turn failed", kind)
            if end_ns and self._now_ns() >= end_ns:
                return tasks[number:]
        return []
