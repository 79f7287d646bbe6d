"""Lines of logs: numbers and names, a file that grows and is rotated, streams, looks."""

import gzip
import hashlib
import io
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.types import BROKER_METRIC, HOST_METRIC
from barnabas.pipeline.sources.access_log import LONGEST_LINE
from barnabas.pipeline.sources.log_lines import (
    Measurement,
    RawLine,
    RepeatedLogError,
    file_lines,
    follow_lines,
    has_same_begin,
    is_same_log,
    stream_lines,
    tick_lines,
)

# A first line with a time names a log by itself.
ONE, NEW = b"10:05:03 one", b"11:05:03 new"


def name_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def test_file_is_named_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\r\n\n\xfftwo")
    name = name_of(path.read_bytes())
    assert list(file_lines(path)) == [(name, 1, "one", False), (name, 2, "", False), (name, 3, "\\xfftwo", False)]
    packed = tmp_path / "a.log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    assert [text for _, _, text, _ in file_lines(packed)] == ["one", "", "\\xfftwo"]


def test_stream_is_named_by_its_first_line() -> None:
    found = list(stream_lines(io.BytesIO(b"one\r\ntwo\n" + b"x" * 5 * LONGEST_LINE + b"\nend")))
    assert [(each.log, each.number, each.text) for each in found[:2]] == [
        (name_of(b"one"), 1, "one"),
        (name_of(b"one"), 2, "two"),
    ]
    assert len(found[2].text) == LONGEST_LINE + 1
    assert found[3].text == "end"
    assert [each.is_last_for_now for each in found] == [False, False, True, True]


def test_stream_gives_lines_as_they_come() -> None:
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as stream, open(write_end, "wb", buffering=0) as writer:
        lines = stream_lines(stream)
        writer.write(b"one\ntwo\nth")
        assert [next(lines)[2:], next(lines)[2:]] == [("one", False), ("two", True)]
        writer.write(b"ree\n")
        assert next(lines)[1:] == (3, "three", True)


