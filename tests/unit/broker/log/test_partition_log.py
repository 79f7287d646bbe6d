"""Appending, rolling, reading and cutting one partition's log."""

import os
from struct import pack_into

import pytest

from barnabas.broker.log.appends.prepared_batches import OwnBatches
from barnabas.broker.log.retention import delete_segments
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import BatchHeader, batches, is_crc_valid, read_header, set_max_timestamp
from barnabas.wire.records.record import iterate_records


def headers_of(log, start_offset=0, end_offset=2**62) -> list[BatchHeader]:
    return [read_header(batch) for batch in log.batches(start_offset, end_offset)]


def read_offsets(log, offset, max_bytes=2**20, end_offset=None, at_least_one=True) -> list[int]:
    """Base offsets of the complete batches that a read gives."""
    part = log.read(offset, max_bytes, log.log_end_offset if end_offset is None else end_offset, at_least_one)
    return [] if part is None else [read_header(batch).base_offset for batch in batches(part.read())]


def test_append_numbers_batches_and_sets_the_leader_epoch(log, make_batch):
    first = log.append(make_batch(3), leader_epoch=4)
    second = log.append(make_batch(2), leader_epoch=4)

    assert (first.base_offset, first.last_offset, first.append_time_ms) == (0, 2, -1)
    assert (second.base_offset, second.last_offset) == (3, 4)
    assert log.log_end_offset == 5
    assert [(each.base_offset, each.leader_epoch) for each in headers_of(log)] == [(0, 4), (3, 4)]
    assert log.epochs.entries == ((4, 0),)


def test_what_is_on_disk_is_what_was_sent_but_for_offset_and_epoch(log, make_batch):
    batch = make_batch(5)
    sent = bytes(batch)
    log.append(batch, leader_epoch=7)

    stored = log.active_segment.path.read_bytes()

    assert stored[8:12] == sent[8:12]
    assert stored[16:] == sent[16:]


def test_log_append_time_is_set_in_the_batch_with_a_right_crc(open_partition_log, make_batch, clock):
    log = open_partition_log(message_timestamp_type="LogAppendTime")

    result = log.append(make_batch(3, timestamp_ms=5), leader_epoch=0)

    assert result.append_time_ms == clock.now_ms()
    (batch,) = log.batches(0, 3)
    assert is_crc_valid(batch, 0, len(batch))
    assert {record.timestamp_ms for record in iterate_records(batch)} == {clock.now_ms()}


