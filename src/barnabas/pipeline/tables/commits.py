"""Commits as directories: what makes plain files a table.

Layout, for a table at `place/views`:

    place/views/table_commit=<run>-<sequence>/            what one commit of a run wrote
    place/views/table_commit=<run>-<sequence>.<hex>/      what a compaction made of several
        ....parquet, column=value/....parquet
        _progress.json                                      its `Note`
    place/_views.work/staging/<name>/                       what is being written
    place/_views.work/swap.json                             which commits another one takes the place of
    place/_views.work/lock                                  of those who take away commits

Invariants:
- A directory comes from staging to its place by one rename: any reader sees it whole, or not at all. What is being
  written is no part of the table's own directory, since many readers take all files below it.
- The first of two commits with the same run and sequence wins: the second finds the name taken.
- What takes the place of others (replace, cut, compaction) says so in `swap.json` first. It counts from its rename on,
  and the others do not count from then on, for our own readers. Then they are removed, and `swap.json` last; who finds
  it finishes that (its commit is there) or undoes it (the file alone goes).
- Only one at a time looks at what is there and takes it away: under the lock.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas.pipeline.tables.hadoop import Directory, Entry
from barnabas.pipeline.tables.table import Progress, TableError

# A column of this name would be lost to Hive's way of naming directories, which many readers follow.
COMMIT_COLUMN = "table_commit"
NOTE = "_progress.json"

_COMMIT = re.compile(rf"{COMMIT_COLUMN}=([a-z0-9-]+)-(\d{{12}})(?:\.[0-9a-f]{{8}})?")
_STAGING = "staging"
_SWAP = "swap.json"
_COMPACTION = "compaction."
_DEAD = "dead."


@dataclass(frozen=True, slots=True)
class Note:
    """A commit's note, which stands beside its files.

    `runs` holds the progress of all runs as far as its writer knew, `schema` the table's columns from then on (Spark's
    JSON), `writer` names this very attempt.
    """

    writer: str
    runs: dict[str, Progress]
    schema: str
    partition_by: tuple[str, ...]

    def to_json(self) -> str:
        return json.dumps(
            {
                "writer": self.writer,
                "runs": [progress.to_json() for progress in self.runs.values()],
                "schema": self.schema,
                "partition_by": self.partition_by,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Note:
        found = json.loads(text)
        all_progress = [Progress.from_json(progress) for progress in found["runs"]]
        return cls(
            found["writer"],
            {progress.run: progress for progress in all_progress},
            found["schema"],
            tuple(found["partition_by"]),
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The commits that count at one moment, by name, oldest first within a run; and the newest note of each run."""

    commits: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def runs(self) -> dict[str, Progress]:
        """The newest progress of each run."""
        found: dict[str, Progress] = {}
        for note in self.notes:
            for run, progress in note.runs.items():
                if run not in found or found[run].sequence < progress.sequence:
                    found[run] = progress
        return found


