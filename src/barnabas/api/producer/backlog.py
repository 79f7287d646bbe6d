"""The unsent messages of an async producer: their number, the next batch and its time. No threads, no clock.

Invariants:

- At most `size` messages are queued or unsettled. Unsettled messages were passed to the connections and have no answer
  yet.
- Messages leave in order of arrival; the parts of a divided `ProducerData` stay in order, too.

Source: configuration document of 0.7, queue.size, queue.time, batch.size.
"""

from collections import deque

from barnabas.api.producer.data import ProducerData


class Backlog:
    """The unsent messages of an `EventQueue`, guarded by its lock.

    Attributes:
        size: Maximum number of messages.
        queued: Number of messages in the queue.
        unsettled: Number of messages that were taken and have no answer.
    """

    __slots__ = ("_batch_size", "_data", "_wait_ms", "queued", "size", "unsettled")

    def __init__(self, size: int, batch_size: int, wait_ms: int) -> None:
        """Args:
        batch_size: Number of messages in a full batch, limited to `size`.
        wait_ms: How long a message waits for its batch to be full.
        """
        self.size = size
        self.queued = self.unsettled = 0
        self._batch_size = min(batch_size, size)
        self._wait_ms = wait_ms
        # Each with its time of arrival.
        self._data: deque[tuple[ProducerData, int]] = deque()

    @property
    def room(self) -> int:
        """Return how many more messages fit."""
        return self.size - self.queued - self.unsettled

    @property
    def has_full_batch(self) -> bool:
        return self.queued >= self._batch_size

    def add(self, data: ProducerData, now_ms: int) -> None:
        """Queue messages; the caller checks `room`."""
        self._data.append((data, now_ms))
        self.queued += len(data.messages)

    def due_in_ms(self, now_ms: int) -> int | None:
        """Return the time in ms until the next batch is due; 0: now; None: nothing is queued."""
        if not self._data:
            return None
        if self.has_full_batch:
            return 0
        return max(0, self._data[0][1] + self._wait_ms - now_ms)

    def take(self) -> list[ProducerData]:
        """Return the next batch, full or not, and count it as unsettled."""
        batch: list[ProducerData] = []
        left = self._batch_size
        while left and self._data:
            data, came_ms = self._data.popleft()
            count = len(data.messages)
            if count > left:
                self._data.appendleft((ProducerData(data.topic, data.key, data.messages[left:]), came_ms))
                data, count = ProducerData(data.topic, data.key, data.messages[:left]), left
            batch.append(data)
            left -= count
        taken = self._batch_size - left
        self.queued -= taken
        self.unsettled += taken
        return batch
