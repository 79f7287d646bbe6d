"""The offset table of a mirror: its progress, and the mapping of source offsets to target offsets.

It is a compacted topic of one partition in the target. Its records are written in the transactions of the mirrored
records, so that place, translation and data are committed together. Keys and values are JSON without blanks, in UTF-8:

    place    key    ["place", mirror, source cluster's id, topic, partition]
             value  {"target": topic, "position": n, "begin": b, "generation": g, "runs": [...],
                     "batch": [last offset, timestamp, CRC] or null}
    segment  key    ["segment", mirror, source cluster's id, topic, partition, source offset of its first run]
             value  {"target": topic, "end": n, "runs": [...]}
    path     key    ["path", mirror, source cluster's id, topic, partition, producer id]
             value  {"path": [cluster ids], "end": n or null}
    owner    key    ["owner", mirror, alias of the source]
             value  {"generation": g, "cluster": its id, "host": name, "pid": n, "started_ms": n}

Runs are a flat list with three numbers each: the source offsets skipped since the end of the previous run, the target
offsets likewise (both from 0 for the first), and the number of records.

Invariants:

- All source offsets from a place's `begin` up to its `position`, excluded, are accounted for: mirrored, or rightly
  skipped (a marker, an aborted record, one that compaction removed, one that came from the target). Offsets below
  `begin` were never mirrored, or are forgotten, even if a segment of them still exists: the target was recreated.
- A run maps contiguous source offsets to contiguous target offsets. As a transaction's marker takes a target offset, no
  run extends beyond a transaction.
- A place contains the newest runs. When there are more than RUNS_PER_SEGMENT, they go into a segment. When the source's
  log start has passed a segment's `end`, the segment gets a tombstone: so the size of the source limits the size of the
  table.
- A path names the clusters that all batches of a producer id in this cluster have passed, origin first. It is
  committed, and its transaction complete, before the first of these batches is written. When another producer has
  replaced one, its path gets the `end` of the target's log; when the log start has passed that, a tombstone.

Records of an unknown kind or with other JSON are skipped: a later version may have written them.

Source: Barnabas's own format. The offset syncs of MirrorMaker 2 (KIP-382) have the same purpose, but are less exact.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")

TABLE_TOPIC: Final = "barnabas-mirror-offsets"
TABLE_CONFIGS: Final = {"cleanup.policy": "compact"}

RUNS_PER_SEGMENT: Final = 64


class SourcePartition(NamedTuple):
    """The key of a mirrored partition: mirror and source partition."""

    mirror: str
    cluster_id: str
    topic: str
    partition: int


class Run(NamedTuple):
    """`source_offset + n` became `target_offset + n`, for n below `record_count`."""

    source_offset: int
    target_offset: int
    record_count: int


class BatchMark(NamedTuple):
    """The last batch read from the source; another batch at its last offset means that the topic was recreated."""

    offset: int
    timestamp_ms: int
    crc: int


class ProducerPath(NamedTuple):
    """The clusters that batches of a producer have passed.

    Attributes:
        source: The source partition whose batches the producer writes.
        path: Cluster ids: the origin first, the cluster of `source` last.
        end_offset: All its batches are below this target offset; None: it may write more.
    """

    source: SourcePartition
    path: tuple[str, ...]
    end_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The progress of mirroring one source partition.

    Attributes:
        target_topic: The target's topic; the partition number is the same.
        position: The next source offset to be mirrored.
        generation: The generation of the process that wrote it.
        runs: The newest runs.
        begin: The first source offset that the table accounts for.
        batch: The last batch read; None: none was read.
    """

    target_topic: str
    position: int
    generation: int
    runs: tuple[Run, ...]
    begin: int = 0
    batch: BatchMark | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Older runs of a source partition; `end_offset` is the source's position when it was closed."""

    target_topic: str
    end_offset: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that mirrors a source, as recorded at its start."""

    mirror: str
    alias: str
    generation: int
    cluster_id: str
    host: str
    pid: int
    started_ms: int


class Coverage(Enum):
    """How precisely the table knows a source offset."""

    EXACT = "exact"
    BEFORE = "before"
    """Below the offsets that the table accounts for: translated to the first known mirrored record."""
    AHEAD = "ahead"
    """Not mirrored yet: translated to the offset after the last mirrored record."""


class Translation(NamedTuple):
    """The target offset that corresponds to a source offset.

    Attributes:
        offset: None: the table has no mirrored record, so the end of the target applies.
        coverage: How precise the translation is.
    """

    offset: int | None
    coverage: Coverage


class MirrorOffsets:
    """The content of the offset table, as far as it was read.

    Attributes:
        places: By source partition.
        segments: By source partition and the source offset of their first run.
        owners: By mirror and alias of the source.
        producers: Paths by producer id.
    """

    def __init__(self) -> None:
        self.places: dict[SourcePartition, Place] = {}
        self.segments: dict[SourcePartition, dict[int, Segment]] = {}
        self.owners: dict[tuple[str, str], Owner] = {}
        self.producers: dict[int, ProducerPath] = {}

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a committed record; call in the order of the log."""
        match _loaded(key):
            case ["place", str(mirror), str(cluster_id), str(topic), int(partition)]:
                source = SourcePartition(mirror, cluster_id, topic, partition)
                _put(self.places, source, value, _read_place)
            case ["segment", str(mirror), str(cluster_id), str(topic), int(partition), int(first)]:
                source = SourcePartition(mirror, cluster_id, topic, partition)
                _put(self.segments.setdefault(source, {}), first, value, _read_segment)
            case ["path", str(mirror), str(cluster_id), str(topic), int(partition), int(producer_id)]:
                source = SourcePartition(mirror, cluster_id, topic, partition)
                _put(self.producers, producer_id, value, lambda read: _read_path(source, read))
            case ["owner", str(mirror), str(alias)]:
                _put(self.owners, (mirror, alias), value, lambda read: _read_owner(mirror, alias, read))

    def latest_owner(self, mirror: str, alias: str, cluster_id: str) -> Owner | None:
        """Return the last mirror that claimed a source: by this name, or the same cluster under another name."""
        owners = [
            owner
            for owner in self.owners.values()
            if owner.mirror == mirror and (owner.alias == alias or owner.cluster_id == cluster_id)
        ]
        return max(owners, key=lambda owner: owner.generation, default=None)

    def runs(self, source: SourcePartition) -> list[Run]:
        """Return all runs of a source partition, in order."""
        return list(self._runs_from(source, 0))

    def translate(self, source: SourcePartition, offset: int) -> Translation | None:
        """Return the target offset that corresponds to `offset` of the source; None: the partition is not mirrored.

        It is the target offset of the first mirrored record at or above `offset`, or the offset after the last one.
        """
        place = self.places.get(source)
        if place is None:
            return None
        coverage = Coverage.EXACT
        if offset < place.begin:
            coverage = Coverage.BEFORE
        elif offset > place.position:
            coverage = Coverage.AHEAD
        firsts = sorted(self.segments.get(source, ()))
        # The run is in this segment, or is the first run after it.
        for run in self._runs_from(source, max(bisect_right(firsts, offset) - 1, 0)):
            if run.source_offset + run.record_count > offset:
                return Translation(run.target_offset + max(offset - run.source_offset, 0), coverage)
        return Translation(self._target_end(source), coverage)

    def source_offset(self, source: SourcePartition, target_offset: int) -> int | None:
        """Return the source offset from which a reader of the target up to `target_offset` must continue.

        It is the source offset of the first record mirrored to `target_offset` or above, or else the mirror's position;
        None: the partition is not mirrored.
        """
        place = self.places.get(source)
        if place is None:
            return None
        for run in self._runs_from(source, 0):
            if run.target_offset + run.record_count > target_offset:
                return run.source_offset + max(target_offset - run.target_offset, 0)
        return place.position

    def _runs_from(self, source: SourcePartition, index: int) -> Iterator[Run]:
        """Yield a source partition's runs from one of its segments on, except segments below `begin`."""
        segments, place = self.segments.get(source, {}), self.places.get(source)
        begin = 0 if place is None else place.begin
        for first in sorted(segments)[index:]:
            if segments[first].end_offset > begin:
                yield from segments[first].runs
        if place is not None:
            yield from place.runs

    def _target_end(self, source: SourcePartition) -> int | None:
        """Return the target offset after the last mirrored record; None: the table has none."""
        segments = self.segments.get(source, {})
        runs = self.places[source].runs or (segments[max(segments)].runs if segments else ())
        return runs[-1].target_offset + runs[-1].record_count if runs else None


