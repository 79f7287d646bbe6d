"""What a follower's log takes from its leader, what it refuses, and what waits."""

from struct import pack_into

import pytest

from barnabas.broker.log import partition_log
from barnabas.broker.log.appends.errors import OutOfOrderBatchesError
from barnabas.broker.log.appends.replicated_batches import check_replicated_batches
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.message_set import MessageSetBuilder


def batch(base_offset, count=1, epoch=0, value=b"value", timestamp_ms=1_000, **producer):
    builder = BatchBuilder(**producer)
    for index in range(count):
        builder.append(timestamp_ms + index, b"key", value)
    built = builder.build()
    pack_into(">q", built, 0, base_offset)
    pack_into(">i", built, 12, epoch)
    return built


def message(offset, magic=1):
    builder = MessageSetBuilder(magic)
    builder.append(offset, 1_000, b"key", b"value")
    return builder.build()


def marker(base_offset, producer_id, marker_type=MarkerType.ABORT):
    built = build_marker(producer_id, 0, EndTransactionMarker(marker_type, 1), 1_000)
    pack_into(">q", built, 0, base_offset)
    return built


def run(*batches):
    return memoryview(bytearray().join(batches))


def take(log, *batches, is_wanted=lambda: True):
    return log.append_as_follower(check_replicated_batches(run(*batches), log.log_end_offset), is_wanted)


def stored(log):
    return [bytes(each) for each in log.batches(log.log_start_offset, log.log_end_offset)]


class TestCheck:
    def test_tells_what_a_run_holds(self):
        copies = check_replicated_batches(run(batch(5, 2), batch(9, 3, epoch=2, timestamp_ms=7_000), batch(12)), 5)

        assert (copies.batch_count, copies.first_offset, copies.last_offset) == (3, 5, 12)
        assert (copies.first_timestamp_ms, copies.max_timestamp_ms, copies.timestamp_offset) == (1_001, 7_002, 11)
        assert copies.epochs == [(0, 5), (2, 9), (0, 12)]

    @pytest.mark.parametrize("kept", [1, 11, 12, 16, 17, 40, 60, 61, 70])
    def test_a_torn_last_batch_is_left_out(self, kept):
        first = batch(0, 2)
        copies = check_replicated_batches(run(first, batch(2)[:kept]), 0)

        assert (copies.batch_count, copies.last_offset, bytes(copies.data)) == (1, 1, bytes(first))

    @pytest.mark.parametrize("kept", [0, 5, 30, 65])
    def test_nothing_whole_is_no_error(self, log, kept):
        copies = check_replicated_batches(run(batch(0)[:kept]), 0)

        assert (copies.batch_count, copies.size_bytes, copies.last_offset) == (0, 0, -1)
        assert log.append_as_follower(copies) is None
        assert log.log_end_offset == 0

    def test_a_wrong_crc(self):
        damaged = batch(1)
        damaged[-1] ^= 1
        with pytest.raises(CorruptRecordsError, match="offset 1 has a wrong CRC"):
            check_replicated_batches(run(batch(0), damaged), 0)

    @pytest.mark.parametrize("magic", [0, 1])
    def test_a_wrong_crc_of_a_message(self, magic):
        damaged = message(4, magic)
        damaged[-1] ^= 1
        with pytest.raises(CorruptRecordsError, match="offset 4 has a wrong CRC"):
            check_replicated_batches(run(damaged), 0)

    @pytest.mark.parametrize(
        ("position", "layout", "value"),
        [(16, ">b", 3), (16, ">b", -1), (8, ">i", 13), (8, ">i", -1), (8, ">i", 48), (23, ">i", -1), (0, ">q", -1)],
    )
    def test_headers_that_no_batch_has(self, position, layout, value):
        damaged = batch(0)
        pack_into(layout, damaged, position, value)
        with pytest.raises(CorruptRecordsError):
            check_replicated_batches(run(damaged), 0)

    def test_an_offset_beyond_64_bits(self):
        with pytest.raises(CorruptRecordsError):
            check_replicated_batches(run(batch(2**63 - 1, 2)), 0)

    @pytest.mark.parametrize(
        "batches",
        [
            (batch(3, 2),),
            (batch(5), batch(5)),
            (batch(5, 3), batch(7)),
            (batch(9), batch(8)),
            (message(4),),
            (message(6), message(6)),
        ],
        ids=["below the end", "twice", "overlapping", "back", "message below the end", "message twice"],
    )
    def test_offsets_that_do_not_ascend(self, batches):
        with pytest.raises(OutOfOrderBatchesError):
            check_replicated_batches(run(*batches), 5)

    def test_an_unreadable_marker(self):
        damaged = batch(0, is_control=True, is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=-1)
        with pytest.raises(CorruptRecordsError):
            check_replicated_batches(run(damaged), 0)


