"""The replay: in order, without a gap, and on from where the topic ends whatever went wrong."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.sources.replay import OtherLogError, ReplayPlan, ReplayProgress, encoded_lines, replay
from barnabas.pipeline.sources.sample import sample_lines
from barnabas.pipeline.sources.topic import TopicUnavailableError

LINE_COUNT = 1_200
MARKER_DELAY_S = 120


class MemoryTopic:
    """A topic in memory whose broker fails when it is told to.

    `faults` is used up by the calls of `append`: "lost" (nothing is written), "late" (written, but the answer is lost),
    "fine".
    """

    def __init__(self, faults: Sequence[str] = ()) -> None:
        self.values: list[bytes] = []
        self._faults = list(faults)

    def create(self) -> None:
        pass

    def last_value(self) -> bytes | None:
        return self.values[-1] if self.values else None

    def append(self, values: Sequence[bytes]) -> None:
        fault = self._faults.pop(0) if self._faults else "fine"
        if fault != "lost":
            self.values += values
        if fault != "fine":
            raise TopicUnavailableError("no answer")

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


@pytest.fixture
def access_log(tmp_path: Path) -> Path:
    path = tmp_path / "access.log"
    path.write_text("".join(line + "\n" for line in sample_lines(LINE_COUNT)))
    return path


def run(topic: MemoryTopic, access_log: Path, lines_per_s: float = 0) -> list[ReplayProgress]:
    reports: list[ReplayProgress] = []
    plan = ReplayPlan(access_log, lines_per_s, MARKER_DELAY_S, give_up_s=60)
    replay(topic, plan, reports.append, warn=lambda _: None, sleep=lambda _: None)
    return reports


def numbers(topic: MemoryTopic) -> list[int]:
    return [json.loads(value)["line"] for value in topic.values]


def test_every_line_is_there_in_order_and_the_marker_last(access_log: Path):
    topic = MemoryTopic()
    reports = run(topic, access_log)
    assert numbers(topic) == list(range(1, LINE_COUNT + 2))
    assert reports[0] == ReplayProgress(0, is_complete=False)
    assert reports[-1] == ReplayProgress(LINE_COUNT, is_complete=True)


def test_marker_is_window_and_watermark_after_the_latest_view(access_log: Path):
    *views, marker = (json.loads(value) for value in encoded_lines(access_log, MARKER_DELAY_S))
    latest = max(view["time"] for view in views)
    assert latest.startswith("2026-03-06T20:5")
    assert marker["type"] == "marker"
    assert parse(marker["time"]) - parse(latest) == MARKER_DELAY_S


def parse(time: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(time).timestamp()


def test_unreadable_line_has_its_place(tmp_path: Path):
    log = tmp_path / "access.log"
    lines = list(sample_lines(3))
    log.write_text("\n".join([lines[0], "what?", lines[2]]) + "\n")
    topic = MemoryTopic()
    run(topic, log)
    events = [json.loads(value) for value in topic.values]
    assert [event["type"] for event in events] == ["view", "unreadable", "view", "marker"]
    assert events[1] == {"type": "unreadable", "line": 2, "text": "what?"}


@pytest.mark.parametrize("done_count", [1, 499, 500, 501, LINE_COUNT - 1, LINE_COUNT])
def test_stopped_replay_goes_on_after_the_last_line(access_log: Path, done_count: int):
    topic = MemoryTopic()
    topic.values = list(encoded_lines(access_log, MARKER_DELAY_S))[:done_count]
    reports = run(topic, access_log)
    assert numbers(topic) == list(range(1, LINE_COUNT + 2))
    assert reports[0] == ReplayProgress(done_count, is_complete=False)


def test_complete_topic_is_left_as_it_is(access_log: Path):
    topic = MemoryTopic()
    run(topic, access_log)
    reports = run(topic, access_log)
    assert len(topic.values) == LINE_COUNT + 1
    assert reports == [ReplayProgress(LINE_COUNT, is_complete=True)]


@pytest.mark.parametrize(
    "last", [b"something", b'{"type":"view","line":5,"page":"/other"}', b'{"type":"view","line":99999}']
)
def test_topic_with_something_else_is_refused(access_log: Path, last: bytes):
    topic = MemoryTopic()
    topic.values = [last]
    with pytest.raises(OtherLogError):
        run(topic, access_log)
    assert topic.values == [last]


def test_broker_that_stays_away_is_given_up(access_log: Path):
    topic = MemoryTopic(["lost"] * 3)
    plan = ReplayPlan(access_log, 0, MARKER_DELAY_S, give_up_s=-1)
    with pytest.raises(TopicUnavailableError):
        replay(topic, plan, lambda _: None, warn=lambda _: None, sleep=lambda _: None)


@given(faults=st.lists(st.sampled_from(["lost", "late", "fine"]), max_size=12))
def test_first_appearances_are_in_order_whatever_fails(tmp_path_factory: pytest.TempPathFactory, faults: list[str]):
    log = tmp_path_factory.mktemp("log") / "access.log"
    log.write_text("".join(line + "\n" for line in sample_lines(60)))
    topic = MemoryTopic(faults)
    run(topic, log, lines_per_s=100)
    assert list(dict.fromkeys(numbers(topic))) == list(range(1, 62))
    assert json.loads(topic.values[-1])["type"] == "marker"


@given(cut=st.integers(0, 30), overlap=st.integers(0, 30), data=st.data())
def test_bytes_of_a_killed_replay_behind_the_next_ones_change_no_order(cut: int, overlap: int, data: st.DataObject):
    """Two senders at once: the killed one's lines cut.. arrive anywhere among those of the one that looked at `cut`."""
    killed = list(range(cut + 1, cut + 1 + overlap))
    topic = list(range(1, cut + 1))
    following = list(range(cut + 1, 62))
    while killed or following:
        from_killed = bool(killed) and (not following or data.draw(st.booleans()))
        topic.append((killed if from_killed else following).pop(0))
    first_seen = list(dict.fromkeys(topic))
    assert first_seen == list(range(1, 62))
