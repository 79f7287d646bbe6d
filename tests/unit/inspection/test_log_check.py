"""Each way in which a log can be damaged is found, and what a start would do is foreseen."""

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.inspection.findings import Kind
from barnabas.inspection.log_check import LogCheck, LogState
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.control import MarkerType
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.unit.inspection.conftest import batch, marker, snapshot, texts

CLEAN = {"was_clean": True}


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_a_log_that_is_in_order(two_segments):
    before = files_of(two_segments.path)
    report = two_segments.check(**CLEAN)
    assert report.findings == []
    assert (report.segment_count, report.batch_count, report.record_count) == (2, 4, 8)
    assert (report.start_offset, report.end_offset) == (0, 8)
    assert files_of(two_segments.path) == before


def test_after_a_kill_a_start_reads_from_the_recovery_point_on(two_segments):
    assert two_segments.recovery(recovery_point=5) == [
        f"t-0: the next start would read 1 of 2 segments ({len(batch(0)) * 2} bytes, from offset 4 on) and rebuild "
        "their indexes"
    ]
    assert "2 of 2 segments" in two_segments.recovery()[0]


def test_what_is_no_regular_file_is_damage(two_segments, tmp_path):
    segment = two_segments.path / f"{4:020}.log"
    segment.rename(tmp_path / "moved")
    segment.symlink_to(tmp_path / "moved")
    assert [(each.path, each.text) for each in two_segments.check(**CLEAN).findings if each.kind is Kind.DAMAGE] == [
        (segment, "must be a regular file: a broker would not touch it, and keep the partition offline")
    ]


def damaged_at(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_a_wrong_crc_is_where_a_recovery_cuts(two_segments):
    size = len(batch(0))
    damaged_at(two_segments.path / f"{0:020}.log", size + 70)
    assert two_segments.damage() == [f"{0:020}.log: position {size}, offset 2: a wrong CRC"]
    assert two_segments.check().end_offset == 2
    assert two_segments.recovery()[0] == (
        f"{0:020}.log: recovery would truncate it there: {size} bytes, from offset 2 on, would be lost, and 1 later "
        "segments "
        "(offsets from 4 on)"
    )
    assert two_segments.recovery(**CLEAN)[0] == (
        f"{0:020}.log: the next start would not check it: the last stop was clean; consumers would hit the damage"
    )
    assert "it is below the recovery point" in two_segments.recovery(recovery_point=6)[0]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (batch(2)[:-1], "an incomplete batch"),
        (batch(2)[:10], "an incomplete batch"),
        (batch(1), "offset 1 is below the expected 2"),
        (batch(2**31 + 5), f"offset {2**31 + 6} is too far above the segment's base offset"),
        (bytes(8) + b"\0\0\0\5" + bytes(20) + b"x", "a size of 5 at position"),
        (batch(2)[:8] + b"\0\0\0\x14" + batch(2)[12:], "a batch length of 20"),
    ],
)
def test_what_no_log_holds(log_files, second, reason):
    log_files.segment(0, batch(0))
    log_files.write(0, ".log", batch(0) + second)
    log_files.epochs()
    (damage,) = log_files.damage()
    assert reason in damage
    assert f"{len(second)} bytes, from offset 2 on" in log_files.recovery()[0]


class Killed:
    """Five segments of two batches each, offsets 0 to 19, after a kill."""

    def __init__(self, files):
        self.files = files
        for base_offset in range(0, 20, 4):
            files.segment(base_offset, batch(base_offset), batch(base_offset + 2))
        files.epochs()

    def log(self, base_offset):
        return self.files.path / f"{base_offset:020}.log"

    def resize(self, base_offset, size):
        os.truncate(self.log(base_offset), size)

    def open(self, recovery_point, **settings):
        """Open the log as the next start does; returns its log end offset and the base offsets of its segments."""
        clock = ManualClock()
        env = LogEnvironment(clock, clock, InlineExecutor())
        config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "test")).with_overrides(settings)
        log = open_log(env, TopicPartition("t", 0), self.files.path, config, recovery_point=recovery_point)
        log.close()
        return log.log_end_offset, [segment.base_offset for segment in log.segments]


