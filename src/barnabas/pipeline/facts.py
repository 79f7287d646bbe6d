"""Code shared by jobs that keep one row per event, its *fact*, and compute their results from all facts.

A table of facts has the event's `id` and `time`, its `kind`, the position of its record (`job.PLACE`), and columns of
the job's own. It contains each record once. An event that was sent twice has two records; `once` drops the repeat.

Invariant: no result depends on the order or the batches in which facts were written, nor on a clock. A job's "now" is
the latest time in its facts (`latest_micros`), so a log from 2015 gets the same ranking today as in 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.job import PLACE

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import Column, DataFrame

# An event's time may be this far ahead of its record's timestamp.
SKEW_S = 3600

MICROS = 1_000_000

# With more repeated keys than this, all facts are sorted: the keys would not fit into the memory of a task.
_MOST_REPEATED = 1_000_000

# Paths of files that a browser loads with a page.
ASSETS = r"(?i)\.(css|js|map|png|jpe?g|gif|svg|ico|bmp|webp|avif|woff2?|ttf|otf|eot|mp3|mp4|webm)$"


def rows_of(events: pa.Table, columns: Mapping[str, str], made: Mapping[str, Any]) -> pa.Table:
    """Return facts of events, with the columns of `PLACE` last.

    The values of a column come from `made`, else from the events; else they are null.

    Args:
        events: Columns of the event, and of `PLACE`.
        columns: Arrow's type names of the facts' columns, in order; `time`: a timestamp in microseconds, UTC.
        made: By column, an array with a value for each row, or one value for all rows.
    """
    import pyarrow as pa

    found = []
    for name, alias in columns.items():
        kind = pa.timestamp("us", "UTC") if alias == "time" else pa.type_for_alias(alias)
        values = made[name] if name in made else events[name] if name in events.column_names else None
        if isinstance(values, pa.Array | pa.ChunkedArray):
            found.append(values.cast(kind))
        else:
            found.append(pa.repeat(pa.scalar(values, kind), events.num_rows))
    return pa.table([*found, *(events[name] for name in PLACE)], names=[*columns, *PLACE])


def shown(views: pa.Table) -> pa.Table:
    """Keep the views that showed a page: GET requests with a status of 2xx or 304, except `ASSETS`."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    status = views["status"]
    is_success = pc.and_(pc.greater_equal(status, 200), pc.less(status, 300))
    is_answered = pc.or_(is_success, pc.equal(status, 304))
    is_page = pc.invert(pc.match_substring_regex(without_query(views["page"]), ASSETS))
    return views.filter(pc.and_(pc.and_(pc.equal(views["method"], "GET"), is_answered), is_page))


def without_query(targets: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return request targets without query and fragment."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(targets, "(?s)[?#].*$", "")


def believed_micros() -> Column:
    """Return a fact's time in microseconds since 1970, at most `SKEW_S` after its record's timestamp.

    Later times are capped. Otherwise one wrong clock would make all other events look old, and results of the last
    hours or days would be empty.
    """
    from pyspark.sql import functions as F

    return F.least(F.unix_micros("time"), F.unix_micros("_timestamp") + SKEW_S * MICROS)


def latest_micros(facts: DataFrame, time: Column | None = None) -> int:
    """Return the latest `believed_micros` of facts, or the maximum of `time`; 0 if there are no facts."""
    from pyspark.sql import functions as F

    latest = F.max(believed_micros() if time is None else time)
    row = facts.agg(latest.alias("latest")).first()
    return 0 if row is None or row["latest"] is None else int(row["latest"])


def of_same(every: DataFrame, some: DataFrame, *key: str) -> DataFrame:
    """Keep the facts whose key occurs in `some`; no join is needed if `some` is the same object as `every`."""
    from pyspark.sql import functions as F

    # The join may drop rows with a null in the key: they belong to no subject.
    return every if some is every else every.join(F.broadcast(some.select(*key).distinct()), list(key), "left_semi")


def numbered(facts: DataFrame, *key: str) -> DataFrame:
    """Number the facts of each key by topic, partition and offset: `copy` counts from 1, `copies` is their number.

    Only facts of repeated keys are sorted. A separate query finds these keys; it reads the key columns only.
    """
    from pyspark.sql import Observation, Window
    from pyspark.sql import functions as F

    # A hash collision only causes needless sorting.
    hashed = F.xxhash64(*key).alias("_key")
    keys = facts.groupBy(hashed).count().where("count > 1").select("_key")
    # The observation counts the keys in the same query.
    found_keys = Observation()
    repeated = keys.observe(found_keys, F.count("*").alias("count")).localCheckpoint()
    count, one = found_keys.get["count"], F.lit(1).cast("BIGINT")
    if not count:
        return facts.withColumns({"copy": one, "copies": one})
    keyed = facts.withColumn("_key", hashed)
    is_few = count <= _MOST_REPEATED
    some = keyed.join(F.broadcast(repeated), "_key", "left_semi") if is_few else keyed
    same = Window.partitionBy(*key)
    number = F.row_number().over(same.orderBy("_topic", "_partition", "_offset")).cast("BIGINT")
    found = some.withColumns({"copy": number, "copies": F.count("*").over(same)})
    if is_few:
        others = keyed.join(F.broadcast(repeated), "_key", "left_anti")
        found = others.withColumns({"copy": one, "copies": one}).unionByName(found)
    return found.drop("_key")


def once(facts: DataFrame) -> DataFrame:
    """Drop repeats: keep the first fact of each kind and id, by topic, partition and offset."""
    return numbered(facts, "kind", "id").where("copy = 1").drop("copy", "copies", *PLACE)


def last_of(facts: DataFrame, *key: str) -> DataFrame:
    """Keep the last fact of each key by time, or by id if the times are equal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest_first = Window.partitionBy(*key).orderBy(F.desc("time"), F.desc("id"))
    return facts.withColumn("_age", F.row_number().over(newest_first)).where("_age = 1").drop("_age")
