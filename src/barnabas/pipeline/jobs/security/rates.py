"""Request rates: who asks for more within a minute than is stated, be it a person or a program. An API has such a rule.

It is counted by the clock's minutes: twice as much may come within sixty seconds of two of them and is not seen. A
minute of one subject with too much makes the verdict, which is certain: there is nothing to be weighed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameter, Parameters
from barnabas.pipeline.jobs.security.judging import Rule, Sign, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("address", "user", "token")
MINUTE_S, _MINUTES = 60, 60

PARAMETERS = (
    Parameter("rate_limit", 0, "requests within a minute that may be; 0: any number"),
    Parameter("rate_by", "address", "whose requests are counted: those of an address, user or token"),
    Parameter("rate_targets", "/", "a target with this pattern in it counts"),
    Parameter("rate_token", r"[?&]api_key=([^&#]+)", "the token in a target is what this pattern has in brackets"),
    Parameter("rate_lapse_hours", 1, "how long after the last minute with too much a verdict on it holds"),
)


def fast_minutes(facts: DataFrame, parameters: Parameters) -> DataFrame:
    """Find the minutes of some hours in which a subject asked for too much.

    Returns:
        Rows of `security_hours`, for each hour and subject, which stands in one of its columns address, user, target;
        `events` is the most in a minute, `failures` the number of such minutes.

    Raises:
        ValueError: requests are to be counted by something else.
    """
    from pyspark.sql import functions as F

    by = str(parameters["rate_by"])
    if by not in KINDS:
        raise ValueError(f"rate_by {by!r}: it must be {', '.join(KINDS)}")
    token = F.nullif(F.regexp_extract("target", str(parameters["rate_token"]), 1), F.lit(""))
    views = facts.where("kind = 'page_view'").where(F.col("target").rlike(str(parameters["rate_targets"])))
    views = views.withColumn("subject", token if by == "token" else F.col(by)).where("subject IS NOT NULL")
    minute = F.floor(F.unix_seconds("time") / MINUTE_S).alias("minute")
    minutes = views.dropDuplicates(["id"]).groupBy(minute, "subject")
    counts = minutes.agg(F.count("*").alias("events"), F.min("time").alias("first"), F.max("time").alias("last"))
    columns = {"address": "address", "user": "user", "token": "target"}
    return (
        counts.where(F.col("events") > int(parameters["rate_limit"]))
        .groupBy(F.floor(F.col("minute") / _MINUTES).alias("unit"), "subject")
        .agg(
            F.max("events").alias("events"),
            F.count("*").alias("failures"),
            F.min("first").alias("first_seen"),
            F.max("last").alias("last_seen"),
        )
        .select(
            "unit",
            F.lit("rate").alias("kind"),
            *(
                (F.col("subject") if kind == by else F.lit(None).cast("string")).alias(column)
                for kind, column in columns.items()
            ),
            "events",
            "failures",
            "first_seen",
            "last_seen",
        )
    )


def find_too_fast(hours: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge by what `fast_minutes` gives."""
    from pyspark.sql import functions as F

    limit, by = int(parameters["rate_limit"]), str(parameters["rate_by"])
    figures = (
        hours.withColumn("token", F.col("target"))
        .groupBy(by)
        .agg(
            F.max("events").alias("requests_in_a_minute"),
            F.sum("failures").alias("minutes_too_fast"),
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
        )
    )
    says = (
        f"concat('made ', requests_in_a_minute, ' requests within a minute, where {limit} may be; too many in ', "
        "minutes_too_fast, if(minutes_too_fast = 1, ' minute', ' minutes'))"
    )
    sign = Sign("too_fast", 10, "true", says)
    return judge(figures, Rule("'rate'", (sign,), 5), by, (by,), int(parameters["rate_lapse_hours"]))
