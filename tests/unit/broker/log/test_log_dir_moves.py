"""Logs on their way from one directory of `log.dirs` to another, written to meanwhile."""

import asyncio
import logging
from contextlib import contextmanager
from random import Random

import pytest

from barnabas.broker.log.log_dir_moves import common_end
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.formats import iterate_any_records

T0 = TopicPartition("t", 0)


class Switchable(ManualExecutor):
    """Works at once until `is_manual`."""

    is_manual = False

    def run(self, work, then, failed):
        super().run(work, then, failed)
        if not self.is_manual:
            self.run_all()

    @contextmanager
    def held(self):
        """Keep the work that waits now until the end."""
        kept, self._waiting = self._waiting, []
        yield
        self._waiting = kept + self._waiting


class Logs:
    """A log manager over two directories, with what was appended to its one log."""

    def __init__(self, root, clock, disk, failures):
        self.paths = {name: root / name for name in "ab"}
        self.clock, self.disk, self.failures = clock, disk, failures
        self.topic = {"segment.bytes": "2000", "segment.index.bytes": "1000000"}
        self.batches: list[bytes] = []
        self.is_appending = False
        self.start()

    def start(self):
        self.executor = Switchable()
        self.config = BrokerConfig.from_properties({"log.dirs": ",".join(map(str, self.paths.values()))}, None, "test")
        self.manager = LogManager(
            self.config,
            self.clock,
            self.clock,
            self.executor,
            lambda _: TopicConfig.from_broker(self.config).with_overrides(self.topic),
            self.failures.append,
            files=self.disk,
            dice=Random(1),
        )
        self.manager.is_appending = lambda _: self.is_appending

        async def run():
            await self.manager.lock()
            await self.manager.load("cluster", 1)

        asyncio.run(run())
        self.executor.is_manual = True
        self.manager.watch_high_watermarks(lambda: {T0: self.log.log_end_offset} if self.manager.get(T0) else {})

    def create(self):
        self.manager.get_or_create(T0)
        self.finish()

    def set_segment_bytes(self, size):
        self.topic["segment.bytes"] = str(size)
        self.log.update_config(TopicConfig.from_broker(self.config).with_overrides(self.topic))

    @property
    def log(self):
        return self.manager.get(T0)

    def append(self, value=b"v" * 100, count=1, key=b"k", **producer):
        """Append batches of one record, as many as said."""
        for _ in range(count):
            builder = BatchBuilder(**producer)
            builder.append(self.clock.now_ms(), key, value)
            self.place(builder.build())

    def place(self, batch):
        data = memoryview(bytearray(batch))
        assert not self.log.append(data, 3, is_client=False).error_code
        self.batches.append(bytes(data))

    def move(self, name):
        directory = next(each for each in self.manager.directories.all if each.path == self.paths[name])
        self.manager.assign_directory(T0, directory)

    def work_until(self, condition):
        """Let one piece of work after the other end until something has come."""
        while not condition():
            assert self.executor.waiting_count
            self.executor.run_next()

    def begin(self, name="b", least_copied=1):
        """Begin a move, and copy some."""
        self.move(name)
        self.work_until(lambda: (future := self.manager.moves[T0].future) and future.log_end_offset >= least_copied)

    def finish(self):
        """Let all work end, what has to wait for a moment too."""
        for _ in range(100):
            self.executor.run_all()
            self.clock.advance(1)
            if not self.executor.waiting_count and not self.manager.moves:
                return

    def names(self, name):
        return sorted(each.name for each in self.paths[name].iterdir() if each.is_dir())

    def stop(self):
        async def run():
            closing = asyncio.get_running_loop().create_task(self.manager.close())
            while not closing.done():
                await asyncio.sleep(0)
                if self.executor.waiting_count:
                    self.executor.run_next()
            await closing

        asyncio.run(run())

    def kill(self):
        self.disk.kill()
        for log in map(self.manager.get, self.manager.topic_partitions):
            log.is_closed = True

    def check(self):
        """The log holds all that was appended, from its start on, and reads the same."""
        log = self.log
        found = [bytes(each) for each in log.batches(log.log_start_offset, log.log_end_offset)]
        assert found == [each for each in self.batches if read_header(each).last_offset >= log.log_start_offset]
        assert log.log_end_offset == (read_header(self.batches[-1]).last_offset + 1 if self.batches else 0)
        assert self.failures == []


@pytest.fixture
def logs(tmp_path, clock, disk, failures):
    made = Logs(tmp_path, clock, disk, failures)
    made.create()
    assert made.names("a") == ["t-0"]
    return made


