"""All logs of a broker: start, checkpoints, deletion, stop."""

import asyncio
import os
from collections import Counter

import pytest

from barnabas.broker.log import log_table
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.executor import Executor, InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_executor import ManualExecutor
from tests.replacing import replaces
from tests.unit.broker.log.conftest import loaded, started

TP = TopicPartition("topic-with-dashes", 0)
OTHER = TopicPartition("other", 3)
META = "version=0\nbroker.id=1\ncluster.id=abc\n"


@pytest.fixture
def start(make_manager):
    return lambda high_watermarks=dict, **settings: started(
        make_manager({"log.retention.check.interval.ms": "60000", **settings}), high_watermarks
    )


def checkpoint(root, name) -> str:
    return (root / f"{name}-offset-checkpoint").read_text()


def test_a_new_directory(start, root):
    start()
    assert sorted(os.listdir(root)) == [
        ".lock",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]
    text = (root / "meta.properties").read_text()
    assert text == "#\n#Sun Sep 13 12:26:40 UTC 2020\nversion=0\nbroker.id=1\ncluster.id=abc\n"


def test_a_log_is_made_once(start, root):
    manager = start()
    log = manager.get_or_create(TP).value
    assert manager.get_or_create(TP).value is log
    assert manager.get(TP) is log
    assert log.directory == root / "topic-with-dashes-0"
    assert list(manager.topic_partitions) == [TP]


def test_logs_are_spread_over_directories(make_manager, root):
    manager = started(make_manager({"log.dirs": f"{root}/a,{root}/b"}))
    directories = [manager.get_or_create(TopicPartition("t", index)).value.directory.parent for index in range(4)]
    assert sorted(directory.name for directory in directories) == ["a", "a", "b", "b"]


def test_logs_that_are_made_together_are_spread_and_the_others_counted_once(make_manager, root, monkeypatch):
    manager = started(make_manager({"log.dirs": f"{root}/a,{root}/b"}))
    old = manager.get_or_create(TopicPartition("old", 0)).value.directory.parent.name
    counted = []

    def count(logs):
        counted.append(Counter(logs))
        return counted[-1]

    monkeypatch.setattr(log_table, "Counter", count)
    executor = manager._table._env.executor = ManualExecutor()
    made = [manager.get_or_create(TopicPartition("t", index)) for index in range(101)]
    executor.run_all()
    names = [each.value.directory.parent.name for each in made]
    assert (len(counted), names.count(old)) == (1, 50)


def test_a_clean_stop_and_start(start, root, make_batch):
    manager = start(lambda: {TP: 2})
    manager.get_or_create(TP).value.append(make_batch(3), 0)
    asyncio.run(manager.close())

    assert (root / ".kafka_cleanshutdown").exists()
    assert checkpoint(root, "recovery-point") == "0\n1\ntopic-with-dashes 0 3\n"
    assert checkpoint(root, "replication") == "0\n1\ntopic-with-dashes 0 2\n"
    manager = start()
    assert not (root / ".kafka_cleanshutdown").exists()
    assert manager.get(TP).log_end_offset == 3
    assert manager.checkpointed_high_watermark(TP) == 2
    assert manager.checkpointed_high_watermark(OTHER) == 0


def test_after_a_kill_logs_are_recovered(start, root, make_batch, disk):
    manager = start()
    log = manager.get_or_create(TP).value
    log.append(make_batch(3), 0)
    with log.active_segment.path.open("ab") as file:
        file.write(b"torn")
    disk.kill()
    manager = start()

    assert manager.get(TP).log_end_offset == 3
    assert manager.get(TP).recovery_point == 3, "what was recovered is flushed"
    assert manager.get(TP).append(make_batch(1), 0).base_offset == 3


def test_a_start_that_fails_before_the_logs_are_open_is_no_clean_stop(start, make_manager, root, make_batch, disk):
    manager = start()
    manager.get_or_create(TP).value.append(make_batch(3), 0)
    disk.kill()
    manager = make_manager()
    asyncio.run(manager.lock())
    asyncio.run(manager.close())

    assert not (root / ".kafka_cleanshutdown").exists()
    assert start().get(TP).log_end_offset == 3


def test_a_second_broker_is_refused(start, make_manager):
    manager = start()
    with pytest.raises(StartupError, match="in use by another broker"):
        asyncio.run(make_manager().lock())
    asyncio.run(manager.close())
    asyncio.run(make_manager().lock())


