"""How much a run reads at a time, by its own limits and by quotas, and when that is to be planned anew.

A batch is what a quota allows in ten seconds (or a longer trigger's time):

    records of a batch = bytes/s x seconds / mean size of a record

One batch follows the other, and brokers hold who is faster: so a run takes what the quota gives. A batch has a size so
that rows come, and a stop is heeded, every ten seconds, and an answer a size so that no hold is a long one. How much a
batch takes is fixed when a query starts. So the query is started again where a limit has changed, or where batches have
become far too large or small otherwise.

Bytes are taken as they are without compression. Where it makes batches end in less than half of their time, they are
made larger.

Whatever is allowed, a batch has a bound: its records are kept until it is written, and a backlog is of any size.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.limits import Limits, RecordSize
from barnabas.pipeline.runner.positions import Extents
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.source_plan import BatchSize, SourcePlan, leave_out, plan_sources
from barnabas.pipeline.tables.table import Offsets
from barnabas.wire.quotas.limits import QuotaKind

_TRIGGER_S = 1.0
_FIRST_RECORD_BYTES = 1_000.0
# What a quota allows in so many seconds is a batch. A broker takes its rate over ten, so what a job does beside reading
# costs it nothing as long as that is less.
_BATCH_S = 10.0
# Sources are planned anew where a limit, or what a batch should have, is so many times another one; the latter, and
# what batches take, is looked at after so many of them: the first ones may take what brokers allow at once.
_TOLERANCE = 1.6
_LEAST_BATCH_COUNT = 4
# A batch that has so much of what it may was cut short by that.
_FULL = 0.9
_MOST_GROWTH = 32.0
# Of one batch: it takes some ten seconds, and a driver with Spark's memory by default keeps it.
_MOST_OFFSETS = 250_000


class Paced(Protocol):
    """A plan's part about a run's pace."""

    @property
    def limits(self) -> Limits:
        """Its own."""

    @property
    def trigger_s(self) -> float | None:
        """Seconds between batches, at least; None: one."""


class Allowance(NamedTuple):
    """Quotas of one kind at one cluster, of which a batch uses as many bytes as it has."""

    quotas: QuotaClient
    kind: QuotaKind


class Reading:
    """The reading side of one run.

    Attributes:
        limited_by: What holds the run back, for people.
    """

    def __init__(
        self,
        plan: Paced,
        allowances: Sequence[Allowance] = (),
        *,
        is_divided: bool = True,
        most_offsets: int = _MOST_OFFSETS,
    ) -> None:
        """Args:
        allowances: The quotas that batches are sized by.
        is_divided: Whether another number of sources may be read after a new start.
        most_offsets: Of a batch, whatever is allowed.
        """
        self.limited_by = "nothing"
        self._plan = plan
        self._allowances = allowances
        self._is_divided = is_divided
        self._most_offsets = most_offsets
        self._record_size = RecordSize(_FIRST_RECORD_BYTES)
        self._growth = 1.0
        self._planned: list[list[SourcePlan]] = []
        self._planned_size: BatchSize | None = None
        self._planned_limits: list[float] = []
        # Records/s that the run's own limits allow.
        self._own_per_s = inf
        self._batch_count = 0
        self._ended_at_s: float | None = None
        self._took_s: float | None = None

    @property
    def trigger_s(self) -> float:
        """Seconds from batch to batch, at the least."""
        return _TRIGGER_S if self._plan.trigger_s is None else self._plan.trigger_s

    def begin(self) -> None:
        """Ask which quotas hold, before queries start, and forget what was planned for earlier ones."""
        for each in self._allowances:
            each.quotas.ask()
        self._record_size.assume()
        self._planned = []
        self._planned_size = self._size_by_quota()
        self._planned_limits = self._limits()
        self._batch_count = 0
        self._ended_at_s = self._took_s = None

    def sources(self, starts: Offsets) -> list[SourcePlan]:
        """Return the sources of one query that begins at `starts`."""
        record_bytes = self._record_size.mean_bytes
        own = plan_sources(starts, self._plan.limits, self.trigger_s, record_bytes)
        self._own_per_s = sum(each.max_offsets or inf for each in own) / self.trigger_s
        plans = plan_sources(starts, self._plan.limits, self.trigger_s, record_bytes, self._planned_size)
        most = max(1, self._most_offsets // len(plans))
        plans = [replace(each, max_offsets=min(each.max_offsets or most, most)) for each in plans]
        self._planned.append(plans)
        return plans

    def account(self, report: BatchReport) -> None:
        """Take in a batch that has ended."""
        self._record_size.measure(report.record_count, report.payload_bytes)
        self._batch_count += 1
        now_s = time.monotonic()
        is_full = self._is_full(report.record_count)
        if is_full and self._ended_at_s is not None:
            took_s = now_s - self._ended_at_s
            self._took_s = took_s if self._took_s is None else (self._took_s + took_s) / 2
        self._ended_at_s = now_s if is_full else None
        self.limited_by = self._limit() if is_full else "nothing"

    def reason_to_restart(self) -> str:
        """Return why the queries should be started anew; empty where they should not."""
        for each in self._allowances:
            each.quotas.ask(again=True)
        if self._plan.limits.bytes_per_s and self._record_size.has_moved:
            return "records have another size than before: the limit is set anew"
        now, before = self._limits(), self._planned_limits
        if len(now) != len(before) or any(map(_differ, now, before)):
            return "a quota has changed"
        size, planned = self._size_by_quota(), self._planned_size
        if self._batch_count < _LEAST_BATCH_COUNT or size is None or planned is None:
            return ""
        batch_s = self._batch_s
        if self._took_s is not None and 2 * self._took_s < batch_s and self._growth < _MOST_GROWTH:
            self._growth = min(self._growth * batch_s / self._took_s, _MOST_GROWTH)
            return "batches end early, as records are compressed: they are made larger"
        if _differ(size.offset_count, planned.offset_count):
            return "batches are planned anew, as the size of records has changed, or who shares a quota"
        return ""

    def leaves_out(self, extents: Extents) -> bool:
        """Return whether there are partitions that no source reads, as each reads those alone that it began with.

        Never with state: its checkpoint does not go on with another number of sources.
        """
        return self._is_divided and any(leave_out(plans, extents) for plans in self._planned)

    @property
    def _batch_s(self) -> float:
        return max(_BATCH_S, self.trigger_s)

    def _rates(self) -> list[tuple[float, Allowance]]:
        """Return the bytes/s that each quota allows."""
        return [(rate, each) for each in self._allowances if (rate := each.quotas.rate(each.kind)) is not None]

    def _limits(self) -> list[float]:
        """Return the brokers' limits, whoever shares them."""
        return [quota.limit for each in self._allowances for quota in each.quotas.of(each.kind)]

    def _size_by_quota(self) -> BatchSize | None:
        """Return what quotas allow of a batch; None where none holds."""
        rate = min((rate for rate, _ in self._rates()), default=None)
        if rate is None:
            return None
        byte_count = rate * self._batch_s
        return BatchSize(max(1, int(self._growth * byte_count / self._record_size.mean_bytes)), byte_count)

    def _limit(self) -> str:
        """Return what made a full batch no larger: the quota or own limit that allows the fewest records/s."""
        record_bytes = self._record_size.mean_bytes
        rate, strictest = min(self._rates(), key=lambda each: each[0], default=(0.0, None))
        if strictest is None or self._own_per_s <= self._growth * rate / record_bytes:
            return self._plan.limits.strictest(record_bytes) or "nothing"
        strictest.quotas.note_limited(strictest.kind)
        return strictest.quotas.strictest(strictest.kind)

    def _is_full(self, record_count: int) -> bool:
        """Return whether a batch has about all that it may have."""
        most = [plan.max_offsets for plans in self._planned for plan in plans]
        numbers = [each for each in most if each is not None]
        return bool(numbers) and len(numbers) == len(most) and record_count >= _FULL * sum(numbers)


def _differ(one: float, other: float) -> bool:
    return max(one, other) > _TOLERANCE * min(one, other)
