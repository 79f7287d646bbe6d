"""Decides when the active segment rolls, and prepares the next segment's file in time.

Invariant: a segment never grows beyond segment.bytes, its indexes never beyond segment.index.bytes, and its offsets fit
into index entries.

Source: log-format facts, append and roll.
"""

from collections.abc import Callable

from barnabas.broker.log.appends.rules import COMPACT
from barnabas.broker.log.config import LogConfig
from barnabas.broker.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.broker.log.segments.segment_chain import SegmentChain
from barnabas.broker.log.segments.time_index import ENTRY_BYTES
from barnabas.core.clock import Clock
from barnabas.wire.records.batch import HEADER_BYTES


class Roller:
    """Decides when the active segment is full or old enough to roll. Owned by the event loop.

    Attributes:
        segment_bytes: The topic's segment.bytes.
    """

    __slots__ = (
        "_calm_bytes",
        "_calm_timestamp_ms",
        "_chain",
        "_clock",
        "_config",
        "_half_position",
        "_index_bytes",
        "_segment",
        "_segment_ms",
        "segment_bytes",
    )

    # The active segment if its limits were checked since the last change. The next `_calm_bytes` bytes with timestamps
    # up to `_calm_timestamp_ms` need no further check.
    _segment: Segment | None
    _calm_bytes: int
    _calm_timestamp_ms: int

    def __init__(self, chain: SegmentChain, clock: Clock, config: LogConfig) -> None:
        """Args:
        chain: The log's segments.
        clock: Clock for the age of segments whose records have no timestamps.
        config: The topic's settings.
        """
        self._chain = chain
        self._clock = clock
        self.update(config)
        chain.choose_jitter(config)

    def update(self, config: LogConfig) -> None:
        """Apply changed settings; the active segment keeps its jitter."""
        self._config = config
        self.look_again()
        self.segment_bytes = config.segment_bytes
        self._index_bytes = config.segment_index_bytes
        # The approximate position at which the segment or an index is half full. An index gets at most one entry for
        # each interval and a batch header.
        bytes_per_entry = config.index_interval_bytes + HEADER_BYTES
        index_limit_bytes = config.segment_index_bytes // ENTRY_BYTES * bytes_per_entry
        self._half_position = min(config.segment_bytes, index_limit_bytes) // 2
        self._segment_ms = config.segment_ms
        if COMPACT in config.cleanup_policy and config.max_compaction_lag_ms > 0:
            self._segment_ms = min(config.max_compaction_lag_ms, config.segment_ms)

    def look_again(self) -> None:
        """Check the active segment's limits at the next append, because it was truncated or the settings changed."""
        self._segment = None

    def segment_for(self, size: int, last_offset: int, max_timestamp_ms: int) -> Segment | None:
        """Return the segment for the next append.

        Args:
            size: The append's size in bytes.
            last_offset: Offset of its last record.
            max_timestamp_ms: Its largest timestamp.

        Returns:
            The active segment; None if it must roll first.
        """
        # hot path: benchmarks/micro/test_log.py
        segment = self._chain.segments[-1]
        if (
            segment is self._segment
            and size <= self._calm_bytes
            and max_timestamp_ms <= self._calm_timestamp_ms
            and last_offset - segment.base_offset <= MAX_RELATIVE_OFFSET
        ):
            self._calm_bytes -= size
            return segment
        return self._look(segment, size, last_offset, max_timestamp_ms)

    def _look(self, segment: Segment, size: int, last_offset: int, max_timestamp_ms: int) -> Segment | None:
        """Do the full check of `segment_for`, and record how long it need not be repeated."""
        position = segment.size
        end_position = position + size
        waited_ms = self._waited_ms(segment, max_timestamp_ms) if position else 0
        limit_ms = self._segment_ms - segment.roll_jitter_ms
        if (
            end_position > self.segment_bytes
            or (position and waited_ms > limit_ms)
            or segment.has_full_index(self._index_bytes)
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return None
        next_file = self._chain.next_file
        if (end_position > self._half_position or waited_ms * 2 > limit_ms) and next_file.is_wanted:
            # Early enough to create the next segment's file in time.
            self._chain.prepare_next(self._config)
        if position and segment.first_timestamp_ms >= 0:
            self._segment = segment
            part = 2 if next_file.is_wanted else 1
            # At most one entry per interval.
            room_bytes = segment.index_room(self._index_bytes) * self._config.index_interval_bytes
            calm_position = self._half_position if part == 2 else self.segment_bytes
            self._calm_bytes = min(calm_position - end_position, room_bytes - size)
            self._calm_timestamp_ms = segment.first_timestamp_ms + limit_ms // part
        return segment

    def has_index_room(self, size: int, mark_count: int) -> bool:
        """Return whether the indexes of the active segment certainly have room for a run of several batches.

        Args:
            size: The run's size in bytes.
            mark_count: Number of its batches that may get entries.
        """
        room = self._chain.segments[-1].index_room(self._index_bytes)
        return mark_count <= room or room * self._config.index_interval_bytes >= size

    def is_due(self, now_ms: int) -> bool:
        """Return whether an append at `now_ms` would find the active segment too old."""
        active = self._chain.segments[-1]
        return active.size > 0 and self._waited_ms(active, now_ms) > self._segment_ms - active.roll_jitter_ms

    def prepare(self, then: Callable[[], object]) -> None:
        """Prepare the next segment's file; `then` is called when it is ready, or could not be created."""
        self._chain.prepare_next(self._config, then)

    def _waited_ms(self, segment: Segment, max_timestamp_ms: int) -> int:
        if segment.first_timestamp_ms >= 0:
            return max_timestamp_ms - segment.first_timestamp_ms
        return self._clock.now_ms() - segment.created_ms
