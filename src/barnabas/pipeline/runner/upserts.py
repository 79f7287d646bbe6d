"""Topics whose tables hold the latest row of each record key (`Mode.LATEST`).

A row has the key as text (`_key`) and says whether its record is a tombstone (`_deleted`). Of a batch one row of each
key goes to the table; one without `_topic` takes the table's row away, or marks it as deleted.

Which record is the latest: within a partition the one with the larger offset; of several partitions, between which a
key moves when partitions are added, the one with the later time. `tables/rules.py` says the same to the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.ingest.parse import STAGED_OP, TRUNCATE
from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Of rows of `latest`: the record says nothing but that the row of its key is gone.
GONE = "_topic IS NULL"
# What such a record puts into a row that is kept.
MARKS = (DELETED, *PLACE[1:])


def truncated(rows: DataFrame, table: Table) -> DataFrame:
    """Return changes without their operation; a truncate becomes a deleted row of each key that they or the table have.

    Args:
        rows: Columns of the records, those of the place, `_staged_op`, `_key` and `_deleted`.
        table: The topic's, by key; the topic has one partition if there is a truncate.
    """
    truncate = rows.where(f"{STAGED_OP} = '{TRUNCATE}'").orderBy("_offset", ascending=False).limit(1)
    rows = rows.where(f"{STAGED_OP} <> '{TRUNCATE}'").drop(STAGED_OP)
    if truncate.isEmpty():
        return rows
    keys = rows.select(KEY)
    if table.exists():
        keys = keys.union(table.read().select(KEY))
    gone = keys.distinct().crossJoin(truncate.select(*PLACE)).selectExpr(*PLACE, KEY, f"true AS {DELETED}")
    return rows.unionByName(gone, allowMissingColumns=True)


def latest(rows: DataFrame, keeps_deleted: bool) -> DataFrame:
    """Return one row of each key: of its latest record.

    Args:
        rows: Columns of the records, those of the place, `_key` and `_deleted`.
        keeps_deleted: Whether the table has `_deleted`. A row is kept as it was before its tombstone then.
    """
    from pyspark.sql import functions as F

    last = _last(rows)
    if not keeps_deleted:
        return last.withColumn("_topic", F.when(~F.col(DELETED), F.col("_topic"))).drop(DELETED)
    own = [name for name in rows.columns if name not in (KEY, *MARKS)]
    before = _last(rows.where(f"NOT {DELETED}")).select(KEY, F.struct(*map(quoted, own)).alias("_before"))
    marks = [F.col(name) for name in (KEY, *MARKS)]
    deleted = last.where(DELETED).join(before, KEY, "left").select(*marks, "_before.*")
    return last.where(f"NOT {DELETED}").unionByName(deleted)


def _last(rows: DataFrame) -> DataFrame:
    """Return the latest row of each key."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # Together by key alone, so that rows are moved once for both windows.
    in_partition = Window.partitionBy(KEY, "_partition").orderBy(F.desc("_offset"))
    in_time = Window.partitionBy(KEY).orderBy(F.desc("_timestamp"), F.desc("_partition"), F.desc("_offset"))
    last = rows.repartition(KEY)
    for window in (in_partition, in_time):
        last = last.withColumn("_rank", F.row_number().over(window)).where("_rank = 1").drop("_rank")
    return last
