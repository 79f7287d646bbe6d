"""What the tasks of a Spark job write for a table: files that the driver commits afterwards.

A table's `Sink` travels to the tasks; each task opens it, writes rows as Arrow tables, and returns `DataFile`s. For
tables of files these are Parquet files in the table's directory.

A task writes a file for each combination of partition values that it sees, under a name that no other file has, and
returns its description. The driver commits the descriptions; a file that no commit names is seen by no reader.

| partition | directory |
| --- | --- |
| none | the table's own |
| by column `day` with value `2026-11-28` | `day=2026-11-28/` |
| null or an empty string | `day=__HIVE_DEFAULT_PARTITION__/` |

Source: Delta protocol, partition value serialization, per-file statistics; Hive, names of partition directories.
"""

from __future__ import annotations

import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# As Spark escapes them in the names of partition directories.
_ESCAPED = set("\"#%'*/:=?\\{}[]^\x7f") | set(map(chr, range(0x20)))

# Delta's own limits: statistics of the first columns, and of short texts.
_STATISTICS_COLUMN_COUNT = 32
_STATISTICS_TEXT_LENGTH = 32
# A task keeps the files of so many partitions open: each holds the rows of a row group in memory.
_OPEN_FILE_COUNT = 64
_DESCRIPTION = "path STRING, size_bytes BIGINT, row_count BIGINT, partition STRING, statistics STRING"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that was written and is not committed yet.

    `path` is relative to the table's directory. `partition` has each partition column's value as Delta's text.
    `statistics` is Delta's JSON: row count, and of columns the least and greatest values and how many are null.
    """

    path: str
    size_bytes: int
    row_count: int
    partition: dict[str, str | None]
    statistics: str


class SinkWriter(Protocol):
    """Writes the rows of one task; nothing is visible to readers before the driver commits."""

    def write(self, rows: pa.Table) -> None:
        """Write rows: all columns of the table as Arrow types, times as microseconds in UTC."""

    def close(self) -> list[DataFile]:
        """End the files; return those with rows."""

    def abort(self) -> None:
        """Close and delete what was written, as far as possible."""


class Sink(Protocol):
    """The way of rows into one table, as tasks use it. It is pickled: no session, connection or open file in it."""

    def open(self) -> SinkWriter:
        """Begin a task's part. Called in a Python worker, once a task."""


def write_files(
    rows: DataFrame, directory: str, storage_options: Mapping[str, str], partition_columns: Sequence[str]
) -> list[DataFile]:
    """Write rows as Parquet files, by Spark's tasks.

    Args:
        rows: The rows, sorted as they are to stand in the files.
        directory: The table's: an absolute path, or the address of an object store or HDFS.
        storage_options: Login and endpoint of the store, as delta-rs takes them.
        partition_columns: Columns whose values divide the rows into directories; the files do not hold them.

    Returns:
        The files; a task without rows writes none.
    """

    columns = rows.columns

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        writer = _TaskWriter(directory, storage_options, partition_columns)
        for batch in batches:
            writer.add(pa.Table.from_batches([batch]).rename_columns(columns))
        files = writer.close()
        names = ("path", "size_bytes", "row_count", "partition", "statistics")
        types = (pa.string(), pa.int64(), pa.int64(), pa.string(), pa.string())
        rows = [dict(zip(names, file, strict=True)) for file in files]
        yield pa.RecordBatch.from_pylist(rows, pa.schema(list(zip(names, types, strict=True))))

    # PySpark looks each column up by its name, and a dot or a backtick in one is syntax there.
    plain = rows.toDF(*(f"c{number}" for number in range(len(columns))))
    return [
        DataFile(path, size, count, json.loads(partition), statistics)
        for path, size, count, partition, statistics in plain.mapInArrow(write, _DESCRIPTION).collect()
    ]


