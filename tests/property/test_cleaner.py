"""Compaction against the simplest model (the newest record of each key, at its offset), and killed at every step."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.log.cleaner.cleaner import Cleaner
from barnabas.broker.log.disk.files import LocalRecordFile
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor, new_stop_signal
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.record import Record, iterate_records

TP = TopicPartition("t", 0)
BROKER = BrokerConfig.from_properties({}, None, "test")
CONFIG = TopicConfig.from_broker(BROKER).with_overrides(
    {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
        "segment.bytes": "1100",
        "index.interval.bytes": "100",
    }
)

Pair = tuple[bytes, bytes | None]

keys = st.integers(0, 12).map(lambda number: b"%d" % number)
values = st.one_of(st.none(), st.sampled_from([b"", b"v", b"w" * 150]))
pairs = st.lists(st.tuples(keys, values), min_size=1, max_size=6)


class Batch(NamedTuple):
    """What is appended: by a producer with an id or without one, in some codec; a new segment may begin afterwards."""

    pairs: list[Pair]
    codec: Codec
    is_idempotent: bool
    timestamp_ms: int
    is_rolled: bool


batches = st.builds(
    Batch,
    pairs,
    st.sampled_from([*Codec, Codec.NONE, Codec.NONE]),
    st.booleans(),
    st.integers(0, 10_000),
    st.booleans(),
)


class DeadDiskError(Exception):
    """The process is gone: nothing reaches the disk any more."""


class DyingDisk(FaultyDisk):
    """A disk that the process loses before its nth change."""

    __slots__ = ("left_count",)

    def __init__(self) -> None:
        super().__init__()
        self.left_count: int | None = None

    def step(self) -> None:
        """Count a change.

        Raises:
            DeadDiskError: It is one too many.
        """
        if self.left_count is None:
            return
        if self.left_count <= 0:
            raise DeadDiskError
        self.left_count -= 1

    def open_records(self, path: Path, *, is_new: bool = False) -> LocalRecordFile:
        if is_new:
            self.step()
        return super().open_records(path, is_new=is_new)

    def append(self, path: Path, data: bytes) -> None:
        self.step()
        super().append(path, data)

    def write(self, path: Path, data: bytes) -> None:
        self.step()
        super().write(path, data)

    def rename(self, source: Path, target: Path) -> None:
        self.step()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self.step()
        super().remove(path)

    def take(self, size: int) -> int:
        self.step()
        return super().take(size)

    def note_sync(self, path: Path, size: int) -> None:
        self.step()
        super().note_sync(path, size)


class World:
    """A log on such a disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ManualClock()
        self.disk = DyingDisk()
        self.sequence = 0
        self.log = self.open(was_clean=True)

    def open(self, *, was_clean: bool, recovery_point: int = 0) -> PartitionLog:
        env = LogEnvironment(self.clock, self.clock, InlineExecutor(), self.disk, on_failure=lambda error: None)
        self.env = env
        self.log = open_log(env, TP, self.directory, CONFIG, was_clean=was_clean, recovery_point=recovery_point)
        return self.log

    def append(self, batch: Batch) -> None:
        producer = (1, 0, self.sequence) if batch.is_idempotent else ()
        builder = BatchBuilder(batch.codec, *producer)
        for index, (key, value) in enumerate(batch.pairs):
            builder.append(batch.timestamp_ms + index % 3, key, value)
        assert not self.log.append(memoryview(builder.build()), 0).error_code
        self.sequence += len(batch.pairs) if batch.is_idempotent else 0
        if batch.is_rolled:
            self.log.roll()

    def clean(self, buffer_bytes: int | None = None) -> Cleaner:
        config = BrokerConfig.from_properties({}, None, "test")
        if buffer_bytes is not None:
            # Less than a broker may be given, so that few records fill it.
            config.log_cleaner_dedupe_buffer_size = buffer_bytes
        cleaner = Cleaner(
            config,
            self.env,
            InlineExecutor(),
            lambda: [self.log],
            lambda: {TP: self.log.log_end_offset},
            lambda log: None,
            new_stop_signal(),
        )
        cleaner.start()
        self.clock.advance(0)
        cleaner.close()
        return cleaner

    def records(self) -> list[Record]:
        log = self.log
        return [record for batch in log.batches(0, log.log_end_offset) for record in iterate_records(batch)]


