"""Disk work of one log, run off the event loop in the order of submission.

The event loop changes the log's state in memory at once; the files follow step by step, in the same order. A crash
therefore leaves the files as they were after some step, and later changes on the loop cannot overtake earlier ones.

Invariants:
    - one piece of work runs at a time, in order; work that runs `beside` it uses only files, or the end of a file, that
      no other code uses yet;
    - after a failure no more work is done: later steps may depend on the failed write, and fail with its error.

Source: design page, section 2.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from barnabas.core.executor import Executor
from barnabas.core.pending import Pending, completed

T = TypeVar("T")


class DiskWork:
    """An executor that runs work in the order of submission. Owned by the event loop.

    Attributes:
        error: The error of the first work that failed; None if none failed.
        was_used: Whether work was submitted.
    """

    __slots__ = ("_executor", "_is_running", "_settled", "_underway_count", "_waiting", "error", "was_used")

    def __init__(self, executor: Executor) -> None:
        """Args:
        executor: Runs the work.
        """
        self._executor = executor
        self._waiting: deque[tuple[Callable[[], Any], Callable[[Any], object], Callable[[BaseException], object]]]
        self._waiting = deque()
        self._is_running = False
        self._underway_count = 0
        self._settled: list[Pending[None]] = []
        self.error: BaseException | None = None
        self.was_used = False

    def run(
        self, work: Callable[[], T], then: Callable[[T], object], failed: Callable[[BaseException], object]
    ) -> None:
        """Run `work()` when all earlier work has ended; see `core.executor.Executor`."""
        self.was_used = True
        self._underway_count += 1
        self._waiting.append((work, then, failed))
        self._begin_next()

    def beside(
        self, work: Callable[[], T], then: Callable[[T], object], failed: Callable[[BaseException], object]
    ) -> None:
        """Run `work()` now, beside work in progress; its failure does not affect other work."""
        self.was_used = True
        self._underway_count += 1
        self._executor.run(work, lambda result: self._end(then, result), lambda error: self._end(failed, error))

    def settled(self) -> Pending[None]:
        """Complete when no work is pending any more."""
        if not self._underway_count:
            return completed(None)
        pending: Pending[None] = Pending()
        self._settled.append(pending)
        return pending

    def _begin_next(self) -> None:
        if self._is_running or not self._waiting:
            return
        work, then, failed = self._waiting.popleft()
        self._is_running = True
        if self.error is not None:
            self._finish(failed, self.error)
        else:
            self._executor.run(work, partial(self._finish, then), partial(self._fail, failed))

    def _fail(self, failed: Callable[[BaseException], object], error: BaseException) -> None:
        self.error = error
        self._finish(failed, error)

    def _finish(self, callback: Callable[[T], object], outcome: T) -> None:
        # Work that the callback submits runs after the work that waits already.
        try:
            self._end(callback, outcome)
        finally:
            self._is_running = False
            self._begin_next()

    def _end(self, callback: Callable[[T], object], outcome: T) -> None:
        try:
            callback(outcome)
        finally:
            self._underway_count -= 1
            if not self._underway_count:
                settled, self._settled = self._settled, []
                for pending in settled:
                    pending.complete(None)
