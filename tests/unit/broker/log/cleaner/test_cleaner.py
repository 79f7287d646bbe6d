"""Rounds of the cleaner over logs on a disk."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.log.cleaner.cleaner import Cleaner
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.core.error_code import ErrorCode
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import Codec, batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.message_set import MessageSetBuilder

from .conftest import Append, names, rows

DAY_MS = 86_400_000
MakeCleaner = Callable[..., Cleaner]
OpenLog = Callable[..., PartitionLog]


def headers(log: PartitionLog) -> list[tuple[int, int, int]]:
    """Base offset, last offset and record count of every batch."""
    return [
        (header.base_offset, header.last_offset, header.record_count)
        for batch in log.batches(0, log.log_end_offset)
        for header in (read_header(batch),)
    ]


def age(log: PartitionLog, now_ms: int) -> None:
    """Say of every segment that it was changed when its first record was written, a second an offset."""
    for segment in log.segments:
        os.utime(segment.path, ns=((now_ms + segment.base_offset * 1000) * 1_000_000,) * 2)


def test_keeps_the_newest_record_of_each_key(log: PartitionLog, append: Append, make_cleaner: MakeCleaner) -> None:
    for number in range(40):
        append([(b"a", b"%d" % number), (b"k%d" % (number % 3), b"x")])
    log.roll()
    noted: list[PartitionLog] = []
    make_cleaner(log, noted=noted)
    assert rows(log) == [(75, b"k1", b"x"), (77, b"k2", b"x"), (78, b"a", b"39"), (79, b"k0", b"x")]
    assert noted == [log]
    assert log.first_dirty_offset == log.log_end_offset == 80
    # Offsets and sequences of a batch are what they were.
    assert headers(log) == [(74, 75, 1), (76, 77, 1), (78, 79, 2)]


def test_the_active_segment_stays(log: PartitionLog, append: Append, make_cleaner: MakeCleaner) -> None:
    append([(b"a", b"1")])
    log.roll()
    append([(b"a", b"2"), (b"a", b"3")])
    make_cleaner(log)
    assert rows(log) == [(0, b"a", b"1"), (1, b"a", b"2"), (2, b"a", b"3")]
    assert log.first_dirty_offset == 1


def test_a_second_round_compares_with_the_clean_part(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    append([(b"a", b"1"), (b"b", b"1")])
    log.roll()
    make_cleaner(log)
    append([(b"b", b"2")])
    log.roll()
    make_cleaner(log)
    assert rows(log) == [(0, b"a", b"1"), (2, b"b", b"2")]


def test_segments_that_fit_become_one(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, directory: Path, clock: ManualClock
) -> None:
    for number in range(12):
        append([(b"a", bytes(400))])
        append([(b"k%d" % number, b"small")])
    log.roll()
    before = len(log.segments)
    make_cleaner(log)
    assert before > 10
    make_cleaner(log)
    # The sizes before cleaning count: only a round over clean segments puts them together.
    log.first_dirty_offset = 0
    make_cleaner(log)
    assert len(log.segments) < 6
    assert [row[1] for row in rows(log)] == [*(b"k%d" % number for number in range(11)), b"a", b"k11"]
    clock.advance(60_000)
    bases = {f"{segment.base_offset:020d}" for segment in log.segments}
    assert {name.split(".")[0] for name in names(directory) if name.endswith((".log", "index"))} == bases
    assert not [name for name in names(directory) if name.endswith((".cleaned", ".swap", ".deleted"))]


def test_a_reader_in_a_replaced_segment_reads_on(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    for number in range(10):
        append([(b"a", b"%d" % number * 30)])
    log.roll()
    part = log.read(2, 1_000, log.log_end_offset)
    iterator = log.batches(0, log.log_end_offset)
    assert part is not None
    wanted = part.read()
    make_cleaner(log)
    clock.advance(60_000)
    assert part.read() == wanted
    assert len(list(iterator)) == 10
    cleaned = log.read(2, 1_000, log.log_end_offset)
    assert cleaned is not None
    assert [read_header(batch).base_offset for batch in batches(cleaned.read())] == [9]


def test_records_without_a_key_go(open_partition_log: OpenLog, append: Append, make_cleaner: MakeCleaner) -> None:
    log = open_partition_log(min_cleanable_dirty_ratio="0.01")
    append([(None, b"1"), (b"a", b"2")], to=log)
    log.roll()
    log.update_config(open_partition_log(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01").config)
    make_cleaner(log)
    assert rows(log) == [(1, b"a", b"2")]


def test_tombstones_go_once_the_clean_part_is_so_much_younger(
    open_partition_log: OpenLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    log = open_partition_log(
        cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", delete_retention_ms=5000, segment_bytes=200
    )

    def clean_with(*batches: list[tuple[bytes, bytes | None]]) -> list[tuple[int, bytes | None]]:
        for pairs in batches:
            append(pairs, to=log)
            log.roll()
        age(log, clock.now_ms())
        make_cleaner(log)
        return [row[:2] for row in rows(log)]

    wide = b"v" * 60
    assert clean_with([(b"a", b"1"), (b"a", None)]) == [(1, b"a")]
    # The clean part ends with the tombstone's own segment.
    assert clean_with(*([(key, wide)] for key in (b"b", b"c", b"d", b"e"))) == [
        (1, b"a"), (2, b"b"), (3, b"c"), (4, b"d"), (5, b"e")
    ]  # fmt: skip
    # It ends at offset 5, five seconds after the tombstone's.
    assert clean_with([(b"f", b"1")]) == [(2, b"b"), (3, b"c"), (4, b"d"), (5, b"e"), (6, b"f")]


def test_a_full_map_ends_the_round_early(
    open_partition_log: OpenLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    log = open_partition_log(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_bytes=400)
    for _ in range(2):
        for number in range(30):
            append([(b"k%d" % (number + index), b"v") for index in range(2)], to=log)
    log.roll()
    noted: list[PartitionLog] = []
    make_cleaner(log, noted=noted, buffer_bytes=10 * 24)
    assert len(noted) > 5
    assert log.first_dirty_offset == 120
    found = rows(log)
    assert sorted(key for _, key, _ in found if key is not None) == sorted(b"k%d" % n for n in range(31))
    assert {key: offset for offset, key, _ in found} == {
        b"k%d" % n: 60 + 2 * n if n < 30 else 60 + 59 for n in range(31)
    }


@pytest.mark.parametrize("codec", list(Codec))
def test_codecs_stay(log: PartitionLog, append: Append, make_cleaner: MakeCleaner, codec: Codec) -> None:
    append([(b"a", b"1" * 50), (b"b", b"2" * 50), (b"a", b"3" * 50)], codec=codec)
    append([(b"c", b"4")], codec=codec)
    log.roll()
    make_cleaner(log)
    assert rows(log) == [(1, b"b", b"2" * 50), (2, b"a", b"3" * 50), (3, b"c", b"4")]
    assert {read_header(batch).codec for batch in log.batches(0, 4)} == {codec}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_message_sets(
    open_partition_log: OpenLog, directory: Path, make_cleaner: MakeCleaner, magic: int, codec: Codec
) -> None:
    builder = MessageSetBuilder(magic, codec)
    for offset, key in enumerate((b"a", b"b", b"a", None, b"c")):
        builder.append(offset, 1_000 + offset, key, None if offset == 1 else b"%d" % offset)
    open_partition_log().close()
    (directory / f"{0:020d}.log").write_bytes(builder.build())
    log = open_partition_log(
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.01",
        message_format_version="0.9.0" if magic == 0 else "0.10.0",
    )
    log.roll()
    cleaner = make_cleaner(log)
    assert not cleaner.uncleanable
    assert rows(log) == [(1, b"b", None), (2, b"a", b"2"), (4, b"c", b"4")]


def test_the_last_batch_of_a_producer_stays_empty(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, open_partition_log: OpenLog
) -> None:
    for sequence in range(3):
        append([(b"a", b"1"), (b"b", b"1")], producer_id=7, producer_epoch=0, base_sequence=2 * sequence)
    append([(b"a", b"2"), (b"b", b"2")])
    log.roll()
    make_cleaner(log)
    assert headers(log) == [(4, 5, 0), (6, 7, 2)]
    empty = read_header(next(log.batches(0, 8)))
    assert (empty.base_timestamp_ms, empty.base_sequence, empty.size_in_bytes) == (-1, 4, 61)
    # Once more, and after a restart, the producer goes on where it was.
    log.first_dirty_offset = 0
    make_cleaner(log)
    log.close()
    for path in log.directory.glob("*.snapshot"):
        path.unlink()
    opened = open_partition_log()
    batch = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=6)
    batch.append(0, b"a", b"3")
    assert opened.append(memoryview(batch.build()), 0).error_code is ErrorCode.NONE


def transaction(
    log: PartitionLog, producer_id: int, keys: list[bytes], marker: MarkerType | None, sequence: int
) -> None:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True)
    for key in keys:
        builder.append(1_000, key, b"in %d" % sequence)
    log.append(memoryview(builder.build()), 0)
    if marker is not None:
        records = build_marker(producer_id, 0, EndTransactionMarker(marker, 0), 1_000)
        assert not log.append(memoryview(records), 0, is_client=False).error_code


def test_aborted_data_goes_and_markers_stay_for_a_while(
    open_partition_log: OpenLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    log = open_partition_log(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", delete_retention_ms=0)
    append([(b"a", b"0")], to=log)
    transaction(log, 1, [b"a", b"b"], MarkerType.ABORT, 0)
    transaction(log, 1, [b"c"], MarkerType.COMMIT, 2)
    transaction(log, 2, [b"c"], MarkerType.COMMIT, 0)
    log.note_high_watermark(log.log_end_offset)
    log.roll()
    age(log, clock.now_ms())
    make_cleaner(log)
    assert [(row[0], row[1]) for row in rows(log) if len(row[1] or b"") == 1] == [(0, b"a"), (6, b"c")]
    assert headers(log) == [(0, 0, 1), (3, 3, 1), (4, 4, 0), (5, 5, 1), (6, 6, 1), (7, 7, 1)]
    # The emptied batch at offset 4 is of its producer's next transaction.
    assert [entry[:3] for entry in log.segments[0].transactions.entries] == [(1, 1, 3)]
    for number in range(3):
        append([(b"d", b"%d" % number)], to=log)
        log.roll()
        age(log, clock.now_ms())
        make_cleaner(log)
    assert not log.segments[0].transactions.entries
    assert [row[0] for row in rows(log)] == [0, 5, 6, 7, 10]


def test_what_is_open_or_not_replicated_is_not_cleaned(log: PartitionLog, append: Append, make_cleaner: MakeCleaner):
    append([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    transaction(log, 1, [b"a"], None, 0)
    log.roll()
    append([(b"a", b"3")])
    log.roll()
    make_cleaner(log)
    assert [row[0] for row in rows(log)] == [1, 2, 3]
    other = [row[0] for row in rows(log)]
    make_cleaner(log, high_watermark=1)
    assert [row[0] for row in rows(log)] == other


def test_a_damaged_log_is_left_alone(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock, directory: Path
) -> None:
    append([(b"a", bytes(100)), (b"a", b"2")])
    log.roll()
    path = log.segments[0].path
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    cleaner = make_cleaner(log)
    assert list(cleaner.uncleanable) == [log.topic_partition]
    assert log.first_dirty_offset is None
    clock.advance(60_000)
    assert path.read_bytes() == data
    assert not [name for name in names(directory) if name.endswith((".cleaned", ".swap", ".deleted"))]
    # Another log of that name is another one.
    log.release()
    assert (cleaner.uncleanable, cleaner.uncleanable_by_directory()) == ({}, {})


def test_a_full_disk_takes_nothing_but_the_cleaning(
    log: PartitionLog,
    append: Append,
    make_cleaner: MakeCleaner,
    disk: FaultyDisk,
    failures: list[BaseException],
    directory: Path,
) -> None:
    append([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    before = rows(log)
    disk.free_bytes = 10
    cleaner = make_cleaner(log)
    assert list(cleaner.uncleanable) == [log.topic_partition]
    assert rows(log) == before
    assert not failures
    assert not [name for name in names(directory) if name.endswith(".cleaned")]


def test_looks_again_after_the_backoff(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    make_cleaner(log, log_cleaner_backoff_ms=500)
    append([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    clock.advance(499)
    assert len(rows(log)) == 2
    clock.advance(1)
    assert len(rows(log)) == 1


def test_a_closed_cleaner_begins_nothing(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    cleaner = make_cleaner(log, log_cleaner_backoff_ms=500)
    ended: list[None] = []
    cleaner.close().then(ended.append)
    assert ended == [None]
    append([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    clock.advance(5_000)
    assert len(rows(log)) == 2


def test_compact_and_delete(open_partition_log: OpenLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock):
    log = open_partition_log(
        cleanup_policy="compact,delete", min_cleanable_dirty_ratio="0.01", retention_ms=1000, segment_bytes=100
    )
    for number in range(4):
        append([(b"k%d" % number, b"v")], to=log)
        log.roll()
        clock.advance(400)
    make_cleaner(log)
    assert [row[0] for row in rows(log)] == [2, 3]
    assert log.log_start_offset == 2


def test_a_log_that_is_only_compacted_loses_what_lies_below_its_start(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    for number in range(4):
        append([(b"k%d" % number, b"v")])
        log.roll()
        clock.advance(DAY_MS)
    make_cleaner(log)
    assert len(log.segments) > 1
    log.increment_log_start_offset(3)
    clock.advance(15_000)
    assert [row[0] for row in rows(log)] == [3]


def test_a_cut_takes_the_checkpoint_back(log: PartitionLog, append: Append, make_cleaner: MakeCleaner) -> None:
    for _ in range(3):
        append([(b"a", b"1")])
        log.roll()
    make_cleaner(log)
    assert log.first_dirty_offset == 3
    log.truncate(2)
    assert log.first_dirty_offset == 2


def test_times_of_the_files_are_kept(log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock):
    append([(b"a", b"1"), (b"a", b"1")])
    log.roll()
    os.utime(log.segments[0].path, ns=(123_000_000, 123_000_000))
    make_cleaner(log)
    assert {path.stat().st_mtime_ns for path in log.segments[0].paths if path.exists()} == {123_000_000}


def test_looks_at_once_when_its_settings_changed(
    log: PartitionLog, append: Append, make_cleaner: MakeCleaner, clock: ManualClock
) -> None:
    cleaner = make_cleaner(log, log_cleaner_backoff_ms=500)
    append([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    cleaner.settings_changed()
    clock.advance(0)
    assert len(rows(log)) == 1
    cleaner.close()
    cleaner.settings_changed()
    append([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    clock.advance(5_000)
    assert len(rows(log)) == 3


class TestTheSwap:
    """In memory it is done at one stroke; the files follow when the executor comes to them."""

    @pytest.fixture
    def executor(self, env: LogEnvironment) -> ManualExecutor:
        executor = ManualExecutor()
        env.executor = executor
        return executor

    @pytest.fixture
    def log(self, executor: ManualExecutor, open_partition_log: OpenLog) -> PartitionLog:
        return open_partition_log(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_bytes=600)

    def swap(self, log: PartitionLog, append: Append, executor: ManualExecutor, make_cleaner: MakeCleaner) -> Cleaner:
        """Let a cleaner come as far as the new segment in memory."""
        for number in range(30):
            append([(b"a", b"%d" % number), (b"b", b"x")])
        log.roll()
        log.flush()
        executor.run_all()
        self.before = rows(log)
        config: Any = log.config
        log.update_config(config.with_overrides({"segment.bytes": "100000", "cleanup.policy": "compact"}))
        cleaner = make_cleaner(log)
        assert [segment.base_offset for segment in log.segments] == [0, 60]
        return cleaner

    def test_readers_find_the_new_segment_whose_name_is_on_its_way(
        self, log: PartitionLog, append: Append, executor: ManualExecutor, make_cleaner: MakeCleaner, directory: Path
    ) -> None:
        cleaner = self.swap(log, append, executor, make_cleaner)
        cleaned = log.segments[0]
        assert [name for name in os.listdir(directory) if name.endswith(".cleaned")]
        kept = [(58, b"a", b"29"), (59, b"b", b"x")]
        assert rows(log) == kept
        found = log.offset_for_timestamp(0)
        age_ms = cleaned.largest_timestamp()
        assert log.first_dirty_offset is None
        # The index files with the segment's name are still those of the replaced segment.
        cleaned.release_indexes()
        assert cleaned.loaded_bytes > 0
        executor.run_all()
        assert cleaned.loaded_bytes == 0
        assert cleaned.largest_timestamp() == age_ms
        assert rows(log) == kept
        assert log.offset_for_timestamp(0) == found
        assert not [name for name in os.listdir(directory) if name.endswith((".cleaned", ".swap"))]
        assert (log.first_dirty_offset, cleaner.uncleanable) == (60, {})

    @pytest.mark.parametrize("is_swapped", [False, True])
    def test_a_kill_finds_the_old_segments_or_the_new_one(
        self,
        log: PartitionLog,
        append: Append,
        executor: ManualExecutor,
        make_cleaner: MakeCleaner,
        disk: FaultyDisk,
        open_partition_log: OpenLog,
        is_swapped: bool,
    ) -> None:
        self.swap(log, append, executor, make_cleaner)
        if is_swapped:
            executor.run_all()
        after = rows(log)
        log.release()
        disk.kill()
        opened = open_partition_log(cleanup_policy="compact", recovery_point=log.recovery_point)
        assert rows(opened) == (after if is_swapped else self.before)
        assert opened.log_end_offset == 60

    def test_the_dirtiest_ratio_stays_while_all_threads_are_busy(
        self, log: PartitionLog, append: Append, executor: ManualExecutor, make_cleaner: MakeCleaner, clock: ManualClock
    ) -> None:
        cleaner = self.swap(log, append, executor, make_cleaner)
        assert cleaner.dirtiest_ratio == 1
        clock.advance(60_000)
        assert (cleaner.dirtiest_ratio, cleaner.is_cleaning(log.topic_partition)) == (1, True)
        executor.run_all()
        clock.advance(60_000)
        assert cleaner.dirtiest_ratio == 0

    def test_retention_of_what_is_being_swapped_comes_after(
        self, log: PartitionLog, append: Append, executor: ManualExecutor, make_cleaner: MakeCleaner, directory: Path
    ) -> None:
        self.swap(log, append, executor, make_cleaner)
        log.delete_oldest_segments(1)
        assert rows(log) == []
        executor.run_all()
        assert sorted(name for name in os.listdir(directory) if name.endswith(".log")) == [f"{60:020}.log"]
