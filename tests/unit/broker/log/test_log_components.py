"""Indexes, tail, leader epochs, producer snapshots and checkpoints, each by itself."""

import os
from contextlib import contextmanager
from struct import pack

import pytest

from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.leader_epochs import LeaderEpochs
from barnabas.broker.log.producers.producer_snapshot import (
    CorruptSnapshotError,
    ProducerSnapshots,
    decode_snapshot,
    encode_snapshot,
)
from barnabas.broker.log.producers.producer_state import ProducerBatch, ProducerEntry, ProducerState
from barnabas.broker.log.segments.offset_index import OffsetIndex
from barnabas.broker.log.segments.tail import KEPT_BATCHES, BatchTail
from barnabas.broker.log.segments.time_index import TimeIndex
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError

FILES = LocalFileSystem()


class TestOffsetIndex:
    @pytest.fixture
    def index(self, tmp_path):
        index = OffsetIndex(FILES, tmp_path / "100.index", 100)
        for offset, position in ((110, 500), (120, 900), (130, 1300)):
            index.append(offset, position)
        return index

    def test_lookup(self, index):
        assert [index.lookup(offset) for offset in (100, 109, 110, 119, 130, 999)] == [0, 0, 500, 500, 1300, 1300]
        with pytest.raises(ValueError):
            index.lookup(99)

    def test_bytes(self, index):
        index.persist()
        index.append(140, 2000)
        index.persist()
        index.persist()

        assert index.path.read_bytes() == pack(">8i", 10, 500, 20, 900, 30, 1300, 40, 2000)

    def test_entries_may_come_while_others_are_written(self, index):
        index.persist(2)
        assert index.path.read_bytes() == pack(">4i", 10, 500, 20, 900)
        index.persist(1)
        index.persist(3)
        assert index.path.read_bytes() == pack(">6i", 10, 500, 20, 900, 30, 1300)

    def test_load_drops_what_is_no_entry(self, index):
        index.persist()
        size = index.path.stat().st_size
        with index.path.open("ab") as file:
            file.write(bytes(803))
        loaded = OffsetIndex(FILES, index.path, 100)
        loaded.load()

        assert (loaded.entry_count, loaded.last_position) == (3, 1300)
        assert index.path.stat().st_size == size

    @pytest.mark.parametrize(
        "numbers",
        [(10, 500, -1, -1), (10, 500, 20, -1), (10, 500, 20, 400), (10, 500, 10, 900), (-5, 500), (0, 0, 10, 500)],
    )
    def test_load_reports_damage(self, index, numbers):
        data = pack(f">{len(numbers)}i", *numbers)
        index.path.write_bytes(data)
        loaded = OffsetIndex(FILES, index.path, 100)
        assert not loaded.load()
        assert (loaded.entry_count, index.path.read_bytes()) == (0, data)

    def test_an_offset_that_does_not_fit_is_refused(self, index):
        with pytest.raises(CorruptRecordsError):
            index.append(100 + 2**31, 2000)
        index.append(99 + 2**31, 2000)
        assert index.lookup(99 + 2**31) == 2000

    def test_truncate(self, index):
        index.persist()
        index.append(140, 2000)
        index.truncate(120)

        assert index.lookup(150) == 500
        assert index.path.read_bytes() == pack(">2i", 10, 500)
        index.append(125, 700)
        index.persist()
        assert index.path.read_bytes() == pack(">4i", 10, 500, 25, 700)

    def test_clear(self, index):
        index.persist()
        index.clear()
        assert (index.entry_count, index.last_position, index.path.read_bytes()) == (0, 0, b"")


