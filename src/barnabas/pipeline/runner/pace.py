"""How fast one run may go under one quota, and what it still owes for what it has done. Pure.

A run reads a batch at a time, and the broker takes its rate over ten seconds and more. What of a batch came faster
than the limit is a burst. So that the broker never finds the rate above the limit, a run

- earns its part of the limit, second by second, and ends each batch when that is paid for;
- leaves as much free as a burst adds to ten seconds, and a little more: of batches that are read evenly, no more than
  those add of which there may be one more in ten seconds than there should be (`peak_s`);
- keeps windows of what it used, as the broker does, and waits where another burst would bring these above its part:
  after a limit was lowered;
- where the broker tells what it measured, corrects by it what it takes its bytes for (compression, headers, answers
  that were thrown away), and leaves more free for a while where the broker had to hold somebody all the same.

Every number of bytes that comes in is an estimate; times the correction it is what the broker counts.

Source: docs/quotas.md, what a limit does in time.
"""

from __future__ import annotations

from collections import deque
from math import floor
from typing import NamedTuple

from barnabas.pipeline.runner.quota_state import Quota

_LEAST_FREE, _MOST_FREE = 0.01, 0.9
# What is left free more after the broker held somebody, and what of it remains with the next answer.
_MORE_FREE, _FREE_REMAINS = 0.03, 0.9
# The broker's windows begin at other moments than a run's own: so much more of them may be full.
_OVER = 1.02
# A burst may take so much of the ten seconds: then half of the limit is used.
_MOST_BURST = 0.5
# The next batch may begin so much sooner.
_JITTER_S = 0.1
# The time from batch to batch is found in steps of that.
_SEARCH_STEP = 1.005
# The newest burst's weight where it is smaller than those before.
_BURST_WEIGHT = 0.3
# However much is to be left free, so much of its part a run uses.
_LEAST_RATE = 0.05
# A run that comes to others goes slowly for as long as it takes until they know of it.
_SLOW_S, _SLOW_PART = 5.0, 0.25
# The newest answer's weight in the correction, and for how long there must have been use for it to say anything.
_CORRECTION_WEIGHT = 0.5
_LEAST_COMPARED_S, _LEAST_INEXACT_S, _MOST_COMPARED_S = 2.0, 5.0, 60.0
_MOST_CORRECTION = 20.0


class _Counts(NamedTuple):
    """What was used by a moment: as the broker counted, as it was noted; exact: no batch was under way."""

    counted: float
    noted: float
    is_exact: bool


class Spread(NamedTuple):
    """When something was used: evenly in so many seconds, which ended so many seconds ago."""

    over_s: float = 0.0
    ended_ago_s: float = 0.0


AT_ONCE = Spread()


class _Uses:
    """What was used in each of the last seconds, as a broker's windows have it: they begin at other moments."""

    __slots__ = ("_seconds", "_window_count")

    def __init__(self, window_s: float) -> None:
        self._window_count = max(1, round(window_s))
        # Whole seconds, ascending, and bytes.
        self._seconds: deque[tuple[int, float]] = deque()

    def record(self, now_s: float, used_bytes: float, spread: Spread) -> None:
        """Add what was used by now."""
        to_s = now_s - spread.ended_ago_s
        from_s = to_s - spread.over_s
        seconds = dict(self._seconds)
        for second in range(floor(from_s), floor(to_s) + 1):
            part = (min(second + 1, to_s) - max(second, from_s)) / spread.over_s if spread.over_s > 0 else 1.0
            seconds[second] = seconds.get(second, 0.0) + part * used_bytes
        self._seconds = deque(sorted(seconds.items()))

    def excess_s(self, now_s: float, more_bytes: float, rate: float) -> float:
        """For how many seconds nothing may be used so that with so much more the windows hold no more than the rate."""
        oldest = floor(now_s) - self._window_count
        while self._seconds and self._seconds[0][0] < oldest:
            self._seconds.popleft()
        return (sum(used for _, used in self._seconds) + more_bytes) / rate - (now_s - oldest)


