"""When something was used, and when more may be so that no window of a broker holds more than a limit. Pure.

A broker's windows begin at moments that nobody else knows, and last for their length and up to a second more. So
windows of several lengths are looked at, from any moment on.

Source: docs/quotas.md, what a limit does in time.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

# A window lasts for its length and so much more: looked at are these.
_LONGER_S = 1.0
_LONGER_STEPS_S = (0.0, 0.25, 0.5, 0.75, _LONGER_S)
# While something is used, its windows are looked at that often; a wait is as exact as that.
_STEP_S, _EXACT_S = 0.25, 0.02


_Part = tuple[float, float, float]


class Use(NamedTuple):
    """Bytes that are used evenly in so many seconds; 0: at once."""

    used_bytes: float
    over_s: float


class Uses:
    """What was used in the last windows."""

    __slots__ = ("_parts", "window_s")

    def __init__(self, window_s: float) -> None:
        self.window_s = window_s
        # From, to, bytes; a part that was used at once ends where it begins.
        self._parts: deque[_Part] = deque()

    def record(self, from_s: float, to_s: float, used_bytes: float) -> None:
        """Add what was used evenly between two moments."""
        self._parts.append((from_s, max(from_s, to_s), used_bytes))
        oldest_s = to_s - self.window_s - _LONGER_S
        while self._parts and self._parts[0][1] < oldest_s:
            self._parts.popleft()

    def forget(self) -> None:
        """Know of nothing any more."""
        self._parts.clear()

    def wait_s(self, now_s: float, coming: Use, rate: float, others: Uses | None = None) -> float:
        """For how long to wait so that no window is above a rate while the next is used; 0: it fits now.

        Args:
            coming: What is used next. What no window holds is taken for what one does.
            rate: Bytes/s.
            others: What was used beside this, and counts, too.
        """
        parts = [*self._parts, *(() if others is None else others._parts)]
        if self._fits(parts, now_s, coming, rate):
            return 0.0
        # Whatever fits goes on to fit, as nothing else is used: so the moment lies between these.
        low_s, high_s = 0.0, self.window_s + _LONGER_S
        while high_s - low_s > _EXACT_S:
            middle_s = (low_s + high_s) / 2
            if self._fits(parts, now_s + middle_s, coming, rate):
                high_s = middle_s
            else:
                low_s = middle_s
        return high_s

    def _fits(self, parts: list[_Part], begin_s: float, coming: Use, rate: float) -> bool:
        used_bytes = min(coming.used_bytes, rate * self.window_s)
        step_count = max(1, round(coming.over_s / _STEP_S)) if coming.over_s else 0
        for step in range(step_count + 1):
            part = step / step_count if step_count else 1.0
            at_s = begin_s + part * coming.over_s
            for longer_s in _LONGER_STEPS_S:
                length_s = self.window_s + longer_s
                if _used_since(parts, at_s - length_s) + part * used_bytes > rate * length_s:
                    return False
        return True


def _used_since(parts: list[_Part], from_s: float) -> float:
    return sum(
        used if begin_s >= from_s else used * (end_s - from_s) / (end_s - begin_s)
        for begin_s, end_s, used in parts
        if end_s > from_s or begin_s >= from_s
    )