@pytest.mark.parametrize(
    ("cluster_id", "broker_id", "said"),
    [("abc", 2, "names broker 1.*broker.id is 2"), ("xyz", 1, "names cluster abc.*cluster is xyz")],
)
def test_a_directory_of_another_is_refused_and_left_alone(make_manager, root, cluster_id, broker_id, said):
    root.mkdir()
    (root / "meta.properties").write_text(META)
    (root / ".kafka_cleanshutdown").touch()
    (root / ".lock").touch()
    manager = make_manager()

    async def attempt():
        await manager.lock()
        assert (manager.known_broker_id, manager.known_cluster_id) == (1, "abc")
        await manager.load(cluster_id, broker_id)

    with pytest.raises(StartupError, match=said):
        asyncio.run(attempt())
    assert sorted(os.listdir(root)) == [".kafka_cleanshutdown", ".lock", "meta.properties"]
    assert (root / "meta.properties").read_text() == META


@pytest.mark.parametrize("text", ["version=1\nbroker.id=1\n", "version=0\nbroker.id=x\n", "broker.id=1\n"])
def test_strange_meta_properties_are_refused(make_manager, root, text):
    root.mkdir()
    (root / "meta.properties").write_text(text)
    with pytest.raises(StartupError, match=r"meta\.properties"):
        asyncio.run(make_manager().lock())
    (root / "meta.properties").write_text(META)
    asyncio.run(make_manager().lock())


def test_directories_of_different_brokers_are_refused(make_manager, root):
    for name, broker_id in (("a", 1), ("b", 2)):
        (root / name).mkdir(parents=True)
        (root / name / "meta.properties").write_text(f"version=0\nbroker.id={broker_id}\n")
    with pytest.raises(StartupError, match=r"broker\.id=1.*broker\.id=2"):
        asyncio.run(make_manager({"log.dirs": f"{root}/a,{root}/b"}).lock())


def test_a_malformed_checkpoint_stops_the_start(start, make_manager, root):
    asyncio.run(start().close())
    (root / "recovery-point-offset-checkpoint").write_text("nonsense\n")
    with pytest.raises(StorageError, match="recovery-point"):
        started(make_manager())


def test_strange_directories_are_left_alone(start, root):
    for name in ("lost+found", "t-0.0123-future", "a b-0", "..-0", f"{'t' * 250}-0"):
        (root / name).mkdir(parents=True)
    manager = start()
    assert list(manager.topic_partitions) == []
    assert (root / "lost+found").exists()


def test_deletion(start, root, clock, make_batch):
    manager = start()
    log = manager.get_or_create(TP).value
    log.append(make_batch(3), 0)
    part = log.read(0, 1000, 3)
    manager.delete(TP)
    manager.delete(TP)

    assert manager.get(TP) is None
    (renamed,) = [name for name in os.listdir(root) if name.endswith("-delete")]
    assert len(renamed) == len("topic-with-dashes-0.-delete") + 32
    assert manager.get_or_create(TP).value.log_end_offset == 0
    assert len(part.read()) == part.length
    clock.advance(60_000)
    assert not (root / renamed).exists()


def test_a_topic_that_is_created_again_keeps_its_records_after_a_kill(start, root, clock, make_batch, disk):
    manager = start()
    log = manager.get_or_create(TP).value
    log.append(make_batch(5), 0)
    log.append(make_batch(5), 0)
    log.increment_log_start_offset(5)
    log.flush()
    clock.advance(100_000)
    assert f"{TP.topic} 0 5" in checkpoint(root, "log-start")
    assert f"{TP.topic} 0 10" in checkpoint(root, "recovery-point")
    manager.delete(TP)
    log = manager.get_or_create(TP).value
    log.append(make_batch(2), 0)
    log.flush()
    disk.kill()

    log = start().get(TP)
    assert (log.log_start_offset, log.log_end_offset) == (0, 2)


class Switch:
    """An executor that can be held."""

    def __init__(self):
        self.to: Executor = InlineExecutor()

    def run(self, work, then, failed):
        self.to.run(work, then, failed)

    def hold(self):
        self.to = held = ManualExecutor()
        return held


@pytest.fixture
def switch():
    return Switch()


@pytest.fixture
def switched(make_manager, switch):
    return started(make_manager(executor=switch))


def test_a_new_log_waits_until_its_namesake_has_another_name(switched, switch, root, make_batch):
    switched.get_or_create(TP).value.append(make_batch(3), 0)
    held = switch.hold()
    deleted = switched.delete(TP)
    assert switched.get(TP) is None
    made = switched.get_or_create(TP)
    assert (deleted.is_done, made.is_done, (root / str(TP)).exists()) == (False, False, True)
    held.run_next()
    assert (deleted.is_done, made.is_done, (root / str(TP)).exists()) == (False, False, False)
    # The checkpoints must not contain it, either.
    while not deleted.is_done:
        held.run_next()
    assert not made.is_done
    held.run_all()
    assert made.value.log_end_offset == 0
    assert made.value is switched.get(TP)