class Pace:
    """One run under one quota.

    Attributes:
        quota: As it was told last.
        correction: What the broker counts for each byte that was estimated.
    """

    def __init__(self, quota: Quota, now_s: float) -> None:
        self.quota = quota
        self.correction = 1.0
        self._free = _LEAST_FREE
        self._batch_bytes = self._burst_bytes = 0.0
        self._earned = self._owed = 0.0
        self._earned_at_s = now_s
        self._began_s = now_s
        # Others have the limit to themselves until they hear of this run.
        self._slow_until_s = now_s + _SLOW_S if quota.sharer_count > 1 else now_s
        self._compared_from: _Counts | None = None
        self._has_compared = False
        self._uses = _Uses(quota.window_s)
        # How often the broker had held somebody when something was noted last; whether that was while it was used, and
        # what the broker told after it.
        self._noted_throttle_count = quota.throttle_count
        self._was_held = False
        self._told_after: Quota | None = None

    def take(self, quota: Quota, now_s: float) -> None:
        """Take over what the broker tells now."""
        self._earn(now_s)
        before, self.quota = self.quota, quota
        self._told_after = quota
        if quota.limit != before.limit:
            self._began_s = now_s
        held_count = quota.throttle_count - before.throttle_count
        if held_count > 0 and now_s - self._began_s > quota.window_s:
            self._free = min(_MOST_FREE, self._free + _MORE_FREE)
        else:
            self._free = max(_LEAST_FREE, self._free * _FREE_REMAINS)
        self._correct()

    def _correct(self) -> None:
        """Compare what the broker has counted with what was noted, where nobody else is known to be in it."""
        total = self.quota.used_total
        if total is None or self.quota.sharer_count > 1:
            self._compared_from = None
            return
        before, now = self._compared_from, _Counts(total, self._owed, self.is_held)
        if before is None or total < before.counted or (now.is_exact and not before.is_exact):
            self._compared_from = now
            return
        counted, noted = total - before.counted, self._owed - before.noted
        is_exact = now.is_exact and before.is_exact
        if noted < (_LEAST_COMPARED_S if is_exact else _LEAST_INEXACT_S) * self._share():
            return
        if not is_exact and abs(counted - self.correction * noted) <= self.correction * self._batch_bytes:
            # It may be the batch that was under way at one end.
            if noted > _MOST_COMPARED_S * self._share():
                self._compared_from = now
            return
        found = min(max(counted / noted, 1 / _MOST_CORRECTION), _MOST_CORRECTION)
        self.correction += (_CORRECTION_WEIGHT if self._has_compared else 1.0) * (found - self.correction)
        self._has_compared = True
        self._compared_from = now

    @property
    def is_held(self) -> bool:
        """Whether something was not paid for yet when this was looked at last."""
        return self._earned < self._owed

    def rate(self, now_s: float) -> float:
        """Bytes/s, as estimated, that may be used now."""
        share = self._share()
        burst = self._next_burst_bytes() / self.quota.window_s
        rate = max(_LEAST_RATE * share, share * (1 - self._free) - burst)
        return rate * (_SLOW_PART if now_s < self._slow_until_s else 1.0)

    def rate_in_batches(self, batch_s: float, read_s: float) -> float:
        """Bytes/s, as estimated, that may be used in the long run in batches that begin every so many seconds.

        Args:
            read_s: For how long each is read; 0: all of it comes at once.
        """
        window_s = self.quota.window_s
        return self._share() * (1 - self._free) / (1 + peak_s(batch_s, read_s, window_s) / window_s)

    def owe(self, now_s: float, used_bytes: float, spread: Spread = AT_ONCE) -> float:
        """Note what was used; gives what must have been earned for it to be paid for (`wait_s`)."""
        self._earn(now_s)
        self._was_held = self.quota.throttle_count > self._noted_throttle_count
        self._noted_throttle_count = self.quota.throttle_count
        self._told_after = None
        # Where the broker held it nothing came for a while: most of it may have come last.
        self._uses.record(now_s, used_bytes, Spread(0.0, spread.ended_ago_s) if self._was_held else spread)
        self._batch_bytes = _weighed(self._batch_bytes, used_bytes)
        burst_bytes = max(0.0, used_bytes - spread.over_s * self._share())
        if burst_bytes and spread.over_s:
            burst_bytes = min(burst_bytes, self._peak_bytes(used_bytes, spread.over_s))
        self._burst_bytes = _weighed(self._burst_bytes, burst_bytes)
        self._owed += used_bytes
        return self._owed

    def wait_s(self, now_s: float, owed: float) -> float:
        """For how long to wait if nothing changes; 0 or less: it is paid for."""
        self._earn(now_s)
        excess_s = self._uses.excess_s(now_s, self._next_burst_bytes(), _OVER * self._share())
        told_s = self._told_excess_s()
        if told_s is not None:
            excess_s = min(excess_s, told_s)
        if excess_s > 0:
            # Nothing is earned by waiting for windows to pass: two bursts would follow each other.
            self._earned = min(self._earned, self._owed)
        return max((owed - self._earned) / self.rate(now_s), excess_s)

    def _told_excess_s(self) -> float | None:
        """The same as the run's own windows say, by the broker's; None: it has not told since something was used.

        Only where it is not known when that was.
        """
        told = self._told_after
        if not self._was_held or told is None or told.window_total is None or told.sharer_count > 1:
            return None
        return (told.window_total + self.correction * self._next_burst_bytes()) / told.limit - told.measured_s

    def _share(self) -> float:
        """This run's part of the limit, as estimated."""
        return self.quota.limit / self.quota.sharer_count / self.correction

    def _peak_bytes(self, batch_bytes: float, read_s: float) -> float:
        """What batches like this one add to ten seconds, where they come as often as that lets them."""
        window_s = self.quota.window_s
        most = self._share() * (1 - self._free)
        batch_s = max(batch_bytes / most, read_s)
        # Not all is lost with more time: the next divisor of the window may be near. What no window holds never fits.
        while batch_s <= window_s:
            if batch_bytes / batch_s * (1 + peak_s(batch_s, read_s, window_s) / window_s) <= most:
                return (most - batch_bytes / batch_s) * window_s
            batch_s *= _SEARCH_STEP
        return batch_bytes

    def _next_burst_bytes(self) -> float:
        """What the next burst is expected to be, as estimated.

        It is bounded: one that is larger than all windows hold would never fit in, and no smaller one would come.
        """
        return min(self._burst_bytes, _MOST_BURST * self._share() * self.quota.window_s)

    def _earn(self, now_s: float) -> None:
        rate = self.rate(now_s)
        earned = self._earned + (now_s - self._earned_at_s) * rate
        # What was not used is not kept for long, as a burst would come of it; a batch's time counts for that batch.
        self._earned = min(earned, self._owed + (self._batch_bytes or rate))
        self._earned_at_s = now_s


