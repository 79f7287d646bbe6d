"""What a run's sources are: which partitions each reads, and how many of their offsets a batch takes at the most. Pure.

Spark's Kafka source takes `maxOffsetsPerTrigger` of all its partitions together, as much of each as it is behind. So

- without quotas one source reads all, by the run's own limits;
- with a limit per partition each partition is a source of its own;
- with quotas, which are per broker, each leader's partitions are a source of their own where there is more than one;
- a job with state has one source for all of its quotas: its checkpoint outlives them, and Spark refuses to go on from a
  checkpoint with another number of sources.

A batch is planned a little larger than its time allows: how fast it really goes is for the pacer to say, which holds
the batch's end, and follows a limit that changes without a new start.

A batch that is read at once is a burst, for which a part of the quota must be left free. So under a quota its reading
is made to last: a fetch asks for more than it may have, which a broker answers with what it may have once
`fetch.max.wait.ms` is over. (What lies in an older segment is answered at once: there the batch is a burst again.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.positions import Extents
from barnabas.pipeline.runner.quota_watch import Leaders
from barnabas.pipeline.tables.table import Offsets

# A batch that comes at once is larger than what may be read in its time by this: it is held for the rest.
_LARGER = 1.05
# Sources are planned anew where one should take so many times as much, or as little.
_TOLERANCE = 1.6
# Consumers ask for more before they need it, which is lost when a query ends: so an answer is a small part of a batch.
_FETCHES_PER_BATCH, _EVEN_FETCHES_PER_BATCH = 8, 16
_LEAST_FETCH_BYTES, _MOST_FETCH_BYTES = 16_384, 1_048_576
# What an answer takes beside waiting for it, about.
_ANSWER_MS = 20
# An answer comes so often, in seconds: not all the time, nor as a burst.
_LEAST_FETCH_S, _MOST_FETCH_S = 0.02, 0.5
# Of a partition of which an answer may hold that, it holds one whole batch. One that may hold more ends in a part of a
# batch as often as not, which counts and is thrown away.
_ONE_BATCH_BYTES = 1


@dataclass(frozen=True, slots=True)
class Fetching:
    """How a batch is to be fetched under a quota.

    Attributes:
        read_s: How long reading it is to take; 0: it is not to wait at all.
        wait_s: How much of that is waiting for answers.
        slot_count: How many partitions are read at the same time, at the most.
        wire_ratio: Bytes on the wire for each that `rates` count.
        log_batch_bytes: Mean size of the batches in the logs, on the wire; 0: not known.
    """

    read_s: float = 0.0
    wait_s: float = 0.0
    slot_count: int = 1
    wire_ratio: float = 1.0
    log_batch_bytes: float = 0.0


_AT_ONCE = Fetching()


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """One source.

    Attributes:
        starts: Its partitions, and where each begins.
        max_offsets: Of one batch; None: no limit.
        is_assigned: It reads these partitions alone; else partitions that are added to its topics, too.
        fetch_bytes: Of a partition in one answer; None: as consumers do by default.
        fetch_wait_ms: From answer to answer, however much there is; None: an answer comes at once.
        is_by_quota: It is a broker's quota that allows no more of one batch, and no limit of the run's own.
    """

    starts: Offsets
    max_offsets: int | None
    is_assigned: bool = False
    fetch_bytes: int | None = None
    fetch_wait_ms: int | None = None
    is_by_quota: bool = False


def plan_sources(
    starts: Offsets,
    limits: Limits,
    trigger_s: float,
    record_bytes: float,
    leaders: Leaders,
    rates: Mapping[int, float],
    *,
    is_divided: bool = True,
    fetching: Fetching = _AT_ONCE,
) -> list[SourcePlan]:
    """Plan a run's sources.

    Args:
        starts: Where each partition begins.
        limits: The run's own.
        trigger_s: How long a batch is to be.
        record_bytes: Mean size of a record, by the measure that `rates` have.
        leaders: Who leads the partitions; those whose leader is not known are read with those of the strictest quota.
        rates: Bytes/s by broker, of those with a quota.
        is_divided: Whether leaders' partitions may be sources of their own; else all are read by the strictest quota.
        fetching: How batches are fetched where a quota holds.
    """
    groups = _groups(starts, limits, leaders if is_divided else {}, rates)
    turn_count = ceil(_size(starts) / fetching.slot_count)
    plans = []
    larger = 1.0 if fetching.read_s else _LARGER
    for broker_id, group in groups:
        number_count = sum(map(len, group.values()))
        most = limits.offsets_per_trigger(trigger_s, record_bytes, len(groups))
        fetch_bytes = fetch_wait_ms = None
        is_by_quota = False
        if broker_id in rates:
            led_count = sum(_size(each) for other, each in groups if other == broker_id)
            batch_bytes = larger * rates[broker_id] * trigger_s * number_count / led_count
            by_quota = max(1, round(batch_bytes / record_bytes))
            is_by_quota = most is None or by_quota < most
            most = by_quota if most is None else min(most, by_quota)
            part_bytes = batch_bytes * fetching.wire_ratio / number_count
            fetch_bytes, fetch_wait_ms = _fetch(
                part_bytes, fetching.read_s / turn_count, fetching.wait_s / turn_count, fetching.log_batch_bytes
            )
        is_assigned = len(groups) > 1 or limits.is_per_partition
        plans.append(SourcePlan(group, most, is_assigned, fetch_bytes, fetch_wait_ms, is_by_quota))
    return plans


def _fetch(part_bytes: float, read_s: float, wait_s: float, log_batch_bytes: float) -> tuple[int, int | None]:
    """Give how much of a partition an answer may hold, and how long it waits (milliseconds), for all to take its time.

    Args:
        part_bytes: What a batch has of the partition, on the wire.
        read_s: The partition's part of the time.
        wait_s: How much of it is waiting.
    """
    wanted = min(max(part_bytes / _FETCHES_PER_BATCH, _LEAST_FETCH_BYTES), _MOST_FETCH_BYTES)
    if read_s <= 0:
        return round(wanted), None
    log_batch_part = log_batch_bytes / part_bytes
    if log_batch_part > 1:
        # An answer that takes as long as all is to take makes nothing even.
        return round(wanted), None
    if log_batch_part * read_s >= _LEAST_FETCH_S:
        return _ONE_BATCH_BYTES, max(1, round(log_batch_part * wait_s * 1_000))
    if wait_s <= 0:
        return round(wanted), None
    one_s = min(_MOST_FETCH_S, wait_s / _EVEN_FETCHES_PER_BATCH)
    return max(1, round(part_bytes * one_s / wait_s)), max(1, round(one_s * 1_000))


def _groups(starts: Offsets, limits: Limits, leaders: Leaders, rates: Mapping[int, float]) -> list[tuple[int, Offsets]]:
    """Divide partitions into those of each source, with the broker whose quota counts for it; -1: none does."""
    strictest = min(rates, key=lambda each: rates[each], default=-1)
    by_leader: dict[int, Offsets] = {}
    each_by_itself: list[tuple[int, Offsets]] = []
    for topic, partitions in sorted(starts.items()):
        for number, offset in sorted(partitions.items()):
            leader = leaders.get(topic, {}).get(number, -1)
            broker_id = strictest if leader < 0 else leader if leader in rates else -1
            by_leader.setdefault(broker_id, {}).setdefault(topic, {})[number] = offset
            each_by_itself.append((broker_id, {topic: {number: offset}}))
    return each_by_itself if limits.is_per_partition else sorted(by_leader.items())


def _size(offsets: Offsets) -> int:
    return sum(map(len, offsets.values()))


def differ(planned: list[SourcePlan], wanted: list[SourcePlan], most_slower: float | None = None) -> bool:
    """Whether sources should be started anew: others lead, or batches are far from the size that they should have.

    Args:
        most_slower: They may be fetched so many times as slowly as wanted, where that is less than they may differ.
    """
    if [_partitions(each) for each in planned] != [_partitions(each) for each in wanted]:
        return True
    for before, now in zip(planned, wanted, strict=True):
        if (before.max_offsets is None) != (now.max_offsets is None):
            return True
        if before.max_offsets is None or now.max_offsets is None:
            continue
        if _is_far(before.max_offsets, now.max_offsets):
            return True
        # One batch of the log at a time, many, or none waited for: near their borders these would take turns.
        is_alike = (before.fetch_bytes == _ONE_BATCH_BYTES) == (now.fetch_bytes == _ONE_BATCH_BYTES)
        if is_alike and before.fetch_wait_ms and now.fetch_wait_ms:
            rate, wanted_rate = _fetch_rate(before), _fetch_rate(now)
            if _is_far(rate, wanted_rate) or (most_slower is not None and wanted_rate > most_slower * rate):
                return True
    return False


def _is_far(before: float, now: float) -> bool:
    return not before / _TOLERANCE <= now <= before * _TOLERANCE


def _fetch_rate(plan: SourcePlan) -> float:
    """Bytes that an answer may hold for each millisecond that it takes; of one batch at a time, by that time alone."""
    if not plan.fetch_bytes or not plan.fetch_wait_ms:
        return 0.0
    return plan.fetch_bytes / (plan.fetch_wait_ms + _ANSWER_MS)


def leave_out(planned: list[SourcePlan], extents: Extents) -> bool:
    """Whether the sources of one query miss partitions that its topics have: such as were added since it began."""
    if not all(plan.is_assigned for plan in planned):
        return False
    read: dict[str, set[int]] = {}
    for plan in planned:
        for topic, partitions in plan.starts.items():
            read.setdefault(topic, set()).update(partitions)
    return any(not numbers.issuperset(extents.get(topic, ())) for topic, numbers in read.items())


def _partitions(plan: SourcePlan) -> list[tuple[str, list[int]]]:
    return [(topic, sorted(partitions)) for topic, partitions in sorted(plan.starts.items())]