class Writer:
    """Does one step each time the follower has nothing to read, and then stops it."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)

    def sleep(self, _: float) -> None:
        if self.steps:
            self.steps.pop(0)()

    def is_done(self) -> bool:
        return not self.steps


def follow(path: Path, *steps: Callable[[], object]) -> list[RawLine]:
    writer = Writer(*steps, lambda: None)
    return list(follow_lines(path, writer.sleep, writer.is_done))


def append(path: Path, content: bytes) -> Callable[[], object]:
    def write() -> None:
        with path.open("ab") as file:
            file.write(content)

    return write


def test_growing_file_gives_each_line_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    steps = (append(path, ONE + b"\ntwo\nth"), append(path, b"ree"), append(path, b"\r\n"), append(path, b"four\n"))
    name = name_of(ONE)
    assert follow(path, *steps) == [
        (name, 1, ONE.decode(), False),
        (name, 2, "two", True),
        (name, 3, "three", True),
        (name, 4, "four", True),
    ]


@pytest.mark.parametrize("is_created_later", [False, True])
def test_rotated_file_is_read_to_its_end_then_the_new_one(tmp_path: Path, is_created_later: bool) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(ONE + b"\n")

    def rotate() -> None:
        path.rename(tmp_path / "a.log.1")
        # Its writer still has it open for a while.
        append(tmp_path / "a.log.1", b"two\nhalf")()
        if not is_created_later:
            path.write_bytes(NEW + b"\n")

    steps = [rotate, append(path, NEW + b"er\n")]
    old, new = name_of(ONE), name_of(NEW + b"er" if is_created_later else NEW)
    lines = [NEW.decode() + "er"] if is_created_later else [NEW.decode(), NEW.decode() + "er"]
    expected = [(old, 1, ONE.decode()), (old, 2, "two"), (old, 3, "half")]
    expected += [(new, number, line) for number, line in enumerate(lines, start=1)]
    assert [(each.log, each.number, each.text) for each in follow(path, *steps)] == expected


def test_emptied_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    found = follow(path, lambda: path.write_bytes(b"1\n"), append(path, b"2\n"))
    assert [(each.number, each.text) for each in found] == [(1, "one"), (2, "two"), (1, "1"), (2, "2")]
    assert len({each.log for each in found}) == 2


BANNER = b"Starting...\n"


def test_rotated_files_with_the_same_banner_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BANNER + b"one\n")

    def rotate() -> None:
        path.rename(tmp_path / "a.log.1")
        path.write_bytes(BANNER + b"two\n")

    found = follow(path, rotate)
    assert [(each.number, each.text) for each in found if each.number == 2] == [(2, "one"), (2, "two")]
    assert len({(each.log, each.number) for each in found}) == 4
    assert {each.log.partition("-")[0] for each in found} == {name_of(b"Starting...")}
    # A restart finds the same names.
    assert follow(path) == found[2:]
    assert follow(tmp_path / "a.log.1") == found[:2]


def test_logs_with_the_same_banner_and_inode_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BANNER + ONE + b"\nthe end of it\n")
    # A file that is emptied keeps its inode; the inode of a deleted file may be used again.
    found = follow(path, lambda: path.write_bytes(BANNER + NEW + b"\n"), append(path, b"two\n"))
    assert [each.number for each in found] == [1, 2, 3, 1, 2, 3]
    old, new = dict.fromkeys(each.log for each in found)
    assert [each.log for each in found] == [old] * 3 + [new] * 3
    assert not is_same_log(old, new)
    assert not has_same_begin(old, new)
    # A restart finds the same name.
    assert {each.log for each in follow(path)} == {new}
    copy = tmp_path / "copy.log"
    copy.write_bytes(path.read_bytes())
    assert {has_same_begin(new, each.log) for each in follow(copy)} == {True}


def test_a_banner_waits_some_seconds_for_a_line_with_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BANNER)
    later = follow(path, append(path, b"more\n"), append(path, ONE[:5]), append(path, ONE[5:] + b"\nlast\n"))
    assert later == follow(path)
    assert [each.number for each in later] == [1, 2, 3, 4]
    # A log that had no such line when it was first read keeps its progress.
    path.write_bytes(BANNER)
    (line,) = follow(path, *[lambda: None] * 100)
    assert is_same_log(line.log, later[0].log)


@pytest.mark.parametrize(
    ("beginning", "is_emptied"), [(BANNER, True), (b"00:00:00 opened\n", True), (b"00:00:00 opened\n", False)]
)
def test_file_with_an_earlier_files_name_is_refused(tmp_path: Path, beginning: bytes, is_emptied: bool) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(beginning + b"one\n")

    def rotate() -> None:
        if not is_emptied:
            path.rename(tmp_path / "a.log.1")
        path.write_bytes(beginning)

    with pytest.raises(RepeatedLogError, match=r"a\.log was emptied or replaced"):
        # A log without a time waits for one before it gets a name.
        follow(path, *[lambda: None] * 50, rotate)


def test_line_that_is_too_long_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 9 * LONGEST_LINE + b"\nnext\n")
    found = follow(path)
    assert [len(each.text) for each in found] == [LONGEST_LINE + 1, 4]


def load() -> list[Measurement]:
    return [(HOST_METRIC, "load:a", {"host": "db1", "metric": "load", "value": 1.5, "instance": "a"})]


def lag() -> list[Measurement]:
    return [(BROKER_METRIC, "cluster:lag", {"broker": "cluster", "metric": "lag", "value": 2.0})]


def test_each_tick_is_a_line_of_what_all_looks_tell() -> None:
    now_s = 1_767_225_600.0

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    first, second = islice(tick_lines("db1", 5.0, [load, lag], sleep=sleep, time_s=lambda: now_s), 2)
    assert (first.number, second.number, first.log) == (1, 2, "db1@1767225600000")
    assert (second.time_ms, second.is_last_for_now) == (1767225605000, True)
    assert [encode_json(*event).decode() for event in second.events] == [
        '{"type":"host_metric","version":1,"id":"db1@1767225600000:2:load:a",'
        '"time":"2026-01-01T00:00:05Z","host":"db1","metric":"load","value":1.5,"instance":"a"}',
        '{"type":"broker_metric","version":1,"id":"db1@1767225600000:2:cluster:lag",'
        '"time":"2026-01-01T00:00:05Z","broker":"cluster","metric":"lag","value":2.0}',
    ]
    ids = [fields["id"] for line in (first, second) for _, fields in line.events]
    assert len(ids) == len(set(ids)) == 4


def test_collector_stops_when_it_is_told_to() -> None:
    assert list(tick_lines("db1", 5.0, [load], is_stopped=lambda: True)) == []
