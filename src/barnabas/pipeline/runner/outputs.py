"""Outputs of a batch's rows: tables, exactly once by the offsets in their commits; topics, by key.

A table's own progress says which records it contains. A batch is written completely if the progress is at the batch's
start, in part if it is between start and end, and not at all if it is at or beyond the end. So records may be read
again, by the same batches or by others, and each counts once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from barnabas.clients.positions import is_reached
from barnabas.pipeline.job import DELETED, KEY, Job, Mode, TableOutput, TopicOutput
from barnabas.pipeline.runner.plan import Delivery, RunPlan
from barnabas.pipeline.runner.progress_file import Marks, Span, advanced, rebased
from barnabas.pipeline.runner.topic_output import TopicWriter
from barnabas.pipeline.runner.upserts import GONE, MARKS, latest
from barnabas.pipeline.spark.catalogs import is_name
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.postgresql_types import MAX_NAME_BYTES
from barnabas.pipeline.tables.table import Offsets, Progress, RowsRefusedError, Table, TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from barnabas.pipeline.tables.data_files import DataFile

T = TypeVar("T")


class TableWriter:
    """Writes one table of a job, for one run."""

    def __init__(self, table: Table, declared: TableOutput, run: str, cluster_id: str) -> None:
        self.table = table
        self.declared = declared
        self._run = run
        self._cluster_id = cluster_id
        self.progress = table.progress(run)
        self._keeps_deleted = declared.keeps_deleted

    @property
    def offsets(self) -> Offsets:
        """The offsets up to which the table has been written; empty if the run has not committed to it.

        If the table has a topic of its own, only its offsets: the stored offsets of other topics may be outdated.
        """
        return self._own(self.progress.offsets) if self.progress else {}

    @property
    def marks(self) -> Marks:
        """The last record read of each partition, of the same topics as `offsets`."""
        return self._own(self.progress.marks) if self.progress else {}

    def has(self, ends: Offsets) -> bool:
        """Return whether the table contains all its rows up to these offsets."""
        return self.progress is not None and is_reached(self.offsets, self._own(ends))

    def _own(self, by_topic: Mapping[str, T]) -> dict[str, T]:
        own = self.declared.topic
        return {topic: each for topic, each in by_topic.items() if own in ("", topic)}

    def write(self, rows: DataFrame, span: Span, delivery: Delivery, where: str = "") -> None:
        """Commit rows and their end offsets in one step; with at-most-once delivery, commit the offsets alone first.

        `where` (SQL) selects the rows that an aggregate's new rows replace; "": all.
        """
        mode = self.declared.mode
        self._commit(
            lambda progress: self._put(rows, progress, mode, where),
            lambda progress: self._put(rows.limit(0), progress, mode),
            span,
            delivery,
        )

    def write_files(self, files: Sequence[DataFile], columns: StructType, span: Span, delivery: Delivery) -> None:
        """Commit files that tasks wrote through the table's sink, like `write`."""
        self._commit(
            lambda progress: self._put_files(files, columns, progress),
            lambda progress: self._put_files([], columns, progress),
            span,
            delivery,
        )

    def check(self) -> None:
        """Check that an existing table has the declared kind: the latest row of each key, or all rows.

        Raises:
            TableError: the table has the other kind.
        """
        # A table without a commit has only its creator's columns.
        schema = self.table.schema() if self.table.exists() else None
        columns = schema.names if schema is not None else []
        self._keeps_deleted = self.declared.keeps_deleted or DELETED in columns
        if columns and self.declared.mode is Mode.LATEST and KEY not in columns:
            raise TableError(
                f"{self.table.location}: it was loaded without --by-key, so its rows are not the latest of each key: "
                "load into other --tables"
            )
        if KEY in columns and self.declared.mode is Mode.APPEND and self.declared.topic:
            raise TableError(
                f"{self.table.location}: its rows are the latest of each key: load it with --by-key "
                f"{self.declared.topic}"
            )

    def rebase(self, spark: SparkSession, offsets: Offsets) -> None:
        """Commit other offsets at which the run resumes, without rows; nothing if the run has not committed yet."""
        if self.progress is None:
            return
        goes_back = any(
            offset < self.offsets.get(topic, {}).get(number, 0)
            for topic, partitions in offsets.items()
            for number, offset in partitions.items()
        )
        if self.declared.mode is Mode.LATEST and goes_back:
            raise TableError(
                f"{self.table.location}: its topic was created again, and rows of the old topic have later offsets: "
                "move the table away to have a new one created"
            )
        empty = spark.createDataFrame([], self.table.schema() or "_offset BIGINT")
        self._put(empty, rebased(self.progress, self._run, self._cluster_id, offsets), Mode.APPEND)

    def rewind(self, offsets: Offsets) -> int:
        """Delete this run's rows from these offsets on, and continue from there; return the number of deleted rows.

        Rows at or above the run's progress are those of other runs.
        """
        progress = rebased(self.progress, self._run, self._cluster_id, offsets)
        count = self.table.delete_rows(offsets, progress, ends=self.offsets)
        self.progress = progress
        return count

    def _commit(
        self, put: Callable[[Progress], None], put_nothing: Callable[[Progress], None], span: Span, delivery: Delivery
    ) -> None:
        if delivery is Delivery.EXACTLY_ONCE:
            put(advanced(self.progress, self._run, self._cluster_id, span))
            return
        before = {
            topic: {number: self.offsets.get(topic, {}).get(number, start) for number, start in partitions.items()}
            for topic, partitions in span.starts.items()
        }
        put_nothing(advanced(self.progress, self._run, self._cluster_id, span))
        try:
            put(advanced(self.progress, self._run, self._cluster_id, span))
        except RowsRefusedError:
            # The table has none of the rows: the batch is bisected, and its parts are written from their starts on.
            put_nothing(rebased(self.progress, self._run, self._cluster_id, before))
            raise

    def _put_files(self, files: Sequence[DataFile], columns: StructType, progress: Progress) -> None:
        self.table.append_files(files, columns, progress)
        self.progress = progress

    def _put(self, rows: DataFrame, progress: Progress, mode: Mode, where: str = "") -> None:
        match mode:
            case Mode.APPEND:
                self.table.append(rows, progress)
            case Mode.UPDATE:
                self.table.update(rows, self.declared.key, progress)
            case Mode.LATEST:
                marks = MARKS if self._keeps_deleted else ()
                self.table.update(latest(rows, self._keeps_deleted), (KEY,), progress, GONE, marks)
            case Mode.REPLACE | Mode.AGGREGATE:
                self.table.replace(rows, progress, where)
        self.progress = progress


