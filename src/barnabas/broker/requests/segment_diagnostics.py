"""The subject `segments` of Facts: the segments of logs, and which rule deletes or retains each.

The rules are those of retention (`log/retention.py`) and of the cleaner (`log/cleaner`), which report their decisions.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from barnabas.broker.diagnostics import Row
from barnabas.broker.log.appends.rules import COMPACT
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.retention import learn_ages, standings
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.diagnostic_query import DiagnosticQuery, Found
from barnabas.broker.requests.slices import MORE, Step
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending
from barnabas.wire.records.errors import CorruptRecordsError

# The oldest segments of one log; the others are only counted.
_MOST_SEGMENTS: Final = 200


def segments(query: DiagnosticQuery) -> Found:
    """Yield a row for each partition that this broker hosts."""
    services = query.ctx.services
    removed: dict[tuple[str, int], list[Any]] = {}
    for line in query.diagnostics.segments.lines():
        row = json.loads(line)
        if row["at_ms"] >= query.since_ms:
            key = row.pop("topic"), row.pop("partition")
            removed.setdefault(key, []).append(row)
        yield MORE
    for partition in query.hosted():
        ages: Pending[None] = Pending()
        learn_ages(partition.log, services.executor, lambda: ages.complete(None), ages.fail)  # noqa: B023  # at once
        yield Step(ages)
        log = partition.log
        if not log.is_closed and not log.is_truncating and ages.error is None:
            yield _row(query, partition, log, removed.get(partition.topic_partition, []))
        yield MORE


def _row(query: DiagnosticQuery, partition: Partition, log: PartitionLog, removed: list[Any]) -> Row:
    now_ms = query.ctx.services.clock.now_ms()
    topic, index = log.topic_partition
    told: list[Any] = []
    failure = None
    try:
        told.extend(_segments(partition, log, now_ms))
    except (StorageError, CorruptRecordsError) as error:
        failure = str(error)
    return {
        "topic": topic,
        "partition": index,
        "is_leader": partition.is_leader,
        "bytes": log.size_bytes,
        "high_watermark": partition.high_watermark,
        "segment_count": len(log.segments),
        "segments": told[:_MOST_SEGMENTS],
        "compaction": _compaction(query, partition, log, now_ms),
        "removed": [*removed],
        "failure": failure,
    }


def _segments(partition: Partition, log: PartitionLog, now_ms: int) -> Iterator[Any]:
    for segment, standing in zip(log.segments, standings(log, partition.high_watermark, now_ms), strict=True):
        yield {
            "base": segment.base_offset,
            "bytes": segment.size,
            "newest_ms": segment.largest_timestamp(),
            "is_active": segment is log.segments[-1],
            "goes_at_ms": standing.goes_at_ms,
            "rule": standing.rule or None,
            "kept_by": standing.kept_by or None,
        }


def _compaction(query: DiagnosticQuery, partition: Partition, log: PartitionLog, now_ms: int) -> Any:
    cleaner = query.ctx.services.log_dirs.cleaner
    if COMPACT not in log.config.cleanup_policy or cleaner is None:
        return None
    try:
        cleanable, failure = cleaner.standing(log, partition.high_watermark, now_ms)
    except (StorageError, CorruptRecordsError):
        # The row reports the failure.
        return None
    return {
        "first_dirty_offset": cleanable.first_dirty_offset,
        "first_uncleanable_offset": cleanable.first_uncleanable_offset,
        "dirty_ratio": cleanable.dirty_ratio,
        "is_overdue": cleanable.is_overdue,
        "uncleanable": None if failure is None else str(failure),
    }
