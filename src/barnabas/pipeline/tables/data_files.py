"""Data files that the tasks of a Spark job write for a table, and that the driver commits afterwards.

Spark sends a table's `Sink` to the tasks. Each task opens it, writes rows as Arrow tables, and returns `DataFile`s. For
tables of files these are Parquet files in the table's directory.

A task writes a file with a unique name for each combination of partition values in its rows, and returns the files'
descriptions. The driver commits the descriptions. Readers do not see a file that no commit names.

| partition | directory |
| --- | --- |
| none | the table's directory |
| by column `day` with value `2026-11-28` | `day=2026-11-28/` |
| null or an empty string | `day=__HIVE_DEFAULT_PARTITION__/` |
| a value with a longer name than file systems allow | with `cuts_names`: the first 255 bytes of the name |

Source: Delta protocol, partition value serialization, per-file statistics; Hive, names of partition directories.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import orjson

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# Characters that Spark escapes in the names of partition directories.
_ESCAPED = set("\"#%'*/:=?\\{}[]^\x7f") | set(map(chr, range(0x20)))

# Delta's own limits: statistics only of the first columns, and only the beginning of a long text.
STATISTICS_COLUMN_COUNT = 32
_STATISTICS_TEXT_LENGTH = 32
_LAST = "\U0010ffff"
# Maximum number of files that a task keeps open: each buffers a row group in memory.
_OPEN_FILE_COUNT = 64
_GENERATION = re.compile(
    r"\s*(?P<function>\w+)\s*\(\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[\w.]+))\s*(?P<more>[^()]*)\)\s*"
)
# The longest name of a directory in usual file systems and in HDFS.
NAME_BYTES = 255
COLUMN_OF_FILES = "file BINARY"


def absolute(location: str) -> str:
    """Return the absolute path for a path or `file:` URL; any other URL unchanged."""
    path = re.sub("^file:(//)?", "", location)
    return location if "://" in path else os.path.abspath(path)


SPARK_PATH = "substr(_metadata.file_path, locate('/', _metadata.file_path, locate('://', _metadata.file_path) + 3))"
"""The `path_of` a row's file, as SQL of Spark, which may change the scheme and the host of the address it reads."""
NO_PATTERNS = {"__globPaths__": "false"}
"""Option of Spark's readers: paths with `*` or `{` in them are no patterns."""
# Characters that Java does not allow in the path of a URI. It does not escape others beyond ASCII.
_NOT_IN_URI = re.compile(r"[\x00-\x20\"#%<>?\[\\\]^`{|}\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def path_of(location: str) -> str:
    """Return the path in a file's address, as Java writes it in a URI, without scheme, host and repeated slashes."""
    _, mark, rest = location.partition("://")
    path = "/" + rest.partition("/")[2] if mark else location.removeprefix("file:")
    return _NOT_IN_URI.sub(lambda char: quote(char[0], safe=""), re.sub("/+", "/", path))


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that was written but is not committed yet.

    `path` is relative to the sink's directory. `partition` has each partition column's value in Delta's serialization.
    `statistics` is Delta's JSON: the row count, and minimum, maximum and null count of columns.
    `required_nulls` has the numbers of nulls in the sink's required columns, in this file and earlier ones of its task.
    """

    path: str
    size_bytes: int
    row_count: int
    partition: dict[str, str | None]
    statistics: str
    required_nulls: Mapping[str, int] = field(default_factory=dict)


class SinkWriter(Protocol):
    """Writes the rows of one task; readers see them once the driver has committed."""

    def write(self, rows: pa.Table) -> None:
        """Write rows: all columns of the table as Arrow types, timestamps in microseconds and UTC."""

    def close(self) -> list[DataFile]:
        """Close the files; return the files that contain rows."""

    def abort(self) -> None:
        """Close the files and delete them, as far as possible."""


class Sink(Protocol):
    """Writes rows of tasks to one table. It is pickled, so it has no session, connection or open file."""

    def open(self) -> SinkWriter:
        """Return the writer of a task. Called once for each task, in a Python worker."""


@dataclass(frozen=True, slots=True)
class FileSink:
    """A `Sink` of Parquet files in a table's directory.

    Attributes:
        directory: The table's directory: an absolute path, or a URL in an object store or HDFS.
        storage_options: Credentials and endpoint of the store, as options of delta-rs.
        columns: Names of the rows' columns, in order. None: each Arrow table has its own names.
        partition_columns: Columns whose values partition the rows into directories; the files do not contain them.
        sorted_by: Columns that a task sorts its rows by. It keeps all its rows in memory until its end.
        generated: Columns that the sink computes, each with Delta's expression for it.
        cuts_names: Whether long names of directories are cut. Readers must then know the values from elsewhere.
        required: Columns whose nulls are counted (`DataFile.required_nulls`), whatever their type.
    """

    directory: str
    storage_options: Mapping[str, str]
    columns: tuple[str, ...] | None = None
    partition_columns: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    cuts_names: bool = False
    required: tuple[str, ...] = ()

    def open(self) -> FileWriter:
        """Return the writer of a task."""
        return FileWriter(self)

    def filesystem(self) -> Any:
        """Return the file system whose root is the table's directory."""
        from pyarrow import fs

        if "://" not in self.directory:
            return fs.SubTreeFileSystem(self.directory, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.directory, dict(self.storage_options)))

    def clear(self) -> None:
        """Delete all files of the directory.

        Raises:
            OSError: the directory can't be written to, or the store does not answer.
        """
        from pyarrow import fs

        filesystem = self.filesystem()
        # delta-rs has no call that deletes a directory in a store.
        for each in filesystem.get_file_info(fs.FileSelector("", allow_not_found=True, recursive=True)):
            if each.is_file:
                filesystem.delete_file(each.path)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files of the table, as far as possible."""
        filesystem = self.filesystem()
        for path in paths:
            with suppress(OSError):
                filesystem.delete_file(path)


class FileWriter:
    """The files of one task. A file is open for each combination of partition values, up to 64 of them."""

    def __init__(self, sink: FileSink) -> None:
        self._sink = sink
        self._filesystem = sink.filesystem()
        self._is_local = "://" not in sink.directory
        self._unsorted: list[pa.Table] = []
        self._open: dict[tuple[str | None, ...], tuple[str, list[Any], Any]] = {}
        self._files: list[DataFile] = []
        self._required_nulls: dict[str, int] = {}

    def write(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if self._sink.columns is not None:
            rows = rows.rename_columns(list(self._sink.columns))
        rows = _in_utc(rows)
        # Rows with all of the table's columns contain these as well, but Delta allows only the generated values.
        rows = rows.drop_columns([name for name in self._sink.generated if name in rows.column_names])
        for name, expression in self._sink.generated.items():
            rows = rows.append_column(name, generated_column(expression, rows))
        for name in set(self._sink.required).difference(self._sink.partition_columns).intersection(rows.column_names):
            self._required_nulls[name] = self._required_nulls.get(name, 0) + rows.column(name).null_count
        if self._sink.sorted_by:
            self._unsorted.append(rows)
        else:
            self._divide(rows)

    def close(self) -> list[DataFile]:
        if self._unsorted:
            import pyarrow as pa

            keys = [(name, "ascending") for name in self._sink.sorted_by]
            rows = pa.concat_tables(self._unsorted)
            self._unsorted.clear()
            # Nulls first, as in Spark.
            self._divide(rows.take(pa.compute.sort_indices(rows, keys, null_placement="at_start")))
        for value in list(self._open):
            self._finish(value)
        return self._files

    def abort(self) -> None:
        paths = [file.path for file in self._files]
        for path, _, writer in self._open.values():
            paths.append(path)
            with suppress(Exception):
                writer.close()
        self._open.clear()
        self._sink.delete(paths)

    def _divide(self, rows: pa.Table) -> None:
        columns = self._sink.partition_columns
        if not columns:
            self._write((), rows)
            return
        there = [name for name in columns if name in rows.column_names]
        data = rows.drop_columns(there)
        for value, places in _groups(rows.select(there)):
            known = dict(zip(there, value, strict=True))
            self._write(tuple(known.get(name) for name in columns), data.take(places) if places is not None else data)

    def _write(self, value: tuple[str | None, ...], rows: pa.Table) -> None:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types

        if value not in self._open:
            if len(self._open) >= _OPEN_FILE_COUNT:
                self._finish(next(iter(self._open)))
            names = self._sink.partition_columns
            parts = [f"{_escaped(name)}={_escaped(text)}" for name, text in zip(names, value, strict=True)]
            if self._sink.cuts_names:
                parts = [part.encode()[:NAME_BYTES].decode(errors="ignore") for part in parts]
            path = "/".join([*parts, f"part-{uuid.uuid4()}.zstd.parquet"])
            if self._is_local:
                os.makedirs(os.path.dirname(f"{self._sink.directory}/{path}"), exist_ok=True)
            metadata: list[Any] = []
            writer = pq.ParquetWriter(
                path,
                rows.schema,
                filesystem=self._filesystem,
                compression="zstd",
                compression_level=1,
                metadata_collector=metadata,
            )
            self._open[value] = path, metadata, writer
        self._open[value][2].write_table(rows)

    def _finish(self, value: tuple[str | None, ...]) -> None:
        path, metadata, writer = self._open[value]
        writer.close()
        size = self._filesystem.get_file_info(path).size
        found = metadata[0]
        partition = dict(zip(self._sink.partition_columns, value, strict=True))
        nulls = dict(self._required_nulls)
        self._files.append(DataFile(path, size, found.num_rows, partition, _statistics(found), nulls))
        # Only now: `abort` deletes open files, and files in the list.
        del self._open[value]


def write_files(rows: DataFrame, sink: Sink) -> list[DataFile]:
    """Write rows through a sink in Spark tasks; a task without rows writes no file."""
    from pyspark.sql import functions as F

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        writer = sink.open()
        try:
            for batch in batches:
                writer.write(pa.Table.from_struct_array(batch.column(0)))
            files = writer.close()
        except BaseException:
            writer.abort()
            raise
        yield batch_of(files)

    # One struct column: PySpark resolves each column by name, with several JVM calls, and misreads dots in names.
    row = rows.select(F.struct("*").alias("row"))
    return files_in(row.mapInArrow(write, COLUMN_OF_FILES))


def read_files(
    spark: SparkSession, columns: StructType, paths: Sequence[str], file_column: str, directory: str = ""
) -> DataFrame:
    """Read Parquet files in Spark.

    Args:
        spark: The session.
        columns: The columns to read; those that a file lacks are null.
        paths: Addresses of the files. Spark does not expand patterns in them.
        file_column: Name of a further column with each row's `path_of`.
        directory: If given, the names of the directories below it have the values of partition columns. Spark puts
            these columns after the others.
    """
    options = {"basePath": directory} if directory else {"recursiveFileLookup": "true"}
    rows = spark.read.schema(columns).options(**options, **NO_PATTERNS).parquet(*paths)
    return rows.selectExpr("*", f"{SPARK_PATH} AS {file_column}")


def values_of_directories(path: str) -> list[tuple[str, str | None]]:
    """Return the partition columns and values that Spark reads from the directories in a path."""
    parts = (part.partition("=") for part in path.split("/")[:-1])
    return [(_unescaped(name), None if text == _NULL_PARTITION else _unescaped(text)) for name, _, text in parts]


def _unescaped(text: str) -> str:
    # Spark takes each escaped byte as a character.
    return re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)


def batch_of(files: Sequence[DataFile]) -> pa.RecordBatch:
    """Return files as the rows that a task returns to the driver, one row for each file: `COLUMN_OF_FILES`."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(file) for file in files], pa.binary())], ["file"])


