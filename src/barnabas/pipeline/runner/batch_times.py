"""What batches take, learnt from one to the next, and how much time each is given under a quota. Pure.

    |<------------------- from batch to batch -------------------->|
    | plan, start | read: wait for answers, take in | write | held |
                  |<----------- evenly ------------>|

Where reading is waiting for most of its time, what is left of a batch is its work: that can't be made shorter, so a
batch gets as much time as makes it a small part.
"""

from collections import deque

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.pace import AT_ONCE, Spread

# Where batches are read evenly, and where they are bursts, as those of a job with state.
_EVEN_INTERVAL_S, _BURST_INTERVAL_S = 2.0, 0.5
# The times that batches may be given. Of the longest ones two, or one, fit into a broker's ten seconds with a little to
# spare: a batch that is late puts off the next one, and the fewer there are, the less of that there is. None is longer,
# as a limit that is raised counts from the next batch on.
_INTERVALS_S = (0.5, 1.0, 2.0, 4.8, 9.6)
# What Spark needs beside the batch itself, and how much of a batch's time is to be left for it to be slower once.
_PLANNING_S = 0.1
_SPARE = 1.25
# A batch is not read yet when its reading begins: Spark plans it and starts tasks.
_READ_START_S = 0.25
# The next batch begins to be read this part of the time after a hold that the last ones took at the least.
_SURE_LEAD, _LEAD_COUNT = 0.95, 3
_MOST_LEARNT = 1.5
# The work of a batch before there was one, and how much more of it there may be once where batches are read evenly.
_WORK_S, _EVEN_SPARE = 0.8, 1.1
# So much of a batch's time may be other work than reading it; and where a quota holds the run: it uses more of it then.
_MOST_WORK, _MOST_WORK_HELD = 0.5, 0.25
_BATCH_WEIGHT, _FIRST_WEIGHT = 0.3, 0.7
# From a run's first batches, in which classes are loaded and compiled, nothing is learnt.
_FIRST_BATCH_COUNT = 2
# A query goes on for so many batches before anything is planned anew.
_LEAST_BATCH_COUNT = 3
# A batch is given more time where batches need this part of it, and less where they need that.
_TOO_SLOW, _TOO_FAST = 1.2, 0.4
_LATE = 1.1


class BatchTimes:
    """What the batches of one run take.

    Attributes:
        interval_s: From batch to batch, where a quota is kept to.
        is_held: Whether a quota held the last batch, or made it as small as it was.
    """

    def __init__(self, trigger_s: float | None, *, is_even: bool) -> None:
        """Args:
        trigger_s: From batch to batch, at the least; None: by what they take.
        is_even: Whether batches are read evenly.
        """
        self._is_even = is_even
        first_s = _EVEN_INTERVAL_S if is_even else _BURST_INTERVAL_S
        self.interval_s = first_s if trigger_s is None else trigger_s
        self._least_interval_s = min(self.interval_s, _BURST_INTERVAL_S) if trigger_s is None else trigger_s
        self.is_held = False
        self._batch_s = 0.0
        # Of a batch's time, what is no waiting for records.
        self._work_s = _WORK_S
        # Of reading a record, what is no waiting for it.
        self._record_s = 0.0
        # Of the queries that run: what a batch may have, and how long it waits for that.
        self._most_offsets, self._wait_s = 0, 0.0
        self._query_count = self._all_count = 0
        self._leads_s: deque[float] = deque(maxlen=_LEAD_COUNT)

    def begin(self) -> None:
        """Forget how earlier queries were planned, and not what their batches took."""
        self._query_count = self._most_offsets = 0

    def plan(self, most_offsets: int, wait_s: float) -> None:
        """Take in how a query is planned that starts now.

        Args:
            most_offsets: What a batch may have; 0: any number.
            wait_s: How long it waits for these, in all.
        """
        self._most_offsets += most_offsets
        self._wait_s = wait_s

    @property
    def are_known(self) -> bool:
        """Whether the queries that run have had batches enough to be judged by."""
        return self._query_count >= _LEAST_BATCH_COUNT

    def take(self, report: BatchReport) -> Spread:
        """Learn from a batch; gives when it was read, and when the next one may be."""
        self._query_count += 1
        self._all_count += 1
        lasted_s = max(0.0, report.read_s - _READ_START_S) if self._is_even else 0.0
        if self._all_count > _FIRST_BATCH_COUNT:
            took_s = report.duration_s + _PLANNING_S
            self._batch_s += (_BATCH_WEIGHT if self._batch_s else 1.0) * (took_s - self._batch_s)
            weight = _BATCH_WEIGHT if self._all_count > _FIRST_BATCH_COUNT + 1 else _FIRST_WEIGHT
            self._work_s += weight * (took_s - lasted_s - self._work_s)
            self._learn_pace(report.record_count, lasted_s)
            self._adapt_interval()
        if not lasted_s:
            return AT_ONCE
        rest_s = report.duration_s - report.read_from_s - report.read_s
        lead_s = _SURE_LEAD * (min(self._leads_s) + _READ_START_S) if self._leads_s else 0.0
        return Spread(lasted_s, rest_s, lead_s)

    def note_lead(self, lead_s: float) -> None:
        """Take in how long after a hold was over the next batch began to be read."""
        self._leads_s.append(lead_s)

    def read_s(self, interval_s: float) -> float:
        """How long reading a batch is to take; 0: it comes at once."""
        return max(0.0, interval_s - _EVEN_SPARE * self._work_s) if self._is_even else 0.0

    def wait_s(self, read_s: float, offset_count: float) -> float:
        """How much of reading is to be waiting, for so many records to be read in that time."""
        return max(0.0, read_s - self._record_s * offset_count)

    def are_late(self, interval_s: float) -> bool:
        """Whether batches take longer than they should."""
        return self._is_even and self._batch_s > _LATE * interval_s

    def _learn_pace(self, record_count: int, lasted_s: float) -> None:
        """Take in how long reading a record takes where it is not waited for."""
        if not self._most_offsets or not record_count:
            return
        waited_s = self._wait_s * min(1.0, record_count / self._most_offsets)
        record_s = max(0.0, lasted_s - waited_s) / record_count
        if self._record_s:
            # Where a broker held it, or the machine had no time, nothing is to be learnt.
            record_s = min(record_s, _MOST_LEARNT * self._record_s)
        self._record_s += (_BATCH_WEIGHT if self._record_s else 1.0) * (record_s - self._record_s)

    def _adapt_interval(self) -> None:
        """Give batches more time where their work takes much of it: a short one would be all overhead."""
        if not self.are_known:
            return
        needed_s = _SPARE * self._batch_s
        if self._is_even:
            # Reading lasts for as long as it is let.
            needed_s = _EVEN_SPARE * self._work_s / (_MOST_WORK_HELD if self.is_held else _MOST_WORK)
        longer_s = [each for each in _INTERVALS_S if each > self.interval_s]
        while longer_s and needed_s > _TOO_SLOW * self.interval_s:
            self.interval_s = longer_s.pop(0)
        shorter_s = [each for each in _INTERVALS_S if self._least_interval_s <= each < self.interval_s]
        if shorter_s and needed_s < _TOO_FAST * self.interval_s:
            self.interval_s = shorter_s[-1]
