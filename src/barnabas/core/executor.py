"""Executors for blocking work (fsync, recovery, commits), which runs off the event loop and returns as a result.

Invariant: `then` and `failed` always run on the event loop's thread; `work` never does in the broker.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

from barnabas.core.pending import Pending

T = TypeVar("T")


class Executor(Protocol):
    """A named executor of blocking work."""

    def run(
        self,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Run `work()` off the loop, then call `then(result)` or `failed(error)` on the event loop."""
        ...


def submit(executor: Executor, work: Callable[[], T]) -> Pending[T]:
    """Run `work` in an executor and return its result, or exception, as a pending answer."""
    pending: Pending[T] = Pending()
    executor.run(work, pending.complete, pending.fail)
    return pending


def submit_while_wanted(executor: Executor, work: Callable[[], T]) -> Pending[T]:
    """Like `submit`, for work without effects: it does not start after the pending answer was cancelled."""
    pending: Pending[T] = Pending()

    def work_if_wanted() -> T | None:
        return None if pending.is_done else work()

    def complete(result: T | None) -> None:
        if result is not None:
            pending.complete(result)

    executor.run(work_if_wanted, complete, pending.fail)
    return pending


class OwnedExecutor(Executor, Protocol):
    """An executor that its owner must close."""

    def resize(self, thread_count: int) -> None:
        """Change the number of threads; work submitted earlier still completes."""
        ...

    def close(self) -> None:
        """Wait for running work and drop work that has not begun."""
        ...


class StopSignal(Protocol):
    """A flag that makes work in an executor stop, and on which the work can wait. `threading.Event` is one."""

    def set(self) -> None: ...

    def is_set(self) -> bool: ...

    def wait(self, timeout: float) -> bool:
        """Wait `timeout` seconds or until the flag is set; only in an executor. Returns whether it is set."""
        ...


def new_stop_signal() -> StopSignal:
    """Return a stop signal for threads."""
    from threading import Event

    return Event()


class InlineExecutor:
    """Runs work inside the call of `run`: for tests and for tools without an event loop."""

    __slots__ = ()

    def run(
        self,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        try:
            result = work()
        except Exception as error:
            failed(error)
            return
        then(result)


class ThreadExecutor:
    """A few named threads beside the event loop."""

    __slots__ = ("_loop", "_name", "_pool", "_retired")

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, thread_count: int = 1) -> None:
        """Args:
        loop: The event loop that receives the results.
        name: Prefix of the threads' names.
        thread_count: With 1, work runs in the order it was given.
        """
        self._loop = loop
        self._name = name
        self._pool = ThreadPoolExecutor(thread_count, thread_name_prefix=name)
        self._retired: list[ThreadPoolExecutor] = []

    def run(
        self,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        def deliver(future: Future[T]) -> None:
            error = future.exception()
            if error is None:
                then(future.result())
            else:
                failed(error)

        def hand_over(future: Future[T]) -> None:
            # Dropped work has no result. After a forced stop, the loop may be closed before the last work ends.
            if not future.cancelled() and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(deliver, future)

        self._pool.submit(work).add_done_callback(hand_over)

    def resize(self, thread_count: int) -> None:
        """Change the number of threads; work submitted earlier still completes."""
        self._pool.shutdown(wait=False)
        self._retired.append(self._pool)
        self._pool = ThreadPoolExecutor(thread_count, thread_name_prefix=self._name)

    def close(self) -> None:
        """Wait for running work and drop work that has not begun."""
        for pool in (*self._retired, self._pool):
            pool.shutdown(wait=True, cancel_futures=True)
