"""Indexes of older segments: how many stay in memory, and that records are found after they were released."""

import pytest

from barnabas.broker.log.disk.cold_reads import ColdWork, NotCachedError
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.loaded_segments import LoadedSegments
from barnabas.testing.manual_executor import ManualExecutor
from tests.unit.cold_disk import ColdDisk

SEGMENTS = 20
BATCHES = 10 * SEGMENTS
INDEX_BYTES = 9 * 20
MOST_LOADED = 3


@pytest.fixture(autouse=True)
def loaded(env):
    env.loaded = LoadedSegments(most_bytes=MOST_LOADED * (INDEX_BYTES + 2_000) + 100, kept_ms=0)
    return env.loaded


@pytest.fixture
def settings(make_batch):
    return {"segment_bytes": 10 * len(make_batch(timestamp_ms=0)), "index_interval_bytes": 0, "segment_ms": 10**9}


@pytest.fixture
def fill(open_partition_log, make_batch, settings):
    """Appends one record in each batch, whose timestamp is ten times its offset."""

    def filled(**overrides):
        log = open_partition_log(**{**settings, **overrides})
        for offset in range(BATCHES):
            log.append(make_batch(timestamp_ms=10 * offset), 0)
        assert len(log.segments) == SEGMENTS
        return log

    return filled


def loaded_segments(log):
    return [number for number, segment in enumerate(log.segments[:-1]) if segment.loaded_bytes]


def all_records(log):
    return [log.read(offset, 1, log.log_end_offset).read() for offset in range(log.log_start_offset, BATCHES)]


def test_rolled_segments_release_their_indexes(fill):
    log = fill()
    assert loaded_segments(log) == [16, 17, 18]
    assert log.segments[18].loaded_bytes == log.active_segment.loaded_bytes == INDEX_BYTES
    assert [log.offset_for_timestamp(10 * offset)[1] for offset in range(BATCHES)] == list(range(BATCHES))
    assert len(loaded_segments(log)) == MOST_LOADED


def read_cold(log, disk, offset):
    """Read without waiting for the disk on the event loop; return how many times an executor had to load indexes."""
    load_count = 0
    while True:
        try:
            assert log.read(offset, 1, BATCHES, True, disk.cold_reads).length
            return load_count
        except NotCachedError as missing:
            load_count += isinstance(missing.work, ColdWork)
            disk.cold_reads.read([missing.work], lambda _: None)
            disk.executor.run_all()


def test_a_reader_of_a_whole_log_loads_each_segment_once_and_few_at_a_time(fill, open_partition_log, settings):
    fill().close()
    log, disk = open_partition_log(was_clean=True, **settings), ColdDisk()
    load_count = 0
    for offset in range(BATCHES):
        load_count += read_cold(log, disk, offset)
        assert len(loaded_segments(log)) <= MOST_LOADED
    assert (load_count, loaded_segments(log)) == (SEGMENTS - 1, [16, 17, 18])


def test_segments_that_are_read_in_turn_stay_loaded(fill):
    log, disk = fill(), ColdDisk()
    offsets = [185, 5, 55] * 5
    assert [read_cold(log, disk, offset) for offset in offsets] == [0, 1, 1] + [0] * 12


def test_a_slice_can_be_sent_after_its_segment_released_its_indexes(fill):
    log = fill()
    found = log.read(0, 1, BATCHES)
    sent = found.read()
    all_records(log)
    assert loaded_segments(log)[0] > 0
    assert found.read() == sent
    assert log.segment_base_offset(0, found) == 0
    assert log.aborted_transactions(0, found) == []


def test_aborted_transactions_count_and_are_released_as_well(fill):
    log = fill()
    # More bytes than three indexes.
    aborted = [AbortedTransaction(1, first_offset=0, last_offset=n, last_stable_offset=0) for n in range(40)]
    for each in aborted:
        log.segments[0].transactions.append(each)
    for _ in range(2):
        found = log.read(0, 1, BATCHES)
        assert log.aborted_transactions(0, found) == aborted
        assert loaded_segments(log) == [0]
        all_records(log)
        assert loaded_segments(log) == [16, 17, 18]


