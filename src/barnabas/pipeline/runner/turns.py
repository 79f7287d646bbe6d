"""Scheduler of refreshes: refreshes that share the cores all end late; one after another, each ends earlier.

The job that has waited longest is next. Without this order a job could wait for minutes while others refresh twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Event

# Interval at which a waiting thread checks whether its run is ending.
_LOOK_S = 0.2


class Turns:
    """Lets at most `count` threads of a session work at the same time, first come, first served."""

    def __init__(self, count: int = 1) -> None:
        self._changed = Condition()
        self._free_count = count
        self._waiting: deque[object] = deque()

    @contextmanager
    def taken(self, is_ending: Event) -> Iterator[bool]:
        """Wait for a turn, which lasts until the end of the block; yield False if the run is ending instead."""
        own = object()
        with self._changed:
            self._waiting.append(own)
            while not (self._free_count and self._waiting[0] is own) and not is_ending.is_set():
                self._changed.wait(_LOOK_S)
            self._waiting.remove(own)
            is_taken = not is_ending.is_set()
            self._free_count -= is_taken
            self._changed.notify_all()
        try:
            yield is_taken
        finally:
            with self._changed:
                self._free_count += is_taken
                self._changed.notify_all()