class TestTimeIndex:
    @pytest.fixture
    def index(self, tmp_path):
        index = TimeIndex(FILES, tmp_path / "100.timeindex", 100)
        for timestamp_ms, offset in ((1000, 110), (1000, 115), (900, 117), (2000, 120)):
            index.append(timestamp_ms, offset)
        return index

    def test_only_larger_timestamps_get_an_entry(self, index):
        assert (index.entry_count, index.last_timestamp_ms, index.last_offset) == (2, 2000, 120)

    def test_lookup(self, index):
        assert [index.lookup(timestamp_ms) for timestamp_ms in (0, 999, 1000, 1999, 2000)] == [100, 100, 110, 110, 120]

    def test_entries_may_come_while_others_are_written(self, index):
        index.persist(1)
        assert index.path.read_bytes() == pack(">qi", 1000, 10)
        index.persist(2)
        assert index.path.read_bytes() == pack(">qiqi", 1000, 10, 2000, 20)

    def test_bytes_and_load(self, index):
        index.persist()
        data = index.path.read_bytes()
        assert data == pack(">qiqi", 1000, 10, 2000, 20)
        index.path.write_bytes(data + bytes(40))
        loaded = TimeIndex(FILES, index.path, 100)
        loaded.load()
        assert (loaded.entry_count, loaded.last_offset) == (2, 120)
        assert index.path.read_bytes() == data

    @pytest.mark.parametrize(
        "numbers", [(1000, 10, -1, -1), (1000, 10, 2000, -1), (1000, 10, 2000, 9), (1000, 10, 1000, 20), (-1, 10)]
    )
    def test_load_reports_damage(self, index, numbers):
        data = pack(f">{'qi' * (len(numbers) // 2)}", *numbers)
        index.path.write_bytes(data)
        loaded = TimeIndex(FILES, index.path, 100)
        assert not loaded.load()
        assert (loaded.entry_count, index.path.read_bytes()) == (0, data)

    def test_an_offset_that_does_not_fit_is_refused(self, index):
        with pytest.raises(CorruptRecordsError):
            index.append(3000, 100 + 2**31)
        assert (index.last_timestamp_ms, index.last_offset) == (2000, 120)

    def test_truncate(self, index):
        index.persist()
        index.truncate(120)
        assert index.last_offset == 110
        assert index.path.read_bytes() == pack(">qi", 1000, 10)


class TestTail:
    def test_find(self):
        tail = BatchTail()
        assert tail.find(5, 0) is None
        for batch in range(3):
            tail.append(100 + 10 * batch, 1000 * batch)

        assert tail.find(99, 3000) is None
        assert tail.find(100, 3000) == (0, 1000)
        assert tail.find(115, 3000) == (1000, 2000)
        assert tail.find(129, 3000) == (2000, 3000)
        tail.clear()
        assert tail.find(115, 3000) is None

    def test_keeps_only_the_newest(self):
        tail = BatchTail()
        for batch in range(5 * KEPT_BATCHES):
            tail.append(batch, batch)

        assert tail.find(2 * KEPT_BATCHES, 0) is None
        assert tail.find(4 * KEPT_BATCHES, 0) == (4 * KEPT_BATCHES, 4 * KEPT_BATCHES + 1)


class TestLeaderEpochs:
    @pytest.fixture
    def epochs(self, tmp_path):
        epochs = LeaderEpochs(FILES, tmp_path)
        epochs.load()
        for epoch, start_offset in ((0, 0), (2, 10), (5, 30)):
            epochs.assign(epoch, start_offset)
        return epochs

    def test_file(self, epochs):
        assert epochs.path.read_bytes() == b"0\n3\n0 0\n2 10\n5 30\n"
        loaded = LeaderEpochs(FILES, epochs.path.parent)
        loaded.load()
        assert (loaded.entries, loaded.latest_epoch) == (epochs.entries, 5)

    def test_a_new_entry_removes_those_it_contradicts(self, epochs):
        epochs.assign(6, 10)
        assert epochs.entries == ((0, 0), (6, 10))
        epochs.assign(6, 20)
        assert epochs.entries == ((0, 0), (6, 10))
        epochs.assign(3, 40)
        assert epochs.entries == ((0, 0), (3, 40))

    def test_end_offsets(self, epochs):
        ends = [epochs.end_offset_for(epoch, 50) for epoch in (-1, 0, 1, 2, 4, 5, 6)]
        assert ends == [(-1, -1), (0, 10), (0, 10), (2, 30), (2, 30), (5, 50), (-1, -1)]

    def test_an_epoch_below_the_first(self, tmp_path):
        epochs = LeaderEpochs(FILES, tmp_path)
        epochs.assign(3, 7)
        assert epochs.end_offset_for(1, 50) == (1, 7)

    def test_truncation(self, epochs):
        epochs.truncate_from_end(30)
        assert epochs.entries == ((0, 0), (2, 10))
        epochs.truncate_from_start(15)
        assert epochs.entries == ((2, 15),)
        assert (epochs.epoch_at(14), epochs.epoch_at(15)) == (-1, 2)
        epochs.clear()
        assert epochs.latest_epoch == -1
        assert epochs.path.read_bytes() == b"0\n0\n"


