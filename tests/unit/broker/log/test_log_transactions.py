"""The read side of transactions: what is unstable, what was aborted, and what is known again after a restart."""

from pathlib import Path
from struct import pack

import pytest

from barnabas.broker.log.file_names import file_name
from barnabas.broker.log.producers.producer_state import NEVER_OFFSET
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.txn_index import TransactionIndex
from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.errors import CorruptRecordsError

WEEK_MS = 604_800_000


@pytest.fixture
def write(clock, make_batch):
    """Append transactional records of a producer; sequences go on by themselves."""
    sequences: dict[tuple[int, int], int] = {}

    def written(log, producer_id, count=1, epoch=0):
        sequence = sequences.get((producer_id, epoch), 0)
        sequences[producer_id, epoch] = sequence + count
        batch = make_batch(
            count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
        )
        result = log.append(batch, 0)
        assert result.error_code == ErrorCode.NONE
        return result.base_offset

    return written


@pytest.fixture
def end(clock):
    def ended(log, producer_id, kind=MarkerType.ABORT, epoch=0, coordinator_epoch=0):
        marker = EndTransactionMarker(kind, coordinator_epoch)
        batch = build_marker(producer_id, epoch, marker, clock.now_ms())
        return log.append(memoryview(batch), 0, is_client=False)

    return ended


def commit(end, log, producer_id, **options):
    return end(log, producer_id, MarkerType.COMMIT, **options)


def aborted(log, offset=0, max_bytes=2**20):
    part = log.read(offset, max_bytes, log.log_end_offset)
    return [tuple(each) for each in log.aborted_transactions(offset, part)]


class TestLastStableOffset:
    def test_without_transactions_all_is_stable(self, log, make_batch):
        log.append(make_batch(3), 0)
        assert log.first_unstable_offset == NEVER_OFFSET

    def test_an_open_transaction_is_unstable_from_its_first_offset(self, log, make_batch, write):
        log.append(make_batch(3), 0)
        write(log, 7, 2)
        write(log, 7, 2)
        assert log.first_unstable_offset == 3

    def test_it_is_stable_once_its_marker_is_below_the_high_watermark(self, log, write, end):
        write(log, 7, 2)
        marker_offset = commit(end, log, 7).base_offset
        log.note_high_watermark(marker_offset)
        assert log.first_unstable_offset == 0
        log.note_high_watermark(marker_offset + 1)
        assert log.first_unstable_offset == NEVER_OFFSET

    def test_the_earliest_open_one_counts(self, log, write, end):
        write(log, 7)
        write(log, 8)
        write(log, 9)
        commit(end, log, 8)
        log.note_high_watermark(4)
        assert log.first_unstable_offset == 0
        commit(end, log, 7)
        log.note_high_watermark(5)
        assert log.first_unstable_offset == 2

    def test_of_overlapping_ones_the_earliest_that_is_not_replicated_counts(self, log, write, end):
        for producer_id in (1, 2, 3, 4):
            write(log, producer_id)
        for producer_id in (3, 2, 4, 1):
            commit(end, log, producer_id)
        write(log, 5)
        commit(end, log, 5)
        unstable = []
        for high_watermark in range(4, 11):
            log.note_high_watermark(high_watermark)
            unstable.append(log.first_unstable_offset)
        assert unstable == [0, 0, 0, 0, 8, 8, NEVER_OFFSET]

    def test_a_long_one_that_ends_last_keeps_later_ones_unstable(self, log, write, end):
        write(log, 1)
        write(log, 2)
        commit(end, log, 1)
        write(log, 3)
        commit(end, log, 3)
        commit(end, log, 2)
        unstable = []
        for high_watermark in range(2, 7):
            log.note_high_watermark(high_watermark)
            unstable.append(log.first_unstable_offset)
        assert unstable == [0, 1, 1, 1, NEVER_OFFSET]

    def test_it_is_never_below_the_log_start(self, log, make_batch, write):
        write(log, 7)
        log.append(make_batch(5), 0)
        log.increment_log_start_offset(4)
        assert log.first_unstable_offset == 4

    def test_a_marker_below_the_log_start_needs_no_high_watermark(self, log, make_batch, write, end):
        write(log, 7)
        commit(end, log, 7)
        log.append(make_batch(5), 0)
        log.increment_log_start_offset(4)
        assert log.first_unstable_offset == NEVER_OFFSET

    def test_truncation_opens_a_transaction_again(self, log, write, end):
        write(log, 7, 2)
        end(log, 7)
        log.note_high_watermark(3)
        log.truncate(2)
        assert (log.first_unstable_offset, log.active_segment.transactions.entries) == (0, ())
        end(log, 7)
        assert aborted(log) == [(7, 0, 2, 3)]


