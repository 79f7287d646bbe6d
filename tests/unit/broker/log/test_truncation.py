"""Cutting a log through its disk queue, and what everybody else does meanwhile."""

import asyncio
import gc
import time

import pytest

from barnabas.broker.log.appends.replicated_batches import check_replicated_batches
from barnabas.broker.log.cleaner.cleaner import Cleaner
from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.log.file_names import DELETED_SUFFIX, NEXT_FILE
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.retention import apply_retention, delete_segments
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import new_stop_signal
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import read_header


@pytest.fixture
def executor(env):
    env.executor = ManualExecutor()
    return env.executor


@pytest.fixture
def log(executor, open_partition_log, make_batch):
    """Ten batches of two records, three batches a segment, an epoch for every four."""
    log = open_partition_log(segment_bytes=3 * len(make_batch(2)), index_interval_bytes=0)
    for number in range(10):
        log.append(make_batch(2, timestamp_ms=number * 100), number // 4)
    executor.run_all()
    return log


def bases(log):
    return [read_header(batch).base_offset for batch in log.batches(log.log_start_offset, log.log_end_offset)]


def names(directory):
    return sorted(path.name for path in directory.iterdir() if path.suffix == ".log")


class TestMeanwhile:
    def test_the_log_ends_there_at_once_and_its_files_follow(self, executor, log):
        cut = log.truncate(8)
        assert (log.is_truncating, log.is_busy, log.log_end_offset, log.latest_epoch) == (True, True, 8, 0)
        assert len(names(log.directory)) == 4
        executor.run_all()

        assert cut.is_done
        assert (log.is_truncating, log.is_busy, bases(log)) == (False, False, [0, 2, 4, 6])
        assert names(log.directory) == ["00000000000000000000.log", "00000000000000000006.log"]

    def test_what_was_renamed_goes_after_file_delete_delay_ms(self, executor, log, clock):
        log.truncate(8)
        executor.run_all()
        deleted = [path for path in log.directory.iterdir() if path.name.endswith(f".log{DELETED_SUFFIX}")]
        assert len(deleted) == 2 + (log.directory / NEXT_FILE in deleted)
        clock.advance(60_000)
        executor.run_all()
        assert {path for path in deleted if path.exists()} <= {log.directory / NEXT_FILE}

    def test_readers_find_nothing(self, executor, log):
        log.truncate(8)
        assert log.read(0, 1_000, 8) is None
        assert log.offset_for_timestamp(0) is None
        with pytest.raises(ValueError, match="within"):
            log.read(9, 1_000, 9)
        executor.run_all()
        assert log.read(0, 1_000, 8) is not None

    def test_a_leaders_append_is_refused(self, executor, log, make_batch):
        log.truncate(8)
        assert log.append(make_batch(1), 5).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        executor.run_all()
        assert log.append(make_batch(1), 5).base_offset == 8

    def test_copies_wait_and_are_asked_for_again(self, executor, log, make_batch):
        log.truncate(8)
        batch = bytearray(make_batch(1))
        batch[7] = 8
        wanted, unwanted = (check_replicated_batches(memoryview(batch), 8) for _ in range(2))
        dropped = log.append_as_follower(unwanted, lambda: False)
        taken = log.append_as_follower(wanted, lambda: True)
        assert not dropped.is_done
        executor.run_all()
        assert dropped.is_done
        assert taken.is_done
        assert bases(log) == [0, 2, 4, 6, 8]

    def test_cuts_are_done_one_after_the_other(self, executor, log):
        cuts = [log.truncate(15), log.truncate_fully_and_start_at(30), log.truncate(40), log.truncate(7)]
        executor.run_next()
        assert [cut.is_done for cut in cuts] == [True, False, False, False]
        assert log.is_truncating
        executor.run_all()
        assert all(cut.is_done for cut in cuts)
        assert (log.log_start_offset, log.log_end_offset, log.is_truncating) == (7, 7, False)
        assert log.truncation_offsets == [15, 30, 7]

    def test_an_unexpected_error_fails_the_log_and_everything_that_waits(self, executor, env, log, failures):
        def fail(_: object) -> None:
            raise ZeroDivisionError

        env.write_checkpoints = fail
        log.flush()
        executor.run_all()
        cut, waiting = log.truncate(8), log.idle()
        executor.run_all()
        assert isinstance(cut.error, StorageError)
        assert isinstance(waiting.error, StorageError)
        assert log.has_failed
        assert failures[0] is cut.error
        assert isinstance(log.idle().error, StorageError)

    def test_retention_leaves_it_alone(self, executor, log):
        log.increment_log_start_offset(7)
        log.truncate(8)
        apply_retention(log, 8, 10**15)
        delete_segments(log, 1)
        log.remove_old_snapshots()
        assert log.segments[0].base_offset == 0
        executor.run_all()
        assert bases(log) == [6]

    def test_a_flush_waits(self, executor, log, make_batch):
        told = []
        log.flush(told.append)
        log.truncate(8)
        log.flush()
        executor.run_all()
        assert told == [None]
        assert log.recovery_point == 8

    def test_a_flush_that_runs_and_is_wanted_again_waits_for_the_cut(self, executor, log, make_batch):
        log.append(make_batch(2), 9)
        log.flush()
        log.append(make_batch(2), 9)
        told = []
        log.flush(told.append)
        log.truncate(3)
        executor.run_all()
        assert told == [None]
        assert (log.recovery_point, bases(log)) == (3, [0])

    def test_the_end_waits(self, executor, log, open_partition_log):
        log.truncate(8)
        settled = log.settled()
        assert not settled.is_done
        executor.run_all()
        assert settled.is_done
        log.close()
        assert bases(open_partition_log(was_clean=True)) == [0, 2, 4, 6]

    def test_a_log_that_is_let_go_of_is_not_cut_any_more(self, executor, log):
        first, second = log.truncate(15), log.truncate(8)
        log.release()
        executor.run_all()
        assert first.is_done
        assert second.is_done
        assert len(names(log.directory)) == 3

    def test_a_failure_costs_the_log(self, executor, log, failures, monkeypatch):
        def fail(*_):
            raise StorageError("broken", log.directory)

        monkeypatch.setattr(type(log.segments[0]), "truncate_to", fail)
        told = []
        first, second = log.truncate(15), log.truncate(8)
        log.flush(told.append)
        executor.run_all()
        assert isinstance(first.error, StorageError)
        assert second.error is first.error
        assert failures[0] is first.error
        assert log.has_failed
        assert log.idle().error is first.error
        assert log.is_truncating


class TestWhatIsLeft:
    def test_the_epochs_are_cut_at_the_end_also_where_nothing_else_is(self, log, executor):
        log.begin_leader_epoch(7)
        assert log.latest_epoch == 7
        assert log.truncate(25).is_done
        assert (log.latest_epoch, log.log_end_offset, log.is_truncating) == (2, 20, False)

    def test_producers_are_those_of_what_is_left(self, executor, open_partition_log, make_batch):
        log = open_partition_log()
        for number in range(3):
            producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number, "is_transactional": True}
            log.append(make_batch(1, **producer), 0)
        log.append(make_batch(1, producer_id=8, producer_epoch=0, base_sequence=0), 0)
        log.truncate(2)
        executor.run_all()
        assert log.producers.get(7).last_sequence == 1
        assert log.producers.get(8) is None
        assert log.first_unstable_offset == 0

    def test_begins_anew_above_its_end_and_below_its_start(self, log, executor, make_batch, open_partition_log):
        for offset in (100, 3):
            log.truncate_fully_and_start_at(offset)
            executor.run_all()
            assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (offset, offset, -1)
            assert log.append(make_batch(2), 5).base_offset == offset
            assert bases(log) == [offset]
            executor.run_all()
        log.release()
        assert bases(open_partition_log()) == [3]

    def test_begins_anew_under_the_same_name(self, log, executor, make_batch):
        log.truncate(0)
        log.truncate_fully_and_start_at(0)
        executor.run_all()
        assert log.append(make_batch(1), 9).base_offset == 0
        assert bases(log) == [0]

    def test_segments_go_the_newest_first_and_off_the_disk_before_anything_is_cut(
        self, log, executor, disk, monkeypatch
    ):
        steps = []

        def note(owner, name):
            act = getattr(owner, name)

            def noting(self, first, *others):
                steps.append(getattr(first, "name", name))
                return act(self, first, *others)

            monkeypatch.setattr(owner, name, noting)

        note(type(disk), "rename")
        note(type(disk), "sync")
        note(type(log.segments[1]), "truncate_to")
        log.truncate(4)
        executor.run_next()

        names_in_order = [f"{offset:020d}.log" for offset in (18, 12, 6)]
        assert [step for step in steps if step.endswith(".log") or "." not in step] == [
            *names_in_order,
            log.directory.name,
            "truncate_to",
        ]


