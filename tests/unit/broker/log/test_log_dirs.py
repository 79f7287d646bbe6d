"""Several log directories: one that fails goes offline, and the others go on; and how a long recovery is told."""

import asyncio
import logging

import pytest

from barnabas.broker.log.manager import LogManager
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock

PARTITIONS = [TopicPartition("t", number) for number in range(4)]


class Logs:
    """A log manager over two directories."""

    def __init__(self, root, clock, disk, failures):
        self.directories = [root / "a", root / "b"]
        paths = ",".join(str(path) for path in self.directories)
        config = BrokerConfig.from_properties({"log.dirs": paths}, None, "test")
        self.recovery_executor_count = 0
        self.offline = []
        self.manager = LogManager(
            config,
            clock,
            clock,
            InlineExecutor(),
            lambda topic_partition: TopicConfig.from_broker(config),
            failures.append,
            files=disk,
            recovery_executor=self._recovery_executor,
        )
        self.manager.on_offline = self.offline.extend

    def _recovery_executor(self):
        self.recovery_executor_count += 1
        return InlineExecutor()

    def start(self):
        async def run():
            await self.manager.lock()
            await self.manager.load("cluster", 1)

        asyncio.run(run())
        self.manager.watch_high_watermarks(dict)
        return self

    def create(self):
        return [self.manager.get_or_create(each).value for each in PARTITIONS]

    def stop(self):
        asyncio.run(self.manager.close())

    def held_by(self, name):
        return {each for each in self.manager.topic_partitions if self.manager.get(each).directory.parent.name == name}


@pytest.fixture
def make_logs(tmp_path, clock, disk, failures):
    return lambda: Logs(tmp_path, clock, disk, failures)


@pytest.fixture
def logs(make_logs):
    made = make_logs().start()
    made.create()
    return made


def test_each_directory_is_recovered_by_itself(logs, make_logs):
    logs.stop()
    again = make_logs().start()
    assert again.recovery_executor_count == 2
    assert len(again.held_by("a")) == len(again.held_by("b")) == 2


def test_a_directory_that_fails_goes_offline_and_the_broker_lives_on(logs, failures):
    gone = logs.held_by("b")
    error = StorageError("b: Input/output error", logs.directories[1] / "t-1" / "0.log")
    logs.manager.note_failure(error)
    assert set(logs.offline) == gone
    assert set(logs.manager.topic_partitions) == set(PARTITIONS) - gone
    assert failures == []
    # Whatever else fails there says nothing new.
    logs.manager.note_failure(error)
    assert failures == []


def test_the_last_directory_that_fails_ends_the_broker(logs, failures):
    for path in logs.directories:
        logs.manager.note_failure(StorageError(f"{path}: Input/output error", path))
    assert [str(error) for error in failures] == [f"{logs.directories[1]}: Input/output error"]


def test_a_failure_without_a_place_ends_the_broker(logs, failures):
    error = StorageError("something failed")
    logs.manager.note_failure(error)
    assert failures == [error]


def test_new_logs_are_made_in_what_is_left_but_old_ones_are_not_made_again(logs):
    (lost, *_) = logs.held_by("b")
    logs.manager.note_failure(StorageError("b", logs.directories[1]))
    assert logs.manager.get_or_create(lost, is_new=False).value is None
    made = logs.manager.get_or_create(TopicPartition("new", 0)).value
    assert made.directory.parent == logs.directories[0]


def test_only_the_directories_that_are_left_are_closed_cleanly(logs):
    logs.manager.note_failure(StorageError("b", logs.directories[1]))
    logs.stop()
    assert [(path / ".kafka_cleanshutdown").exists() for path in logs.directories] == [True, False]


def test_a_directory_that_fails_at_the_stop_leaves_the_other_clean(logs, make_batch):
    for each in logs.manager.topic_partitions:
        logs.manager.get(each).append(make_batch(), 0)
    # A directory stands where the checkpoint is to be written.
    (logs.directories[1] / "recovery-point-offset-checkpoint.tmp").mkdir()
    logs.stop()
    assert [(path / ".kafka_cleanshutdown").exists() for path in logs.directories] == [True, False]


def test_a_directory_that_cannot_be_used_at_the_start_is_offline(tmp_path, make_logs):
    (tmp_path / "a").write_text("no directory")
    logs = make_logs().start()
    assert all(log.directory.parent.name == "b" for log in logs.create())


def test_a_directory_that_fails_before_its_owner_is_known_is_offline(logs, make_logs, disk):
    logs.stop()
    again = make_logs()
    asyncio.run(again.manager.lock())
    disk.fails_to_read_under = logs.directories[0]
    asyncio.run(again.manager.load("cluster", 1))
    assert [each.path.name for each in again.manager.directories] == ["b"]


def test_a_directory_that_is_empty_beside_others_is_told_and_used(logs, make_logs, caplog):
    logs.stop()
    for path in sorted(logs.directories[0].rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = make_logs().start()
    assert len(again.manager.directories.online) == 2
    assert f"{logs.directories[0]}: no meta.properties, so new or empty" in caplog.text


def test_a_directory_of_another_broker_beside_others_ends_the_start(logs, make_logs):
    logs.stop()
    meta = logs.directories[1] / "meta.properties"
    meta.write_text(meta.read_text().replace("broker.id=1", "broker.id=2"))
    before = sorted(logs.directories[0].rglob("*")), meta.read_text()
    with pytest.raises(StartupError, match="directories of different brokers can't be used together"):
        make_logs().start()
    assert (sorted(logs.directories[0].rglob("*")), meta.read_text()) == before


def test_without_any_directory_there_is_no_start(tmp_path, make_logs):
    for name in ("a", "b"):
        (tmp_path / name).write_text("no directory")
    with pytest.raises(StorageError, match="b"):
        make_logs().start()


def test_a_damaged_checkpoint_takes_its_directory_offline(logs, make_logs):
    kept = logs.held_by("b")
    logs.stop()
    (logs.directories[0] / "recovery-point-offset-checkpoint").write_text("nonsense\n")
    again = make_logs().start()
    assert set(again.manager.topic_partitions) == kept
    # It is left as it was.
    assert (logs.directories[0] / ".kafka_cleanshutdown").exists()


def test_a_log_that_cannot_be_read_takes_its_directory_offline(logs, make_logs, disk):
    kept = logs.held_by("b")
    logs.stop()
    (disk.fails_to_read_under, *_) = (path for path in logs.directories[0].iterdir() if path.name.startswith("t-"))
    again = make_logs().start()
    assert set(again.manager.topic_partitions) == kept


class HurryingClock(ManualClock):
    """Half a second passes whenever somebody looks at it."""

    def monotonic_ms(self):
        self.advance(500)
        return super().monotonic_ms()


def test_a_long_recovery_tells_how_far_it_is(env, open_partition_log, make_batch, caplog):
    log = open_partition_log(segment_bytes=100)
    for _ in range(10):
        log.append(make_batch(), 0)
    env.clock = HurryingClock()
    caplog.set_level(logging.INFO)
    open_partition_log(segment_bytes=100)
    told = [record.getMessage() for record in caplog.records if "recovered" in record.getMessage()]
    assert len(told) > 1
    assert f"{log.directory}: recovered 1 of 10 segments" in told[0]
