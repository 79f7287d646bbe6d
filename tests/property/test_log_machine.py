"""A log against a list of batches: append, copy, roll, read, cut, delete, stop, kill and power cut in any order.

Kills come in the middle of cuts, too: behind any change of a file.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.broker.log.appends.errors import OutOfOrderBatchesError
from barnabas.broker.log.appends.replicated_batches import check_replicated_batches
from barnabas.broker.log.disk.files import LocalRecordFile
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segments.loaded_segments import LoadedSegments
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder

T = TypeVar("T")
BROKER = BrokerConfig.from_properties({}, None, "test")


class StoppedError(BaseException):
    """The process was killed: nobody catches it."""


class StoppingDisk(FaultyDisk):
    """Kills the process after some changes of files.

    Attributes:
        left_count: After so many; None for never.
    """

    left_count: int | None = None

    def _changed(self) -> None:
        if self.left_count is not None:
            self.left_count -= 1
            if self.left_count < 0:
                raise StoppedError

    def rename(self, source: Path, target: Path) -> None:
        self._changed()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._changed()
        super().remove(path)

    def write(self, path: Path, data: bytes) -> None:
        self._changed()
        super().write(path, data)

    def truncate(self, path: Path, size: int) -> None:
        self._changed()
        super().truncate(path, size)

    def note_truncation(self, path: Path, size: int) -> None:
        super().note_truncation(path, size)
        self._changed()

    def open_records(self, path: Path, *, is_new: bool = False) -> LocalRecordFile:
        if is_new:
            self._changed()
        return super().open_records(path, is_new=is_new)


class HeldExecutor:
    """Works at once, or when it is told to."""

    def __init__(self) -> None:
        self.inline, self.held = InlineExecutor(), ManualExecutor()
        self.is_held = False

    def run(
        self, work: Callable[[], T], then: Callable[[T], object], failed: Callable[[BaseException], object]
    ) -> None:
        (self.held if self.is_held else self.inline).run(work, then, failed)


record_counts = st.integers(1, 4)
value_sizes = st.sampled_from([0, 10, 300])
timestamps = st.integers(0, 50)


class LogMachine(RuleBasedStateMachine):
    """The model: (base offset, record count, timestamp, epoch, bytes) of every batch, and what is surely on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.disk = StoppingDisk()
        self.executor = HeldExecutor()
        self.model: list[tuple[int, int, int, int, bytes]] = []
        self.start_offset = self.end_offset = 0
        self.leader_epoch = 0
        self.sequence: int | None = None
        self.last_idempotent: bytes | None = None
        self.producer_id = 1

    @initialize(segment_bytes=st.sampled_from([600, 1500, 100_000]), interval=st.sampled_from([0, 200, 4096]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.config = TopicConfig.from_broker(BROKER).with_overrides(
            {"segment.bytes": str(segment_bytes), "index.interval.bytes": str(interval), "retention.ms": "-1"}
        )
        self.open(was_clean=True, recovery_point=0)

    def open(self, *, was_clean: bool, recovery_point: int) -> None:
        # A read from an older segment releases the indexes of the one read before.
        loaded = LoadedSegments(most_bytes=0, kept_ms=0)
        env = LogEnvironment(self.clock, self.clock, self.executor, self.disk, loaded=loaded)
        self.log: PartitionLog = open_log(
            env,
            TopicPartition("t", 0),
            self.directory,
            self.config,
            was_clean=was_clean,
            recovery_point=recovery_point,
            log_start_offset=self.start_offset,
        )

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    def append_batch(self, batch: bytearray, count: int, timestamp_ms: int) -> None:
        result = self.log.append(memoryview(batch), self.leader_epoch)
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, self.end_offset)
        self.model.append((self.end_offset, count, timestamp_ms, self.leader_epoch, bytes(batch)))
        self.end_offset += count

    @rule(count=record_counts, size=value_sizes, timestamp_ms=timestamps)
    def append(self, count: int, size: int, timestamp_ms: int) -> None:
        builder = BatchBuilder()
        for _ in range(count):
            builder.append(timestamp_ms, b"k", b"v" * (size // count))
        self.append_batch(builder.build(), count, timestamp_ms)

    @rule(count=record_counts)
    def append_idempotent(self, count: int) -> None:
        first = 5 if self.sequence is None else self.sequence
        builder = BatchBuilder(producer_id=self.producer_id, producer_epoch=0, base_sequence=first)
        for _ in range(count):
            builder.append(self.clock.now_ms(), b"k", b"v")
        batch = builder.build()
        self.last_idempotent = bytes(batch)
        self.append_batch(batch, count, self.clock.now_ms())
        self.sequence = first + count

    @precondition(lambda self: self.last_idempotent is not None)
    @rule()
    def repeat_idempotent(self) -> None:
        result = self.log.append(memoryview(bytearray(self.last_idempotent or b"")), self.leader_epoch)
        assert result.is_duplicate
        assert result.base_offset < self.log.log_end_offset == self.end_offset

    @rule(count=record_counts)
    def append_on_a_full_disk(self, count: int) -> None:
        builder = BatchBuilder()
        builder.append(1, b"k", b"v" * 50)
        self.disk.free_bytes = 20 * count
        with contextlib.suppress(StorageError):
            self.log.append(memoryview(builder.build()), self.leader_epoch)
            raise AssertionError("the disk took more than it has")
        self.disk.free_bytes = None

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def begin_epoch(self) -> None:
        self.leader_epoch += 1

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.log.remove_old_snapshots()
        assert self.log.recovery_point == self.end_offset

    def build_copies(self, gaps: list[int], count: int, size: int) -> list[tuple[int, int, int, int, bytes]]:
        """Batches of another replica, as the model has them."""
        copies, offset = [], self.end_offset
        for gap in gaps:
            offset += gap
            if gap == 3:
                self.leader_epoch += 1
            builder = BatchBuilder()
            for _ in range(count):
                builder.append(gap * 10, b"k", b"v" * size)
            batch = builder.build(offset, self.leader_epoch)
            copies.append((offset, count, gap * 10, self.leader_epoch, bytes(batch)))
            offset += count
        return copies

    @rule(
        gaps=st.lists(st.sampled_from([0, 0, 0, 1, 3]), min_size=1, max_size=20), count=record_counts, size=value_sizes
    )
    def copy(self, gaps: list[int], count: int, size: int) -> None:
        copies = self.build_copies(gaps, count, size)
        run = memoryview(b"".join(each[4] for each in copies) + copies[0][4][:30])
        assert self.log.append_as_follower(check_replicated_batches(run, self.end_offset)) is None
        self.take(copies)

    def take(self, copies: list[tuple[int, int, int, int, bytes]]) -> None:
        self.model += copies
        self.end_offset = copies[-1][0] + copies[-1][1]

    @rule()
    def copy_what_it_has(self) -> None:
        if self.model and self.end_offset > self.start_offset:
            with pytest.raises(OutOfOrderBatchesError):
                self.log.append_as_follower(check_replicated_batches(memoryview(self.model[-1][4]), 0))

    def end_to_cut_at(self, part: float) -> int:
        # Where a batch is cut in two the log ends within it only until the next start.
        ends = [each[0] + each[1] for each in self.model if each[0] + each[1] >= self.start_offset]
        offset = [self.start_offset, *ends][int(len(ends) * part)]
        return self.end_offset if any(each[0] < offset < each[0] + each[1] for each in self.model) else offset

    def cut(self, offset: int) -> None:
        if offset < self.end_offset:
            self.model = [each for each in self.model if each[0] + each[1] <= offset]
            self.end_offset = offset
            self.forget_from_end()

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = self.end_to_cut_at(part)
        assert self.log.truncate(offset).is_done
        self.cut(offset)

    @rule(parts=st.lists(st.floats(0, 1), min_size=1, max_size=3), steps=st.integers(0, 3))
    def truncate_while_others_wait(self, parts: list[float], steps: int) -> None:
        self.executor.is_held = True
        offsets = []
        for part in parts:
            offsets.append(self.end_to_cut_at(part))
            cut = self.log.truncate(offsets[-1])
        self.cut(min(offsets))
        copies = self.build_copies([0, 1], 1, 10)
        run = memoryview(b"".join(each[4] for each in copies))
        copied = self.log.append_as_follower(check_replicated_batches(run, self.end_offset))
        flushed: list[BaseException | None] = []
        self.log.flush(flushed.append)
        for _ in range(min(steps, self.executor.held.waiting_count)):
            self.executor.held.run_next()
        if self.log.is_truncating:
            batch = BatchBuilder()
            batch.append(1, b"k", b"v")
            result = self.log.append(memoryview(batch.build()), self.leader_epoch)
            assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        idle = self.log.idle()
        self.executor.held.run_all()
        self.executor.is_held = False
        assert cut.is_done
        assert idle.is_done
        assert copied is None or copied.is_done
        assert flushed == [None]
        assert not self.log.is_busy
        self.take(copies)

    @rule(offset=st.integers(0, 60), copy=st.booleans())
    def truncate_fully_and_start_at(self, offset: int, copy: bool) -> None:
        assert self.log.truncate_fully_and_start_at(offset).is_done
        self.model.clear()
        self.start_offset = self.end_offset = offset
        self.forget_from_end()
        if copy and offset >= 2:
            # The leader's first batch begins below its log start.
            self.end_offset = offset - 2
            copies = self.build_copies([0, 0], 3, 10)
            run = memoryview(b"".join(each[4] for each in copies))
            pending = self.log.append_as_follower(check_replicated_batches(run, offset))
            assert pending is not None
            assert pending.is_done
            self.start_offset = self.end_offset
            self.take(copies)

    @rule(part=st.floats(0, 1), steps=st.integers(0, 12), is_anew=st.booleans(), loses_power=st.booleans())
    def be_killed_in_a_cut(self, part: float, steps: int, is_anew: bool, loses_power: bool) -> None:
        offset = self.end_to_cut_at(part)
        recovery_point = self.log.recovery_point
        self.disk.left_count = steps
        with contextlib.suppress(StoppedError):
            if is_anew:
                self.log.truncate_fully_and_start_at(offset)
            else:
                self.log.truncate(offset)
        self.disk.left_count = None
        self.log.release()
        if loses_power:
            self.disk.crash(keep_names=lambda change_count: change_count)
        else:
            self.disk.kill()
        # What the checkpoints said last: they are not behind what the log says before it goes on.
        start_offset = self.start_offset
        self.open(was_clean=False, recovery_point=recovery_point)
        found = [bytes(batch) for batch in self.log.batches(self.log.log_start_offset, self.log.log_end_offset)]
        known = [each for each in self.model if each[0] + each[1] > start_offset]
        assert found == [each[4] for each in known[: len(found)]]
        if not is_anew and not loses_power:
            assert len(found) >= sum(each[0] + each[1] <= offset for each in known)
        self.model = [each for each in self.model if each[0] + each[1] <= self.log.log_end_offset]
        self.start_offset, self.end_offset = self.log.log_start_offset, self.log.log_end_offset
        if not found:
            self.model.clear()
        self.forget_from_end()

    @rule(part=st.floats(0, 1))
    def move_log_start(self, part: float) -> None:
        self.start_offset += int((self.end_offset - self.start_offset) * part)
        self.log.increment_log_start_offset(self.start_offset)

    @precondition(lambda self: len(self.log.segments) > 1)
    @rule()
    def delete_oldest(self) -> None:
        self.log.delete_oldest_segments(1)
        first = self.log.segments[0].base_offset
        self.start_offset = max(self.start_offset, first)
        self.model = [each for each in self.model if each[0] >= first]
        self.clock.advance(60_000)

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.open(was_clean=True, recovery_point=0)
        self.forget_producer_without_records()

    @rule()
    def kill_and_start(self) -> None:
        recovery_point = self.log.recovery_point
        self.log.release()
        self.disk.kill()
        self.open(was_clean=False, recovery_point=recovery_point)
        self.forget_producer_without_records()

    @rule(torn=st.integers(0, 400))
    def lose_power_and_start(self, torn: int) -> None:
        recovery_point = self.log.recovery_point
        self.log.release()
        # All names stay: else what was cut or deleted since the last flush may come back; this model does not know it.
        self.disk.crash(keep=lambda unsafe_bytes: min(unsafe_bytes, torn), keep_names=lambda change_count: change_count)
        self.open(was_clean=False, recovery_point=recovery_point)
        assert self.log.log_end_offset >= min(recovery_point, self.end_offset)
        self.end_offset = self.log.log_end_offset
        self.model = [each for each in self.model if each[0] + each[1] <= self.end_offset]
        self.forget_from_end()

    def forget_from_end(self) -> None:
        """The producer's batches may be gone: nothing can be said about it any more, another one takes over."""
        self.producer_id += 1
        self.sequence = self.last_idempotent = None
        self.start_offset = min(self.start_offset, self.end_offset)
        self.leader_epoch = max(self.leader_epoch, self.log.latest_epoch)

    def forget_producer_without_records(self) -> None:
        if self.log.producers.get(self.producer_id) is None:
            self.sequence = self.last_idempotent = None

    @precondition(lambda self: self.sequence is not None)
    @rule()
    def leave_a_gap(self) -> None:
        builder = BatchBuilder(producer_id=self.producer_id, producer_epoch=0, base_sequence=(self.sequence or 0) + 1)
        builder.append(1, b"k", b"v")
        result = self.log.append(memoryview(builder.build()), self.leader_epoch)
        assert result.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    @invariant()
    def ends_are_right(self) -> None:
        if hasattr(self, "log"):
            assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start_offset, self.end_offset)
            assert self.log.recovery_point <= self.end_offset

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if hasattr(self, "log"):
            found = [bytes(batch) for batch in self.log.batches(self.start_offset, self.end_offset)]
            assert found == [each[4] for each in self.model if each[0] + each[1] > self.start_offset]

    @rule(part=st.floats(0, 1), limit=st.floats(0, 1), max_bytes=st.sampled_from([0, 1, 200, 100_000]))
    def read(self, part: float, limit: float, max_bytes: int) -> None:
        offset = self.start_offset + int((self.end_offset - self.start_offset) * part)
        end_offset = offset + int((self.end_offset - offset) * limit)
        found = self.log.read(offset, max_bytes, end_offset)
        wanted = [each for each in self.model if each[0] + each[1] > offset and each[0] + each[1] <= end_offset]
        if found is None:
            # A batch that reaches to the end is readable unless the offset lies where a cut left no batch.
            assert not [each for each in wanted if each[0] < end_offset]
            return
        got = list(batches(found.read()))
        assert got
        assert [bytes(batch) for batch in got] == [each[4] for each in wanted[: len(got)]]
        assert found.length <= max(max_bytes, len(got[0]))
        assert read_header(got[0]).last_offset >= offset

    @rule(target_ms=timestamps)
    def find_timestamp(self, target_ms: int) -> None:
        found = self.log.offset_for_timestamp(target_ms)
        wanted = next(
            (
                (timestamp_ms, max(base_offset, self.start_offset), epoch)
                for base_offset, count, timestamp_ms, epoch, _ in self.model
                if timestamp_ms >= target_ms and base_offset + count > self.start_offset
            ),
            None,
        )
        assert found == wanted


LogMachine.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestLogMachine = LogMachine.TestCase