def table_location(tables: str, table_format: str, job: str, output: str) -> str:
    """Return the location of a job's table below the location of all tables."""
    if table_format == "postgresql":
        mark = "&" if "?" in tables else "?"
        name = re.sub("[-.]", "_", f"{job}_{output}")
        if len(name) > MAX_NAME_BYTES:
            name = f"{name[: MAX_NAME_BYTES - 17]}_{hashlib.sha256(output.encode()).hexdigest()[:16]}"
        return f"{tables}{mark}table={quote(name)}"
    if table_format == "iceberg" and is_name(tables):
        return f"{tables}.{re.sub('[-.]', '_', output)}"
    return f"{tables.rstrip('/')}/{job}/{output}"


def open_tables(spark: SparkSession, plan: RunPlan, outputs: tuple[TableOutput, ...]) -> dict[str, Table]:
    """Open the tables of outputs, by the outputs' names, to write to them.

    Raises:
        TableError: two outputs have the same table.
    """
    tables = {
        output.name: open_table(
            spark,
            plan.places.get(output.name) or table_location(plan.tables, plan.table_format, plan.job.name, output.name),
            plan.table_format,
            plan.layout_of(output),
        )
        for output in outputs
    }
    names: dict[str, str] = {}
    for name, table in tables.items():
        other = names.setdefault(table.location, name)
        if other != name:
            raise TableError(
                f"{table.location} would be the table of both {other} and {name}: give another location with --table "
                f"{name}=PLACE"
            )
    return tables


def write_rows(
    job: Job,
    writers: Mapping[str, TableWriter],
    topics: Mapping[str, TopicWriter],
    compute: Callable[[Offsets | None], Mapping[str, DataFrame]],
    span: Span,
    delivery: Delivery,
) -> None:
    """Write the rows of a job's batch to all its outputs.

    Args:
        job: The job.
        writers: Its tables that `transform` fills, by output.
        topics: Its topics that `transform` fills, by output.
        compute: Returns the rows of the batch; if offsets are given, of the records at or after them.
        span: The batch's offsets.
        delivery: The delivery guarantee.

    Raises:
        TableError: `transform` returns no rows for an output, or the table refuses them.
    """
    whole: Mapping[str, DataFrame] | None = None
    for name, topic in topics.items():
        whole = whole or compute(None)
        topic.write(_rows(job, whole, topic.declared, name))
    for name, writer in writers.items():
        if writer.has(span.ends):
            continue
        if _is_between(writer.offsets, span):
            frames = compute(writer.offsets)
        else:
            frames = whole = whole or compute(None)
        writer.write(_rows(job, frames, writer.declared, name), span, delivery)


def at_or_after(rows: DataFrame, starts: Mapping[str, Mapping[int, int]]) -> DataFrame:
    """Return the rows at or after these offsets; partitions without an offset are kept whole."""
    from pyspark.sql import functions as F

    is_before: Column = F.lit(False)
    for topic, partitions in starts.items():
        for number, offset in partitions.items():
            is_there = (F.col("_topic") == topic) & (F.col("_partition") == number)
            is_before = is_before | (is_there & (F.col("_offset") < offset))
    return rows.where(~is_before)


def _is_between(offsets: Offsets, span: Span) -> bool:
    return any(
        offset > span.starts.get(topic, {}).get(number, 0)
        for topic, partitions in offsets.items()
        for number, offset in partitions.items()
        if number in span.ends.get(topic, {})
    )


def _rows(job: Job, frames: Mapping[str, DataFrame], declared: TableOutput | TopicOutput, name: str) -> DataFrame:
    rows = frames.get(job.rows_of(declared))
    if rows is None:
        raise TableError(f"job {job.name} declares output {name}, but returns no rows for it")
    return rows
