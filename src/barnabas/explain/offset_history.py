"""Offsets over time; for an unchanged offset, the first and the last time it was seen."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from barnabas.explain.snapshot import Series

Key = TypeVar("Key", bound=Hashable)

_MOST_POINTS: Final = 60


class OffsetHistory(Generic[Key]):
    """The offsets of many keys over time; at most 60 points per key, two while the offset does not change."""

    def __init__(self) -> None:
        self._points: dict[Key, Series] = {}

    def record(self, key: Key, at_ms: int, offset: int) -> None:
        """Record the current offset."""
        points = self._points.setdefault(key, [])
        while points and points[-1][0] > at_ms:
            # The clock was set back: drop later points, so that the current offset is the last one.
            points.pop()
        if len(points) > 1 and points[-1][1] == points[-2][1] == offset:
            points.pop()
        points.append((at_ms, offset))
        del points[:-_MOST_POINTS]

    def of(self, key: Key) -> Series:
        """Return the recorded points, oldest first."""
        return self._points.get(key, [])

    def forget(self, before_ms: int) -> None:
        """Drop points before a time, except the last of them, which is the offset at that time."""
        for key, points in list(self._points.items()):
            if points[-1][0] < before_ms:
                del self._points[key]
                continue
            while len(points) > 1 and points[1][0] <= before_ms:
                del points[0]