def test_a_log_that_is_deleted_twice_before_it_has_another_name(switched, switch, root):
    switched.get_or_create(TP)
    held = switch.hold()
    deleted = [switched.delete(TP)]
    made = switched.get_or_create(TP)
    deleted.append(switched.delete(TP))
    last = switched.get_or_create(TP)
    held.run_all()
    assert [each.is_done for each in deleted] == [True, True]
    assert made.value is None
    assert last.value is switched.get(TP) is not None


def test_what_is_under_way_in_a_log_ends_before_it_is_deleted(switched, switch, root, make_batch, failures):
    log = switched.get_or_create(TP).value
    log.append(make_batch(3), 0)
    held = switch.hold()
    log.roll()
    deleted = switched.delete(TP)
    held.run_all()
    assert deleted.is_done
    assert not (root / str(TP)).exists()
    assert failures == []


def test_a_log_that_is_being_opened_when_the_broker_stops_is_closed(switched, switch, root):
    held = switch.hold()
    opening = switched.get_or_create(TP)

    async def close():
        closing = asyncio.create_task(switched.close())
        await asyncio.sleep(0)
        switch.to = InlineExecutor()
        held.run_all()
        await closing

    asyncio.run(close())
    assert opening.value.is_closed
    assert (root / ".kafka_cleanshutdown").exists()
    assert str(TP) in os.listdir(root)
    assert checkpoint(root, "recovery-point") == "0\n1\ntopic-with-dashes 0 0\n"


def test_long_names_are_shortened_for_deletion(start, root):
    manager = start()
    manager.get_or_create(TopicPartition("x" * 240, 0))
    manager.delete(TopicPartition("x" * 240, 0))
    (renamed,) = [name for name in os.listdir(root) if name.endswith("-delete")]
    assert len(renamed) == 255


TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "is_removed"),
    [
        (f"t-0.{TOKEN}-delete", True),
        (f"{'x' * 203}-0.{TOKEN}-delete", True),
        (f"t-0.{TOKEN}-delete-before", False),
        (f"t-0.{TOKEN[1:]}-delete", False),
        (f"t-0.{TOKEN}0-delete", False),
        (f"t.{TOKEN}-delete", False),
        ("views-before-delete", False),
        ("views-0-delete", False),
        ("-delete", False),
    ],
)
def test_only_logs_that_were_being_deleted_are_removed_at_start(start, root, clock, caplog, name, is_removed):
    (root / name).mkdir(parents=True)
    start()
    clock.advance(1)
    assert (root / name).exists() != is_removed
    assert (f"{root / name} is not a partition directory" in caplog.text) != is_removed


def test_checkpoints_are_written_periodically(start, root, clock, make_batch):
    high_watermarks = {TP: 0}
    manager = start(lambda: high_watermarks)
    log = manager.get_or_create(TP).value
    log.append(make_batch(3), 0)
    log.roll()
    log.append(make_batch(3), 0)
    high_watermarks[TP] = 3
    clock.advance(5000)
    assert checkpoint(root, "replication") == "0\n1\ntopic-with-dashes 0 3\n"
    log.increment_log_start_offset(2)
    clock.advance(25_000)
    assert checkpoint(root, "recovery-point") == "0\n1\ntopic-with-dashes 0 3\n"
    # One task after the other.
    clock.advance(1_000)
    assert checkpoint(root, "log-start") == "0\n1\ntopic-with-dashes 0 2\n"


def test_an_unchanged_checkpoint_is_not_written_again_but_for_that_of_high_watermarks(start, root, clock):
    start(lambda: {TP: 0}).get_or_create(TP)
    clock.advance(61_000)
    checkpoints = list(root.glob("*-checkpoint"))
    for path in checkpoints:
        os.utime(path, (0, 0))
    clock.advance(61_000)
    assert [path.name for path in checkpoints if path.stat().st_mtime] == ["replication-offset-checkpoint"]


def test_a_quiet_directory_is_noticed_that_is_gone(start, root, clock, failures):
    start(lambda: {TP: 0}).get_or_create(TP)
    clock.advance(61_000)
    assert not failures
    root.rename(root.with_name("gone"))
    clock.advance(5_000)
    assert failures


