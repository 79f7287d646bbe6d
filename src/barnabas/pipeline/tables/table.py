"""The interface of all kinds of tables, and the progress committed with the data.

Invariants, whatever is killed and when:
- A commit puts rows and `Progress` in place in one step, or nothing. What a killed one left is seen by no reader.
- A commit of a run has the number after that run's last one, else it is refused (`TableMovedError`): two writers that
  take themselves for the same run can't both go on.
- Several runs may write one table at the same time (a load, and a backfill beside it); each has its own progress.
- What a run has read is known from the table alone, without a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import DataFile, Sink

# By topic and partition: the offset of the next record to be read.
Offsets = dict[str, dict[int, int]]

MEGABYTE = 1 << 20

COMMIT_COLUMN = "table_commit"
"""The column by which directories of a Parquet table name their commit; no table has a column of this name."""

FILE_COLUMN = "_barnabas_file"
"""The column with the name of a row's data file, see `Scan`."""

# A table with more columns is hardly one; objects whose fields are keys (by user, by date) would make it so.
MAXIMUM_COLUMN_COUNT = 2_000


class TableError(Exception):
    """The table can't be read or written as asked: one line that says why and what to do."""


class RowsRefusedError(TableError):
    """The table's system refuses at least one of the rows: fewer rows may be accepted. The message is the reason."""


class TableMovedError(TableError):
    """Another writer has committed to the table as the same run."""


class TableUnavailableError(Exception):
    """The table can't be written to now: its store does not answer, or another driver may be at work; it may pass."""


@dataclass(frozen=True, slots=True)
class ColumnLimits:
    """The columns that a table can have.

    Attributes:
        count: The largest number of them.
        name_bytes: The largest length of a name in UTF-8; None: there is no limit.
        taken: Names that only the table's system uses.
        has_nul: Whether a name can have a NUL character.
    """

    count: int = MAXIMUM_COLUMN_COUNT
    name_bytes: int | None = None
    taken: frozenset[str] = frozenset()
    has_nul: bool = True

    def refusal(self, name: str) -> str | None:
        """Return why the table can have no column of a name; None if it can."""
        if self.name_bytes is not None and len(name.encode()) > self.name_bytes:
            return f"has a name of {len(name.encode())} bytes, and the table takes {self.name_bytes}"
        if name in self.taken:
            return "has a name that only the table's system uses"
        if not self.has_nul and "\0" in name:
            return "has a NUL character in its name"
        return None


USUAL_LIMITS = ColumnLimits()


@dataclass(frozen=True, slots=True)
class Mark:
    """The last record that was read of a partition: by it a topic that was deleted and made anew is known.

    `checksum` is CRC-32 over key and value, 0 for a null.
    """

    offset: int
    timestamp_ms: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The offsets up to which a run has read: stands in the commit, beside the data.

    `run` names who writes ("load/page-views"), `sequence` counts its commits from 1. `marks` holds, by topic and
    partition, the last record read; a partition of which nothing was read has none.
    """

    run: str
    sequence: int
    cluster_id: str
    offsets: Offsets
    marks: dict[str, dict[int, Mark]]

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps(
            {
                "run": self.run,
                "sequence": self.sequence,
                "cluster_id": self.cluster_id,
                "offsets": self.offsets,
                "marks": {
                    topic: {
                        partition: [mark.offset, mark.timestamp_ms, mark.checksum]
                        for partition, mark in partitions.items()
                    }
                    for topic, partitions in self.marks.items()
                },
            },
            separators=(",", ":"),
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> Progress:
        """Read what `to_json` gave; raise TableError if it is something else."""
        try:
            found = json.loads(text)
            return cls(
                found["run"],
                found["sequence"],
                found["cluster_id"],
                {
                    topic: {int(number): offset for number, offset in partitions.items()}
                    for topic, partitions in found["offsets"].items()
                },
                {
                    topic: {int(number): Mark(*mark) for number, mark in partitions.items()}
                    for topic, partitions in found["marks"].items()
                },
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise TableError(f"invalid progress of a run: {text[:200]!r} ({error})") from None


@dataclass(frozen=True, slots=True)
class Compaction:
    """The numbers of files before and after a compaction."""

    files_before: int
    files_after: int


@dataclass(frozen=True, slots=True)
class Scan:
    """One version of a table as data files. The rows of a file never change: other rows come in files of other names.

    Attributes:
        files: Names of the data files.
        read: Returns the rows of some of the files, with the file's name in `FILE_COLUMN`.
    """

    files: Collection[str]
    read: Callable[[Collection[str]], DataFrame]

    def rows(self) -> DataFrame:
        """Return the rows of all files."""
        return self.read(self.files).drop(FILE_COLUMN)


class Table(Protocol):
    """One table at one place.

    One that is not there yet is made by its first commit, in the layout it was opened with; others keep theirs.

    Attributes:
        location: Its place, for people: without a password.
        column_limits: The columns that the table can have.
    """

    location: str
    column_limits: ColumnLimits = USUAL_LIMITS

    def exists(self) -> bool:
        """Return whether there is a commit."""

    def schema(self) -> StructType | None:
        """Return the columns of the latest commit; None if the table does not exist."""

    def read(self) -> DataFrame:
        """Return all rows of the latest commit; raise TableError if the table does not exist."""
        return self.scan().rows()

    def scan(self) -> Scan:
        """Return the data files of the latest commit; raise TableError if the table does not exist."""

    def progress(self, run: str) -> Progress | None:
        """Return how far a run has come; None when it has committed nothing."""

    def append(self, rows: DataFrame, progress: Progress) -> None:
        """Add rows.

        Columns that the table does not have yet are added; rows without one of its columns have null there.

        Raises:
            TableMovedError: `progress.sequence` is not the one after the run's last.
            TableError: a column has another type than in the table.
        """

    def sink(self, columns: StructType) -> Sink:
        """Return what tasks write rows of these columns with; the table need not exist yet.

        Args:
            columns: All columns of the rows, new ones included, in the order of the Arrow tables that tasks write.

        Raises:
            TableError: a column has another type than in the table.
        """

    def append_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        """Commit what tasks wrote through `sink(columns)`: as `append`, and with the same errors.

        No files is a commit of the progress alone.
        """

    def discard(self, files: Sequence[DataFile]) -> None:
        """Delete files that will not be committed; what can't be deleted now is left to maintenance."""

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        """Put each row in the place of the one with the same key, or add it; keys are distinct within `rows`.

        Columns are added as by `append`.

        With `gone` the rows are the records of one text column as key, and one that is not later than the row which is
        there (`commit_rules.is_later`) changes nothing. Rows for which `gone` (SQL of one column) holds take the other
        row away, or put their values of the columns `marks` into it; where there is none they add none.
        """

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        """Put rows in the place of all that are there, or of those for which `where` (SQL) holds.

        `rows` may have been read from this very table. With `where` they have its columns, and hold for it themselves.
        """

    def delete_rows(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        """Delete the rows of these partitions from these offsets on (columns `_topic`, `_partition`, `_offset`).

        With `where` (SQL), delete the rows that match it instead.

        Returns:
            The number of deleted rows.
        """

    def compact(self) -> Compaction:
        """Write small files together into larger ones; rows and progress stay, runs may go on beside it."""

    def trim_history(self) -> None:
        """Forget how the table was before its layout's `keep_history_s`, and remove the files that only that has."""