def files_in(rows: DataFrame) -> list[DataFile]:
    """Return the files that tasks returned by `batch_of`."""
    return [pickle.loads(file) for (file,) in rows.collect()]


def generated_column(expression: str, rows: pa.Table) -> pa.Array:
    """Compute a generated column: one of these functions of a timestamp, or the first characters of a text.

    | expression | type |
    | --- | --- |
    | `YEAR(c)`, `MONTH(c)`, `DAY(c)`, `HOUR(c)` | INT |
    | `CAST(c AS DATE)` | DATE |
    | `DATE_FORMAT(c, 'yyyy-MM-dd-HH')`, or fewer of these parts | STRING |
    | `SUBSTRING(c, 1, n)` | STRING |

    Raises:
        ValueError: the expression is not supported, or its column does not exist.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    found = _GENERATION.fullmatch(expression)
    names = {name.lower(): name for name in rows.column_names}
    name = names.get(((found["quoted"] or "").replace("``", "`") or found["plain"]).lower()) if found else None
    if found is None or name is None:
        raise ValueError(f"the generated column {expression} is not supported")
    function, more = found["function"].lower(), (found["more"] or "").strip()
    values = rows.column(name)
    if function in ("substring", "substr") and (numbers := re.fullmatch(r",\s*1\s*,\s*(\d+)", more)):
        return pc.utf8_slice_codeunits(values.cast(pa.string()), 0, int(numbers[1]))
    if pa.types.is_string(values.type):
        values = pa.array(map(_instant, values.to_pylist()), pa.timestamp("us"))
    if function in ("year", "month", "day", "hour") and not more:
        return getattr(pc, function)(values).cast(pa.int32())
    if function == "cast" and more.lower() == "as date":
        return values.cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    pattern = re.fullmatch(r",\s*'([yMdH -]+)'", more)
    if function == "date_format" and pattern:
        parts = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H"}
        text = re.sub("yyyy|MM|dd|HH", lambda part: parts[part[0]], pattern[1])
        if not re.search("[A-Za-z]", re.sub("%[YmdH]", "", text)):
            return pc.strftime(values, text)
    raise ValueError(f"the generated column {expression} is not supported")


def _instant(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except (ValueError, OverflowError):
        return None


def _groups(keys: pa.Table) -> Iterator[tuple[tuple[str | None, ...], pa.Array | None]]:
    """Group rows by their values: yield the values in Delta's serialization and the row numbers; None: all rows."""
    import pyarrow as pa

    names = [f"k{number}" for number in range(keys.num_columns)]
    numbered = keys.rename_columns(names).append_column("place", pa.array(range(keys.num_rows), pa.int64()))
    groups = numbered.group_by(names, use_threads=False).aggregate([("place", "list")])
    values = zip(*(map(partition_text, groups[name].to_pylist()) for name in names), strict=True)
    if groups.num_rows == 1:
        yield next(values, ()), None
        return
    lists = groups["place_list"].combine_chunks()
    for number, value in enumerate(values):
        yield value, lists[number].values