@contextmanager
def world() -> Iterator[World]:
    directory = Path(tempfile.mkdtemp())
    try:
        made = World(directory)
        yield made
        made.log.release()
    finally:
        shutil.rmtree(directory)


def newest(records: list[Record], end_offset: int) -> list[Record]:
    """What compaction below `end_offset` must leave."""
    last = {record.key: record.offset for record in records if record.offset < end_offset}
    return [record for record in records if record.offset >= last.get(record.key, 0)]


@given(st.lists(batches, min_size=1, max_size=25), st.sampled_from([134217728, 4000, 240]))
@settings(deadline=None)
def test_the_newest_record_of_each_key_stays_at_its_offset(written: list[Batch], buffer_bytes: int) -> None:
    with world() as it:
        for batch in written:
            it.append(batch)
        before, end_offset = it.records(), it.log.log_end_offset
        cleaner = it.clean(buffer_bytes)
        assert not cleaner.uncleanable
        expected = newest(before, it.log.segments[-1].base_offset)
        assert it.records() == expected
        # Nothing of it depends on memory, and whoever wrote can go on.
        it.log.close()
        it.open(was_clean=True)
        assert it.records() == expected
        assert it.log.log_end_offset == end_offset
        it.append(Batch([(b"0", b"more")], Codec.NONE, True, 0, False))
        assert it.records()[-1][0] == end_offset


SCRIPT = [
    Batch([(b"%d" % (number % 5), None if number % 11 == 0 else b"v" * (number % 90)), (b"k%d" % (number // 6), b"")],
          Codec.GZIP if number % 4 == 0 else Codec.NONE, number % 3 == 0, 1_000 + number, number % 7 == 0)
    for number in range(26)
]  # fmt: skip


@pytest.mark.parametrize(
    "kept_names", [None, 1.0, 0.5, 0.0], ids=["kill", "power-cut", "power-cut-half-the-names", "power-cut-no-names"]
)
def test_killed_at_every_step(tmp_path: Path, kept_names: float | None) -> None:
    """`kept_names`: how much of what a directory was not synced for stays after a power cut; None is a kill."""
    original = World(tmp_path / "original")
    for batch in SCRIPT:
        original.append(batch)
    original.log.roll()
    before, end_offset = original.records(), original.log.log_end_offset
    expected = newest(before, end_offset)
    original.log.close()
    outcomes = set()
    for step_count in count():
        directory = tmp_path / f"{step_count}"
        shutil.copytree(original.directory, directory)
        it = World(directory)
        it.disk.left_count = step_count
        it.clean()
        has_survived = it.disk.left_count > 0
        it.disk.left_count = None
        it.log.release()
        if kept_names is None:
            it.disk.kill()
        else:
            it.disk.crash(keep_names=lambda change_count: int(change_count * kept_names))

        it.open(was_clean=False, recovery_point=end_offset)
        found = it.records()
        assert it.log.log_end_offset == end_offset
        # Whatever was there already stands, in order, and nothing that is newest of its key is missing.
        assert [record for record in before if record in found] == found
        assert [record for record in found if record in expected] == expected
        assert not [path for path in directory.iterdir() if path.suffix in (".cleaned", ".swap")]
        outcomes.add(len(found))
        cleaner = it.clean()
        assert not cleaner.uncleanable
        assert it.records() == expected
        it.log.release()
        shutil.rmtree(directory)
        if has_survived:
            break
    assert step_count > 30
    # Before, after, and between two swaps; the fewer names stay, the fewer of those there are.
    assert len(outcomes) > {0.0: 1, 0.5: 2}.get(kept_names, 3)
    assert {len(before), len(expected)} <= outcomes