class TestMarkers:
    def test_an_abort_is_in_the_index_with_the_last_stable_offset_of_its_time(self, log, write, end, directory):
        write(log, 7, 2)
        write(log, 8, 1)
        assert end(log, 7).base_offset == 3
        assert end(log, 8).base_offset == 4

        assert log.active_segment.transactions.entries == ((7, 0, 3, 2), (8, 2, 4, 5))
        stored = (Path(directory) / file_name(0, ".txnindex")).read_bytes()
        assert stored.hex() == "0000" + "".join(f"{number:016x}" for number in (7, 0, 3, 2)) + "0000" + "".join(
            f"{number:016x}" for number in (8, 2, 4, 5)
        )

    def test_a_commit_is_not(self, log, write, end, directory):
        write(log, 7)
        commit(end, log, 7)
        assert not (Path(directory) / file_name(0, ".txnindex")).exists()

    def test_a_marker_without_a_transaction_is_written_and_is_no_transaction(self, log, end):
        assert end(log, 7).error_code == ErrorCode.NONE
        assert (log.log_end_offset, log.active_segment.transactions.entries) == (1, ())
        assert (log.producers.get(7).epoch, log.producers.get(7).last_sequence) == (0, -1)

    def test_markers_of_an_older_producer_epoch_are_refused(self, log, write, end):
        write(log, 7, epoch=3)
        assert end(log, 7, epoch=2).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
        assert log.log_end_offset == 1

    def test_markers_of_an_older_coordinator_are_refused(self, log, write, end):
        write(log, 7)
        end(log, 7, coordinator_epoch=5)
        assert end(log, 7, coordinator_epoch=4).error_code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert end(log, 7, coordinator_epoch=5).error_code == ErrorCode.NONE
        assert log.log_end_offset == 3

    def test_a_marker_with_a_newer_epoch_fences_the_producer(self, log, write, end, make_batch):
        write(log, 7)
        end(log, 7, epoch=1)
        late = make_batch(1, producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True)
        assert log.append(late, 0).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
        write(log, 7, epoch=1)

    def test_a_plain_batch_within_a_transaction_is_refused(self, log, write, make_batch):
        write(log, 7)
        plain = make_batch(1, producer_id=7, producer_epoch=0, base_sequence=1)
        assert log.append(plain, 0).error_code == ErrorCode.INVALID_TXN_STATE
        own = make_batch(1, producer_id=7, producer_epoch=0, base_sequence=0)
        assert log.append(own, 0, is_client=False).error_code == ErrorCode.INVALID_TXN_STATE

    def test_a_coordinators_data_needs_no_sequence_and_opens_a_transaction(self, log, make_batch, end):
        for _ in range(2):
            own = make_batch(1, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
            assert log.append(own, 0, is_client=False).error_code == ErrorCode.NONE
        assert log.first_unstable_offset == 0
        end(log, 7)
        assert aborted(log) == [(7, 0, 2, 3)]

    def test_several_of_them_in_one_append(self, log, write, clock):
        write(log, 7)
        write(log, 8)
        markers = [build_marker(each, 0, EndTransactionMarker(MarkerType.ABORT, 0), clock.now_ms()) for each in (8, 7)]
        log.append(memoryview(bytearray(b"".join(markers))), 0, is_client=False)
        assert aborted(log) == [(8, 1, 2, 0), (7, 0, 3, 4)]


class TestAbortedTransactions:
    def test_those_that_overlap_what_was_read(self, open_partition_log, make_batch, write, end):
        log = open_partition_log(index_interval_bytes=0)
        for producer_id in (1, 2, 3):
            write(log, producer_id, 2)
            end(log, producer_id)

        assert aborted(log) == [(1, 0, 2, 3), (2, 3, 5, 6), (3, 6, 8, 9)]
        assert aborted(log, 3) == [(2, 3, 5, 6), (3, 6, 8, 9)]
        assert aborted(log, 8) == [(3, 6, 8, 9)]
        # The index knows where what was read ends, to the next entry.
        assert aborted(log, 0, max_bytes=10) == [(1, 0, 2, 3)]

    def test_a_marker_in_a_later_segment_counts(self, log, make_batch, write, end):
        write(log, 1, 2)
        log.roll()
        log.append(make_batch(1), 0)
        log.roll()
        end(log, 1)
        write(log, 2)
        log.roll()
        end(log, 2)

        assert aborted(log, 0) == [(1, 0, 3, 4)]
        assert aborted(log, 2) == [(1, 0, 3, 4)]
        assert aborted(log, 3) == [(1, 0, 3, 4), (2, 4, 5, 6)]
        assert aborted(log, 5) == [(2, 4, 5, 6)]

    def test_they_go_with_their_segment(self, log, write, end, directory, clock):
        write(log, 1)
        end(log, 1)
        log.roll()
        log.delete_oldest_segments(1)
        assert (Path(directory) / (file_name(0, ".txnindex") + ".deleted")).exists()
        clock.advance(60_000)
        assert not list(Path(directory).glob("*.txnindex*"))


class TestRestart:
    @pytest.fixture
    def filled(self, log, write, end):
        """An abort that spans two segments, a commit, and an open transaction."""
        write(log, 1, 2)
        write(log, 2, 2)
        log.roll()
        end(log, 1)
        commit(end, log, 2)
        write(log, 3, 1)
        return log

    def test_after_a_clean_stop(self, filled, open_partition_log):
        filled.close()
        log = open_partition_log(was_clean=True)
        assert log.first_unstable_offset == 6
        assert aborted(log) == [(1, 0, 4, 2)]
        assert log.producers.get(3).transaction_first_offset == 6

    @pytest.mark.parametrize("recovery_point", [0, 4, 5])
    def test_after_a_kill_the_index_is_made_anew(self, filled, open_partition_log, directory, recovery_point):
        path = Path(directory) / file_name(4, ".txnindex")
        before = path.read_bytes()
        path.write_bytes(b"torn")
        log = open_partition_log(recovery_point=recovery_point)
        assert path.read_bytes() == before
        # Those that ended are unstable until it is known that their markers are replicated.
        assert log.first_unstable_offset == 0
        log.note_high_watermark(log.log_end_offset)
        assert log.first_unstable_offset == 6

    def test_without_any_snapshot_the_log_says_it_all(self, filled, open_partition_log, directory):
        for path in Path(directory).glob("*.snapshot"):
            path.unlink()
        (Path(directory) / file_name(4, ".txnindex")).unlink()
        log = open_partition_log(recovery_point=4)
        assert aborted(log) == [(1, 0, 4, 2)]
        log.note_high_watermark(log.log_end_offset)
        assert log.first_unstable_offset == 6

    def test_a_cut_marker_leaves_its_transaction_open(self, filled, open_partition_log, directory):
        path = filled.active_segment.path
        path.write_bytes(path.read_bytes()[:50])
        log = open_partition_log()
        assert (log.log_end_offset, log.first_unstable_offset) == (4, 0)
        assert log.active_segment.transactions.entries == ()

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: data + b"xyz",
            lambda data: data + bytes(34),
            lambda data: bytes(34),
            lambda data: b"\xff" * 34,
            # It ends below this segment.
            lambda data: data[:18] + pack(">qq", 3, 2),
        ],
        ids=["torn", "zeros at the end", "zeros", "ones", "below"],
    )
    @pytest.mark.parametrize("was_clean", [True, False])
    def test_a_damaged_index_of_an_old_segment_is_made_anew(
        self, filled, open_partition_log, directory, damage, was_clean
    ):
        filled.roll()
        filled.close()
        path = Path(directory) / file_name(4, ".txnindex")
        before = path.read_bytes()
        path.write_bytes(damage(before))
        log = open_partition_log(was_clean=was_clean, recovery_point=filled.log_end_offset)
        assert path.read_bytes() == before
        assert aborted(log) == [(1, 0, 4, 2)]

    def test_open_transactions_never_expire(self, filled, open_partition_log, clock):
        filled.close()
        clock.advance(WEEK_MS)
        log = open_partition_log(was_clean=True)
        assert [producer_id for producer_id, _ in log.producers.items()] == [3]

    def test_producers_expire_at_a_week_to_the_millisecond(self, log, make_batch, clock):
        log.append(make_batch(1, producer_id=5, producer_epoch=0, base_sequence=0), 0)
        clock.advance(WEEK_MS - 1)
        log.remove_expired_producers()
        assert len(log.producers) == 1
        clock.advance(1)
        log.remove_expired_producers()
        assert len(log.producers) == 0

    def test_what_is_made_anew_below_the_recovery_point_survives_the_next_power_cut(
        self, open_partition_log, make_batch, write, end, directory, disk
    ):
        log = open_partition_log(segment_bytes=400)
        write(log, 7)
        end(log, 7)
        while len(log.segments) < 2:
            log.append(make_batch(2), 0)
        log.flush()
        recovery_point = log.recovery_point
        expected = aborted(log)
        assert expected == [(7, 0, 1, 2)]
        del log
        (directory / file_name(0, ".txnindex")).write_bytes(b"torn")
        log = open_partition_log(recovery_point=recovery_point, segment_bytes=400)
        assert aborted(log) == expected
        # The names of files are synced with what comes now.
        log.append(make_batch(2), 0)
        log.flush()
        del log
        disk.crash()
        log = open_partition_log(recovery_point=recovery_point, segment_bytes=400)
        assert aborted(log) == expected