@pytest.mark.parametrize(
    ("change", "recovery_point", "end_offset", "lost_segment_count"),
    [
        pytest.param(lambda log: log.log(4).unlink(), 2, 4, 3, id="a segment is missing"),
        pytest.param(lambda log: log.resize(4, 89), 2, 6, 3, id="a segment has lost its last batch"),
        pytest.param(lambda log: log.resize(4, 0), 2, 4, 3, id="a segment is empty"),
        pytest.param(lambda log: log.resize(4, 89), 4, 6, 3, id="the recovery point is in the segment"),
        pytest.param(lambda log: log.resize(4, 178 + 4096), 2, 8, 3, id="zeros behind a segment"),
        pytest.param(lambda log: log.resize(16, 178 + 4096), 2, 20, 0, id="zeros behind the last segment"),
        pytest.param(lambda log: damaged_at(log.log(4), 100), 2, 6, 3, id="a wrong CRC"),
        pytest.param(lambda log: log.log(4).unlink(), 16, 20, 0, id="a segment is missing below the recovery point"),
        pytest.param(lambda log: log.files.epochs("0"), 16, 20, 0, id="torn leader epochs"),
    ],
)
def test_the_segments_that_a_recovery_deletes_are_foreseen(
    log_files, change, recovery_point, end_offset, lost_segment_count
):
    killed = Killed(log_files)
    change(killed)
    before = sorted(int(path.stem) for path in log_files.path.glob("*.log"))
    report = log_files.check(recovery_point=recovery_point)
    assert report.end_offset == end_offset
    lost = [text for text in texts(report, Kind.RECOVERY) if "later segments" in text]
    assert len(lost) == bool(lost_segment_count)
    if lost_segment_count:
        assert report.damage_count
        assert f"{lost_segment_count} later segments" in lost[0]
    assert killed.open(recovery_point) == (end_offset, before[: len(before) - lost_segment_count])


def test_a_compacted_log_may_lack_offsets_between_segments(log_files):
    killed = Killed(log_files)
    killed.resize(4, 89)
    for suffix in (".index", ".timeindex"):
        log_files.write(4, suffix, b"")
    report = log_files.check(is_compacted=True)
    assert (report.damage_count, report.end_offset) == (0, 20)
    assert killed.open(0, **{"cleanup.policy": "compact"}) == (20, [0, 4, 8, 12, 16])


def test_damage_below_the_recovery_point_is_cut_if_the_index_is_missing(log_files):
    killed = Killed(log_files)
    damaged_at(killed.log(4), 100)
    killed.log(4).with_suffix(".index").unlink()
    (found,) = [text for text in log_files.recovery(recovery_point=16) if text.startswith(killed.log(4).name)]
    assert "89 bytes, from offset 6 on" in found
    assert "later segments" not in found
    assert killed.open(16) == (20, [0, 4, 8, 12, 16])
    assert killed.log(4).stat().st_size == 89


def test_an_offset_that_fits_no_index_keeps_the_partition_offline(log_files):
    killed = Killed(log_files)
    log_files.write(16, ".log", batch(16) + batch(2**31 + 20))
    log_files.segment(2**32, batch(2**32))
    assert "its partition would be offline" in log_files.recovery()[0]
    with pytest.raises(CorruptRecordsError):
        killed.open(0)


def test_zeros_behind_a_cleanly_closed_log_are_damage(log_files):
    log_files.segment(0, batch(0))
    log_files.write(0, ".log", batch(0) + bytes(5_000))
    log_files.epochs()
    assert "position 89, offset 2: 5000 zeros" in log_files.damage(**CLEAN)[0]


def test_a_batch_of_the_next_segment(log_files):
    log_files.segment(0, batch(0), batch(2, 3))
    log_files.segment(4, batch(4))
    log_files.epochs()
    assert "offset 4 belongs to the next segment" in log_files.damage()[0]


def test_the_unfinished_batch_of_a_broker_that_runs_is_no_damage(log_files):
    log_files.segment(0, batch(0))
    log_files.write(0, ".log", batch(0) + batch(2)[:-1])
    log_files.epochs()
    report = log_files.check(is_in_use=True)
    assert (report.damage_count, report.end_offset) == (0, 2)


def test_the_zeros_of_a_preallocated_segment_are_no_damage(log_files):
    log_files.segment(0, batch(0))
    log_files.write(0, ".log", batch(0) + bytes(5_000))
    log_files.epochs()
    assert log_files.damage() == []
    assert "5000 zeros at its end" in log_files.recovery()[0]


def test_records_that_a_recovery_does_not_look_at(log_files):
    data = bytearray(batch(0, 3, codec=Codec.GZIP))
    data[57:61] = (4).to_bytes(4, "big")
    from barnabas.wire.records.batch import set_crc

    set_crc(data, 0, len(data))
    log_files.segment(0, bytes(data))
    log_files.epochs()
    (damage,) = log_files.damage(**CLEAN)
    assert damage.startswith(f"{0:020}.log: position 0, offset 0: ")
    assert damage.endswith("; recovery checks only the CRC")
    assert LogCheck(log_files.path, LogState(was_clean=True), is_deep=False).run().findings == []


