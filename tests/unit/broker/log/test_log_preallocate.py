"""preallocate: room is kept on the disk, and the files are as long as what they hold."""

import errno
import os

import pytest

from barnabas.broker.log.disk import reservation
from barnabas.core.errors import StorageError

SEGMENT_BYTES = 1024 * 1024


@pytest.fixture
def reserved_bytes(monkeypatch):
    """What was asked for: not every disk that tests run on keeps room."""
    asked: list[int] = []
    keep = reservation.reserve

    def reserve(fd, size):
        asked.append(size)
        keep(fd, size)

    monkeypatch.setattr(reservation, "reserve", reserve)
    return asked


def test_each_new_segment_is_reserved(open_partition_log, make_batch, reserved_bytes):
    log = open_partition_log(preallocate="true", segment_bytes=SEGMENT_BYTES)
    log.append(make_batch(), 0)
    log.roll()
    assert reserved_bytes == [SEGMENT_BYTES, SEGMENT_BYTES]
    assert [os.stat(segment.path).st_size for segment in log.segments] == [len(make_batch()), 0]


def test_what_is_not_used_is_given_back(open_partition_log, make_batch, reserved_bytes):
    log = open_partition_log(preallocate="true", segment_bytes=SEGMENT_BYTES)
    log.append(make_batch(), 0)
    log.roll()
    log.append(make_batch(), 0)
    log.close()
    assert all(os.stat(segment.path).st_blocks * 512 < SEGMENT_BYTES / 2 for segment in log.segments)
    assert open_partition_log(was_clean=True, preallocate="true").log_end_offset == 2


def test_room_from_before_it_was_switched_off_is_given_back(open_partition_log, make_batch, topic_config):
    log = open_partition_log(preallocate="true", segment_bytes=SEGMENT_BYTES)
    log.append(make_batch(), 0)
    log.update_config(topic_config(preallocate="false", segment_bytes=SEGMENT_BYTES))
    # The second segment's file was prepared before.
    for _ in range(2):
        log.roll()
        log.append(make_batch(), 0)
    log.close()
    assert len(log.segments) == 3
    assert all(os.stat(segment.path).st_blocks * 512 < SEGMENT_BYTES / 2 for segment in log.segments)


def test_without_it_nothing_is_reserved(log, make_batch, reserved_bytes):
    log.append(make_batch(), 0)
    log.roll()
    assert reserved_bytes == []


def test_a_disk_without_room(open_partition_log, monkeypatch):
    def fail(fd, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(reservation, "reserve", fail)
    with pytest.raises(StorageError, match="No space left"):
        open_partition_log(preallocate="true")


def test_zeros_that_kafka_left_behind_are_cut(open_partition_log, make_batch, directory):
    log = open_partition_log()
    log.append(make_batch(), 0)
    path = log.active_segment.path
    size = log.size_bytes
    with path.open("ab") as file:
        file.write(bytes(10_000))
    again = open_partition_log()
    assert (again.log_end_offset, again.size_bytes, path.stat().st_size) == (1, size, size)
