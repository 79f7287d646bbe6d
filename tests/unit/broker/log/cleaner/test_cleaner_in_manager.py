"""The cleaner as the log manager runs it: checkpoint, retention, deletion, stop."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import Executor, InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor

from .conftest import Append, rows

TP = TopicPartition("t", 0)
Start = Callable[..., tuple[LogManager, PartitionLog]]


@pytest.fixture
def start(tmp_path: Path, clock: ManualClock, disk: FaultyDisk, failures: list[BaseException]) -> Start:
    def started(
        executor: Executor | None = None, *, cleaner_executor: Executor | None = None, **settings: str
    ) -> tuple[LogManager, PartitionLog]:
        named = {"log.dirs": str(tmp_path), "log.cleanup.policy": "compact", "log.cleaner.min.cleanable.ratio": "0.01"}
        config = BrokerConfig.from_properties(named | settings, None, "test")
        topic_config = TopicConfig.from_broker(config)
        manager = LogManager(
            config,
            clock,
            clock,
            executor or InlineExecutor(),
            lambda _: topic_config,
            failures.append,
            files=disk,
            cleaner_executor=cleaner_executor,
        )

        async def begin() -> None:
            await manager.lock()
            await manager.load("abc", 1)

        asyncio.run(begin())
        opened: list[PartitionLog | None] = []
        manager.get_or_create(TP).then(opened.append)
        log = opened[0]
        assert log is not None
        manager.watch_high_watermarks(lambda: {TP: log.log_end_offset})
        return manager, log

    return started


def write(log: PartitionLog, append: Append) -> None:
    for number in range(3):
        append([(b"a", b"%d" % number), (b"b", None)], to=log)
    log.roll()


def checkpoint(tmp_path: Path) -> str:
    return (tmp_path / "cleaner-offset-checkpoint").read_text()


def test_where_a_log_is_clean_survives_a_restart(
    start: Start, append: Append, clock: ManualClock, tmp_path: Path, disk: FaultyDisk
) -> None:
    manager, log = start()
    write(log, append)
    clock.advance(20_000)
    assert [row[0] for row in rows(log)] == [4, 5]
    assert checkpoint(tmp_path) == "0\n1\nt 0 6\n"
    asyncio.run(manager.close())
    disk.kill()
    manager, log = start()
    assert log.first_dirty_offset == 6


def test_a_deleted_log_leaves_the_checkpoint(start: Start, append: Append, clock: ManualClock, tmp_path: Path) -> None:
    manager, log = start()
    write(log, append)
    clock.advance(20_000)
    manager.delete(TP)
    assert checkpoint(tmp_path) == "0\n0\n"
    clock.advance(20_000)


def test_without_the_cleaner_nothing_changes(start: Start, append: Append, clock: ManualClock) -> None:
    _, log = start(**{"log.cleaner.enable": "false", "log.retention.ms": "1000"})
    write(log, append)
    clock.advance(600_000)
    assert len(rows(log)) == 6


def test_retention_of_compacted_logs_is_the_cleaners(start: Start, append: Append, clock: ManualClock) -> None:
    manager, log = start(**{"log.cleanup.policy": "compact,delete", "log.retention.ms": "1000"})
    write(log, append)
    clock.advance(500)
    manager.apply_retention()
    clock.advance(100_000)
    assert rows(log) == []
    assert log.log_start_offset == 6


def test_a_log_whose_segments_retention_deletes_during_a_round_is_cleaned_again(
    start: Start, append: Append, clock: ManualClock
) -> None:
    executor = ManualExecutor()
    manager, log = start(cleaner_executor=executor)
    write(log, append)
    clock.advance(1_000)
    assert manager.cleaner is not None
    assert manager.cleaner.is_cleaning(TP)
    compacted: Any = log.config
    # A way to empty a compacted topic.
    log.update_config(compacted.with_overrides({"cleanup.policy": "delete", "retention.bytes": "0"}))
    manager.apply_retention()
    executor.run_all()
    log.update_config(compacted)
    write(log, append)
    clock.advance(20_000)
    executor.run_all()
    assert [row[0] for row in rows(log)] == [10, 11]
    assert not manager.cleaner.uncleanable


def test_a_stopped_manager_cleans_nothing_more(start: Start, append: Append, clock: ManualClock, tmp_path: Path):
    manager, log = start()
    clock.advance(2_000)
    write(log, append)
    asyncio.run(manager.close())
    clock.advance(100_000)
    assert log.first_dirty_offset is None
    assert checkpoint(tmp_path) == ""


class LateExecutor(ManualExecutor):
    """Does the work at once until the test says that it waits."""

    is_holding = False

    def run(self, work: Callable, then: Callable, failed: Callable) -> None:
        if self.is_holding:
            super().run(work, then, failed)
        else:
            InlineExecutor().run(work, then, failed)


def test_the_cleaner_is_loaded_in_the_executor(
    start: Start, append: Append, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = LateExecutor()
    _, log = start(executor)
    write(log, append)
    module = "barnabas.broker.log.cleaner.cleaner"
    monkeypatch.delitem(sys.modules, module, raising=False)
    executor.is_holding = True
    clock.advance(2_000)
    assert module not in sys.modules
    executor.is_holding = False
    executor.run_all()
    assert module in sys.modules
    clock.advance(20_000)
    assert log.first_dirty_offset == 6


def test_a_cleaner_that_is_loaded_after_the_stop_begins_nothing(start: Start, append: Append, clock: ManualClock):
    executor = LateExecutor()
    manager, log = start(executor)
    write(log, append)
    executor.is_holding = True
    clock.advance(2_000)
    executor.is_holding = False
    asyncio.run(manager.close())
    executor.run_all()
    clock.advance(20_000)
    assert log.first_dirty_offset is None
