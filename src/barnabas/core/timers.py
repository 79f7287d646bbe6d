"""Timers: delayed callbacks, on the event loop or under a test's control.

`LoopTimers` uses the loop's own timer heap; `barnabas.testing.ManualTimers` fires due callbacks when the manual clock
advances.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """One scheduled callback."""

    def cancel(self) -> None:
        """Cancel the callback; does nothing if it has already run."""
        ...


class Timers(Protocol):
    """A source of delayed callbacks."""

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
