"""How fast one run may go under one quota, and what it still owes for what it has done. Pure.

A run reads a batch at a time, and the broker takes its rate over ten seconds and more. So that the broker never finds
the rate above the limit, a run

- earns its part of the limit, second by second, and ends each batch when that is paid for;
- begins the next one when no window of the broker is above the limit while that is read: by what the broker has
  counted, told again and again; by what the run noted, where others share the limit or the broker does not tell;
- leaves as much free as a burst adds to ten seconds, where a batch may come at once;
- corrects what it takes its bytes for (compression, headers, answers that were thrown away) by what the broker counted,
  and leaves more free for a while where the broker had to hold somebody all the same.

Every number of bytes that comes in is an estimate; times the correction it is what the broker counts.

Source: docs/quotas.md, what a limit does in time.
"""

from collections import deque
from math import inf
from typing import NamedTuple

from barnabas.pipeline.runner.quota_state import Quota
from barnabas.pipeline.runner.uses import Use, Uses

# What is left free; more where the broker does not tell what it has counted, in which is what clients ask for ahead and
# throw away.
_LEAST_FREE, _LEAST_FREE_UNTOLD, _MOST_FREE = 0.02, 0.04, 0.9
# What is left free more after the broker held somebody, at the least and at the most; what of it remains with the next
# answer: it is forgotten in a minute or two.
_LITTLE_MORE_FREE, _MORE_FREE, _FREE_REMAINS = 0.005, 0.03, 0.98
# A burst may take so much of the ten seconds: then half of the limit is used.
_MOST_BURST = 0.5
# Of batches that are read evenly two should fit into a window, also where these come out a little larger.
_EVEN_PART = 0.98
# So many batches are kept as the broker counted them.
_COUNTED_COUNT = 3
# The newest batch's weight where it is smaller than those before.
_BATCH_WEIGHT = 0.3
# However much is to be left free, so much of its part a run uses.
_LEAST_RATE = 0.05
# A run that comes to others goes slowly for as long as it takes until they know of it.
_SLOW_S, _SLOW_PART = 5.0, 0.25
# The newest answer's weight in the correction, and for how long there must have been use for it to say anything.
_CORRECTION_WEIGHT = 0.5
_LEAST_COMPARED_S, _LEAST_INEXACT_S, _MOST_COMPARED_S = 2.0, 5.0, 60.0
_MOST_CORRECTION = 20.0


class _Counts(NamedTuple):
    """What was used by a moment: as the broker counted, as it was noted; exact: nothing was under way."""

    counted: float
    noted: float
    is_exact: bool


class Spread(NamedTuple):
    """When something was used: evenly in so many seconds, which ended so many seconds ago.

    Attributes:
        lead_s: So long after it may be, that begins.
    """

    over_s: float = 0.0
    ended_ago_s: float = 0.0
    lead_s: float = 0.0


AT_ONCE = Spread()


