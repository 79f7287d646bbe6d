"""Connections that have not logged in yet, or not sent a request where no login is needed. Pure.

They are kept by listener, in order of arrival.
"""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import takewhile
from typing import Protocol


class Guest(Protocol):
    """A connection that has not logged in yet."""

    peer_host: str

    def close(self, reason: str) -> None: ...


class UnauthenticatedConnections:
    """The unauthenticated connections of all listeners of a broker."""

    __slots__ = ("_came_ms",)

    def __init__(self) -> None:
        self._came_ms: dict[str, OrderedDict[Guest, int]] = {}

    def add(self, listener_name: str, guest: Guest, now_ms: int) -> None:
        """Add a new connection."""
        self._came_ms.setdefault(listener_name, OrderedDict())[guest] = now_ms

    def remove(self, listener_name: str, guest: Guest) -> None:
        """Remove a connection that has logged in or is closed; it may be removed already."""
        if found := self._came_ms.get(listener_name):
            found.pop(guest, None)

    def count(self, listener_names: Iterable[str]) -> int:
        """Count the unauthenticated connections of these listeners."""
        return sum(len(self._came_ms.get(name, ())) for name in listener_names)

    def oldest(self, listener_names: Iterable[str], last_ms: int) -> Guest | None:
        """Return the oldest connection of these listeners; None if all arrived after `last_ms`."""
        firsts = [next(iter(found.items())) for name in listener_names if (found := self._came_ms.get(name))]
        guest, came_ms = min(firsts, key=lambda first: first[1], default=(None, 0))
        return guest if came_ms <= last_ms else None

    def before(self, listener_name: str, end_ms: int) -> Iterable[Guest]:
        """Return the connections that arrived at a listener before a time, oldest first."""
        found = self._came_ms.get(listener_name, OrderedDict())
        return (guest for guest, _ in takewhile(lambda entry: entry[1] < end_ms, found.items()))
