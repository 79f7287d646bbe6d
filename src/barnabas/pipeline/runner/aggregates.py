"""Incremental aggregates: only rows whose facts have changed are recomputed, by window of event time or by key.

Each row of a window has a note in column `_made_of`: the number of facts in its window, and a fingerprint of the
parameters, the version of this package, and the marks from the tables of other jobs (`Job.mark`). A window with an
outdated note is recomputed, in all tables. So every change is found, whatever its cause: late rows, a rewind, a
backfill beside the run, a new verdict, a lost table of aggregates, or another run's rows.

A table need not have rows of every window, so a kill between the commits of two tables may leave no outdated note. The
commits of one refresh therefore have the same random number, as the mark `_made_of` of the run's progress. If the
numbers of the tables differ, all rows are recomputed.

Rows by key are recomputed for the subjects that have facts in changed windows. The note of such a row is the number of
all facts. If it differs from the sum of the windows' notes, all rows are recomputed: a run was killed, or two runs
wrote at the same time.

Cost: a process reads the times of facts, the columns for `mark`, and the notes once per data file (`KnownFiles`). If
the tables of other jobs have changed, `mark` reads all files of facts again. All other work is proportional to the
changes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING
from uuid import uuid4

from barnabas import __version__
from barnabas.pipeline.facts import MICROS, believed_micros
from barnabas.pipeline.job import Frames, Job, Parameters
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import Span
from barnabas.pipeline.runner.retention import Retention
from barnabas.pipeline.tables.columns import literal
from barnabas.pipeline.tables.table import FILE_COLUMN, Mark, Scan, TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

MADE_OF = "_made_of"
_FEW_WINDOWS = 100


def of_one_refresh(span: Span) -> Span:
    """Return a span for the commits that must be made in all tables of aggregates, or all rows are recomputed."""
    return Span(span.starts, span.ends, {**span.marks, MADE_OF: {0: Mark(0, 0, uuid4().int & 0xFFFFFFFF)}})


def refresh_aggregates(
    job: Job,
    parameters: Parameters,
    source: tuple[str, Scan],
    writers: Mapping[str, TableWriter],
    span: Span,
    retention: Retention,
    read: Frames,
    known: KnownFiles,
) -> None:
    """Recompute and write the changed rows of a job's aggregates; then delete expired facts.

    `source` is the table of facts, `read` are the tables of other jobs; `known` is for this job and parameters alone.
    """
    name, scan = source
    scans = {each: writer.table.scan() for each, writer in writers.items() if writer.table.exists()}
    older = {each: found.rows() for each, found in scans.items()}
    # Tables with other columns are from another version of the job: all rows are recomputed.
    older = {each: rows for each, rows in older.items() if {_key_column(writers[each]), MADE_OF} <= set(rows.columns)}

    def marked(facts: DataFrame) -> DataFrame:
        return facts if job.mark is None else job.mark(facts, read, parameters)

    if job.mark is not None:
        known.forget_marks(name, _content(read))
    queries = {each: (scans[each], partial(_notes, writers[each])) for each in older}
    look = _Look.of(known.look({name: (scan, lambda facts: _counts(job, marked(facts))), **queries}))
    # A fact without a time is in no window.
    facts = {name: scan.rows().where("time IS NOT NULL")}
    old = retention.find_expired(facts[name], look.counts, look.latest_s)
    facts = {name: retention.kept(facts[name])}
    _compute(job, parameters, facts, writers, older, look, span, retention, read)
    if old is not None:
        retention.delete(*old)


def _compute(
    job: Job,
    parameters: Parameters,
    facts: Frames,
    writers: Mapping[str, TableWriter],
    older: Frames,
    look: _Look,
    span: Span,
    retention: Retention,
    read: Frames,
) -> None:
    from pyspark.sql import functions as F

    assert job.aggregate is not None
    beside = zlib.crc32(json.dumps([__version__, job.window_s, dict(parameters)], sort_keys=True).encode())
    now = {
        window: f"{beside:08x} {look.marks.get(window, '')} {count}"
        for window, count in look.counts.items()
        if retention.has(window)
    }
    gone = {window: notes for window, notes in look.notes.items() if not retention.has(window)}
    known = {window: notes for window, notes in look.notes.items() if retention.has(window)}
    refreshes = {each.progress.marks.get(MADE_OF, {}).get(0) if each.progress else None for each in writers.values()}
    is_right = len(older) == len(writers) and len(refreshes) == 1 and look.totals <= {_total(look.notes)}
    if not is_right:
        known = {}
    changed = {window for window in now.keys() | known.keys() if known.get(window) != {now.get(window)}}
    if is_right and not changed and look.notes:
        return
    span = of_one_refresh(span)
    rows: Frames = {}
    where = ""
    beside_facts = {**read, **{f"all_{name}": each for name, each in facts.items()}}
    if known.keys() - changed:
        some = {name: _of_windows(each, changed, job.window_s) for name, each in facts.items()}
        rows = job.aggregate({**beside_facts, **some}, parameters)
        if all(_has_columns(older.get(name), _rows(job, rows, each)) for name, each in writers.items()):
            where = f"unit IN ({', '.join(map(str, sorted(changed)))})"
    if not where:
        rows = job.aggregate({**beside_facts, **facts}, parameters)
    wanted = {window: note for window, note in now.items() if not where or window in changed}
    total = F.lit(_total({**gone, **{window: {note} for window, note in now.items()}})).alias(MADE_OF)
    # Tables by key first: the rows of a window with an up-to-date note are then counted in them, too.
    for name, writer in sorted(writers.items(), key=lambda each: not each[1].declared.key):
        new, key = _rows(job, rows, writer), writer.declared.key
        if not key:
            if gone and not where and name in older and not _has_columns(older[name], new):
                raise TableError(
                    f"table {name} has other columns than in this version of job {job.name}, and cannot be recomputed "
                    f"before {retention.first_time}, because those facts were deleted: move it away, or continue with "
                    "the older version"
                )
            # Rows whose facts were deleted stay.
            rest = f"unit >= {retention.first_window}" if gone and name in older else ""
            writer.write(_noted(new, wanted), span, Delivery.EXACTLY_ONCE, where=where or rest)
        elif not where:
            writer.write(new.select("*", total), span, Delivery.EXACTLY_ONCE)
        else:
            new = new.persist()
            try:
                same = reduce(
                    lambda one, other: one & other, (F.col(f"o.{k}").eqNullSafe(F.col(f"n.{k}")) for k in key)
                )
                others = older[name].drop(MADE_OF).alias("o").join(new.alias("n"), same, "left_anti")
                writer.write(others.unionByName(new).select("*", total), span, Delivery.EXACTLY_ONCE)
            finally:
                new.unpersist()


def _noted(rows: DataFrame, notes: Mapping[int, str]) -> DataFrame:
    """Add to rows the notes of their windows; drop rows of other windows."""
    from pyspark.sql import functions as F

    if 0 < len(notes) <= _FEW_WINDOWS:
        # A join would cost one more Spark job for each table.
        cases = " ".join(f"WHEN {window} THEN {literal(note)}" for window, note in notes.items())
        noted = rows.selectExpr("unit", "* EXCEPT (unit)", f"CASE unit {cases} END AS {MADE_OF}")
        return noted.where(f"{MADE_OF} IS NOT NULL")
    beside = rows.sparkSession.createDataFrame(sorted(notes.items()), f"unit BIGINT, {MADE_OF} STRING")
    return rows.join(F.broadcast(beside), "unit")


def _key_column(writer: TableWriter) -> str:
    """Return the first column that identifies the rows of an aggregate."""
    return writer.declared.key[0] if writer.declared.key else "unit"


def _has_columns(older: DataFrame | None, new: DataFrame) -> bool:
    return older is not None and {*new.columns, MADE_OF} == set(older.columns)


def _total(notes: Mapping[int, Collection[str | None]]) -> str:
    """Add up the facts of all windows."""
    return str(sum(int(note.split()[-1]) for each in notes.values() for note in each if note))


def _rows(job: Job, frames: Frames, writer: TableWriter) -> DataFrame:
    rows = frames.get(job.rows_of(writer.declared))
    if rows is None:
        raise TableError(
            f"job {job.name} declares output {writer.declared.name}, but its function aggregate returns no rows for it"
        )
    return rows


@dataclass(slots=True)
class _Look:
    """The current state: by window, facts and the sum of their marks; the latest time; notes by window and by key."""

    counts: dict[int, int] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    latest_s: float = 0.0
    notes: dict[int, set[str | None]] = field(default_factory=dict)
    totals: set[str | None] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterator[Row]) -> _Look:
        """Add up the summaries of files."""
        look = cls()
        for _, _, window, count, mark, micros, note in rows:
            if count is not None:
                look.counts[window] = look.counts.get(window, 0) + count
                if mark is not None:
                    look.marks[window] = look.marks.get(window, 0) + mark
                look.latest_s = max(look.latest_s, micros / MICROS)
            elif window is not None:
                look.notes.setdefault(window, set()).add(note)
            else:
                look.totals.add(note)
        return look


class KnownFiles:
    """Summaries of the data files of a job's tables, cached in memory: a query reads each file once.

    Invariant: the cached files exist, and their summaries are based on the current tables of other jobs.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, list[Row]]] = {}
        self._content: list[Row] = []

    def forget_marks(self, table: str, content: list[Row]) -> None:
        """Drop the summaries of a table of facts if the content of the tables of other jobs has changed."""
        if content != self._content:
            self._rows.pop(table, None)
        self._content = content

    def look(self, queries: Mapping[str, tuple[Scan, Callable[[DataFrame], DataFrame]]]) -> Iterator[Row]:
        """Return the summaries of all files; query the new ones.

        Args:
            queries: By table, its files and the query that summarizes their rows by file.
        """
        from pyspark.sql import functions as F

        found: dict[str, dict[str, list[Row]]] = {}
        looks = []
        for table, (scan, query) in queries.items():
            there = self._rows.get(table, {})
            found[table] = {name: there.get(name, []) for name in scan.files}
            if new := found[table].keys() - there.keys():
                looks.append(query(scan.read(new)).select(F.lit(table), "*"))
        for row in reduce(lambda one, other: one.unionAll(other), looks).collect() if looks else ():
            found[row[0]][row[1]].append(row)
        self._rows = found
        return (row for files in found.values() for rows in files.values() for row in rows)


