"""Checks producer snapshots and transaction indexes against the batches.

A snapshot may contain producers whose batches were deleted from the log, and may lack expired ones; producers in both
must agree, unless compaction has removed the batch that the snapshot names. An aborted transaction that is completely
in the log must be in the transaction index of its marker's segment: otherwise read_committed consumers would receive
its records.

Source: KIP-98; log-format facts, producer snapshot, files in a log.
"""

from pathlib import Path
from typing import NamedTuple

from barnabas.core.errors import StorageError
from barnabas.inspection.findings import Kind, LogReport
from barnabas.inspection.index_files import TRANSACTION_ENTRY_BYTES, aborted_transactions, read_bytes
from barnabas.inspection.snapshot_file import SnapshotEntry, read_snapshot
from barnabas.inspection.stored_batch import StoredBatch, StoredRecord
from barnabas.wire.records.control import EndTransactionMarker, MarkerType


class _Producer(NamedTuple):
    epoch: int
    last_sequence: int
    last_offset: int


class _Aborted(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int


class ProducerCheck:
    """Checks the producers of one log's batches."""

    __slots__ = ("_aborted", "_is_compacted", "_open", "_producers", "_report", "_snapshots")

    def __init__(self, snapshots: list[tuple[int, Path]], report: LogReport, *, is_compacted: bool) -> None:
        self._is_compacted = is_compacted
        self._report = report
        self._snapshots = sorted(snapshots)
        self._producers: dict[int, _Producer] = {}
        self._open: dict[int, int] = {}
        self._aborted: list[_Aborted] = []

    @property
    def open_transactions(self) -> dict[int, int]:
        """First offset of each producer's open transaction, by producer id."""
        return self._open

    def note(self, batch: StoredBatch) -> None:
        """Check the snapshots that end at a batch, then the batch."""
        self._check_snapshots(batch.base_offset)
        header = batch.header
        if header is None or not header.has_producer_id or header.is_control:
            return
        self._producers[header.producer_id] = _Producer(header.producer_epoch, header.last_sequence, header.last_offset)
        if header.is_transactional:
            self._open.setdefault(header.producer_id, header.base_offset)

    def note_marker(self, batch: StoredBatch, record: StoredRecord, marker: EndTransactionMarker) -> None:
        """Check a marker."""
        header = batch.header
        assert header is not None
        first_offset = self._open.pop(header.producer_id, None)
        if first_offset is not None and marker.marker_type is MarkerType.ABORT:
            self._aborted.append(_Aborted(header.producer_id, first_offset, record.offset))
        before = self._producers.get(header.producer_id)
        if before is not None and header.producer_epoch > before.epoch:
            del self._producers[header.producer_id]

    def end_segment(self, path: Path, start_offset: int, end_offset: int) -> None:
        """Compare a segment's transaction index with its markers.

        Args:
            path: The `.txnindex`, which may be missing.
            start_offset, end_offset: Bounds of the segment; the end is exclusive.
        """
        data = b""
        if path.exists():
            data = read_bytes(path)
        if len(data) % TRANSACTION_ENTRY_BYTES:
            self._damage(
                path, f"size {len(data)} is invalid: must be a multiple of the entry size {TRANSACTION_ENTRY_BYTES}"
            )
        found = list(aborted_transactions(data))
        for entry in found:
            if not start_offset <= entry.last_offset < end_offset or entry.first_offset > entry.last_offset:
                self._damage(
                    path, f"an entry from {entry.first_offset} to {entry.last_offset} can't be in this segment"
                )
        known = {(entry.producer_id, entry.last_offset): entry.first_offset for entry in found}
        for aborted in self._aborted:
            first_offset = known.get((aborted.producer_id, aborted.last_offset))
            if first_offset is None or first_offset > aborted.first_offset:
                self._damage(
                    path,
                    f"the aborted transaction of producer {aborted.producer_id} from {aborted.first_offset} to "
                    f"{aborted.last_offset} is not in it",
                )
        self._aborted.clear()

    def finish(self, end_offset: int) -> None:
        """Check the snapshots up to the log end, and report those above it."""
        self._check_snapshots(end_offset)
        for offset, path in self._snapshots:
            self._report.add(
                Kind.RECOVERY,
                path,
                f"the next start would remove it: offset {offset} is above the log end offset {end_offset}",
            )
            self._read(path)

    def _check_snapshots(self, offset: int) -> None:
        while self._snapshots and self._snapshots[0][0] <= offset:
            snapshot_offset, path = self._snapshots.pop(0)
            for entry in self._read(path):
                self._check_entry(path, snapshot_offset, entry)

    def _read(self, path: Path) -> list[SnapshotEntry]:
        try:
            return list(read_snapshot(read_bytes(path), path))
        except StorageError as error:
            self._damage(path, str(error).removeprefix(f"{path}: "))
            self._report.add(Kind.RECOVERY, path, "the next start would remove it and use an older one, or the log")
            return []

    def _check_entry(self, path: Path, snapshot_offset: int, entry: SnapshotEntry) -> None:
        if entry.last_offset >= snapshot_offset:
            self._damage(
                path,
                f"producer {entry.producer_id} wrote up to {entry.last_offset}, which is above the snapshot's offset",
            )
            return
        seen = self._producers.get(entry.producer_id)
        said = _Producer(entry.producer_epoch, entry.last_sequence, entry.last_offset)
        if seen is not None and self._is_compacted and seen.last_offset < entry.last_offset:
            return
        if seen is not None and entry.last_offset >= 0 and seen != said:
            self._damage(
                path,
                f"producer {entry.producer_id}: (epoch, last sequence, last offset) is {tuple(seen)} in the log, but "
                f"{tuple(said)} in the snapshot",
            )

    def _damage(self, path: Path, text: str) -> None:
        self._report.add(Kind.DAMAGE, path, text)
