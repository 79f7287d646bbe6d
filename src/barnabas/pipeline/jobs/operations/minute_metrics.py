"""Figures of each subject per minute, computed from facts.

A figure is a row (minute, subject, figure, value, count, detail): `minute` counts minutes since 1970, `count` is the
number of events behind the value, `detail` has more information in words.

docs/pipeline/operations.md lists subjects and figures.

Invariants: `events` and `requests` have a value for each minute from the subject's first on, 0 if it has no events.
`throttle_ms` and `lag` are reported only for throttled clients and lagging groups, so they are 0 in minutes without a
report, for an hour after the last one. The other figures exist only in minutes with events for them. Values do not
depend on the order of facts: they are counts, shares of counts, sums, maxima, minima and exact percentiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE_S = 60

SITE = "site"

# Figures that are 0 in minutes without events.
COUNTED = ("events", "requests")

# Figures that are 0 only for `_NAMED_MINUTES` after their last report, which is enough to resolve an alert.
_NAMED_WHILE_BAD = ("throttle_ms", "lag")
_NAMED_MINUTES = 60

# Several values of a broker's figure in a minute: figures of `SINCE_LAST_LOOK` are summed, because each value covers
# the time since the previous collection. The lowest value counts for `_LOWEST`, the highest for all other figures.
SINCE_LAST_LOOK = ("loop_stalls", "loop_stalled_ms", "failed_logins", "failed_requests")
_LOWEST = "lag"


# As SQL: subject, figure, value, count, and detail if there is one.
_OF_TOPIC = ("concat('topic ', topic)", "'events'", "count", "count")
_WORST = f"CASE WHEN figure IN {SINCE_LAST_LOOK} THEN total WHEN figure = '{_LOWEST}' THEN lowest ELSE highest END"
_OF_KIND: dict[str, tuple[tuple[str, ...], ...]] = {
    "page_view": (
        (f"'{SITE}'", "'requests'", "count", "count"),
        (f"'{SITE}'", "'errors'", "errors", "count"),
        (f"'{SITE}'", "'error_share'", "round(errors / count, 6)", "count"),
        (f"'{SITE}'", "'latency_p50_ms'", "round(latencies[0], 3)", "latency_count"),
        (f"'{SITE}'", "'latency_p95_ms'", "round(latencies[1], 3)", "latency_count"),
        (f"'{SITE}'", "'bytes_p50'", "round(sizes[0], 3)", "size_count"),
        (f"'{SITE}'", "'bytes_p95'", "round(sizes[1], 3)", "size_count"),
    ),
    "service_log": (
        ("subject", "'events'", "count", "count"),
        ("subject", "'warnings'", "if(figure IN ('WARN', 'WARNING'), count, 0)", "count"),
        ("subject", "'errors'", "if(figure IN ('ERROR', 'FATAL'), count, 0)", "count"),
    ),
    "host_metric": (
        ("subject", "'events'", "count", "count"),
        ("concat_ws(' ', subject, instance)", "figure", "round(median, 3)", "count"),
    ),
    "broker_metric": (
        ("subject", "'events'", "count", "count"),
        ("coalesce(instance, subject)", "figure", f"round({_WORST}, 3)", "count", "detail"),
    ),
}


def minute_figures(facts: DataFrame) -> DataFrame:
    """Compute the figures of each minute from its facts, with the latest `believed_micros` of the facts as `latest`.

    Args:
        facts: Distinct facts (kind, topic, subject, instance, figure, value, status, bytes, latency_ms, detail, time,
            believed).
    """
    from pyspark.sql import functions as F

    told = _aggregated(facts).select("minute", "latest", F.inline(_figure_rows()))
    # A service has a row for each level, a host for each metric: their counts are summed, other figures have one row.
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
    """Return the figures of a row of `_aggregated`, as an array of (subject, figure, value, count, detail)."""
    from pyspark.sql import functions as F

    def array(rows: Sequence[tuple[str, ...]]) -> str:
        structs = [
            f"named_struct('subject', {subject}, 'figure', {figure}, 'value', double({value}), 'count', {count}, "
            f"'detail', string({', '.join(detail) or 'NULL'}))"
            for subject, figure, value, count, *detail in (_OF_TOPIC, *rows)
        ]
        return f"array({', '.join(structs)})"

    kinds = " ".join(f"WHEN '{kind}' THEN {array(rows)}" for kind, rows in _OF_KIND.items())
    return F.expr(f"CASE kind {kinds} ELSE {array(())} END")


def without_gaps(told: DataFrame, last_minute: int) -> DataFrame:
    """Add rows with the value 0 for minutes in which a figure is missing, if 0 is then its value (see above).

    `last_minute` is the last complete minute, in minutes since 1970.
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
