"""Rules that decide which minutes of a figure are bad; `alerts.py` turns bad minutes into alerts. Pure.

`judged` decides for each minute of a figure whether it is bad. A number of bad minutes in a row makes the alert fire; a
number of good minutes in a row resolves it. A minute without the figure is neither bad nor good. The same applies to a
figure beyond a limit that is computed from too few events.

Four kinds of rule:

- Limit: the figure is at or above a number.
- Change: the figure is far from its values in the hour before. Three conditions must be true, because each alone causes
  false alarms. (1) The figure is more than `change_deviations` times the usual distance from the median: the median
  distance from the median, × 1.4826 to match a standard deviation. The minimum of that distance is the square root of
  the median for counts, and a tenth of the median for others. (2) It is more than `change_factor` times the median, or
  less than the median divided by it. (3) Both last for `change_minutes`. The median does not move while less than half
  of the hour is bad; a longer change counts as normal.
- Growth: the figure has not fallen once in `lag_growth_minutes`, is higher than at their start, and at least
  `lag_growth_least`. A constant figure does not grow. An idle group's lag is constant if nothing is written, or if the
  lag consists of records that no consumer receives, such as transaction markers.
- Silence: a subject sends nothing, and sent events in at least half of the minutes of the hour before. The rule fires
  when chance is improbable: if a share p of the minutes was empty, n empty minutes in a row have the probability p^n,
  which must be at most 10^-9. (Not 10^-6: minutes are not independent, because people come in visits.) That takes
  `silence_minutes` for a subject with events in each minute, and longer for other subjects. The first event resolves
  the alert.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil, floor, inf, log, sqrt
from statistics import median
from typing import NamedTuple

from barnabas.pipeline.job import Parameter, Parameters
from barnabas.pipeline.jobs.operations.minute_metrics import SITE

# Minutes of the hour before, which is the baseline of a change or silence.
BASELINE_MINUTES = 60

# A baseline with fewer minutes is ignored.
LEAST_BASELINE_MINUTES = 30

LEAST_CHANCE = 1e-9

# The median distance from the median of a normal distribution, times this, is its standard deviation.
MAD_TO_DEVIATION = 1.4826


LIMIT, CHANGE, GROWTH, SILENCE = "limit", "change", "growth", "silence"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `limit`, `least` and `after` are numbers, or names of parameters.

    Attributes:
        kind: LIMIT, CHANGE, GROWTH or SILENCE.
        alert, figure: Names of the alert, and of the figure that is judged.
        subjects: Prefix of its subjects' names.
        limit: The value at which a limit fires.
        after: Bad minutes in a row until it fires.
        least: Minimum number of events behind a limit's figure; or minimum value of a change or growth.
        least_hits: Minimum product of events and figure, for a limit whose figure is a share.
        is_rise, is_count: Whether a change is a rise; whether its figure is a number of events.
        says: The sentence, if the usual one is not suitable, with fields for subject, value, limit and detail.
    """

    kind: str
    alert: str
    subjects: str
    figure: str
    limit: str | float = 0.0
    after: str | int = 1
    least: str | float = 0.0
    least_hits: int = 0
    is_rise: bool = True
    is_count: bool = True
    says: str = ""


_limit = partial(Rule, LIMIT)
_change = partial(Rule, CHANGE, after="change_minutes")
_growth = partial(Rule, GROWTH)

