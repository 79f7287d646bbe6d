"""Refresh of a job's derived tables: aggregates of new rows, results computed from them, and changes for topics.

A topic gets the rows that are new or differ from the table's older rows, and a tombstone for each missing key. Topics
are written before the table is replaced. After a kill in between, the same changes are found and written again under
the same keys, which is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from barnabas.pipeline.job import Frames, Job, Mode, Parameters
from barnabas.pipeline.runner.aggregates import KnownFiles, refresh_aggregates
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import Span
from barnabas.pipeline.runner.retention import Retention
from barnabas.pipeline.runner.topic_output import TopicWriter
from barnabas.pipeline.tables.table import Offsets, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Follower(Protocol):
    """Acts on derived tables, for example enforcement. Only `follow` and `settle` may block."""

    def start(self) -> None:
        """Start; called at each start of the run."""
        ...

    def follow(self, output: str, rows: DataFrame) -> None:
        """Receive the new rows of a derived table, right before they are written; the same rows may come again."""
        ...

    def poll(self) -> None:
        """Raise a failure that ends the run."""
        ...

    def settle(self, timeout_s: float) -> None:
        """Wait until all received rows are applied; raise if they are not in time, or a failure that ends the run."""
        ...

    def close(self) -> None:
        """Stop, and release all resources."""
        ...


def refresh(
    job: Job,
    parameters: Parameters,
    sources: Mapping[str, TableWriter],
    writers: Mapping[str, TableWriter],
    topics: Mapping[str, TopicWriter],
    follow: Callable[[str, DataFrame], None] | None = None,
    keep_s: float | None = None,
    read: Frames = MappingProxyType({}),
    known: KnownFiles | None = None,
) -> Retention | None:
    """Compute and write the derived results.

    Args:
        job: The job; it has a `refresh`.
        parameters: The run's parameters.
        sources: The tables that batches write.
        writers: The tables that `refresh` and `aggregate` fill.
        topics: The topics that `refresh` fills.
        follow: Called with each output's name and rows, before they are written: writing takes seconds.
        keep_s: Retention of the facts behind aggregates; None: forever.
        read: The tables of other jobs.
        known: Summaries of the tables' files from earlier refreshes.

    Returns:
        The retention of the facts; None if the job has no aggregates, or a source table does not exist yet.
    """
    assert job.refresh is not None
    scans = {name: writer.table.scan() for name, writer in sources.items() if writer.table.exists()}
    if len(scans) < len(sources):
        # One of the tables has no rows yet.
        return None
    offsets: Offsets = {}
    for writer in sources.values():
        offsets.update(writer.offsets)
    span = Span({}, offsets, {})
    tables = {name: scan.rows() for name, scan in scans.items()}
    aggregates = {name: writer for name, writer in writers.items() if writer.declared.mode is Mode.AGGREGATE}
    retention = None
    if aggregates:
        ((name, source),) = sources.items()
        retention = Retention(job.name, source.table, job.window_s, keep_s)
        found = name, scans[name]
        refresh_aggregates(job, parameters, found, aggregates, span, retention, read, known or KnownFiles())
        tables |= {name: writer.table.read() for name, writer in aggregates.items()}
    frames = job.refresh({**read, **tables}, parameters)
    by_rows: dict[str, list[TopicWriter]] = {}
    for topic in topics.values():
        by_rows.setdefault(job.rows_of(topic.declared), []).append(topic)
    for name, writer in writers.items():
        if name in aggregates:
            continue
        rows_name = job.rows_of(writer.declared)
        rows = frames.get(rows_name)
        if rows is None:
            raise TableError(f"job {job.name} declares output {name}, but its refresh returns no rows for it")
        followed = by_rows.get(rows_name, [])
        # Otherwise the rows are used only once.
        is_shared = bool(followed) or follow is not None
        rows = rows.persist() if is_shared else rows
        try:
            if follow is not None:
                follow(name, rows)
            for topic in followed:
                older = writer.table.read() if writer.table.exists() else None
                if older is None or set(older.columns) != set(rows.columns):
                    # The first refresh, or another version of the job: all rows are new.
                    topic.write(rows)
                else:
                    topic.write_changes(rows, older)
            writer.write(rows, span, Delivery.EXACTLY_ONCE)
        finally:
            if is_shared:
                rows.unpersist()
    return retention