def _weighed(before: float, newest: float) -> float:
    """What the next one is expected to be: as large as the newest, and not much smaller than those before."""
    return max(newest, before + _BURST_WEIGHT * (newest - before))


def peak_s(batch_s: float, read_s: float, window_s: float) -> float:
    """How many seconds' worth a broker's window may hold beyond its own length, where use is even in the long run.

    Where two batches take as long as the window is, there are always two in it, however long each is read. A broker's
    window lasts for its length and up to a second more, and a batch may last a little longer or shorter than others.

    Args:
        batch_s: From batch to batch.
        read_s: For how long each is read; 0: all of it comes at once, and the next one may at any moment.
        window_s: The least length.
    """
    if not 0 < read_s < batch_s:
        return max(0.0, batch_s - read_s)
    peak = 0.0
    # As much as can be is in a window that begins with a batch; it is most where the reading of its last one ends.
    count = floor(window_s / batch_s)
    last_ends_s = (count * batch_s + read_s - _JITTER_S, (count + 1) * batch_s + read_s - _JITTER_S)
    for end_s in (window_s, window_s + 1, *last_ends_s):
        if window_s <= end_s <= window_s + 1:
            whole, rest_s = divmod(end_s + _JITTER_S, batch_s)
            peak = max(peak, (whole + min(rest_s / read_s, 1.0)) * batch_s - end_s)
    return min(peak, batch_s - read_s)
