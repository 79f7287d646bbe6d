"""The size and the timing of batches, by the run's own limits and by quotas.

A batch has the records that the quota allows in ten seconds (or a longer trigger interval):

    records of a batch = bytes/s x seconds / mean size of a record

Batches follow each other without a pause. Brokers throttle a faster client, so a run reads at the rate of its quota. A
batch is small enough that rows are committed, and a run can stop, every ten seconds. A fetch response is small enough
that each throttle time is short. A batch is planned when it begins, by the limits at that time.

Bytes are counted without compression, so batches of compressed records end sooner.

Without a backlog, the next batch starts after 1.5 times the duration of this one: small batches cost as much as large
ones, and must not occupy all cores for a few records a second. Batches start at most ten seconds apart, unless the run
sets a trigger interval.

In any case a batch is bounded in records for each core, and its tasks are bounded in bytes and seconds.
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
# refreshes. With this value, results are a sixth fresher, and rows of the job load one to two seconds older.
TRIGGER_TOGETHER_S = 4.0
# Multiple of a batch's duration after which the next batch starts.
_WITH_REST = 1.5
_FIRST_RECORD_BYTES = 1_000.0
# A batch has the bytes that a quota allows in this time. A broker measures rates over ten seconds, so shorter pauses
# between reads do not reduce a job's throughput.
_BATCH_S = 10.0
# A batch with this share of its bound counts as limited by the bound.
_FULL = 0.9
# Per batch and core. Tasks also have bounds in bytes and seconds (`ingest/task.py`).
_MOST_OFFSETS = 400_000
# Fetch responses per batch and partition: a broker throttles a client in proportion to the excess of one response.
_ANSWERS_PER_BATCH = 8
_LEAST_ANSWER_BYTES, _MOST_ANSWER_BYTES = 16_384, 1_048_576


class BatchLimits(Protocol):
    """The settings of a plan that limit batches."""

    @property
    def limits(self) -> Limits:
        """The run's own limits."""

    @property
    def trigger_s(self) -> float | None:
        """Seconds between batches, at least; None: by their duration (`BatchSizer.next_after_s`)."""


class BatchSizer:
    """Decides the size and the timing of each batch of a run.

    Attributes:
        limited_by: The limit of the rate, as text.
        fetch_bytes: Bytes of a partition in one fetch response; None: the consumer's default.
    """

    def __init__(self, plan: BatchLimits, quotas: QuotaClient | None = None, apart_s: float = TRIGGER_S) -> None:
        """Args:
        plan: The run's own limits.
        quotas: The quotas that limit batches; None: no quotas.
        apart_s: The least seconds between the starts of two batches without a backlog, if the plan has no trigger.
        """
        self.limited_by = "nothing"
        self.fetch_bytes: int | None = None
        self._plan = plan
        self._quotas = quotas
        self._apart_s = apart_s
        self._record_size = RecordSize(_FIRST_RECORD_BYTES)
        # Of the last planned batch: its bound, the records/s that the run's own limits allow, whether records are left.
        self._most = self._own_per_s = inf
        self._leaves_some = False
        self._planned: Offsets = {}

    @property
    def trigger_s(self) -> float:
        """Seconds between the starts of two batches, at least; 0 only without own limits, which are per second."""
        trigger_s = self._plan.trigger_s
        is_limited = self._plan.limits != Limits()
        return TRIGGER_S if trigger_s is None or (trigger_s == 0 and is_limited) else trigger_s

    def next_after_s(self, took_s: float) -> float:
        """Return the seconds from the start of a batch to the start of the next one.

        Args:
            took_s: The duration of the batch.
        """
        if self._plan.trigger_s is not None or self._leaves_some:
            return self.trigger_s
        return min(max(self._apart_s, _WITH_REST * took_s), _BATCH_S)

    def next_ends(self, starts: Offsets, ends: Offsets, core_count: int) -> Offsets:
        """Plan a batch that starts now: return its end offsets, in proportion to each partition's lag.

        Refreshes the quotas if they are some seconds old.

        Args:
            starts: The batch's start offsets.
            ends: The readable end offsets.
            core_count: Cores of all executors.
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
            # A power of two changes rarely: a consumer is reused only with the same settings.
            self.fetch_bytes = 1 << int(answer_bytes).bit_length() - 1
        planned = _shared_out(starts, ends, int(self._most), most_of_each)
        self._leaves_some = planned != ends
        self._planned = planned
        return planned

    def account(self, report: BatchReport) -> None:
        """Record the figures of a completed batch."""
        self._record_size.measure(report.record_count, report.payload_bytes)
        is_full = report.record_count >= _FULL * self._most
        # Its tasks reached their bounds: the bound in seconds, if a broker throttled them.
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
        """Return the bytes/s that quotas allow; None without a quota."""
        return None if self._quotas is None else self._quotas.rate(READ)

    def _limit(self) -> str:
        """Return the quota or own limit that allows the fewest records/s, which bounded a full batch."""
        record_bytes, rate = self._record_size.mean_bytes, self._rate()
        if self._quotas is None or rate is None or self._own_per_s <= rate / record_bytes:
            return self._plan.limits.strictest(record_bytes) or "nothing"
        self._quotas.note_limited(READ)
        return self._quotas.strictest(READ)


def _shared_out(starts: Offsets, ends: Offsets, most: int, most_of_each: int | None) -> Offsets:
    """Return the end offsets of a batch of `most` offsets; each partition with lag gets at least one offset."""
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