class _TaskWriter:
    """The files of one task."""

    def __init__(self, directory: str, storage_options: Mapping[str, str], partition_columns: Sequence[str]) -> None:
        self._directory = directory
        self._columns = list(partition_columns)
        self._filesystem = None if "://" not in directory else _filesystem(directory, storage_options)
        self._open: dict[tuple[str | None, ...], tuple[str, list[Any], Any]] = {}
        self._files: list[tuple[str, int, int, str, str]] = []

    def add(self, table: pa.Table) -> None:
        table = _in_utc(table)
        if not table.num_rows:
            return
        if not self._columns:
            self._write((), table)
            return
        data = table.drop_columns(self._columns)
        values = list(zip(*(map(partition_text, table[name].to_pylist()) for name in self._columns), strict=True))
        for value in dict.fromkeys(values):
            places = [number for number, each in enumerate(values) if each == value]
            self._write(value, data if len(places) == len(values) else data.take(places))

    def close(self) -> list[tuple[str, int, int, str, str]]:
        for value in list(self._open):
            self._finish(value)
        return self._files

    def _write(self, value: tuple[str | None, ...], table: pa.Table) -> None:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types

        if value not in self._open:
            if len(self._open) >= _OPEN_FILE_COUNT:
                self._finish(next(iter(self._open)))
            parts = [f"{_escaped(name)}={_escaped(text)}" for name, text in zip(self._columns, value, strict=True)]
            path = "/".join([*parts, f"part-{uuid.uuid4()}.zstd.parquet"])
            where = path
            if self._filesystem is None:
                where = f"{self._directory}/{path}"
                os.makedirs(os.path.dirname(where), exist_ok=True)
            metadata: list[Any] = []
            writer = pq.ParquetWriter(
                where,
                table.schema,
                filesystem=self._filesystem,
                compression="zstd",
                compression_level=1,
                metadata_collector=metadata,
            )
            self._open[value] = path, metadata, writer
        self._open[value][2].write_table(table)

    def _finish(self, value: tuple[str | None, ...]) -> None:
        path, metadata, writer = self._open.pop(value)
        writer.close()
        if self._filesystem is None:
            size = os.path.getsize(f"{self._directory}/{path}")
        else:
            size = self._filesystem.get_file_info(path).size
        found = metadata[0]
        partition = json.dumps(dict(zip(self._columns, value, strict=True)))
        self._files.append((path, size, found.num_rows, partition, _statistics(found)))


def _filesystem(directory: str, storage_options: Mapping[str, str]) -> Any:
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem  # type: ignore[import-untyped]  # it has no types

    return PyFileSystem(DeltaStorageHandler(directory, dict(storage_options)))


def _in_utc(table: pa.Table) -> pa.Table:
    """Return the rows with times in UTC, whatever the session's time zone is; the instants stay."""
    import pyarrow as pa

    zoned = [
        (number, field)
        for number, field in enumerate(table.schema)
        if pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC")
    ]
    for number, field in zoned:
        kind = pa.timestamp("us", "UTC")
        table = table.set_column(number, pa.field(field.name, kind), table.column(number).cast(kind))
    return table


def partition_text(value: object) -> str | None:
    """Return a partition column's value as Delta's text; None for null, and for the empty string, as Delta has it."""
    match value:
        case None | "":
            return None
        case bool():
            return str(value).lower()
        case datetime():
            instant = value.astimezone(UTC) if value.tzinfo else value
            return instant.strftime("%Y-%m-%d %H:%M:%S.%f")
        case date():
            return value.isoformat()
        case bytes():
            return value.decode("latin-1")
        case _:
            return str(value)


def _escaped(text: str | None) -> str:
    if text is None:
        return _NULL_PARTITION
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def _statistics(metadata: Any) -> str:
    """Return Delta's statistics of a file, from those in its own footer."""
    least: dict[str, object] = {}
    greatest: dict[str, object] = {}
    null_counts: dict[str, int] = {}
    for column in range(min(metadata.num_columns, _STATISTICS_COLUMN_COUNT)):
        chunks = [metadata.row_group(number).column(column) for number in range(metadata.num_row_groups)]
        name = metadata.schema.column(column).name
        found = [chunk.statistics for chunk in chunks]
        # A leaf of an object or a list has a path; its values are not those of a column.
        if chunks and chunks[0].path_in_schema == name and all(each is not None for each in found):
            if all(each.has_null_count for each in found):
                null_counts[name] = sum(each.null_count for each in found)
            known = [each for each in found if each.has_min_max]
            if known and all(each.has_min_max or each.num_values == 0 for each in found):
                low, high = min(each.min for each in known), max(each.max for each in known)
                low_shown, high_shown = _statistic(low), _statistic(high)
                if low_shown is not None and high_shown is not None:
                    least[name], greatest[name] = low_shown, high_shown
    return json.dumps(
        {"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": null_counts}
    )


def _statistic(value: object) -> object:
    """Return a value as Delta's statistics have it; None where they could not hold it exactly."""
    match value:
        case bool() | bytes():
            return None
        case int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value if len(value) <= _STATISTICS_TEXT_LENGTH else None
        case datetime():
            if value.tzinfo is None:
                return value.isoformat(timespec="microseconds")
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case date():
            return value.isoformat()
        case _:
            return None
