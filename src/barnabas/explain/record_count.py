"""Counts the records after a group's committed offset, in the batches read from there. Pure."""

from barnabas.explain.snapshot import UnreadRecords
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.control import MarkerType, read_marker
from barnabas.wire.records.record import Record, iterate_records


class RecordCount:
    """Counts readable records from an offset on, without markers and aborted records.

    A transaction's records count once its commit marker is read. If the transaction began before the offset, only its
    records after the offset are read, and its marker applies to them in the same way.
    """

    def __init__(self, from_offset: int) -> None:
        self._from_offset = from_offset
        self._count = 0
        self._first_ms: int | None = None
        # By producer id, the records of the open transaction: their number, and the timestamp of the first one.
        self._undecided: dict[int, tuple[int, int]] = {}

    def add(self, header: BatchHeader, batch: memoryview) -> None:
        """Count the records of the next batch.

        Raises:
            CorruptRecordsError: The batch is invalid.
        """
        if header.is_control:
            marker = read_marker(next(iter(iterate_records(batch))))
            count, first_ms = self._undecided.pop(header.producer_id, (0, 0))
            if count and marker is not None and marker.marker_type is MarkerType.COMMIT:
                self._found(count, first_ms)
            return
        count, first_ms = self._of_batch(header, batch)
        if not header.is_transactional:
            self._found(count, first_ms)
            return
        before = self._undecided.get(header.producer_id)
        if count:
            self._undecided[header.producer_id] = (
                count + (before[0] if before else 0),
                before[1] if before else first_ms,
            )

    def _of_batch(self, header: BatchHeader, batch: memoryview) -> tuple[int, int]:
        if header.base_offset >= self._from_offset:
            is_of_broker = header.is_log_append_time
            return header.record_count, header.max_timestamp_ms if is_of_broker else header.base_timestamp_ms
        left: list[Record] = [each for each in iterate_records(batch) if each.offset >= self._from_offset]
        return len(left), left[0].timestamp_ms if left else -1

    def _found(self, count: int, first_ms: int) -> None:
        self._count += count
        if count and first_ms >= 0:
            self._first_ms = first_ms if self._first_ms is None else min(self._first_ms, first_ms)

    def unread(self, *, is_whole: bool) -> UnreadRecords:
        """Return the count, which includes transactions whose marker was not read."""
        for count, first_ms in self._undecided.values():
            self._found(count, first_ms)
        self._undecided.clear()
        return UnreadRecords(self._first_ms, self._count, is_whole)