def extended(runs: tuple[Run, ...], more: Iterable[Run]) -> tuple[Run, ...]:
    """Append newer runs in order of source offset; contiguous ones are merged."""
    grown = list(runs)
    for run in more:
        if grown:
            source, target, count = grown[-1]
            if (source + count, target + count) == (run.source_offset, run.target_offset):
                grown[-1] = Run(source, target, count + run.record_count)
                continue
        grown.append(run)
    return tuple(grown)


def runs_of(source_offsets: Sequence[int], target_offset: int) -> Iterator[Run]:
    """Yield the runs of records at consecutive target offsets."""
    if isinstance(source_offsets, range):
        yield Run(source_offsets.start, target_offset, len(source_offsets))
        return
    for index, offset in enumerate(source_offsets):
        yield Run(offset, target_offset + index, 1)


def place_record(source: SourcePartition, place: Place) -> tuple[bytes, bytes]:
    """Return the key and the value of a place."""
    value = {
        "target": place.target_topic,
        "position": place.position,
        "begin": place.begin,
        "generation": place.generation,
        "runs": _flat(place.runs),
        "batch": None if place.batch is None else list(place.batch),
    }
    return _dumped(["place", *source]), _dumped(value)


def segment_record(source: SourcePartition, segment: Segment) -> tuple[bytes, bytes]:
    """Return the key and the value of a segment, which has at least one run."""
    value = {"target": segment.target_topic, "end": segment.end_offset, "runs": _flat(segment.runs)}
    return _dumped(["segment", *source, segment.runs[0].source_offset]), _dumped(value)


