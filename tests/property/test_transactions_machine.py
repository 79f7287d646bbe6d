"""Transactions in a log against a list of what was written: append, end, roll, cut, delete, stop and kill in any order.

A reader of committed records, with Java's rule for skipping what was aborted, must see exactly the committed ones.
"""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.producers.producer_state import NEVER_OFFSET
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.record import iterate_records

BROKER = BrokerConfig.from_properties({}, None, "test")
PLAIN = 0

producers = st.sampled_from([1, 2, 3])


class Entry(NamedTuple):
    """A batch: plain (no producer), of a transaction, or a marker."""

    offset: int
    count: int  # type: ignore[assignment]  # hides the tuple's method of that name, which nobody needs
    producer_id: int
    marker: MarkerType | None = None

    @property
    def end(self) -> int:
        return self.offset + self.count


class TransactionsMachine(RuleBasedStateMachine):
    """The model is the list of batches; all else follows from it."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.disk = FaultyDisk()
        self.model: list[Entry] = []
        self.start_offset = self.end_offset = 0

    @initialize(segment_bytes=st.sampled_from([500, 1_000, 100_000]), interval=st.sampled_from([0, 300, 4096]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.config = TopicConfig.from_broker(BROKER).with_overrides(
            {"segment.bytes": str(segment_bytes), "index.interval.bytes": str(interval), "retention.ms": "-1"}
        )
        self.open(was_clean=True, recovery_point=0)

    def open(self, *, was_clean: bool, recovery_point: int) -> None:
        env = LogEnvironment(self.clock, self.clock, InlineExecutor(), self.disk)
        self.log = open_log(
            env,
            TopicPartition("t", 0),
            self.directory,
            self.config,
            was_clean=was_clean,
            recovery_point=recovery_point,
            log_start_offset=self.start_offset,
        )
        self.log.note_high_watermark(self.log.log_end_offset)

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    def note(self, result, count: int, producer_id: int, marker: MarkerType | None = None) -> None:
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, self.end_offset)
        self.model.append(Entry(self.end_offset, count, producer_id, marker))
        self.end_offset += count
        self.log.note_high_watermark(self.end_offset)

    @rule(count=st.integers(1, 3))
    def append_plain(self, count: int) -> None:
        builder = BatchBuilder()
        for _ in range(count):
            builder.append(self.clock.now_ms(), b"k", b"v" * 30)
        self.note(self.log.append(memoryview(builder.build()), 0), count, PLAIN)

    @rule(producer_id=producers, count=st.integers(1, 3))
    def append_in_a_transaction(self, producer_id: int, count: int) -> None:
        known = self.log.producers.get(producer_id)
        builder = BatchBuilder(
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0 if known is None else known.last_sequence + 1,
            is_transactional=True,
        )
        for _ in range(count):
            builder.append(self.clock.now_ms(), b"k", b"v" * 30)
        self.note(self.log.append(memoryview(builder.build()), 0), count, producer_id)

    @rule(producer_id=producers, kind=st.sampled_from(MarkerType))
    def end(self, producer_id: int, kind: MarkerType) -> None:
        marker = build_marker(producer_id, 0, EndTransactionMarker(kind, 0), self.clock.now_ms())
        self.note(self.log.append(memoryview(marker), 0, is_client=False), 1, producer_id, kind)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.log.remove_old_snapshots()

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offsets = [self.start_offset, *(each.end for each in self.model if each.end > self.start_offset)]
        offset = offsets[int((len(offsets) - 1) * part)]
        if any(each.offset < offset < each.end for each in self.model):
            return
        self.log.truncate(offset)
        self.model = [each for each in self.model if each.end <= offset]
        self.end_offset = offset
        self.log.note_high_watermark(offset)

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.open(was_clean=True, recovery_point=0)

    @rule()
    def kill_and_start(self) -> None:
        recovery_point = self.log.recovery_point
        self.log.release()
        self.disk.kill()
        self.open(was_clean=False, recovery_point=recovery_point)

    @rule(torn=st.integers(0, 400))
    def lose_power_and_start(self, torn: int) -> None:
        recovery_point = self.log.recovery_point
        self.log.release()
        # All names stay: else what was cut or deleted since the last flush may come back; this model does not know it.
        self.disk.crash(keep=lambda unsafe_bytes: min(unsafe_bytes, torn), keep_names=lambda change_count: change_count)
        self.open(was_clean=False, recovery_point=recovery_point)
        self.end_offset = self.log.log_end_offset
        self.model = [each for each in self.model if each.end <= self.end_offset]

    def transactions(self) -> tuple[dict[int, int], list[tuple[int, int, int, int]], set[int]]:
        """Open ones by producer, aborted ones as the index has them, and the offsets of all that is committed."""
        open_ones: dict[int, list[Entry]] = {}
        aborted: list[tuple[int, int, int, int]] = []
        committed: set[int] = set()
        for each in self.model:
            if each.producer_id == PLAIN:
                committed.update(range(each.offset, each.end))
            elif each.marker is None:
                open_ones.setdefault(each.producer_id, []).append(each)
            else:
                ended = open_ones.pop(each.producer_id, [])
                if each.marker is MarkerType.COMMIT:
                    committed.update(offset for batch in ended for offset in range(batch.offset, batch.end))
                elif ended:
                    stable = min((batch[0].offset for batch in open_ones.values()), default=each.end)
                    aborted.append((each.producer_id, ended[0].offset, each.offset, stable))
        return {key: value[0].offset for key, value in open_ones.items()}, aborted, committed

    @invariant()
    def the_first_unstable_offset_is_right(self) -> None:
        if hasattr(self, "log"):
            open_ones, _, _ = self.transactions()
            assert self.log.first_unstable_offset == min(open_ones.values(), default=NEVER_OFFSET)

    @invariant()
    def the_indexes_are_right(self) -> None:
        if hasattr(self, "log"):
            found = [tuple(entry) for segment in self.log.segments for entry in segment.transactions.entries]
            assert found == self.transactions()[1]

    @rule(part=st.floats(0, 1), max_bytes=st.sampled_from([1, 300, 100_000]))
    def read_committed(self, part: float, max_bytes: int) -> None:
        _, _, committed = self.transactions()
        stable_offset = min(self.log.first_unstable_offset, self.end_offset)
        offset = start = int(stable_offset * part)
        seen: set[int] = set()
        while (found := self.log.read(offset, max_bytes, stable_offset)) is not None:
            pending = sorted(self.log.aborted_transactions(offset, found), key=lambda each: each.first_offset)
            skipped: set[int] = set()
            for batch in batches(found.read()):
                header = read_header(batch)
                while pending and pending[0].first_offset <= header.last_offset:
                    skipped.add(pending.pop(0).producer_id)
                if header.is_control:
                    skipped.discard(header.producer_id)
                elif header.producer_id not in skipped:
                    seen.update(record.offset for record in iterate_records(batch))
                offset = header.last_offset + 1
        assert {each for each in seen if each >= start} == {each for each in committed if start <= each < stable_offset}


TransactionsMachine.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestTransactionsMachine = TransactionsMachine.TestCase
