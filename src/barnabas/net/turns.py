"""Who goes on at the end of this turn of the event loop, one after the other.

Two things go here: answers that came while something else was being done (so that completing one never runs another
request inside of it), and connections whose turn was over before their requests were.

Invariants: each task runs once, in the order in which it was added; what is added while they run comes in the next turn
of the loop, after the sockets were looked at; one that raises is logged and costs the others nothing.
"""

import logging
from collections.abc import Callable
from typing import TypeAlias

log = logging.getLogger(__name__)

Task: TypeAlias = Callable[[], object]


class Turns:
    """The tasks that wait. Belongs to the event loop's thread."""

    __slots__ = ("_defer", "_tasks")

    def __init__(self, defer: Callable[[Task], object]) -> None:
        """Args:
        defer: Runs something in the loop's next turn (`loop.call_soon`).
        """
        self._defer = defer
        self._tasks: list[Task] = []

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, task: Task) -> None:
        """Run a task at the end of this turn."""
        # hot path: benchmarks/load (every answer that was waited for)
        if not self._tasks:
            self._defer(self._run)
        self._tasks.append(task)

    def finish(self) -> None:
        """Run all that waits, and all that comes of it: the broker stops, and no later turn will come."""
        while self._tasks:
            self._run()

    def _run(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            try:
                task()
            except Exception:
                log.exception("a task at the end of a turn failed")