def _counts(job: Job, facts: DataFrame) -> DataFrame:
    """Count facts by file and window."""
    from pyspark.sql import functions as F

    window = F.floor(F.unix_seconds("time") / job.window_s).alias("unit")
    # The sum of 32-bit hashes does not depend on the order, and does not overflow.
    marks = F.sum(F.when(F.col("mark").isNotNull(), F.hash("mark"))) if job.mark else F.lit(None).cast("BIGINT")
    latest = F.max(believed_micros()).alias("latest")
    timed = facts.where("time IS NOT NULL")
    counts = timed.groupBy(FILE_COLUMN, window).agg(F.count("*").alias("count"), marks.alias("marks"), latest)
    return counts.withColumn(MADE_OF, F.lit(None).cast("STRING"))


def _notes(writer: TableWriter, rows: DataFrame) -> DataFrame:
    """Return the distinct notes of an aggregate, by file."""
    window = "CAST(NULL AS BIGINT)" if writer.declared.key else "unit"
    none = (f"CAST(NULL AS BIGINT) AS {name}" for name in ("count", "marks", "latest"))
    return rows.selectExpr(FILE_COLUMN, f"{window} AS unit", *none, MADE_OF).distinct()


def _content(read: Frames) -> list[Row]:
    """Return the number of rows of each table, and a checksum that does not depend on their order."""
    from pyspark.sql import functions as F

    checksum = F.sum(F.xxhash64(F.to_json(F.struct("*"))).cast("DECIMAL(38,0)"))
    looks = [rows.agg(F.lit(name), F.count("*"), checksum) for name, rows in sorted(read.items())]
    return sorted(reduce(lambda one, other: one.unionAll(other), looks).collect()) if looks else []


def _of_windows(facts: DataFrame, windows: Collection[int], window_s: int) -> DataFrame:
    """Keep the facts of some windows, as ranges of their time, so that Spark can skip files without such facts."""
    from pyspark.sql import functions as F

    def start(window: int) -> Column:
        return F.timestamp_seconds(F.lit(window * window_s))

    result = F.lit(False)
    for first in sorted(window for window in windows if window - 1 not in windows):
        end = first + 1
        while end in windows:
            end += 1
        result = result | ((F.col("time") >= start(first)) & (F.col("time") < start(end)))
    return facts.where(result)