class Commits:
    """The directories of one table."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.work = directory.beside(f"_{directory.name}.work")

    def snapshot(self) -> Snapshot:
        """Tell what counts now."""
        while True:
            try:
                commits = self._living()
                newest = {run_of(name): name for name in commits}
                return Snapshot(commits, tuple(self._note(name) for name in newest.values()))
            except FileNotFoundError:
                # It was there when it was listed: another process has put something in its place since.
                continue

    def stage(self, run: str) -> str:
        """Return the name of a new staging directory of a run, and remove what killed attempts of it have left."""
        prefix = f"{_slug(run)}-"
        self._remove_staged(prefix, _DEAD)
        return f"{_STAGING}/{prefix}{uuid.uuid4().hex}"

    def stage_compaction(self) -> str:
        """Return the name of a new staging directory of a compaction, and remove what killed ones have left."""
        self._remove_staged(_COMPACTION)
        return f"{_STAGING}/{_COMPACTION}{uuid.uuid4().hex}"

    def put(self, staged: str, note: Note, name: str) -> bool:
        """Make what was staged a commit.

        Returns:
            False when there is one of this name already; what was staged is removed then.
        """
        self._finish_staged(staged, note)
        if not self.work.move(staged, self.directory, name):
            self.work.remove(staged)
            return False
        self.directory.flush_names()
        return True

    def swap(self, staged: str, note: Note, name: str, replaced: Sequence[str]) -> bool:
        """Make what was staged a commit that takes the place of others.

        Returns:
            False when there is one of this name already, or one of those to be replaced is gone.
        """
        self._finish_staged(staged, note)
        with self.work.lock():
            self._sweep()
            if not set(replaced) <= set(self._living()):
                self.work.remove(staged)
                return False
            self.work.make()
            swap = {"name": name, "writer": note.writer, "replaced": list(replaced)}
            self.work.write_text(_SWAP, json.dumps(swap))
            if not self.work.move(staged, self.directory, name):
                self.work.remove(staged)
                self.work.remove(_SWAP)
                return False
            self.directory.flush_names()
            self._sweep()
        return True

    def sweep(self) -> None:
        """Finish what a killed swap has begun."""
        if self.work.exists(_SWAP):
            with self.work.lock():
                self._sweep()

    def files(self, names: Iterable[str]) -> list[Entry]:
        """List the data files of some commits."""
        return [entry for name in names for entry in self.directory.files(name) if entry.name.endswith(".parquet")]

    def _sweep(self) -> None:
        """Remove what has been replaced; under the lock."""
        dead = [name for name in self._replaced() if self.directory.exists(name)]
        if dead:
            self.work.make(_STAGING)
            for name in dead:
                # Whole at once: who lists it later finds nothing rather than some of its files.
                self.directory.move(name, self.work, f"{_STAGING}/{_DEAD}{uuid.uuid4().hex}")
            self.directory.flush_names()
        self.work.remove(_SWAP)
        self._remove_staged(_DEAD)

    def _living(self) -> tuple[str, ...]:
        """List the commits that count.

        A listing is not made at one moment: it is made until it comes out the same twice, with `swap.json` before and
        behind each. What was there all the time is in both then, and a swap in between is seen by one of the four.
        """
        before = None
        while True:
            dead = self._replaced()
            names = tuple(entry.name for entry in self.directory.entries() if _COMMIT.fullmatch(entry.name))
            if before == (dead, names):
                return tuple(sorted((name for name in names if name not in dead), key=_order))
            before = dead, names

    def _replaced(self) -> list[str]:
        """Return the commits that do not count, as another one has taken their place."""
        try:
            swap = json.loads(self.work.read_text(_SWAP))
            is_made = self._note(swap["name"]).writer == swap["writer"]
        except (FileNotFoundError, ValueError):
            # There is none, or it was cut short by a kill: then its commit was never made.
            return []
        return list(swap["replaced"]) if is_made else []

    def _note(self, name: str) -> Note:
        return Note.from_json(self.directory.read_text(f"{name}/{NOTE}"))

    def _finish_staged(self, staged: str, note: Note) -> None:
        self.work.make(staged)
        self.work.write_text(f"{staged}/{NOTE}", note.to_json())
        self.work.flush(staged)

    def _remove_staged(self, *prefixes: str) -> None:
        for entry in self.work.entries(_STAGING):
            if entry.name.startswith(prefixes):
                self.work.remove(f"{_STAGING}/{entry.name}")


def commit_name(run: str, sequence: int) -> str:
    """Name the directory of a run's commit."""
    if sequence >= 10**12:
        raise TableError(f"run {run}: commit {sequence} has too many digits")
    return f"{COMMIT_COLUMN}={_slug(run)}-{sequence:012}"


def compacted_name(newest: str) -> str:
    """Name the directory of a compaction after the newest commit in it."""
    return f"{newest.partition('.')[0]}.{uuid.uuid4().hex[:8]}"


def run_of(name: str) -> str:
    """Return which run a commit's directory belongs to: not its name, but the same for the same run."""
    match = _COMMIT.fullmatch(name)
    assert match is not None, name
    return match[1]


def _order(name: str) -> tuple[str, int, str]:
    match = _COMMIT.fullmatch(name)
    assert match is not None, name
    return match[1], int(match[2]), name


def _slug(run: str) -> str:
    """Return a run's name as a part of a directory's: readable, and another one for another run."""
    readable = re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")[:60]
    return f"{readable or 'run'}-{hashlib.sha256(run.encode()).hexdigest()[:8]}"