def test_own_appends_may_hold_several_batches(log, make_batch):
    data = memoryview(bytearray(b"".join([make_batch(2), make_batch(1), make_batch(3)])))

    result = log.append(data, leader_epoch=1, is_client=False)

    assert (result.base_offset, result.last_offset) == (0, 5)
    assert [each.base_offset for each in headers_of(log)] == [0, 2, 3]
    assert read_offsets(log, 2) == [2, 3]


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
def test_an_own_batch_alone_leaves_what_it_leaves_among_others(
    env, tmp_path, topic_config, make_batch, clock, timestamp_type
):
    # One that is no producer's takes the way of clients' batches; by the other each is taken apart.
    def files_of(name, append):
        config = topic_config(index_interval_bytes=150, message_timestamp_type=timestamp_type)
        log = open_log(env, TopicPartition("t", 0), tmp_path / name, config)
        for number in range(9):
            result = append(log, make_batch(1 + number % 3, timestamp_ms=(5, 9, 7)[number % 3]))
            assert (result.last_offset + 1, result.error_code) == (log.log_end_offset, ErrorCode.NONE)
        reads = [read_offsets(log, offset) for offset in range(18)]
        log.close()
        return reads, {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    def taken_apart(log, batch):
        if timestamp_type == "LogAppendTime":
            set_max_timestamp(batch, 0, len(batch), clock.now_ms(), is_log_append_time=True)
        return log.append_as_leader(OwnBatches(batch, -1), 3)

    alone = files_of("alone", lambda log, batch: log.append(batch, 3, is_client=False))
    assert alone == files_of("apart", taken_apart)


def test_a_partial_batch_after_the_first_is_cut_off(log, make_batch):
    batch = make_batch()
    result = log.append(memoryview(bytearray(bytes(batch) + bytes(make_batch())[:40])), leader_epoch=0)

    assert result.error_code == ErrorCode.NONE
    assert log.size_bytes == len(batch)


def test_an_empty_own_append_is_refused(log):
    assert log.append(memoryview(bytearray()), 0, is_client=False).error_code == ErrorCode.INVALID_RECORD


def test_a_batch_larger_than_a_segment_is_refused(open_partition_log, make_batch):
    log = open_partition_log(segment_bytes=200)
    result = log.append(make_batch(1, b"x" * 200), leader_epoch=0)

    assert result.error_code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert (result.base_offset, result.log_start_offset) == (-1, -1)
    own = log.append(make_batch(1, b"x" * 200), leader_epoch=0, is_client=False)
    assert own.error_code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_full_disk_leaves_the_log_as_it_was(log, make_batch, disk):
    log.append(make_batch(2), leader_epoch=0)
    size = log.size_bytes
    disk.free_bytes = 30

    with pytest.raises(StorageError, match="No space left"):
        log.append(make_batch(2), leader_epoch=0)

    assert log.active_segment.path.stat().st_size == size
    assert log.log_end_offset == 2
    disk.free_bytes = None
    assert log.append(make_batch(1), leader_epoch=0).base_offset == 2
    assert read_offsets(log, 0) == [0, 2]


class TestRoll:
    def test_by_size(self, open_partition_log, make_batch):
        log = open_partition_log(segment_bytes=2 * len(make_batch()))
        for _ in range(5):
            log.append(make_batch(), leader_epoch=0)

        assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
        assert len(headers_of(log)) == 5

    def test_by_record_time(self, open_partition_log, make_batch):
        log = open_partition_log(segment_ms=1000)
        for timestamp_ms in (10_000, 11_000, 11_001, 11_500):
            log.append(make_batch(timestamp_ms=timestamp_ms), leader_epoch=0)

        assert [segment.base_offset for segment in log.segments] == [0, 2]

    def test_by_wall_time_where_records_have_no_timestamps(self, open_partition_log, make_batch, clock):
        log = open_partition_log(segment_ms=1000)
        log.append(make_batch(timestamp_ms=-1), leader_epoch=0)
        clock.advance(1001)
        log.append(make_batch(timestamp_ms=-1), leader_epoch=0)

        assert [segment.base_offset for segment in log.segments] == [0, 1]

    def test_earlier_by_the_jitter(self, env, open_partition_log, make_batch):
        env.choose_jitter = lambda limit_ms: limit_ms - 1
        log = open_partition_log(segment_ms=1000, segment_jitter_ms=300)
        for timestamp_ms in (10_000, 10_701, 10_702):
            log.append(make_batch(timestamp_ms=timestamp_ms), leader_epoch=0)

        assert [segment.base_offset for segment in log.segments] == [0, 2]

    def test_writes_producer_state_and_moves_the_recovery_point(self, open_partition_log, make_batch, directory):
        log = open_partition_log()
        log.append(make_batch(2), leader_epoch=0)
        log.roll()

        assert log.recovery_point == 2
        assert (directory / f"{2:020d}.snapshot").exists()

    def test_leaves_an_empty_segment_alone(self, log):
        assert log.roll() is log.active_segment
        assert len(log.segments) == 1


class TestRead:
    def test_from_the_batch_that_holds_the_offset(self, log, make_batch):
        for _ in range(4):
            log.append(make_batch(3), leader_epoch=0)

        assert read_offsets(log, 4) == [3, 6, 9]
        assert read_offsets(log, 11) == [9]

    def test_at_the_end_there_is_nothing(self, log, make_batch):
        log.append(make_batch(3), leader_epoch=0)

        assert log.read(3, 1000, 3) is None

    def test_outside_of_the_log(self, log, make_batch):
        log.append(make_batch(3), leader_epoch=0)
        with pytest.raises(ValueError):
            log.read(4, 1000, 3)

    @pytest.mark.parametrize("is_restarted", [False, True])
    def test_never_beyond_the_high_watermark(self, open_partition_log, log, make_batch, is_restarted):
        for _ in range(4):
            log.append(make_batch(3), leader_epoch=0)
        if is_restarted:
            log.close()
            log = open_partition_log(was_clean=True)

        assert read_offsets(log, 0, end_offset=6) == [0, 3]
        assert read_offsets(log, 0, end_offset=7) == [0, 3]
        assert log.read(6, 1000, 6) is None

    def test_at_least_one_batch(self, log, make_batch):
        size = len(make_batch(3))
        for _ in range(3):
            log.append(make_batch(3), leader_epoch=0)

        assert log.read(0, 1, 9).length == size
        assert log.read(0, 1, 9, at_least_one=False).length == 1
        assert log.read(0, 0, 9, at_least_one=False) is None
        assert log.read(0, size + 5, 9).length == size + 5

    def test_within_one_segment(self, open_partition_log, make_batch):
        log = open_partition_log(segment_bytes=2 * len(make_batch()))
        for _ in range(5):
            log.append(make_batch(), leader_epoch=0)

        assert read_offsets(log, 0) == [0, 1]
        assert read_offsets(log, 1) == [1]
        assert read_offsets(log, 2) == [2, 3]
        assert read_offsets(log, 0, end_offset=1) == [0]
        assert read_offsets(log, 2, end_offset=4) == [2, 3]

    def test_old_batches_through_the_index(self, open_partition_log, make_batch):
        log = open_partition_log(index_interval_bytes=100)
        for _ in range(500):
            log.append(make_batch(2), leader_epoch=0)

        for offset in (0, 1, 2, 77, 400, 401, 998, 999):
            assert read_offsets(log, offset)[0] == offset // 2 * 2

    def test_a_slice_outlives_the_deletion_of_its_segment(self, log, make_batch):
        log.append(make_batch(value=b"precious"), leader_epoch=0)
        part = log.read(0, 1000, 1)
        delete_segments(log, 1)
        other = os.open(os.devnull, os.O_RDONLY)
        try:
            assert b"precious" in part.read()
        finally:
            os.close(other)

    def test_skips_to_the_next_segment_where_offsets_are_missing(self, open_partition_log, log, make_batch, directory):
        log.append(make_batch(1), leader_epoch=0)
        log.append(make_batch(1), leader_epoch=0)
        log.roll()
        log.append(make_batch(1), leader_epoch=0)
        log.close()
        # Compaction may leave a first segment without its last offsets.
        os.truncate(directory / f"{0:020d}.log", len(make_batch(1)))
        log = open_partition_log(was_clean=True)

        assert read_offsets(log, 1) == [2]


class TestIdempotence:
    def batch(self, make_batch, sequence, count=2, epoch=0):
        return make_batch(count, producer_id=9, producer_epoch=epoch, base_sequence=sequence)

    def test_a_repeated_batch_is_answered_with_its_first_offsets(self, log, make_batch, clock):
        log.append(self.batch(make_batch, 0), 0)
        log.append(self.batch(make_batch, 2), 0)
        again = log.append(self.batch(make_batch, 0), 0)

        assert again.is_duplicate
        assert (again.error_code, again.base_offset, again.last_offset) == (ErrorCode.NONE, 0, 1)
        assert again.append_time_ms == clock.now_ms() + 1
        assert log.log_end_offset == 4

    def test_only_five_batches_are_remembered(self, log, make_batch):
        for sequence in range(0, 12, 2):
            log.append(self.batch(make_batch, sequence), 0)

        assert log.append(self.batch(make_batch, 2), 0).is_duplicate
        assert log.append(self.batch(make_batch, 0), 0).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_a_gap_is_refused(self, log, make_batch):
        log.append(self.batch(make_batch, 0), 0)
        refused = log.append(self.batch(make_batch, 3), 0)

        assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert (refused.base_offset, refused.log_start_offset) == (-1, 0)
        # Nor may one begin within what was sent.
        assert log.append(self.batch(make_batch, 1), 0).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_an_unknown_producer_may_start_anywhere(self, log, make_batch):
        assert log.append(self.batch(make_batch, 77), 0).error_code == ErrorCode.NONE

    def test_epochs(self, log, make_batch):
        log.append(self.batch(make_batch, 0, epoch=3), 0)

        assert log.append(self.batch(make_batch, 2, epoch=2), 0).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
        assert log.append(self.batch(make_batch, 2, epoch=4), 0).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        # A new epoch begins with the sequences of the one before: that is no repetition.
        began = log.append(self.batch(make_batch, 0, epoch=4), 0)
        assert (began.error_code, began.is_duplicate, began.base_offset) == (ErrorCode.NONE, False, 2)

    def test_sequences_wrap(self, log, make_batch):
        log.append(self.batch(make_batch, 2**31 - 1, count=2), 0)

        assert log.append(self.batch(make_batch, 1), 0).error_code == ErrorCode.NONE

    def test_after_the_largest_sequence_comes_0(self, log, make_batch):
        log.append(self.batch(make_batch, 2**31 - 2), 0)

        assert log.append(self.batch(make_batch, 1), 0).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert log.append(self.batch(make_batch, 0), 0).error_code == ErrorCode.NONE

    def test_state_survives_a_clean_stop_and_a_kill(self, open_partition_log, log, make_batch):
        log.append(self.batch(make_batch, 0), 0)
        log.roll()
        log.append(self.batch(make_batch, 2), 0)
        killed = open_partition_log(recovery_point=2)
        assert killed.append(self.batch(make_batch, 2), 0).is_duplicate
        assert killed.append(self.batch(make_batch, 4), 0).error_code == ErrorCode.NONE
        killed.close()
        restarted = open_partition_log(was_clean=True)
        assert restarted.append(self.batch(make_batch, 4), 0).is_duplicate
        assert restarted.append(self.batch(make_batch, 9), 0).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_silent_producers_are_forgotten(self, open_partition_log, log, make_batch, clock):
        log.append(self.batch(make_batch, 0), 0)
        clock.advance(7 * 24 * 3600 * 1000 + 10)
        log.close()
        assert len(open_partition_log(was_clean=True).producers) == 0
        log.remove_expired_producers()
        assert len(log.producers) == 0


class TestTimestamps:
    def test_finds_the_first_record_at_or_after_a_time(self, open_partition_log, make_batch):
        log = open_partition_log(segment_bytes=400, index_interval_bytes=0)
        for batch in range(20):
            log.append(make_batch(3, timestamp_ms=1000 * batch), leader_epoch=batch // 10)

        assert log.offset_for_timestamp(0) == (0, 0, 0)
        assert log.offset_for_timestamp(5001) == (5001, 16, 0)
        assert log.offset_for_timestamp(5003) == (6000, 18, 0)
        assert log.offset_for_timestamp(19_002) == (19_002, 59, 1)
        assert log.offset_for_timestamp(19_003) is None

    def test_not_below_the_log_start(self, log, make_batch):
        log.append(make_batch(3, timestamp_ms=10), leader_epoch=0)
        log.increment_log_start_offset(2)

        assert log.offset_for_timestamp(0) == (12, 2, 0)


class TestTruncation:
    @pytest.fixture
    def long_log(self, open_partition_log, make_batch):
        log = open_partition_log(segment_bytes=3 * len(make_batch(2)), index_interval_bytes=0)
        for batch in range(10):
            log.append(make_batch(2, timestamp_ms=batch * 100), leader_epoch=batch // 4)
        return log

    def test_cuts_the_batch_that_holds_the_offset(self, long_log, make_batch):
        long_log.truncate(9)

        assert long_log.log_end_offset == 9
        assert [each.base_offset for each in headers_of(long_log)] == [0, 2, 4, 6]
        assert long_log.epochs.entries == ((0, 0), (1, 8))
        assert long_log.append(make_batch(1), 1).base_offset == 9
        assert read_offsets(long_log, 9) == [9]

    def test_cuts_to_the_start_of_a_segment(self, long_log, make_batch):
        long_log.truncate(6)
        assert long_log.append(make_batch(1), 0).base_offset == 6
        assert read_offsets(long_log, 6) == [6]

    def test_to_the_end_or_beyond_changes_nothing(self, long_log):
        long_log.truncate(20)
        long_log.truncate(25)
        assert long_log.log_end_offset == 20

    def test_below_the_first_segment_begins_anew(self, long_log, make_batch):
        long_log.delete_oldest_segments(2)
        long_log.truncate(3)

        assert (long_log.log_start_offset, long_log.log_end_offset) == (3, 3)
        assert long_log.append(make_batch(1), 5).base_offset == 3

    def test_a_flush_that_was_running_does_not_cover_what_is_written_after(self, env, open_partition_log, make_batch):
        executor = env.executor = ManualExecutor()
        log = open_partition_log()
        told = []
        log.append(make_batch(2), 0)
        log.append(make_batch(2), 0)
        executor.run_all()
        log.flush()
        log.truncate(2)
        log.append(make_batch(2), 0)
        log.flush(told.append)
        # The flush, the cut, the epochs.
        executor.run_next()
        assert (log.recovery_point, told) == (2, [None])
        executor.run_all()

        log.append(make_batch(2), 0)
        assert log.recovery_point == 2


class TestFlush:
    def test_flush_messages_wants_a_flush(self, open_partition_log, make_batch, env):
        waiting = []

        class HeldExecutor:
            def run(self, work, then, failed):
                waiting.append((work, then))

        env.executor = HeldExecutor()
        log = open_partition_log(flush_messages=2)
        log.append(make_batch(1), 0)
        assert not log.is_flush_due()
        log.append(make_batch(1), 0)
        assert log.is_flush_due()
        told = []
        log.append(make_batch(1), 0)
        log.flush(lambda _: told.append(log.recovery_point))
        # First the leader epoch is written.
        for recovery_point in (0, 2, 3):
            work, then = waiting.pop(0)
            then(work())
            assert log.recovery_point == recovery_point

        assert told == [3]
        assert not log.is_flush_due()
        assert not waiting

    def test_who_waits_for_what_a_running_flush_covers_waits_for_that_one(self, open_partition_log, make_batch, env):
        executor = env.executor = ManualExecutor()
        log = open_partition_log(flush_messages=1)
        told = []
        log.append(make_batch(1), 0)
        log.flush(lambda error: told.append((error, "first")))
        # First the leader epoch is written.
        executor.run_next()
        executor.run_next()
        assert (told, executor.waiting_count) == ([(None, "first")], 0)

        log.append(make_batch(1), 0)
        log.flush(lambda error: told.append((error, "second")))
        log.truncate(1)
        # The flush that runs, then the cut.
        executor.run_next()
        executor.run_next()
        log.append(make_batch(1), 0)
        log.flush(lambda error: told.append((error, "cut")))
        # What ran when the log was cut is not what the log holds.
        assert told == [(None, "first"), (None, "second")]
        executor.run_all()
        assert told == [(None, "first"), (None, "second"), (None, "cut")]

    def test_nothing_to_flush(self, log, disk):
        told = []
        log.flush(told.append)
        assert told == [None]

    def test_everybody_who_waits_for_a_flush_that_fails_is_told(self, open_partition_log, make_batch, env, disk):
        env.executor = executor = ManualExecutor()
        log = open_partition_log(flush_messages=2)
        told = []
        log.append(make_batch(2), 0)
        log.flush(lambda error: told.append(("first", type(error))))
        log.append(make_batch(2), 0)
        log.flush(lambda error: told.append(("second", type(error))))
        disk.fails_to_sync = True
        executor.run_all()
        assert told == [("first", StorageError), ("second", StorageError)]
        # Nobody is left behind. A later fsync may succeed, and yet what the first one lost is not on disk.
        disk.fails_to_sync = False
        log.flush(lambda error: told.append(("third", type(error))))
        executor.run_all()
        assert told[-1] == ("third", StorageError)
        assert (log.recovery_point, log.has_failed) == (0, True)

    def test_a_closed_log_is_not_flushed(self, log, make_batch):
        log.append(make_batch(1), 0)
        log.release()
        told = []
        log.flush(told.append)
        assert [type(error) for error in told] == [StorageError]

    def test_a_failed_flush_is_told(self, log, make_batch, disk, failures):
        log.append(make_batch(1), 0)
        disk.fails_to_sync = True
        log.flush()

        assert len(failures) == 1
        assert log.recovery_point == 0


def test_end_offset_for_epoch(log, make_batch):
    log.append(make_batch(2), 1)
    log.append(make_batch(2), 4)

    assert log.latest_epoch == 4
    assert log.end_offset_for_epoch(4) == (4, 4)
    assert log.end_offset_for_epoch(2) == (1, 2)
    assert log.end_offset_for_epoch(0) == (0, 0)
    assert log.end_offset_for_epoch(5) == (-1, -1)
    assert (log.epoch_at(1), log.epoch_at(3)) == (1, 4)


def test_a_new_leader_begins_at_the_log_end(log, make_batch):
    log.append(make_batch(2), 1)
    log.begin_leader_epoch(3)

    assert log.epochs.entries == ((1, 0), (3, 2))


def test_batches_are_fixed_by_the_call(log, make_batch):
    log.append(make_batch(2), 0)
    walk = log.batches(0, 100)
    log.append(make_batch(2), 0)

    assert [read_header(batch).base_offset for batch in walk] == [0]
    assert [each.base_offset for each in headers_of(log, 3, 100)] == [2]
    assert headers_of(log, 4) == []


def test_a_control_batch_of_the_broker_passes(log, make_batch):
    batch = make_batch(1)
    pack_into(">h", batch, 21, 0x30)
    assert log.append(batch, 0, is_client=False).error_code == ErrorCode.NONE
