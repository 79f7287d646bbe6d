"""What is found again after a stop, a kill and a power cut."""

import os
import shutil
from pathlib import Path
from struct import pack, pack_into

import pytest

from barnabas.broker.log.file_names import file_name
from barnabas.broker.log.producers.producer_replay import MOST_REPLAYED_OFFSETS
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.errors import CorruptRecordsError


def base_offsets(log) -> list[int]:
    return [read_header(batch).base_offset for batch in log.batches(log.log_start_offset, log.log_end_offset)]


def files_of(directory) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(directory).iterdir())}


def write_at(path, position, data) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


@pytest.fixture
def filled(open_partition_log, make_batch):
    """Ten batches of two records in segments of four, with indexes."""
    log = open_partition_log(segment_bytes=4 * len(make_batch(2)), index_interval_bytes=0)
    for batch in range(10):
        log.append(make_batch(2, timestamp_ms=1000 * batch), leader_epoch=batch // 5)
    return log


def test_a_clean_stop_is_read_back_as_it_was(filled, open_partition_log, directory):
    filled.close()
    before = files_of(directory)
    log = open_partition_log(was_clean=True)

    assert base_offsets(log) == list(range(0, 20, 2))
    assert (log.log_end_offset, log.recovery_point, log.latest_epoch) == (20, 20, 1)
    assert log.offset_for_timestamp(7001) == (7001, 15, 1)
    assert files_of(directory) == before


def test_the_files_of_a_log(filled, directory):
    filled.close()
    names = set(os.listdir(directory))
    expected = {file_name(offset, suffix) for offset in (0, 8, 16) for suffix in (".log", ".index", ".timeindex")}
    assert names == expected | {file_name(offset, ".snapshot") for offset in (8, 16, 20)} | {"leader-epoch-checkpoint"}


def test_after_a_kill_the_indexes_are_the_same_as_after_a_clean_stop(filled, open_partition_log, directory, tmp_path):
    shutil.copytree(directory, tmp_path / "killed")
    filled.close()
    after_stop = files_of(directory)
    shutil.rmtree(directory)
    shutil.copytree(tmp_path / "killed", directory)
    assert files_of(directory)[file_name(16, ".index")] == b""
    open_partition_log(index_interval_bytes=0).close()

    assert files_of(directory) == after_stop
    assert len(after_stop[file_name(16, ".index")]) == 8


def test_a_torn_batch_is_cut(filled, open_partition_log, make_batch):
    path = filled.active_segment.path
    with path.open("ab") as file:
        file.write(bytes(make_batch(3))[:70])
    size = filled.active_segment.size
    log = open_partition_log()

    assert log.log_end_offset == 20
    assert path.stat().st_size == size
    assert log.append(make_batch(1), 1).base_offset == 20


@pytest.mark.parametrize(
    ("position", "data"),
    [
        (80, b"\xff"),
        (0, pack(">q", 2)),
        (16, b"\x05"),
        (8, pack(">i", 12)),
        (8, pack(">i", -7)),
        (8, pack(">i", 2**31 - 1)),
    ],
)
def test_a_damaged_batch_ends_the_log_there(filled, open_partition_log, position, data):
    segment = filled.segments[1]
    size = segment.size // 4
    with segment.path.open("r+b") as file:
        file.seek(size + position)
        file.write(data)
    log = open_partition_log(recovery_point=8)

    assert base_offsets(log) == [0, 2, 4, 6, 8]
    assert log.log_end_offset == 10
    assert [each.base_offset for each in log.segments] == [0, 8]
    assert not (log.directory / file_name(16, ".log")).exists()
    assert log.epochs.entries == ((0, 0),)


@pytest.mark.parametrize("is_empty", [True, False])
def test_where_a_segment_lost_its_end_the_log_ends(filled, open_partition_log, make_batch, directory, caplog, is_empty):
    # The power went: of the second segment the last batch was not on disk, of the third its name was, or all.
    os.truncate(directory / file_name(8, ".log"), 3 * len(make_batch(2)))
    if is_empty:
        os.truncate(directory / file_name(16, ".log"), 0)
    log = open_partition_log(recovery_point=6)
    assert (log.log_end_offset, base_offsets(log)) == (14, list(range(0, 14, 2)))
    assert not (directory / file_name(16, ".log")).exists()
    assert "the records between are lost" in caplog.text
    log.append(make_batch(2), leader_epoch=1)
    assert base_offsets(log) == list(range(0, 16, 2))


@pytest.mark.parametrize(
    ("recovery_point", "log_start_offset", "settings"),
    [(16, 0, {}), (6, 16, {}), (6, 0, {"cleanup_policy": "compact,delete"})],
    ids=["on disk", "below the start", "compacted"],
)
def test_a_gap_that_may_be_meant_stays(
    filled, open_partition_log, make_batch, directory, recovery_point, log_start_offset, settings
):
    os.truncate(directory / file_name(8, ".log"), 3 * len(make_batch(2)))
    log = open_partition_log(recovery_point=recovery_point, log_start_offset=log_start_offset, **settings)
    assert log.log_end_offset == 20
    assert base_offsets(log)[-2:] == [16, 18]


def test_below_the_recovery_point_nothing_is_read(filled, open_partition_log):
    with filled.segments[0].path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff")
    log = open_partition_log(recovery_point=16)

    assert (log.log_end_offset, log.recovery_point) == (20, 16)


def test_an_empty_directory_begins_at_the_log_start(open_partition_log, make_batch):
    log = open_partition_log(log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert log.append(make_batch(1), 0).base_offset == 50


def test_a_log_that_ends_below_its_start_begins_anew(filled, open_partition_log):
    log = open_partition_log(log_start_offset=25)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (25, 25, 1)


def test_the_log_start_is_kept(filled, open_partition_log):
    filled.close()
    log = open_partition_log(was_clean=True, log_start_offset=9)
    assert (log.log_start_offset, log.epochs.entries) == (9, ((0, 9), (1, 10)))


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_missing_or_cut_index_is_rebuilt(filled, open_partition_log, directory, suffix):
    filled.close()
    path = directory / file_name(8, suffix)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    open_partition_log(was_clean=True, index_interval_bytes=0).close()
    assert path.read_bytes() == whole[: len(path.read_bytes())]
    (directory / file_name(8, ".index")).unlink()
    path.unlink(missing_ok=True)
    log = open_partition_log(was_clean=True, index_interval_bytes=0)

    assert base_offsets(log) == list(range(0, 20, 2))
    assert (directory / file_name(8, ".index")).stat().st_size == 3 * 8


def test_an_index_that_points_beyond_its_segment_is_rebuilt(filled, open_partition_log, directory):
    filled.close()
    path = directory / file_name(0, ".index")
    path.write_bytes(pack(">ii", 3, 1_000_000))
    log = open_partition_log(was_clean=True)

    assert read_header(log.read(5, 1000, 20).read()).base_offset == 4


def test_presized_index_files_of_kafka_are_read(filled, open_partition_log, directory):
    filled.close()
    for suffix, entry_bytes in ((".index", 8), (".timeindex", 12)):
        with (directory / file_name(16, suffix)).open("ab") as file:
            file.write(bytes(100 * entry_bytes))
    log = open_partition_log(was_clean=True)

    assert read_header(log.read(19, 1000, 20).read()).base_offset == 18
    assert log.offset_for_timestamp(9000) == (9000, 18, 1)


def test_orphans_are_tidied_away(filled, open_partition_log, directory):
    filled.close()
    for name in (file_name(0, ".log.deleted"), file_name(8, ".log.cleaned"), file_name(500, ".index")):
        (directory / name).write_bytes(b"x" * 8)
    open_partition_log(was_clean=True)

    assert not [name for name in os.listdir(directory) if name.endswith((".deleted", ".cleaned")) or "500" in name]


def test_a_compacted_segment_is_put_in_place(filled, open_partition_log, directory):
    filled.close()
    first = (directory / file_name(0, ".log")).read_bytes()
    second = (directory / file_name(8, ".log")).read_bytes()
    (directory / file_name(0, ".log.swap")).write_bytes(first[: len(first) // 4] + second)
    (directory / file_name(0, ".index.swap")).write_bytes(b"")
    log = open_partition_log(was_clean=True)

    assert [each.base_offset for each in log.segments] == [0, 16]
    assert base_offsets(log) == [0, 8, 10, 12, 14, 16, 18]


def test_an_unfinished_compaction_is_dropped(filled, open_partition_log, directory):
    filled.close()
    (directory / file_name(0, ".log.cleaned")).write_bytes(b"")
    (directory / file_name(0, ".log.swap")).write_bytes(b"")
    log = open_partition_log(was_clean=True)

    assert base_offsets(log) == list(range(0, 20, 2))


def test_leader_epochs_that_a_cut_off_start_tore_are_rebuilt_from_the_log(filled, open_partition_log, directory):
    filled.close()
    # A power cut may leave a file that was written and not synced with zeros.
    (directory / "leader-epoch-checkpoint").write_bytes(bytes(4))
    assert open_partition_log(was_clean=True).epochs.entries == ((0, 0), (1, 10))


@pytest.mark.parametrize("torn", [None, b"", b"0\n2\n0 0\n"])
def test_leader_epochs_that_a_crash_tore_are_rebuilt_from_the_log(filled, open_partition_log, directory, torn):
    (directory / "leader-epoch-checkpoint").unlink()
    if torn is not None:
        (directory / "leader-epoch-checkpoint").write_bytes(torn)
    assert open_partition_log(recovery_point=16).epochs.entries == ((0, 0), (1, 10))


@pytest.mark.parametrize(("position", "data"), [(80, b"\xff"), (8, bytes(4))], ids=["body", "length"])
@pytest.mark.parametrize(
    ("torn", "options"),
    [
        (None, {"recovery_point": 16}),
        (b"", {"recovery_point": 16}),
        (bytes(30), {"recovery_point": 16}),
        (bytes(30), {"was_clean": True}),
    ],
    ids=["missing", "empty", "torn", "torn after a clean stop"],
)
def test_epochs_are_rebuilt_without_truncating_old_damage(
    filled, open_partition_log, make_batch, directory, torn, options, position, data
):
    filled.close()
    write_at(directory / file_name(0, ".log"), len(make_batch(2)) + position, data)
    (directory / "leader-epoch-checkpoint").unlink()
    if torn is not None:
        (directory / "leader-epoch-checkpoint").write_bytes(torn)
    before = {name: content for name, content in files_of(directory).items() if name.endswith(".log")}
    log = open_partition_log(**options)

    assert (log.log_start_offset, log.log_end_offset) == (0, 20)
    assert [segment.base_offset for segment in log.segments] == [0, 8, 16]
    assert log.epochs.entries == ((0, 0), (1, 10))
    assert {name: files_of(directory)[name] for name in before} == before


def test_damage_in_the_segment_before_that_of_the_recovery_point_is_only_logged(
    filled, open_partition_log, make_batch, directory, caplog
):
    """Its end is read for the last entry of its time index."""
    damaged = {
        "zeros": lambda path: path.write_bytes(path.read_bytes() + bytes(4096)),
        "offset": lambda path: write_at(path, 3 * len(make_batch(2)) + 2, b"\x80"),
    }
    path, times = directory / file_name(8, ".log"), directory / file_name(8, ".timeindex")
    intact, last_entry_missing = path.read_bytes(), times.read_bytes()[:-12]
    for damage in damaged.values():
        path.write_bytes(intact)
        damage(path)
        times.write_bytes(last_entry_missing)
        caplog.clear()
        log = open_partition_log(recovery_point=16)
        assert (log.log_end_offset, len(log.segments)) == (20, 3)
        assert f"{path}: " in caplog.text


@pytest.mark.parametrize(("position", "data"), [(0, b"\x80"), (2, b"\x80"), (0, bytes(8))])
def test_a_wrong_offset_at_the_end_of_a_closed_log_is_damage(
    filled, open_partition_log, make_batch, directory, position, data
):
    filled.close()
    write_at(directory / file_name(16, ".log"), len(make_batch(2)) + position, data)
    before = files_of(directory)
    with pytest.raises(CorruptRecordsError, match=f"at position {len(make_batch(2))}"):
        open_partition_log(was_clean=True)
    assert files_of(directory) == before


@pytest.mark.parametrize(
    ("whole_count", "rest_bytes"),
    [(1, -1), (1, 60), (1, 16), (1, 1), (0, -1)],
    ids=["a byte is missing", "within the header", "before the magic", "a byte is left", "below the last index entry"],
)
def test_a_closed_log_that_was_cut_short_is_damage(
    filled, open_partition_log, make_batch, directory, whole_count, rest_bytes
):
    filled.close()
    path, size = directory / file_name(16, ".log"), len(make_batch(2))
    os.truncate(path, whole_count * size + rest_bytes % size)
    before = files_of(directory)
    with pytest.raises(CorruptRecordsError, match=f"{path} ends within the batch at position {whole_count * size}"):
        open_partition_log(was_clean=True)
    assert files_of(directory) == before


class TestOverflow:
    """A compacted segment of Kafka before 2.0, whose offsets do not fit into index entries (KAFKA-6264)."""

    OFFSETS = (0, 10, 2**31 + 10)
    NEXT_OFFSET = 2**31 + 11

    @pytest.fixture
    def path(self, directory, make_batch):
        """The segment, followed by one of a single batch."""

        def at(offset):
            batch = bytearray(make_batch(timestamp_ms=1000 + offset))
            pack_into(">q", batch, 0, offset)
            return bytes(batch)

        directory.mkdir()
        for base_offset, offsets in ((0, self.OFFSETS), (self.NEXT_OFFSET, (self.NEXT_OFFSET,))):
            (directory / file_name(base_offset, ".log")).write_bytes(b"".join(map(at, offsets)))
            for suffix in (".index", ".timeindex"):
                (directory / file_name(base_offset, suffix)).write_bytes(b"")
        (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        return directory / file_name(0, ".log")

    @pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "no index"])
    def test_it_is_not_truncated(self, open_partition_log, path, directory, is_killed):
        if not is_killed:
            path.with_suffix(".index").unlink()
        before = files_of(directory)
        with pytest.raises(CorruptRecordsError, match=f"{path.name}: .* offset 11 on"):
            open_partition_log(was_clean=not is_killed, cleanup_policy="compact")
        assert files_of(directory) == before

    @pytest.mark.parametrize("options", [{"was_clean": True}, {"recovery_point": NEXT_OFFSET}], ids=["clean", "killed"])
    def test_below_the_recovery_point_it_is_read(self, open_partition_log, path, options):
        # Its offsets in these entries wrapped around.
        path.with_suffix(".index").write_bytes(pack(">4i", 10, 73, -(2**31) + 10, 146))
        path.with_suffix(".timeindex").write_bytes(pack(">qi", 1000 + self.OFFSETS[-1], -(2**31) + 10))
        log = open_partition_log(cleanup_policy="compact", **options)
        assert base_offsets(log) == [*self.OFFSETS, self.NEXT_OFFSET]


def test_markers_of_transactions_are_replayed(log, open_partition_log, make_batch):
    log.append(make_batch(2, producer_id=7, producer_epoch=1, base_sequence=0, is_transactional=True), 0)
    marker = build_marker(7, 1, EndTransactionMarker(MarkerType.COMMIT, 5), timestamp_ms=12)
    log.append(memoryview(marker), 0, is_client=False)
    entry = open_partition_log().producers.get(7)

    assert (entry.transaction_first_offset, entry.coordinator_epoch, entry.last_sequence) == (-1, 5, 1)


def test_a_power_cut_loses_nothing_that_was_flushed(open_partition_log, make_batch, disk):
    log = open_partition_log(segment_bytes=4 * len(make_batch(2)))
    for _ in range(6):
        log.append(make_batch(2), 0)
    log.flush()
    recovery_point = log.recovery_point
    log.append(make_batch(2), 0)
    del log
    disk.crash(keep=lambda unsafe_bytes: unsafe_bytes // 2)
    log = open_partition_log(recovery_point=recovery_point)

    assert log.log_end_offset == recovery_point == 12
    assert base_offsets(log) == list(range(0, 12, 2))


def test_a_power_cut_leaves_the_indexes_of_a_segment_that_was_flushed_before_it_was_rolled(
    open_partition_log, make_batch, disk, directory
):
    log = open_partition_log(segment_bytes=4 * len(make_batch(2)))
    for _ in range(9):
        log.append(make_batch(2), 0)
        log.flush()
    recovery_point = log.recovery_point
    indexes = {path: path.read_bytes() for segment in log.segments[:2] for path in segment.paths[1:3]}
    assert any(indexes.values())
    del log
    disk.crash(keep=lambda unsafe_bytes: 0)
    assert {path: path.read_bytes() for path in indexes} == indexes
    assert open_partition_log(recovery_point=recovery_point).log_end_offset == 18


def test_producer_snapshots_that_nobody_needs_go(filled, directory):
    filled.flush()
    filled.remove_old_snapshots()
    names = sorted(name for name in os.listdir(directory) if name.endswith(".snapshot"))
    assert names == [file_name(8, ".snapshot"), file_name(16, ".snapshot")]


def test_indexes_that_are_right_are_not_written_again(open_partition_log, make_batch, clock):
    log = open_partition_log(segment_bytes=2000, index_interval_bytes=100)
    for _ in range(40):
        log.append(make_batch(value=b"x" * 100), 0)
        clock.advance(10)
    closed = log.segments[:-1]
    # Neither of the two times is one that a file written now would have.
    paths = [path for segment in closed for path in segment.paths[1:3]]
    for path in paths:
        os.utime(path, (1, 1))
    before = [path.read_bytes() for path in paths]
    recovered = open_partition_log(segment_bytes=2000, index_interval_bytes=100)
    assert [path.read_bytes() for path in paths] == before
    assert {path.stat().st_mtime for path in paths} == {1}
    largest = [segment.max_timestamp_ms for segment in recovered.segments[:-1]]
    recovered.close()
    reopened = open_partition_log(was_clean=True, segment_bytes=2000, index_interval_bytes=100)
    assert [segment.largest_timestamp() for segment in reopened.segments[:-1]] == largest


def test_a_wrong_index_is_written_again(open_partition_log, make_batch):
    log = open_partition_log(segment_bytes=2000, index_interval_bytes=100)
    for _ in range(40):
        log.append(make_batch(value=b"x" * 100), 0)
    paths = log.segments[0].paths[1:3]
    before = [path.read_bytes() for path in paths]
    for path, data in zip(paths, before, strict=True):
        path.write_bytes(data[::-1])
    open_partition_log(segment_bytes=2000, index_interval_bytes=100)
    assert [path.read_bytes() for path in paths] == before


def test_after_a_kill_the_active_segments_indexes_are_written_with_the_next_flush(
    filled, open_partition_log, directory
):
    active = [file_name(16, suffix) for suffix in (".index", ".timeindex")]
    before = files_of(directory)
    log = open_partition_log(index_interval_bytes=0)
    after = files_of(directory)
    assert [after[name] for name in active] == [before.get(name, b"") for name in active]
    assert [len(after[file_name(8, suffix)]) > 0 for suffix in (".index", ".timeindex")] == [True, True]
    assert log.offset_for_timestamp(8002) == (9000, 18, 1)
    log.flush()
    assert log.recovery_point == 20
    assert all(len(files_of(directory)[name]) > 0 for name in active)


def test_what_was_recovered_once_is_recovered_again(open_partition_log, make_batch, disk):
    """The first start after a kill is killed before anything of it is on disk."""
    log = open_partition_log()
    for sequence in range(6):
        batch = make_batch(producer_id=7, producer_epoch=0, base_sequence=sequence)
        assert log.append(batch, leader_epoch=0).error_code == 0
        if sequence == 2:
            log.close()
            log = open_partition_log(was_clean=True)
    for _ in range(2):
        disk.kill()
        log = open_partition_log(recovery_point=3)
        assert (log.log_end_offset, log.producers.get(7).last_sequence) == (6, 5)
        assert base_offsets(log) == list(range(6))
    repeated = make_batch(producer_id=7, producer_epoch=0, base_sequence=5)
    assert log.append(repeated, leader_epoch=0).base_offset == 5
    log.close()
    assert open_partition_log(was_clean=True).producers.get(7).last_sequence == 5


def test_long_replays_are_spared_the_next_start(open_partition_log, make_batch, directory):
    log = open_partition_log()
    log.append(make_batch(MOST_REPLAYED_OFFSETS), leader_epoch=0)
    open_partition_log()
    assert not list(Path(directory).glob("*.snapshot"))
    log.append(make_batch(), leader_epoch=0)
    open_partition_log()
    assert [path.name for path in Path(directory).glob("*.snapshot")] == [
        file_name(MOST_REPLAYED_OFFSETS + 1, ".snapshot")
    ]


class TestWithoutSnapshots:
    """A log from Kafka before 0.11, whose producers have no ids."""

    BATCH = 2 * MOST_REPLAYED_OFFSETS // 5
    END = 4 * BATCH

    @pytest.fixture
    def left(self, open_partition_log, make_batch, directory):
        """A log of four segments; whoever reads the first one finds it damaged."""
        log = open_partition_log(segment_bytes=len(make_batch(self.BATCH)))
        for _ in range(4):
            log.append(make_batch(self.BATCH), 0)
        log.close()
        for path in Path(directory).glob("*.snapshot"):
            path.unlink()
        write_at(log.segments[0].path, 8, bytes(4))

    @pytest.mark.parametrize(
        "options", [{"was_clean": True}, {"message_format_version": "0.10.2", "recovery_point": END}]
    )
    def test_a_kill_does_not_make_a_start_read_it_all(self, left, open_partition_log, disk, options):
        open_partition_log(**options).release()
        for _ in range(2):
            disk.kill()
            log = open_partition_log(recovery_point=self.END)
            assert (log.log_end_offset, len(log.producers)) == (self.END, 0)

    def test_a_stop_brings_the_new_snapshot_to_disk(self, left, open_partition_log, directory, disk):
        open_partition_log(was_clean=True).close()
        disk.crash(keep=lambda unsafe_bytes: 0)
        assert [path.name for path in Path(directory).glob("*.snapshot")] == [file_name(self.END, ".snapshot")]
