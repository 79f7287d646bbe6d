"""An answer that is not there yet.

A handler that must wait (acks=all, a long poll, a join) returns a `Pending`; the domain completes it once, and
whoever waits is called back on the spot. It belongs to the event loop's thread alone: no locks, no scheduling.
An asyncio future would cost a loop iteration for each answer and a task for each reader.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Pending(Generic[T]):
    """A value that is set once, later.

    Attributes:
        on_cancel: Called when nobody wants the value any more (the connection closed); the domain sets it to
            drop what it keeps for this answer.
    """

    __slots__ = ("_callback", "_is_done", "_value", "on_cancel")

    def __init__(self) -> None:
        self._value: T | None = None
        self._is_done = False
        self._callback: Callable[[T], object] | None = None
        self.on_cancel: Callable[[], object] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the value is there or nobody wants it any more."""
        return self._is_done

    @property
    def value(self) -> T:
        """The value; only when `is_done`."""
        if not self._is_done:
            raise RuntimeError("the answer is still pending")
        return cast(T, self._value)

    def complete(self, value: T) -> None:
        """Set the value and call whoever waits; a second completion is ignored."""
        if self._is_done:
            return
        self._is_done = True
        self._value = value
        self.on_cancel = None
        callback, self._callback = self._callback, None
        if callback is not None:
            callback(value)

    def then(self, callback: Callable[[T], object]) -> None:
        """Call `callback` with the value: now, if it is there, else once it is. One waiter only."""
        if self._is_done:
            callback(cast(T, self._value))
        elif self._callback is not None:
            raise RuntimeError("somebody already waits for this answer")
        else:
            self._callback = callback

    def cancel(self) -> None:
        """Give up waiting: the callback is dropped and the domain is told."""
        if self._is_done:
            return
        self._is_done = True
        self._callback = None
        on_cancel, self.on_cancel = self.on_cancel, None
        if on_cancel is not None:
            on_cancel()

    def future(self) -> "asyncio.Future[T]":
        """The same answer for a coroutine to await."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def resolve(value: T) -> None:
            if not future.done():
                future.set_result(value)

        self.then(resolve)
        return future


def completed(value: T) -> Pending[T]:
    """A pending answer that is already there."""
    pending: Pending[T] = Pending()
    pending.complete(value)
    return pending


class Spawner:
    """Runs coroutines whose results answer requests, and keeps them alive until they end.

    Used on the slow paths (creating topics, the registry); the hot path has no tasks.
    """

    __slots__ = ("_on_error", "_tasks")

    def __init__(self, on_error: Callable[[BaseException], object]) -> None:
        """Args:
        on_error: Told of an exception that a coroutine let out: a bug, to be logged.
        """
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_error = on_error

    def spawn(
        self, coroutine: Coroutine[Any, Any, T], on_failure: Callable[[BaseException], T] | None = None
    ) -> Pending[T]:
        """Start a coroutine on the running loop; its result completes the pending answer.

        Args:
            coroutine: What to run.
            on_failure: Makes the answer from an exception; without it a failed coroutine cancels the answer.
        """
        pending: Pending[T] = Pending()
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)

        def finish(done: asyncio.Task[T]) -> None:
            self._tasks.discard(done)
            if done.cancelled():
                pending.cancel()
                return
            error = done.exception()
            if error is None:
                pending.complete(done.result())
                return
            self._on_error(error)
            if on_failure is None:
                pending.cancel()
            else:
                pending.complete(on_failure(error))

        task.add_done_callback(finish)
        return pending

    async def close(self) -> None:
        """Cancel what still runs and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
