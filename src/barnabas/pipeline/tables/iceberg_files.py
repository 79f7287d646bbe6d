"""Data files of an Iceberg table, written and read in Spark's Python workers by PyIceberg; the driver commits them.

A writer collects up to `_GROUP_ROWS` rows of a task, sorts them in the table's order, and groups them by the table's
partition spec. It writes each part as a row group of the open file of its partition. The columns of a file have the
field ids of the table's schema.

Source: Iceberg's table specification, partitioning, sorting; PyIceberg 0.12, `ParquetFormatWriter`, `ArrowScan`.
"""

from __future__ import annotations

import base64
import pickle
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import (
    ArrowScan,
    DataFileStatistics,
    ParquetFormatWriter,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.sorting import SortDirection
from pyiceberg.transforms import IdentityTransform, TimeTransform, VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, TimestampType, TimestamptzType

from barnabas.pipeline.tables.data_files import COLUMN_OF_FILES, NAME_BYTES, DataFile, batch_of, files_in, path_of
from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import FileScanTask, Table
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_GROUP_ROWS = 1 << 17
# Maximum number of files that a task keeps open.
_OPEN_FILE_COUNT = 64


@dataclass(frozen=True, slots=True)
class IcebergSink:
    """A `Sink` of an Iceberg table's data files.

    Attributes:
        metadata: The table's metadata as JSON, without its snapshots.
        schema: The columns of the files as JSON, in the order of the rows.
        places: The position in the rows of each column of the files.
        store: The properties of the table's FileIO.
    """

    metadata: str
    schema: str
    places: tuple[int, ...]
    store: Mapping[str, str]

    def open(self) -> IcebergWriter:
        return IcebergWriter(self)


def sink_of(table: Table, metadata: TableMetadata, schema: Schema, places: Sequence[int]) -> IcebergSink:
    """Return the sink of a table for rows with some of its columns.

    Args:
        table: The table.
        metadata: Its metadata, or its metadata within a transaction.
        schema: The part of its schema that the rows have.
        places: The position in the rows of each column of `schema`.

    Raises:
        TableError: the rows lack a required column, or the table is partitioned by a field of an object.
    """
    there = {field.field_id for field in schema.fields}
    if missing := [each.name for each in metadata.schema().fields if each.required and each.field_id not in there]:
        raise TableError(f"{metadata.location}: the rows lack column {missing[0]}, which must not be null")
    top = {field.field_id for field in metadata.schema().fields}
    sources = {field.source_id for field in metadata.spec().fields if not isinstance(field.transform, VoidTransform)}
    if sources - top:
        raise TableError(f"{metadata.location}: partitions by a field of an object are not supported")
    return IcebergSink(without_snapshots(metadata), schema.model_dump_json(), tuple(places), dict(table.io.properties))


def without_snapshots(metadata: TableMetadata) -> str:
    """Return a table's metadata as JSON, without its snapshots."""
    rest: dict[str, object] = {
        "snapshots": [],
        "snapshot_log": [],
        "metadata_log": [],
        "refs": {},
        "current_snapshot_id": None,
    }
    return metadata.model_copy(update=rest).model_dump_json()


class IcebergWriter:
    """Writes the files of one task."""

    def __init__(self, sink: IcebergSink) -> None:
        self._metadata = TableMetadataUtil.parse_raw(sink.metadata)
        self._schema = sanitize_column_names(Schema.model_validate_json(sink.schema))
        # Arrow would fail at a null in a required column. The driver refuses the file instead.
        self._arrow_schema = pa.schema([field.with_nullable(True) for field in schema_to_pyarrow(self._schema)])
        self._null = ""
        self._places = sink.places
        self._io = load_file_io(dict(sink.store), self._metadata.location)
        self._locations = load_location_provider(self._metadata.location, self._metadata.properties)
        self._spec = self._metadata.spec()
        own = {field.field_id: field.name for field in self._schema.fields}
        self._sources = [own.get(field.source_id) for field in self._spec.fields]
        order = self._metadata.sort_order_by_id(self._metadata.default_sort_order_id)
        self._order = [
            (own[field.source_id], "ascending" if field.direction == SortDirection.ASC else "descending")
            for field in (order.fields if order else ())
            if field.source_id in own and isinstance(field.transform, IdentityTransform)
        ]
        self._rows: list[pa.Table] = []
        self._row_count = 0
        self._open: dict[tuple[Any, ...], tuple[str, ParquetFormatWriter]] = {}
        self._files: list[DataFile] = []

    def write(self, rows: pa.Table) -> None:
        columns = [
            rows.column(place).cast(field.type) for place, field in zip(self._places, self._arrow_schema, strict=True)
        ]
        for field, column in zip(self._schema.fields, columns, strict=True):
            if field.required and column.null_count:
                self._null = field.name
        self._rows.append(pa.Table.from_arrays(columns, schema=self._arrow_schema))
        self._row_count += rows.num_rows
        if self._row_count >= _GROUP_ROWS:
            self._write_group()

    def close(self) -> list[DataFile]:
        self._write_group()
        for values in list(self._open):
            self._finish(values)
        return self._files

    def abort(self) -> None:
        paths = [file.path for file in self._files]
        for path, writer in self._open.values():
            paths.append(path)
            with suppress(Exception):
                writer.close()
        for path in paths:
            with suppress(Exception):
                self._io.delete(path)

    def _write_group(self) -> None:
        if not self._row_count:
            return
        rows = pa.concat_tables(self._rows)
        self._rows, self._row_count = [], 0
        if self._order:
            rows = rows.sort_by(self._order)
        for values, part in self._divided(rows):
            if values not in self._open:
                if len(self._open) >= _OPEN_FILE_COUNT:
                    self._finish(next(iter(self._open)))
                name = f"{uuid.uuid4()}.parquet"
                if values:
                    directory = self._spec.partition_to_path(Record(*values), self._metadata.schema())
                    # The manifest has the values.
                    name = "/".join([*(part[:NAME_BYTES] for part in directory.split("/")), name])
                path = self._locations.new_data_location(name)
                output = self._io.new_output(path)
                self._open[values] = path, ParquetFormatWriter(output, self._schema, self._metadata.properties)
            self._open[values][1].write(part)

    def _divided(self, rows: pa.Table) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
        """Group rows by the table's partition spec: yield the partition values and the rows of each partition."""
        if not self._sources:
            yield (), rows
            return
        schema = self._metadata.schema()
        numbers: list[pa.Array] = []
        values: list[list[Any]] = []
        for field, source in zip(self._spec.fields, self._sources, strict=True):
            if source is None:
                values.append([None])
                numbers.append(pa.array([0], pa.int32()).take(pa.array([0] * rows.num_rows)))
                continue
            kind = schema.find_type(field.source_id)
            column = rows.column(source).combine_chunks()
            # The transform is computed once for each distinct value.
            encoded = _physical(column, kind, field.transform).dictionary_encode("encode")
            transform = field.transform.transform(kind)
            found = [transform(value) for value in encoded.dictionary.to_pylist()]
            known = {value: number for number, value in enumerate(dict.fromkeys(found))}
            values.append(list(known))
            ids = pa.array([known[value] for value in found], pa.int32())
            numbers.append(ids.take(encoded.indices))
        names = [str(number) for number in range(len(numbers))]
        keys = pa.Table.from_arrays([*numbers, pa.array(range(rows.num_rows))], [*names, "row"])
        groups = keys.group_by(names, use_threads=False).aggregate([("row", "list")]).to_pylist()
        for group in groups:
            key = tuple(own[group[name]] for own, name in zip(values, names, strict=True))
            yield key, rows if len(groups) == 1 else rows.take(pa.array(group["row_list"]))

    def _finish(self, values: tuple[Any, ...]) -> None:
        path, writer = self._open[values]
        statistics = writer.close()
        for field_id in {*_unbounded(writer, self._schema), *_unencodable(statistics)}:
            statistics.column_aggregates.pop(field_id, None)
        size = len(self._io.new_input(path))
        file = IcebergFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(*values),
            file_size_in_bytes=size,
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )
        file.spec_id = self._spec.spec_id
        partition = {
            field.name: None if value is None else str(value)
            for field, value in zip(self._spec.fields, values, strict=True)
        }
        text = base64.b64encode(pickle.dumps((file, self._null))).decode()
        self._files.append(DataFile(path, size, statistics.record_count, partition, text))
        # Only now: `abort` deletes open files, and files in the list.
        del self._open[values]


