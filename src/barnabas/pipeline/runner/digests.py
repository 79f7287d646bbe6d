"""Digests: rows by unit of event time, of which only those units are computed anew whose facts have changed.

Each row notes in `_made_of` how many facts its unit had, and what else it depends on: the parameters and the version of
this package. A unit of which a row's note is no longer right is computed anew, in all tables. So it does not matter why
facts came or went (late rows, a rewind, a backfill beside the run, a kill between two commits) nor whether a table of
digests was lost; and what another run put in its place in the meantime is found out by the next refresh.

Cost: one query for the facts' times and all notes; all else is paid for the units that have changed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from barnabas import __version__
from barnabas.pipeline.job import Frames, Job, Parameters
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import Span
from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MADE_OF = "_made_of"


def refresh_digests(
    job: Job, parameters: Parameters, facts: Frames, writers: Mapping[str, TableWriter], span: Span
) -> None:
    """Compute and write what has changed of a job's digests."""
    from pyspark.sql import functions as F

    assert job.digest is not None
    there = {name: writer.table.read() for name, writer in writers.items() if writer.table.exists()}
    older = {name: rows for name, rows in there.items() if {"unit", MADE_OF} <= set(rows.columns)}
    counts, known = _look(job, facts, older)
    beside = zlib.crc32(json.dumps([__version__, job.unit_s, dict(parameters)], sort_keys=True).encode())
    now = {unit: f"{beside:08x} {count}" for unit, count in counts.items()}
    if len(older) < len(writers):
        known = {}
    changed = {unit for unit in now.keys() | known.keys() if known.get(unit) != {now.get(unit)}}
    if known and not changed:
        return
    rows: Frames = {}
    where = ""
    if known.keys() - changed:
        rows = job.digest({name: _of_units(each, changed, job.unit_s) for name, each in facts.items()}, parameters)
        # Other columns come from another version of the job: then all is computed anew.
        if all(
            {*_rows(job, rows, each).columns, MADE_OF} == set(older[name].columns) for name, each in writers.items()
        ):
            where = f"unit IN ({', '.join(map(str, sorted(changed)))})"
    if not where:
        rows = job.digest(facts, parameters)
    spark = next(iter(facts.values())).sparkSession
    notes = F.broadcast(spark.createDataFrame(sorted(now.items()), f"unit BIGINT, {MADE_OF} STRING"))
    for writer in writers.values():
        writer.write(_rows(job, rows, writer).join(notes, "unit"), span, Delivery.EXACTLY_ONCE, where=where)


def _rows(job: Job, frames: Frames, writer: TableWriter) -> DataFrame:
    rows = frames.get(job.rows_of(writer.declared))
    if rows is None:
        raise TableError(f"job {job.name} declares output {writer.declared.name}, and its digest gives no rows for it")
    return rows


def _look(job: Job, facts: Frames, older: Frames) -> tuple[dict[int, int], dict[int, set[str | None]]]:
    """Count the facts of each unit, and look up what the rows of each unit were made of."""
    from pyspark.sql import functions as F

    unit = F.floor(F.unix_seconds("time") / job.unit_s).alias("unit")
    nothing = F.lit(None)
    looks = [each.groupBy(unit).agg(F.count("*").alias("count"), nothing.alias("note")) for each in facts.values()]
    for each in older.values():
        looks.append(each.select("unit", nothing.alias("count"), MADE_OF).distinct())
    counts: dict[int, int] = {}
    known: dict[int, set[str | None]] = {}
    for number, count, note in reduce(lambda one, other: one.unionAll(other), looks).collect():
        if count is None:
            known.setdefault(number, set()).add(note)
        else:
            counts[number] = counts.get(number, 0) + count
    return counts, known


def _of_units(facts: DataFrame, units: Collection[int], unit_s: int) -> DataFrame:
    """Keep the facts of some units, by ranges of their time: so files that have none of them are not read."""
    from pyspark.sql import functions as F

    def start(unit: int) -> Column:
        return F.timestamp_seconds(F.lit(unit * unit_s))

    result = F.lit(False)
    for first in sorted(unit for unit in units if unit - 1 not in units):
        end = first + 1
        while end in units:
            end += 1
        result = result | ((F.col("time") >= start(first)) & (F.col("time") < start(end)))
    return facts.where(result)
