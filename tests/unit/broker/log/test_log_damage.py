"""Damaged data costs its own partition only: the broker, and all other logs, go on."""

import asyncio
import os
import struct

import pytest

from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError
from tests.unit.broker.log.conftest import started

BAD = TopicPartition("bad", 0)
GOOD = TopicPartition("good", 0)
BATCHES_PER_SEGMENT = 3
CHECKPOINTS = ("recovery-point", "replication", "log-start", "cleaner")


@pytest.fixture
def start(make_manager, make_batch):
    """Start a manager over what is in the directory."""
    settings = {"log.segment.bytes": str(BATCHES_PER_SEGMENT * len(make_batch()))}
    return lambda high_watermarks=dict, **changes: started(make_manager(settings | changes), high_watermarks)


@pytest.fixture
def written(start, root, make_batch):
    """Two logs of three segments each, closed cleanly; gives their segments' files by partition."""
    manager = start(lambda: {BAD: 9, GOOD: 9})
    for key in (BAD, GOOD):
        log = manager.get_or_create(key).value
        for _ in range(3 * BATCHES_PER_SEGMENT):
            log.append(make_batch(), 0)
        log.increment_log_start_offset(1)
    asyncio.run(manager.close())
    (root / "cleaner-offset-checkpoint").write_text("0\n1\nbad 0 1\n")
    return {key: sorted((root / str(key)).glob("*.log")) for key in (BAD, GOOD)}


def damage(path, batch_bytes, batch=1):
    """Let a batch have no length; gives its position."""
    position = batch * batch_bytes
    data = bytearray(path.read_bytes())
    struct.pack_into(">i", data, position + 8, 0)
    path.write_bytes(data)
    return position


def cut_short(path, batch_bytes):
    """Let a segment end within its second batch; gives that batch's position."""
    os.truncate(path, batch_bytes + 30)
    return batch_bytes


def damage_indexes(path):
    path.with_suffix(".index").write_bytes(struct.pack(">ii", 1, 1 << 30))
    path.with_suffix(".timeindex").write_bytes(b"")


def checkpoints(root):
    return {name: sorted((root / f"{name}-offset-checkpoint").read_text().splitlines()) for name in CHECKPOINTS}


def offsets(log, start, end):
    from barnabas.wire.records.batch import read_header

    return [read_header(batch).base_offset for batch in log.batches(start, end)]


# --- while the broker runs


@pytest.fixture
def half_readable(written, make_batch):
    """The first segment of a log is damaged, its indexes too; gives the line that must be logged."""
    path = written[BAD][0]
    position = damage(path, len(make_batch()))
    damage_indexes(path)
    return f"{path}: batch length 0 at position {position}"


def test_retention_of_a_damaged_segment_ends_nothing(
    start, written, half_readable, clock, failures, caplog, make_batch
):
    os.utime(written[BAD][0], (clock.now_ms() / 1000, clock.now_ms() / 1000))
    manager = start(lambda: {BAD: 9, GOOD: 9}, **{"log.retention.ms": "600000"})
    clock.advance(301_000)
    assert failures == []
    assert len([line for line in caplog.messages if half_readable in line]) == 1
    bad = manager.get(BAD)
    assert bad.log_start_offset == 1
    with pytest.raises(CorruptRecordsError, match="position"):
        bad.read(1, 1000, 9)
    assert offsets(bad, 3, 9) == [3, 4, 5, 6, 7, 8]
    assert bad.append(make_batch(), 0).base_offset == 9
    # It goes by the age of its file, as Kafka's segments without timestamps do.
    clock.advance(600_000)
    assert (bad.log_start_offset, manager.get(GOOD).log_start_offset) == (9, 9)
    assert failures == []


def test_what_comes_before_the_damage_is_read(start, written, make_batch, half_readable):
    log = start().get(BAD)
    log.log_start_offset = 0
    part = log.read(0, len(make_batch()), 9)
    assert (part.position, part.length) == (0, len(make_batch()))


