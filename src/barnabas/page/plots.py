"""Plots of the last hour: lag and bytes over time, with `charts`. Pure.

A column shows the value at its end. An unknown value is a gap.
"""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from typing import Final

from barnabas.charts.time_plot import Series, TimePlot, buckets
from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import Group, Snapshot
from barnabas.explain.snapshot import Series as Offsets

# The number of distinguishable colours.
MOST_LINES: Final = 6
# Only this many partitions, those with the largest lag now, are candidates for the largest lag of the hour.
_MOST_LOOKED_AT: Final = 100
_FINEST: Final = timedelta(seconds=10)
_MINUTE: Final = timedelta(minutes=1)
# In the year 9000: a broker's clock may have any value, and datetime ends at the year 9999.
_LAST_MS: Final = 221_845_392_000_000


def lag_plot(snapshot: Snapshot, group: Group) -> TimePlot | None:
    """Return the lag of the partitions that are furthest behind; None if no lag is known.

    Barnabas's brokers report the end offsets and commits of the last hour. For Kafka, the page uses its own samples.
    """
    known = [name for name in group.commits if group.commits[name] and name in snapshot.logs]
    behind = nlargest(_MOST_LOOKED_AT, known, lambda name: snapshot.logs[name].end_offset - group.committed[name])
    moves = _moves(snapshot, group, behind)
    if not moves:
        return None
    began_ms = max(min(max(ends[0][0], commits[0][0]) for ends, commits in moves.values()), snapshot.since_ms)
    # Brokers' clocks may be ahead of the page's.
    began_ms = min(began_ms, snapshot.now_ms)
    start, step, count = buckets(_datetime(began_ms), _datetime(snapshot.now_ms), _FINEST)
    first_ms, step_ms = round(start.replace(tzinfo=UTC).timestamp() * 1_000), step // timedelta(milliseconds=1)
    times = [min(first_ms + n * step_ms, snapshot.now_ms) for n in range(1, count + 1)]
    lags = {name: _lags(times, *of) for name, of in moves.items()}
    most = sorted(lags, key=lambda name: -max((each for each in lags[name] if each is not None), default=-1))
    # Sorted by name, so that a partition keeps its colour when the order of lags changes.
    lines = [Series(str(name), f"s{n}", lags[name]) for n, name in enumerate(sorted(most[:MOST_LINES]), 1)]
    about = f"Offsets between the committed offset and the end{_of_all(len(lines), len(known))}"
    return TimePlot(about, "offsets", start, step, tuple(lines), is_stacked=False)


def _moves(
    snapshot: Snapshot, group: Group, names: Sequence[TopicPartition]
) -> dict[TopicPartition, tuple[Offsets, Offsets]]:
    """Return the log end offsets and committed offsets of partitions over time."""
    committed_ms = {
        TopicPartition(each["topic"], each["partition"]): int(each["at_ms"])
        for row in snapshot.rows("groups", group=group.name)
        for each in row["commits"]
    }
    # A broker keeps one point for an unchanged offset: for a commit, the time of that commit.
    ends_ms = snapshot.since_ms if snapshot.reporters else snapshot.now_ms
    return {
        name: (_from(snapshot.logs[name].ends, ends_ms), _from(group.commits[name], committed_ms.get(name)))
        for name in names
    }


def _of_all(shown: int, count: int) -> str:
    return "" if shown == count else f", of the {shown} of {count} partitions that were most behind"


def _from(series: Offsets, since_ms: int | None) -> Offsets:
    """Extend a constant series back to a time; return any other series unchanged."""
    first_ms, offset = series[0]
    is_still = all(each == offset for _, each in series)
    return [(since_ms, offset), *series] if is_still and since_ms is not None and since_ms < first_ms else series


def _lags(times: Sequence[int], ends: Offsets, commits: Offsets) -> list[float | None]:
    found: list[float | None] = []
    for at_ms in times:
        end, commit = _at(ends, at_ms), _at(commits, at_ms)
        found.append(None if end is None or commit is None else max(end - commit, 0))
    return found


def _at(series: Offsets, at_ms: int) -> int | None:
    """Return the offset at a time; None if the series begins later."""
    index = bisect_right(series, at_ms, key=lambda point: point[0])
    return series[index - 1][1] if index else None


def bytes_plot(snapshot: Snapshot) -> TimePlot | None:
    """Return bytes in and out per minute of the last hour, of all reporting brokers; None if there are none."""
    came: dict[int, int] = {}
    went: dict[int, int] = {}
    for row in snapshot.rows("broker"):
        for minute in row["minutes"]:
            # A minute has the timestamp of its end.
            at = (minute["at_ms"] - 30_000) // 60_000
            came[at] = came.get(at, 0) + minute["produced_bytes_per_s"]
            went[at] = went.get(at, 0) + minute["fetched_bytes_per_s"]
    if not came:
        return None
    last = max(came)
    # At most an hour, even if a clock is wrong.
    minutes = range(max(min(came), last - 60), last + 1)
    lines = (
        Series("in", "s1", [came.get(each) for each in minutes]),
        Series("out", "s2", [went.get(each) for each in minutes]),
    )
    about = "Bytes/s on the wire, in each minute"
    return TimePlot(about, "bytes", _datetime(minutes[0] * 60_000), _MINUTE, lines, is_stacked=False)


def _datetime(at_ms: int) -> datetime:
    return datetime.fromtimestamp(min(max(at_ms, 0), _LAST_MS) / 1_000, UTC).replace(tzinfo=None)