class TestCleaner:
    def test_lets_go(self, executor, open_partition_log, make_batch, env, clock):
        log = open_partition_log(cleanup_policy="compact", min_cleanable_dirty_ratio=0)
        for _ in range(4):
            log.append(make_batch(2), 0)
            log.roll()
        executor.run_all()
        cleaning = ManualExecutor()
        config = BrokerConfig.from_properties({}, None, "test")
        noted = []
        cleaner = Cleaner(
            config, env, cleaning, lambda: [log], lambda: {log.topic_partition: 8}, noted.append, new_stop_signal()
        )
        cleaner.start()
        clock.advance(1)
        assert cleaning.waiting_count == 1
        log.truncate(4)
        clock.advance(1)
        while cleaning.waiting_count:
            cleaning.run_next()
        executor.run_all()

        assert (noted, log.first_dirty_offset, cleaner.uncleanable) == ([], None, {})
        assert bases(log) == [0, 2]


class TestManager:
    @pytest.fixture
    def manager(self, tmp_path, clock, disk, failures, executor):
        config = BrokerConfig.from_properties({"log.dirs": str(tmp_path / "logs")}, None, "test")
        topic = TopicConfig.from_broker(config).with_overrides({"segment.bytes": "250"})
        manager = LogManager(config, clock, clock, executor, lambda _: topic, failures.append, files=disk)

        async def load():
            for step in (manager.lock(), manager.load("cluster", 1)):
                task = asyncio.ensure_future(step)
                while not task.done():
                    await asyncio.sleep(0)
                    executor.run_all()
                task.result()

        asyncio.run(load())
        return manager

    def filled(self, manager, executor, make_batch, count):
        logs = []
        for number in range(count):
            pending = manager.get_or_create(TopicPartition("t", number))
            executor.run_all()
            logs.append(pending.value)
            for _ in range(4):
                logs[-1].append(make_batch(2), 0)
            logs[-1].flush()
        executor.run_all()
        return logs

    def test_checkpoints_that_would_say_too_much_are_written_first(self, manager, executor, make_batch):
        (log,) = self.filled(manager, executor, make_batch, 1)
        manager._checkpoints.write_recovery_points(lambda _: None)
        executor.run_all()
        directory = manager.directories.of(log.directory)
        assert directory.recovery_points.read() == {log.topic_partition: 8}
        log.increment_log_start_offset(6)
        manager._checkpoints.write_log_start_offsets()
        executor.run_all()

        cut = log.truncate_fully_and_start_at(4)
        executor.run_next()
        assert not cut.is_done
        executor.run_all()
        assert cut.is_done
        assert directory.recovery_points.read() == {log.topic_partition: 4}
        assert directory.log_start_offsets.read() == {}

    def test_many_at_once_share_the_writes_and_take_no_time_on_the_loop(
        self, manager, executor, make_batch, monkeypatch
    ):
        logs = self.filled(manager, executor, make_batch, 40)
        # The garbage of thousands of tests before this one takes longer than the cuts.
        gc.disable()
        try:
            start_s = time.thread_time()
            cuts = [log.truncate(2) for log in logs]
            elapsed_s = time.thread_time() - start_s
        finally:
            gc.enable()
        written = []
        write = OffsetCheckpoint.write

        def noting_write(checkpoint, offsets):
            written.append(checkpoint.path.name)
            write(checkpoint, offsets)

        monkeypatch.setattr(OffsetCheckpoint, "write", noting_write)
        executor.run_all()
        assert all(cut.is_done for cut in cuts)
        assert written.count("recovery-point-offset-checkpoint") <= 3
        # 1,000 in some 20 ms, with room for a slow machine.
        assert elapsed_s < 0.02
