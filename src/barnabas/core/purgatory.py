"""Delayed operations: they wait for a condition or a deadline.

An operation is watched under keys (a partition, say). `notify` reports a change under a key; then each operation
watched there is checked, once per iteration of the event loop, for completion. At its deadline it completes with the
data at hand.

The memory of waiting operations is limited: above the limit, the oldest ones complete with the data at hand. Clients
choose their own deadlines, however long.

Invariants: an operation is completed exactly once, and is then removed from every key; if it raises, only it fails.

Source: semantics, purgatories.
"""

from collections.abc import Callable, Container, Hashable, Iterable
from functools import partial
from typing import Protocol

from barnabas.core.timers import Timer, Timers


class DelayedOperation(Protocol):
    """An operation that waits for a condition."""

    def try_complete(self) -> bool:
        """Complete if the condition is true; returns whether it did."""
        ...

    def expire(self) -> None:
        """Complete with the data at hand, after the deadline."""
        ...

    def fail(self, error: Exception) -> None:
        """Fail the operation, after one of the methods above raised."""
        ...


class _Watched:
    __slots__ = ("is_due", "kept_bytes", "keys", "many", "operation", "timer")

    def __init__(self, operation: DelayedOperation, keys: tuple[Hashable, ...], many: Container[Hashable] = ()) -> None:
        self.operation = operation
        self.keys = keys
        self.many = many
        self.kept_bytes = 0
        self.is_due = False
        self.timer: Timer | None = None


class Purgatory:
    """The waiting operations. Belongs to the event loop's thread.

    Attributes:
        most_bytes: The memory limit of all waiting operations.
        kept_bytes: The memory that they use, as far as it is counted.
    """

    def __init__(
        self, timers: Timers, defer: Callable[[Callable[[], object]], object], most_bytes: int = 1 << 28
    ) -> None:
        """Args:
        defer: Calls back later in this iteration of the loop or in the next, so that the change is answered
            first (`Scheduler.add_check`).
        """
        self._timers = timers
        self._defer = defer
        self.most_bytes = most_bytes
        self.kept_bytes = 0
        # The oldest operations first; only counted ones.
        self._counted: dict[_Watched, None] = {}
        self._by_key: dict[Hashable, dict[DelayedOperation, _Watched]] = {}
        # Operations with very many keys: checked for each key, so that their start and end cost nothing per key.
        self._with_many: dict[DelayedOperation, _Watched] = {}
        self._waiting: dict[DelayedOperation, _Watched] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def watch(
        self, operation: DelayedOperation, keys: Iterable[Hashable], timeout_ms: float, kept_bytes: int = 0
    ) -> None:
        """Wait for a change under one of `keys` that completes the operation, at most `timeout_ms`.

        Args:
            kept_bytes: The memory of the operation until then; 0: too little to count.
        """
        watched = _Watched(operation, tuple(keys))
        for key in watched.keys:
            self._by_key.setdefault(key, {})[operation] = watched
        self._add(watched, timeout_ms, kept_bytes)

    def watch_many(
        self, operation: DelayedOperation, keys: Container[Hashable], timeout_ms: float, kept_bytes: int = 0
    ) -> None:
        """Like `watch`, for very many keys.

        Args:
            keys: A set or a dict, kept and not copied.
        """
        watched = self._with_many[operation] = _Watched(operation, (), keys)
        self._add(watched, timeout_ms, kept_bytes)

    def _add(self, watched: _Watched, timeout_ms: float, kept_bytes: int) -> None:
        self._waiting[watched.operation] = watched
        watched.timer = self._timers.call_later(timeout_ms, self._expire, watched)
        if kept_bytes:
            watched.kept_bytes = kept_bytes
            self.kept_bytes += kept_bytes
            self._counted[watched] = None
            if self.kept_bytes > self.most_bytes:
                self._defer(self._make_room)

    def _make_room(self) -> None:
        while self.kept_bytes > self.most_bytes:
            self._expire(next(iter(self._counted)))

    def notify(self, key: Hashable) -> None:
        """Report a change under `key`."""
        # hot path: benchmarks/load (every append)
        if self._with_many:
            for watched in self._with_many.values():
                if not watched.is_due and key in watched.many:
                    self._ask(watched)
        operations = self._by_key.get(key)
        if operations is None:
            return
        for watched in operations.values():
            if not watched.is_due:
                self._ask(watched)

    def _ask(self, watched: _Watched) -> None:
        watched.is_due = True
        self._defer(partial(self._try, watched))

    def forget(self, operation: DelayedOperation) -> None:
        """Forget an operation that is not needed any more; does nothing if it is complete."""
        watched = self._waiting.pop(operation, None)
        if watched is None:
            return
        if watched.timer is not None:
            watched.timer.cancel()
        if watched.kept_bytes:
            self.kept_bytes -= watched.kept_bytes
            del self._counted[watched]
        self._with_many.pop(operation, None)
        for key in watched.keys:
            operations = self._by_key.get(key)
            if operations is not None:
                operations.pop(operation, None)
                if not operations:
                    del self._by_key[key]

    def expire_all(self) -> None:
        """Complete all operations with the data at hand, when the broker stops."""
        for watched in list(self._waiting.values()):
            self._expire(watched)

    def _try(self, watched: _Watched) -> None:
        watched.is_due = False
        operation = watched.operation
        if operation not in self._waiting:
            return
        try:
            is_complete = operation.try_complete()
        except Exception as error:
            is_complete = True
            operation.fail(error)
        if is_complete:
            self.forget(operation)

    def _expire(self, watched: _Watched) -> None:
        if watched.operation in self._waiting:
            self.forget(watched.operation)
            try:
                watched.operation.expire()
            except Exception as error:
                watched.operation.fail(error)
