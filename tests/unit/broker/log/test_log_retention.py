"""Deleting old segments."""

import asyncio
import os
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.environment import Going
from barnabas.broker.log.retention import Standing, apply_retention, learn_ages, standings
from barnabas.broker.log.segments.segment_chain import SegmentChain
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import read_header
from tests.replacing import replaces
from tests.unit.broker.log.conftest import TOPIC_PARTITION, started

SEGMENTS = 5


@pytest.fixture
def fill(open_partition_log, make_batch):
    def filled(**overrides):
        log = open_partition_log(segment_bytes=len(make_batch()), **overrides)
        for index in range(SEGMENTS):
            log.append(make_batch(timestamp_ms=1_000_000 * index), leader_epoch=index)
        return log

    return filled


class CountedSegment:
    """A segment that counts its comparisons with others, by value as a list's `in` makes them."""

    comparison_count = 0
    knows_largest_timestamp = False

    def __eq__(self, other):
        CountedSegment.comparison_count += 1
        return self is other

    __hash__ = object.__hash__

    def unload(self):
        return

    def read_largest_timestamp(self):
        return 7

    def take_largest_timestamp(self, timestamp_ms):
        self.timestamp_ms = timestamp_ms


@replaces("barnabas.broker.log.segments.segment_chain")
def test_the_work_for_a_segment_does_not_grow_with_their_number(env, topic_config, tmp_path, failures):
    segments: Any = [CountedSegment() for _ in range(300)]
    log: Any = SimpleNamespace(segments=segments, is_closed=False, config=topic_config().for_logs())
    learn_ages(log, InlineExecutor(), lambda: None, failures.append)
    assert {segment.timestamp_ms for segment in segments} == {7}
    chain = SegmentChain(env, tmp_path, segments, DiskWork(InlineExecutor()), failures.append)
    left = segments[150:]
    chain.detach(segments[:150])
    assert all(a is b for a, b in zip(segments, left, strict=True))
    assert (CountedSegment.comparison_count < 300, failures) == (True, [])


def bases(log):
    return [segment.base_offset for segment in log.segments]


def test_by_time(fill, clock):
    log = fill(retention_ms=1000)
    assert apply_retention(log, 5, now_ms=2_001_000) == 2
    assert (bases(log), log.log_start_offset) == ([2, 3, 4], 2)
    assert log.epochs.entries[0] == (2, 2)


def test_deleted_segments_release_their_indexes(fill):
    log = fill(retention_ms=1000)
    deleted = log.segments[:2]
    assert all(segment.loaded_bytes for segment in deleted)
    assert log.offset_for_timestamp(3_000_000) == (3_000_000, 3, 3)
    apply_retention(log, 5, now_ms=2_001_000)
    assert [segment.loaded_bytes for segment in deleted] == [0, 0]
    assert log.offset_for_timestamp(3_000_000) == (3_000_000, 3, 3)


def test_all_by_time_rolls_a_new_segment(fill):
    log = fill(retention_ms=1000)
    assert apply_retention(log, 5, now_ms=9_000_000) == 5
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([5], 5, 5)
    assert apply_retention(log, 5, now_ms=99_000_000) == 0


def test_by_size(fill, make_batch):
    log = fill(retention_ms=-1, retention_bytes=2 * len(make_batch()) + 1)
    assert apply_retention(log, 5, now_ms=9_000_000) == 2
    assert bases(log) == [2, 3, 4]


def test_nothing_at_or_above_the_high_watermark(fill):
    log = fill(retention_ms=1000)
    assert apply_retention(log, 2, now_ms=9_000_000) == 2
    assert bases(log) == [2, 3, 4]


def test_limits_can_be_off(fill):
    log = fill(retention_ms=-1)
    assert apply_retention(log, 5, now_ms=10**15) == 0


def test_below_the_log_start_whatever_the_policy(fill):
    log = fill(cleanup_policy="compact")
    log.increment_log_start_offset(3)
    assert apply_retention(log, 5, now_ms=10**15) == 3
    assert bases(log) == [3, 4]


