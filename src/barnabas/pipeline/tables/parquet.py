"""Tables of plain Parquet files: no library and no list of files is needed to read one.

How commits are made of directories is in `commits.py`. Columns and their types stand in each commit's note, so that
reading asks no file for them. What plain files can't do is left out: rows are not changed one by one, and a rename must
be one step, which it is on local disk and HDFS and is not in an object store.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import aligned, merged, quoted
from barnabas.pipeline.tables.commits import (
    COMMIT_COLUMN,
    Commits,
    Note,
    Snapshot,
    commit_name,
    compacted_name,
    run_of,
)
from barnabas.pipeline.tables.hadoop import Directory
from barnabas.pipeline.tables.layout import PLAIN, Layout
from barnabas.pipeline.tables.rules import (
    check_division,
    check_layout,
    check_sequence,
    condition_of_cut,
    moved,
    with_rest,
)
from barnabas.pipeline.tables.table import USUAL_LIMITS, Compaction, Progress, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SCHEMES = ("file", "hdfs", "viewfs")
# What is written by others meanwhile is looked at, and the same done again.
_TRIES = 10


class ParquetTable:
    """A table of Parquet files in a directory."""

    widens = False
    column_limits = USUAL_LIMITS

    def __init__(self, spark: SparkSession, location: str, layout: Layout = PLAIN) -> None:
        self._spark = spark
        self._location = location
        self._layout = layout
        directory = Directory(spark, location)
        if directory.scheme not in _SCHEMES:
            raise TableError(
                f"{location}: Parquet tables are for local disk and HDFS: on {directory.scheme} no rename is one step; "
                "take delta or iceberg"
            )
        self._commits = Commits(directory)

    @property
    def location(self) -> str:
        return self._location

    def exists(self) -> bool:
        return bool(self._commits.snapshot().commits)

    def read(self) -> DataFrame:
        snapshot = self._commits.snapshot()
        self._check_exists(snapshot)
        return self._rows(snapshot, snapshot.commits).drop(COMMIT_COLUMN)

    def progress(self, run: str) -> Progress | None:
        return self._commits.snapshot().runs.get(run)

    def append(self, rows: DataFrame, progress: Progress) -> None:
        self._commits.sweep()
        snapshot = self._commits.snapshot()
        check_sequence(snapshot.runs.get(progress.run), progress, self._location)
        schema = self._schema(snapshot)
        aligned_rows = self._aligned(rows, schema)
        if snapshot.commits:
            partition_by = snapshot.notes[-1].partition_by
            check_division(partition_by, self._layout, self._location)
        else:
            partition_by = self._divided_by(aligned_rows)
        staged = self._commits.stage(progress.run)
        try:
            self._write(aligned_rows, staged, partition_by)
        except Exception:
            # One that took itself for the same run has removed what this one was writing: it came first, or will.
            check_sequence(self._commits.snapshot().runs.get(progress.run), progress, self._location)
            if not self._commits.work.exists(staged):
                raise moved(progress, self._location) from None
            raise
        note = self._note(snapshot, merged(schema, aligned_rows.schema), partition_by, progress)
        name = commit_name(progress.run, progress.sequence)
        if not self._commits.put(staged, note, name):
            raise moved(progress, self._location)
        self._check_counts(name, progress)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        raise TableError(
            f"{self._location}: rows of Parquet files can't be changed one by one: take delta, iceberg or postgresql"
        )

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        if where:
            rows = with_rest(rows, self.read(), where)
        for _ in range(_TRIES):
            snapshot = self._commits.snapshot()
            check_sequence(snapshot.runs.get(progress.run), progress, self._location)
            aligned_rows = self._aligned(rows, None)
            partition_by = self._divided_by(aligned_rows)
            staged = self._commits.stage(progress.run)
            self._write(aligned_rows, staged, partition_by)
            note = self._note(snapshot, merged(None, aligned_rows.schema), partition_by, progress)
            if self._swap(staged, note, progress, snapshot.commits):
                return
        raise self._busy()

    def cut(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        from pyspark.sql import functions as F

        for _ in range(_TRIES):
            snapshot = self._commits.snapshot()
            self._check_exists(snapshot)
            check_sequence(snapshot.runs.get(progress.run), progress, self._location)
            schema = self._schema(snapshot)
            assert schema is not None
            condition = where or condition_of_cut(offsets, schema, self._location)
            goes = F.coalesce(F.expr(condition), F.lit(False))
            rows = self._rows(snapshot, snapshot.commits)
            counts = {row[0]: row[1] for row in rows.where(goes).groupBy(COMMIT_COLUMN).count().collect()}
            straddling = [name for name in snapshot.commits if name.partition("=")[2] in counts]
            staged = self._commits.stage(progress.run)
            partition_by = snapshot.notes[-1].partition_by
            if straddling:
                left = self._rows(snapshot, straddling).where(~goes).drop(COMMIT_COLUMN)
                self._write(left, staged, partition_by)
            note = self._note(snapshot, schema, partition_by, progress)
            if self._swap(staged, note, progress, straddling):
                return sum(counts.values())
        raise self._busy()

    def compact(self) -> Compaction:
        """Write the files of many small commits of a run together; the run's newest progress stays with them."""
        self._commits.sweep()
        snapshot = self._commits.snapshot()
        self._check_exists(snapshot)
        before = len(self._commits.files(snapshot.commits))
        for run in {run_of(name) for name in snapshot.commits}:
            self._compact_run(snapshot, [name for name in snapshot.commits if run_of(name) == run])
        return Compaction(before, len(self._commits.files(self._commits.snapshot().commits)))

    def trim_history(self) -> None:
        """Do nothing: there is the latest commit alone."""

    def _compact_run(self, snapshot: Snapshot, names: list[str]) -> None:
        small, file_count, total_bytes = [], 0, 0
        for name in names:
            sizes = [entry.size_bytes for entry in self._commits.files([name])]
            if sum(sizes) < len(sizes) * self._layout.file_bytes / 2 or not sizes:
                small.append(name)
                file_count += len(sizes)
                total_bytes += sum(sizes)
        wanted = max(1, math.ceil(total_bytes / self._layout.file_bytes))
        if file_count <= wanted and len(small) < 2:
            return
        schema = self._schema(snapshot)
        assert schema is not None
        partition_by = snapshot.notes[-1].partition_by
        rows = self._rows(snapshot, small).drop(COMMIT_COLUMN)
        # A division into files by columns puts a value's rows together first: else each task writes one file for each.
        rows = rows.repartition(wanted, *map(quoted, partition_by)) if partition_by else rows.coalesce(wanted)
        staged = self._commits.stage_compaction()
        self._write(rows, staged, partition_by)
        note = self._note(snapshot, schema, partition_by)
        # Another one was there first: the files are small for a while longer.
        self._commits.swap(staged, note, compacted_name(small[-1]), small)

    def _rows(self, snapshot: Snapshot, names: Sequence[str]) -> DataFrame:
        """Read some commits; the rows say in `COMMIT_COLUMN` which one they are of."""
        from pyspark.sql.types import StringType, StructField, StructType

        schema = self._schema(snapshot)
        assert schema is not None
        with_commit = StructType([*schema.fields, StructField(COMMIT_COLUMN, StringType())])
        directory = self._commits.directory
        reader = self._spark.read.schema(with_commit).option("basePath", directory.uri())
        rows = reader.parquet(*(directory.uri(name) for name in names))
        # Columns that stand in the names of directories come last otherwise.
        return rows.select(*(quoted(name) for name in with_commit.names))

    def _divided_by(self, rows: DataFrame) -> tuple[str, ...]:
        check_layout(self._layout, rows.columns, self._location)
        return tuple(each.column for each in self._layout.divided_by)

    def _write(self, rows: DataFrame, staged: str, partition_by: Sequence[str]) -> None:
        if order := [name for name in self._layout.sorted_by if name in rows.columns]:
            rows = rows.sortWithinPartitions(*map(quoted, (*partition_by, *order)))
        writer = rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        writer.partitionBy(*partition_by).parquet(self._commits.work.uri(staged))

    def _swap(self, staged: str, note: Note, progress: Progress, replaced: Sequence[str]) -> bool:
        if self._commits.swap(staged, note, commit_name(progress.run, progress.sequence), replaced):
            return True
        check_sequence(self._commits.snapshot().runs.get(progress.run), progress, self._location)
        return False

    def _schema(self, snapshot: Snapshot) -> StructType | None:
        from pyspark.sql.types import StructType

        schema = None
        for note in snapshot.notes:
            schema = merged(schema, StructType.fromJson(json.loads(note.schema)))
        return schema

    def _aligned(self, rows: DataFrame, schema: StructType | None) -> DataFrame:
        if COMMIT_COLUMN in (name.lower() for name in rows.columns):
            raise TableError(f"{self._location}: a Parquet table has no room for a column {COMMIT_COLUMN}: rename it")
        return aligned(rows, schema, self._location)

    def _note(
        self, snapshot: Snapshot, schema: StructType, partition_by: Sequence[str], progress: Progress | None = None
    ) -> Note:
        runs = snapshot.runs
        if progress:
            runs[progress.run] = progress
        return Note(uuid.uuid4().hex, runs, schema.json(), tuple(partition_by))

    def _check_counts(self, name: str, progress: Progress) -> None:
        """See that a commit which was just made is the run's newest one.

        It is not when its name had been taken, and had become free again by a compaction, while this writer slept.
        """
        snapshot = self._commits.snapshot()
        newest = [there for there in snapshot.commits if run_of(there) == run_of(name)][-1:]
        is_in_place = newest == [name] or name not in snapshot.commits
        if not is_in_place or snapshot.runs.get(progress.run) != progress:
            self._commits.directory.remove(name)
            raise moved(progress, self._location)

    def _check_exists(self, snapshot: Snapshot) -> None:
        if not snapshot.commits:
            raise TableError(f"{self._location}: there is no Parquet table")

    def _busy(self) -> TableError:
        return TableError(f"{self._location}: others changed the table {_TRIES} times meanwhile: try again")
