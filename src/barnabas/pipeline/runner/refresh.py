"""What is derived from a job's tables: digests of what is new, results computed from them, and changes to topics.

Rows that a topic gets are those that are new or differ from the table's older rows; keys that are gone get tombstones.
Topics are written before the table is replaced: after a kill in between the same changes are found and written again,
which under their keys changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.pipeline.job import Job, Mode, Parameters
from barnabas.pipeline.runner.digests import digest_rows
from barnabas.pipeline.runner.outputs import TableWriter, TopicWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import Span
from barnabas.pipeline.tables.table import Offsets, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def refresh(
    job: Job,
    parameters: Parameters,
    sources: Mapping[str, TableWriter],
    writers: Mapping[str, TableWriter],
    topics: Mapping[str, TopicWriter],
    follow: Callable[[str, DataFrame], None] | None = None,
) -> None:
    """Compute and write what is derived.

    Args:
        job: The job; it has a `refresh`.
        parameters: Of the run.
        sources: The tables that `transform` fills.
        writers: The tables that `refresh` fills.
        topics: The topics that `refresh` fills.
        follow: Called with each output's name and rows, before they are written: writing takes seconds.
    """
    assert job.refresh is not None
    tables = {name: writer.table.read() for name, writer in sources.items() if writer.table.exists()}
    if len(tables) < len(sources):
        # Nothing has come yet for one of them.
        return
    offsets: Offsets = {}
    for writer in sources.values():
        offsets.update(writer.offsets)
    span = Span({}, offsets, {})
    digests = {name: writer for name, writer in writers.items() if writer.declared.mode is Mode.DIGEST}
    facts = dict(tables)
    for name, writer in digests.items():
        changed = digest_rows(job, parameters, facts, writer)
        if changed is not None:
            writer.write(changed[0], span, Delivery.EXACTLY_ONCE, where=changed[1])
        tables[name] = writer.table.read()
    frames = job.refresh(tables, parameters)
    by_rows: dict[str, list[TopicWriter]] = {}
    for topic in topics.values():
        by_rows.setdefault(job.rows_of(topic.declared), []).append(topic)
    for name, writer in writers.items():
        if name in digests:
            continue
        rows_name = job.rows_of(writer.declared)
        rows = frames.get(rows_name)
        if rows is None:
            raise TableError(f"job {job.name} declares output {name}, and its refresh gives no rows for it")
        rows = rows.persist()
        try:
            if follow is not None:
                follow(name, rows)
            for topic in by_rows.get(rows_name, ()):
                _write_changes(rows, writer, topic)
            writer.write(rows, span, Delivery.EXACTLY_ONCE)
        finally:
            rows.unpersist()


def _write_changes(rows: DataFrame, writer: TableWriter, topic: TopicWriter) -> None:
    if not writer.table.exists():
        topic.write(rows)
        return
    older = writer.table.read()
    if set(older.columns) != set(rows.columns):
        # A newer version of the job: all of its rows are new.
        topic.write(rows)
        return
    older = older.select(*rows.columns)
    gone = older.join(rows, list(topic.declared.key), "left_anti")
    topic.write(_different(rows, older, topic.declared.key), gone)


def _different(rows: DataFrame, older: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """Return the rows that have no equal among the older ones. Compared as JSON: maps have no equality in Spark."""
    from pyspark.sql import functions as F

    text = F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns)))
    known = older.select(*key, text.alias("_older"))
    joined = rows.withColumn("_text", text).join(known, list(key), "left")
    return joined.where("_older IS NULL OR _older <> _text").select(*rows.columns)
