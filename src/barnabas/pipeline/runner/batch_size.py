"""The size and the time of batches, by the run's own limits and by quotas.

A batch is what a quota allows in ten seconds (or a longer trigger's time):

    records of a batch = bytes/s x seconds / mean size of a record

Batches follow each other without a pause. Brokers throttle a faster client, so a run reads at the rate of its quota. A
batch is small enough that rows are committed, and a run can stop, every ten seconds. An answer is small enough that
each throttle time is short. A batch is planned when it begins, by the limits of that moment.

Bytes are counted without compression, so batches of compressed records end sooner.

Where nothing is left to read, the next batch waits half as long as this one took: small batches cost what large ones
do, and all of the cores for a few records a second is too much. Batches begin ten seconds apart at the most, or as the
run says.

Whatever is allowed, a batch has a bound in records for each core, and its tasks have one in bytes and seconds.
"""

from math import inf
from typing import Protocol

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.limits import Limits, RecordSize
from barnabas.pipeline.runner.quota import READ
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.tables.table import Offsets

TRIGGER_S = 1.0
# The default if several jobs share the cores and some derive results: each batch has a fixed cost, which delays the
# refreshes. This makes results a sixth younger, and rows of load one to two seconds older.
TRIGGER_TOGETHER_S = 4.0
# Of a batch's own time, until the next one begins.
_WITH_REST = 1.5
_FIRST_RECORD_BYTES = 1_000.0
# What a quota allows in so many seconds is a batch. A broker takes its rate over ten, so what a job does beside reading
# costs it nothing as long as that is less.
_BATCH_S = 10.0
# A batch that has so much of what it may was cut short by that.
_FULL = 0.9
# Of a batch, for each core. Tasks have bounds in bytes and seconds, too (`ingest/task.py`).
_MOST_OFFSETS = 400_000
# An answer is a small part of a batch: a broker throttles a client in proportion to the excess of one answer.
_ANSWERS_PER_BATCH = 8
_LEAST_ANSWER_BYTES, _MOST_ANSWER_BYTES = 16_384, 1_048_576


class BatchLimits(Protocol):
    """The settings of a plan that limit batches."""

    @property
    def limits(self) -> Limits:
        """Its own."""

    @property
    def trigger_s(self) -> float | None:
        """Seconds between batches, at least; None: as they take (`BatchSizer.next_after_s`)."""


class BatchSizer:
    """Decides the size and the time of each batch of a run.

    Attributes:
        limited_by: The limit of the rate, as text.
        fetch_bytes: Of a partition in one answer; None: as consumers do by default.
    """

    def __init__(self, plan: BatchLimits, quotas: QuotaClient | None = None, apart_s: float = TRIGGER_S) -> None:
        """Args:
        plan: The run's own limits.
        quotas: The quotas that batches are sized by; None: by none.
        apart_s: The least seconds between the starts of two batches without a backlog, if the plan has no trigger.
        """
        self.limited_by = "nothing"
        self.fetch_bytes: int | None = None
        self._plan = plan
        self._quotas = quotas
        self._apart_s = apart_s
        self._record_size = RecordSize(_FIRST_RECORD_BYTES)
        # Of the batch that was planned last: its bound, the records/s that the run's own limits allow, whether there is
        # more.
        self._most = self._own_per_s = inf
        self._leaves_some = False
        self._planned: Offsets = {}

    @property
    def trigger_s(self) -> float:
        """Seconds from batch to batch, at the least."""
        return TRIGGER_S if self._plan.trigger_s is None else self._plan.trigger_s

    def next_after_s(self, took_s: float) -> float:
        """Return how long after a batch's begin the next one may begin, in seconds.

        Args:
            took_s: How long the batch took, and what was derived behind it.
        """
        if self._plan.trigger_s is not None or self._leaves_some:
            return self.trigger_s
        return min(max(self._apart_s, _WITH_REST * took_s), _BATCH_S)

    def next_ends(self, starts: Offsets, ends: Offsets, core_count: int) -> Offsets:
        """Return where a batch ends that begins now, by how far each partition is behind; asks which quotas apply.

        Args:
            starts: Where it begins.
            ends: What is there.
            core_count: Of all executors.
        """
        if self._quotas is not None:
            self._quotas.ask(again=True)
        limits, record_bytes = self._plan.limits, self._record_size.mean_bytes
        partition_count = max(1, sum(map(len, starts.values())))
        own_per_s, most_of_each = limits.rate(record_bytes), None
        if limits.records_per_s_per_partition:
            most_of_each = max(1, int(limits.records_per_s_per_partition * self.trigger_s))
            own_per_s = min(own_per_s, limits.records_per_s_per_partition * partition_count)
        self._own_per_s = own_per_s
        self._most = max(1.0, min(core_count * _MOST_OFFSETS, own_per_s * self.trigger_s))
        self.fetch_bytes = None
        if (rate := self._rate()) is not None:
            byte_count = rate * self._batch_s
            self._most = min(self._most, max(1.0, byte_count / record_bytes))
            answer_bytes = byte_count / partition_count / _ANSWERS_PER_BATCH
            answer_bytes = min(max(answer_bytes, _LEAST_ANSWER_BYTES), _MOST_ANSWER_BYTES)
            # Consumers are kept from batch to batch as long as this is the same.
            self.fetch_bytes = 1 << int(answer_bytes).bit_length() - 1
        planned = _shared_out(starts, ends, int(self._most), most_of_each)
        self._leaves_some = planned != ends
        self._planned = planned
        return planned

    def account(self, report: BatchReport) -> None:
        """Take in a batch that has ended."""
        self._record_size.measure(report.record_count, report.payload_bytes)
        is_full = report.record_count >= _FULL * self._most
        # Its tasks came to their bounds: by time, where a broker throttled them.
        is_cut = any(
            end < self._planned.get(topic, {}).get(number, 0)
            for topic, ends in report.ends.items()
            for number, end in ends.items()
        )
        self._leaves_some |= is_cut
        is_throttled = is_cut and self._rate() is not None
        self.limited_by = self._limit() if is_full or is_throttled else "nothing"

    @property
    def _batch_s(self) -> float:
        return max(_BATCH_S, self.trigger_s)

    def _rate(self) -> float | None:
        """Return the bytes/s that quotas allow; None if there are none."""
        return None if self._quotas is None else self._quotas.rate(READ)

    def _limit(self) -> str:
        """Return what made a full batch no larger: the quota or own limit that allows the fewest records/s."""
        record_bytes, rate = self._record_size.mean_bytes, self._rate()
        if self._quotas is None or rate is None or self._own_per_s <= rate / record_bytes:
            return self._plan.limits.strictest(record_bytes) or "nothing"
        self._quotas.note_limited(READ)
        return self._quotas.strictest(READ)


def _shared_out(starts: Offsets, ends: Offsets, most: int, most_of_each: int | None) -> Offsets:
    """Return where a batch of so many offsets ends; each partition that is behind gets one at the least."""
    behind = {
        (topic, number): max(0, ends[topic][number] - start)
        for topic, partitions in starts.items()
        for number, start in partitions.items()
    }
    if most_of_each is not None:
        behind = {place: min(count, most_of_each) for place, count in behind.items()}
    if (total := sum(behind.values())) > most:
        behind = {place: max(1, count * most // total) if count else 0 for place, count in behind.items()}
    return {
        topic: {number: start + behind[topic, number] for number, start in partitions.items()}
        for topic, partitions in starts.items()
    }
