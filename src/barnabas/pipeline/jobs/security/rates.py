"""Request rates: find people and programs with more requests per minute than allowed, for example by an API.

Requests are counted per clock minute, so up to twice the limit within sixty seconds may be undetected. One minute above
the limit is enough for a verdict, which is certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameter, Parameters
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("address", "user", "token")

PARAMETERS = (
    Parameter("rate_limit", 0, "allowed requests within a minute; 0: no limit"),
    Parameter("rate_by", "address", "count requests by address, user or token"),
    Parameter("rate_targets", "/", "pattern in the targets that count"),
    Parameter("rate_token", r"[?&]api_key=([^&#]+)", "pattern with the token of a target in brackets"),
    Parameter("rate_lapse_hours", 1, "hours from the last minute above the limit until the verdict expires"),
)


def fast_minutes(facts: DataFrame, parameters: Parameters) -> DataFrame:
    """Find the minutes in which a subject exceeded the limit, from distinct facts of some hours, with `seen`.

    Returns:
        Rows of `security_hours`, one for each hour and subject. The subject is in the column address, user or target;
        `events` is the highest number of requests in a minute, `failures` the number of minutes above the limit.

    Raises:
        ValueError: the parameter `rate_by` is invalid.
    """
    from pyspark.sql import functions as F

    by = str(parameters["rate_by"])
    if by not in KINDS:
        raise ValueError(f"rate_by {by!r}: must be one of {', '.join(KINDS)}")
    token = F.nullif(F.regexp_extract("target", str(parameters["rate_token"]), 1), F.lit(""))
    subject, column = (token, "target") if by == "token" else (F.col(by), by)
    views = facts.where("kind = 'page_view'").where(F.col("target").rlike(str(parameters["rate_targets"])))
    views = views.withColumn(column, subject).where(F.col(column).isNotNull())
    minutes = views.groupBy(F.floor(F.unix_seconds("time") / 60).alias("minute"), column).agg(
        F.count("*").alias("count"), F.min("time").alias("first"), F.max("seen").alias("last")
    )
    too_fast = minutes.where(F.col("count") > int(parameters["rate_limit"]))
    hours = too_fast.groupBy(F.floor(F.col("minute") / 60).alias("unit"), column).agg(
        F.max("count").alias("events"),
        F.count("*").alias("failures"),
        F.min("first").alias("first_seen"),
        F.max("last").alias("last_seen"),
    )
    others = [name for name in ("address", "user", "target") if name != column]
    return hours.withColumns({"kind": F.lit("rate"), **{name: F.lit(None).cast("string") for name in others}})


def find_too_fast(hours: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge subjects by the rows of `fast_minutes`."""
    from pyspark.sql import functions as F

    limit, by = int(parameters["rate_limit"]), str(parameters["rate_by"])
    figures = hours.groupBy(F.col("target" if by == "token" else by).alias(by)).agg(
        F.max("events").alias("requests_in_a_minute"),
        F.sum("failures").alias("minutes_too_fast"),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )
    says = (
        f"concat('made ', requests_in_a_minute, ' requests within a minute, where {limit} may be; too many in ', "
        "minutes_too_fast, if(minutes_too_fast = 1, ' minute', ' minutes'))"
    )
    sign = Sign("too_fast", 10, "true", says)
    return judge(figures, Rule("'rate'", (sign,), 5), by, (by,), int(parameters["rate_lapse_hours"]))
