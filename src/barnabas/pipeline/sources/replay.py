"""Replays an access log into a topic, one event per line, and finds its place again after it was stopped.

Invariants:
- The place is in the topic, nowhere else: the last record's line number. A replay goes on after that line, once it has
  made sure that the record is what it would have written for that line itself.
- Events are in the order of the lines, without a gap (`topic.py`). A line may be there twice, when the answer to a
  batch was lost or a killed replay's bytes arrive after the next one looked; every repeat has the same line and time.
- The last event is the marker: line number after the last, time of the latest view plus window plus watermark. By then
  every window with a view in it has been passed by the watermark.

Why first appearances stay in order whatever is killed: each sender's lines are a run of the log without gaps, starting
no later than one past what was in the topic when it looked. Of all such runs laid into each other, line n comes for the
first time only after line n-1 did. So events are no further out of order than the log is.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipeline import line_events as events
from barnabas.pipeline.sources.access_log import parse_line, read_lines
from barnabas.pipeline.sources.topic import Topic, TopicUnavailableError

_BATCHES_PER_S = 20
_UNPACED_BATCH_COUNT = 500
_FIRST_RETRY_S = 0.2
_LONGEST_RETRY_S = 2.0


class OtherLogError(Exception):
    """The topic holds something else than this log."""


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What to replay and how.

    `marker_delay_s` is window plus watermark: how long after the latest view the marker is. `lines_per_s` 0 means as
    fast as the broker takes them. `give_up_s` is how long a broker may be away.
    """

    access_log: Path
    lines_per_s: float
    marker_delay_s: int
    give_up_s: float


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far the replay is: lines of the log that are in the topic, and whether the marker is."""

    line_count: int
    is_complete: bool


Report = Callable[[ReplayProgress], None]


def replay(
    topic: Topic,
    plan: ReplayPlan,
    report: Report,
    warn: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Bring the topic to the end of the log, marker included; goes on where the topic ends.

    Args:
        topic: Is created where it is not there.
        plan: What to replay.
        report: Called after each batch, and once at the start with the place that was found.
        warn: Told in one line when the broker is away and the replay waits.
        sleep: How to wait, in seconds.

    Raises:
        OtherLogError: the topic's last record is not of this log.
        TopicUnavailableError: the broker was away for longer than `plan.give_up_s`.
        OSError: the log cannot be read.
    """
    retry_s = _FIRST_RETRY_S
    last_success = time.monotonic()

    def note(progress: ReplayProgress) -> None:
        nonlocal retry_s, last_success
        retry_s, last_success = _FIRST_RETRY_S, time.monotonic()
        report(progress)

    while True:
        try:
            topic.create()
            _replay_from_end(topic, plan, note, sleep)
            # A killed replay's last bytes may have come in behind the marker: then there is more to bring to the end.
            place = events.place_of(topic.last_value())
            if place is not None and place.is_marker:
                return
        except TopicUnavailableError as error:
            if time.monotonic() - last_success > plan.give_up_s:
                raise
            warn(f"{error}; looking for the place again in {retry_s:.1f} s")
            sleep(retry_s)
            retry_s = min(2 * retry_s, _LONGEST_RETRY_S)


def encoded_lines(access_log: Path, marker_delay_s: int) -> Iterator[bytes]:
    """Give the event of every line of a log in order, then the marker."""
    last_number = 0
    last_time_s = 0
    for number, text in read_lines(access_log):
        last_number = number
        view = parse_line(number, text)
        if view is None:
            yield events.encode_unreadable(number, text)
        else:
            last_time_s = max(last_time_s, view.time_s)
            yield events.encode_view(view)
    yield events.encode_marker(last_number + 1, last_time_s + marker_delay_s)


def _replay_from_end(topic: Topic, plan: ReplayPlan, report: Report, sleep: Callable[[float], None]) -> None:
    last_value = topic.last_value()
    remaining = encoded_lines(plan.access_log, plan.marker_delay_s)
    done_count = _skip_past(remaining, last_value)
    if last_value is not None and (place := events.place_of(last_value)) is not None and place.is_marker:
        report(ReplayProgress(place.line - 1, is_complete=True))
        return
    report(ReplayProgress(done_count, is_complete=False))
    pace = _Pace(plan.lines_per_s, sleep)
    # One event is held back: the marker is the last, and counts as no line.
    held: bytes | None = None
    batch: list[bytes] = []
    for value in remaining:
        if held is not None:
            batch.append(held)
        held = value
        if len(batch) >= pace.batch_count:
            done_count = _send(topic, batch, done_count, report)
            pace.wait(len(batch))
            batch = []
    if batch:
        done_count = _send(topic, batch, done_count, report)
    assert held is not None  # the marker, at least
    topic.append([held])
    report(ReplayProgress(done_count, is_complete=True))


def _send(topic: Topic, batch: list[bytes], done_count: int, report: Report) -> int:
    topic.append(batch)
    done_count += len(batch)
    report(ReplayProgress(done_count, is_complete=False))
    return done_count


def _skip_past(remaining: Iterator[bytes], last_value: bytes | None) -> int:
    """Move past what the topic holds already, and give the number of lines passed."""
    if last_value is None:
        return 0
    place = events.place_of(last_value)
    if place is not None:
        for number, value in enumerate(remaining, start=1):
            if number == place.line:
                if value == last_value:
                    return number
                break
    raise OtherLogError("the topic's last record is not of this access log; give another --topic or the log it holds")


class _Pace:
    """Holds a sender to a rate, whatever each send takes; makes up for no more than one second."""

    def __init__(self, lines_per_s: float, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._lines_per_s = lines_per_s
        self.batch_count = max(1, round(lines_per_s / _BATCHES_PER_S)) if lines_per_s else _UNPACED_BATCH_COUNT
        self._due = time.monotonic()

    def wait(self, sent_count: int) -> None:
        if not self._lines_per_s:
            return
        now = time.monotonic()
        self._due = max(self._due, now - 1.0) + sent_count / self._lines_per_s
        if self._due > now:
            self._sleep(self._due - now)
