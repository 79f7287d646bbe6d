"""What runs at the end of the event loop's current turn, one after the other.

    checks: who waits is asked whether that is over ─► tasks: answers that came of it, connections that go on

Three things go here: operations that wait for something which may have come (`Purgatory`), answers that came while
something else was being done (so that completing one never runs another request inside of it), and connections whose
turn was over before their requests were. Checks come first: an answer that one of them gives leaves in the same turn.

Invariants: each runs once, in the order in which it was added; what is added while its kind runs comes in the next turn
of the loop, after the sockets were looked at; one that raises is logged and costs the others nothing.
"""

import logging
from collections.abc import Callable
from typing import TypeAlias

log = logging.getLogger(__name__)

Task: TypeAlias = Callable[[], object]


class Turns:
    """The checks and tasks that wait. Belongs to the event loop's thread."""

    __slots__ = ("_checks", "_defer", "_is_planned", "_tasks")

    def __init__(self, defer: Callable[[Task], object]) -> None:
        """Args:
        defer: Runs something in the loop's next turn (`loop.call_soon`).
        """
        self._defer = defer
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
        for check in checks:
            try:
                check()
            except Exception:
                log.exception("a check at the end of a turn failed")
        # What is added from here on has its turn in the next one, and so have checks that checks have added.
        tasks, self._tasks = self._tasks, []
        self._is_planned = False
        if self._checks:
            self._plan()
        for task in tasks:
            try:
                task()
            except Exception:
                log.exception("a task at the end of a turn failed")
