"""Rules: which minutes of which figures are bad. What becomes of them is in `alerts.py`.

`judged` gives rows (alert, subject, minute, value, threshold, detail, is_bad, fire_after, resolve_after): so many bad
minutes in a row make the alert fire, so many good ones end it. A minute without its figure has no row, nor has one
whose figure is beyond a limit and comes from too few events to say so: these are neither.

Four kinds of rule:

- A limit: the figure is at or beyond a number.
- A change: the figure is far from what it was in the hour before, by three measures at once, since each alone cries
  wolf. It is `change_deviations` times as far from the median as is usual (the median distance from the median,
  × 1.4826 to be as large as a standard deviation would be; a square root of the median at least for counts, a tenth of
  the median at least for others); it is `change_factor` times the median or more, or that part of it or less; and all
  that for `change_minutes`. The median does not move while less than half of the hour is bad; what has lasted for
  longer is usual.
- Growth: the figure has not fallen once in `lag_growth_minutes`, is higher than at their begin, and at least
  `lag_growth_least`. One that stands still does not grow: where nothing is written, a group that reads nothing stays as
  far behind as it is, and records that nobody is given, such as the markers of transactions, are behind it for good.
- Silence: nothing came of a subject that was heard in at least half of the minutes of the hour before. It fires when
  that is no chance any more: where a share p of the minutes was empty, n empty ones in a row have the chance p^n, and
  one in a thousand million counts (not one in a million: minutes are not independent, as people come in visits, and
  this leaves room for it). That is at `silence_minutes` for a subject that is heard in each minute, and later for one
  that is heard now and then. The first event ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, assert_never

from barnabas.pipeline.job import Parameter, Parameters
from barnabas.pipeline.jobs.operations.minute_metrics import SITE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Of these so many minutes are looked back.
BASELINE_MINUTES = 60

# A baseline with fewer minutes says nothing.
LEAST_BASELINE_MINUTES = 30

LEAST_CHANCE = 1e-9

# The median distance from the median of a normal distribution, times this, is its standard deviation.
MAD_TO_DEVIATION = 1.4826


@dataclass(frozen=True, slots=True)
class Limit:
    """Fires where a figure is at or above the parameter `limit` for as many minutes as the parameter `after` says.

    `subjects` is how the subject begins. `least_count` and `least_hits` keep small numbers out: of events behind the
    figure, and of those events times the figure, where it is a share. `says` is the sentence where the usual one would
    not do: `%1$s` is the subject, `%2$s` the value, `%3$s` the limit, `%4$s` the detail.
    """

    alert: str
    subjects: str
    figure: str
    limit: str
    after: str
    least_count: int = 0
    least_hits: int = 0
    says: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """Fires where a figure is far above what it was, or below; `is_count`: it is a number of events."""

    alert: str
    subjects: str
    figure: str
    is_rise: bool
    is_count: bool
    least_value: float = 0.0


@dataclass(frozen=True, slots=True)
class Growth:
    """Fires where a figure has only grown for as many minutes as the parameter `within` says, to `least` or more."""

    alert: str
    subjects: str
    figure: str
    within: str
    least: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Fires where a figure is 0 for longer than chance allows."""

    alert: str
    subjects: str
    figure: str


Rule = Limit | Change | Growth | Silence

