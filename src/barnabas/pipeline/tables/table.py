"""The interface of all kinds of tables, and the progress committed with the data.

Invariants, whichever process is killed at whatever moment:
- A commit is atomic: it makes rows and `Progress` visible together, or neither. Readers never see leftovers of a killed
  commit.
- The sequence of a run's commit must be the last one plus 1, else the commit is rejected (`TableMovedError`). So two
  writers with the same run name can't both continue.
- Several runs may write one table at the same time, such as a load and a backfill; each has its own progress.
- The table alone shows up to which offsets a run has read; no checkpoint is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import DataFile, Sink

# By topic and partition: offset of the next record to read.
Offsets = dict[str, dict[int, int]]

MEGABYTE = 1 << 20

COMMIT_COLUMN = "table_commit"
"""Column that readers get from a Parquet table's directory names: the commit. Rows can't have a column of this name."""

FILE_COLUMN = "_barnabas_file"
"""Column with the name of a row's data file, see `Scan`."""

# Only events whose field names are data (a field for each user or date) need more columns.
MAXIMUM_COLUMN_COUNT = 2_000


class TableError(Exception):
    """The table can't be read or written as requested; the message is one line with the reason and the remedy."""


class RowsRefusedError(TableError):
    """The table's system rejects at least one of the rows; it may accept fewer rows. The message is the reason."""


class TableMovedError(TableError):
    """Another writer has committed to the table as the same run."""


class TableUnavailableError(Exception):
    """The table can't be written now, but a retry may succeed: its store does not answer, or another driver writes."""


@dataclass(frozen=True, slots=True)
class ColumnLimits:
    """The columns that a table can have.

    Attributes:
        count: Maximum number of columns.
        name_bytes: Maximum length of a name in UTF-8; None: unlimited.
        taken: Names reserved for the table's system.
        has_nul: Whether a name can contain a NUL character.
    """

    count: int = MAXIMUM_COLUMN_COUNT
    name_bytes: int | None = None
    taken: frozenset[str] = frozenset()
    has_nul: bool = True

    def refusal(self, name: str) -> str | None:
        """Return why a column name is invalid for the table; None if it is valid."""
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
    """The last record read from a partition. A different record at its offset means that the topic was recreated.

    `checksum` is CRC-32 over key and value, 0 for a null.
    """

    offset: int
    timestamp_ms: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The offsets up to which a run has read, stored in the commit with the data.

    `run` is the writer's name ("load/page-views"); `sequence` counts its commits from 1. `marks` contains, by topic and
    partition, the last record read; partitions of which no record was read are missing.
    """

    run: str
    sequence: int
    cluster_id: str
    offsets: Offsets
    marks: dict[str, dict[int, Mark]]

    def to_json(self) -> str:
        """Return the progress as one line of JSON."""
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
        """Parse the result of `to_json`; raise TableError if the text is invalid."""
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
    """One version of a table as data files. The rows of a file never change: changed rows are in files of other names.

    Attributes:
        files: Names of the data files.
        read: Returns the rows of the given files, with the file's name in `FILE_COLUMN`.
    """

    files: Collection[str]
    read: Callable[[Collection[str]], DataFrame]

    def rows(self) -> DataFrame:
        """Return the rows of all files."""
        return self.read(self.files).drop(FILE_COLUMN)


class Table(Protocol):
    """One table at one location.

    The first commit creates a missing table, in the layout that it was opened with; an existing table keeps its layout.

    Attributes:
        location: Its location without a password, for messages.
        column_limits: The columns that the table can have.
    """

    location: str
    column_limits: ColumnLimits = USUAL_LIMITS

    def exists(self) -> bool:
        """Return whether the table has a commit."""

    def schema(self) -> StructType | None:
        """Return the columns of the table, also if it has no commit; None if it does not exist."""

    def read(self) -> DataFrame:
        """Return all rows of the latest commit; raise TableError if the table does not exist."""
        return self.scan().rows()

    def scan(self) -> Scan:
        """Return the data files of the latest commit; raise TableError if the table does not exist."""

    def progress(self, run: str) -> Progress | None:
        """Return the progress of a run; None if the run has committed nothing."""

    def append(self, rows: DataFrame, progress: Progress) -> None:
        """Append rows.

        Columns that the table lacks are added to it. Columns that the rows lack are null in them.

        Raises:
            TableMovedError: `progress.sequence` is not the run's last sequence plus 1.
            TableError: a column has another type than in the table.
        """

    def sink(self, columns: StructType) -> Sink:
        """Return a sink by which tasks write rows of these columns; the table need not exist yet.

        Args:
            columns: All columns of the rows, new ones included, in the order of the Arrow tables that tasks write.

        Raises:
            TableError: a column has another type than in the table.
        """

    def append_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        """Commit the files that tasks wrote through `sink(columns)`, like `append` and with the same errors.

        Without files, commit the progress alone.
        """

    def discard(self, files: Sequence[DataFile]) -> None:
        """Delete files that will not be committed; maintenance deletes those that can't be deleted now."""

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        """Upsert rows by key: replace the row with the same key, or add the row. Keys are distinct within `rows`.

        Columns are added as by `append`.

        With `gone`, the key is one text column, and rows are changes of their keys. A row that is not later than the
        table's row (`commit_rules.is_later`) changes nothing. A row that matches `gone` (SQL of one column) deletes the
        table's row or, with `marks`, sets only these columns of it to its own values. It never adds a row.
        """

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        """Replace all rows of the table, or those that match `where` (SQL).

        `rows` may have been read from this table. With `where`, they have the table's columns, and match the condition.
        """

    def delete_rows(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        progress: Progress,
        where: str = "",
        ends: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> int:
        """Delete the rows of these partitions at or above these offsets (columns `_topic`, `_partition`, `_offset`).

        Rows at or above the `ends` of their partitions, as far as given, are kept. With `where` (SQL), delete the rows
        that match it instead.

        Returns:
            The number of deleted rows.
        """

    def compact(self) -> Compaction:
        """Merge small files into larger ones; rows and progress do not change, and runs may write meanwhile."""

    def trim_history(self) -> None:
        """Expire versions older than the layout's `keep_history_s`, and delete files that only these versions use."""
