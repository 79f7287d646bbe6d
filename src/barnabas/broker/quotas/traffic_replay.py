"""Replays the last hour under another limit, with the same buckets as a broker. Pure.

Each user with a client id is one sender with one request in flight. Its recorded use in each second is offered in ten
equal parts; throttled parts are sent later, as fast as the limit allows. If a limit was in force when the traffic was
recorded, there may have been more traffic without it.

Source: semantics, quotas; docs/quotas.md, "Try a limit before it is set".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from barnabas.broker.quotas.bucket import Bucket, Windows
from barnabas.broker.quotas.history import Name
from barnabas.wire.quotas.levels import Limits, Resolution, Tags
from barnabas.wire.quotas.limits import QuotaKind

_STEPS: Final = 10
_STEP_MS: Final = 1_000 // _STEPS
# Maximum use of one request: the default limit of Kafka's clients in bytes; a millisecond of broker time; partitions.
_MOST_IN_A_REQUEST: Final = {
    QuotaKind.PRODUCE: 1_048_576.0,
    QuotaKind.FETCH: 1_048_576.0,
    QuotaKind.REQUEST: 0.1,
    QuotaKind.CONTROLLER_MUTATION: 100.0,
}


@dataclass(slots=True)
class Sender:
    """The simulated result for one client.

    Attributes:
        offered: Its total use, in the unit of the limit times seconds.
        peak: Its largest use in one second.
        throttle_count, throttled_ms: How often and for how long it would have been throttled.
        longest_throttle_ms: The longest of these.
        latest_ms: The longest delay of its traffic.
        left: The amount still queued at the end.
    """

    client: Name
    offered: float = 0.0
    peak: float = 0.0
    throttle_count: int = 0
    throttled_ms: int = 0
    longest_throttle_ms: int = 0
    latest_ms: int = 0
    left: float = 0.0


@dataclass(slots=True)
class Outcome:
    """The simulated result for the clients that share a bucket.

    Attributes:
        seconds: The length of the history.
    """

    kind: QuotaKind
    resolution: Resolution
    seconds: int
    senders: list[Sender]


class _Queue:
    """A simulated sender: its queued requests, and the end of its throttle time."""

    __slots__ = ("_first", "_waiting", "client", "free_ms", "sender", "values")

    def __init__(self, client: Name, values: Sequence[float]) -> None:
        self.values = values
        self.sender = Sender(client, sum(values), max(values, default=0.0))
        self.free_ms = 0
        # Pairs of time offered and amount left; entries before `_first` are sent.
        self._waiting: list[list[float]] = []
        self._first = 0

    def offer(self, now_ms: int, value: float) -> None:
        if value:
            self._waiting.append([now_ms, value])
            self.sender.left += value

    def next_request(self, most: float) -> float:
        """Return the size of the next request; 0 if the queue is empty."""
        return min(self.sender.left, most) if self._first < len(self._waiting) else 0.0

    def sent(self, now_ms: int, value: float) -> None:
        """Remove the sent amount from the queue, oldest first."""
        sender = self.sender
        sender.left = max(0.0, sender.left - value)
        while value > 0 and self._first < len(self._waiting):
            oldest = self._waiting[self._first]
            sender.latest_ms = max(sender.latest_ms, now_ms - int(oldest[0]))
            taken = min(value, oldest[1])
            oldest[1] -= taken
            value -= taken
            # A remainder from rounding counts as sent.
            if oldest[1] > 1e-9:
                return
            self._first += 1
        if self._first == len(self._waiting):
            self._waiting.clear()
            self._first = 0
            sender.left = 0.0

    def throttle(self, now_ms: int, throttle_ms: int, end_ms: int) -> None:
        sender = self.sender
        sender.throttle_count += 1
        sender.longest_throttle_ms = max(sender.longest_throttle_ms, throttle_ms)
        sender.throttled_ms += min(now_ms + throttle_ms, end_ms) - now_ms
        self.free_ms = now_ms + throttle_ms

    def end(self, end_ms: int) -> None:
        if self._first < len(self._waiting):
            self.sender.latest_ms = max(self.sender.latest_ms, end_ms - int(self._waiting[self._first][0]))


def simulate(
    kind: QuotaKind, limits: Limits, traffic: Iterable[tuple[Name, Sequence[float]]], windows: Windows
) -> list[Outcome]:
    """Simulate these limits and return the outcome for all clients that have a limit.

    Args:
        limits: The simulated limits.
        traffic: Each client's use per second, in the unit of the limit; all of the same length.

    Returns:
        One outcome for each bucket with a limit.
    """
    by_tags: dict[Tags, list[_Queue]] = {}
    for client, values in traffic:
        by_tags.setdefault(limits.tags(*client), []).append(_Queue(client, values))
    outcomes = []
    for tags, queues in by_tags.items():
        resolution = limits.of_tags(tags)
        if resolution.limit is not None:
            _run(Bucket(kind, resolution, windows, 0), queues)
            outcomes.append(Outcome(kind, resolution, len(queues[0].values), [each.sender for each in queues]))
    return outcomes


def _run(bucket: Bucket, queues: list[_Queue]) -> None:
    second_count = len(queues[0].values)
    end_ms = second_count * 1_000
    for second in range(second_count):
        if not any(queue.values[second] or queue.sender.left for queue in queues):
            continue
        for step in range(_STEPS):
            now_ms = second * 1_000 + step * _STEP_MS
            for queue in queues:
                queue.offer(now_ms, queue.values[second] / _STEPS)
            _send(bucket, queues, now_ms, end_ms)
    for queue in queues:
        queue.end(end_ms)


def _send(bucket: Bucket, queues: list[_Queue], step_ms: int, end_ms: int) -> None:
    """Simulate one step: send the requests of all senders in order of time until all are throttled or done."""
    most, step_end_ms = _MOST_IN_A_REQUEST[bucket.kind], step_ms + _STEP_MS
    turns = [(max(step_ms, queue.free_ms), number) for number, queue in enumerate(queues) if queue.sender.left]
    heapify(turns)
    while turns and turns[0][0] < step_end_ms:
        now_ms, number = heappop(turns)
        queue = queues[number]
        value = queue.next_request(most)
        if not value:
            continue
        throttle_ms = bucket.record(now_ms, value)
        if throttle_ms and bucket.kind is QuotaKind.FETCH:
            # A throttled fetch is answered empty and repeated later.
            bucket.take_back(now_ms, value)
        else:
            queue.sent(now_ms, value)
        if throttle_ms:
            queue.throttle(now_ms, throttle_ms, end_ms)
        heappush(turns, (now_ms + throttle_ms, number))
