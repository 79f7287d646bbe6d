"""Rolling: what is prepared, what is left to do afterwards, and what a kill finds in between."""

import os

import pytest

from barnabas.core.errors import StorageError
from barnabas.testing.manual_executor import ManualExecutor

NEXT = "next.log.deleted"


@pytest.fixture
def make_batch(make_batch):
    """Of the same time, if nothing else is said: no segment rolls for its age."""
    return lambda timestamp_ms=0: make_batch(timestamp_ms=timestamp_ms)


@pytest.fixture
def executor(env):
    env.executor = ManualExecutor()
    return env.executor


@pytest.fixture
def on_loop(env):
    told = []
    env.on_loop = told.append
    return told


@pytest.fixture
def log(executor, open_partition_log, make_batch):
    """Three batches fit into a segment."""
    log = open_partition_log(segment_bytes=3 * len(make_batch()), index_interval_bytes=0)
    log.append(make_batch(), 0)
    executor.run_all()
    return log


def kill(log, disk):
    log.release()
    disk.kill()


def test_a_segment_holds_segment_bytes_and_not_one_more(open_partition_log, make_batch):
    log = open_partition_log(segment_bytes=3 * len(make_batch()) - 1)
    for _ in range(3):
        log.append(make_batch(), 0)
    assert [each.base_offset for each in log.segments] == [0, 2]


def test_half_way_the_next_file_is_made(log, executor, make_batch, directory):
    assert not (directory / NEXT).exists()
    log.append(make_batch(), 0)
    assert executor.waiting_count == 1
    log.append(make_batch(), 0)
    executor.run_all()
    assert (directory / NEXT).read_bytes() == b""
    assert len(log.segments) == 1


def test_a_roll_gives_the_prepared_file_its_name_and_leaves_the_rest_for_later(
    log, executor, on_loop, make_batch, directory
):
    log.append(make_batch(), 0)
    log.append(make_batch(), 0)
    executor.run_all()
    before = set(os.listdir(directory))
    log.append(make_batch(), 0)
    assert set(os.listdir(directory)) == before - {NEXT} | {"00000000000000000003.log"}
    assert on_loop == []
    executor.run_all()
    made = {f"00000000000000000003{suffix}" for suffix in (".log", ".index", ".timeindex", ".snapshot")}
    assert set(os.listdir(directory)) == before - {NEXT} | made
    assert (directory / "00000000000000000000.timeindex").stat().st_size == 12


def test_a_roll_that_comes_before_all_is_ready_makes_the_file_and_says_so(log, executor, on_loop, make_batch):
    for _ in range(3):
        log.append(make_batch(), 0)
    assert [each.base_offset for each in log.segments] == [0, 3]
    assert len(on_loop) == 1
    executor.run_all()
    # What was being made is for the segment after this.
    for _ in range(3):
        log.append(make_batch(), 0)
    assert [each.base_offset for each in log.segments] == [0, 3, 6]
    assert len(on_loop) == 1


def test_what_cannot_be_prepared_is_made_when_it_is_needed(
    log, executor, on_loop, make_batch, directory, failures, caplog
):
    (directory / NEXT).mkdir()
    for _ in range(2):
        log.append(make_batch(), 0)
        executor.run_all()
    assert len([each for each in caplog.messages if "cannot preallocate the next segment" in each]) == 1
    (directory / NEXT).rmdir()
    for _ in range(4):
        log.append(make_batch(), 0)
        executor.run_all()
    # The first is made on the loop, the second is prepared again.
    assert [each.base_offset for each in log.segments] == [0, 3, 6]
    assert (len(on_loop), failures) == (1, [])


def test_the_age_of_a_segment_that_was_cut_is_that_of_what_came_after(executor, open_partition_log, make_batch):
    log = open_partition_log(segment_ms=1_000)
    for timestamp_ms in (500, 510, 1_100):
        log.append(make_batch(timestamp_ms), 0)
    executor.run_all()
    log.truncate(0)
    executor.run_all()
    for timestamp_ms in (0, 10, 990):
        log.append(make_batch(timestamp_ms), 0)
    assert len(log.segments) == 1
    log.append(make_batch(1_010), 0)
    assert [each.base_offset for each in log.segments] == [0, 3]


def test_an_old_segment_prepares_the_next(executor, open_partition_log, make_batch, on_loop):
    log = open_partition_log(segment_ms=1000)
    log.append(make_batch(0), 0)
    log.append(make_batch(600), 0)
    executor.run_all()
    log.append(make_batch(1_200), 0)
    assert (len(log.segments), on_loop) == (2, [])