def test_indexes_of_a_damaged_segment_are_found_wrong_again(start, written, half_readable, caplog):
    before = written[BAD][0].with_suffix(".index").read_bytes()
    for _ in range(2):
        manager = start(**{"log.retention.ms": "1"})
        manager.get(BAD).segments[0].largest_timestamp()
        asyncio.run(manager.close())
    assert len([line for line in caplog.messages if half_readable in line]) == 2
    assert written[BAD][0].with_suffix(".index").read_bytes() == before


def test_retention_goes_on_with_the_other_directory(tmp_path, start, clock, disk, failures, make_batch, monkeypatch):
    """A disk that fails for one log does not end the pass over the logs of another disk."""
    paths = [tmp_path / "a", tmp_path / "b"]
    manager = start(lambda: {BAD: 9, GOOD: 9}, **{"log.dirs": f"{paths[0]},{paths[1]}", "log.retention.ms": "1000"})
    for key in (BAD, GOOD):
        for _ in range(3 * BATCHES_PER_SEGMENT):
            manager.get_or_create(key).value.append(make_batch(), 0)
    bad = manager.get(BAD)
    rename = disk.rename

    def failing(_, source, target):
        if source.is_relative_to(bad.directory):
            raise StorageError(f"{source}: Input/output error", source)
        rename(source, target)

    monkeypatch.setattr(type(disk), "rename", failing)
    clock.advance(31_000)
    assert failures == []
    assert manager.get(BAD) is None
    assert manager.get(GOOD).log_start_offset == 9