RULES = (
    _limit("error-share", SITE, "error_share", "error_share_limit", "fire_minutes", least_hits=5),
    _limit("latency", SITE, "latency_p95_ms", "latency_p95_limit_ms", "slow_minutes", least=20),
    _limit("service-errors", "service ", "errors", "service_errors_limit", "fire_minutes"),
    _limit("cpu", "host ", "cpu_percent", "cpu_percent_limit", "host_minutes"),
    _limit("memory", "host ", "memory_percent", "memory_percent_limit", "host_minutes"),
    _limit("disk", "host ", "disk_percent", "disk_percent_limit", "host_minutes"),
    _limit(
        "throttled",
        "client ",
        "throttle_ms",
        "throttle_ms_limit",
        "throttled_minutes",
        says="{subject} was throttled {value} ms a request by {detail}",
    ),
    _limit("lag", "group ", "lag", "lag_limit", "lag_minutes"),
    _growth("lag-grows", "group ", "lag", least="lag_growth_least"),
    _limit("lag", "run ", "lag", "lag_limit", "lag_minutes"),
    _growth("lag-grows", "run ", "lag", least="lag_growth_least"),
    _limit(
        "run-silent",
        "run ",
        "silent_s",
        "run_silent_limit_s",
        "fire_minutes",
        says="{subject} was not stopped, and has said nothing for {value} s",
    ),
    _limit("stalls", "broker ", "loop_stalled_ms", "loop_stalled_ms_limit", "fire_minutes"),
    _limit("broker-busy", "broker ", "busy_percent", "busy_percent_limit", "busy_minutes"),
    _limit("failed-logins", "broker ", "failed_logins", "failed_logins_limit", "fire_minutes"),
    _limit("cleaner", "broker ", "uncleanable_partitions", "failed_limit", "failed_minutes"),
    _limit("cleaner-dead", "broker ", "cleaner_dead_threads", "failed_limit", "failed_minutes"),
    _limit("cleaner-behind", "broker ", "cleaner_max_dirty_percent", "dirty_percent_limit", "dirty_minutes"),
    _limit("log-dirs", "broker ", "offline_log_dirs", "failed_limit", "failed_minutes"),
    _limit("offline-partitions", "cluster", "offline_partitions", "failed_limit", "failed_minutes"),
    _limit("under-replicated", "cluster", "under_replicated_partitions", "failed_limit", "failed_minutes"),
    # One more visitor makes about ten requests, which is not a change.
    _change("requests-rose", SITE, "requests", least=30),
    _change("requests-fell", SITE, "requests", is_rise=False),
    _change("errors-rose", SITE, "errors", least=5),
    _change("latency-rose", SITE, "latency_p95_ms", is_count=False),
    _change("service-errors-rose", "service ", "errors", least=3),
    Rule(SILENCE, "silence", "", "events"),
)

PARAMETERS = (
    Parameter("error_share_limit", 0.05, "share of a minute's requests with a 5xx at which error-share fires"),
    Parameter("latency_p95_limit_ms", 5000.0, "95th percentile of a minute's latencies at which latency fires"),
    Parameter("service_errors_limit", 10.0, "lines of level ERROR or FATAL in a minute at which service-errors fires"),
    Parameter("cpu_percent_limit", 95.0, "median of a minute at which cpu fires"),
    Parameter("memory_percent_limit", 95.0, "median of a minute at which memory fires"),
    Parameter("disk_percent_limit", 90.0, "median of a minute at which disk fires"),
    Parameter("throttle_ms_limit", 1.0, "mean throttle time of a request at which throttled fires"),
    Parameter("lag_limit", 100_000.0, "lag of a group on a topic, or of a run on all topics, at which lag fires"),
    Parameter("lag_growth_least", 1_000.0, "minimum lag at which lag-grows fires"),
    Parameter("run_silent_limit_s", 60.0, "seconds without a status from a run at which run-silent fires"),
    Parameter("loop_stalled_ms_limit", 500.0, "stalls of a broker's event loop within a minute at which stalls fires"),
    Parameter("busy_percent_limit", 70.0, "busy share of a broker's event loop at which broker-busy fires"),
    Parameter("failed_logins_limit", 10.0, "refused logins within a minute at which failed-logins fires"),
    Parameter("failed_limit", 1.0, "failed logs, threads, log directories or partitions at which their alerts fire"),
    Parameter(
        "dirty_percent_limit", 90.0, "uncompacted share of a log at which cleaner-behind fires; compaction starts at 50"
    ),
    Parameter("fire_minutes", 1, "bad minutes in a row until an alert without its own parameter fires"),
    Parameter("slow_minutes", 2, "bad minutes in a row until latency fires"),
    Parameter("host_minutes", 3, "bad minutes in a row until cpu, memory and disk fire"),
    Parameter("throttled_minutes", 5, "bad minutes in a row until throttled fires: throttled peaks are normal"),
    Parameter("lag_minutes", 5, "bad minutes in a row until lag fires: longer than a rebalance or a restart"),
    Parameter("lag_growth_minutes", 10, "minutes without a decrease of lag until lag-grows fires"),
    Parameter("busy_minutes", 5, "bad minutes in a row until broker-busy fires"),
    Parameter("failed_minutes", 3, "bad minutes in a row until alerts about failures fire: longer than a restart"),
    Parameter("dirty_minutes", 30, "bad minutes in a row until cleaner-behind fires: a large log takes long"),
    Parameter("resolve_minutes", 5, "good minutes in a row until an alert is resolved"),
    Parameter("change_deviations", 6.0, "minimum distance of a change from the median, in usual distances"),
    Parameter("change_factor", 2.0, "minimum ratio of a rise to the median, or of the median to a fall"),
    Parameter("change_minutes", 3, "changed minutes in a row until an alert for a change fires"),
    Parameter("silence_minutes", 5, "minimum number of empty minutes in a row until silence fires"),
)


