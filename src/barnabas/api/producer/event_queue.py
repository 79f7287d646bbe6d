"""The bounded queue between callers of `send` and the sender thread.

Source: configuration document of 0.7, queue.size, queue.enqueueTimeout.ms; kafka.producer.Producer of 0.8.2.
"""

import threading

from barnabas.api.errors import ClosedError
from barnabas.api.producer.backlog import Backlog
from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.errors import QueueFullError
from barnabas.core.clock import Clock

_FOREVER_MS = 1 << 40


class EventQueue:
    """A `Backlog` with a lock: any number of threads put, one takes."""

    def __init__(self, backlog: Backlog, enqueue_timeout_ms: int, clock: Clock) -> None:
        """Args:
        enqueue_timeout_ms: How long `put` waits for room; 0: not at all; -1: forever.
        clock: Measures how long messages have waited.
        """
        self._backlog = backlog
        self._enqueue_timeout_ms = enqueue_timeout_ms
        self._clock = clock
        lock = threading.Lock()
        self._has_room = threading.Condition(lock)
        self._has_batch = threading.Condition(lock)
        self._waiting_count = 0
        self._is_closed = False

    @property
    def queued(self) -> int:
        """Return how many messages are still in the queue."""
        return self._backlog.queued

    @property
    def has_full_batch(self) -> bool:
        """Return whether `take` would return a full batch at once."""
        return self._backlog.has_full_batch

    @property
    def is_drained(self) -> bool:
        """Return whether the queue is closed and empty."""
        return self._is_closed and not self._backlog.queued

    def put(self, data: ProducerData) -> None:
        """Queue messages when all of them fit.

        More messages than the queue's size are queued in parts if `put` may wait forever.

        Raises:
            QueueFullError: The messages did not fit in time; none was queued.
            ClosedError: The queue is closed.
        """
        size, messages = self._backlog.size, data.messages
        if len(messages) > size and self._enqueue_timeout_ms < 0:
            for start in range(0, len(messages), size):
                self._put(ProducerData(data.topic, data.key, messages[start : start + size]))
        else:
            self._put(data)

    def _put(self, data: ProducerData) -> None:
        count = len(data.messages)
        with self._has_room:
            if self._backlog.room < count and not self._is_closed:
                self._wait_for_room(count)
            if self._is_closed:
                raise ClosedError("the producer is closed")
            self._backlog.add(data, self._clock.monotonic_ms())
            if self._backlog.has_full_batch or self._backlog.queued == count:
                self._has_batch.notify()

    def _wait_for_room(self, count: int) -> None:
        timeout_ms = self._enqueue_timeout_ms
        self._waiting_count += 1
        try:
            is_there = timeout_ms and self._has_room.wait_for(
                lambda: self._backlog.room >= count or self._is_closed, None if timeout_ms < 0 else timeout_ms / 1000
            )
        finally:
            self._waiting_count -= 1
        if not is_there:
            after = f" after {timeout_ms} ms" if timeout_ms else ""
            raise QueueFullError(
                f"no room for {count} of {self._backlog.size} messages (queue.size){after}: {self._backlog.queued} are "
                f"queued, {self._backlog.unsettled} on their way"
            )

    def take(self, patience_ms: int | None) -> list[ProducerData]:
        """Wait for the next batch: a full one, or one whose wait time has passed; after `close`, the rest.

        Args:
            patience_ms: Maximum time to wait; None: no limit.

        Returns:
            The batch; empty if none was due in time, or if the queue is closed and empty.
        """
        with self._has_batch:
            ends_ms = self._clock.monotonic_ms() + (_FOREVER_MS if patience_ms is None else patience_ms)
            while not self._is_closed:
                now_ms = self._clock.monotonic_ms()
                due_ms = self._backlog.due_in_ms(now_ms)
                if due_ms == 0 or now_ms >= ends_ms:
                    break
                wait_ms = min(ends_ms - now_ms, _FOREVER_MS if due_ms is None else due_ms)
                self._has_batch.wait(None if wait_ms > _FOREVER_MS // 2 else wait_ms / 1000)
            if not self._is_closed and self._backlog.due_in_ms(self._clock.monotonic_ms()) != 0:
                return []
            return self._backlog.take()

    def settle(self, unsettled: int) -> None:
        """Set how many taken messages have no answer yet."""
        if unsettled == self._backlog.unsettled:
            return
        with self._has_room:
            self._backlog.unsettled = unsettled
            # Not for each batch: a waiter is woken only if it can proceed.
            if self._waiting_count and self._backlog.room >= self._backlog.size // 4:
                self._has_room.notify_all()

    def close(self) -> None:
        """Accept no more messages; queued ones become due at once."""
        with self._has_room:
            self._is_closed = True
            self._has_room.notify_all()
            self._has_batch.notify_all()
