"""Reads of what is not in the page cache: found out before the disk is asked, done elsewhere, done once."""

import pytest

from barnabas.broker.log.disk.cold_reads import (
    PART_BYTES,
    READ_AHEAD_BYTES,
    AskedOnce,
    ColdSlice,
    ColdWork,
    NotCachedError,
)
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.errors import StorageError
from barnabas.wire.records.batch import HEADER, Codec, set_crc
from barnabas.wire.records.errors import CorruptRecordsError
from tests.unit.cold_disk import ColdDisk


@pytest.fixture
def cold_disk():
    return ColdDisk()


@pytest.fixture
def cold_reads(cold_disk):
    return cold_disk.cold_reads


@pytest.fixture
def file(tmp_path):
    made = LocalFileSystem().open_records(tmp_path / "records.log", is_new=True)
    made.append(bytes(20 * PART_BYTES + 5))
    return made


def read(cold_reads, *wanted):
    told = []
    cold_reads.read(wanted, told.append)
    return told


def test_nobody_is_told_before_all_parts_are_there(cold_disk, cold_reads, file):
    told = read(cold_reads, ColdSlice(file, PART_BYTES - 1, 2))
    cold_disk.executor.run_next()
    assert told == []
    assert not cold_reads.holds(file, PART_BYTES - 1, 2)
    cold_disk.executor.run_next()
    assert told == [[None]]
    assert cold_reads.holds(file, PART_BYTES - 1, 2)


def test_two_who_want_the_same_share_the_work(cold_disk, cold_reads, file):
    first = read(cold_reads, ColdSlice(file, 0, 10))
    count = cold_disk.executor.waiting_count
    second = read(cold_reads, ColdSlice(file, 20, 10))
    assert cold_disk.executor.waiting_count == count
    cold_disk.executor.run_next()
    assert first == second == [[None]]


def test_what_follows_is_read_too_but_nobody_waits_for_it(cold_disk, cold_reads, file):
    told = read(cold_reads, ColdSlice(file, 0, PART_BYTES))
    cold_disk.executor.run_next()
    assert told == [[None]]
    assert cold_disk.executor.waiting_count == READ_AHEAD_BYTES // PART_BYTES
    cold_disk.executor.run_all()
    assert cold_reads.holds(file, 0, PART_BYTES + READ_AHEAD_BYTES)


def test_what_is_cached_is_not_read_ahead_again(cold_disk, cold_reads, file):
    read(cold_reads, ColdSlice(file, PART_BYTES, READ_AHEAD_BYTES))
    cold_disk.executor.run_all()
    count = cold_reads.read_count
    read(cold_reads, ColdSlice(file, 0, 1))
    assert cold_reads.read_count == count + 1


def test_a_part_that_is_on_its_way_counts_as_cold(cold_disk, cold_reads, file):
    read(cold_reads, ColdSlice(file, 0, 1))
    cold_disk.executor.run_all()
    assert cold_reads.holds(file, 0, 1)
    read(cold_reads, ColdSlice(file, 0, 1))
    assert not cold_reads.holds(file, 0, 1)


def test_the_end_of_a_file_is_no_place_to_read_ahead_of(cold_disk, cold_reads, file):
    told = read(cold_reads, ColdSlice(file, file.size - 3, 3))
    cold_disk.executor.run_all()
    assert told == [[None]]
    assert cold_reads.read_count == 1


def test_everybody_who_waits_is_told_of_a_failure(cold_disk, cold_reads):
    error = StorageError("the disk failed")

    def fail():
        raise error

    work = ColdWork("key", fail, lambda _: None)
    told = read(cold_reads, work) + read(cold_reads, work)
    told_both = read(cold_reads, ColdWork("other", lambda: 1, lambda _: None), work)
    cold_disk.executor.run_all()
    assert told_both == [[None, error]]
    assert told == []


def test_a_result_that_cannot_be_taken_over_is_a_failure(cold_disk, cold_reads):
    error = ValueError("nonsense")

    def refuse(result):
        assert result == 7
        raise error

    told = read(cold_reads, ColdWork("key", lambda: 7, refuse))
    cold_disk.executor.run_all()
    assert told == [[error]]