def test_indexes_that_are_not_on_disk_yet_are_not_released(env, fill):
    env.executor = ManualExecutor()
    log = fill()
    all_records(log)
    assert len(loaded_segments(log)) == SEGMENTS - 1
    assert [log.offset_for_timestamp(10 * offset)[1] for offset in range(BATCHES)] == list(range(BATCHES))
    env.executor.run_all()
    assert len(loaded_segments(log)) == MOST_LOADED
    assert [log.offset_for_timestamp(10 * offset)[1] for offset in range(BATCHES)] == list(range(BATCHES))


@pytest.mark.parametrize("offset", [40, 45, 49, 50])
def test_a_segment_that_a_truncation_makes_active_keeps_its_indexes(
    fill, open_partition_log, make_batch, settings, loaded, offset
):
    log = fill()
    log.read(45, 1, BATCHES)
    old = list(log.segments)
    log.truncate(offset)
    # As readers of another log do.
    for segment in old[:4]:
        segment.load_indexes()
        loaded.note(segment, 0)
    for number in range(offset, 60):
        log.append(make_batch(timestamp_ms=10 * number), 0)
    assert [log.read(number, 1, 60).length > 0 for number in range(60)] == [True] * 60
    assert [log.offset_for_timestamp(10 * number)[1] for number in range(60)] == list(range(60))
    log.close()
    log = open_partition_log(was_clean=True, **settings)
    assert [log.offset_for_timestamp(10 * number)[1] for number in range(60)] == list(range(60))


def test_a_segment_without_timestamps_stays_loaded(open_partition_log, make_batch, settings):
    """Retention would load it again at each check."""
    log = open_partition_log(**settings)
    for _ in range(BATCHES):
        log.append(make_batch(timestamp_ms=-1), 0)
    assert len(loaded_segments(log)) == SEGMENTS - 1


def test_segments_that_a_recovery_checked_release_their_indexes(fill, disk, open_partition_log, settings):
    log = fill()
    expected = all_records(log)
    log.release()
    disk.kill()
    log = open_partition_log(**settings)
    assert loaded_segments(log) == []
    assert all_records(log) == expected


def test_segments_that_were_read_a_short_time_ago_stay_loaded_beyond_the_limit(env, clock, fill):
    env.loaded = LoadedSegments(most_bytes=0, kept_ms=60_000)
    log, disk = fill(), ColdDisk()
    clock.advance(60_000)
    in_turn = [5, 55, 105, 155]
    read_cold(log, disk, 175)
    assert loaded_segments(log) == [17]
    assert [read_cold(log, disk, offset) for offset in in_turn * 3] == [1] * 4 + [0] * 8
    clock.advance(60_000)
    read_cold(log, disk, 25)
    assert loaded_segments(log) == [2]


def test_indexes_that_arrive_after_a_truncation_and_a_release_are_not_used(
    fill, open_partition_log, make_batch, settings
):
    fill().close()
    log, disk = open_partition_log(was_clean=True, **settings), ColdDisk()
    with pytest.raises(NotCachedError) as missing:
        log.read(3, 1, BATCHES, True, disk.cold_reads)
    late = missing.value.work
    read = late.read()
    log.truncate(2)
    for offset in range(2, 60):
        log.append(make_batch(key=b"another", timestamp_ms=10 * offset), 0)
    for offset in range(20, 60):
        log.read(offset, 1, 60)
    assert not log.segments[0].loaded_bytes
    late.finish(read)
    assert [log.read(offset, 1, 60).length > 0 for offset in range(60)] == [True] * 60
    assert [log.offset_for_timestamp(10 * offset)[1] for offset in range(60)] == list(range(60))
