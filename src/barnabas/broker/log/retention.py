"""Retention: deletes a log's oldest segments by age, by size, and below the log start offset.

Invariants: the rules apply one after the other, each to the segments left by the one before; segments are deleted from
the oldest on, up to the first that must be retained; nothing at or above the high watermark is deleted; an empty active
segment is retained.

Source: configuration page, retention.ms and retention.bytes; log-format facts, retention; Kafka 2.7.2's
`Log.deleteOldSegments` for the order of the rules.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.broker.log.environment import Going, OnRemoved
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segments.segment import Segment
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.types import TopicPartition

DELETE = "delete"

_MayGo = Callable[[Segment, Segment | None], bool]
_Rule = Callable[[PartitionLog, int, int], _MayGo]
_BY_AGE, _BY_SIZE, _BELOW_START = "retention.ms", "retention.bytes", "log start offset"


class Standing(NamedTuple):
    """Retention's decision about a segment.

    Attributes:
        rule: The rule that deletes it, now or later; empty if no rule does.
        kept_by: The reason why it is retained; empty if the next check deletes it.
        goes_at_ms: The time from which retention.ms permits its deletion; None if retention.ms does not apply.
    """

    rule: str
    kept_by: str
    goes_at_ms: int | None


def _nobody(topic_partition: TopicPartition, going: Sequence[Going]) -> None:
    return


def apply_retention(
    log: PartitionLog,
    high_watermark: int,
    now_ms: int,
    on_removed: OnRemoved = _nobody,
    then: Callable[[None], object] = lambda _: None,
) -> int:
    """Delete the segments that the topic's settings no longer retain; return their number.

    Args:
        on_removed: Called with the deleted segments.
        then: Called when they are deleted, or if none are. An active segment is retained if records are appended
            meanwhile.

    Raises:
        StorageError: The disk failed.
        CorruptRecordsError: The age of a segment cannot be read.
    """
    going = _going(log, high_watermark, now_ms)
    if not going or log.is_truncating:
        then(None)
        return len(going)

    def report(_: None) -> None:
        then(None)
        start_offset = log.segments[0].base_offset
        on_removed(log.topic_partition, [each for each in going if each.base_offset < start_offset])

    delete_segments(log, len(going), report)
    return len(going)


def delete_segments(log: PartitionLog, count: int, then: Callable[[None], object] = lambda _: None) -> None:
    """Delete the first `count` segments; if the log is truncating, do nothing: the next check deletes them.

    If `count` is the number of all segments, the active one is deleted when the next one is prepared, unless records
    are appended meanwhile.

    Args:
        then: Called when the segments are deleted, or could not be.
    """
    if log.is_truncating:
        then(None)
        return
    is_all = count == len(log.segments)
    log.delete_oldest_segments(count - 1 if is_all else count)
    if not is_all:
        then(None)
        return
    end_offset = log.log_end_offset

    def delete_active() -> None:
        try:
            _delete_active(log, end_offset)
        finally:
            then(None)

    log.prepare_roll(delete_active)


def _delete_active(log: PartitionLog, end_offset: int) -> None:
    if log.is_closed or log.is_busy or log.log_end_offset != end_offset:
        # Records were appended meanwhile, or an append is in progress: the next check decides again.
        return
    try:
        log.roll()
    except StorageError as error:
        log.report_failure(error)
        return
    log.delete_oldest_segments(len(log.segments) - 1)


def standings(log: PartitionLog, high_watermark: int, now_ms: int) -> list[Standing]:
    """Return, for each segment, why it is retained, and which rule will delete it at which time.

    Raises:
        StorageError, CorruptRecordsError: As `apply_retention`.
    """
    going = _going(log, high_watermark, now_ms)
    told = [Standing(each.rule, "", None) for each in going]
    for index in range(len(going), len(log.segments)):
        told.append(_standing(log, high_watermark, now_ms, index))
    return told


def _standing(log: PartitionLog, high_watermark: int, now_ms: int, index: int) -> Standing:
    """Return the standing of a segment that is retained."""
    segment, retention_ms = log.segments[index], log.config.retention_ms
    if DELETE not in log.config.cleanup_policy:
        return Standing("", _unready(log, high_watermark, index) or "compaction", None)
    rule, goes_at_ms = "", None
    if retention_ms >= 0:
        rule, goes_at_ms = _BY_AGE, segment.largest_timestamp() + retention_ms + 1
    elif log.config.retention_bytes >= 0:
        rule = _BY_SIZE
    kept_by = _unready(log, high_watermark, index)
    if not kept_by and goes_at_ms is not None:
        kept_by = "timestamp in the future" if segment.largest_timestamp() > now_ms else _BY_AGE
        if goes_at_ms <= now_ms:
            kept_by = "older segment"
    elif not kept_by:
        kept_by = rule or "no rule"
    return Standing(rule, kept_by, goes_at_ms)


def learn_ages(
    log: PartitionLog, executor: Executor, then: Callable[[], object], failed: Callable[[BaseException], object]
) -> None:
    """Read, in an executor, the age of segments whose age is unknown since the log was opened.

    Args:
        then: Called on the event loop when `apply_retention` needs no read from disk; at once if that is already so.
        failed: Called with the error if the ages can't be read.
    """
    unknown = [segment for segment in log.segments if not segment.knows_largest_timestamp]
    if not unknown or log.is_closed or log.config.retention_ms < 0 or DELETE not in log.config.cleanup_policy:
        then()
        return

    def learned(timestamps_ms: list[int]) -> None:
        present = set(log.segments)
        for segment, timestamp_ms in zip(unknown, timestamps_ms, strict=True):
            if segment in present:
                segment.take_largest_timestamp(timestamp_ms)
        then()

    executor.run(lambda: [segment.read_largest_timestamp() for segment in unknown], learned, failed)


def _going(log: PartitionLog, high_watermark: int, now_ms: int) -> list[Going]:
    going: list[Going] = []
    size_bytes = log.size_bytes
    for name, rule in _DELETE_RULES if DELETE in log.config.cleanup_policy else _COMPACT_RULES:
        # Segments deleted by an earlier rule no longer count towards the size.
        may_go = rule(log, now_ms, size_bytes)
        for index in range(len(going), len(log.segments)):
            segment, following = log.segments[index], _following(log, index)
            if _unready(log, high_watermark, index) or not may_go(segment, following):
                break
            going.append(Going(name, segment.base_offset, segment.size))
            size_bytes -= segment.size
    return going


def _following(log: PartitionLog, index: int) -> Segment | None:
    return log.segments[index + 1] if index + 1 < len(log.segments) else None


def _unready(log: PartitionLog, high_watermark: int, index: int) -> str:
    """Return the reason why no rule may delete a segment; empty if rules may delete it."""
    following = _following(log, index)
    if following is None and log.segments[index].size == 0:
        return "active"
    end_offset = log.log_end_offset if following is None else following.base_offset
    return "high watermark" if high_watermark < end_offset else ""


def _expired(log: PartitionLog, now_ms: int, size_bytes: int) -> _MayGo:
    retention_ms = log.config.retention_ms

    def may_go(segment: Segment, following: Segment | None) -> bool:
        return retention_ms >= 0 and now_ms - segment.largest_timestamp() > retention_ms

    return may_go


def _in_excess(log: PartitionLog, now_ms: int, size_bytes: int) -> _MayGo:
    retention_bytes = log.config.retention_bytes
    excess_bytes = size_bytes - retention_bytes if retention_bytes >= 0 else -1

    def may_go(segment: Segment, following: Segment | None) -> bool:
        nonlocal excess_bytes
        if excess_bytes - segment.size < 0:
            return False
        excess_bytes -= segment.size
        return True

    return may_go


def _below_log_start(log: PartitionLog, now_ms: int, size_bytes: int) -> _MayGo:
    def may_go(segment: Segment, following: Segment | None) -> bool:
        return following is not None and following.base_offset <= log.log_start_offset

    return may_go


_DELETE_RULES: tuple[tuple[str, _Rule], ...] = (
    (_BY_AGE, _expired),
    (_BY_SIZE, _in_excess),
    (_BELOW_START, _below_log_start),
)
_COMPACT_RULES: tuple[tuple[str, _Rule], ...] = ((_BELOW_START, _below_log_start),)
