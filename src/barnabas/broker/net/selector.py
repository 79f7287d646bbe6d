"""Watches all sockets of a broker for what arrives, and handles as much of it in a turn of the loop as its time allows.

    every socket ─► one epoll, which is a single descriptor to the event loop ─► those that are ready, one by one

Sockets that are ready and for which there was no time come first in the next turn; nothing is registered anew for them.

Invariants:
- A turn ends after `MOST_NS`, and a socket is called once in it: who always has something to say holds up nobody.
- A socket may be called though nothing has arrived, as where its number was another one's a moment ago.

Source: `epoll(7)`, level-triggered; benchmarks/load (flood, neighbour), `tests/integration/test_limits.py`.
"""

import asyncio
import select
import selectors
from collections.abc import Callable
from typing import Final

from barnabas.broker.net.turns import FEW, MOST_NS

_AT_ONCE: Final = 256
_READ: Final = 1

Callback = Callable[[], object]


class Selector:
    """The sockets that are read from. Belongs to the event loop's thread."""

    __slots__ = ("_callbacks", "_epoll", "_loop", "_now_ns", "_ready")

    def __init__(self, loop: asyncio.AbstractEventLoop, now_ns: Callable[[], int]) -> None:
        """Args:
        now_ns: Monotonic nanoseconds.
        """
        self._loop = loop
        self._now_ns = now_ns
        self._callbacks: dict[int, Callback] = {}
        self._epoll: select.epoll | _Portable | None = None
        # The next one last.
        self._ready: list[tuple[int, int]] = []

    def watch(self, descriptor: int, callback: Callback) -> None:
        """Call back each time that there is something to read, or the peer has left; again, to call back another."""
        if descriptor not in self._callbacks:
            if self._epoll is None:
                self._epoll = select.epoll() if hasattr(select, "epoll") else _Portable()
                self._loop.add_reader(self._epoll.fileno(), self._turn)
            self._epoll.register(descriptor, _READ)
        self._callbacks[descriptor] = callback

    def forget(self, descriptor: int) -> None:
        """Call back no more; before the socket is closed, as its number is given to another one at once."""
        assert self._epoll is not None
        del self._callbacks[descriptor]
        self._epoll.unregister(descriptor)

    def _turn(self) -> None:
        # hot path: benchmarks/load (every request)
        assert self._epoll is not None
        ready = self._ready
        if not ready:
            ready += self._epoll.poll(0, _AT_ONCE)
            ready.reverse()
        callback_of, now_ns = self._callbacks.get, self._now_ns
        end_ns = now_ns() + MOST_NS if len(ready) > FEW else 0
        while ready:
            # One that was called before it may have closed it.
            callback = callback_of(ready.pop()[0])
            if callback is not None:
                callback()
                if end_ns and now_ns() >= end_ns:
                    return


class _Portable:
    """What a selector uses of `select.epoll`, for systems that have none."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.fileno: Callable[[], int] = self._selector.fileno
        self.unregister: Callable[[int], object] = self._selector.unregister

    def register(self, descriptor: int, events: int) -> None:
        self._selector.register(descriptor, events)

    def poll(self, timeout_s: float, _most: int) -> list[tuple[int, int]]:
        return [(key.fd, events) for key, events in self._selector.select(timeout_s)]