@pytest.fixture
def compacted(logs):
    """A log that the cleaner would clean at once."""
    logs.topic |= {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    logs.set_segment_bytes(2_000)
    for number in range(40):
        logs.append(key=b"once-%d" % number)
        logs.append(b"%d" % number, key=b"often")
    logs.executor.run_all()
    assert len(logs.log.segments) > 4
    return logs


def newest(batches):
    """The newest value of each key."""
    return {bytes(record.key): record.value for batch in batches for record in iterate_any_records(memoryview(batch))}


def test_a_log_moves_with_all_that_is_appended_meanwhile(logs):
    moved = []
    logs.manager.on_moved = moved.append
    logs.append(count=50)
    before = logs.log
    logs.move("b")
    while logs.executor.waiting_count:
        assert len(logs.batches) < 1_000
        logs.append()
        logs.executor.run_next()
        if logs.log is before:
            assert logs.names("a") == ["t-0"]
    assert moved == [logs.log]
    assert logs.log.directory == logs.paths["b"] / "t-0"
    assert len(logs.log.segments) > 5
    logs.append()
    logs.finish()
    logs.check()
    assert before.is_closed
    (deleted,) = logs.names("a")
    assert deleted.startswith("t-0.")
    assert deleted.endswith("-delete")
    assert logs.names("b") == ["t-0"]
    logs.clock.advance(61_000)
    logs.executor.run_all()
    assert logs.names("a") == []
    # The checkpoints speak of it where it stands now.
    assert "t 0" not in (logs.paths["a"] / "recovery-point-offset-checkpoint").read_text()
    assert "t 0" in (logs.paths["b"] / "recovery-point-offset-checkpoint").read_text()
    logs.stop()
    logs.start()
    assert logs.log.directory == logs.paths["b"] / "t-0"
    logs.check()


def test_the_copy_has_kafkas_name_and_is_told_of(logs):
    logs.append(count=20)
    logs.move("b")
    logs.work_until(lambda: logs.names("b"))
    (name,) = logs.names("b")
    assert name.startswith("t-0.")
    assert name.endswith("-future")
    assert len(name) == len("t-0.") + 32 + len("-future")
    assert logs.manager.moves[T0].future.log_end_offset == 0
    logs.finish()
    assert not logs.manager.moves


def test_producers_transactions_and_epochs_move_too(logs):
    def in_transaction(sequence, producer_id=7):
        logs.append(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True)

    in_transaction(0)
    in_transaction(0, 8)
    logs.place(build_marker(7, 0, EndTransactionMarker(MarkerType.ABORT, 1), logs.clock.now_ms()))
    in_transaction(1)
    logs.append()
    before = logs.log
    before.note_high_watermark(before.log_end_offset)
    aborted = before.aborted_transactions(0, before.read(0, 10_000, 5))
    assert aborted
    logs.move("b")
    logs.finish()
    log = logs.log
    assert log is not before
    log.note_high_watermark(log.log_end_offset)
    assert log.producers.first_unstable_offset == before.producers.first_unstable_offset
    assert log.latest_epoch == before.latest_epoch == 3
    assert log.end_offset_for_epoch(3) == (3, log.log_end_offset)
    part = log.read(0, 10_000, log.log_end_offset)
    assert log.aborted_transactions(0, part) == aborted
    logs.check()


def test_a_log_that_moves_back_stays(logs):
    logs.set_segment_bytes(100_000)
    logs.append(b"v" * 9_000, count=20)
    before = logs.log
    logs.begin()
    assert logs.names("b") != []
    logs.move("a")
    logs.finish()
    assert logs.log is before
    assert (logs.names("a"), logs.names("b")) == (["t-0"], [])
    # And again.
    logs.move("b")
    logs.finish()
    assert (logs.log.directory.parent, logs.names("b")) == (logs.paths["b"], ["t-0"])
    logs.check()


def test_a_log_that_is_deleted_takes_its_copy_along(logs):
    logs.append(count=20)
    logs.begin()
    deleted = logs.manager.delete(T0)
    logs.executor.run_next()
    assert not deleted.is_done
    logs.finish()
    assert deleted.is_done
    assert logs.names("b") == []
    assert logs.manager.moves == {}
    logs.batches.clear()
    logs.create()
    logs.check()


@pytest.mark.parametrize("is_appended", [False, True])
def test_a_log_that_is_deleted_just_after_its_move_takes_the_old_one_along(logs, is_appended):
    logs.append(count=20)
    logs.begin(least_copied=20)
    if is_appended:
        logs.append()
    logs.work_until(lambda: not logs.manager.moves)
    assert (logs.names("a"), logs.names("b")) == (["t-0"], ["t-0"])
    with logs.executor.held():
        # The old log is still being flushed.
        deleted = logs.manager.delete(T0)
        made = logs.manager.get_or_create(T0)
        logs.executor.run_all()
        assert (deleted.is_done, made.is_done) == (False, False)
    logs.work_until(lambda: deleted.is_done)
    assert "t-0" not in logs.names("a") + logs.names("b")
    logs.finish()
    logs.batches.clear()
    logs.check()
    logs.append(count=3)
    logs.clock.advance(61_000)
    logs.finish()
    assert sorted(logs.names("a") + logs.names("b")) == ["t-0"]
    logs.stop()
    logs.start()
    logs.check()


@pytest.mark.parametrize("broken", ["a", "b"])
def test_a_log_that_can_not_be_deleted_just_after_its_move_is_told_and_the_other_one_is_gone(logs, broken):
    logs.append(count=20)
    logs.begin(least_copied=20)
    logs.work_until(lambda: not logs.manager.moves)
    logs.disk.fails_to_rename = logs.paths[broken] / "t-0"
    deleted = logs.manager.delete(T0)
    logs.finish()
    assert isinstance(deleted.value, StorageError)
    logs.manager.get_or_create(T0)
    logs.finish()
    assert logs.manager.get(T0) is None
    assert [name for name in ("a", "b") if "t-0" in logs.names(name)] == [broken]


def test_a_log_that_moves_back_waits_for_the_end_of_the_old_one(logs):
    logs.append(count=20)
    logs.begin(least_copied=20)
    logs.work_until(lambda: not logs.manager.moves)
    with logs.executor.held():
        logs.move("a")
        for _ in range(10):
            logs.executor.run_all()
            logs.clock.advance(1)
    logs.finish()
    assert logs.log.directory == logs.paths["a"] / "t-0"
    logs.check()


def test_a_log_is_cleaned_only_after_its_move(compacted):
    logs = compacted

    def wait():
        for _ in range(40):
            logs.clock.advance(1_000)
            logs.executor.run_all()

    # Nearly complete.
    logs.is_appending = True
    logs.move("b")
    before = list(logs.log.segments)
    wait()
    assert logs.manager.cleaner
    assert logs.manager.moves
    assert logs.log.segments == before
    # Its old segments go nevertheless.
    logs.log.increment_log_start_offset(before[2].base_offset)
    wait()
    assert logs.log.segments == before[2:]
    logs.is_appending = False
    logs.finish()
    assert logs.log.directory.parent == logs.paths["b"]
    logs.check()
    size_bytes = logs.log.size_bytes
    wait()
    assert logs.log.size_bytes < size_bytes
    assert newest(logs.log.batches(0, logs.log.log_end_offset)) == newest(logs.batches[before[2].base_offset :])


@pytest.mark.parametrize("step_count", range(5))
def test_a_move_waits_until_a_round_of_the_cleaner_has_ended(compacted, step_count):
    logs = compacted
    logs.clock.advance(1_000)
    logs.executor.run_all()
    logs.clock.advance(0)
    cleaner = logs.manager.cleaner
    for _ in range(step_count):
        logs.executor.run_next()
    assert cleaner.is_cleaning(T0)
    with logs.executor.held():
        logs.move("b")
        for _ in range(20):
            logs.executor.run_all()
            logs.clock.advance(1)
        assert logs.manager.moves[T0].future.log_end_offset == 0
    while logs.manager.moves:
        logs.executor.run_all()
        logs.clock.advance(1)
        assert not (cleaner.is_cleaning(T0) and logs.manager.moves and logs.manager.moves[T0].future.log_end_offset)
    assert logs.log.directory.parent == logs.paths["b"]
    assert newest(logs.log.batches(0, logs.log.log_end_offset)) == newest(logs.batches)
    assert logs.failures == []
    assert len(logs.manager.directories.online) == 2


def test_a_log_begins_where_it_is_wanted(logs):
    other = TopicPartition("u", 0)
    directory = next(each for each in logs.manager.directories.all if each.path == logs.paths["a"])
    # Where fewer logs are would be b.
    logs.manager.assign_directory(other, directory)
    logs.manager.get_or_create(other)
    logs.finish()
    assert logs.manager.get(other).directory.parent == logs.paths["a"]


def test_old_records_that_go_meanwhile_do_not_come_back(logs):
    logs.append(count=60)
    logs.begin()
    logs.log.increment_log_start_offset(45)
    logs.log.delete_oldest_segments(2)
    logs.executor.run_next()
    logs.finish()
    assert (logs.log.directory.parent, logs.log.log_start_offset) == (logs.paths["b"], 45)
    logs.check()


def test_records_that_go_when_they_were_copied_already_do_not_come_back(logs):
    logs.append(count=60)
    logs.begin(least_copied=50)
    assert logs.manager.moves[T0].future.log_end_offset < 60
    logs.log.increment_log_start_offset(45)
    logs.finish()
    assert (logs.log.directory.parent, logs.log.log_start_offset) == (logs.paths["b"], 45)
    logs.check()


def test_retention_that_is_faster_than_the_copy(logs):
    logs.append(count=60)
    logs.begin()
    logs.log.delete_oldest_segments(len(logs.log.segments) - 1)
    logs.finish()
    assert logs.log.directory.parent == logs.paths["b"]
    assert logs.log.log_start_offset > 0
    logs.check()


def test_an_append_that_is_being_prepared_is_waited_for(logs):
    logs.append()
    before = logs.log
    logs.is_appending = True
    logs.move("b")
    for _ in range(10):
        logs.executor.run_all()
        logs.clock.advance(1)
    assert logs.log is before
    logs.append()
    logs.is_appending = False
    logs.finish()
    assert logs.log is not before
    logs.check()


def test_a_move_goes_as_fast_as_it_may(logs):
    logs.set_segment_bytes(100_000_000)
    logs.append(b"v" * 10_000, count=200)
    logs.config.default_overrides["replica.alter.log.dirs.io.max.bytes.per.second"] = "1000000"
    started_ms = logs.clock.now_ms()
    logs.move("b")
    before = logs.log
    while logs.log is before:
        logs.executor.run_all()
        logs.clock.advance(10)
        assert logs.clock.now_ms() - started_ms < 10_000
    # Two million bytes.
    assert 1_900 <= logs.clock.now_ms() - started_ms <= 2_200
    logs.finish()
    logs.check()


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_restart_goes_on_with_it(logs, is_clean):
    logs.set_segment_bytes(1_000_000)
    logs.append(b"v" * 60_000, count=40)
    logs.begin()
    copied_to = logs.manager.moves[T0].future.log_end_offset
    assert 0 < copied_to < 40
    (name,) = logs.names("b")
    logs.append()
    if is_clean:
        logs.stop()
    else:
        logs.kill()
    assert logs.names("b") == [name]
    logs.start()
    assert logs.log.directory.parent == logs.paths["a"]
    logs.append()
    logs.work_until(lambda: logs.manager.moves[T0].future)
    assert logs.manager.moves[T0].future.log_end_offset == copied_to
    logs.finish()
    assert logs.log.directory == logs.paths["b"] / "t-0"
    logs.check()


def test_of_two_logs_that_a_kill_left_the_longer_one_stays(logs, caplog):
    logs.append()
    logs.is_appending = True
    logs.move("b")
    logs.work_until(lambda: logs.names("b") == ["t-0"])
    # Named, and not yet in the log's place; the log goes on.
    assert logs.log.directory.parent == logs.paths["a"]
    logs.append()
    logs.kill()
    logs.is_appending = False
    with caplog.at_level(logging.WARNING):
        logs.start()
    logs.check()
    logs.finish()
    logs.clock.advance(61_000)
    logs.executor.run_all()
    assert sorted(logs.names("a") + logs.names("b")) == ["t-0"]
    logs.check()


@pytest.mark.parametrize("step_count", range(0, 32, 2))
def test_a_power_cut_takes_nothing_that_was_on_disk(logs, step_count):
    logs.set_segment_bytes(20_000)
    logs.append(b"v" * 1_000, count=40)
    logs.log.flush()
    logs.finish()
    assert logs.log.recovery_point == logs.log.log_end_offset
    logs.move("b")
    for _ in range(step_count):
        if logs.executor.waiting_count:
            logs.executor.run_next()
    for log in map(logs.manager.get, logs.manager.topic_partitions):
        log.is_closed = True
    logs.disk.crash()
    logs.start()
    logs.finish()
    logs.check()
    logs.move("b")
    logs.finish()
    assert logs.log.directory == logs.paths["b"] / "t-0"
    logs.check()


def test_a_copy_of_a_log_that_is_not_there_is_left_alone(logs, caplog):
    logs.stop()
    stray = logs.paths["b"] / f"gone-0.{'0' * 32}-future"
    stray.mkdir()
    with caplog.at_level(logging.WARNING):
        logs.start()
    logs.finish()
    assert stray.is_dir()
    assert "is a copy of a log that does not exist" in caplog.text


def test_a_directory_that_fails_ends_the_move_and_not_the_log(logs):
    logs.append(count=20)
    logs.begin()
    before = logs.log
    logs.disk.fails_to_sync_under = logs.paths["b"]
    logs.finish()
    logs.disk.fails_to_sync_under = None
    assert logs.log is before
    assert not logs.manager.moves
    assert [path for path in logs.paths if logs.paths[path] in {each.path for each in logs.manager.directories}] == [
        "a"
    ]
    logs.append()
    logs.check()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_meanwhile_nothing_is_lost(logs, seed):
    """Appends, restarts, kills, moves to and fro, and records that are deleted, in any order."""
    dice = Random(seed)
    print(f"seed {seed}")
    for _ in range(120):
        match dice.randrange(16):
            case 0:
                logs.move(dice.choice("ab"))
            case 1:
                logs.kill()
                logs.start()
            case 2 if dice.random() < 0.5:
                logs.stop()
                logs.start()
            case 3 if logs.log.log_end_offset:
                logs.log.increment_log_start_offset(dice.randint(0, logs.log.log_end_offset // 2))
                logs.manager._checkpoints.write_log_start_offsets()
            case 4:
                logs.log.flush()
            case 5:
                logs.clock.advance(dice.choice([1, 100, 61_000]))
            case 6 if len(logs.log.segments) > 3:
                logs.log.delete_oldest_segments(dice.randint(1, len(logs.log.segments) - 2))
            case 7 | 8 | 9 | 10:
                logs.append(b"v" * dice.choice([1, 100, 1500]))
            case _ if logs.executor.waiting_count:
                logs.executor.run_next()
    logs.finish()
    logs.check()
    logs.move("b")
    logs.finish()
    assert logs.log.directory == logs.paths["b"] / "t-0"
    logs.check()


@pytest.mark.parametrize("copied", [0, 1, 20, 40])
@pytest.mark.parametrize("cut_offset", [0, 5, 30])
@pytest.mark.parametrize("is_anew", [False, True])
def test_a_log_that_is_cut_and_grows_again_while_it_moves(logs, copied, cut_offset, is_anew):
    logs.set_segment_bytes(100_000)
    logs.append(b"v" * 9_000, count=40)
    logs.begin(least_copied=copied)
    cut = logs.log.truncate_fully_and_start_at(cut_offset) if is_anew else logs.log.truncate(cut_offset)
    logs.batches = [] if is_anew else logs.batches[:cut_offset]
    logs.work_until(lambda: cut.is_done)
    logs.append(b"w" * 9_000, count=50)
    logs.finish()
    assert logs.log.directory == logs.paths["b"] / "t-0"
    logs.check()


def test_a_log_that_is_cut_while_it_is_read_moves_on(logs):
    logs.set_segment_bytes(100_000)
    logs.append(b"v" * 900, count=40)
    logs.move("b")
    logs.work_until(lambda: (move := logs.manager.moves[T0]).future is not None and move.is_busy)
    with logs.executor.held():
        cut = logs.log.truncate(30)
        logs.batches = logs.batches[:30]
        logs.work_until(lambda: cut.is_done)
    logs.append(b"w" * 90, count=5)
    logs.finish()
    assert logs.log.directory == logs.paths["b"] / "t-0"
    logs.check()


@pytest.mark.parametrize(
    ("source_epochs", "copy_epochs", "end_offset"),
    [
        ([0, 0, 0, 0], [0, 0, 0], 3),
        ([0, 0], [0, 0, 0], 2),
        ([0, 0, 2, 2], [0, 0, 0, 1], 2),
        ([0, 0, 2, 2], [0, 1, 1], 1),
        ([2, 2, 2], [1, 1], 0),
        ([0, 0, 3, 3], [0, 0, 3], 3),
    ],
)
def test_a_copy_that_is_found_is_kept_up_to_where_the_epochs_part(
    env, topic_config, tmp_path, make_batch, source_epochs, copy_epochs, end_offset
):
    source, copy = (open_log(env, T0, tmp_path / name, topic_config()) for name in ("log", "copy"))
    for log, epochs in ((source, source_epochs), (copy, copy_epochs)):
        for epoch in epochs:
            log.append(make_batch(1), epoch)
    assert common_end(source, copy) == end_offset
