"""Several log directories: one that fails goes offline, and the others go on; two logs of one partition; and how a
long recovery is told."""

import asyncio
import logging

import pytest

from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock

PARTITIONS = [TopicPartition("t", number) for number in range(4)]


class Logs:
    """A log manager over two directories."""

    def __init__(self, root, clock, disk, failures, registry_directory=None):
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
            registry_directory=registry_directory,
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
    return lambda *options: Logs(tmp_path, clock, disk, failures, *options)


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


@pytest.mark.parametrize(("failed", "ends"), [("a", True), ("b", False)])
def test_the_directory_of_the_registry_ends_the_broker_when_it_fails(make_logs, failures, tmp_path, failed, ends):
    logs = make_logs(tmp_path / "a").start()
    logs.create()
    error = StorageError(f"{failed}: Input/output error", tmp_path / failed / "t-0" / "0.log")
    logs.manager.note_failure(error)
    assert failures == ([error] if ends else [])
    assert bool(logs.offline) != ends


def test_the_broker_does_not_start_without_the_directory_of_the_registry(logs, make_logs, tmp_path, disk):
    logs.stop()
    (disk.fails_to_read_under, *_) = (path for path in logs.directories[0].iterdir() if path.name.startswith("t-"))
    with pytest.raises(StorageError, match=str(disk.fails_to_read_under)):
        make_logs(tmp_path / "a").start()


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


@pytest.mark.parametrize("name", ["recovery-point", "replication", "log-start", "cleaner"])
def test_a_damaged_checkpoint_takes_its_directory_offline(logs, make_logs, name):
    kept = logs.held_by("b")
    logs.stop()
    (logs.directories[0] / f"{name}-offset-checkpoint").write_text("nonsense\n")
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


@pytest.fixture
def write_logs(env, topic_config, tmp_path, make_batch):
    """Write two logs of one partition, cleanly closed: one record for each given leader epoch."""

    def write(a, b, deleted_from_b=0):
        for name, epochs, deleted_count in (("a", a, 0), ("b", b, deleted_from_b)):
            log = open_log(env, PARTITIONS[0], tmp_path / name / "t-0", topic_config(segment_bytes=100))
            for epoch in epochs:
                log.append(make_batch(value=b"%d" % epoch, timestamp_ms=1_000), epoch)
            log.delete_oldest_segments(deleted_count)
            log.close()
            (tmp_path / name / ".kafka_cleanshutdown").touch()

    return write


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize(
    ("a", "b", "kept"),
    [
        pytest.param([0, 0, 1], [0, 0, 1, 1, 2], "b", id="a killed move"),
        pytest.param([0, 0, 1], [0, 0], "a", id="a killed move, no epoch of the new leader yet"),
        pytest.param([0, 0], [0, 0], "a", id="equal"),
        pytest.param([], [0, 0], "b", id="one is empty"),
        pytest.param([1, 1], [0, 0, 0], None, id="a disk that returned with the older records"),
        pytest.param([0, 0, 2], [0, 0, 1, 1], None, id="both have gone on"),
        pytest.param([0], [1], None, id="of equal length"),
    ],
)
def test_of_two_logs_of_a_partition_the_longer_one_is_kept_only_if_it_has_all_records(
    write_logs, make_logs, tmp_path, caplog, a, b, kept
):
    write_logs(a, b)
    before = {name: contents(tmp_path / name / "t-0") for name in "ab"}
    logs = make_logs().start()
    if kept is not None:
        assert logs.manager.get(PARTITIONS[0]).directory == tmp_path / kept / "t-0"
        assert [(tmp_path / name / "t-0").exists() for name in "ab"] == [name == kept for name in "ab"]
        return
    assert logs.manager.get(PARTITIONS[0]) is None
    assert logs.manager.get_or_create(PARTITIONS[0]).value is None
    reason = logs.manager.damaged[PARTITIONS[0]].reason
    assert all(str(tmp_path / name / "t-0") in reason for name in "ab")
    assert reason in caplog.text
    logs.stop()
    assert {name: contents(tmp_path / name / "t-0") for name in "ab"} == before


@pytest.mark.parametrize(("b", "is_kept"), [([0, 1, 1, 1], True), ([0, 0, 2, 2], False), ([0, 0, 0, 0], False)])
def test_a_log_whose_last_record_retention_has_deleted_in_the_longer_one_is_compared_by_its_epoch(
    write_logs, make_logs, b, is_kept
):
    write_logs([0, 1], b, deleted_from_b=2)
    log = make_logs().start().manager.get(PARTITIONS[0])
    assert (log is not None and log.log_start_offset == 2) == is_kept


@pytest.mark.parametrize(("kept", "moved"), ["ab", "ba"])
def test_after_one_of_two_different_logs_was_moved_away_the_other_is_used(write_logs, make_logs, tmp_path, kept, moved):
    write_logs([1, 1], [0, 0, 0])
    for name in "ab":
        (tmp_path / name / "log-start-offset-checkpoint").write_text("0\n1\nt 0 1\n")
        (tmp_path / name / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    make_logs().start().stop()
    (tmp_path / moved / "t-0").rename(tmp_path / "moved")
    log = make_logs().start().manager.get(PARTITIONS[0])
    assert (log.directory, log.log_end_offset) == (tmp_path / kept / "t-0", {"a": 2, "b": 3}[kept])
    assert (log.log_start_offset, log.first_dirty_offset) == (1, 1)


def test_two_different_logs_of_a_deleted_partition_are_both_deleted(write_logs, make_logs, tmp_path):
    write_logs([1, 1], [0, 0, 0])
    logs = make_logs().start()
    logs.manager.delete(PARTITIONS[0])
    assert [(tmp_path / name / "t-0").exists() for name in "ab"] == [False, False]
    assert logs.manager.get_or_create(PARTITIONS[0]).value.log_end_offset == 0


@pytest.mark.parametrize("damaged", "ab")
def test_beside_a_damaged_log_of_its_partition_no_log_is_used(write_logs, make_logs, tmp_path, damaged):
    write_logs([0, 0], [0, 0, 0])
    path = max((tmp_path / damaged / "t-0").glob("*.log"))
    path.write_bytes(bytes(path.stat().st_size))
    logs = make_logs().start()
    assert logs.manager.get(PARTITIONS[0]) is None
    found = logs.manager.damaged[PARTITIONS[0]].all()
    assert {each.directory for each in found} == {tmp_path / name / "t-0" for name in "ab"}


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
