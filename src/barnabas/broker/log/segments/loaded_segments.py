"""Bounds the memory for the indexes of older segments, because a reader of whole logs would load all of them.

The indexes of an active segment always stay in memory. An older segment keeps its indexes when it is rolled, and loads
them at a read; the least recently read segments release them. Kafka's indexes are memory-mapped: the system does this.

Segments that were read a short time ago keep their indexes even beyond the limit: a fetch reads many partitions in
turn, and would otherwise load each of them again every time.

Source: implementation page, log, reads.
"""

from collections import OrderedDict

from barnabas.broker.log.segments.segment import Segment

MOST_BYTES = 128 * 1024 * 1024
"""Enough for the indexes of 100 GiB of records in batches of 16 KB; consumers seldom read more at the same time."""

# The objects of a segment, so that the number of segments is bounded, too: those of closed logs stay until others come.
_SEGMENT_BYTES = 2_000
_KEPT_MS = 60_000


class LoadedSegments:
    """The older segments of all logs whose indexes are in memory. Owned by the event loop.

    Attributes:
        newest: The most recently read segment, if it is still counted.
    """

    __slots__ = ("_kept_ms", "_most_bytes", "_noted", "_total_bytes", "newest")

    def __init__(self, most_bytes: int = MOST_BYTES, kept_ms: int = _KEPT_MS) -> None:
        """Args:
        most_bytes: The limit for all segments together, apart from those that were read in the last `kept_ms`.
        """
        self._most_bytes = most_bytes
        self._kept_ms = kept_ms
        # Size and time by segment; the least recently read segment is the first.
        self._noted: OrderedDict[Segment, tuple[int, int]] = OrderedDict()
        self._total_bytes = 0
        self.newest: Segment | None = None

    def note(self, segment: Segment, now_ms: int) -> None:
        """Note a read from a segment that is not active; the least recently read segments may release their indexes."""
        self.forget(segment)
        self.newest = segment
        # Again at each call, because a segment loads its aborted transactions later than its indexes.
        size = segment.loaded_bytes + _SEGMENT_BYTES
        self._noted[segment] = size, now_ms
        self._total_bytes += size
        while self._total_bytes > self._most_bytes and len(self._noted) > 1:
            oldest, (_, noted_ms) = next(iter(self._noted.items()))
            if now_ms - noted_ms < self._kept_ms:
                break
            self.forget(oldest)
            oldest.release_indexes()

    def forget(self, segment: Segment) -> None:
        """Stop counting a segment, because it is active again or was removed; its indexes stay as they are."""
        self._total_bytes -= self._noted.pop(segment, (0, 0))[0]
        if segment is self.newest:
            self.newest = None
