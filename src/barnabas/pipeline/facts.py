"""Code shared by jobs that keep one row per event, its *fact*, and compute their results from all facts.

A table of facts has the columns `id` and `time` of the event, `kind` for what it was, those of `job.PLACE` for where
it stood, and what else the job wants to know. It holds every record once; an event that was sent twice is two records,
and is one again by `once`.

Invariant: nothing in here depends on the order or the batches in which the facts were written, nor on a clock. A job's
"now" is the latest time in its facts (`latest_micros`), so a log from 2015 is ranked as it was ranked in 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.job import PLACE

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import Column, DataFrame

# How far a clock may be ahead of the one that stamped the record.
SKEW_S = 3600

MICROS = 1_000_000

# With more ids than this that came twice, facts are sorted as a whole: a task keeps them in memory.
_MOST_REPEATED = 1_000_000

# What a browser loads by itself with a page, by the end of its path.
ASSETS = r"(?i)\.(css|js|map|png|jpe?g|gif|svg|ico|bmp|webp|avif|woff2?|ttf|otf|eot|mp3|mp4|webm)$"


def rows_of(events: pa.Table, columns: Mapping[str, str], made: Mapping[str, Any]) -> pa.Table:
    """Return facts of events: columns as they are made, else as the events have them, else null; then the place.

    Args:
        events: Columns of the event, and of `PLACE`.
        columns: Arrow's names of the facts' types, by column and in order; `time`: microseconds in UTC.
        made: By column, the values of all rows, or the one value of each row.
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
    """Keep the views that showed a page to somebody: asked for with GET and answered, be it from the browser's cache.

    What a browser loads by itself with a page (images, styles, scripts) is none.
    """
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    status = views["status"]
    is_success = pc.and_(pc.greater_equal(status, 200), pc.less(status, 300))
    is_answered = pc.or_(is_success, pc.equal(status, 304))
    is_page = pc.invert(pc.match_substring_regex(without_query(views["page"]), ASSETS))
    return views.filter(pc.and_(pc.and_(pc.equal(views["method"], "GET"), is_answered), is_page))


def without_query(targets: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the pages of requests' targets: without query and fragment."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(targets, "(?s)[?#].*$", "")


def believed_micros() -> Column:
    """Return a fact's time in microseconds since 1970, at most `SKEW_S` after its record's.

    An event that claims to be later does not count: one wrong clock would else make all other events old, and empty
    what is computed from the last hours or days.
    """
    from pyspark.sql import functions as F

    return F.least(F.unix_micros("time"), F.unix_micros("_timestamp") + SKEW_S * MICROS)


def latest_micros(facts: DataFrame, time: Column | None = None) -> int:
    """Look up the latest `believed_micros` of facts, or of another column; 0 where there is none."""
    from pyspark.sql import functions as F

    latest = F.max(believed_micros() if time is None else time)
    row = facts.agg(latest.alias("latest")).first()
    return 0 if row is None or row["latest"] is None else int(row["latest"])


def of_same(every: DataFrame, some: DataFrame, *key: str) -> DataFrame:
    """Keep of all facts those of the subjects who have some among the others; it is quick where these are all."""
    from pyspark.sql import functions as F

    # A subject's columns are no nulls, or it is none.
    return every if some is every else every.join(F.broadcast(some.select(*key).distinct()), list(key), "left_semi")


def numbered(facts: DataFrame, *key: str) -> DataFrame:
    """Number the facts of each key by their place: `copy` is 1 for the first, `copies` says how many there are.

    Only facts with a repeat are sorted. To find them is a query of its own, which reads the key.
    """
    from pyspark.sql import Observation, Window
    from pyspark.sql import functions as F

    # A collision of two hashes sorts facts in vain, no more.
    hashed = F.xxhash64(*key).alias("_key")
    keys = facts.groupBy(hashed).count().where("count > 1").select("_key")
    # Counted while they are found: else that is a query of its own.
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
    """Drop repeats: of the facts of one kind and id, the one that stood first stays."""
    return numbered(facts, "kind", "id").where("copy = 1").drop("copy", "copies", *PLACE)


def last_of(facts: DataFrame, *key: str) -> DataFrame:
    """Keep the last fact of each key by time, and by id where the times are the same."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest_first = Window.partitionBy(*key).orderBy(F.desc("time"), F.desc("id"))
    return facts.withColumn("_age", F.row_number().over(newest_first)).where("_age = 1").drop("_age")
