"""Topics whose tables hold the latest row of each record key (`Mode.LATEST`).

A row has the key as text (`_key`) and says whether its record is a tombstone (`_deleted`). Of a batch one row of each
key goes to the table; one without `_topic` takes the table's row away, or marks it as deleted.

Which record is the latest: within a partition the one with the larger offset; of several partitions, between which a
key moves when partitions are added, the one with the later time. `tables/rules.py` says the same to the tables.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.runner.inputs import REASON
from barnabas.pipeline.tables.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY_AS_TEXT = f"CAST(key AS STRING) AS {KEY}"
ALIVE = f"false AS {DELETED}"
# Of rows of `latest`: the record says nothing but that the row of its key is gone.
GONE = "_topic IS NULL"
# What such a record puts into a row that is kept.
MARKS = (DELETED, *PLACE[1:])

_WHY = (
    "CASE WHEN key IS NULL THEN 'the record has no key, and its table is by key' "
    "WHEN NOT is_valid_utf8(CAST(key AS STRING)) THEN 'the key is no text: it is not UTF-8' "
    "WHEN instr(CAST(key AS STRING), char(0)) > 0 THEN 'the key is no text: it has a NUL character' END"
)


def judged_keys(parsed_records: DataFrame, topics: Collection[str], needs_none: str = "false") -> DataFrame:
    """Give records of these topics whose key can't be one a reason, and take it from tombstones, which have no value.

    Args:
        parsed_records: What `RecordParser.parse` gives.
        topics: Those whose tables are by key.
        needs_none: Which records need no key, as SQL.
    """
    from pyspark.sql import functions as F

    why = F.expr(_WHY)
    reason = F.when(why.isNotNull(), why).when(F.col("value").isNotNull(), F.col(REASON))
    is_own = F.col("_topic").isin(*topics) & ~F.expr(f"coalesce({needs_none}, false)")
    return parsed_records.withColumn(REASON, F.when(is_own, reason).otherwise(F.col(REASON)))


def tombstones(parsed_records: DataFrame, topic: str, is_tombstone: str = "value IS NULL") -> DataFrame:
    """Return the records of a topic that are tombstones, by SQL, as rows of its table that are deleted."""
    own = parsed_records.where(parsed_records["_topic"] == topic).where(f"{REASON} IS NULL AND ({is_tombstone})")
    return own.selectExpr(*PLACE, KEY_AS_TEXT, f"true AS {DELETED}")


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
