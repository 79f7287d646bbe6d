"""What jobs have in common that keep one row an event, its *fact*, and compute their results from all of them.

A table of facts has the columns `id` and `time` of the event, `kind` for what it was, those of `job.PLACE` for where
it stood, and what else the job wants to know. It holds every record once; an event that was sent twice is two records,
and is one again by `once`.

Invariant: nothing in here depends on the order or the batches in which the facts were written, nor on a clock. A job's
"now" is the latest time in its facts (`latest_micros`), so a log from 2015 is ranked as it was ranked in 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import PLACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# How far a clock may be ahead of the one that stamped the record.
SKEW_S = 3600

MICROS = 1_000_000

# What a browser loads by itself with a page, by the end of its path.
ASSETS = r"(?i)\.(css|js|map|png|jpe?g|gif|svg|ico|bmp|webp|avif|woff2?|ttf|otf|eot|mp3|mp4|webm)$"


def is_shown() -> Column:
    """Tell which views showed a page to somebody: asked for with GET and answered, be it from the browser's cache.

    What a browser loads by itself with a page (images, styles, scripts) is none.
    """
    from pyspark.sql import functions as F

    status = F.col("status")
    is_answered = status.between(200, 299) | (status == 304)
    return (F.col("method") == "GET") & is_answered & ~page_of("page").rlike(ASSETS)


def page_of(target: str) -> Column:
    """Return the page of the request's target in a column: without query and fragment."""
    from pyspark.sql import functions as F

    return F.regexp_extract(target, r"^[^?#]*", 0)


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


def once(facts: DataFrame) -> DataFrame:
    """Drop repeats: of the facts of one kind and id, the one that stood first stays."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    copies = Window.partitionBy("kind", "id").orderBy("_topic", "_partition", "_offset")
    return facts.withColumn("_copy", F.row_number().over(copies)).where("_copy = 1").drop("_copy", *PLACE)


def last_of(facts: DataFrame, *key: str) -> DataFrame:
    """Keep the last fact of each key by time, and by id where the times are the same."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest_first = Window.partitionBy(*key).orderBy(F.desc("time"), F.desc("id"))
    return facts.withColumn("_age", F.row_number().over(newest_first)).where("_age = 1").drop("_age")
