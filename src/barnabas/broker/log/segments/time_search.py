"""Search for the segment with the first record at or after a timestamp.

A log may have thousands of segments, whose largest timestamps need not ascend. The running maximum over the segments
does ascend, and is cached: the first maximum at or above the target belongs to the wanted segment.

Invariant: the cache matches the current segments. Each search compares them, because any segment may be replaced.

Source: implementation page, log; KIP-33; KIP-79.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from operator import methodcaller

from barnabas.broker.log.disk.cold_reads import Cached, ColdWork, NotCachedError
from barnabas.broker.log.segments.segment import Segment
from barnabas.core.types import NO_TIMESTAMP


class LargestTimestamps:
    """The running maxima of the largest timestamps of one log's segments."""

    __slots__ = ("_closed", "_last_ms", "_maxima_ms")

    def __init__(self) -> None:
        self._closed: Sequence[Segment] = []
        self._last_ms = NO_TIMESTAMP
        self._maxima_ms: list[int] = []

    def first_segment(self, segments: Sequence[Segment], target_ms: int, cached: Cached | None) -> int:
        """Return the index of the first segment with a timestamp at or above `target_ms`, by default the active one.

        Args:
            segments: All segments, the active one last.
            target_ms: The timestamp.
            cached: None if the caller may wait for the disk.

        Raises:
            NotCachedError: `cached` is given, and a read would need the disk.
        """
        closed = segments[:-1]
        # Segments are compared by identity: 5 µs for 1,000 of them.
        # The last closed segment may have been truncated and appended to meanwhile.
        if closed != self._closed or (closed and closed[-1].max_timestamp_ms != self._last_ms):
            unknown = [segment for segment in closed if not segment.knows_largest_timestamp]
            if cached is not None and unknown:
                raise NotCachedError(_read(self, unknown))
            self._maxima_ms = list(accumulate(map(methodcaller("largest_timestamp"), closed), max))
            self._closed = closed
            self._last_ms = closed[-1].max_timestamp_ms if closed else NO_TIMESTAMP
        return bisect_left(self._maxima_ms, target_ms)


def _read(owner: LargestTimestamps, segments: list[Segment]) -> ColdWork[list[int]]:
    def finish(timestamps_ms: list[int]) -> None:
        for segment, timestamp_ms in zip(segments, timestamps_ms, strict=True):
            segment.take_largest_timestamp(timestamp_ms)

    return ColdWork(owner, lambda: [segment.read_largest_timestamp() for segment in segments], finish)
