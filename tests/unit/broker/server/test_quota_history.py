"""The file of a broker's traffic history, over restarts and failures."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.server.quota_history import QuotaHistory
from barnabas.core.executor import InlineExecutor
from barnabas.core.timers import Timers
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock, ManualTimer

FILE = "quota-history"


class Kept:
    """The history of one broker's life."""

    def __init__(self, directory: Path, clock: ManualClock, timers: Timers | None = None) -> None:
        self.quotas = Quotas(Windows(11, 1_000))
        self.shell = QuotaHistory(
            directory, FaultyDisk(), clock, timers or clock, InlineExecutor(), self.quotas.clients
        )
        asyncio.run(self.shell.start())

    def produced(self) -> list[int]:
        """Of each second in which anything was."""
        return [value for each in self.shell.history.recorded() for value in each.values if value]

    def close(self) -> None:
        asyncio.run(self.shell.close())


def test_each_second_is_collected(clock: ManualClock, tmp_path: Path) -> None:
    kept = Kept(tmp_path, clock)
    client = kept.quotas.enter("alice", "app", 0)
    # In the middle of each.
    clock.advance(500)
    for size in (5, 6, 7):
        client.produced_bytes += size
        clock.advance(1_000)
    assert kept.produced() == [5, 6, 7]


def test_a_restart_goes_on(clock: ManualClock, tmp_path: Path) -> None:
    first = Kept(tmp_path, clock)
    first.quotas.enter("alice", "app", 0).produced_bytes += 5
    clock.advance(2_000)
    first.close()
    clock.advance(5_000)
    second = Kept(tmp_path, clock)
    second.quotas.enter("alice", "app", 0).produced_bytes += 6
    clock.advance(2_000)
    assert second.produced() == [5, 6]


def test_a_kill_loses_a_minute_at_the_most(clock: ManualClock, tmp_path: Path) -> None:
    killed = Kept(tmp_path, clock)
    client = killed.quotas.enter("alice", "app", 0)
    for _ in range(130):
        client.produced_bytes += 1
        clock.advance(1_000)
    assert 70 <= len(Kept(tmp_path, clock).produced()) <= 130


def test_nobody_uses_it_and_nothing_is_written(clock: ManualClock, tmp_path: Path) -> None:
    kept = Kept(tmp_path, clock)
    kept.quotas.enter("alice", "app", 0)
    clock.advance(200_000)
    kept.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_old_is_not_written_again(clock: ManualClock, tmp_path: Path) -> None:
    kept = Kept(tmp_path, clock)
    kept.quotas.enter("alice", "app", 0).produced_bytes += 1
    clock.advance(70_000)
    written = (tmp_path / FILE).stat().st_mtime_ns
    clock.advance(200_000)
    kept.close()
    assert (tmp_path / FILE).stat().st_mtime_ns == written


class WrongClock(ManualClock):
    """A clock whose time of day may be wrong."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


def test_a_clock_that_was_ahead_does_not_end_the_writes(tmp_path: Path) -> None:
    clock = WrongClock()
    kept = Kept(tmp_path, clock)
    client = kept.quotas.enter("alice", "app", 0)
    for ahead_ms in (0, 7_200_000, 0):
        clock.ahead_ms = ahead_ms
        for _ in range(130):
            client.produced_bytes += 1
            clock.advance(1_000)
    # As after a kill.
    assert 0 <= clock.now_ms() // 1_000 - Kept(tmp_path, clock).shell.history.second <= 61


def test_a_file_that_is_none_is_told_of_and_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).write_bytes(b"something else altogether")
    clock = ManualClock()
    with caplog.at_level(logging.WARNING):
        kept = Kept(tmp_path, clock)
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / FILE} ignored, so `barnabas quotas` starts without history: it does not begin as one"
    ]
    kept.quotas.enter("alice", "app", 0).produced_bytes += 5
    clock.advance(2_000)
    kept.close()
    assert Kept(tmp_path, clock).produced() == [5]


def test_a_disk_that_takes_nothing_is_told_of_once(
    clock: ManualClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept(tmp_path / "missing", clock)
    client = kept.quotas.enter("alice", "app", 0)
    with caplog.at_level(logging.WARNING):
        for _ in range(200):
            client.produced_bytes += 1
            clock.advance(1_000)
        kept.close()
    (record,) = caplog.records
    assert "cannot write" in record.getMessage()
    assert sum(kept.produced()) == 200


class Turns:
    """Timers that count the turns of the loop, which take no time by the clock unless told otherwise."""

    def __init__(self, clock: ManualClock, turn_ms: int = 0) -> None:
        self.count = 0
        self._clock = clock
        self._turn_ms = turn_ms

    def call_later(self, delay_ms: float, callback: Callable[..., object], *args: object) -> ManualTimer:
        self.count += delay_ms == 0
        return self._clock.call_later(delay_ms or self._turn_ms, callback, *args)


def test_very_many_are_collected_some_at_a_time(clock: ManualClock, tmp_path: Path) -> None:
    turns = Turns(clock)
    kept = Kept(tmp_path, clock, turns)
    clock.advance(500)
    for number in range(3_500):
        kept.quotas.enter("alice", f"app-{number}", 0).produced_bytes += 1
    clock.advance(1_000)
    # Who is compared with whom is one more.
    assert turns.count == 4
    assert sum(kept.produced()) == 3_500


def test_closed_while_it_collects(clock: ManualClock, tmp_path: Path) -> None:
    kept = Kept(tmp_path, clock, Turns(clock, turn_ms=10_000))
    clock.advance(500)
    for number in range(3_500):
        kept.quotas.enter("alice", f"app-{number}", 0).produced_bytes += 1
    clock.advance(600)
    kept.close()
    assert sum(kept.produced()) == 3_500
    assert sum(Kept(tmp_path, ManualClock()).produced()) == 3_500


def test_closed_before_it_was_started(clock: ManualClock, tmp_path: Path) -> None:
    quotas = Quotas(Windows(11, 1_000))
    shell = QuotaHistory(tmp_path, FaultyDisk(), clock, clock, InlineExecutor(), quotas.clients)
    asyncio.run(shell.close())
    assert clock.timer_count == 0
