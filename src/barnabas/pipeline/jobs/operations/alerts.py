"""Alerts: what becomes of bad minutes.

For each alert and subject the judged minutes are cut into runs of bad and of good ones (gaps and islands). An alert
fires at the minute in which a bad run has become long enough, and is resolved at the minute in which a good run has; in
between it stays what it is. So one good minute among bad ones does not end it, nor one bad minute bring it back.

Times: `since` is when the bad run began that made it fire, `fired_at` the end of the minute that made it certain,
`resolved_at` when the good run began that ended it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from barnabas.pipeline.jobs.operations.minute_metrics import MINUTE_S
from barnabas.pipeline.jobs.operations.rules import RULES, Change, Growth, Limit, Rule, Silence

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIRING, RESOLVED = "firing", "resolved"


def alerts(judged: DataFrame) -> DataFrame:
    """Return the last state of every alert that has fired.

    Args:
        judged: What `rules.judged` gives.

    Returns:
        Rows (alert, subject, state, since, fired_at, resolved_at, value, threshold, times_fired, detail, sentence), one
        for each alert and subject; `value` is the worst while it fired, `detail` what else was known then.
    """
    from pyspark.sql import functions as F

    is_start, state, is_bad = F.col("is_start"), F.col("state"), F.col("is_bad")
    by_incident = _with_incidents(_with_states(judged)).groupBy("alert", "subject", "incident")
    falls = [rule.alert for rule in RULES if isinstance(rule, Change) and not rule.is_rise]
    badness = F.when(F.col("alert").isin(falls), -F.col("value")).otherwise(F.col("value"))
    is_of_it = is_bad & (F.col("is_starting") | (state == FIRING))
    worst = F.when(is_of_it, F.struct(badness, "minute"))
    incidents = by_incident.agg(
        F.min(F.when(is_start, F.col("run_start"))).alias("_since"),
        F.min(F.when(is_start, F.col("minute") + 1)).alias("_fired"),
        F.min(F.when((state == RESOLVED) & ~is_bad, F.col("run_start"))).alias("_resolved"),
        F.max_by("value", worst).alias("value"),
        F.max_by("threshold", worst).alias("threshold"),
        F.max_by("detail", worst).alias("detail"),
    )
    last = incidents.groupBy("alert", "subject").agg(
        F.max("incident").alias("times_fired"),
        F.max_by(F.struct("_since", "_fired", "_resolved", "value", "threshold", "detail"), "incident").alias("_last"),
    )
    rows = last.select("alert", "subject", "times_fired", "_last.*").select(
        "alert",
        "subject",
        F.when(F.col("_resolved").isNull(), FIRING).otherwise(RESOLVED).alias("state"),
        _time("_since").alias("since"),
        _time("_fired").alias("fired_at"),
        _time("_resolved").alias("resolved_at"),
        "value",
        "threshold",
        F.col("times_fired").cast("INT"),
        "detail",
    )
    return rows.withColumn("sentence", _sentence())


def _with_states(judged: DataFrame) -> DataFrame:
    """Tell of each minute where its run began (`run_start`) and what the alert is by then (`state`, first null)."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    minutes = Window.partitionBy("alert", "subject").orderBy("minute")
    runs = Window.partitionBy("alert", "subject", "_run").orderBy("minute")
    is_bad = F.col("is_bad")
    is_other = F.coalesce(is_bad != F.lag("is_bad").over(minutes), F.lit(True))
    judged = judged.withColumn("_is_other", is_other.cast("INT"))
    judged = judged.withColumn("_run", F.sum("_is_other").over(minutes))
    judged = judged.withColumn("_length", F.row_number().over(runs))
    judged = judged.withColumn("run_start", F.first("minute").over(runs))
    mark = F.when(is_bad & (F.col("_length") >= F.col("fire_after")), FIRING).when(
        ~is_bad & (F.col("_length") >= F.col("resolve_after")), RESOLVED
    )
    return judged.withColumn("_mark", mark).withColumn("state", F.last("_mark", ignorenulls=True).over(minutes))


def _with_incidents(minutes: DataFrame) -> DataFrame:
    """Number the incidents of each alert and subject: each goes on up to the next one.

    An incident begins with the first minute of the run (`is_starting`) that makes the alert fire (`is_start`).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy("alert", "subject").orderBy("minute")
    run = Window.partitionBy("alert", "subject", "_run")
    is_firing = F.coalesce(F.col("state") == FIRING, F.lit(False))
    minutes = minutes.withColumn("is_start", is_firing & ~F.coalesce(F.lag(is_firing).over(in_order), F.lit(False)))
    minutes = minutes.withColumn("is_starting", F.max("is_start").over(run))
    is_first = F.col("is_starting") & (F.col("minute") == F.col("run_start"))
    return minutes.withColumn("incident", F.sum(is_first.cast("INT")).over(in_order)).where("incident > 0")


def _sentence() -> Column:
    """Say in words what happened: for the one whom it wakes."""
    from pyspark.sql import functions as F

    known = F.concat(F.lit(" ("), "detail", F.lit(")"))
    what = F.lit(None)
    for rule in RULES:
        detail = F.coalesce("detail", F.lit("a limit that is not known"))
        said = F.format_string(_template(rule), F.col("subject"), _in_words("value"), _in_words("threshold"), detail)
        if "%4$s" not in _template(rule):
            said = F.concat(said, F.coalesce(known, F.lit("")))
        what = F.when(F.col("alert") == rule.alert, said).otherwise(what)
    until = F.coalesce(F.date_format("resolved_at", "' to 'HH:mm"), F.lit(" on"))
    return F.concat(what, F.date_format("since", "': from 'yyyy-MM-dd HH:mm"), until)


def _in_words(number: str) -> Column:
    """Return a number in a column with three decimals at the most, and none that are 0."""
    from pyspark.sql import functions as F

    return F.regexp_replace(F.format_string("%.3f", F.col(number)), r"\.?0+$", "")


def _template(rule: Rule) -> str:
    """Return the sentence of a rule's alerts, with places for subject, value, threshold and detail."""
    match rule:
        case Limit():
            return rule.says or f"{rule.figure} of %1$s was %2$s, the limit is %3$s"
        case Change():
            bound = "at most" if rule.is_rise else "at least"
            return f"{rule.figure} of %1$s: %2$s a minute, where the hour before lets one expect {bound} %3$s"
        case Growth():
            return f"{rule.figure} of %1$s grew from %3$s to %2$s and did not fall once"
        case Silence():
            return "nothing from %1$s for %2$s minutes"
        case _:
            assert_never(rule)


def _time(minute: str) -> Column:
    from pyspark.sql import functions as F

    return F.timestamp_seconds(F.col(minute) * MINUTE_S)