class TestAppend:
    def test_as_they_came_with_gaps_and_epochs(self, log):
        batches = [batch(0, 3), batch(3, epoch=1), batch(9, 2, epoch=4)]
        assert take(log, *batches) is None

        assert stored(log) == [bytes(each) for each in batches]
        assert (log.log_end_offset, log.epochs.entries) == (11, ((0, 0), (1, 3), (4, 9)))
        assert log.offset_for_timestamp(1_002) == (1_002, 2, 0)

    def test_a_message_of_an_old_format_clears_the_epochs(self, log):
        take(log, batch(0, epoch=3), message(1), message(2, magic=0))

        assert (log.epochs.entries, log.log_end_offset) == ((), 3)
        take(log, batch(3, epoch=4))
        assert log.epochs.entries == ((4, 3),)

    def test_a_batch_without_an_epoch_leaves_them(self, log):
        take(log, batch(0, epoch=3), batch(1, epoch=-1), batch(2, epoch=-2))
        assert log.epochs.entries == ((3, 0),)

    def test_producers_and_transactions(self, log, open_partition_log):
        producer = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
        take(log, batch(0, 2, base_sequence=0, **producer), batch(2, base_sequence=2, **producer))
        assert log.first_unstable_offset == 0
        take(log, batch(3), marker(4, 7))

        assert [entry[:3] for entry in log.segments[-1].transactions.entries] == [(7, 0, 4)]
        found = log.producers.get(7)
        assert (found.last_sequence, found.coordinator_epoch, found.transaction_first_offset) == (2, 1, -1)
        log.note_high_watermark(5)
        assert log.first_unstable_offset > 5

    def test_segments_end_where_single_appends_would_end_them(self, open_partition_log, topic_config, env, tmp_path):
        batches = [batch(offset, value=b"v" * (offset % 7 * 10)) for offset in range(40)]
        log = open_partition_log(segment_bytes=400, index_interval_bytes=100)
        assert take(log, *batches) is None
        bases = [segment.base_offset for segment in log.segments]
        held = stored(log)
        assert held == [bytes(each) for each in batches]

        log.truncate(0)
        for each in batches:
            take(log, each)
        assert [segment.base_offset for segment in log.segments] == bases
        assert stored(log) == held
        assert max(segment.size for segment in log.segments) <= 400

    def test_a_segment_begins_before_a_gap_if_its_offsets_fit(self, open_partition_log, disk):
        log = open_partition_log(segment_bytes=180)
        take(log, batch(0), batch(50, value=b"v" * 100), batch(2**40))
        assert [segment.base_offset for segment in log.segments] == [0, 1, 2**40 - 2**31 + 1]

        # Else recovery would take the gap for records that a power failure has lost.
        log.truncate(51)
        log.release()
        disk.kill()
        assert open_partition_log().log_end_offset == 51

    def test_indexes_never_outgrow_segment_index_bytes(self, open_partition_log):
        log = open_partition_log(segment_index_bytes=48, index_interval_bytes=0)
        take(log, *(batch(offset, value=b"v" * 2000, timestamp_ms=offset) for offset in range(20)))
        assert len(log.segments) > 3
        assert [read_header(each).base_offset for each in log.batches(0, 20)] == list(range(20))

    @pytest.mark.parametrize("count", [100, 200, 700])
    def test_a_reader_at_the_tail_finds_every_batch(self, log, count):
        take(log, batch(0), batch(1))
        take(log, *(batch(offset, 2) for offset in range(2, 2 + 2 * count, 2)))
        for offset in range(log.log_end_offset):
            found = log.read(offset, 1, log.log_end_offset)
            assert read_header(found.read()).last_offset >= offset
            assert read_header(found.read()).base_offset <= offset

    def test_a_reader_in_a_gap_gets_the_batch_behind_it(self, log):
        take(log, batch(0), batch(1))
        take(log, batch(5))
        take(log, batch(6), batch(9))
        for offset, base_offset in ((2, 5), (4, 5), (7, 9), (8, 9)):
            found = log.read(offset, 1, log.log_end_offset)
            assert read_header(found.read()).base_offset == base_offset

    def test_what_was_copied_is_read_again_after_a_kill(self, log, open_partition_log):
        batches = [batch(offset, 2, epoch=offset // 500, value=b"v" * 50) for offset in range(0, 2_000, 2)]
        for start in range(0, 1_000, 300):
            take(log, *batches[start : start + 300])
        epochs = log.epochs.entries
        log.release()
        log = open_partition_log()

        assert (stored(log), log.epochs.entries) == ([bytes(each) for each in batches], epochs)

    def test_a_first_batch_below_the_end_of_an_empty_log_begins_it_anew(self, log):
        log.truncate_fully_and_start_at(10)
        take(log, batch(8, 5, epoch=2))

        assert (log.log_start_offset, log.log_end_offset) == (8, 13)
        assert log.epochs.entries == ((2, 8),)
        assert [segment.base_offset for segment in log.segments] == [8]

    def test_but_not_that_of_one_with_records(self, log):
        take(log, batch(0, 10))
        with pytest.raises(OutOfOrderBatchesError):
            take(log, batch(8, 5))
        assert log.log_end_offset == 10

    def test_a_full_disk_takes_nothing(self, log, disk):
        take(log, batch(0))
        disk.free_bytes = 100
        with pytest.raises(StorageError):
            take(log, batch(1), batch(2))
        disk.free_bytes = None
        assert (log.log_end_offset, len(stored(log))) == (1, 1)
        assert take(log, batch(1)) is None

    def test_a_closed_log_takes_nothing(self, log):
        log.close()
        assert take(log, batch(0)) is None
        assert log.log_end_offset == 0
        assert log.truncate(0).is_done


class TestLarge:
    @pytest.fixture
    def executor(self, env, monkeypatch):
        monkeypatch.setattr(partition_log, "LARGE_BYTES", 150)
        env.executor = ManualExecutor()
        return env.executor

    def test_is_written_ahead(self, executor, log, make_batch):
        pending = take(log, batch(0), batch(1, 3))
        assert (log.log_end_offset, log.is_busy, log.is_truncating) == (0, True, False)
        assert log.append(make_batch(1), 5).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        second = take(log, batch(4))
        idle = log.idle()

        executor.run_all()
        assert pending.is_done
        assert second.is_done
        assert idle.is_done
        assert log.log_end_offset == 5
        assert len(stored(log)) == 3
        assert log.append(make_batch(1), 5).base_offset == 5

    def test_is_dropped_when_it_is_not_wanted_any_more(self, executor, log):
        pending = take(log, batch(0), batch(1, 3), is_wanted=lambda: False)
        executor.run_all()
        assert pending.is_done
        assert (log.log_end_offset, log.segments[-1].size, log.segments[-1].file.read(0, 1)) == (0, 0, b"")

    def test_a_truncation_waits_for_it_and_has_it_dropped(self, executor, log):
        take(log, batch(0, 2))
        pending = take(log, batch(2), batch(3))
        cut = log.truncate(1)
        assert log.is_truncating
        executor.run_all()

        assert pending.is_done
        assert cut.is_done
        assert (log.log_end_offset, log.is_busy) == (1, False)

    def test_one_that_a_segment_ends_in(self, executor, open_partition_log):
        log = open_partition_log(segment_bytes=400)
        batches = [batch(offset, value=b"v" * 60) for offset in range(12)]
        pending = take(log, *batches)
        executor.run_all()
        assert pending.is_done
        assert stored(log) == [bytes(each) for each in batches]
        assert len(log.segments) == 4

    def test_a_disk_that_does_not_take_it(self, executor, log, disk):
        disk.free_bytes = 60
        pending = take(log, batch(0), batch(1, 3))
        executor.run_all()
        assert isinstance(pending.error, StorageError)
        assert (log.log_end_offset, log.is_busy) == (0, False)

    def test_an_unexpected_error_leaves_the_log_idle(self, executor, log):
        failure = ZeroDivisionError()

        def fail() -> bool:
            raise failure

        pending = take(log, batch(0), batch(1, 3), is_wanted=fail)
        executor.run_all()
        assert pending.error is failure
        assert (log.log_end_offset, log.is_busy) == (0, False)
        take(log, batch(0), batch(1, 3))
        executor.run_all()
        assert log.log_end_offset == 4