def segment_tombstone(source: SourcePartition, first_source_offset: int) -> bytes:
    """Return the key of a segment to delete; its value is null."""
    return _dumped(["segment", *source, first_source_offset])


def path_record(producer_id: int, path: ProducerPath) -> tuple[bytes, bytes]:
    """Return the key and the value of a producer's path."""
    value = {"path": list(path.path), "end": path.end_offset}
    return path_tombstone(producer_id, path), _dumped(value)


def path_tombstone(producer_id: int, path: ProducerPath) -> bytes:
    """Return the key of a path to delete; its value is null."""
    return _dumped(["path", *path.source, producer_id])


def owner_record(owner: Owner) -> tuple[bytes, bytes]:
    """Return the key and the value of an owner."""
    value = {
        "generation": owner.generation,
        "cluster": owner.cluster_id,
        "host": owner.host,
        "pid": owner.pid,
        "started_ms": owner.started_ms,
    }
    return _dumped(["owner", owner.mirror, owner.alias]), _dumped(value)


def _put(known: dict[K, V], key: K, value: bytes | None, read: Callable[[Any], V | None]) -> None:
    if value is None:
        known.pop(key, None)
        return
    decoded = read(_loaded(value))
    if decoded is not None:
        known[key] = decoded


def _read_place(value: object) -> Place | None:
    match value:
        case {
            "target": str(target),
            "position": int(position),
            "begin": int(begin),
            "generation": int(generation),
            "runs": list(flat),
            **more,
        }:
            runs = _runs(flat)
            return None if runs is None else Place(target, position, generation, runs, begin, _mark(more.get("batch")))
    return None


def _mark(value: object) -> BatchMark | None:
    match value:
        case [int(offset), int(timestamp_ms), int(crc)]:
            return BatchMark(offset, timestamp_ms, crc)
    return None


def _read_segment(value: object) -> Segment | None:
    match value:
        case {"target": str(target), "end": int(end_offset), "runs": list(flat)}:
            runs = _runs(flat)
            return Segment(target, end_offset, runs) if runs else None
    return None


def _read_path(source: SourcePartition, value: object) -> ProducerPath | None:
    match value:
        case {"path": list(path), "end": int() | None as end_offset} if all(isinstance(each, str) for each in path):
            return ProducerPath(source, tuple(path), end_offset)
    return None


def _read_owner(mirror: str, alias: str, value: object) -> Owner | None:
    match value:
        case {
            "generation": int(generation),
            "cluster": str(cluster_id),
            "host": str(host),
            "pid": int(pid),
            "started_ms": int(started_ms),
        }:
            return Owner(mirror, alias, generation, cluster_id, host, pid, started_ms)
    return None


def _flat(runs: Iterable[Run]) -> list[int]:
    """Return runs in their stored form."""
    flat: list[int] = []
    source_end = target_end = 0
    for source_offset, target_offset, count in runs:
        flat += (source_offset - source_end, target_offset - target_end, count)
        source_end, target_end = source_offset + count, target_offset + count
    return flat


def _runs(flat: Sequence[object]) -> tuple[Run, ...] | None:
    """Parse runs from their stored form; None: it is invalid."""
    runs = []
    source_end = target_end = 0
    for start in range(0, len(flat), 3):
        match flat[start : start + 3]:
            case [int(source_gap), int(target_gap), int(count)] if source_gap >= 0 and count > 0:
                run = Run(source_end + source_gap, target_end + target_gap, count)
            case _:
                return None
        runs.append(run)
        source_end, target_end = run.source_offset + count, run.target_offset + count
    return tuple(runs)


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _loaded(data: bytes | None) -> object:
    """Decode JSON; None: it is invalid."""
    try:
        return json.loads(data or b"null")
    except (ValueError, RecursionError):
        return None


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
        place: The place before the transaction.
        position: The next source offset to be mirrored.
        mark: The last batch that was read; None: unchanged.
        mirrored: Source and target offsets of the records, in order.
        forgotten_ends: Ends of the segments that the transaction deletes.
        runs_per_segment: Maximum number of runs in a place or a segment.
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
        # A segment also covers the offsets up to the next run, none of which was mirrored.
        segments.append(Segment(target_topic, runs[0].source_offset, older))
    return runs, segments