def test_a_flush_that_fails_at_once_takes_its_logs_away(tmp_path, start, clock, disk, failures, make_batch):
    """The pass over all logs that are due goes on while a failing one takes its directory offline."""
    paths = [tmp_path / "a", tmp_path / "b"]
    settings = {"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "500"}
    manager = start(**{"log.dirs": f"{paths[0]},{paths[1]}", **settings})
    keys = [TopicPartition("t", index) for index in range(6)]
    for key in keys:
        manager.get_or_create(key).value.append(make_batch(), 0)
    assert manager.get(keys[0]).directory.parent == paths[0]
    disk.fails_to_sync_under = manager.get(keys[0]).directory
    clock.advance(31_000)
    left = [manager.get(key) for key in keys if manager.get(key) is not None]
    assert [log.directory.parent for log in left] == [paths[1]] * 3
    assert [log.recovery_point for log in left] == [1, 1, 1]
    assert failures == []


def test_after_a_failed_fsync_of_the_only_disk_nothing_is_marked_clean(start, root, disk, clock, failures, make_batch):
    manager = start()
    log = manager.get_or_create(GOOD).value
    log.append(make_batch(), 0)
    disk.fails_to_sync = True
    log.flush()
    assert len(failures) == 1
    # The next fsync says that all is well, and yet the pages may be lost.
    disk.fails_to_sync = False
    asyncio.run(manager.close())
    assert not (root / ".kafka_cleanshutdown").exists()


def test_a_truncation_that_meets_damage_takes_only_its_log_offline(start, root, written, make_batch, failures):
    damage(written[BAD][1], len(make_batch()), batch=0)
    manager = start(lambda: {GOOD: 9})
    offline = []
    manager.on_offline = offline.append
    truncated = manager.get(BAD).truncate(5)
    assert isinstance(truncated.error, CorruptRecordsError)
    assert (failures, offline) == ([], [[BAD]])
    assert manager.get(BAD) is None
    assert manager.is_damaged(BAD)
    assert manager.get_or_create(BAD).value is None
    assert manager.get(GOOD).append(make_batch(), 0).base_offset == 9
    asyncio.run(manager.close())
    # The next start recovers it: it ends before the damage, and the rest comes from the leader.
    manager = start(lambda: {GOOD: 9})
    assert (manager.get(BAD).log_end_offset, manager.get(GOOD).log_end_offset) == (3, 10)
    assert failures == []


# --- at the start


@pytest.mark.parametrize(
    ("change", "reason"),
    [(damage, ": batch length 0 at position {}"), (cut_short, " ends within the batch at position {}")],
)
def test_a_log_that_cant_be_opened_is_offline(start, root, written, make_batch, caplog, failures, change, reason):
    path = written[BAD][-1]
    line = f"{path}{reason}".format(change(path, len(make_batch())))
    before = checkpoints(root)
    content = path.read_bytes()
    manager = start(lambda: {GOOD: 9})
    assert [message for message in caplog.messages if line in message]
    assert manager.get(BAD) is None
    assert manager.get_or_create(BAD).value is None
    assert manager.get(GOOD).append(make_batch(), 0).base_offset == 9
    asyncio.run(manager.close())
    # All that is known of it stays, for the day when it is mended.
    after = checkpoints(root)
    assert after == before | {"recovery-point": ["0", "2", "bad 0 9", "good 0 10"]}
    assert before["cleaner"] == ["0", "1", "bad 0 1"]
    assert (root / ".kafka_cleanshutdown").exists()
    assert path.read_bytes() == content
    assert failures == []


@pytest.mark.parametrize("error", [CorruptRecordsError("snapshot does not match the log"), OverflowError()])
def test_a_damaged_log_that_was_not_closed_is_recovered_later(start, root, written, make_batch, monkeypatch, error):
    """Opened after a kill, it is damaged below what recovery looks at; the directory is not called clean."""
    (root / ".kafka_cleanshutdown").unlink()
    monkeypatch.setattr("barnabas.broker.log.startup.loading.open_log", _refusing(BAD, error))
    manager = start(lambda: {GOOD: 9})
    assert manager.is_damaged(BAD)
    assert manager.get(GOOD).append(make_batch(), 0).base_offset == 9
    asyncio.run(manager.close())
    assert not (root / ".kafka_cleanshutdown").exists()


def _refusing(refused, error):
    from barnabas.broker.log.startup.recovery import open_log

    def refuse(env, topic_partition, *arguments, **named):
        if topic_partition == refused:
            raise error
        return open_log(env, topic_partition, *arguments, **named)

    return refuse


def test_a_damaged_log_can_be_deleted(start, root, clock, written, make_batch):
    damage(written[BAD][-1], len(make_batch()))
    manager = start()
    manager.delete(BAD)
    assert not (root / str(BAD)).exists()
    assert "bad" not in (root / "cleaner-offset-checkpoint").read_text()
    assert manager.get_or_create(BAD).value.log_end_offset == 0
    clock.advance(60_000)
    assert not list(root.glob("*-delete"))


@pytest.mark.parametrize("segment", [0, -1], ids=["old segment", "last segment"])
@pytest.mark.parametrize(
    ("suffix", "entry"), [(".index", struct.pack(">ii", 1, -1)), (".timeindex", struct.pack(">qi", 5, -1))]
)
def test_an_index_with_negative_numbers_is_rebuilt(start, written, failures, segment, suffix, entry):
    path = written[BAD][segment].with_suffix(suffix)
    path.write_bytes(entry)
    manager = start(lambda: {BAD: 9, GOOD: 9}, **{"log.index.interval.bytes": "0"})
    log = manager.get(BAD)
    assert offsets(log, 0, 9) == list(range(9))
    base_offset = log.segments[segment].base_offset
    assert log.read(base_offset + 2, 1000, 9).position > 0
    assert log.segments[segment].largest_timestamp() > 5
    assert path.read_bytes() != entry
    assert failures == []


def test_a_segment_without_index_costs_only_what_is_damaged_in_it(start, written, make_batch):
    """As in Kafka: the segment is recovered, and those that follow stay."""
    damage(written[BAD][0], len(make_batch()))
    written[BAD][0].with_suffix(".index").unlink()
    log = start().get(BAD)
    assert offsets(log, 0, 9) == [0, 3, 4, 5, 6, 7, 8]
    assert log.log_end_offset == 9


def test_a_damaged_log_goes_with_its_directory(tmp_path, start, root, written, make_batch, failures):
    damage(written[BAD][-1], len(make_batch()))
    manager = start(**{"log.dirs": f"{root},{tmp_path / 'other'}"})
    manager.note_failure(StorageError("Input/output error", root))
    manager.delete(BAD)
    assert (root / str(BAD)).exists(), "nobody touches what is in a directory that failed"
    assert manager.get_or_create(BAD).value.directory.parent == tmp_path / "other"
    assert failures == []