class TestLog:
    """A log is asked with the page cache and says what it lacks."""

    @pytest.fixture
    def log(self, open_partition_log, make_batch, clock):
        log = open_partition_log(segment_bytes=4096, index_interval_bytes=100)
        for _ in range(100):
            log.append(make_batch(value=b"x" * 300), 0)
            clock.advance(10)
        log.close()
        return open_partition_log(was_clean=True, segment_bytes=4096, index_interval_bytes=100)

    def until_cached(self, cold_disk, ask):
        """Ask again and again; what was missing, and the answer."""
        missing = []
        while True:
            try:
                return missing, ask()
            except NotCachedError as error:
                missing.append(error.work)
                told = read(cold_disk.cold_reads, error.work)
                cold_disk.executor.run_all()
                assert told == [[None]]
                assert len(missing) < 10

    def test_an_old_segment_is_read_in_steps(self, log, cold_disk):
        missing, found = self.until_cached(cold_disk, lambda: log.read(30, 1000, 100, True, cold_disk.cold_reads))
        assert isinstance(missing[0], ColdWork)
        assert isinstance(missing[1], ColdSlice)
        assert found.read() == log.read(30, 1000, 100).read()

    def test_what_is_cached_is_read_at_once(self, log, cold_disk):
        self.until_cached(cold_disk, lambda: log.read(30, 1000, 100, True, cold_disk.cold_reads))
        assert log.read(30, 1000, 100, True, cold_disk.cold_reads).length > 0

    def test_the_tail_that_left_the_cache_is_not_sent(self, log, cold_disk, make_batch):
        log.append(make_batch(), 0)
        with pytest.raises(NotCachedError) as raised:
            log.read(100, 1000, 101, True, cold_disk.cold_reads)
        assert raised.value.work.file is log.active_segment.file

    def test_a_time_is_looked_up_in_steps(self, log, cold_disk):
        target_ms = 1_600_000_000_000 + 505
        missing, found = self.until_cached(cold_disk, lambda: log.offset_for_timestamp(target_ms, cold_disk.cold_reads))
        assert missing
        assert found == log.offset_for_timestamp(target_ms)
        assert found[0] == target_ms + 5

    @pytest.mark.parametrize(
        ("codec", "value_bytes", "is_elsewhere"),
        [(Codec.NONE, 10, False), (Codec.GZIP, 10, True), (Codec.NONE, 40_000, True)],
    )
    @pytest.mark.parametrize("is_found", [True, False])
    def test_a_batch_that_may_take_long_is_searched_off_the_loop(
        self, open_partition_log, make_batch, cold_disk, codec, value_bytes, is_elsewhere, is_found
    ):
        log = open_partition_log(segment_bytes=1_000_000)
        for _ in range(3):
            # Its header has a later time than its records.
            batch = bytearray(make_batch(3, b"x" * value_bytes, timestamp_ms=1000, codec=codec))
            header = list(HEADER.unpack_from(batch))
            header[8] = 5000
            HEADER.pack_into(batch, 0, *header)
            set_crc(batch, 0, len(batch))
            log.append(memoryview(batch), 0)
        log.append(make_batch(3, timestamp_ms=6000 if is_found else 1000, codec=codec), 0)

        missing, found = self.until_cached(cold_disk, lambda: log.offset_for_timestamp(2000, cold_disk.cold_reads))
        assert found == log.offset_for_timestamp(2000) == ((6000, 9, 0) if is_found else None)
        assert sum(isinstance(work, ColdWork) for work in missing) == is_elsewhere
        # The answer is not kept for later records, and not after a truncation.
        log.append(make_batch(timestamp_ms=7000, codec=codec), 0)
        _, found = self.until_cached(cold_disk, lambda: log.offset_for_timestamp(2000, cold_disk.cold_reads))
        assert found == ((6000, 9, 0) if is_found else (7000, 12, 0))
        log.truncate(9)
        log.append(make_batch(timestamp_ms=8000, codec=codec), 0)
        _, found = self.until_cached(cold_disk, lambda: log.offset_for_timestamp(2000, cold_disk.cold_reads))
        assert found == (8000, 9, 0)

    def test_damage_that_a_search_finds_is_reported_at_once(self, open_partition_log, make_batch, cold_disk):
        log = open_partition_log()
        batch = bytearray(make_batch(3, timestamp_ms=1000, codec=Codec.GZIP))
        log.append(memoryview(batch), 0)
        log.active_segment.path.write_bytes(batch[:-4] + bytes(4))
        errors = []
        for _ in range(2):
            with pytest.raises(CorruptRecordsError) as raised:
                self.until_cached(cold_disk, lambda: log.offset_for_timestamp(500, cold_disk.cold_reads))
            errors.append(raised.value)
        assert cold_disk.executor.waiting_count == 0
        # An error that is kept and raised again would keep the frames of all requests.
        assert errors[0] is not errors[1]

    def test_a_search_that_a_truncation_overtakes_is_dropped(self, open_partition_log, make_batch, cold_disk):
        log = open_partition_log()
        for time_ms in (1000, 6000):
            log.append(make_batch(timestamp_ms=time_ms, codec=Codec.GZIP), 0)

        def search():
            return log.active_segment.find_timestamp(2000, 0, cold_disk.cold_reads)

        self.until_cached(cold_disk, search)
        log.active_segment.truncate_to(1)
        log.append(make_batch(timestamp_ms=6000, codec=Codec.GZIP), 0)
        with pytest.raises(NotCachedError) as raised:
            search()
        result = raised.value.work.read()
        log.active_segment.truncate_to(1)
        log.append(make_batch(1, bytes(range(256)) * 4, timestamp_ms=1500, codec=Codec.GZIP), 0)
        raised.value.work.finish(result)
        assert self.until_cached(cold_disk, search)[1] is None

    def test_no_time_is_looked_up_in_all_indexes(self, open_partition_log, log, cold_disk):
        reopened = open_partition_log(was_clean=True, segment_bytes=4096, index_interval_bytes=100)
        assert len(reopened.segments) > 5
        missing, _ = self.until_cached(cold_disk, lambda: reopened.offset_for_timestamp(0, cold_disk.cold_reads))
        # The last entries of all time indexes in one piece of work, and one segment's indexes.
        assert sum(isinstance(work, ColdWork) for work in missing) == 2

    def test_a_segment_that_is_deleted_while_its_index_is_read(self, log, cold_disk):
        with pytest.raises(NotCachedError) as raised:
            log.read(0, 1000, 100, True, cold_disk.cold_reads)
        told = read(cold_disk.cold_reads, raised.value.work)
        log.delete_oldest_segments(1)
        cold_disk.executor.run_all()
        (failure,) = told[0]
        assert isinstance(failure, StorageError)
        assert log.read(log.log_start_offset, 1000, 100) is not None

    def test_a_read_of_what_is_cached_asks_once(self, log, cold_disk):
        self.until_cached(cold_disk, lambda: log.read(0, 1000, 100, True, cold_disk.cold_reads))
        before = cold_disk.asked
        found = log.read(0, 1000, 100, True, cold_disk.cold_reads)
        assert (found.position, found.length) == (0, log.read(0, 1000, 100).length)
        assert cold_disk.asked == before + 1

    def test_a_part_whose_end_is_not_cached_is_asked_about_by_itself(self, log, cold_disk):
        asked_once = AskedOnce(cold_disk.cold_reads, 2 * PART_BYTES)
        file = log.active_segment.file
        file.append(bytes(3 * PART_BYTES))
        read(cold_disk.cold_reads, ColdSlice(file, 0, 1))
        cold_disk.executor.run_next()
        assert asked_once.holds(file, 0, 100)
        assert not asked_once.holds(file, 0, PART_BYTES + 1)

    def test_less_than_nothing_ahead_is_nothing(self, log, cold_disk):
        file = log.active_segment.file
        read(cold_disk.cold_reads, ColdSlice(file, 0, 1))
        cold_disk.executor.run_all()
        asked_once = AskedOnce(cold_disk.cold_reads, -10)
        assert asked_once.holds(file, 0, 100)
        cold_disk.drop()
        assert asked_once.holds(file, 50, 50)
        assert not asked_once.holds(file, 50, 51)