def test_records_without_timestamps_go_by_the_file_time(open_partition_log, make_batch, directory):
    log = open_partition_log(segment_bytes=len(make_batch()), retention_ms=1000)
    for _ in range(2):
        log.append(make_batch(timestamp_ms=-1), 0)
    os.utime(log.segments[0].path, (5, 5))

    assert apply_retention(log, 2, now_ms=6001) == 1


def test_files_are_renamed_then_removed(fill, clock, directory):
    log = fill(retention_ms=1000, file_delete_delay_ms=500)
    apply_retention(log, 5, now_ms=1_001_000)
    deleted = [name for name in os.listdir(directory) if name.endswith(".deleted")]
    assert sorted(deleted) == [f"{0:020d}{suffix}.deleted" for suffix in (".index", ".log", ".timeindex")]
    clock.advance(500)

    assert not [name for name in os.listdir(directory) if name.endswith(".deleted")]


def test_what_goes_is_told_with_its_rule(fill, make_batch):
    size = len(make_batch())
    log = fill(retention_ms=1000, retention_bytes=2 * size)
    told = []
    apply_retention(log, 5, 1_001_000, lambda of, going: told.extend(going))
    assert told == [
        Going("retention.ms", 0, size),
        Going("retention.bytes", 1, size),
        Going("retention.bytes", 2, size),
    ]


def test_why_a_segment_is_still_here(fill):
    by_age = standings(fill(retention_ms=1000), 4, 3_000_500)
    assert by_age == [
        Standing("retention.ms", "", None),
        Standing("retention.ms", "", None),
        Standing("retention.ms", "", None),
        Standing("retention.ms", "retention.ms", 3_001_001),
        Standing("retention.ms", "high watermark", 4_001_001),
    ]


@pytest.mark.parametrize(
    ("settings", "now_ms", "high_watermark", "kept"),
    [
        ({"retention_ms": -1}, 10**15, 5, ["no rule"] * 5),
        ({"cleanup_policy": "compact"}, 10**15, 5, ["compaction"] * 5),
        ({"retention_ms": 1000}, 10**15, 1, ["", *["high watermark"] * 4]),
        # A record from the future holds up what came after it.
        ({"retention_ms": 0}, 500_000, 5, ["", *["timestamp in the future"] * 4]),
        ({"retention_ms": -1, "retention_bytes": 10**9}, 10**15, 5, ["retention.bytes"] * 5),
    ],
)
def test_what_keeps_segments(fill, settings, now_ms, high_watermark, kept):
    assert [each.kept_by for each in standings(fill(**settings), high_watermark, now_ms)] == kept


def test_an_older_segment_holds_up_what_could_go(open_partition_log, make_batch):
    log = open_partition_log(segment_bytes=len(make_batch()), retention_ms=1000)
    for timestamp_ms in (9_000_000, 1_000_000):
        log.append(make_batch(timestamp_ms=timestamp_ms), 0)
    assert [each.kept_by for each in standings(log, 2, 5_000_000)] == ["timestamp in the future", "older segment"]


def test_the_empty_active_segment_stays(fill):
    log = fill(retention_ms=1000)
    assert apply_retention(log, 5, now_ms=9_000_000) == 5
    assert [each.kept_by for each in standings(log, 5, 99_000_000)] == ["active"]


@pytest.mark.parametrize(("policy", "kept"), [("delete", []), ("compact", [3, 4])])
def test_a_log_is_not_changed_before_its_partition_is_known(make_manager, make_batch, clock, policy, kept):
    """Until then, its topic's settings are unknown, too: the defaults may be the wrong ones."""
    settings = {
        "log.cleanup.policy": policy,
        "log.cleaner.min.cleanable.ratio": "0",
        "log.retention.ms": "1000",
        "log.segment.bytes": str(len(make_batch())),
    }
    known = {TOPIC_PARTITION: SEGMENTS}
    manager = started(make_manager(settings), lambda: known)
    log = manager.get_or_create(TOPIC_PARTITION).value
    for _ in range(SEGMENTS):
        log.append(make_batch(), 0)
    asyncio.run(manager.close())

    def offsets():
        log = manager.get(TOPIC_PARTITION)
        return [read_header(batch).base_offset for batch in log.batches(log.log_start_offset, log.log_end_offset)]

    known.clear()
    manager = started(make_manager(settings), lambda: known)
    assert manager.checkpointed_high_watermark(TOPIC_PARTITION) == SEGMENTS
    clock.advance(600_000)
    assert offsets() == list(range(SEGMENTS))

    known[TOPIC_PARTITION] = SEGMENTS
    clock.advance(600_000)
    assert offsets() == kept


