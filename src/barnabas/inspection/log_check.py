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
from barnabas.inspection.index_files import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES
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
    """

    was_clean: bool = False
    is_in_use: bool = False
    recovery_point: int | None = None
    log_start_offset: int | None = None
    high_watermark: int | None = None


@dataclass(slots=True)
class _ValidEnd:
    """The end of the valid part of a log."""

    segment: int
    position: int
    offset: int
    lost_bytes: int
    reason: str


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
        self._epochs = EpochCheck(path / EPOCHS_FILE, self._report)
        snapshots = [(offset, self._listing.file(offset, SNAPSHOT_SUFFIX)) for offset in self._listing.snapshots]
        self._producers = ProducerCheck(snapshots, self._report)
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
                valid_end = self._check_segment(index, base_offset)
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
        end_position, reason, is_incomplete = 0, "an incomplete batch", True
        start_offset = self._next_offset = max(self._next_offset, base_offset)
        with LogFile(listing.file(base_offset, LOG_SUFFIX)) as log:
            report.size_bytes += log.size
            try:
                for batch in log.batches():
                    wrong = self._what_is_wrong(batch, base_offset, following)
                    if wrong is not None:
                        reason, is_incomplete = wrong, False
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
            if (is_incomplete and self._is_being_written(index)) or not self._is_content(log, end_position):
                return None
            return _ValidEnd(index, end_position, self._next_offset, log.size - end_position, reason)

    def _is_being_written(self, index: int) -> bool:
        is_last = index + 1 == len(self._listing.segments)
        return self._state.is_in_use and is_last

    def _is_content(self, log: LogFile, position: int) -> bool:
        """Return whether the rest of a file contains anything but the zeros of preallocation."""
        place = position
        while place < log.size:
            chunk = log.read(place, 1024 * 1024)
            if chunk.strip(b"\0"):
                return True
            place += len(chunk) or log.size
        self._report.add(
            Kind.RECOVERY,
            log.path,
            f"{log.size - position} zeros at its end (preallocate=true): recovery would truncate them",
        )
        return False

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
        if valid_end.segment >= self._first_recovered():
            text = (
                f"recovery would truncate it there: {valid_end.lost_bytes} bytes, from offset {valid_end.offset} on, "
                "would be lost"
            )
            if later:
                text += f", and {len(later)} later segments (offsets from {later[0]} on)"
            self._report.add(Kind.RECOVERY, path, text)
        else:
            why = "the last stop was clean" if self._state.was_clean else "it is below the recovery point"
            self._report.add(
                Kind.RECOVERY, path, f"the next start would not check it: {why}; consumers would hit the damage"
            )
            if later:
                self._report.add(Kind.NOTE, path, f"{len(later)} later segments were not checked")

    def _first_recovered(self) -> int:
        """Return the index of the first segment that the next start reads whole."""
        segments = self._listing.segments
        if self._state.was_clean:
            return len(segments)
        recovery_point = self._state.recovery_point or 0
        return max(sum(1 for base_offset in segments if base_offset <= recovery_point) - 1, 0)

    def _report_recovery(self) -> None:
        listing = self._listing
        first = self._first_recovered()
        for base_offset in listing.segments[:first]:
            index = listing.file(base_offset, OFFSET_INDEX_SUFFIX)
            times = listing.file(base_offset, TIME_INDEX_SUFFIX)
            if not listing.has(index):
                self._report.add(Kind.RECOVERY, index, "is missing: the next start would rebuild it from the log")
            elif listing.sizes[index.name] % OFFSET_ENTRY_BYTES or (
                listing.sizes.get(times.name, 0) % TIME_ENTRY_BYTES
            ):
                self._report.add(Kind.RECOVERY, index, "the next start would rebuild the segment's indexes")
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


def _span(batch: StoredBatch) -> str:
    return f"a batch of {batch.base_offset} to {batch.last_offset}"