class TestSnapshots:
    def test_bytes(self):
        state = ProducerState()
        state.put_all({4: ProducerEntry(1, [ProducerBatch(5, 7, 102, 2, 999)], 999)})
        data = encode_snapshot(state)

        assert data[:2] == b"\0\1"
        assert data[6:] == pack(">iqhiqiqiq", 1, 4, 1, 7, 102, 2, 999, -1, -1)
        (entry,) = (entry for _, entry in decode_snapshot(data).items())
        assert entry.batches == [ProducerBatch(5, 7, 102, 2, 999)]

    def test_no_producers_are_ten_bytes(self):
        data = encode_snapshot(ProducerState())
        assert len(data) == 10
        assert len(decode_snapshot(data)) == 0

    def test_only_markers_were_seen(self):
        state = ProducerState()
        state.put_all({4: ProducerEntry(1, [], 999, 3)})
        data = encode_snapshot(state)
        assert data[6:] == pack(">iqhiqiqiq", 1, 4, 1, -1, -1, 0, 999, 3, -1)
        (entry,) = (entry for _, entry in decode_snapshot(data).items())
        assert (entry.batches, entry.coordinator_epoch) == ([], 3)

    @pytest.mark.parametrize("data", [b"", bytes(10), b"\0\1" + bytes(8), encode_snapshot(ProducerState()) + b"x"])
    def test_damage_is_seen(self, data):
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(data)

    def test_a_damaged_file_gives_way_to_an_older_one(self, tmp_path):
        snapshots = ProducerSnapshots(FILES, tmp_path, [])
        for offset in (5, 9, 12):
            snapshots.take(offset, ProducerState())
        snapshots.path(12).write_bytes(b"damaged bytes")

        assert snapshots.load_latest()[0] == 9
        assert snapshots.offsets == (5, 9)
        assert not snapshots.path(12).exists()
        snapshots.forget_below(9)()
        assert not snapshots.path(5).exists()
        assert snapshots.offsets == (9,)
        snapshots.remove_outside(9, 20)
        assert snapshots.load_latest() is None


class TestCheckpoint:
    def test_round_trip(self, tmp_path):
        checkpoint = OffsetCheckpoint(FILES, tmp_path / "recovery-point-offset-checkpoint")
        assert checkpoint.read() == {}
        offsets = {TopicPartition("a.b", 0): 5, TopicPartition("__x", 12): 0}
        checkpoint.write(offsets)

        assert checkpoint.path.read_bytes() == b"0\n2\na.b 0 5\n__x 12 0\n"
        assert checkpoint.read() == offsets

    @pytest.mark.parametrize(
        "data", [b"1\n0\n", b"0\n", b"0\n2\nt 0 1\n", b"0\n1\nt 0\n", b"0\n1\nt 0 x\n", b"0\nx\n", b"\xff\n0\n"]
    )
    def test_malformed_files_are_errors(self, tmp_path, data):
        checkpoint = OffsetCheckpoint(FILES, tmp_path / "c")
        checkpoint.path.write_bytes(data)
        with pytest.raises(StorageError):
            checkpoint.read()


def test_a_file_that_goes_while_its_directory_is_listed_is_left_out(tmp_path, monkeypatch):
    """The cleaner lists a log in one thread while replaced segments are removed in another."""
    (tmp_path / "kept").write_bytes(b"abc")
    (tmp_path / "removed").write_bytes(b"abc")
    scandir = os.scandir

    @contextmanager
    def removing(path):
        with scandir(path) as entries:
            found = list(entries)
        (tmp_path / "removed").unlink()
        yield found

    monkeypatch.setattr(os, "scandir", removing)
    assert [(entry.name, entry.size_bytes) for entry in LocalFileSystem().list(tmp_path)] == [("kept", 3)]