@pytest.mark.parametrize(
    ("suffix", "data", "complaint"),
    [
        (".index", struct.pack(">ii", 3, 7), "offset 3: no batch begins at position 7"),
        (".index", struct.pack(">ii", 1, 89), "offset 1 is before position 89"),
        (".index", struct.pack(">iiii", 3, 89, 2, 0), "both numbers must grow"),
        (".index", struct.pack(">ii", 9, 900), "1 entries point after the last whole batch"),
        (".index", b"abc", "size 3 is invalid: must be a multiple of the entry size 8"),
        (".timeindex", struct.pack(">qi", 500, 3), "timestamp 1001 occurs before offset 3, whose entry has only 500"),
        (".timeindex", struct.pack(">qiqi", 5_000, 1, 4_000, 3), "both numbers must grow"),
        (".timeindex", struct.pack(">qi", 9_000, 30), "1 entries have offsets after the last one, 3"),
        (".timeindex", b"abc", "size 3 is invalid: must be a multiple of the entry size 12"),
        (".txnindex", struct.pack(">hqqqq", 0, 7, 8, 9, 9), "an entry from 8 to 9 can't be in this segment"),
        (".txnindex", b"abc", "size 3 is invalid: must be a multiple of the entry size 34"),
    ],
)
def test_indexes_that_do_not_fit(two_segments, suffix, data, complaint):
    assert len(batch(0)) == 89
    two_segments.write(0, suffix, data)
    damage = two_segments.damage(**CLEAN)
    assert complaint in damage[0]
    assert damage[0].startswith(f"{0:020}{suffix}: ")


def test_zeros_behind_the_entries_of_an_index_are_no_damage(two_segments):
    for suffix, entry_bytes in ((".index", 8), (".timeindex", 12)):
        path = two_segments.path / f"{4:020}{suffix}"
        path.write_bytes(path.read_bytes() + bytes(entry_bytes * 100))
    assert two_segments.damage() == []


def test_files_that_a_start_makes_or_removes(two_segments):
    (two_segments.path / f"{0:020}.index").unlink()
    (two_segments.path / f"{4:020}.timeindex").unlink()
    two_segments.write(99, ".timeindex", b"")
    for name in ("x.log.deleted", "y.log.deleted", "z.log.swap"):
        two_segments.write(1, name.removeprefix(name[0]), b"")
        two_segments.write(2, name.removeprefix(name[0]), b"")
    (two_segments.path / "notes.txt").write_text("")
    report = two_segments.check(**CLEAN)
    found = texts(report, Kind.RECOVERY)
    assert "t-0: 2 files ending in .deleted, left over: the next start would remove them" in found
    assert any(".swap, left over" in text for text in found)
    assert f"{0:020}.index: is missing: the next start would rebuild it from the log" in found
    assert f"{4:020}.timeindex: is missing: the next start would rebuild it" in found
    assert f"{99:020}.timeindex: has no segment: the next start would remove it" in found
    assert texts(report, Kind.NOTE) == ["notes.txt: is not a file of a log"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0\n1\n1 0\n", "offset 0 has epoch 0, the file says 1"),
        ("0\n2\n0 0\n0 4\n", "epoch 0 from offset 4 on follows (0, 0)"),
        ("0\n0\n", "offset 0 has epoch 0, the file says -1"),
        ("7\n", "version '7'"),
    ],
)
def test_leader_epochs_that_do_not_fit(two_segments, text, complaint):
    two_segments.epochs(text)
    (damage,) = two_segments.damage(**CLEAN)
    assert complaint in damage


@pytest.mark.parametrize(
    ("log_start_offset", "epochs", "complaints"),
    [
        (3, "0\n1\n0 3\n", []),
        (4, "0\n1\n0 4\n", []),
        (7, "0\n1\n0 7\n", []),
        (8, "0\n0\n", []),
        (3, "0\n1\n1 3\n", ["leader-epoch-checkpoint: offset 3 has epoch 0, the file says 1"]),
        (3, "0\n1\n0 4\n", ["leader-epoch-checkpoint: offset 3 has epoch 0, the file says -1"]),
    ],
)
def test_epochs_are_compared_from_the_log_start_offset_on(two_segments, log_start_offset, epochs, complaints):
    two_segments.epochs(epochs)
    assert two_segments.damage(log_start_offset=log_start_offset, **CLEAN) == complaints


def test_epochs_of_a_log_that_was_not_closed_may_begin_above_its_log_start_offset(two_segments):
    two_segments.epochs("0\n1\n0 3\n")
    assert two_segments.damage() == two_segments.damage(is_in_use=True) == []
    assert two_segments.damage(**CLEAN) == ["leader-epoch-checkpoint: offset 0 has epoch 0, the file says -1"]


def test_epochs_behind_the_end_are_dropped(two_segments):
    two_segments.epochs("0\n2\n0 0\n3 100\n")
    assert two_segments.recovery(**CLEAN) == [
        "leader-epoch-checkpoint: the next start would drop 1 epochs that begin after 8"
    ]


