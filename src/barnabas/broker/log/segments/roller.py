"""Decides when the active segment is replaced by a new one, and prepares the new one's file in time.

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

    # The active segment, if it was looked at since anything changed; for so many bytes, and up to this timestamp, no
    # limit of it is near.
    _segment: Segment | None
    _calm_bytes: int
    _calm_timestamp_ms: int

    def __init__(self, chain: SegmentChain, clock: Clock, config: LogConfig) -> None:
        """Args:
        chain: The log's segments.
        clock: For the age of segments whose records have no timestamps.
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
        # About where the segment is half full, or one of its indexes; an entry follows a batch that ends an interval.
        bytes_per_entry = config.index_interval_bytes + HEADER_BYTES
        index_limit_bytes = config.segment_index_bytes // ENTRY_BYTES * bytes_per_entry
        self._half_position = min(config.segment_bytes, index_limit_bytes) // 2
        self._segment_ms = config.segment_ms
        if COMPACT in config.cleanup_policy and config.max_compaction_lag_ms > 0:
            self._segment_ms = min(config.max_compaction_lag_ms, config.segment_ms)

    def look_again(self) -> None:
        """Forget how far the active segment's limits are: it was cut, or they are others."""
        self._segment = None

    def segment_for(self, size: int, last_offset: int, max_timestamp_ms: int) -> Segment | None:
        """Return the segment for the next append.

        Args:
            size: Its bytes.
            last_offset: Of its last record.
            max_timestamp_ms: Its largest timestamp.

        Returns:
            The active segment; None where it must make way.
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
        """Do the full check of `segment_for`, and record for how long it need not be repeated."""
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
            # Time enough to make the next one's file.
            self._chain.prepare_next(self._config)
        if position and segment.first_timestamp_ms >= 0:
            self._segment = segment
            part = 2 if next_file.is_wanted else 1
            # One entry an interval at the most.
            room_bytes = segment.index_room(self._index_bytes) * self._config.index_interval_bytes
            calm_position = self._half_position if part == 2 else self.segment_bytes
            self._calm_bytes = min(calm_position - end_position, room_bytes - size)
            self._calm_timestamp_ms = segment.first_timestamp_ms + limit_ms // part
        return segment

    def has_index_room(self, size: int, mark_count: int) -> bool:
        """Return whether the indexes of the active segment surely have room for a run of several batches.

        Args:
            size: Its bytes.
            mark_count: How many of its batches may get entries.
        """
        room = self._chain.segments[-1].index_room(self._index_bytes)
        return mark_count <= room or room * self._config.index_interval_bytes >= size

    def is_due(self, now_ms: int) -> bool:
        """Return whether an append at `now_ms` would find the active segment too old."""
        active = self._chain.segments[-1]
        return active.size > 0 and self._waited_ms(active, now_ms) > self._segment_ms - active.roll_jitter_ms

    def prepare(self, then: Callable[[], object]) -> None:
        """Make the next segment's file ready; `then` is called when it is, or can't be."""
        self._chain.prepare_next(self._config, then)

    def _waited_ms(self, segment: Segment, max_timestamp_ms: int) -> int:
        if segment.first_timestamp_ms >= 0:
            return max_timestamp_ms - segment.first_timestamp_ms
        return self._clock.now_ms() - segment.created_ms
