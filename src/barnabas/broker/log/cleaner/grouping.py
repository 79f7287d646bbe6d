"""Grouping of neighbouring segments that are cleaned into one. Pure.

Invariants: groups are in order and contain all segments. Unless a group is a single segment, its sizes before cleaning
fit segment.bytes and segment.index.bytes, and its offsets relative to its first offset fit 32 bits.

Source: design page, log compaction; log-format facts, cleaner.
"""

from collections.abc import Sequence
from typing import NamedTuple

_MAX_RELATIVE_OFFSET = 2**31 - 1


class SegmentSizes(NamedTuple):
    """A segment to be cleaned; sizes in bytes."""

    base_offset: int
    log_bytes: int
    offset_index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SegmentSizes], segment_bytes: int, index_bytes: int, first_uncleanable_offset: int
) -> list[list[int]]:
    """Put segments together, as many as fit.

    Args:
        segments: The segments to clean, in order.
        segment_bytes: The topic's segment.bytes.
        index_bytes: The topic's segment.index.bytes.
        first_uncleanable_offset: An offset above all offsets of the last segment.

    Returns:
        Indexes of the segments of each group.
    """
    groups: list[list[int]] = []
    first_offset = log_bytes = offset_index_bytes = time_index_bytes = 0
    for index, segment in enumerate(segments):
        end_offset = segments[index + 1].base_offset if index + 1 < len(segments) else first_uncleanable_offset
        log_bytes += segment.log_bytes
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        if (
            groups
            and log_bytes <= segment_bytes
            and offset_index_bytes <= index_bytes
            and time_index_bytes <= index_bytes
            # An empty segment has no offset that could be too large. Without this condition, one empty segment would
            # be left for every 2^31 offsets.
            and (segment.log_bytes == 0 or end_offset - 1 - first_offset <= _MAX_RELATIVE_OFFSET)
        ):
            groups[-1].append(index)
            continue
        groups.append([index])
        first_offset, log_bytes = segment.base_offset, segment.log_bytes
        offset_index_bytes, time_index_bytes = segment.offset_index_bytes, segment.time_index_bytes
    return groups
