"""Choice of the log to clean next, and of the offset up to which it is cleaned. Pure.

    log start      first dirty               first uncleanable                        log end
    |---- clean ----|-------- cleanable --------|------- too young, unstable, active -------|

Invariants: nothing at or above the first unstable offset, the high watermark or the active segment is cleaned; the
cleaned range ends at a segment boundary.

# differs from Kafka (cleaner-high-watermark): records above the high watermark are not cleaned either, because they may
# still be truncated.

Source: design page, log compaction; KIP-58 (min lag), KIP-354 (max lag); log-format facts, cleaner.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol

_base_offset = attrgetter("base_offset")


class SegmentView(Protocol):
    """The properties of a segment that the choice needs; the last two may read from the disk."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    def largest_timestamp(self) -> int: ...
    def read_first_timestamp(self) -> int: ...


class LogView(NamedTuple):
    """A log as the cleaner sees it.

    Attributes:
        segments: In order, the last is the active one.
        log_start_offset, log_end_offset: The log's offset range.
        stable_offset: Records at or above it may still change: the first unstable offset or the high watermark.
        checkpoint: The offset at which the last round ended; None before the first one.
    """

    segments: Sequence[SegmentView]
    log_start_offset: int
    log_end_offset: int
    stable_offset: int
    checkpoint: int | None


class CompactionRules(NamedTuple):
    """The topic's settings.

    Attributes:
        min_cleanable_dirty_ratio: The share of the log that must be dirty, 0 to 1.
        min_compaction_lag_ms: The minimum age of a record that is removed.
        max_compaction_lag_ms: The maximum age of a record that has not been cleaned.
    """

    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int


class CleanableRange(NamedTuple):
    """The range of a log that a round would clean.

    Attributes:
        first_dirty_offset: Start of the dirty part.
        first_uncleanable_offset: End of the cleanable part: a segment's base offset, or the first dirty offset.
        clean_bytes: Size of the segments below the dirty part.
        cleanable_bytes: Size of the segments of the dirty part.
        is_overdue: Records of the dirty part are older than max.compaction.lag.ms.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total_bytes if total_bytes else 0.0


def cleanable_range(log: LogView, rules: CompactionRules, now_ms: int) -> CleanableRange:
    """Return the range of a log that can be cleaned now."""
    first_dirty_offset = _first_dirty_offset(log)
    active = log.segments[-1]
    dirty = _segments_from(log.segments[:-1], first_dirty_offset) if first_dirty_offset < active.base_offset else ()
    uncleanable_offset = min(log.stable_offset, active.base_offset)
    if rules.min_compaction_lag_ms > 0:
        youngest_ms = now_ms - rules.min_compaction_lag_ms
        young = (segment.base_offset for segment in dirty if segment.largest_timestamp() > youngest_ms)
        uncleanable_offset = min(uncleanable_offset, next(young, uncleanable_offset))
    first_uncleanable_offset = max(
        first_dirty_offset, _segment_start(log.segments, max(uncleanable_offset, first_dirty_offset))
    )
    cleanable = [segment for segment in dirty if segment.base_offset < first_uncleanable_offset]
    return CleanableRange(
        first_dirty_offset,
        first_uncleanable_offset,
        sum(segment.size for segment in log.segments if segment.base_offset < first_dirty_offset),
        sum(segment.size for segment in cleanable) if first_uncleanable_offset > first_dirty_offset else 0,
        _is_overdue(dirty, now_ms - rules.max_compaction_lag_ms),
    )


def is_due(cleanable: CleanableRange, rules: CompactionRules) -> bool:
    """Return whether a log should be cleaned now."""
    if cleanable.is_overdue and cleanable.cleanable_bytes > 0:
        return True
    return cleanable.dirty_ratio > rules.min_cleanable_dirty_ratio


def dirtiest(ranges: Iterable[tuple[int, CleanableRange]]) -> int | None:
    """Return the index of the range with the highest dirty ratio; None if there is no range."""
    best = max(ranges, key=lambda pair: pair[1].dirty_ratio, default=None)
    return None if best is None else best[0]


def _first_dirty_offset(log: LogView) -> int:
    checkpoint = log.log_start_offset if log.checkpoint is None else log.checkpoint
    # A checkpoint outside the log is ignored: the log was truncated, or its start moved.
    return checkpoint if log.log_start_offset <= checkpoint <= log.log_end_offset else log.log_start_offset


def _segments_from(segments: Sequence[SegmentView], offset: int) -> Sequence[SegmentView]:
    """Return the segments from the one that contains `offset` on."""
    return segments[max(bisect_right(segments, offset, key=_base_offset) - 1, 0) :]


def _segment_start(segments: Sequence[SegmentView], offset: int) -> int:
    return segments[max(bisect_right(segments, offset, key=_base_offset) - 1, 0)].base_offset


def _is_overdue(dirty: Iterable[SegmentView], oldest_ms: int) -> bool:
    """Return whether a segment's first batch is older than `oldest_ms`; read nothing if that is not positive."""
    return oldest_ms > 0 and any(0 < segment.read_first_timestamp() < oldest_ms for segment in dirty)
