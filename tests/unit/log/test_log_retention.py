"""Deleting old segments."""

import os

import pytest

from barnabas.log.retention import apply_retention

SEGMENTS = 5


@pytest.fixture
def fill(open_partition_log, make_batch):
    def filled(**overrides):
        log = open_partition_log(segment_bytes=len(make_batch()), **overrides)
        for index in range(SEGMENTS):
            log.append(make_batch(timestamp_ms=1_000_000 * index), leader_epoch=index)
        return log

    return filled


def bases(log):
    return [segment.base_offset for segment in log.segments]


def test_by_time(fill, clock):
    log = fill(retention_ms=1000)
    assert apply_retention(log, 5, now_ms=2_001_000) == 2
    assert (bases(log), log.log_start_offset) == ([2, 3, 4], 2)
    assert log.epochs.entries[0] == (2, 2)


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
