"""Events over restarts, kills and failures of the disk."""

import asyncio
import gc
import json
import logging
import tracemalloc
from pathlib import Path

import pytest

from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn, Who
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.server.event_files import MOST_FILE_BYTES, NAME, EventFiles
from barnabas.core.executor import InlineExecutor
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock


class Kept:
    """The events of one broker's life."""

    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.diagnostics = DiagnosticStore(25_000_000, clock.now_ms())
        self.files = EventFiles(self.diagnostics, directory, FaultyDisk(), clock, InlineExecutor())
        self.files.start()
        # What was read is taken over some in a turn.
        clock.advance(0)

    def happen(self, *names: str) -> None:
        for name in names:
            self.diagnostics.requests.add({"at_ms": 1, "api": name})

    def told(self) -> list[object]:
        return [json.loads(line)["api"] for line in self.diagnostics.requests.lines()]

    def close(self) -> None:
        asyncio.run(self.files.close())


def test_a_kill_loses_a_second(tmp_path: Path, clock: ManualClock) -> None:
    killed = Kept(tmp_path, clock)
    killed.happen("a", "b")
    clock.advance(1_000)
    killed.happen("c")
    assert Kept(tmp_path, clock).told() == ["a", "b"]


def test_a_stop_loses_nothing(tmp_path: Path, clock: ManualClock) -> None:
    first = Kept(tmp_path, clock)
    first.happen("a")
    first.close()
    second = Kept(tmp_path, clock)
    second.happen("b")
    second.close()
    clock.advance(5_000)
    assert Kept(tmp_path, clock).told() == ["a", "b"]


def test_nothing_happens_and_nothing_is_written(tmp_path: Path, clock: ManualClock) -> None:
    kept = Kept(tmp_path, clock)
    clock.advance(100_000)
    kept.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "torn",
    [
        b'["requests",{"at_ms":1,"api":"t',
        b"\0\0\0\0",
        b'["nonsense",{"at_ms":1}]\n',
        b'["rebalances",{"at_ms":1}]\n',
        b'["requests",[]]\n[]\n7\nnull\n',
        b"[" * 100_000,
        b'["requests",\xff\xfe]\n',
    ],
)
def test_a_line_that_is_no_event_is_left_out(tmp_path: Path, clock: ManualClock, torn: bytes) -> None:
    before = Kept(tmp_path, clock)
    before.happen("a")
    before.close()
    with (tmp_path / NAME).open("ab") as file:
        file.write(torn)
    after = Kept(tmp_path, clock)
    assert after.told() == ["a"]
    after.happen("b")
    after.close()
    assert Kept(tmp_path, clock).told() == ["a", "b"]


def test_two_files_of_four_megabytes_are_kept(tmp_path: Path, clock: ManualClock) -> None:
    kept = Kept(tmp_path, clock)
    for number in range(60):
        for _ in range(1_000):
            kept.happen(f"{number}-{'x' * 180}")
        clock.advance(1_000)
    sizes = sorted(path.stat().st_size for path in tmp_path.iterdir())
    assert len(sizes) == 2
    assert sizes[-1] <= MOST_FILE_BYTES
    again = Kept(tmp_path, clock)
    clock.advance(0)
    assert str(again.told()[-1]).startswith("59-")
    assert len(again.told()) == 2_000


def test_what_is_read_again_takes_no_more_memory_than_before(tmp_path: Path, clock: ManualClock) -> None:
    before = Kept(tmp_path, clock)
    for number in range(600):
        for turn in (Turn.BEGAN, Turn.STABLE):
            who = Who(f"member-{number:060}", "app", "/10.1.2.3", None)
            before.diagnostics.rebalances.note(f"group-{number % 20}", Note(turn, Reason.JOINED, who), number)
        for _ in range(5):
            before.diagnostics.requests.add({"at_ms": number, "api": "x" * 100})
        clock.advance(1_000)
    before.close()
    tracemalloc.start()
    try:
        after = Kept(tmp_path, clock)
        gc.collect()
        used_bytes, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(after.diagnostics.rebalances.rows("group-7")) == 20
    assert used_bytes <= after.diagnostics.kept_bytes * 1.1
    # As large as the files are while they are read.
    assert peak_bytes <= used_bytes + sum(path.stat().st_size for path in tmp_path.iterdir()) + 300_000


def test_a_disk_that_fails_is_told_once(tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / NAME).mkdir()
    with caplog.at_level(logging.WARNING):
        kept = Kept(tmp_path, clock)
        for _ in range(3):
            kept.happen("a")
            clock.advance(2_000)
    assert caplog.text.count("cannot read or write") == 1
    assert kept.told() == ["a"] * 3