class Figure(NamedTuple):
    """A figure of a subject in a minute; `event_count` is the number of events behind it."""

    minute: int
    value: float
    event_count: int
    detail: str | None


class Judged(NamedTuple):
    """A minute that is good or bad; the alert fires after `fire_after` bad minutes in a row."""

    minute: int
    value: float
    threshold: float
    detail: str | None
    is_bad: bool
    fire_after: float


def judged(rule: Rule, figures: Sequence[Figure], parameters: Parameters) -> Iterator[Judged]:
    """Judge a subject's figure by a rule, in the order of the minutes."""
    judge = {LIMIT: _beyond_limit, CHANGE: _changed, GROWTH: _grown, SILENCE: _silent}[rule.kind]
    return judge(rule, figures, parameters)


def _number(value: str | float, parameters: Parameters) -> float:
    return float(parameters[value] if isinstance(value, str) else value)


def _beyond_limit(rule: Rule, figures: Sequence[Figure], parameters: Parameters) -> Iterator[Judged]:
    limit, least, after = (_number(each, parameters) for each in (rule.limit, rule.least, rule.after))
    for minute, value, count, detail in figures:
        is_enough = count >= least and floor(count * value + 0.5) >= rule.least_hits
        if value < limit or is_enough:
            yield Judged(minute, value, limit, detail, value >= limit, after)


def _changed(rule: Rule, figures: Sequence[Figure], parameters: Parameters) -> Iterator[Judged]:
    factor, deviations = float(parameters["change_factor"]), float(parameters["change_deviations"])
    least, after = _number(rule.least, parameters), _number(rule.after, parameters)
    before: deque[Figure] = deque()
    for figure in figures:
        while before and before[0].minute < figure.minute - BASELINE_MINUTES:
            before.popleft()
        if len(before) >= LEAST_BASELINE_MINUTES:
            usual = median(each.value for each in before)
            distance = median(abs(each.value - usual) for each in before)
            far = deviations * max(distance * MAD_TO_DEVIATION, sqrt(usual) if rule.is_count else usual * 0.1)
            beyond = max(usual + far, usual * factor, least) if rule.is_rise else min(usual - far, usual / factor)
            is_bad = figure.value > beyond if rule.is_rise else figure.value < beyond
            yield Judged(figure.minute, figure.value, round(beyond, 3), figure.detail, is_bad, after)
        before.append(figure)


def _grown(rule: Rule, figures: Sequence[Figure], parameters: Parameters) -> Iterator[Judged]:
    within, least = int(parameters["lag_growth_minutes"]), _number(rule.least, parameters)
    for place in range(within, len(figures)):
        minute, value, _, detail = figures[place]
        # The figure has a value in each minute since then.
        if figures[place - within].minute == minute - within:
            values = [each.value for each in figures[place - within : place + 1]]
            has_fallen = any(later < earlier for earlier, later in pairwise(values))
            grown_from = value if has_fallen else values[0]
            yield Judged(minute, value, grown_from, detail, value > grown_from and value >= least, 1)


def _silent(rule: Rule, figures: Sequence[Figure], parameters: Parameters) -> Iterator[Judged]:
    least_minutes = int(parameters["silence_minutes"])
    heard: deque[int] = deque()
    needed = inf
    for minute, value, _, detail in figures:
        if value > 0:
            heard.append(minute)
            while heard[0] <= minute - BASELINE_MINUTES:
                heard.popleft()
            # Add half an empty minute and half a minute with events: events in 60 of 60 minutes do not prove that no
            # minute is ever empty.
            empty_share = (BASELINE_MINUTES - len(heard) + 0.5) / (BASELINE_MINUTES + 1)
            by_chance = ceil(log(LEAST_CHANCE) / log(empty_share))
            needed = max(least_minutes, by_chance) if 2 * len(heard) >= BASELINE_MINUTES else inf
        if heard:
            yield Judged(minute, float(minute - heard[-1]), needed, detail, minute > heard[-1], needed)
