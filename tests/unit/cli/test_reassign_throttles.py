"""What a reassignment throttles, what it proposes, and how it says how far it is."""

import json

import pytest

from barnabas.cli.partition_files import read_topics
from barnabas.cli.reassign_plan import Target
from barnabas.cli.reassign_progress import Progress, duration_text, size_text
from barnabas.cli.reassign_proposal import _racks
from barnabas.cli.reassign_throttles import Copying, copying, throttled_replicas
from barnabas.clients.admin_replicas import Reassignment
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def target(*replicas: int) -> Target:
    return Target(list(replicas), ["any"] * len(replicas))


def test_only_who_takes_part_is_throttled():
    plan = {T0: target(2, 3), T1: target(2, 1), U0: target(4)}
    moves = copying(plan, {T0: [1, 2], T1: [1, 2], U0: [4]}, {})
    # Nothing is copied where only the order is another.
    assert moves == {T0: Copying([1, 2], [3])}
    assert throttled_replicas(moves) == {"t": ("0:1,0:2", "0:3")}


def test_what_moves_already_stays_in_its_topics_lists():
    ongoing = {T1: Reassignment([3, 1, 2], [3], [1, 2])}
    moves = copying({T0: target(4)}, {T0: [1]}, ongoing)
    assert throttled_replicas(moves) == {"t": ("0:1,1:1,1:2", "0:4,1:3")}
    # Of what moves anew its replicas of before are those that are copied from, not what has come meanwhile.
    again = copying({T1: target(3, 4)}, {T1: [3, 1, 2]}, ongoing)
    assert again == {T1: Copying([1, 2], [3, 4])}


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(0, 0, 0), "0 bytes of 0 bytes, nothing in the last second"),
        (Progress(45_000_000, 120_000_000, 9_800_000), "45 MB of 120 MB, 9.8 MB/s, 8 s left"),
        (Progress(10, 5, 1), "10 bytes of 5 bytes, 1 bytes/s, 0 s left"),
    ],
)
def test_how_far_it_is(progress, text):
    assert str(progress) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (999, "999 bytes"),
        (1_000, "1 kB"),
        (99_960, "100 kB"),
        (999_600, "1 MB"),
        (12_345_678, "12.3 MB"),
        (5e16, "50000 TB"),
    ],
)
def test_sizes(size, text):
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7_325, "2 h 2 min"), (90_000, "1 d 1 h")]
)
def test_durations(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"partitions": []}, 'must have the form {"version":1,"topics":[{"topic":"t"}]}'),
        ({"topics": []}, "the list of topics is empty"),
        ({"topics": [{"topic": ""}]}, "entry 1 of topics must have a topic"),
        ({"topics": [{"topic": "t"}, {"topic": "t"}]}, "topic t is listed twice"),
    ],
)
def test_what_is_no_file_of_topics_is_said_in_a_line(tmp_path, content, complaint):
    path = tmp_path / "topics.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BarnabasError) as caught:
        read_topics(str(path))
    assert complaint in str(caught.value)


def test_racks_are_gone_by_where_all_brokers_say_theirs_or_none_does():
    known = {1: "a", 2: "b", 3: None}
    assert _racks(known, [1, 2], True) == {1: "a", 2: "b"}
    assert _racks(known, [3], True) == {3: None}
    assert _racks(known, [1, 3], False) == {1: None, 3: None}
    with pytest.raises(BarnabasError, match="broker 3 has no rack but others do: --disable-rack-aware"):
        _racks(known, [1, 3], True)
    with pytest.raises(BarnabasError, match="broker 9 does not exist: the brokers are 1, 2, 3"):
        _racks(known, [1, 9], True)
