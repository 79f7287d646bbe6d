"""A log against a list of batches: append, roll, read, cut, delete, stop, kill and power cut in any order."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder

BROKER = BrokerConfig.from_properties({}, None, "test")

record_counts = st.integers(1, 4)
value_sizes = st.sampled_from([0, 10, 300])
timestamps = st.integers(0, 50)


class LogMachine(RuleBasedStateMachine):
    """The model: (base offset, record count, timestamp, epoch, bytes) of every batch, and what is surely on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.disk = FaultyDisk()
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
        env = LogEnvironment(self.clock, self.clock, InlineExecutor(), self.disk)
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

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        # Where a batch is cut in two the log ends within it only until the next start.
        ends = [each[0] + each[1] for each in self.model if each[0] + each[1] >= self.start_offset]
        offset = [self.start_offset, *ends][int(len(ends) * part)]
        if any(each[0] < offset < each[0] + each[1] for each in self.model):
            return
        self.log.truncate(offset)
        self.model = [each for each in self.model if each[0] + each[1] <= offset]
        self.end_offset = offset
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
