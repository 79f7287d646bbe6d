"""Updates of a partition's place after a transaction, and the move of its older runs into segments. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from barnabas.clients.mirror.offsets import RUNS_PER_SEGMENT, BatchMark, Place, Run, Segment, extended


def advanced(
    place: Place,
    position: int,
    mark: BatchMark | None,
    mirrored: Sequence[Run],
    forgotten_ends: Iterable[int] = (),
    runs_per_segment: int = RUNS_PER_SEGMENT,
) -> tuple[Place, list[Segment]]:
    """Return the place after a transaction, and the segments to be written with it.

    Args:
        place: Before the transaction.
        position: The next source offset to be mirrored.
        mark: The last batch that was read; None: that of before.
        mirrored: Source and target offsets of the records, in order.
        forgotten_ends: Of segments that the table forgets with it.
        runs_per_segment: How many runs a place keeps, and a segment holds.
    """
    runs, begin = place.runs, max([place.begin, *forgotten_ends])
    if mirrored and runs and mirrored[0].target_offset < runs[-1].target_offset + runs[-1].record_count:
        # The target topic was deleted and recreated, so earlier offsets are invalid.
        runs, begin = (), max(begin, place.position)
    runs, segments = split_runs(extended(runs, mirrored), place.target_topic, runs_per_segment)
    return replace(place, position=position, runs=runs, begin=begin, batch=mark or place.batch), segments


def split_runs(
    runs: tuple[Run, ...], target_topic: str, runs_per_segment: int = RUNS_PER_SEGMENT
) -> tuple[tuple[Run, ...], list[Segment]]:
    """Split runs into those that a place keeps and segments of older ones, each with at most `runs_per_segment`."""
    segments = []
    while len(runs) > runs_per_segment:
        older, runs = runs[:runs_per_segment], runs[runs_per_segment:]
        # A segment covers the offsets up to the next run, of which none was mirrored.
        segments.append(Segment(target_topic, runs[0].source_offset, older))
    return runs, segments
