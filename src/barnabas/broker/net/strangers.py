"""Who has come and has not logged in yet, or not asked for anything where nobody has to. Pure.

They are kept by listener, in the order in which they came.
"""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import takewhile
from typing import Protocol


class Guest(Protocol):
    """A connection, as who looks after strangers sees it."""

    peer_host: str

    def close(self, reason: str) -> None: ...


class Strangers:
    """The strangers of all listeners of a broker."""

    __slots__ = ("_came_ms",)

    def __init__(self) -> None:
        self._came_ms: dict[str, OrderedDict[Guest, int]] = {}

    def add(self, listener_name: str, guest: Guest, now_ms: int) -> None:
        """Somebody has come."""
        self._came_ms.setdefault(listener_name, OrderedDict())[guest] = now_ms

    def remove(self, listener_name: str, guest: Guest) -> None:
        """Somebody is no stranger any more, or gone; harmless where that is known."""
        if found := self._came_ms.get(listener_name):
            found.pop(guest, None)

    def count(self, listener_names: Iterable[str]) -> int:
        """Count the strangers at these listeners."""
        return sum(len(self._came_ms.get(name, ())) for name in listener_names)

    def oldest(self, listener_names: Iterable[str], last_ms: int) -> Guest | None:
        """Return who came first to these listeners; None: nobody is there who came at `last_ms` or before."""
        firsts = [next(iter(found.items())) for name in listener_names if (found := self._came_ms.get(name))]
        guest, came_ms = min(firsts, key=lambda first: first[1], default=(None, 0))
        return guest if came_ms <= last_ms else None

    def before(self, listener_name: str, end_ms: int) -> Iterable[Guest]:
        """Those who came to a listener before some time, in their order."""
        found = self._came_ms.get(listener_name, OrderedDict())
        return (guest for guest, _ in takewhile(lambda entry: entry[1] < end_ms, found.items()))