def iceberg_file(file: DataFile) -> tuple[IcebergFile, str]:
    """Return PyIceberg's description of a file that a sink wrote, and a required column that has nulls, if any."""
    found, null = pickle.loads(base64.b64decode(file.statistics))
    assert isinstance(found, IcebergFile)
    return found, null


def _unbounded(writer: ParquetFormatWriter, schema: Schema) -> Iterator[int]:
    """Yield the fields of a closed file that have no bounds in a row group, such as texts beyond 4096 bytes.

    PyIceberg would take the bounds of the other row groups for those of the file.
    """
    assert writer._writer is not None
    metadata, ids = writer._writer.writer.metadata, parquet_path_to_id_mapping(schema)
    for number in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(number).column(place)
            found = column.statistics
            if found is not None and found.num_values and not found.has_min_max:
                yield ids[column.path_in_schema]


def _unencodable(statistics: DataFileStatistics) -> Iterator[int]:
    """Yield the fields whose upper bound PyIceberg cannot encode: it would be U+D800, the successor of U+D7FF."""
    for field_id, bounds in statistics.column_aggregates.items():
        try:
            bounds.max_as_bytes()
        except UnicodeEncodeError:
            yield field_id


def _physical(column: pa.Array, kind: object, transform: object) -> pa.Array:
    """Return values in the form that Iceberg's transforms expect: timestamps and dates as integers."""
    if isinstance(kind, (TimestampType, TimestamptzType)):
        if isinstance(transform, TimeTransform):
            # Fewer distinct values: no transform of times is finer than an hour.
            column = pc.floor_temporal(column, unit="hour")
        return column.cast(pa.int64())
    return column.cast(pa.int32()) if isinstance(kind, DateType) else column


