"""Callbacks at a later time, on the event loop or by a test's hand.

`LoopTimers` leans on the loop's own timer heap; `barnabas.testing.ManualTimers` fires what is due
when the manual clock is advanced.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """One scheduled callback."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it has already run."""
        ...


class Timers(Protocol):
    """Something that can call back later."""

    def call_later(self, delay_ms: float, callback: Callable[..., object], *args: object) -> Timer:
        """Run `callback(*args)` once, `delay_ms` milliseconds from now, on the event loop."""
        ...


class LoopTimers:
    """Timers of a running event loop."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def call_later(self, delay_ms: float, callback: Callable[..., object], *args: object) -> Timer:
        return self._loop.call_later(delay_ms / 1000, callback, *args)
