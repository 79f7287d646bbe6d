"""Figures per minute: what happened to each subject, from facts.

A figure is a row (minute, subject, figure, value, count, detail): `minute` counts minutes since 1970, `count` says how
many events the value was computed from, `detail` what else is known of it, in words.

| subject | figures |
| --- | --- |
| site | requests, errors (5xx), error_share, latency_p50_ms, latency_p95_ms, bytes_p50, bytes_p95 |
| service NAME | events, warnings, errors (ERROR and FATAL) |
| host NAME | events; the median of each metric (of disks and network cards: host NAME INSTANCE) |
| broker N, cluster | events; of each metric the worst: the sum of what counts since the last look, else the highest |
| run NAME | the same; of lag the lowest |
| client ID of user NAME at broker N | throttle_ms, the highest |
| group ID on topic NAME | lag, the lowest: what a consumer never got below |
| topic NAME | events |

Invariants: `events` and `requests` have a value for each minute from the subject's first on, 0 where nothing came.
`throttle_ms` and `lag` are told of those clients and groups alone that are held or lag, so they are 0 where nothing
came within an hour of something. The other figures are there only where something came to compute them from. Values
don't depend on the order of the facts: counts, shares of counts, sums, the highest and lowest, and exact percentiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE_S = 60

SITE = "site"

# These are 0 where nothing came.
COUNTED = ("events", "requests")

# These as well, for so many minutes: by then nobody waits for more to say that it is over.
_NAMED_WHILE_BAD = ("throttle_ms", "lag")
_NAMED_MINUTES = 60

# Of brokers' figures these are added up, as each says what came since the look before, and these are told at their
# lowest; of all others the highest counts.
SINCE_LAST_LOOK = ("loop_stalls", "loop_stalled_ms", "failed_logins", "failed_requests")
_LOWEST = ("lag",)


def minute_figures(facts: DataFrame) -> DataFrame:
    """Compute the figures of each minute from its facts, as far as they tell any; and `latest`, see `believed_micros`.

    Args:
        facts: Distinct ones (kind, topic, subject, instance, figure, value, status, bytes, latency_ms, detail, time,
            believed).
    """
    from pyspark.sql import functions as F

    told = _aggregated(facts).select("minute", "latest", F.inline(_figure_rows()))
    # Of a service there is a row for each level, of a host for each metric: counts add up, all else stands alone.
    added = told.groupBy("minute", "subject", "figure").agg(
        F.sum("value").alias("value"),
        F.sum("count").alias("count"),
        F.max("detail").alias("detail"),
        F.max("latest").alias("latest"),
    )
    return added.where("value IS NOT NULL")


def _aggregated(facts: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    minute = F.floor(F.unix_seconds("time") / MINUTE_S).alias("minute")
    percentiles = F.array(F.lit(0.5), F.lit(0.95))
    return facts.groupBy(minute, "kind", "subject", "instance", "figure").agg(
        F.count("*").alias("count"),
        F.max("believed").alias("latest"),
        F.min("topic").alias("topic"),
        F.count_if(F.col("status") >= 500).alias("errors"),
        F.percentile("latency_ms", percentiles).alias("latencies"),
        F.count("latency_ms").alias("latency_count"),
        F.percentile("bytes", percentiles).alias("sizes"),
        F.count("bytes").alias("size_count"),
        F.percentile("value", F.lit(0.5)).alias("median"),
        F.sum("value").alias("total"),
        F.min("value").alias("lowest"),
        F.max("value").alias("highest"),
        F.max_by("detail", F.struct("value", "detail")).alias("detail"),
    )


def _figure_rows() -> Column:
    """Return what a row of `_aggregated` tells: an array of (subject, figure, value, count, detail)."""
    from pyspark.sql import functions as F

    kind, count, errors, level = (F.col(name) for name in ("kind", "count", "errors", "figure"))
    subject, site, topic = F.col("subject"), F.lit(SITE), F.concat(F.lit("topic "), "topic")
    latencies, latency_count = F.col("latencies"), F.col("latency_count")
    sizes, size_count = F.col("sizes"), F.col("size_count")
    of_topic = F.array(_row(topic, F.lit("events"), count, count))
    of_site = F.array(
        _row(site, F.lit("requests"), count, count),
        _row(site, F.lit("errors"), errors, count),
        _row(site, F.lit("error_share"), F.round(errors / count, 6), count),
        _row(site, F.lit("latency_p50_ms"), F.round(latencies[0], 3), latency_count),
        _row(site, F.lit("latency_p95_ms"), F.round(latencies[1], 3), latency_count),
        _row(site, F.lit("bytes_p50"), F.round(sizes[0], 3), size_count),
        _row(site, F.lit("bytes_p95"), F.round(sizes[1], 3), size_count),
    )
    of_service = F.array(
        _row(subject, F.lit("events"), count, count),
        _row(subject, F.lit("warnings"), F.when(level.isin("WARN", "WARNING"), count).otherwise(0), count),
        _row(subject, F.lit("errors"), F.when(level.isin("ERROR", "FATAL"), count).otherwise(0), count),
    )
    of_host = F.array(
        _row(subject, F.lit("events"), count, count),
        _row(F.concat_ws(" ", subject, "instance"), level, F.round("median", 3), count),
    )
    of_broker = F.array(
        _row(subject, F.lit("events"), count, count),
        _row(F.coalesce("instance", subject), level, F.round(_worst(), 3), count, F.col("detail")),
    )
    return F.concat(
        of_topic,
        F.when(kind == "page_view", of_site)
        .when(kind == "service_log", of_service)
        .when(kind == "host_metric", of_host)
        .when(kind == "broker_metric", of_broker)
        .otherwise(F.slice(of_topic, 1, 0)),
    )


def _worst() -> Column:
    """Return the worst of a minute, by what the figure is."""
    from pyspark.sql import functions as F

    figure = F.col("figure")
    since_last_look = F.when(figure.isin(*SINCE_LAST_LOOK), F.col("total"))
    return since_last_look.when(figure.isin(*_LOWEST), F.col("lowest")).otherwise(F.col("highest"))


def _row(subject: Column, figure: Column, value: Column, count: Column, detail: Column | None = None) -> Column:
    from pyspark.sql import functions as F

    return F.struct(
        subject.alias("subject"),
        figure.alias("figure"),
        value.cast("DOUBLE").alias("value"),
        count.alias("count"),
        (F.lit(None) if detail is None else detail).cast("STRING").alias("detail"),
    )


def without_gaps(told: DataFrame, last_minute: int) -> DataFrame:
    """Put a 0 into each minute in which nothing came of a subject's figure that is 0 then, from its first one on.

    `last_minute` is the last one that is complete, since 1970.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy("subject", "figure").orderBy("minute")
    following = F.coalesce(F.lead("minute").over(in_order), F.lit(last_minute + 1))
    figure, last = F.col("figure"), F.col("_next") - 1
    last_named = F.least(last, F.col("minute") + _NAMED_MINUTES)
    end = (
        F.when(figure.isin(*COUNTED), last).when(figure.isin(*_NAMED_WHILE_BAD), last_named).otherwise(F.col("minute"))
    )
    filled = F.sequence("minute", end)
    minutes = told.withColumn("_next", following).withColumn("_minute", F.explode(filled))
    is_own = F.col("_minute") == F.col("minute")
    return minutes.select(
        F.col("_minute").alias("minute"),
        "subject",
        "figure",
        F.when(is_own, F.col("value")).otherwise(0.0).alias("value"),
        F.when(is_own, F.col("count")).otherwise(0).alias("count"),
        F.when(is_own, F.col("detail")).alias("detail"),
    )
