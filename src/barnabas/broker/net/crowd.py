"""Watches the sockets of a broker for what arrives, however many have something to say at once.

    the first few hundred ─► the event loop, each by itself
    all others            ─► one epoll, which is a single descriptor to the loop ─► so many of them in a turn

The loop calls everybody whose socket is readable within one turn, and 5,000 calls that only say "later" take it 40 ms.
What is left in the epoll comes in the loop's next turn, those that waited first; a crowd costs one more system call a
turn, and no more for each of it.

Source: `epoll(7)`, level-triggered; benchmarks/load (neighbour), `tests/integration/test_limits.py`.
"""

import asyncio
import select
from collections.abc import Callable
from typing import Final

FIRST_COUNT: Final = 256
_AT_ONCE: Final = 128
# Elsewhere than on Linux all are the loop's.
_HAS_EPOLL: Final = hasattr(select, "epoll")

Callback = Callable[[], object]


class Crowd:
    """The sockets that are read from. Belongs to the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, first_count: int = FIRST_COUNT) -> None:
        """Args:
        first_count: So many are the loop's.
        """
        self._loop = loop
        self._first_count = first_count
        self._first: set[int] = set()
        self._others: dict[int, Callback] = {}
        self._epoll: select.epoll | None = None

    def watch(self, descriptor: int, callback: Callback) -> None:
        """Call back each time that there is something to read, or the peer has left; again, to call back another."""
        others, first = self._others, self._first
        if descriptor in others:
            others[descriptor] = callback
        elif descriptor in first or len(first) < self._first_count or not _HAS_EPOLL:
            first.add(descriptor)
            self._loop.add_reader(descriptor, callback)
        else:
            if self._epoll is None:
                self._epoll = select.epoll()
                self._loop.add_reader(self._epoll.fileno(), self._call_some)
            others[descriptor] = callback
            self._epoll.register(descriptor, select.EPOLLIN)

    def forget(self, descriptor: int) -> None:
        """Call back no more; before the socket is closed, as its number is given to another one at once."""
        if self._others.pop(descriptor, None) is None:
            self._first.discard(descriptor)
            self._loop.remove_reader(descriptor)
        elif self._epoll is not None:
            self._epoll.unregister(descriptor)

    def _call_some(self) -> None:
        assert self._epoll is not None
        for descriptor, _ in self._epoll.poll(0, _AT_ONCE):
            # One that was called before it may have closed it.
            callback = self._others.get(descriptor)
            if callback is not None:
                callback()
