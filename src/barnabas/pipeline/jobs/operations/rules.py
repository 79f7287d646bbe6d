"""Rules: which minutes of which figures are bad. What becomes of them is in `alerts.py`.

`judged` says of each minute of a figure whether it is bad: so many bad ones in a row make the alert fire, so many good
ones end it. A minute without its figure is neither, nor is one whose figure is beyond a limit and comes from too few
events to say so. Pure.

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

# Of these so many minutes are looked back.
BASELINE_MINUTES = 60

# A baseline with fewer minutes says nothing.
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
        subjects: Beginning of the names of its subjects.
        limit: The value at which a limit fires.
        after: Bad minutes in a row until it fires.
        least: Fewer events behind a limit's figure, or a smaller value of a change or growth, don't count.
        least_hits: The same for events behind a limit's figure times the figure, where that is a share.
        is_rise, is_count: Whether a change is one to a larger value; whether its figure is a number of events.
        says: The sentence where the usual one would not do, with places for subject, value, limit and detail.
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
    # One visitor more or less brings ten requests, and is no change.
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


class Figure(NamedTuple):
    """A figure of a subject in a minute; `event_count` is of the events behind it."""

    minute: int
    value: float
    event_count: int
    detail: str | None


class Judged(NamedTuple):
    """A minute that is good or bad; `fire_after`: so many bad ones in a row make the alert fire."""

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
        # It was told in each minute since.
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
            # Half an empty one and half a heard one more than were seen: 60 of 60 is no proof that a minute is never
            # empty.
            empty_share = (BASELINE_MINUTES - len(heard) + 0.5) / (BASELINE_MINUTES + 1)
            by_chance = ceil(log(LEAST_CHANCE) / log(empty_share))
            needed = max(least_minutes, by_chance) if 2 * len(heard) >= BASELINE_MINUTES else inf
        if heard:
            yield Judged(minute, float(minute - heard[-1]), needed, detail, minute > heard[-1], needed)