def test_retention_runs_periodically(start, clock, make_batch):
    manager = start(lambda: {TP: 2}, **{"log.retention.ms": "1000", "log.roll.ms": "1000"})
    log = manager.get_or_create(TP).value
    log.append(make_batch(1), 0)
    clock.advance(2000)
    log.append(make_batch(1), 0)
    clock.advance(30_000)

    assert log.log_start_offset == 2


def test_flush_ms(start, clock, make_batch):
    manager = start(**{"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "500"})
    log = manager.get_or_create(TP).value
    log.append(make_batch(1), 0)
    clock.advance(31_000)
    assert log.recovery_point == 1


def test_a_failing_disk_is_told(start, clock, disk, failures):
    manager = start(lambda: {TP: 1})
    manager.get_or_create(TP)
    disk.fails_to_sync = True
    clock.advance(5000)
    assert failures
    with pytest.raises(StorageError):
        asyncio.run(manager.close())


# --- many logs


@pytest.fixture
def synced(monkeypatch):
    """What is brought to disk, by its directory and name."""
    names: list[str] = []

    def noted(method):
        def called(disk, path, *args):
            names.append(f"{path.parent.name}/{path.name}")
            return method(disk, path, *args)

        return called

    for name in ("note_sync", "sync"):
        monkeypatch.setattr(FaultyDisk, name, noted(getattr(FaultyDisk, name)))
    return names


def append(log, make_batch):
    assert log.append(memoryview(make_batch(2)), leader_epoch=0).error_code == 0


@replaces("barnabas.broker.log.partition_log")
def test_what_is_done_to_all_logs_leaves_others_their_turns(start, clock, monkeypatch):
    """And leaves out what is closed before its turn."""
    manager = start(**{"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "60000"})
    logs = [manager.get_or_create(TopicPartition("t", index)).value for index in range(300)]
    flushed: list[PartitionLog] = []
    seen: list[int] = []

    def flush(log):
        if not flushed:
            # This is the first of what comes next: the others' turn.
            clock.call_later(0, lambda: seen.append(len(flushed)))
            logs[-1].close()
        flushed.append(log)

    monkeypatch.setattr(PartitionLog, "flush", flush)
    clock.advance(31_000)
    assert seen[0] < 300
    assert flushed == logs[:-1]


def test_a_log_that_nothing_happened_to_is_closed_without_the_disk(start, root, make_batch, synced):
    manager = start()
    for index in range(3):
        append(manager.get_or_create(TopicPartition("t", index)).value, make_batch)
    asyncio.run(manager.close())
    files = {path: path.stat().st_mtime_ns for path in root.glob("t-*/*")}
    manager = start()
    append(manager.get(TopicPartition("t", 1)), make_batch)
    synced.clear()
    asyncio.run(manager.close())
    assert any(name.startswith("t-1/") for name in synced)
    assert not [name for name in synced if name.startswith(("t-0", "t-2"))]
    now = {path: path.stat().st_mtime_ns for path in root.glob("t-*/*")}
    assert {path.parent.name for path in now if now[path] != files.get(path)} == {"t-1"}
    assert (root / ".kafka_cleanshutdown").exists()


def test_a_log_that_was_cut_and_grew_to_its_old_end_is_brought_to_disk(start, root, make_batch, disk):
    manager = start()
    log = manager.get_or_create(TP).value
    append(log, make_batch)
    append(log, make_batch)
    asyncio.run(manager.close())
    manager = start()
    log = manager.get(TP)
    log.truncate(2)
    append(log, make_batch)
    assert log.log_end_offset == 4
    data = (log.directory / "00000000000000000000.log").read_bytes()
    asyncio.run(manager.close())
    disk.crash()
    assert (log.directory / "00000000000000000000.log").read_bytes() == data


def test_what_was_recovered_is_brought_to_disk_a_little_at_a_time(start, make_batch, disk, make_manager, monkeypatch):
    manager = start()
    for index in range(5):
        append(manager.get_or_create(TopicPartition("t", index)).value, make_batch)
    disk.kill()
    executor = ManualExecutor()
    manager = make_manager()
    asyncio.run(loaded(manager))
    for index in range(5):
        monkeypatch.setattr(manager.get(TopicPartition("t", index))._work, "_executor", executor)
    manager.watch_high_watermarks(dict)

    def on_disk() -> int:
        return sum(manager.get(TopicPartition("t", index)).recovery_point == 2 for index in range(5))

    assert (executor.waiting_count, on_disk()) == (2, 0)
    executor.run_all()
    assert (executor.waiting_count, on_disk()) == (0, 5)
