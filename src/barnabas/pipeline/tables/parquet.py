"""Tables of plain Parquet files on a local disk, readable without a table format's library or a file list.

Layout, for a table at `place/views`:

    place/views/table_commit=<run>-<sequence>/            the files of a run's commit
    place/views/table_commit=<run>-<sequence>.<hex>/      the files of a compaction
        ....parquet, column=value/....parquet
        _progress.json                                      its `Note`
    place/_views.work/files/                                files that tasks write
    place/_views.work/staging/<name>/                       commits before their rename, and commits to be deleted
    place/_views.work/lock

Invariants:
- A commit is one rename of a directory into the table, by the process that has the lock. Unfinished files are outside
  the table's directory, because many readers read all files in it.
- The sequence of a run is checked under the lock, so only one of two writers of the same run commits.
- A commit that replaces others (replace, delete_rows, compact) names them in its note. From its rename on they are not
  part of the table. Its writer deletes them or, if it was killed, the next writer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.pipeline.tables.columns import aligned, aligned_columns, merged, quoted
from barnabas.pipeline.tables.commit_rules import (
    check_division,
    check_layout,
    check_sequence,
    moved,
    rewind_condition,
    without,
)
from barnabas.pipeline.tables.data_files import NO_PATTERNS, DataFile, FileSink, absolute, write_files
from barnabas.pipeline.tables.layout import PLAIN, Layout
from barnabas.pipeline.tables.table import (
    COMMIT_COLUMN,
    FILE_COLUMN,
    Compaction,
    Progress,
    Scan,
    Table,
    TableError,
    TableUnavailableError,
)

_COMMIT = re.compile(rf"{COMMIT_COLUMN}=([a-z0-9-]+)-(\d{{12}})(?:\.[0-9a-f]{{8}})?")
_NOTE = "_progress.json"
# Attempts of a replacement, which is computed again if another writer has changed the commits that it replaces.
_TRIES = 10
# Age at which files of killed writers are deleted: no writer takes that long to commit a file.
_LEFTOVER_S = 86_400


@dataclass(frozen=True, slots=True)
class Note:
    """The note beside a commit's files.

    `runs` contains the progress of all runs at the time of the commit, `schema` the table's columns from this commit on
    (Spark's JSON), `replaces` the names of the commits that it replaces.
    """

    runs: dict[str, Progress]
    schema: str
    partition_by: tuple[str, ...]
    replaces: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(
            {
                "runs": [progress.to_json() for progress in self.runs.values()],
                "schema": self.schema,
                "partition_by": self.partition_by,
                "replaces": self.replaces,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Note:
        found = json.loads(text)
        all_progress = [Progress.from_json(progress) for progress in found["runs"]]
        return cls(
            {progress.run: progress for progress in all_progress},
            found["schema"],
            tuple(found["partition_by"]),
            tuple(found.get("replaces", ())),
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The current commits with their notes, oldest first within a run, and replaced commits that still exist.

    The notes have no `runs`; `runs` is the newest progress of each run.
    """

    commits: dict[str, Note]
    replaced: tuple[str, ...]
    runs: dict[str, Progress]

    @property
    def schema(self) -> StructType | None:
        """The table's columns; None without a commit."""
        schema = None
        for text in dict.fromkeys(note.schema for note in self.commits.values()):
            schema = merged(schema, StructType.fromJson(json.loads(text)))
        return schema

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The partition columns of the newest commits."""
        return [note.partition_by for note in self.commits.values()][-1]


class ParquetTable(Table):
    """A table of Parquet files in a directory of a local disk."""

    def __init__(self, spark: SparkSession, location: str, layout: Layout = PLAIN) -> None:
        self._spark = spark
        self.location = location
        self._layout = layout
        self._directory = Path(absolute(location))
        self._work = self._directory.with_name(f"_{self._directory.name}.work")
        # The notes read so far, and the newest progress in them: a long run reads each note once.
        self._known: tuple[dict[str, Note], dict[str, Progress]] = ({}, {})

    def exists(self) -> bool:
        return bool(self._snapshot().commits)

    def schema(self) -> StructType | None:
        return self._snapshot().schema

    def scan(self) -> Scan:
        """Return the commits as the scan's files, because a commit never changes."""
        return self._scan(self._there())

    def progress(self, run: str) -> Progress | None:
        return self._snapshot().runs.get(run)

    def append(self, rows: DataFrame, progress: Progress) -> None:
        snapshot = self._snapshot()
        check_sequence(snapshot.runs.get(progress.run), progress, self.location)
        new = aligned(rows, snapshot.schema, self.location)
        sink = self.sink(new.schema)
        self.append_files(self._written(new, sink.partition_columns), new.schema, progress)

    def sink(self, columns: StructType) -> FileSink:
        snapshot = self._snapshot()
        there = aligned_columns(columns, snapshot.schema, self.location)
        self._check_columns(there)
        if snapshot.commits:
            check_division(snapshot.partition_by, self._layout, self.location)
        partition_by = snapshot.partition_by if snapshot.commits else self._partition_columns(there)
        order = tuple(name for name in self._layout.sorted_by if name in there.names)
        return FileSink(str(self._work / "files"), {}, tuple(there.names), partition_by, order)

    def append_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        snapshot = self._snapshot()
        schema = merged(snapshot.schema, aligned_columns(columns, snapshot.schema, self.location))
        partition_by = snapshot.partition_by if snapshot.commits else self._partition_columns(schema)
        if any(tuple(file.partition) != partition_by for file in files):
            raise TableUnavailableError(
                f"{self.location}: another writer has created the table, with other partition columns"
            )
        self._commit(files, schema, partition_by, progress)

    def discard(self, files: Sequence[DataFile]) -> None:
        FileSink(str(self._work / "files"), {}).delete(file.path for file in files)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        raise TableError(f"{self.location}: a Parquet table can't be updated by key: use delta, iceberg or postgresql")

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        for _ in range(_TRIES):
            snapshot = self._snapshot()
            check_sequence(snapshot.runs.get(progress.run), progress, self.location)
            new = rows
            if where:
                new = self.read().where(f"NOT coalesce({where}, false)").unionByName(rows)
            new = aligned(new, None, self.location)
            self._check_columns(new.schema)
            partition_by = self._partition_columns(new.schema)
            files = self._written(new, partition_by)
            if self._commit(files, merged(None, new.schema), partition_by, progress, list(snapshot.commits)):
                return
        raise self._busy()

    def delete_rows(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        progress: Progress,
        where: str = "",
        ends: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> int:
        for _ in range(_TRIES):
            snapshot = self._there()
            check_sequence(snapshot.runs.get(progress.run), progress, self.location)
            schema, partition_by = snapshot.schema, snapshot.partition_by
            assert schema is not None
            condition = where or rewind_condition(offsets, ends, schema, self.location)
            scan = self._scan(snapshot)
            removed, kept = without(scan, condition)
            count = scan.read(removed).where(condition).count() if removed else 0
            files = self._written(kept, partition_by) if removed else []
            if self._commit(files, schema, partition_by, progress, [f"{COMMIT_COLUMN}={name}" for name in removed]):
                return count
        raise self._busy()

    def compact(self) -> Compaction:
        """Merge the files of small commits of the same run."""
        snapshot = self._there()
        before = sum(len(self._sizes(name)) for name in snapshot.commits)
        for run in {_run_of(name) for name in snapshot.commits}:
            self._compact_run(snapshot, [name for name in snapshot.commits if _run_of(name) == run])
        return Compaction(before, sum(len(self._sizes(name)) for name in self._snapshot().commits))

    def trim_history(self) -> None:
        """Delete files older than a day that killed writers left; the table has no old versions."""
        oldest_s = time.time() - _LEFTOVER_S
        for directory, _, names in os.walk(self._work / "files"):
            for path in (Path(directory, name) for name in names):
                if path.stat().st_mtime < oldest_s:
                    path.unlink(missing_ok=True)
        for path in (self._work / "staging").glob("*"):
            if path.stat().st_mtime < oldest_s:
                shutil.rmtree(path, ignore_errors=True)

    def _compact_run(self, snapshot: Snapshot, names: list[str]) -> None:
        small, file_count, total_bytes = [], 0, 0
        for name in names:
            sizes = self._sizes(name)
            if sum(sizes) < len(sizes) * self._layout.file_bytes / 2 or not sizes:
                small.append(name)
                file_count += len(sizes)
                total_bytes += sum(sizes)
        wanted = max(1, math.ceil(total_bytes / self._layout.file_bytes))
        if file_count <= wanted and len(small) < 2:
            return
        schema, partition_by = snapshot.schema, snapshot.partition_by
        assert schema is not None
        rows = self._rows(snapshot, small).drop(COMMIT_COLUMN)
        # Without the shuffle, each task would write a file for each combination of partition values.
        rows = rows.repartition(wanted, *map(quoted, partition_by)) if partition_by else rows.coalesce(wanted)
        # Not retried: if another writer has replaced these commits meanwhile, the next compaction merges the rest.
        self._commit(self._written(rows, partition_by), schema, partition_by, None, small)

    # Reading.

    def _snapshot(self) -> Snapshot:
        """List the commits under the shared lock."""
        with self._lock(fcntl.LOCK_SH):
            return self._listed()

    def _listed(self) -> Snapshot:
        names = sorted(filter(_COMMIT.fullmatch, os.listdir(self._directory)) if self._directory.exists() else ())
        notes, runs = self._known
        if not notes.keys() <= set(names):
            # Commits were replaced, or the table was deleted.
            notes, runs = {}, {}
        new = {name: self._note(name) for name in names if name not in notes}
        runs = newest_progress([runs, *(note.runs for note in new.values())])
        new = {name: replace(note, runs={}, schema=sys.intern(note.schema)) for name, note in new.items()}
        notes = {name: new.get(name) or notes[name] for name in names}
        # One assignment, because a batch and a refresh may list the table at the same time.
        self._known = notes, runs
        replaced = {name for note in notes.values() for name in note.replaces}
        return Snapshot(
            {name: note for name, note in notes.items() if name not in replaced},
            tuple(name for name in names if name in replaced),
            runs,
        )

    def _note(self, name: str) -> Note:
        return Note.from_json((self._directory / name / _NOTE).read_text())

    def _there(self) -> Snapshot:
        snapshot = self._snapshot()
        if not snapshot.commits:
            raise TableError(f"{self.location}: the Parquet table does not exist")
        return snapshot

    def _scan(self, snapshot: Snapshot) -> Scan:
        names = {name.partition("=")[2]: name for name in snapshot.commits}

        def read(some: Collection[str]) -> DataFrame:
            rows = self._rows(snapshot, [names[each] for each in some])
            return rows.withColumnRenamed(COMMIT_COLUMN, FILE_COLUMN)

        return Scan(names.keys(), read)

    def _rows(self, snapshot: Snapshot, names: Sequence[str]) -> DataFrame:
        """Read the given commits; the rows have the commit in the column `COMMIT_COLUMN`."""
        schema = snapshot.schema
        assert schema is not None
        with_commit = StructType([*schema.fields, StructField(COMMIT_COLUMN, StringType())])
        if not names:
            return self._spark.createDataFrame([], with_commit)
        reader = self._spark.read.schema(with_commit).options(basePath=f"file:{self._directory}", **NO_PATTERNS)
        rows = reader.parquet(*(f"file:{self._directory / name}" for name in names))
        # Spark puts partition columns last.
        return rows.select(*(quoted(name) for name in with_commit.names))

    def _sizes(self, name: str) -> list[int]:
        return [file.stat().st_size for file in (self._directory / name).rglob("*.parquet")]

    # Writing.

    def _check_columns(self, columns: StructType) -> None:
        if COMMIT_COLUMN in (name.lower() for name in columns.names):
            raise TableError(f"{self.location}: a Parquet table can't have a column {COMMIT_COLUMN}: rename it")

    def _partition_columns(self, columns: StructType) -> tuple[str, ...]:
        check_layout(self._layout, columns.names, self.location)
        return tuple(each.column for each in self._layout.partition_columns)

    def _written(self, rows: DataFrame, partition_by: Sequence[str]) -> list[DataFile]:
        if order := [name for name in self._layout.sorted_by if name in rows.columns]:
            rows = rows.sortWithinPartitions(*map(quoted, (*partition_by, *order)))
        return write_files(rows, FileSink(str(self._work / "files"), {}, None, tuple(partition_by)))

    def _commit(
        self,
        files: Sequence[DataFile],
        schema: StructType,
        partition_by: Sequence[str],
        progress: Progress | None,
        replaces: Sequence[str] = (),
    ) -> bool:
        """Commit files that were written before.

        Args:
            files: The files, which are moved.
            schema: The table's columns from this commit on.
            partition_by: The partition columns.
            progress: The run's progress; None for a compaction, which is named after the newest commit in it.
            replaces: The names of the commits that it replaces.

        Returns:
            False if a commit to replace no longer exists; the files are deleted then.

        Raises:
            TableMovedError: another writer has committed as the same run.
        """
        staged = self._work / "staging" / uuid.uuid4().hex
        try:
            for file in files:
                (staged / file.path).parent.mkdir(parents=True, exist_ok=True)
                os.rename(self._work / "files" / file.path, staged / file.path)
                _flush(staged / file.path)
            staged.mkdir(parents=True, exist_ok=True)
            with self._lock(fcntl.LOCK_EX):
                snapshot = self._listed()
                self._delete(snapshot.replaced)
                runs = dict(snapshot.runs)
                if progress:
                    last = runs.get(progress.run)
                    if progress.sequence != (last.sequence + 1 if last else 1):
                        raise moved(progress, self.location)
                    runs[progress.run] = progress
                    name = _commit_name(progress.run, progress.sequence)
                else:
                    name = f"{replaces[-1].partition('.')[0]}.{uuid.uuid4().hex[:8]}"
                if not set(replaces) <= snapshot.commits.keys():
                    shutil.rmtree(staged)
                    return False
                note = Note(runs, schema.json(), tuple(partition_by), tuple(replaces))
                (staged / _NOTE).write_text(note.to_json())
                _flush(staged / _NOTE)
                for directory, _, _ in os.walk(staged):
                    _flush(Path(directory))
                self._directory.mkdir(exist_ok=True)
                os.rename(staged, self._directory / name)
                _flush(self._directory)
                self._delete(replaces)
        except Exception:
            # Whatever failed: after the commit's rename, the files are not in these places any more.
            self.discard(files)
            shutil.rmtree(staged, ignore_errors=True)
            raise
        return True

    def _delete(self, names: Sequence[str]) -> None:
        """Delete replaced commits; each disappears from the table by one rename."""
        for name in names:
            dead = self._work / "staging" / uuid.uuid4().hex
            os.rename(self._directory / name, dead)
            shutil.rmtree(dead, ignore_errors=True)
        if names:
            _flush(self._directory)

    @contextmanager
    def _lock(self, kind: int) -> Iterator[None]:
        """Lock the table for the block; the system releases the lock if the process is killed."""
        path = self._work / "lock"
        if kind == fcntl.LOCK_EX:
            self._work.mkdir(parents=True, exist_ok=True)
            path.touch()
        elif not path.exists():
            # No writer has created the lock file yet.
            yield
            return
        with path.open() as file:
            fcntl.flock(file, kind)
            yield

    def _busy(self) -> TableError:
        return TableError(f"{self.location}: other writers changed the table {_TRIES} times meanwhile: try again")


def newest_progress(notes: Iterable[Mapping[str, Progress]]) -> dict[str, Progress]:
    """Return the newest progress of each run, whichever note has it."""
    found: dict[str, Progress] = {}
    for runs in notes:
        for run, progress in runs.items():
            if run not in found or found[run].sequence < progress.sequence:
                found[run] = progress
    return found


def _commit_name(run: str, sequence: int) -> str:
    """Return the name of a commit's directory: readable, and unique to the run."""
    if sequence >= 10**12:
        raise TableError(f"run {run}: commit {sequence} has too many digits")
    readable = re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")[:60]
    slug = f"{readable or 'run'}-{hashlib.sha256(run.encode()).hexdigest()[:8]}"
    return f"{COMMIT_COLUMN}={slug}-{sequence:012}"


def _run_of(name: str) -> str:
    """Return the part of a commit's name that identifies its run."""
    match = _COMMIT.fullmatch(name)
    assert match is not None, name
    return match[1]


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
