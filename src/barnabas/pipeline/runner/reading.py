"""How a run reads: its sources as they are planned, the hold at each batch's end, and when to plan anew.

How much a batch takes, and how long reading it takes at the least, is fixed when a query starts; how long it lasts is
not. So the pacer's hold follows a limit that changes at once, and the query is started again only where its batches
have become far too large or too small for the time that they should take.

Under a quota a batch is read evenly in the time that its other work leaves: what comes at once is a burst, for which a
part of the quota has to be left free.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_times import BatchTimes
from barnabas.pipeline.runner.limits import Limits, RecordSize
from barnabas.pipeline.runner.pace import AT_ONCE, Spread
from barnabas.pipeline.runner.pacer import READ, Debt, Pacer, Used
from barnabas.pipeline.runner.positions import Extents
from barnabas.pipeline.runner.quota_watch import Sample
from barnabas.pipeline.runner.source_plan import Fetching, SourcePlan, differ, leave_out, plan_sources
from barnabas.pipeline.tables.table import Offsets

_TRIGGER_S = 1.0
_FIRST_RECORD_BYTES = 300.0
# A query goes on for so long before it is planned anew.
_LEAST_QUERY_S = 10.0
# Where batches are late, they are fetched in another way if that is so much faster.
_LATE_SLOWER = 1.2
# By so much a limit must have changed for batches to be planned anew at once.
_OTHER_LIMIT = 0.1
# A batch that is read now is thrown away where it is so many times as large as it should be.
_WASTED = 1.3
_MOST_WIRE_RATIO = 20.0
# A query that is started again sooner goes by the sample that there is: a limit that fell would hold another one.
_SAMPLE_LASTS_S = 600.0
# A batch that holds so much of what it may was cut short by that.
_FULL = 0.9


class WastedError(Exception):
    """A batch is thrown away before it is read."""


class Paced(Protocol):
    """What a plan says of a run's pace."""

    @property
    def limits(self) -> Limits:
        """Its own."""

    @property
    def trigger_s(self) -> float | None:
        """Seconds between batches, at least; None: by what holds it."""


