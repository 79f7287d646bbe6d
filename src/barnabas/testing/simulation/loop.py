"""An event loop whose time advances only when nothing else is left to run.

Everything runs in one thread, in an order determined by its own calls: first in, first out within one instant, then the
next scheduled instant.

Scheduled work belongs to the process that scheduled it, which a context variable names. When a process dies, none of
its work runs any more: its callbacks, timers, tasks and the results of its threads are dropped when their turn comes.
While a process is paused, they wait in order until it resumes.

Invariants: `time` never goes back; a callback does not run before its time; two runs that schedule the same work run it
in the same way.
"""

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from math import ceil
from typing import Any, TypeVar

T = TypeVar("T")

# More callbacks than correct code runs in one instant; above this the loop assumes an endless loop.
_CALLS_PER_MOMENT = 100_000


class Process:
    """A simulated process: when it dies, all its scheduled work is dropped.

    Attributes:
        name: Readable name.
        is_alive: Whether its scheduled work still runs.
        is_standing: Whether it is paused (SIGSTOP).
        tasks: All its running tasks; kept, so that none is garbage-collected at a random moment.
        waiting: Work that became due during the pause.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.is_standing = False
        self.waiting: list[events.Handle] = []
        self.tasks: dict[asyncio.Task[Any], None] = {}


CURRENT_PROCESS: ContextVar[Process | None] = ContextVar("CURRENT_PROCESS", default=None)


class VirtualLoop(asyncio.AbstractEventLoop):
    """An asyncio event loop on virtual time.

    Attributes:
        errors: Exceptions of callbacks and forgotten tasks: bugs.
    """

    def __init__(self) -> None:
        self.errors: list[dict[str, Any]] = []
        self._now_us = 0
        self._ready: deque[tuple[events.Handle, Process | None]] = deque()
        self._planned: list[tuple[int, int, events.Handle, Process | None]] = []
        self._plan_count = 0
        self._is_running = self._is_closed = self._is_stopping = False

    # --- time

    def time(self) -> float:
        return self._now_us / 1_000_000

    @property
    def now_us(self) -> int:
        """Return microseconds since the loop was created."""
        return self._now_us

    # --- scheduling

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.Handle:
        context = copy_context() if context is None else context
        handle = events.Handle(callback, args, self, context)
        self._ready.append((handle, context.get(CURRENT_PROCESS)))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.TimerHandle:
        context = copy_context() if context is None else context
        handle = events.TimerHandle(when, callback, args, self, context)
        when_us = max(ceil(when * 1_000_000), self._now_us)
        if when_us / 1_000_000 < when:
            # Round up: a deadline must have passed when its waiter wakes, or the waiter would wait forever.
            when_us += 1
        self._plan_count += 1
        heapq.heappush(self._planned, (when_us, self._plan_count, handle, context.get(CURRENT_PROCESS)))
        return handle

    def _timer_handle_cancelled(self, handle: events.TimerHandle) -> None:
        """Called by asyncio; a cancelled timer is dropped when its turn comes."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **kwargs: Any) -> "asyncio.Task[T]":
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, **kwargs)
        process = CURRENT_PROCESS.get()
        if process is not None:
            tasks = process.tasks
            tasks[task] = None
            task.add_done_callback(tasks.pop)
        return task

    # --- running

    def run_until_complete(self, future: Any) -> Any:
        task = asyncio.ensure_future(future, loop=self)
        task.add_done_callback(lambda _: self.stop())
        self.run_forever()
        if not task.done():
            raise RuntimeError("nothing is planned any more, and what was waited for has not come")
        return task.result()

    def run_forever(self) -> None:
        """Run until `stop`, or until nothing is scheduled."""
        if self._is_running or self._is_closed:
            raise RuntimeError("the loop runs already or is closed")
        self._is_running, self._is_stopping = True, False
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            while not self._is_stopping and self._run_due():
                pass
        finally:
            self._is_running = False
            events._set_running_loop(before)

    def _run_due(self) -> bool:
        """Run all work due now, then advance to the next instant; return whether there is one."""
        call_count = 0
        while self._ready:
            handle, process = self._ready.popleft()
            if handle.cancelled() or (process is not None and not process.is_alive):
                continue
            if process is not None and process.is_standing:
                process.waiting.append(handle)
                continue
            handle._run()
            call_count += 1
            if call_count > _CALLS_PER_MOMENT:
                raise RuntimeError(f"time stands still: {handle!r} and others plan each other for ever")
            if self._is_stopping:
                return True
        planned = self._planned
        while planned and (planned[0][2].cancelled() or (planned[0][3] is not None and not planned[0][3].is_alive)):
            heapq.heappop(planned)
        if not planned:
            return False
        self._now_us = planned[0][0]
        while planned and planned[0][0] == self._now_us:
            _, _, handle, process = heapq.heappop(planned)
            self._ready.append((handle, process))
        return True

    def go_on(self, process: Process) -> None:
        """Run the missed work of a paused process before anything new."""
        process.is_standing = False
        waiting, process.waiting = process.waiting, []
        self._ready.extend((handle, process) for handle in waiting)

    def stop(self) -> None:
        self._is_stopping = True

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True
        self._ready.clear()
        self._planned.clear()

    async def shutdown_asyncgens(self) -> None:
        return

    # --- called by asyncio

    def get_debug(self) -> bool:
        return False

    def get_exception_handler(self) -> None:
        return None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        # Cleanup at the end cancels work without waiters.
        if not self._is_closed:
            self.errors.append(context)