def test_snapshots(log_files):
    written = batch(0, producer_id=5, producer_epoch=0, base_sequence=0)
    log_files.segment(0, written, batch(2))
    log_files.epochs()
    right = (5, 0, 1, 1, 1, 1_001, -1, -1)
    log_files.write(2, ".snapshot", snapshot(right))
    log_files.write(4, ".snapshot", snapshot(right, (6, 0, 9, 0, 0, 0, -1, -1)))
    assert log_files.check(**CLEAN).findings == []
    log_files.write(2, ".snapshot", snapshot((5, 0, 7, 1, 1, 1_001, -1, -1)))
    assert "producer 5: (epoch, last sequence, last offset) is (0, 1, 1) in the log" in log_files.damage(**CLEAN)[0]
    log_files.write(2, ".snapshot", snapshot((5, 0, 7, 2, 1, 1_001, -1, -1)))
    assert "producer 5 wrote up to 2, which is above the snapshot's offset" in log_files.damage(**CLEAN)[0]
    log_files.write(2, ".snapshot", snapshot(right)[:-1])
    assert "the snapshot's CRC is" in log_files.damage(**CLEAN)[0]
    assert "use an older one, or the log" in log_files.recovery(**CLEAN)[0]
    log_files.write(2, ".snapshot", snapshot(right))
    log_files.write(9, ".snapshot", snapshot(right))
    assert log_files.recovery(**CLEAN) == [
        f"{9:020}.snapshot: the next start would remove it: offset 9 is above the log end offset 4"
    ]


def test_compaction_removes_batches_that_snapshots_name(log_files):
    written = [batch(offset, producer_id=5, producer_epoch=0, base_sequence=offset) for offset in (0, 4)]
    log_files.segment(0, *written)
    log_files.epochs()
    log_files.write(4, ".snapshot", snapshot((5, 0, 3, 3, 1, 1_001, -1, -1)))
    assert log_files.damage(is_compacted=True, **CLEAN) == []
    assert "is (0, 1, 1) in the log, but (0, 3, 3) in the snapshot" in log_files.damage(**CLEAN)[0]


def test_epochs_that_a_lower_message_format_has_removed(log_files):
    builder = MessageSetBuilder(1)
    builder.append(2, 1_000, b"k", b"value")
    log_files.segment(0, batch(0))
    log_files.segment(2, bytes(builder.build()))
    assert log_files.damage(**CLEAN) == []
    # The format was raised again.
    log_files.segment(3, batch(3))
    assert log_files.damage(**CLEAN) == ["leader-epoch-checkpoint: the file is missing; offset 3 has epoch 0"]
    log_files.epochs("0\n1\n0 3\n")
    assert log_files.damage(**CLEAN) == []


def test_an_aborted_transaction_must_be_in_the_index(log_files):
    transactional: dict[str, Any] = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    aborted = batch(0, base_sequence=0, **transactional)
    still_open = batch(3, base_sequence=2, **transactional)
    log_files.segment(0, aborted, marker(2, 5, MarkerType.ABORT), still_open)
    log_files.epochs()
    report = log_files.check(**CLEAN)
    assert texts(report, Kind.DAMAGE) == [
        f"{0:020}.txnindex: the aborted transaction of producer 5 from 0 to 2 is not in it"
    ]
    assert texts(report, Kind.NOTE) == [
        "t-0: producer 5 has a transaction open since offset 3, and the directory has no __transaction_state, so no "
        "coordinator will complete it"
    ]
    log_files.write(0, ".txnindex", struct.pack(">hqqqq", 0, 5, 0, 2, 3))
    assert log_files.damage(**CLEAN) == []


def test_checkpoints_that_do_not_fit(two_segments):
    assert two_segments.damage(was_clean=True, recovery_point=9, high_watermark=20) == [
        "t-0: the recovery point 9 is above the log end offset 8",
        "t-0: the high watermark 20 is above the log end offset 8",
    ]
    assert "the next start would remove all segments" in two_segments.recovery(was_clean=True, log_start_offset=50)[0]


def test_an_empty_directory_is_no_damage(log_files):
    report = log_files.check(log_start_offset=7)
    assert (report.damage_count, report.start_offset, report.end_offset) == (0, 7, 7)


@pytest.mark.parametrize("position", [0, 9, 30, 81, 90, 120, 161])
@pytest.mark.parametrize("segment", [0, 4])
def test_the_end_that_a_recovery_leaves_is_foreseen(two_segments, segment, position):
    damaged_at(two_segments.path / f"{segment:020}.log", position)
    foreseen = two_segments.check().end_offset
    clock = ManualClock()
    env = LogEnvironment(clock, clock, InlineExecutor())
    config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "test"))
    log = open_log(env, TopicPartition("t", 0), two_segments.path, config)
    assert log.log_end_offset == foreseen
    log.close()
    assert two_segments.damage(**CLEAN) == []