class Reading:
    """The reading side of one run.

    Attributes:
        limited_by: What holds the run back, for people.
        is_wasted: Whether the batch that is read is being thrown away.
    """

    def __init__(
        self,
        plan: Paced,
        pacer: Pacer | None,
        *,
        is_divided: bool = True,
        is_even: bool = True,
        slot_count: int = 1,
    ) -> None:
        """Args:
        pacer: For the quotas of the run's user and client id; None: they are left to the brokers.
        is_divided: Whether what each broker leads may be a source of its own (`plan_sources`).
        is_even: Whether it is known when a batch was read, so that it may be read evenly.
        slot_count: How many partitions the run reads at the same time, at the most.
        """
        self.limited_by = "nothing"
        self.is_wasted = False
        self._plan = plan
        self._pacer = pacer
        self._is_divided = is_divided
        self._record_size = RecordSize(_FIRST_RECORD_BYTES)
        self._wire_ratio = 1.0
        self._sample: Sample | None = None
        self._is_ratio_known = False
        self._next_sample_s = 0.0
        self._is_even = is_even
        self._slot_count = slot_count
        self._times = BatchTimes(plan.trigger_s, is_even=is_even)
        self._has_batches = False
        self._began_s = 0.0
        self._planned: list[list[SourcePlan]] = []
        # The brokers' limits by which that was planned.
        self._planned_limits: dict[int, float] = {}
        self._unpaid: Debt | None = None
        # Whether a batch has begun that is not read to its end yet, and when it began to be.
        self._is_unread = False
        self._read_began_s: float | None = None
        # When the last hold was over.
        self._settled_at_s: float | None = None
        self._stopped = threading.Event()

    def begin(self, topics: Iterable[str]) -> None:
        """Before queries start: ask which quotas hold, and forget what was planned for earlier queries."""
        if self._pacer is not None:
            self._pacer.follow(topics)
            self._pacer.refresh()
        self._planned = []
        self._times.begin()
        self._is_unread = False
        self._began_s = time.monotonic()
        self._stopped.clear()
        self.is_wasted = False

    def end(self) -> None:
        """Hold nobody any more."""
        self._stopped.set()

    @property
    def stopped(self) -> threading.Event:
        """Whether nobody is to be held."""
        return self._stopped

    def sources(self, starts: Offsets) -> list[SourcePlan]:
        """Plan the sources of one query."""
        self._take_sample(starts)
        self._planned_limits = self._limits()
        plans, wait_s = self._plan_now(starts, self._record_size.assume())
        self._planned.append(plans)
        is_waited = any(plan.fetch_wait_ms for plan in plans)
        self._times.plan(sum(plan.max_offsets or 0 for plan in plans), wait_s if is_waited else 0.0)
        if self._pacer is not None:
            self._pacer.expect(READ, self.trigger_s(), self._read_s())
        return plans

    @property
    def record_bytes(self) -> float:
        """Mean size of a record, as it is without compression."""
        return self._record_size.mean_bytes

    def trigger_s(self) -> float:
        """Seconds from batch to batch."""
        if self._pacer is None or not self._pacer.has_quota(READ):
            return _TRIGGER_S if self._plan.trigger_s is None else self._plan.trigger_s
        return self._times.interval_s

    def account(self, report: BatchReport) -> Debt | None:
        """Take in a batch; gives what has to be settled before the next one."""
        self._record_size.measure(report.record_count, report.payload_bytes)
        if self._sample is not None and not self._is_ratio_known and report.record_count:
            ratio = self._sample.offset_bytes / self._record_size.mean_bytes
            self._wire_ratio = min(max(ratio, 1 / _MOST_WIRE_RATIO), _MOST_WIRE_RATIO)
            self._is_ratio_known = True
        self._has_batches = True
        spread = self._times.take(report)
        debt = self.owe(report.sizes, spread)
        by_quota = debt.limit if debt is not None else ""
        by_own = ""
        if not by_quota and self._is_full(report.record_count):
            if self._pacer is not None and any(plan.is_by_quota for plans in self._planned for plan in plans):
                self._pacer.note_limited(READ)
                by_quota = self._pacer.tightest(READ)
            else:
                by_own = self._plan.limits.strictest(self._record_size.mean_bytes)
        self._times.is_held = bool(by_quota)
        self.limited_by = by_quota or by_own or "nothing"
        return debt

    def _read_s(self) -> float:
        """How long reading a batch is to take."""
        return self._times.read_s(self.trigger_s())

    def owe(self, used: Used, spread: Spread = AT_ONCE) -> Debt | None:
        """Note what was read, and when, as it is without compression; gives what has to be settled."""
        if self._pacer is None:
            return None
        ratio = self._wire_ratio
        on_wire = {topic: {number: ratio * count for number, count in each.items()} for topic, each in used.items()}
        debt = self._pacer.owe(READ, on_wire, spread)
        self._pacer.ask_soon()
        return debt

    def owe_offsets(self, before: Offsets, ends: Offsets) -> Debt | None:
        """The same where only offsets are known."""
        used = {
            topic: {
                number: (end - before.get(topic, {}).get(number, end)) * self._record_size.mean_bytes
                for number, end in partitions.items()
            }
            for topic, partitions in ends.items()
        }
        return self.owe(used)

    def settle(self, debt: Debt | None) -> None:
        """Wait until a batch is paid for, or `end` is called."""
        if debt is not None and self._pacer is not None:
            self._pacer.settle(debt, self._stopped)
            self._unpaid = debt if self._stopped.is_set() else None
            self._settled_at_s = None if self._stopped.is_set() else time.monotonic()

    def begin_batch(self) -> bool:
        """Before a batch is read: wait until that one is paid for whose hold `end` has ended.

        Returns:
            Whether it may be read; not where the query is about to be stopped: it would be thrown away.
        """
        self.settle(self._unpaid)
        if self._stopped.is_set():
            return False
        if self._pacer is not None:
            self._pacer.begin(READ)
        # Of a batch that comes at once there is nothing to be saved.
        self._is_unread = self._is_even
        return True

    @contextmanager
    def while_read(self) -> Iterator[None]:
        """While a batch is read and nothing of it is written: at both ends brokers are asked what they have counted.

        Raises:
            WastedError: it is not to be read.
        """
        if self.is_wasted:
            raise WastedError("the batch was given up before it was read")
        if self._settled_at_s is not None:
            self._times.note_lead(time.monotonic() - self._settled_at_s)
        if self._pacer is not None:
            self._pacer.ask_soon()
        self._read_began_s = time.monotonic()
        try:
            yield
        finally:
            self._read_began_s = None
            self._is_unread = False
            if self._pacer is not None:
                self._pacer.ask_soon()

    def reason_to_restart(self) -> str:
        """Say why the queries should be started anew; nothing: they should not."""
        if self._plan.limits.bytes_per_s and self._record_size.has_moved:
            return "records have another size than before: the limit is set anew"
        if self._has_other_limits():
            # At once: what was planned is a burst for a limit that fell, and a part of one that was raised.
            return "a quota has changed"
        if time.monotonic() - self._began_s < _LEAST_QUERY_S or not self._times.are_known:
            return ""
        # Where batches take longer than they should, waiting for records is what can be made shorter.
        most_slower = _LATE_SLOWER if self._times.are_late(self.trigger_s()) else None
        if any(differ(each, self._again(each), most_slower) for each in self._planned):
            return "batches are planned anew, as quotas, leaders or the size of records have changed"
        return ""

    def wastes_a_batch(self) -> bool:
        """Whether a batch is so far above a limit that it had better be thrown away than read, or read on.

        A broker would hold it for long, and then send the rest of it as fast as before.
        """
        now = self._limits()
        return self._is_unread and any(
            now.get(each, before) < before / _WASTED for each, before in self._planned_limits.items()
        )

    def waste_batch(self) -> None:
        """Note what was read of the batch that is about to be thrown away."""
        self.is_wasted = True
        if self._pacer is None:
            return
        over_s = 0.0 if self._read_began_s is None else time.monotonic() - self._read_began_s
        part = min(1.0, over_s / self._read_s()) if self._read_s() else float(over_s > 0)
        used: dict[str, dict[int, float]] = {}
        for plan in (each for plans in self._planned for each in plans):
            count = sum(map(len, plan.starts.values()))
            size = part * (plan.max_offsets or 0) * self._record_size.mean_bytes * self._wire_ratio / count
            for topic, partitions in plan.starts.items():
                used.setdefault(topic, {}).update(dict.fromkeys(partitions, size))
        self._unpaid = self._pacer.waste(READ, used, Spread(over_s))

    def _limits(self) -> dict[int, float]:
        return {} if self._pacer is None else self._pacer.limits(READ)

    def _has_other_limits(self) -> bool:
        """Whether batches were planned by a limit that is another one by now; who shares it is not looked at."""
        now = self._limits()
        return any(
            abs(now[broker_id] - before) > _OTHER_LIMIT * before
            for broker_id, before in self._planned_limits.items()
            if broker_id in now
        )

    def leaves_out(self, extents: Extents) -> bool:
        """Whether there are partitions that no source reads, as each reads those alone that it began with.

        Never with state: its checkpoint does not go on with another number of sources.
        """
        return self._is_divided and any(leave_out(plans, extents) for plans in self._planned)

    def _take_sample(self, starts: Offsets) -> None:
        """Find out what records take on the wire, before anything is planned by it."""
        now_s = time.monotonic()
        if self._pacer is None or not self._pacer.has_quota(READ) or now_s < self._next_sample_s:
            return
        found = self._pacer.sample(starts)
        self._is_ratio_known = found is None
        if found is not None:
            self._next_sample_s = now_s + _SAMPLE_LASTS_S
            self._sample = found
            if not self._has_batches:
                self._record_size = RecordSize(found.offset_bytes)

    def _again(self, plans: list[SourcePlan]) -> list[SourcePlan]:
        starts: Offsets = {}
        for plan in plans:
            for topic, partitions in plan.starts.items():
                starts.setdefault(topic, {}).update(partitions)
        plans, _ = self._plan_now(starts, self._record_size.mean_bytes)
        return plans

    def _plan_now(self, starts: Offsets, record_bytes: float) -> tuple[list[SourcePlan], float]:
        """Plan sources as things are now; gives for how long a batch is to wait for its records, too."""
        read_s = self._read_s()
        rates = {} if self._pacer is None else self._pacer.rates(READ, self.trigger_s(), read_s)
        leaders = {} if self._pacer is None or not rates else self._pacer.leaders
        # By quotas a record counts with what it is on the wire, by the run's own limits with what it is.
        rates = {broker_id: rate / self._wire_ratio for broker_id, rate in rates.items()}
        offsets_per_s = sum(rates.values()) / record_bytes
        wait_s = self._times.wait_s(read_s, offsets_per_s * self.trigger_s())
        log_batch_bytes = 0.0 if self._sample is None else self._sample.batch_bytes
        fetching = Fetching(read_s, wait_s, self._slot_count, self._wire_ratio, log_batch_bytes)
        plans = plan_sources(
            starts,
            self._plan.limits,
            self.trigger_s(),
            record_bytes,
            leaders,
            rates,
            is_divided=self._is_divided,
            fetching=fetching,
        )
        return plans, wait_s

    def _is_full(self, record_count: int) -> bool:
        """Whether a batch has about all that it may have."""
        most = [plan.max_offsets for plans in self._planned for plan in plans]
        numbers = [each for each in most if each is not None]
        return bool(numbers) and len(numbers) == len(most) and record_count >= _FULL * sum(numbers)
