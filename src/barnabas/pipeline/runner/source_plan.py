"""A run's sources: which partitions each reads, and how many of their offsets a batch takes at the most. Pure.

Spark's Kafka source takes `maxOffsetsPerTrigger` of all its partitions together, as much of each as it is behind. So
one source reads all; with a limit per partition each partition is a source of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.positions import Extents
from barnabas.pipeline.tables.table import Offsets

# An answer is a small part of a batch: a broker holds a client for as long as one answer was too large, and what
# consumers ask for ahead is lost when a query ends.
_ANSWERS_PER_BATCH = 8
_LEAST_ANSWER_BYTES, _MOST_ANSWER_BYTES = 16_384, 1_048_576


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """One source.

    Attributes:
        starts: Its partitions, and where each begins.
        max_offsets: Of one batch; None: no limit.
        is_assigned: It reads these partitions alone; else partitions that are added to its topics, too.
        fetch_bytes: Of a partition in one answer; None: as consumers do by default.
    """

    starts: Offsets
    max_offsets: int | None
    is_assigned: bool = False
    fetch_bytes: int | None = None


class BatchSize(NamedTuple):
    """The size of a batch that a quota allows."""

    offset_count: int
    byte_count: float


def plan_sources(
    starts: Offsets, limits: Limits, trigger_s: float, record_bytes: float, by_quota: BatchSize | None = None
) -> list[SourcePlan]:
    """Return the sources of one query.

    Args:
        starts: Where each partition begins.
        limits: The run's own.
        trigger_s: Seconds from batch to batch.
        record_bytes: Mean size of a record.
        by_quota: What quotas allow of a batch; None: they limit nothing.
    """
    groups = _each_partition(starts) if limits.is_per_partition else [starts]
    number_count = max(1, sum(map(len, starts.values())))
    plans = []
    for group in groups:
        most = limits.offsets_per_trigger(trigger_s, record_bytes, len(groups))
        fetch_bytes = None
        if by_quota is not None:
            share = max(1, by_quota.offset_count // len(groups))
            most = share if most is None else min(most, share)
            answer_bytes = by_quota.byte_count / number_count / _ANSWERS_PER_BATCH
            fetch_bytes = round(min(max(answer_bytes, _LEAST_ANSWER_BYTES), _MOST_ANSWER_BYTES))
        plans.append(SourcePlan(group, most, limits.is_per_partition, fetch_bytes))
    return plans


def _each_partition(starts: Offsets) -> list[Offsets]:
    return [
        {topic: {number: offset}}
        for topic, partitions in sorted(starts.items())
        for number, offset in sorted(partitions.items())
    ]


def leave_out(planned: Iterable[SourcePlan], extents: Extents) -> bool:
    """Return whether the sources of one query miss partitions that its topics have: such as were added since it
    began.
    """
    read: dict[str, set[int]] = {}
    for plan in planned:
        if not plan.is_assigned:
            return False
        for topic, partitions in plan.starts.items():
            read.setdefault(topic, set()).update(partitions)
    return any(not numbers.issuperset(extents.get(topic, ())) for topic, numbers in read.items())
