"""Topics whose tables have the latest row of each record key (`Mode.LATEST`).

A row has the key as text (`_key`) and a flag for tombstones (`_deleted`). For each batch, one row of each key goes to
the table. A row without `_topic` deletes the table's row, or marks it as deleted.

Within a partition, the record with the largest offset is the latest. A key moves to another partition when partitions
are added: across partitions, the record with the latest time is the latest. `tables/commit_rules.py` has the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.ingest.parse import STAGED_OP, TRUNCATE
from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# SQL for the rows of `latest` that only delete the row of their key.
GONE = "_topic IS NULL"
# The columns that such a row sets if the table keeps deleted rows.
MARKS = (DELETED, *PLACE[1:])


def truncated(rows: DataFrame, table: Table) -> DataFrame:
    """Drop the operation of changes; replace a truncate by a deleted row for each key of the changes and the table.

    Args:
        rows: Columns of the records, of `PLACE`, `_staged_op`, `_key` and `_deleted`.
        table: The topic's table, by key; a topic with a truncate has one partition.
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
    """Return the row of each key's latest record.

    Args:
        rows: Columns of the records, of `PLACE`, `_key` and `_deleted`.
        keeps_deleted: Whether the table has `_deleted`. Then a deleted row has its values from before the tombstone.
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

    # Repartition by key alone, so that Spark shuffles the rows once for both windows.
    in_partition = Window.partitionBy(KEY, "_partition").orderBy(F.desc("_offset"))
    in_time = Window.partitionBy(KEY).orderBy(F.desc("_timestamp"), F.desc("_partition"), F.desc("_offset"))
    last = rows.repartition(KEY)
    for window in (in_partition, in_time):
        last = last.withColumn("_rank", F.row_number().over(window)).where("_rank = 1").drop("_rank")
    return last
