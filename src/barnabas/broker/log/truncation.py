"""Truncates the files of a log, off the event loop.

    segments above    renamed, the newest first, so that a kill leaves a log without a gap
    the directory     synced, before anything is written at the offsets of these segments
    the last segment  truncated, its index files before it, so that they never have entries beyond its end
    producers         rebuilt from the newest remaining snapshot and the batches above it

Invariant: after a kill at any step, a start finds a log without a gap.

Source: replication facts, truncation; log-format facts, load and recovery.
"""

from collections.abc import Callable
from pathlib import Path

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.producers.producer_replay import load_producers
from barnabas.broker.log.producers.producer_snapshot import ProducerSnapshots
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.segment_chain import mark_deleted

TruncationWork = Callable[[], tuple[list[Path], ProducerState]]
"""Returns the new names of the removed files, and the producers of the remaining records."""


def truncation(
    env: LogEnvironment,
    segments: list[Segment],
    above: list[Segment],
    snapshots: ProducerSnapshots,
    log_start_offset: int,
    offset: int,
) -> TruncationWork:
    """Return a function that truncates a log to `offset`, for its disk work.

    Args:
        segments: The remaining segments; the last one contains `offset` or ends before it.
        above: The segments to remove.
        snapshots: The log's producer snapshots; nothing else may use them meanwhile.
        log_start_offset: The log start offset, not above `offset`.
    """

    def work() -> tuple[list[Path], ProducerState]:
        renamed = _mark_deleted(env, above)
        segments[-1].truncate_to(offset)
        return renamed, load_producers(env, segments, snapshots, log_start_offset, offset)

    return work


def full_truncation(
    env: LogEnvironment, segment: Segment, replaced: list[Segment], snapshots: ProducerSnapshots, reserved_bytes: int
) -> TruncationWork:
    """Return a function that replaces all segments of a log by one new segment, for its disk work.

    Args:
        segment: The new segment, whose files do not exist yet.
        replaced: The segments to remove.
        snapshots: The log's producer snapshots; nothing else may use them meanwhile.
        reserved_bytes: Disk space to reserve for the new segment; 0 for none.
    """

    def work() -> tuple[list[Path], ProducerState]:
        renamed = _mark_deleted(env, replaced)
        segment.make_files()
        if reserved_bytes:
            segment.file.reserve(reserved_bytes)
        offset = segment.base_offset
        return renamed, load_producers(env, [segment], snapshots, offset, offset)

    return work


def _mark_deleted(env: LogEnvironment, segments: list[Segment]) -> list[Path]:
    renamed = mark_deleted(env.files, segments[::-1])
    if renamed:
        env.files.sync(renamed[0].parent)
    return renamed
