"""Checks one whole log and predicts the recovery at the next start. Read-only.

Every batch is read, its CRC is computed, and its records are unpacked and counted. Indexes, snapshots, leader epochs
and file names are compared with the batches.

Source: implementation page, log, guarantees; log-format facts, load and recovery.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from barnabas.broker.log.file_names import (
    EPOCHS_FILE,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from barnabas.core.errors import StorageError
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.inspection.epoch_check import EpochCheck
from barnabas.inspection.findings import Kind, LogReport
from barnabas.inspection.index_check import OffsetIndexCheck, TimeIndexCheck
from barnabas.inspection.index_files import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES, TRANSACTION_ENTRY_BYTES
from barnabas.inspection.log_file import LogFile
from barnabas.inspection.log_listing import LogListing, list_log
from barnabas.inspection.producer_check import ProducerCheck
from barnabas.inspection.stored_batch import StoredBatch, StoredRecord
from barnabas.wire.records.control import read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record

_LARGEST_RELATIVE_OFFSET = 2**31 - 1
_LEFTOVERS = {
    ".deleted": "remove them",
    ".cleaned": "remove them",
    ".swap": "swap in completely compacted segments, and remove the rest",
}


@dataclass(frozen=True, slots=True)
class LogState:
    """The checkpoints of a log, and how it was closed.

    Attributes:
        was_clean: The last stop closed it.
        is_in_use: A broker has the log open.
        recovery_point, log_start_offset, high_watermark: None without an entry.
        is_compacted: The topic is known to be compacted, so offsets may be missing between segments.
    """

    was_clean: bool = False
    is_in_use: bool = False
    recovery_point: int | None = None
    log_start_offset: int | None = None
    high_watermark: int | None = None
    is_compacted: bool = False


@dataclass(slots=True)
class _ValidEnd:
    """The end of the valid part of a log.

    Attributes:
        segment: The index of the segment.
        lost_bytes: The bytes behind the end in this segment.
        is_refused: Recovery would neither truncate the log nor open it.
    """

    segment: int
    position: int
    offset: int
    lost_bytes: int
    reason: str
    is_refused: bool = False


class LogCheck:
    """One check of one log."""

    def __init__(
        self, path: Path, state: LogState, note_bytes: Callable[[int], None] = lambda _: None, *, is_deep: bool = True
    ) -> None:
        """Args:
        path: The log's directory.
        state: The log's checkpoints and how it was closed.
        note_bytes: Receives the numbers of processed bytes of `.log` files.
        is_deep: Also unpack the records.
        """
        self._state = state
        self._note_bytes = note_bytes
        self._is_deep = is_deep
        self._listing: LogListing = list_log(path)
        self._report = LogReport(path)
        self._epochs = EpochCheck(path / EPOCHS_FILE, self._report, was_clean=state.was_clean)
        snapshots = [(offset, self._listing.file(offset, SNAPSHOT_SUFFIX)) for offset in self._listing.snapshots]
        self._producers = ProducerCheck(snapshots, self._report, is_compacted=state.is_compacted)
        self._next_offset = 0

    def run(self) -> LogReport:
        """Check everything."""
        report, segments = self._report, self._listing.segments
        report.segment_count = len(segments)
        report.start_offset = max(segments[0] if segments else 0, self._state.log_start_offset or 0)
        self._next_offset = segments[0] if segments else report.start_offset
        self._check_names()
        valid_end: _ValidEnd | None = None
        for index, base_offset in enumerate(segments):
            try:
                valid_end = self._check_segment(index, base_offset) or self._check_gap(index)
            except StorageError as error:
                self._report_unreadable(base_offset, error)
                continue
            if valid_end is not None:
                self._report_end(valid_end)
                break
        report.end_offset = self._next_offset
        self._report_recovery()
        self._epochs.finish(self._next_offset)
        if valid_end is None:
            self._producers.finish(self._next_offset)
        self._check_checkpoints()
        for producer_id, offset in self._producers.open_transactions.items():
            text = f"producer {producer_id} has a transaction open since offset {offset}"
            if not self._has_coordinator():
                text += f", and the directory has no {TRANSACTION_STATE_TOPIC}, so no coordinator will complete it"
            report.add(Kind.NOTE, report.path, text)
        return report

    def _has_coordinator(self) -> bool:
        """Return whether the log directory has a partition of the transaction state topic."""
        return any(self._report.path.parent.glob(f"{TRANSACTION_STATE_TOPIC}-*"))

    def _check_names(self) -> None:
        report = self._report
        for suffix, fate in _LEFTOVERS.items():
            count = sum(1 for name in self._listing.leftovers if name.endswith(suffix))
            if count:
                what = f"{count} file{'s' if count > 1 else ''} ending in {suffix}"
                report.add(Kind.RECOVERY, report.path, f"{what}, left over: the next start would {fate}")
        for name in self._listing.orphans:
            report.add(Kind.RECOVERY, report.path / name, "has no segment: the next start would remove it")
        for name in self._listing.irregular:
            text = "must be a regular file: a broker would not touch it, and keep the partition offline"
            report.add(Kind.DAMAGE, report.path / name, text)
        for name in self._listing.strangers:
            report.add(Kind.NOTE, report.path / name, "is not a file of a log")
        if not self._listing.segments:
            report.add(Kind.NOTE, report.path, "has no segment: the next start would create one")

    def _check_segment(self, index: int, base_offset: int) -> _ValidEnd | None:
        """Check a segment; return where its valid part ends, unless that is its end."""
        listing, report = self._listing, self._report
        following = listing.segments[index + 1] if index + 1 < len(listing.segments) else None
        indexes = OffsetIndexCheck(listing.file(base_offset, OFFSET_INDEX_SUFFIX), base_offset, self._damage)
        times = TimeIndexCheck(listing.file(base_offset, TIME_INDEX_SUFFIX), base_offset, self._damage)
        end_position, reason, is_incomplete, is_refused = 0, "an incomplete batch", True, False
        start_offset = self._next_offset = max(self._next_offset, base_offset)
        with LogFile(listing.file(base_offset, LOG_SUFFIX)) as log:
            report.size_bytes += log.size
            try:
                for batch in log.batches():
                    wrong = self._what_is_wrong(batch, base_offset, following)
                    if wrong is not None:
                        reason, is_incomplete = wrong, False
                        is_refused = following is not None and self._is_overflow(batch, base_offset, following)
                        break
                    indexes.note(batch)
                    times.note(batch)
                    self._note(batch, log.path)
                    end_position = batch.position + batch.size_in_bytes
            except CorruptRecordsError as error:
                reason, is_incomplete = str(error), False
            if end_position == log.size:
                indexes.finish(end_position)
                times.finish()
                end_offset = following if following is not None else max(self._next_offset, base_offset + 1)
                self._producers.end_segment(
                    listing.file(base_offset, TRANSACTION_INDEX_SUFFIX), min(base_offset, start_offset), end_offset
                )
                return None
            self._note_bytes(log.size - end_position)
            if is_incomplete and self._is_being_written(index):
                return None
            lost_bytes = log.size - end_position
            if not _is_content(log, end_position):
                reason = f"{lost_bytes} zeros"
                if following is None and not self._state.was_clean:
                    text = f"{reason} at its end (preallocate=true): recovery would truncate them"
                    report.add(Kind.RECOVERY, log.path, text)
                    return None
            return _ValidEnd(index, end_position, self._next_offset, lost_bytes, reason, is_refused)

    def _check_gap(self, index: int) -> _ValidEnd | None:
        """Return the end of a valid segment if recovery would delete the later segments because offsets are missing."""
        listing, offset = self._listing, self._next_offset
        if self._state.is_compacted or index < self._first_recovered() or index + 1 == len(listing.segments):
            return None
        following = listing.segments[index + 1]
        if max(offset, self._state.log_start_offset or 0) >= following:
            return None
        position = listing.sizes[listing.file(listing.segments[index], LOG_SUFFIX).name]
        reason = f"the segment ends, but the next one begins at offset {following} (no damage in a compacted topic)"
        return _ValidEnd(index, position, offset, 0, reason)

    def _is_being_written(self, index: int) -> bool:
        is_last = index + 1 == len(self._listing.segments)
        return self._state.is_in_use and is_last

    def _what_is_wrong(self, batch: StoredBatch, base_offset: int, following: int | None) -> str | None:
        if not batch.is_valid:
            return "a wrong CRC"
        if batch.base_offset < self._next_offset:
            return f"offset {batch.base_offset} is below the expected {self._next_offset}"
        if batch.last_offset - base_offset > _LARGEST_RELATIVE_OFFSET:
            return f"offset {batch.last_offset} is too far above the segment's base offset"
        if following is not None and batch.last_offset >= following:
            return f"offset {batch.last_offset} belongs to the next segment"
        return None

    def _is_overflow(self, batch: StoredBatch, base_offset: int, following: int) -> bool:
        """Return whether a batch is valid, but its offset is too large for an index entry of its segment."""
        is_in_segment = self._next_offset <= batch.base_offset and batch.last_offset < following
        return batch.is_valid and is_in_segment and batch.last_offset - base_offset > _LARGEST_RELATIVE_OFFSET

    def _note(self, batch: StoredBatch, path: Path) -> None:
        self._report.batch_count += 1
        self._epochs.note(batch)
        self._producers.note(batch)
        self._next_offset = batch.last_offset + 1
        self._note_bytes(batch.size_in_bytes)
        if not self._is_deep and not batch.is_control:
            self._report.record_count += 0 if batch.header is None else batch.header.record_count
            return
        try:
            self._check_records(batch)
        except CorruptRecordsError as error:
            self._damage(
                path, f"position {batch.position}, offset {batch.base_offset}: {error}; recovery checks only the CRC"
            )

    def _check_records(self, batch: StoredBatch) -> None:
        previous_offset = -1 if batch.header is None else batch.base_offset - 1
        largest_ms = -1
        for record in batch.records():
            self._report.record_count += 1
            if not record.is_valid:
                raise CorruptRecordsError(f"record {record.offset} has a wrong CRC")
            if not previous_offset < record.offset <= batch.last_offset:
                raise CorruptRecordsError(f"record {record.offset} follows {previous_offset} in {_span(batch)}")
            previous_offset = record.offset
            largest_ms = max(largest_ms, record.timestamp_ms)
            if batch.is_control:
                self._note_marker(batch, record)
        has_records = previous_offset >= batch.base_offset
        if batch.header is not None and has_records and largest_ms != batch.timestamp_ms:
            raise CorruptRecordsError(
                f"the largest timestamp is {largest_ms}, but the batch header has {batch.timestamp_ms}"
            )

    def _note_marker(self, batch: StoredBatch, record: StoredRecord) -> None:
        marker = read_marker(Record(record.offset, record.timestamp_ms, record.key, record.value))
        if marker is not None:
            self._producers.note_marker(batch, record, marker)

    def _report_unreadable(self, base_offset: int, error: StorageError) -> None:
        path = self._listing.file(base_offset, LOG_SUFFIX)
        if self._state.is_in_use and not path.exists():
            self._report.add(Kind.NOTE, path, "the broker removed the file during the check")
        else:
            self._damage(path, str(error).removeprefix(f"{path}: "))

    def _report_end(self, valid_end: _ValidEnd) -> None:
        listing = self._listing
        path = listing.file(listing.segments[valid_end.segment], LOG_SUFFIX)
        self._damage(path, f"position {valid_end.position}, offset {valid_end.offset}: {valid_end.reason}")
        later = listing.segments[valid_end.segment + 1 :]
        self._report.size_bytes += sum(listing.sizes[listing.file(each, LOG_SUFFIX).name] for each in later)
        is_recovered = valid_end.segment >= self._first_recovered()
        lost_segments = f"{len(later)} later segments (offsets from {later[0]} on)" if is_recovered and later else ""
        if not is_recovered and self._rebuilt_index(listing.segments[valid_end.segment]) is None:
            why = "the last stop was clean" if self._state.was_clean else "it is below the recovery point"
            text = f"the next start would not check it: {why}; consumers would hit the damage"
            if not later:
                text += ", or the partition would be offline"
        elif valid_end.is_refused:
            text = "the next start would not open the log: its partition would be offline"
        elif valid_end.lost_bytes:
            text = (
                f"recovery would truncate it there: {valid_end.lost_bytes} bytes, from offset {valid_end.offset} on, "
                "would be lost"
            )
            if lost_segments:
                text += f", and {lost_segments}"
        else:
            text = f"recovery would end the log there: {lost_segments} would be lost, unless the topic is compacted"
        self._report.add(Kind.RECOVERY, path, text)
        if later and not is_recovered:
            self._report.add(Kind.NOTE, path, f"{len(later)} later segments were not checked")

    def _first_recovered(self) -> int:
        """Return the index of the first segment that the next start reads whole."""
        segments = self._listing.segments
        if self._state.was_clean:
            return len(segments)
        recovery_point = self._state.recovery_point or 0
        return max(sum(1 for base_offset in segments if base_offset <= recovery_point) - 1, 0)

    def _rebuilt_index(self, base_offset: int) -> tuple[Path, str] | None:
        """Return why each start reads a segment whole; None if its indexes are valid."""
        listing = self._listing
        index = listing.file(base_offset, OFFSET_INDEX_SUFFIX)
        if not listing.has(index):
            return index, "is missing: the next start would rebuild it from the log"
        for suffix, entry_bytes in (
            (OFFSET_INDEX_SUFFIX, OFFSET_ENTRY_BYTES),
            (TIME_INDEX_SUFFIX, TIME_ENTRY_BYTES),
            (TRANSACTION_INDEX_SUFFIX, TRANSACTION_ENTRY_BYTES),
        ):
            if listing.sizes.get(listing.file(base_offset, suffix).name, 0) % entry_bytes:
                return index, "the next start would rebuild the segment's indexes"
        return None

    def _report_recovery(self) -> None:
        listing = self._listing
        first = self._first_recovered()
        for base_offset in listing.segments[:first]:
            times = listing.file(base_offset, TIME_INDEX_SUFFIX)
            rebuilt = self._rebuilt_index(base_offset)
            if rebuilt is not None:
                self._report.add(Kind.RECOVERY, *rebuilt)
            elif not listing.has(times):
                self._report.add(Kind.RECOVERY, times, "is missing: the next start would rebuild it")
        recovered = listing.segments[first:]
        if recovered:
            total_bytes = sum(listing.sizes[listing.file(each, LOG_SUFFIX).name] for each in recovered)
            self._report.add(
                Kind.RECOVERY,
                listing.path,
                f"the next start would read {len(recovered)} of {len(listing.segments)} segments ({total_bytes} "
                f"bytes, from offset {recovered[0]} on) and rebuild their indexes",
            )

    def _check_checkpoints(self) -> None:
        state, report = self._state, self._report
        end_offset = report.end_offset
        if state.log_start_offset is not None and state.log_start_offset > end_offset:
            report.add(
                Kind.RECOVERY,
                report.path,
                f"the checkpointed log start offset {state.log_start_offset} is above the log end offset {end_offset}: "
                "the next start would remove all segments",
            )
        if state.recovery_point is not None and state.recovery_point > end_offset:
            self._damage(
                report.path, f"the recovery point {state.recovery_point} is above the log end offset {end_offset}"
            )
        if state.high_watermark is not None and state.high_watermark > end_offset:
            self._damage(
                report.path, f"the high watermark {state.high_watermark} is above the log end offset {end_offset}"
            )

    def _damage(self, path: Path, text: str) -> None:
        self._report.add(Kind.DAMAGE, path, text)


def _is_content(log: LogFile, position: int) -> bool:
    """Return whether the rest of a file contains anything but the zeros of preallocation."""
    while position < log.size:
        chunk = log.read(position, 1024 * 1024)
        if chunk.strip(b"\0"):
            return True
        position += len(chunk) or log.size
    return False


def _span(batch: StoredBatch) -> str:
    return f"a batch of {batch.base_offset} to {batch.last_offset}"