def rewrite(spark: SparkSession, sink: IcebergSink, groups: Sequence[Sequence[FileScanTask]]) -> list[DataFile]:
    """Rewrite each group of files into new files, with one task for each group."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = sink.open()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part in _scan(sink, groups[number]):
                    writer.write(part)
        yield batch_of(writer.close())

    return files_in(spark.range(0, len(groups), 1, len(groups)).mapInArrow(write, COLUMN_OF_FILES))


def scanned(spark: SparkSession, sink: IcebergSink, tasks: Sequence[FileScanTask], columns: StructType) -> DataFrame:
    """Read files by PyIceberg in Spark tasks, as Spark's reader does not support row-level deletes and name mappings.

    Args:
        spark: The session.
        sink: A sink with the columns to read.
        tasks: The files.
        columns: Spark's columns of the rows, then one for the name of the file.
    """
    from pyspark.sql.types import StructField, StructType

    plain = StructType([StructField(f"c{number}", each.dataType) for number, each in enumerate(columns.fields)])

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part in _scan(sink, [tasks[number]]):
                    name = pa.repeat(pa.scalar(name_of(tasks[number])), part.num_rows)
                    yield from pa.Table.from_arrays([*part.columns, name], plain.names).to_batches()

    rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(read, plain)
    return rows.toDF(*columns.names)


def name_of(task: FileScanTask) -> str:
    """Return the name of a data file, its `path_of`, followed by those of its row-level delete files."""
    deletes = sorted(file.file_path for file in task.delete_files)
    return " ".join(map(path_of, (task.file.file_path, *deletes)))


def _scan(sink: IcebergSink, tasks: Sequence[FileScanTask]) -> Iterator[pa.Table]:
    from pyiceberg.expressions import AlwaysTrue

    metadata = TableMetadataUtil.parse_raw(sink.metadata)
    schema = Schema.model_validate_json(sink.schema)
    everything: BooleanExpression = AlwaysTrue()
    scan = ArrowScan(metadata, load_file_io(dict(sink.store), metadata.location), schema, everything)
    kinds = schema_to_pyarrow(schema)
    for batch in scan.to_record_batches(tasks):
        columns = [column.cast(field.type) for column, field in zip(batch.columns, kinds, strict=True)]
        yield pa.Table.from_arrays(columns, schema=kinds)