class TestTransactionIndex:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "00000000000000000000.txnindex"

    @pytest.fixture
    def index(self, disk, path):
        made = TransactionIndex(disk, path)
        for number in range(1, 5):
            made.append(AbortedTransaction(number, 10 * number, 10 * number + 5, 10 * number + 6))
        return made

    def test_it_is_read_back(self, disk, path, index):
        again = TransactionIndex(disk, path)
        again.load()
        assert again.entries == index.entries

    def test_find(self, index):
        assert index.find(16, 30) == ([(2, 20, 25, 26)], True)
        assert index.find(15, 26) == ([(1, 10, 15, 16), (2, 20, 25, 26)], True)
        assert index.find(0, 1000) == (list(index.entries), False)
        assert index.find(46, 1000) == ([], False)

    @pytest.mark.parametrize(("offset", "count"), [(0, 0), (15, 0), (16, 1), (45, 3), (46, 4)])
    def test_truncate(self, disk, path, index, offset, count):
        index.truncate(offset)
        assert len(index.entries) == count
        assert path.stat().st_size == 34 * count

    @pytest.mark.parametrize(
        "entries",
        [
            [(1, 7, 1, 5, 6)],
            [(-1, 7, 1, 5, 6)],
            [(0, 7, 1, 5, 6), (0, 8, 2, 5, 6)],
            [(0, 7, 6, 5, 6)],
            [(0, 0, 0, 0, 0)],
        ],
        ids=["new version", "negative version", "not ascending", "ends before it begins", "zeros"],
    )
    def test_damage_is_found(self, disk, path, entries):
        path.write_bytes(b"".join(pack(">hqqqq", *entry) for entry in entries))
        with pytest.raises(CorruptRecordsError):
            TransactionIndex(disk, path).load()

    def test_a_transaction_without_records_is_no_damage(self, disk, path):
        """As Kafka writes it for the marker of a partition that got no records."""
        path.write_bytes(pack(">hqqqq", 0, 7, 5, 5, 6))
        index = TransactionIndex(disk, path)
        index.load()
        assert [(each.first_offset, each.last_offset) for each in index.entries] == [(5, 5)]