class TestFilesFollow:
    """The log changes at once, its files when the executor comes to it."""

    @pytest.fixture
    def executor(self, env):
        env.executor = ManualExecutor()
        return env.executor

    @pytest.fixture
    def log(self, executor, fill):
        log = fill(retention_ms=1000, file_delete_delay_ms=500)
        executor.run_all()
        return log

    def test_readers_see_the_log_as_it_will_be(self, log, executor, directory, clock):
        held = log.read(0, 1_000, 5)
        before = held.read()
        assert apply_retention(log, 5, now_ms=2_001_000) == 2
        assert (bases(log), log.log_start_offset) == ([2, 3, 4], 2)
        assert (directory / "00000000000000000001.log").exists()
        executor.run_all()
        assert not (directory / "00000000000000000001.log").exists()
        assert (directory / "00000000000000000001.log.deleted").exists()
        assert held.read() == before
        clock.advance(500)
        executor.run_all()
        assert not (directory / "00000000000000000001.log.deleted").exists()

    @pytest.mark.parametrize("done_count", range(4))
    def test_a_kill_leaves_a_log_without_gaps(self, log, executor, disk, open_partition_log, done_count):
        apply_retention(log, 5, now_ms=2_001_000)
        for _ in range(min(done_count, executor.waiting_count)):
            executor.run_next()
        log.release()
        disk.kill()
        opened = open_partition_log(recovery_point=5)
        assert bases(opened) == ([0, 1, 2, 3, 4] if done_count == 0 else [2, 3, 4])
        assert opened.log_end_offset == 5

    @pytest.fixture
    def short(self, executor, open_partition_log, make_batch):
        """A log whose only segment is not half full."""
        log = open_partition_log(segment_bytes=5 * len(make_batch()), retention_ms=1000)
        log.append(make_batch(timestamp_ms=0), 0)
        executor.run_all()
        return log

    def test_all_go_once_there_is_a_new_segment(self, short, executor, env):
        on_loop = []
        env.on_loop = on_loop.append
        assert apply_retention(short, 1, now_ms=9_000) == 1
        assert bases(short) == [0]
        executor.run_all()
        assert (bases(short), short.log_start_offset, on_loop) == ([1], 1, [])

    def test_what_is_appended_while_the_new_segment_is_made_stays(self, short, executor, make_batch):
        apply_retention(short, 1, now_ms=9_000)
        short.append(make_batch(timestamp_ms=9_000), 0)
        executor.run_all()
        assert bases(short) == [0]
        assert apply_retention(short, 2, now_ms=9_000) == 0

    @pytest.mark.parametrize(
        ("is_appending", "left", "removed"), [(False, [11], [0, 5, 10]), (True, [10], [0, 5])], ids=["quiet", "busy"]
    )
    def test_closed_segments_are_deleted_also_if_the_active_one_is_appended_to(
        self, executor, open_partition_log, make_batch, is_appending, left, removed
    ):
        log = open_partition_log(segment_bytes=5 * len(make_batch()), retention_ms=1000)
        for _ in range(11):
            log.append(make_batch(timestamp_ms=0), 0)
            executor.run_all()
        told = []
        apply_retention(log, 11, 9_000, lambda of, going: told.extend(each.base_offset for each in going))
        assert bases(log) == [10]
        if is_appending:
            log.append(make_batch(timestamp_ms=0), 0)
        executor.run_all()
        assert (bases(log), told) == (left, removed)
