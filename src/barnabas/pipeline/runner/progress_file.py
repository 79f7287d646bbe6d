"""A run's progress: how a batch advances it, and the file that stores it if no table does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.clients.positions import merged
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.tables.table import Mark, Offsets, Progress

_FILE = "progress.json"

Marks = Mapping[str, Mapping[int, Mark]]


@dataclass(frozen=True, slots=True)
class Span:
    """A batch: offsets from `starts` (0 if missing) up to `ends`, and the mark of each partition's last record."""

    starts: Offsets
    ends: Offsets
    marks: Marks


def advanced(older: Progress | None, run: str, cluster_id: str, span: Span) -> Progress:
    """Return the progress after a batch.

    A table may already be beyond the batch's end: another table of the job was behind, and the batches now have other
    bounds. Its offset stays, because a lower offset would duplicate rows.
    """
    known = older.offsets if older else {}
    marks = {topic: dict(partitions) for topic, partitions in (older.marks if older else {}).items()}
    ends = {
        topic: {number: max(end, known.get(topic, {}).get(number, 0)) for number, end in partitions.items()}
        for topic, partitions in span.ends.items()
    }
    for topic, partitions in span.marks.items():
        for number, mark in partitions.items():
            if mark.offset >= known.get(topic, {}).get(number, 0):
                marks.setdefault(topic, {})[number] = mark
    return Progress(run, _next(older), cluster_id, merged(known, ends), marks)


def rebased(older: Progress | None, run: str, cluster_id: str, offsets: Offsets) -> Progress:
    """Return the progress of a run that resumes at other offsets; the marks of their partitions are dropped."""
    marks = {
        topic: {number: mark for number, mark in parts.items() if number not in offsets.get(topic, {})}
        for topic, parts in (older.marks if older else {}).items()
    }
    return Progress(run, _next(older), cluster_id, merged(older.offsets if older else {}, offsets), marks)


def _next(older: Progress | None) -> int:
    return (older.sequence if older else 0) + 1


def newest_marks(all_marks: Iterable[Marks]) -> Marks:
    """Return the mark with the highest offset of each partition."""
    newest: dict[str, dict[int, Mark]] = {}
    for marks in all_marks:
        for topic, partitions in marks.items():
            for number, mark in partitions.items():
                known = newest.setdefault(topic, {}).get(number)
                if known is None or mark.offset > known.offset:
                    newest[topic][number] = mark
    return newest


class ProgressFile:
    """A run's progress in a file of its checkpoint, for a job that only writes topics."""

    def __init__(self, files: Files, run: str, cluster_id: str) -> None:
        self._files = files
        self._run = run
        self._cluster_id = cluster_id
        text = files.read(_FILE)
        self.progress = Progress.from_json(text) if text else None

    @property
    def offsets(self) -> Offsets:
        """The offsets up to which the run has read."""
        return self.progress.offsets if self.progress else {}

    @property
    def marks(self) -> Marks:
        """The last record read of each partition."""
        return self.progress.marks if self.progress else {}

    def advance(self, span: Span) -> None:
        """Store the progress after a batch."""
        self._put(advanced(self.progress, self._run, self._cluster_id, span))

    def rebase(self, offsets: Offsets) -> None:
        """Store other offsets at which the run resumes."""
        self._put(rebased(self.progress, self._run, self._cluster_id, offsets))

    def _put(self, progress: Progress) -> None:
        self._files.write(_FILE, progress.to_json())
        self.progress = progress
