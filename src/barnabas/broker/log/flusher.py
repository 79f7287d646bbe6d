"""One flush (fsync in an executor) of a log at a time.

Invariants:
    - a request that arrives while a flush runs is served by the next flush, which begins when the first ends. Records
      appended before a request are therefore on disk when its callback runs;
    - each callback is called once: after the flush, or with its error.

Source: design page, section 2 (fsync never on the loop).
"""

import logging
from collections.abc import Callable

from barnabas.core.executor import Executor

_logger = logging.getLogger(__name__)

Waiting = Callable[[BaseException | None], object]


class Flusher:
    """Flushes a log in the background."""

    __slots__ = (
        "_executor",
        "_failed",
        "_finished",
        "_is_paused",
        "_is_running",
        "_is_wanted",
        "_prepare",
        "_running_for",
        "_running_to_offset",
        "_waiting",
    )

    def __init__(
        self,
        executor: Executor,
        prepare: Callable[[], tuple[int, Callable[[], None]]],
        finished: Callable[[int], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Args:
        executor: Runs the fsyncs.
        prepare: Returns the offset up to which the log will be flushed, and the work that flushes it.
        finished: Called with the flushed offset.
        failed: Called with the error, before the waiting callbacks.
        """
        self._executor = executor
        self._prepare = prepare
        self._finished = finished
        self._failed = failed
        self._is_running = False
        self._is_wanted = False
        self._is_paused = False
        self._waiting: list[Waiting] = []
        self._running_for: list[Waiting] = []
        self._running_to_offset = -1

    def join(self, end_offset: int, then: Waiting) -> bool:
        """Call `then` when the running flush ends, if it flushes everything below `end_offset`.

        Returns:
            Whether it does; if not, `then` is not called.
        """
        if not self._is_running or end_offset > self._running_to_offset:
            return False
        self._running_for.append(then)
        return True

    def request(self, then: Waiting | None) -> None:
        """Flush the log's current contents, then call `then` on the event loop with None or the error."""
        self._is_wanted = True
        if then is not None:
            self._waiting.append(then)
        if not self._is_running and not self._is_paused:
            self._start()

    def pause(self) -> None:
        """Begin no flush until `resume`; requests wait."""
        self._is_paused = True

    def resume(self) -> None:
        """Begin the flush requested meanwhile."""
        self._is_paused = False
        if self._is_wanted and not self._is_running:
            self._start()

    def _start(self) -> None:
        self._is_running, self._is_wanted = True, False
        waiting, self._waiting = self._waiting, []
        self._running_for, self._running_to_offset = waiting, -1
        try:
            end_offset, work = self._prepare()
        except Exception as error:
            self._fail(error, waiting)
            return

        self._running_to_offset = end_offset

        def finish(_: None) -> None:
            self._is_running = False
            try:
                self._finished(end_offset)
            finally:
                _call_all(waiting, None)
                if self._is_wanted and not self._is_running and not self._is_paused:
                    self._start()

        self._executor.run(work, finish, lambda error: self._fail(error, waiting))

    def _fail(self, error: BaseException, waiting: list[Waiting]) -> None:
        # Requests for the next flush fail, too: after a failed fsync, it is unknown what is on disk.
        waiting, self._waiting = waiting + self._waiting, []
        self._is_running = self._is_wanted = False
        try:
            self._failed(error)
        finally:
            _call_all(waiting, error)


def _call_all(waiting: list[Waiting], error: BaseException | None) -> None:
    for then in waiting:
        try:
            then(error)
        except Exception:
            _logger.exception("a callback failed after a flush")
