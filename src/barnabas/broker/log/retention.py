"""Which of a log's oldest segments may go: by age, by size, and below the log start offset.

Invariants: the rules apply one after the other, each to what the one before has left; segments go from the oldest on,
stopping at the first that must stay; nothing at or above the high watermark goes; an empty active segment stays.

Source: configuration page, retention.ms and retention.bytes; log-format facts, retention; Kafka 2.7.2's
`Log.deleteOldSegments` for the order of the rules.
"""

from collections.abc import Callable

from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segments.segment import Segment
from barnabas.core.executor import Executor

DELETE = "delete"

_MayGo = Callable[[Segment, Segment | None], bool]
_Rule = Callable[[PartitionLog, int], _MayGo]


def apply_retention(log: PartitionLog, high_watermark: int, now_ms: int) -> int:
    """Delete what the topic's settings no longer keep; how many segments that are.

    Raises:
        StorageError: The disk failed.
        CorruptRecordsError: A segment does not tell how old it is; what the rules before it wanted is done.
    """
    rules = _DELETE_RULES if DELETE in log.config.cleanup_policy else _COMPACT_RULES
    deleted_count = 0
    for rule in rules:
        # A rule looks at the log when its turn comes: what an earlier one deleted is no excess any more.
        count = _count(log, high_watermark, rule(log, now_ms))
        if count:
            log.delete_oldest_segments(count)
            deleted_count += count
    return deleted_count


def learn_ages(
    log: PartitionLog, executor: Executor, then: Callable[[], object], failed: Callable[[BaseException], object]
) -> None:
    """Read, in an executor, how old those segments are that nobody has looked at since the log was opened.

    Args:
        then: Called on the event loop when `apply_retention` can tell without a disk; at once where it can already.
        failed: Called when they can't be read.
    """
    unknown = [segment for segment in log.segments if not segment.knows_largest_timestamp]
    if not unknown or log.is_closed or log.config.retention_ms < 0 or DELETE not in log.config.cleanup_policy:
        then()
        return

    def learned(timestamps_ms: list[int]) -> None:
        for segment, timestamp_ms in zip(unknown, timestamps_ms, strict=True):
            if segment in log.segments:
                segment.take_largest_timestamp(timestamp_ms)
        then()

    executor.run(lambda: [segment.read_largest_timestamp() for segment in unknown], learned, failed)


def _count(log: PartitionLog, high_watermark: int, may_go: _MayGo) -> int:
    segments = log.segments
    for index, segment in enumerate(segments):
        following = segments[index + 1] if index + 1 < len(segments) else None
        end_offset = log.log_end_offset if following is None else following.base_offset
        is_empty_end = following is None and segment.size == 0
        if high_watermark < end_offset or is_empty_end or not may_go(segment, following):
            return index
    return len(segments)


def _expired(log: PartitionLog, now_ms: int) -> _MayGo:
    retention_ms = log.config.retention_ms

    def may_go(segment: Segment, following: Segment | None) -> bool:
        return retention_ms >= 0 and now_ms - segment.largest_timestamp() > retention_ms

    return may_go


def _in_excess(log: PartitionLog, now_ms: int) -> _MayGo:
    retention_bytes = log.config.retention_bytes
    excess_bytes = log.size_bytes - retention_bytes if retention_bytes >= 0 else -1

    def may_go(segment: Segment, following: Segment | None) -> bool:
        nonlocal excess_bytes
        if excess_bytes - segment.size < 0:
            return False
        excess_bytes -= segment.size
        return True

    return may_go


def _below_log_start(log: PartitionLog, now_ms: int) -> _MayGo:
    def may_go(segment: Segment, following: Segment | None) -> bool:
        return following is not None and following.base_offset <= log.log_start_offset

    return may_go


_DELETE_RULES: tuple[_Rule, ...] = (_expired, _in_excess, _below_log_start)
_COMPACT_RULES: tuple[_Rule, ...] = (_below_log_start,)