class Pace:
    """One run under one quota.

    Attributes:
        quota: As it was told last.
        correction: What the broker counts for each byte that was estimated.
    """

    def __init__(self, quota: Quota, now_s: float) -> None:
        self.quota = quota
        self.correction = 1.0
        self._least_free = _LEAST_FREE_UNTOLD if quota.used_total is None else _LEAST_FREE
        self._free = self._least_free
        # The next batch, as estimated: its bytes, how long it is read, when that begins, what of it comes at once.
        self._batch_bytes = self._read_s = self._lead_s = self._burst_bytes = 0.0
        # How long reading it should take.
        self._planned_read_s = 0.0
        self._earned = self._owed = 0.0
        self._earned_at_s = now_s
        self._began_s = now_s
        # Others have the limit to themselves until they hear of this run.
        self._slow_until_s = now_s + _SLOW_S if quota.sharer_count > 1 else now_s
        self._compared_from: _Counts | None = None
        # Of the first batch of a plan nothing is compared: what clients ask for ahead is counted with it once.
        self._planned_owed = 0.0
        self._has_compared = False
        # As the broker counts it: when it told last and how much, and what was noted since.
        self._uses = Uses(quota.window_s)
        self._told: tuple[float, float] | None = None
        self._untold = Uses(quota.window_s)
        # What was owed and counted when a batch had ended; the last batches as they were counted.
        self._exact = 0.0, inf
        self._counted_bytes: deque[float] = deque(maxlen=_COUNTED_COUNT)
        # For how long the broker had held somebody when something was noted last.
        self._noted_held_s = quota.held_s
        # How many batches are under way, which are not noted yet.
        self._under_way_count = 0
        self._note_told(now_s)

    def take(self, quota: Quota, now_s: float) -> None:
        """Take over what the broker tells now."""
        self._earn(now_s)
        before, self.quota = self.quota, quota
        self._uses.window_s = self._untold.window_s = quota.window_s
        self._note_told(now_s)
        if quota.limit != before.limit:
            self._began_s = now_s
        held_s = quota.held_s - before.held_s
        if held_s > 0 and now_s - self._began_s > quota.window_s:
            # It holds for as long as the limit takes to allow for what was too much.
            more = min(_MORE_FREE, max(_LITTLE_MORE_FREE, held_s / quota.window_s))
            self._free = min(_MOST_FREE, self._free + more)
        else:
            self._free = max(self._least_free, self._free * _FREE_REMAINS)
        self._correct()

    def _note_told(self, now_s: float) -> None:
        """Take over what the broker has counted since it told last, where all of it is this run's."""
        total = self.quota.used_total
        if total is None or self.quota.sharer_count > 1:
            self._told = None
            return
        if self._told is not None and total >= self._told[1]:
            self._uses.record(self._told[0], now_s, total - self._told[1])
        else:
            self._uses.forget()
            self._uses.record(now_s - self.quota.measured_s, now_s, self.quota.window_total or 0.0)
        self._untold.forget()
        self._told = now_s, total
        if not self._under_way_count and self._owed > self._exact[0]:
            if self._exact[1] <= total:
                self._counted_bytes.append(total - self._exact[1])
            self._exact = self._owed, total

    def _correct(self) -> None:
        """Compare what the broker has counted with what was noted, where nobody else is known to be in it."""
        total = self.quota.used_total
        if total is None or self.quota.sharer_count > 1 or self._owed == self._planned_owed:
            self._compared_from = None
            return
        before, now = self._compared_from, _Counts(total, self._owed, not self._under_way_count)
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

    def expect(self, batch_s: float, read_s: float) -> None:
        """Take in how batches are planned from now on; what was thrown away with the plan before was never noted.

        Args:
            batch_s: From batch to batch.
            read_s: For how long each is read; 0: all of it comes at once.
        """
        self._compared_from = None
        self._planned_owed = self._owed
        self._exact = self._owed, inf
        self._counted_bytes.clear()
        self._under_way_count = 0
        self._batch_bytes = batch_s * self.rate_in_batches(batch_s, read_s)
        self._read_s = self._planned_read_s = read_s
        self._noted_held_s = self.quota.held_s
        self._burst_bytes = 0.0 if read_s else self._batch_bytes

    def begin(self) -> None:
        """Something is about to be used; it is noted at its end (`owe`)."""
        self._under_way_count += 1

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
        rate = self._share() * (1 - self._free)
        return _EVEN_PART * rate if read_s else rate / (1 + batch_s / self.quota.window_s)

    def owe(self, now_s: float, used_bytes: float, spread: Spread = AT_ONCE) -> float:
        """Note what was used; gives what must have been earned for it to be paid for (`wait_s`)."""
        self._earn(now_s)
        held_s = max(0.0, self.quota.held_s - self._noted_held_s)
        self._noted_held_s = self.quota.held_s
        self._under_way_count = max(0, self._under_way_count - 1)
        # While the broker held it nothing came, which may have been at first; but it may have held somebody else.
        own_s = min(held_s, max(0.0, spread.over_s - self._planned_read_s))
        self.waste(now_s, used_bytes, spread._replace(over_s=spread.over_s - own_s))
        self._batch_bytes = _weighed(self._batch_bytes, used_bytes)
        self._burst_bytes = _weighed(self._burst_bytes, 0.0 if spread.over_s else used_bytes)
        self._read_s, self._lead_s = spread.over_s, spread.lead_s
        self._owed += used_bytes
        return self._owed

    @property
    def owed(self) -> float:
        """What all that was noted takes to be paid for."""
        return self._owed

    def waste(self, now_s: float, used_bytes: float, spread: Spread) -> None:
        """Note what was used and is not to be paid for: of a batch that was thrown away."""
        to_s = now_s - spread.ended_ago_s
        uses = self._uses if self._told is None else self._untold
        uses.record(to_s - spread.over_s, to_s, self.correction * used_bytes)

    def wait_s(self, now_s: float, owed: float) -> float:
        """For how long to wait if nothing changes; 0 or less: it is paid for."""
        self._earn(now_s)
        excess_s = self._excess_s(now_s)
        if excess_s > 0:
            # Nothing is earned by waiting for windows to pass: two bursts would follow each other.
            self._earned = min(self._earned, self._owed)
        return max((owed - self._earned) / self.rate(now_s), excess_s)

    def _excess_s(self, now_s: float) -> float:
        """For how long the broker's windows have no room for the next batch."""
        share = self.correction * self._share()
        coming_bytes = self.correction * (self._batch_bytes if self._read_s else self._next_burst_bytes())
        if self._read_s:
            # What clients ask for ahead is counted with one batch or with the next.
            coming_bytes = max(coming_bytes, *self._counted_bytes) if self._counted_bytes else coming_bytes
        coming = Use(coming_bytes, self._read_s)
        return self._uses.wait_s(now_s + self._lead_s, coming, share * (1 - self._free), self._untold)

    def _share(self) -> float:
        """This run's part of the limit, as estimated."""
        return self.quota.limit / self.quota.sharer_count / self.correction

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
    return max(newest, before + _BATCH_WEIGHT * (newest - before))
