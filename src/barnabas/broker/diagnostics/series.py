"""Records the growth of offsets: each 10 s of the last five minutes, each minute of the last hour. Pure.

    value that is not what it was ─ sample, every 10 s ─► differences of 32 bits: 30 of ticks, 60 of minutes

A tick is 10 s of wall time. What never changes since it was first seen is one number, and has no ring.

    ring      int32, each                meaning
    0..29     by tick % 30               by how much it changed in that tick
    30..89    by minute % 60             the same of a minute, all its ticks
    90        tick                       of the last change
    91        tick                       up to which, going back, all is known
    92, 93    value >> 31, value & 2^31-1    what it was after the last change

Invariant: a difference that 32 bits can't hold (somebody reset an offset to the other end of a long log) begins the
ring anew: what was before is forgotten, never told wrong.
"""

from array import array
from collections.abc import Hashable, Set
from typing import Final, Generic, TypeVar

TICK_MS: Final = 10_000
_TICKS_OF_MINUTE: Final = 6
_TICK_COUNT: Final = 30
_MINUTE_COUNT: Final = 60
_HOUR_TICKS: Final = _MINUTE_COUNT * _TICKS_OF_MINUTE
_LAST, _SINCE, _HIGH, _LOW = range(_TICK_COUNT + _MINUTE_COUNT, _TICK_COUNT + _MINUTE_COUNT + 4)
_EMPTY: Final = array("i", bytes(4 * (_LOW + 1)))
_LARGEST: Final = 2**31 - 1
# What Python needs for an entry of a dictionary with its number, and for a ring.
ENTRY_BYTES: Final = 140
RING_BYTES: Final = 4 * len(_EMPTY) + 80

Key = TypeVar("Key", bound=Hashable)


class Series(Generic[Key]):
    """The rings of one kind.

    Attributes:
        kept_bytes: Their memory, an estimate.
        left_out: How many values there was no room for, the last time that all were looked at.
    """

    def __init__(self, most_rings: int, most_bytes: int) -> None:
        self._most_rings = most_rings
        self._most_bytes = most_bytes
        self._known: dict[Key, int | array[int]] = {}
        self.kept_bytes = self.left_out = 0
        self._left_out = 0

    def __len__(self) -> int:
        return len(self._known)

    def sample(self, key: Key, tick: int, value: int) -> None:
        """Record a value, which never decreases, at the end of a tick."""
        # hot path of each tick: ten thousand partitions and as many commits, most of which are as they were.
        known = self._known.get(key)
        if known.__class__ is int:
            if known == value:
                return
            assert isinstance(known, int)
            if self.kept_bytes + RING_BYTES > self._most_bytes:
                self._left_out += 1
                return
            self.kept_bytes += RING_BYTES
            ring = self._known[key] = array("i", _EMPTY)
            _begin(ring, tick - 1, known)
            _change(ring, tick, value)
        elif known is None:
            if len(self._known) >= self._most_rings or self.kept_bytes + ENTRY_BYTES > self._most_bytes:
                self._left_out += 1
                return
            self.kept_bytes += ENTRY_BYTES
            self._known[key] = value
        else:
            assert not isinstance(known, int)
            if known[_LOW] != value & _LARGEST or known[_HIGH] != value >> 31:
                _change(known, tick, value)

    def retain(self, present: Set[Key]) -> None:
        """Forget all keys that are not present any more; call it after all were sampled."""
        self.left_out, self._left_out = self._left_out, 0
        if not self._known.keys() <= present:
            for key in [key for key in self._known if key not in present]:
                known = self._known.pop(key)
                self.kept_bytes -= ENTRY_BYTES if isinstance(known, int) else ENTRY_BYTES + RING_BYTES

    def points(self, key: Key, tick: int) -> list[tuple[int, int]]:
        """Return time and value at the end of each tick, within an hour before this one, in which it changed.

        The earliest comes first. Between two points it was what it was at the first of them. The first point is where
        what is known begins.
        """
        known = self._known.get(key)
        if known is None:
            return []
        if isinstance(known, int):
            return [(_end_ms(tick), known)]
        return _points(known, tick)


def _begin(ring: "array[int]", tick: int, value: int) -> None:
    ring[:] = _EMPTY
    ring[_LAST] = ring[_SINCE] = tick
    ring[_HIGH], ring[_LOW] = value >> 31, value & _LARGEST


def _change(ring: "array[int]", tick: int, value: int) -> None:
    difference = value - (ring[_HIGH] << 31 | ring[_LOW])
    minute = _TICK_COUNT + tick // _TICKS_OF_MINUTE % _MINUTE_COUNT
    _go_on_to(ring, tick)
    if -_LARGEST <= difference <= _LARGEST and -_LARGEST <= ring[minute] + difference <= _LARGEST:
        ring[tick % _TICK_COUNT] += difference
        ring[minute] += difference
        ring[_HIGH], ring[_LOW] = value >> 31, value & _LARGEST
    else:
        _begin(ring, tick, value)


def _go_on_to(ring: "array[int]", tick: int) -> None:
    """Clear the counts of an hour, or five minutes, before the tick."""
    last = ring[_LAST]
    if tick == last:
        return
    for passed in range(max(last + 1, tick - _TICK_COUNT + 1), tick + 1):
        ring[passed % _TICK_COUNT] = 0
    minute = tick // _TICKS_OF_MINUTE
    for passed in range(max(last // _TICKS_OF_MINUTE + 1, minute - _MINUTE_COUNT + 1), minute + 1):
        ring[_TICK_COUNT + passed % _MINUTE_COUNT] = 0
    ring[_LAST] = tick


def _points(ring: "array[int]", now: int) -> list[tuple[int, int]]:
    last = ring[_LAST]
    value = ring[_HIGH] << 31 | ring[_LOW]
    hour_ago = max(now, last) - _HOUR_TICKS
    found = []
    # From minutes that are within the ticks as a whole, so that none is counted in both.
    first = -(-(last - _TICK_COUNT + 1) // _TICKS_OF_MINUTE) * _TICKS_OF_MINUTE
    for tick in range(last, first - 1, -1):
        change = ring[tick % _TICK_COUNT]
        if change:
            found.append((tick, value))
            value -= change
    last_minute = last // _TICKS_OF_MINUTE
    for minute in range(first // _TICKS_OF_MINUTE - 1, last_minute - _MINUTE_COUNT, -1):
        change = ring[_TICK_COUNT + minute % _MINUTE_COUNT]
        if change:
            found.append((minute * _TICKS_OF_MINUTE + _TICKS_OF_MINUTE - 1, value))
            value -= change
    recent = [(_end_ms(tick), value) for tick, value in reversed(found) if tick > hour_ago]
    if len(recent) < len(found):
        # What it was an hour ago is what the last change before then made of it.
        value = found[len(recent)][1]
    return [(_end_ms(max(ring[_SINCE], hour_ago)), value), *recent]


def _end_ms(tick: int) -> int:
    return (tick + 1) * TICK_MS
