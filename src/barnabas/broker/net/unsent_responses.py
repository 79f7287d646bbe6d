"""Bounds the memory of responses that peers do not read, over all connections. Pure: it never touches a socket.

A response is counted from the time when its peer does not accept all of it, until everything is sent. Beyond the limit,
connections are closed. The largest one is exempt, so a response of any size can be sent: the memory used does not
exceed the limit plus the responses of one connection.

Source: security page, resource limits.
"""

from functools import partial
from heapq import nlargest
from typing import Final, Protocol

from barnabas.broker.net.scheduler import Scheduler

_REASON: Final = "it does not read its responses, and all unread ones together take too much memory"


class Recipient(Protocol):
    """A connection, as seen here."""

    def close(self, reason: str) -> None:
        """Close, and drop the responses; no effect if already closed."""
        ...


class UnsentResponses:
    """Counts the bytes of responses that peers have not accepted.

    Attributes:
        limit_bytes: The limit.
        used_bytes: The bytes in memory.
    """

    __slots__ = ("_bytes_of", "_scheduler", "limit_bytes", "used_bytes")

    def __init__(self, limit_bytes: int, scheduler: Scheduler) -> None:
        """Args:
        scheduler: Closes connections at the end of the turn: until then any of them may be working.
        """
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._scheduler = scheduler
        # In the order of the last `note`: of connections that keep equally much, one that accepts some is closed last.
        self._bytes_of: dict[Recipient, int] = {}

    def note(self, recipient: Recipient, count: int) -> None:
        """Record that `count` bytes for this connection are still unsent, instead of those recorded before."""
        self.used_bytes += count - self._bytes_of.pop(recipient, 0)
        self._bytes_of[recipient] = count
        if self.used_bytes > self.limit_bytes:
            self._make_room()

    def note_progress(self, recipient: Recipient) -> None:
        """Record that this connection has accepted some bytes."""
        if recipient in self._bytes_of:
            self._bytes_of[recipient] = self._bytes_of.pop(recipient)

    def forget(self, recipient: Recipient) -> None:
        """Record that everything is sent, or dropped."""
        self.used_bytes -= self._bytes_of.pop(recipient, 0)

    def _make_room(self) -> None:
        bytes_of = self._bytes_of
        while True:
            largest, *others = nlargest(2, bytes_of, key=bytes_of.__getitem__)
            if self.used_bytes - bytes_of[largest] <= self.limit_bytes:
                return
            for recipient in others:
                self.forget(recipient)
                # differs from Kafka (unread-responses): Kafka keeps them for connections.max.idle.ms.
                self._scheduler.add(partial(recipient.close, _REASON))