RULES: tuple[Rule, ...] = (
    Limit("error-share", SITE, "error_share", "error_share_limit", "fire_minutes", least_hits=5),
    Limit("latency", SITE, "latency_p95_ms", "latency_p95_limit_ms", "slow_minutes", least_count=20),
    Limit("service-errors", "service ", "errors", "service_errors_limit", "fire_minutes"),
    Limit("cpu", "host ", "cpu_percent", "cpu_percent_limit", "host_minutes"),
    Limit("memory", "host ", "memory_percent", "memory_percent_limit", "host_minutes"),
    Limit("disk", "host ", "disk_percent", "disk_percent_limit", "host_minutes"),
    Limit(
        "throttled",
        "client ",
        "throttle_ms",
        "throttle_ms_limit",
        "throttled_minutes",
        says="%1$s was throttled %2$s ms a request by %4$s",
    ),
    Limit("lag", "group ", "lag", "lag_limit", "lag_minutes"),
    Growth("lag-grows", "group ", "lag", "lag_growth_minutes", "lag_growth_least"),
    Limit("lag", "run ", "lag", "lag_limit", "lag_minutes"),
    Growth("lag-grows", "run ", "lag", "lag_growth_minutes", "lag_growth_least"),
    Limit(
        "run-silent",
        "run ",
        "silent_s",
        "run_silent_limit_s",
        "fire_minutes",
        says="%1$s was not stopped, and has said nothing for %2$s s",
    ),
    Limit("stalls", "broker ", "loop_stalled_ms", "loop_stalled_ms_limit", "fire_minutes"),
    Limit("broker-busy", "broker ", "busy_percent", "busy_percent_limit", "busy_minutes"),
    Limit("failed-logins", "broker ", "failed_logins", "failed_logins_limit", "fire_minutes"),
    Limit("cleaner", "broker ", "uncleanable_partitions", "failed_limit", "failed_minutes"),
    Limit("cleaner-dead", "broker ", "cleaner_dead_threads", "failed_limit", "failed_minutes"),
    Limit("cleaner-behind", "broker ", "cleaner_max_dirty_percent", "dirty_percent_limit", "dirty_minutes"),
    Limit("log-dirs", "broker ", "offline_log_dirs", "failed_limit", "failed_minutes"),
    Limit("offline-partitions", "cluster", "offline_partitions", "failed_limit", "failed_minutes"),
    Limit("under-replicated", "cluster", "under_replicated_partitions", "failed_limit", "failed_minutes"),
    # One visitor more or less brings ten requests, and is no change.
    Change("requests-rose", SITE, "requests", is_rise=True, is_count=True, least_value=30),
    Change("requests-fell", SITE, "requests", is_rise=False, is_count=True),
    Change("errors-rose", SITE, "errors", is_rise=True, is_count=True, least_value=5),
    Change("latency-rose", SITE, "latency_p95_ms", is_rise=True, is_count=False),
    Change("service-errors-rose", "service ", "errors", is_rise=True, is_count=True, least_value=3),
    Silence("silence", "", "events"),
)

PARAMETERS = (
    Parameter("error_share_limit", 0.05, "share of a minute's requests with a 5xx at which error-share fires"),
    Parameter("latency_p95_limit_ms", 5000.0, "95th percentile of a minute's latencies at which latency fires"),
    Parameter("service_errors_limit", 10.0, "lines of level ERROR or FATAL in a minute at which service-errors fires"),
    Parameter("cpu_percent_limit", 95.0, "median of a minute at which cpu fires"),
    Parameter("memory_percent_limit", 95.0, "median of a minute at which memory fires"),
    Parameter("disk_percent_limit", 90.0, "median of a minute at which disk fires"),
    Parameter("throttle_ms_limit", 1.0, "mean hold of a request at which throttled fires: held at all"),
    Parameter("lag_limit", 100_000.0, "records that a group is behind on a topic, or a run on all, at which lag fires"),
    Parameter("lag_growth_least", 1_000.0, "records behind from which on lag-grows fires: less is soon read"),
    Parameter("run_silent_limit_s", 60.0, "seconds without a word from a run at which run-silent fires"),
    Parameter("loop_stalled_ms_limit", 500.0, "of a minute in which a broker stood still, at which stalls fires"),
    Parameter("busy_percent_limit", 70.0, "of a broker's time at which broker-busy fires: beyond, all wait for longer"),
    Parameter("failed_logins_limit", 10.0, "logins refused in a minute at which failed-logins fires: above mistyping"),
    Parameter(
        "failed_limit", 1.0, "logs, threads, log directories or partitions that failed at which their alerts fire"
    ),
    Parameter(
        "dirty_percent_limit", 90.0, "of a log not compacted at which cleaner-behind fires; 50 is where it begins"
    ),
    Parameter("fire_minutes", 1, "bad minutes in a row until alerts fire for which nothing else is said"),
    Parameter("slow_minutes", 2, "bad minutes in a row until latency fires"),
    Parameter("host_minutes", 3, "bad minutes in a row until cpu, memory and disk fire"),
    Parameter(
        "throttled_minutes", 5, "bad minutes in a row until throttled fires: a limit that cuts peaks does its work"
    ),
    Parameter("lag_minutes", 5, "bad minutes in a row until lag fires: a rebalance or a restart is over by then"),
    Parameter("lag_growth_minutes", 10, "minutes in which lag must not have fallen until lag-grows fires"),
    Parameter("busy_minutes", 5, "bad minutes in a row until broker-busy fires"),
    Parameter("failed_minutes", 3, "bad minutes in a row until alerts of what failed fire: a restart is no failure"),
    Parameter("dirty_minutes", 30, "bad minutes in a row until cleaner-behind fires: a large log takes its time"),
    Parameter("resolve_minutes", 5, "good minutes in a row until an alert is resolved"),
    Parameter("change_deviations", 6.0, "how many times as far from the median as is usual a change must be"),
    Parameter("change_factor", 2.0, "how many times the median a rise must be, or what part of it a fall"),
    Parameter("change_minutes", 3, "changed minutes in a row until an alert for a change fires"),
    Parameter("silence_minutes", 5, "empty minutes in a row until silence fires, at the least"),
)


