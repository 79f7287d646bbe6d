"""The selector: reports readable sockets to their connections, at most a time slice per turn of the event loop.

    every socket ─► one epoll ─► one descriptor in the event loop ─► callbacks of the readable sockets

Sockets that are readable when the time slice ends are called first in the next turn. They stay registered, so a busy
connection costs no system call besides its own reads and writes.

Invariants:
- A turn ends after `MOST_NS`, and calls each socket at most once: a busy peer does not delay the others.
- A callback may be called without data, for example after the kernel reused a descriptor number.

Source: `epoll(7)`, level-triggered; benchmarks/load (flood, neighbour), `tests/integration/test_limits.py`.
"""

import asyncio
import select
import selectors
from collections.abc import Callable
from typing import Final

from barnabas.broker.net.scheduler import FEW, MOST_NS

_AT_ONCE: Final = 256
_READ: Final = 1

Callback = Callable[[], object]


class Selector:
    """Watches sockets for data to read. Owned by the event loop's thread."""

    __slots__ = ("_callbacks", "_epoll", "_loop", "_now_ns", "_ready")

    def __init__(self, loop: asyncio.AbstractEventLoop, now_ns: Callable[[], int]) -> None:
        """Args:
        now_ns: Monotonic nanoseconds.
        """
        self._loop = loop
        self._now_ns = now_ns
        self._callbacks: dict[int, Callback] = {}
        self._epoll: select.epoll | _PortableEpoll | None = None
        # In reverse order: `pop` returns the next one.
        self._ready: list[tuple[int, int]] = []

    def watch(self, descriptor: int, callback: Callback) -> None:
        """Call `callback` whenever the socket has data or the peer has closed; replaces an earlier callback."""
        if descriptor not in self._callbacks:
            if self._epoll is None:
                self._epoll = select.epoll() if hasattr(select, "epoll") else _PortableEpoll()
                self._loop.add_reader(self._epoll.fileno(), self._turn)
            self._epoll.register(descriptor, _READ)
        self._callbacks[descriptor] = callback

    def forget(self, descriptor: int) -> None:
        """Stop watching a socket. Call it before the socket is closed: the kernel reuses descriptor numbers."""
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
            # An earlier callback may have closed this connection.
            callback = callback_of(ready.pop()[0])
            if callback is not None:
                callback()
                if end_ns and now_ns() >= end_ns:
                    return


class _PortableEpoll:
    """The methods of `select.epoll` that a selector uses, for systems without epoll."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.fileno: Callable[[], int] = self._selector.fileno
        self.unregister: Callable[[int], object] = self._selector.unregister

    def register(self, descriptor: int, events: int) -> None:
        self._selector.register(descriptor, events)

    def poll(self, timeout_s: float, _most: int) -> list[tuple[int, int]]:
        return [(key.fd, events) for key, events in self._selector.select(timeout_s)]
