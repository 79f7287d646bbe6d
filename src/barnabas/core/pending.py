"""Pending answers: values that will be set later.

A handler that must wait (acks=all, a long poll, a join) returns a `Pending`. The domain ends it once, with a value or
an error, and calls the waiter at once. It belongs to the event loop's thread alone: no locks, no scheduling.
An asyncio future would cost a loop iteration for each answer and a task for each reader.

Invariants:
- It ends once: by `complete`, `fail` or `cancel`; later calls are ignored.
- A waiter that raises is a bug of the waiter: the exception is logged, and the caller that ended the answer continues,
  so that one waiter never costs the others their answers.
- A failure without a waiter is logged.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_logger = logging.getLogger(__name__)

_WAITER_FAILED = "the receiver of an answer raised an exception"


class Pending(Generic[T]):
    """A value that is set once, later, or an error in its place.

    Attributes:
        is_done: Whether it has ended: with a value, with an error, or because it was cancelled; read-only.
        error: Why it failed; None while it is pending, or if it has a value.
        on_cancel: Called when the answer is cancelled (the connection closed); the domain sets it to
            release the state of this answer.
    """

    __slots__ = ("_callback", "_failed", "_value", "error", "is_done", "on_cancel")

    def __init__(self) -> None:
        # Any: the attribute is not read before the value is set, and a cast would cost a call.
        self._value: Any = None
        self.is_done = False
        self._callback: Callable[[T], object] | None = None
        self._failed: Callable[[BaseException], object] | None = None
        self.error: BaseException | None = None
        self.on_cancel: Callable[[], object] | None = None

    @property
    def value(self) -> T:
        """Return the value; call only if `is_done`.

        Raises:
            BaseException: The error.
        """
        if not self.is_done:
            raise RuntimeError("the answer is still pending")
        if self.error is not None:
            raise self.error
        value: T = self._value
        return value

    def complete(self, value: T) -> None:
        """Set the value and call the waiter."""
        if self.is_done:
            return
        self.is_done = True
        self._value = value
        self.on_cancel = None
        # hot path: benchmarks/load (every answer that was waited for)
        callback, self._callback, self._failed = self._callback, None, None
        if callback is not None:
            try:
                callback(value)
            except Exception:
                _logger.exception(_WAITER_FAILED)

    def fail(self, error: BaseException) -> None:
        """End with an error and call the waiter."""
        if self.is_done:
            return
        self.is_done = True
        self.error = error
        self.on_cancel = None
        is_waited_for = self._callback is not None
        failed, self._callback, self._failed = self._failed, None, None
        if failed is not None:
            try:
                failed(error)
            except Exception:
                _logger.exception(_WAITER_FAILED)
        elif is_waited_for:
            _logger.error("what something waited for failed", exc_info=error)

    def then(self, callback: Callable[[T], object], failed: Callable[[BaseException], object] | None = None) -> None:
        """Call `callback` with the value, or `failed` with the error: now if it is done, otherwise later.

        One waiter only. Without `failed` an error is logged.
        """
        if not self.is_done:
            if self._callback is not None:
                raise RuntimeError("the answer has a waiter already")
            self._callback, self._failed = callback, failed
        elif self.error is None:
            callback(self._value)
        elif failed is not None:
            failed(self.error)
        else:
            _logger.error("what something waited for failed", exc_info=self.error)

    def shaped(self, shape: Callable[[T], R]) -> "Pending[R]":
        """Return the pending result of `shape(value)`; it fails with this answer's error, or with `shape`'s."""
        result: Pending[R] = Pending()
        result.on_cancel = self.cancel

        def reshape(value: T) -> None:
            try:
                made = shape(value)
            except Exception as error:
                result.fail(error)
            else:
                result.complete(made)

        self.then(reshape, result.fail)
        return result

    def and_then(self, step: "Callable[[T], R | Pending[R]]") -> "Pending[R]":
        """Return the pending answer of `step(value)`; it fails with either error, or if `step` raises."""
        result: Pending[R] = Pending()
        result.on_cancel = self.cancel

        def go_on(value: T) -> None:
            try:
                following = step(value)
            except Exception as error:
                result.fail(error)
                return
            if isinstance(following, Pending):
                result.on_cancel = following.cancel
                following.then(result.complete, result.fail)
            else:
                result.complete(following)

        self.then(go_on, result.fail)
        return result

    def cancel(self) -> None:
        """Stop waiting: drop the callbacks and notify the domain (`on_cancel`)."""
        if self.is_done:
            return
        self.is_done = True
        self._callback = self._failed = None
        on_cancel, self.on_cancel = self.on_cancel, None
        if on_cancel is not None:
            on_cancel()

    def future(self) -> "asyncio.Future[T]":
        """Return the answer as a future, for a coroutine to await."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def resolve(value: T) -> None:
            if not future.done():
                future.set_result(value)

        def reject(error: BaseException) -> None:
            if not future.done():
                future.set_exception(error)

        self.then(resolve, reject)
        return future


def completed(value: T) -> Pending[T]:
    """Return a pending answer that has its value already."""
    pending: Pending[T] = Pending()
    # Like `complete` without a waiter, without the call.
    pending.is_done = True
    pending._value = value
    return pending


class Spawner:
    """Runs coroutines whose results answer requests, and keeps them alive until they end.

    Used on the slow paths (creating topics, the registry); the hot path has no tasks.
    """

    __slots__ = ("_on_error", "_tasks")

    def __init__(self, on_error: Callable[[BaseException], object]) -> None:
        """Args:
        on_error: Receives an uncaught exception of a coroutine: a bug, to be logged.
        """
        # In the order of their starts, which is also the order of cancellation.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._on_error = on_error

    def spawn(
        self, coroutine: Coroutine[Any, Any, T], on_failure: Callable[[BaseException], T] | None = None
    ) -> Pending[T]:
        """Start a coroutine on the running loop; its result or exception ends the pending answer.

        Args:
            coroutine: The coroutine to run.
            on_failure: Returns the answer for an exception; without it, the answer fails with the exception.
        """
        pending: Pending[T] = Pending()
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks[task] = None

        def finish(done: asyncio.Task[T]) -> None:
            self._tasks.pop(done, None)
            if done.cancelled():
                pending.fail(asyncio.CancelledError())
                return
            error = done.exception()
            if error is None:
                pending.complete(done.result())
                return
            self._on_error(error)
            if on_failure is None:
                pending.fail(error)
                return
            try:
                answer = on_failure(error)
            except Exception as second:
                pending.fail(second)
            else:
                pending.complete(answer)

        task.add_done_callback(finish)
        return pending

    async def close(self) -> None:
        """Cancel running coroutines and wait until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
