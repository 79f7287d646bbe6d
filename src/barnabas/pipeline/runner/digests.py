"""Digests: rows by unit of event time, of which only those units are computed anew whose facts have changed.

Each row notes in `_made_of` how many facts its unit had, and what else it depends on: the parameters and the version of
this package. A unit whose note is no longer right is computed anew. So it does not matter why facts came or went (late
rows, a rewind, a backfill beside the run, a kill between two commits) nor whether the table of digests was lost; and
what another run put in its place in the meantime is found out by the next refresh.

Cost: one pass over the facts' times, to count them by unit; all else is paid for the units that have changed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from typing import TYPE_CHECKING

from barnabas import __version__
from barnabas.pipeline.job import Frames, Job, Parameters
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MADE_OF = "_made_of"


def digest_rows(job: Job, parameters: Parameters, facts: Frames, writer: TableWriter) -> tuple[DataFrame, str] | None:
    """Compute what has changed of a digest.

    Returns:
        The rows, and which rows they take the place of, as SQL ("": all); None where nothing has changed.
    """
    from pyspark.sql import functions as F

    assert job.digest is not None
    rows = _digest(job, parameters, facts, writer)
    known: dict[int, str] = {}
    is_known = False
    if writer.table.exists():
        older = writer.table.read()
        # Other columns come from another version of the job: then all is computed anew.
        is_known = set(older.columns) == {*rows.columns, MADE_OF}
        known = dict(map(tuple, older.select("unit", MADE_OF).distinct().collect())) if is_known else {}
    now = _notes(job, parameters, facts)
    changed = {unit for unit in now.keys() | known.keys() if now.get(unit) != known.get(unit)}
    if is_known and not changed:
        return None
    where = ""
    if known.keys() - changed:
        rows = _digest(
            job, parameters, {name: _of_units(all_of, changed, job.unit_s) for name, all_of in facts.items()}, writer
        )
        where = f"unit IN ({', '.join(map(str, sorted(changed)))})"
    notes = rows.sparkSession.createDataFrame(sorted(now.items()), f"unit BIGINT, {MADE_OF} STRING")
    return rows.join(F.broadcast(notes), "unit"), where


def _digest(job: Job, parameters: Parameters, facts: Frames, writer: TableWriter) -> DataFrame:
    assert job.digest is not None
    rows = job.digest(facts, parameters).get(job.rows_of(writer.declared))
    if rows is None:
        raise TableError(f"job {job.name} declares output {writer.declared.name}, and its digest gives no rows for it")
    return rows


def _notes(job: Job, parameters: Parameters, facts: Frames) -> dict[int, str]:
    """Count the facts of each unit, and note what else its digest depends on."""
    from pyspark.sql import functions as F

    beside = zlib.crc32(json.dumps([__version__, job.unit_s, dict(parameters)], sort_keys=True).encode())
    unit = F.floor(F.unix_seconds("time") / job.unit_s).alias("unit")
    counts: dict[int, list[int]] = {}
    for rows in facts.values():
        for number, count in rows.groupBy(unit).count().collect():
            counts.setdefault(number, []).append(count)
    return {number: f"{beside:08x} {counted}" for number, counted in counts.items()}


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