def _in_utc(table: pa.Table) -> pa.Table:
    """Return the rows with timestamps converted to UTC from the session's time zone; the instants do not change."""
    import pyarrow as pa

    zoned = [
        (number, column)
        for number, column in enumerate(table.schema)
        if pa.types.is_timestamp(column.type) and column.type.tz not in (None, "UTC")
    ]
    for number, column in zoned:
        kind = pa.timestamp("us", "UTC")
        table = table.set_column(number, pa.field(column.name, kind), table.column(number).cast(kind))
    return table


def partition_text(value: object) -> str | None:
    """Return a partition column's value in Delta's serialization; None for null and, as in Delta, the empty string."""
    match value:
        case None | "":
            return None
        case bool():
            return str(value).lower()
        case datetime():
            instant = value.astimezone(UTC) if value.tzinfo else value
            # Unlike strftime, it gives early years four digits.
            return instant.replace(tzinfo=None).isoformat(" ", "microseconds")
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
    """Return Delta's statistics of a file, from those in its Parquet footer."""
    least: dict[str, object] = {}
    greatest: dict[str, object] = {}
    null_counts: dict[str, int] = {}
    for column in range(min(metadata.num_columns, STATISTICS_COLUMN_COUNT)):
        chunks = [metadata.row_group(number).column(column) for number in range(metadata.num_row_groups)]
        name = metadata.schema.column(column).name
        found = [chunk.statistics for chunk in chunks]
        # A leaf of a struct or a list has a longer path; its values are not values of a column.
        if chunks and chunks[0].path_in_schema == name and all(each is not None for each in found):
            if all(each.has_null_count for each in found):
                null_counts[name] = sum(each.null_count for each in found)
            if not all(each.has_min_max or each.num_values == 0 for each in found):
                if str(found[0].logical_type) == "String":
                    # Texts beyond 4096 bytes. delta-rs would find no row without a bound.
                    least[name], greatest[name] = "", _LAST * (_STATISTICS_TEXT_LENGTH + 1)
                continue
            if known := [each for each in found if each.has_min_max]:
                try:
                    low, high = min(each.min for each in known), max(each.max for each in known)
                except OverflowError:
                    # Python has no dates before the year 1 and after the year 9999.
                    continue
                low_shown, high_shown = _statistic(low), _statistic(high, is_greatest=True)
                if low_shown is not None and high_shown is not None:
                    least[name], greatest[name] = low_shown, high_shown
    result = {"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": null_counts}
    return orjson.dumps(result).decode()


def _statistic(value: object, *, is_greatest: bool = False) -> object:
    """Return a bound in the form of Delta's statistics; None if they can't represent it."""
    match value:
        case int():
            return value
        case Decimal():
            return orjson.Fragment(f"{value:f}")
        case float():
            return value if math.isfinite(value) else None
        case str():
            start = value[:_STATISTICS_TEXT_LENGTH]
            if start == value or not is_greatest:
                return start
            # The value itself only if its next character is the last one.
            return max(start + _LAST, value)
        case datetime():
            if value.tzinfo is None:
                return value.isoformat(timespec="microseconds")
            return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        case date():
            return value.isoformat()
        case _:
            return None
