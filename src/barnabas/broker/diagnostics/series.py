"""Records changes of offsets: every 10 s for the last five minutes, every minute for the last hour. Pure.

    changed value ─ sample, every 10 s ─► differences of 32 bits: 30 ticks, 60 minutes

A tick is 10 s of wall-clock time. A value that never changed since the first sample is one number, without a ring.

    ring      int32, each                meaning
    0..29     by tick % 30               change in that tick
    30..89    by minute % 60             change in that minute, over all its ticks
    90        tick                       of the last change
    91        tick                       since which all changes are known
    92, 93    value >> 31, value & 2^31-1    value after the last change

Invariant: a difference that exceeds 32 bits (an offset was reset to the other end of a long log) restarts the ring:
earlier changes are discarded, never reported wrong.
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
# Memory that Python needs for a dictionary entry with its number, and for a ring.
ENTRY_BYTES: Final = 140
RING_BYTES: Final = 4 * len(_EMPTY) + 80

Key = TypeVar("Key", bound=Hashable)


class Series(Generic[Key]):
    """The rings of one kind.

    Attributes:
        kept_bytes: Their estimated memory.
        left_out: The number of values without room in the last complete sampling.
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
        """Record a value at the end of a tick."""
        # hot path of each tick: ten thousand partitions and as many commits, most of them unchanged.
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
        """Forget all keys that are not in `present`; call it after all were sampled."""
        self.left_out, self._left_out = self._left_out, 0
        if not self._known.keys() <= present:
            for key in [key for key in self._known if key not in present]:
                known = self._known.pop(key)
                self.kept_bytes -= ENTRY_BYTES if isinstance(known, int) else ENTRY_BYTES + RING_BYTES

    def points(self, key: Key, tick: int) -> list[tuple[int, int]]:
        """Return time and value at the end of each tick of the last hour in which the value changed, oldest first.

        Between two points the value is the earlier one. The first point is the beginning of the known history.
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
    """Clear the ring's entries from the last change to this tick, which are outdated."""
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
    # Minutes that are completely covered by ticks are taken from the ticks, so that none is counted twice.
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
        # The value an hour ago is the value after the last change before it.
        value = found[len(recent)][1]
    return [(_end_ms(max(ring[_SINCE], hour_ago)), value), *recent]


def _end_ms(tick: int) -> int:
    return (tick + 1) * TICK_MS
