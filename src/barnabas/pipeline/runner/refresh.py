"""Refresh of a job's derived tables: aggregates of new rows, results computed from them, and changes for topics.

Rows that a topic gets are those that are new or differ from the table's older rows; keys that are gone get tombstones.
Topics are written before the table is replaced: after a kill in between the same changes are found and written again,
which under their keys changes nothing.
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
    """Acts upon derived tables, such as enforcement. Only `follow` and `settle` may take long."""

    def start(self) -> None:
        """Begin; called each time that the run is started."""
        ...

    def follow(self, output: str, rows: DataFrame) -> None:
        """Take what a refresh gives for a derived table, right before it is written; the same may come again."""
        ...

    def poll(self) -> None:
        """Raise what ends the run."""
        ...

    def settle(self, timeout_s: float) -> None:
        """Wait until what was given is acted upon; raise what ends the run, or that it is not."""
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
    """Compute and write what is derived.

    Args:
        job: The job; it has a `refresh`.
        parameters: Of the run.
        sources: The tables that `transform` fills.
        writers: The tables that `refresh` fills.
        topics: The topics that `refresh` fills.
        follow: Called with each output's name and rows, before they are written: writing takes seconds.
        keep_s: How long the facts behind aggregates are kept; None: forever.
        read: The tables of other jobs.
        known: What earlier refreshes know of the files of the tables.

    Returns:
        What is kept of these facts; None: all.
    """
    assert job.refresh is not None
    scans = {name: writer.table.scan() for name, writer in sources.items() if writer.table.exists()}
    if len(scans) < len(sources):
        # Nothing has come yet for one of them.
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
        # Without one of these the rows are looked at once.
        is_shared = bool(followed) or follow is not None
        rows = rows.persist() if is_shared else rows
        try:
            if follow is not None:
                follow(name, rows)
            for topic in followed:
                older = writer.table.read() if writer.table.exists() else None
                if older is None or set(older.columns) != set(rows.columns):
                    # A newer version of the job: all of its rows are new.
                    topic.write(rows)
                else:
                    topic.write_changes(rows, older)
            writer.write(rows, span, Delivery.EXACTLY_ONCE)
        finally:
            if is_shared:
                rows.unpersist()
    return retention