def test_an_index_that_fills_up_prepares_the_next(executor, open_partition_log, make_batch, on_loop):
    log = open_partition_log(segment_index_bytes=48, index_interval_bytes=0)
    for _ in range(8):
        log.append(make_batch(), 0)
        executor.run_all()
    assert [each.base_offset for each in log.segments] == [0, 7]
    assert on_loop == []


def test_a_quiet_log_tells_when_it_will_roll(log, clock, open_partition_log, make_batch):
    quiet = open_partition_log(segment_ms=1000)
    now_ms = clock.now_ms()
    quiet.append(make_batch(timestamp_ms=now_ms), 0)
    assert not quiet.is_roll_due(now_ms + 1000)
    assert quiet.is_roll_due(now_ms + 1001)
    quiet.roll()
    assert not quiet.is_roll_due(now_ms + 10_000)


@pytest.mark.parametrize("is_prepared", [True, False])
@pytest.mark.parametrize("done_count", range(6))
def test_a_kill_after_any_step_loses_nothing(
    log, executor, make_batch, disk, open_partition_log, directory, done_count, is_prepared
):
    for number in range(1, 4):
        if is_prepared:
            executor.run_all()
        log.append(make_batch(timestamp_ms=number), 0)
    for _ in range(min(done_count, executor.waiting_count)):
        executor.run_next()
    recovery_point = log.recovery_point
    kill(log, disk)
    opened = open_partition_log(recovery_point=recovery_point)
    assert opened.log_end_offset == 4
    assert [opened.offset_for_timestamp(each) for each in range(4)] == [(each, each, 0) for each in range(4)]
    assert opened.epochs.entries == ((0, 0),)
    assert not (directory / NEXT).exists()


@pytest.mark.parametrize("interval", [0, 4096])
def test_a_kill_right_after_the_roll_of_what_is_on_disk_already(
    executor, make_batch, disk, open_partition_log, interval
):
    """The recovery point is the new segment's: the old one is not read again, and lacks its last time index entry."""
    log = open_partition_log(segment_bytes=3 * len(make_batch()), index_interval_bytes=interval)
    for timestamp_ms in (0, 5, 9):
        log.append(make_batch(timestamp_ms), 0)
    log.flush()
    executor.run_all()
    assert log.recovery_point == 3
    log.append(make_batch(10), 0)
    kill(log, disk)
    opened = open_partition_log(recovery_point=3)
    assert [opened.offset_for_timestamp(each) for each in (6, 9, 10)] == [(9, 2, 0), (9, 2, 0), (10, 3, 0)]
    assert opened.segments[0].largest_timestamp() == 9


def test_a_roll_that_fails_leaves_the_log_as_it_was(log, executor, make_batch, directory):
    log.append(make_batch(), 0)
    log.append(make_batch(), 0)
    executor.run_all()
    (directory / NEXT).unlink()
    with pytest.raises(StorageError):
        log.append(make_batch(), 0)
    assert ([each.base_offset for each in log.segments], log.log_end_offset) == ([0], 3)


def test_an_orderly_stop_takes_the_next_file_away(log, executor, make_batch, directory):
    log.append(make_batch(), 0)
    executor.run_all()
    assert (directory / NEXT).exists()
    log.close()
    assert not (directory / NEXT).exists()


def test_what_is_appended_while_a_flush_waits_comes_with_the_next(executor, open_partition_log, make_batch, directory):
    log = open_partition_log(index_interval_bytes=0)
    for _ in range(3):
        log.append(make_batch(), 0)
    log.flush()
    for _ in range(3):
        log.append(make_batch(), 0)
    executor.run_all()
    path = directory / "00000000000000000000.index"
    assert (path.stat().st_size, log.recovery_point, log.has_failed) == (2 * 8, 3, False)
    log.flush()
    executor.run_all()
    assert (path.stat().st_size, log.recovery_point) == (5 * 8, 6)


def test_epochs_are_written_afterwards_and_before_the_flush_that_covers_them(log, executor, make_batch, directory):
    log.append(make_batch(), 7)
    path = directory / "leader-epoch-checkpoint"
    assert path.read_text() == "0\n1\n0 0\n"
    log.flush()
    executor.run_all()
    assert (path.read_text(), log.recovery_point) == ("0\n2\n0 0\n7 1\n", 2)