def judged(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge each minute by each rule, all in one pass: figures are dear, and rules are many."""
    from pyspark.sql import functions as F

    rules = F.array(*(_as_column(rule, parameters) for rule in RULES))
    own = F.filter(
        rules, lambda rule: (rule["figure"] == F.col("figure")) & F.col("subject").startswith(rule["subjects"])
    )
    minutes = figures.select("minute", "subject", "value", "count", "detail", F.inline(own).alias(*_COLUMNS))
    minutes = _with_silence(_with_growth(_with_baseline(minutes), parameters), parameters)
    kind, value, count = F.col("kind"), F.col("value"), F.col("count")
    by_limit = value >= F.col("limit")
    is_enough = (count >= F.col("least")) & (F.round(count * value) >= F.col("least_hits"))
    beyond = _beyond(parameters)
    by_change = F.when(F.col("is_rise"), value > beyond).otherwise(value < beyond)
    by_silence, needed = F.col("silent_minutes") > 0, F.col("needed_minutes")
    minutes = minutes.where((kind != _GROWTH) | F.col("grown_from").isNotNull())
    minutes = minutes.where((kind != _CHANGE) | (F.col("baseline_minutes") >= LEAST_BASELINE_MINUTES))
    return minutes.where((kind != _LIMIT) | ~by_limit | is_enough).select(
        "alert",
        "subject",
        "minute",
        F.when(kind == _SILENCE, F.col("silent_minutes")).otherwise(value).cast("DOUBLE").alias("value"),
        F.when(kind == _LIMIT, F.col("limit"))
        .when(kind == _CHANGE, F.round(beyond, 3))
        .when(kind == _GROWTH, F.col("grown_from"))
        .otherwise(needed)
        .alias("threshold"),
        "detail",
        F.when(kind == _LIMIT, by_limit)
        .when(kind == _CHANGE, by_change)
        .when(kind == _GROWTH, (value > F.col("grown_from")) & (value >= F.col("least")))
        .otherwise(by_silence)
        .alias("is_bad"),
        F.when(kind == _SILENCE, F.col("needed_minutes"))
        .otherwise(F.col("fire_after"))
        .cast("INT")
        .alias("fire_after"),
        F.when(kind == _SILENCE, 1).otherwise(F.lit(parameters["resolve_minutes"])).alias("resolve_after"),
    )


_LIMIT, _CHANGE, _GROWTH, _SILENCE = "limit", "change", "growth", "silence"
_COLUMNS = ("kind", "alert", "subjects", "figure", "limit", "least", "least_hits", "is_rise", "is_count", "fire_after")


def _as_column(rule: Rule, parameters: Parameters) -> Column:
    """Return a rule as a struct of `_COLUMNS`; `least` is of the count for a limit, of the value for the others."""
    from pyspark.sql import functions as F

    match rule:
        case Limit():
            limit, after = float(parameters[rule.limit]), int(parameters[rule.after])
            own = (_LIMIT, limit, float(rule.least_count), rule.least_hits, True, False, after)
        case Change():
            after = int(parameters["change_minutes"])
            own = (_CHANGE, 0.0, rule.least_value, 0, rule.is_rise, rule.is_count, after)
        case Growth():
            own = (_GROWTH, 0.0, float(parameters[rule.least]), 0, True, True, 1)
        case Silence():
            own = (_SILENCE, 0.0, 0.0, 0, False, True, 0)
        case _:
            assert_never(rule)
    values = (own[0], rule.alert, rule.subjects, rule.figure, *own[1:])
    return F.struct(*(F.lit(value).alias(name) for name, value in zip(_COLUMNS, values, strict=True)))


def _with_baseline(minutes: DataFrame) -> DataFrame:
    """Put the hour before beside the minutes that are judged by it: `baseline_minutes`, `median`, `distance`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    before = Window.partitionBy("alert", "subject").orderBy("minute").rangeBetween(-BASELINE_MINUTES, -1)
    # What is null is not collected: other rules need no baseline.
    values = F.collect_list(F.when(F.col("kind") == _CHANGE, F.col("value"))).over(before)
    minutes = minutes.withColumn("_before", values).withColumn("baseline_minutes", F.size("_before"))
    minutes = minutes.withColumn("median", _median(F.col("_before")))
    distances = F.transform("_before", lambda each: F.abs(each - F.col("median")))
    return minutes.withColumn("distance", _median(distances)).drop("_before")


def _beyond(parameters: Parameters) -> Column:
    """Return the value beyond which a change is one."""
    from pyspark.sql import functions as F

    median, factor = F.col("median"), F.lit(float(parameters["change_factor"]))
    floor = F.when(F.col("is_count"), F.sqrt("median")).otherwise(median * 0.1)
    deviation = F.greatest(F.col("distance") * MAD_TO_DEVIATION, floor)
    far = deviation * F.lit(float(parameters["change_deviations"]))
    rise = F.greatest(median + far, median * factor, F.col("least"))
    return F.when(F.col("is_rise"), rise).otherwise(F.least(median - far, median / factor))


def _with_growth(minutes: DataFrame, parameters: Parameters) -> DataFrame:
    """Put beside each minute what the figure has grown from (`grown_from`): its own value where it has fallen since.

    Null where it was not told in each minute since, and in rules that are none of growth.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    within = max(int(parameters[rule.within]) for rule in RULES if isinstance(rule, Growth))
    in_order = Window.partitionBy("alert", "subject").orderBy("minute")
    value, growing = F.col("value"), in_order.rangeBetween(-within, 0)
    minutes = minutes.withColumn("_fell", value < F.lag("value").over(in_order))
    falls = F.count_if("_fell").over(in_order.rangeBetween(1 - within, 0))
    is_told = (F.col("kind") == _GROWTH) & (F.count("*").over(growing) == within + 1)
    grown_from = F.when(falls == 0, F.first("value").over(growing)).otherwise(value)
    return minutes.withColumn("grown_from", F.when(is_told, grown_from)).drop("_fell")


def _with_silence(minutes: DataFrame, parameters: Parameters) -> DataFrame:
    """Put beside each minute how many in a row are empty by then, and how many are no chance any more.

    These are `silent_minutes` and `needed_minutes`, which is null where too little was heard to say.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy("alert", "subject").orderBy("minute")
    is_heard = F.col("value") > 0
    # The last minute with an event, and in how many of the hour up to it there were some.
    heard = F.count_if(is_heard).over(in_order.rangeBetween(1 - BASELINE_MINUTES, 0))
    last_heard = F.last(F.when(is_heard, F.col("minute")), ignorenulls=True).over(in_order)
    minutes = minutes.withColumn("silent_minutes", F.col("minute") - last_heard).withColumn("_heard", heard)
    heard_then = F.last(F.when(is_heard, F.col("_heard")), ignorenulls=True).over(in_order)
    # Half an empty one and half a heard one more than were seen: 60 of 60 is no proof that a minute is never empty.
    empty_share = (BASELINE_MINUTES - heard_then + 0.5) / F.lit(BASELINE_MINUTES + 1.0)
    by_chance = F.ceil(F.lit(log(LEAST_CHANCE)) / F.log(empty_share))
    needed = F.greatest(F.lit(int(parameters["silence_minutes"])), by_chance)
    return minutes.withColumn("needed_minutes", F.when(heard_then * 2 >= BASELINE_MINUTES, needed).cast("DOUBLE")).drop(
        "_heard"
    )


def _median(values: Column) -> Column:
    """Return the middle one of an array, or the mean of the two in the middle; null where it is empty."""
    from pyspark.sql import functions as F

    ordered, size = F.sort_array(values), F.size(values)
    low, high = F.floor((size - 1) / 2).cast("INT"), F.floor(size / 2).cast("INT")
    return (F.get(ordered, low) + F.get(ordered, high)) / 2
