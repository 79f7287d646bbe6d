"""State of the producers of one partition, to detect duplicates, sequence gaps and open transactions.

Invariants:
    - the last five batches of a producer are remembered; only the last one survives a restart;
    - `check` and `check_own` change nothing; `update` and `end_transaction` are called once the batch is in the log,
      and for every batch that is replayed;
    - at most `MOST_PRODUCERS` producers without open transactions are remembered. Those with the lowest last offsets
      (of data or markers) are evicted; timestamps do not matter, because clients choose them. An evicted producer may
      continue like an expired one; only its duplicates are not detected;
    - a transaction is unstable from its first offset on until its marker is below the high watermark.

Source: KIP-98, KIP-185; semantics facts, Produce, idempotence; Fetch, last stable offset.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_OFFSET, NO_SEQUENCE
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.control import EndTransactionMarker, MarkerType

REMEMBERED_BATCHES = 5
# differs from Kafka (producers-of-a-partition): in Kafka, memory is the only limit.
MOST_PRODUCERS = 20_000
"""Limit for one partition: about 30 MB."""
# Number of producers evicted at once.
_FORGOTTEN_AT_ONCE = MOST_PRODUCERS // 8
NEVER_OFFSET = 2**63 - 1
"""Above all offsets: no transaction is unstable."""

_LARGEST_SEQUENCE = 2**31 - 1


class ProducerBatch(NamedTuple):
    """A batch that a producer wrote."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """One producer.

    Attributes:
        epoch: The newest known epoch; -1 if unknown.
        batches: The newest batches, oldest first; empty if only markers are known.
        last_timestamp_ms: Timestamp of the last batch or marker.
        coordinator_epoch: Coordinator epoch of the last marker; -1 if none.
        transaction_first_offset: First offset of its open transaction; -1 if none.
        last_offset: Last offset of its last batch or marker; -1 if unknown: snapshots do not contain that of a marker.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_offset",
        "last_timestamp_ms",
        "transaction_first_offset",
    )

    def __init__(
        self,
        epoch: int = NO_EPOCH,
        batches: list[ProducerBatch] | None = None,
        last_timestamp_ms: int = -1,
        coordinator_epoch: int = NO_EPOCH,
        transaction_first_offset: int = NO_OFFSET,
        last_offset: int = NO_OFFSET,
    ) -> None:
        self.epoch = epoch
        self.batches: list[ProducerBatch] = [] if batches is None else batches
        self.last_timestamp_ms = last_timestamp_ms
        self.coordinator_epoch = coordinator_epoch
        self.transaction_first_offset = transaction_first_offset
        self.last_offset = last_offset

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerState:
    """All producers of one partition.

    Attributes:
        first_unstable_offset: Start of the earliest transaction that is open, or whose marker is not below the high
            watermark; `NEVER_OFFSET` if there is none.
    """

    __slots__ = ("_entries", "_open", "_unreplicated", "first_unstable_offset")

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        # First offset of each open transaction, ascending, with its producer id.
        self._open: dict[int, int] = {}
        # First and last offset of the transactions that ended and are not known to be replicated, both ascending.
        # Without those that began after one that ended later: they never decide.
        self._unreplicated: deque[tuple[int, int]] = deque()
        self.first_unstable_offset = NEVER_OFFSET

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[int, ProducerEntry]]:
        """Iterate over producer ids with their entries."""
        return iter(self._entries.items())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def open_transactions(self) -> Iterator[tuple[int, int]]:
        """Iterate over producer id and first offset of each open transaction, by offset."""
        return ((producer_id, first_offset) for first_offset, producer_id in self._open.items())

    def put_all(self, entries: Mapping[int, ProducerEntry]) -> None:
        """Set the state of the producers from a snapshot; there must be none before."""
        self._entries.update(entries)
        first_offsets = ((entry.transaction_first_offset, producer_id) for producer_id, entry in entries.items())
        self._open = dict(sorted(each for each in first_offsets if each[0] != NO_OFFSET))
        self._find_first_unstable()

    def find_duplicate(self, header: BatchHeader) -> ProducerBatch | None:
        """Return the remembered batch that this one repeats."""
        entry = self._entries.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        first_sequence, last_sequence = header.base_sequence, header.last_sequence
        for batch in entry.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def check(self, header: BatchHeader) -> tuple[ErrorCode, str] | None:
        """Return the error of a data batch that does not follow the producer's last batch; None if it follows."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None
        if header.producer_epoch < entry.epoch:
            return (
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {entry.epoch}, the batch {header.producer_epoch}",
            )
        if header.producer_epoch != entry.epoch:
            # Without a known epoch, the expected sequence is unknown.
            if header.base_sequence != 0 and entry.epoch != NO_EPOCH:
                return (
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"sequence {header.base_sequence} begins epoch {header.producer_epoch} of producer "
                    f"{header.producer_id}",
                )
        elif not _follows(entry.last_sequence, header.base_sequence):
            return (
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"sequence {header.base_sequence} of producer {header.producer_id} after {entry.last_sequence}",
            )
        if entry.transaction_first_offset != NO_OFFSET and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE, f"producer {header.producer_id} has an open transaction"
        return None

    def check_own(self, header: BatchHeader, marker: EndTransactionMarker | None) -> tuple[ErrorCode, str] | None:
        """Return the error of a coordinator's batch for a producer (a marker, or data without a sequence), if any."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None
        if header.producer_epoch < entry.epoch:
            return (
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {entry.epoch}, the batch {header.producer_epoch}",
            )
        if marker is not None and marker.coordinator_epoch < entry.coordinator_epoch:
            return (
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} after {entry.coordinator_epoch}",
            )
        if marker is None and entry.transaction_first_offset != NO_OFFSET and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE, f"producer {header.producer_id} has an open transaction"
        return None

    def update(self, header: BatchHeader, base_offset: int, timestamp_ms: int) -> None:
        """Note a data batch that is in the log at `base_offset`."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._add(header.producer_id)
        if entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches = []
        delta = header.last_offset_delta
        entry.last_offset = last_offset = base_offset + delta
        batches = entry.batches
        batches.append(ProducerBatch(header.base_sequence, header.last_sequence, last_offset, delta, timestamp_ms))
        if len(batches) > REMEMBERED_BATCHES:
            del batches[0]
        entry.last_timestamp_ms = timestamp_ms
        if header.is_transactional and entry.transaction_first_offset == NO_OFFSET:
            entry.transaction_first_offset = base_offset
            self._open[base_offset] = header.producer_id
            self._find_first_unstable()

    def _add(self, producer_id: int) -> ProducerEntry:
        if len(self._entries) - len(self._open) >= MOST_PRODUCERS:
            idle = {
                known: entry.last_offset
                for known, entry in self._entries.items()
                if entry.transaction_first_offset == NO_OFFSET
            }
            end_offset = sorted(idle.values())[_FORGOTTEN_AT_ONCE]
            for known, last_offset in idle.items():
                if last_offset < end_offset or last_offset == NO_OFFSET:
                    del self._entries[known]
        entry = self._entries[producer_id] = ProducerEntry()
        return entry

    def end_transaction(
        self, header: BatchHeader, base_offset: int, marker: EndTransactionMarker
    ) -> AbortedTransaction | None:
        """Note a marker that is in the log at `base_offset`: it ends the producer's transaction.

        Returns:
            The entry for the segment's transaction index; None if nothing was aborted.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._add(header.producer_id)
        if entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches = []
        first_offset = entry.transaction_first_offset
        entry.transaction_first_offset = NO_OFFSET
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_offset = base_offset
        entry.last_timestamp_ms = header.max_timestamp_ms
        if first_offset == NO_OFFSET:
            return None
        self._open.pop(first_offset, None)
        while self._unreplicated and self._unreplicated[-1][0] > first_offset:
            self._unreplicated.pop()
        self._unreplicated.append((first_offset, base_offset))
        self._find_first_unstable()
        if marker.marker_type is MarkerType.COMMIT:
            return None
        return AbortedTransaction(
            header.producer_id, first_offset, base_offset, next(iter(self._open), base_offset + 1)
        )

    def note_replicated(self, end_offset: int) -> None:
        """Note that transactions with markers below `end_offset` (high watermark or log start) are stable."""
        if self._unreplicated:
            while self._unreplicated and self._unreplicated[0][1] < end_offset:
                self._unreplicated.popleft()
            self._find_first_unstable()

    def _find_first_unstable(self) -> None:
        first_unreplicated = self._unreplicated[0][0] if self._unreplicated else NEVER_OFFSET
        self.first_unstable_offset = min(next(iter(self._open), NEVER_OFFSET), first_unreplicated)

    def remove_expired(self, oldest_ms: int) -> None:
        """Remove the producers that wrote nothing after `oldest_ms` and have no open transaction."""
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if entry.last_timestamp_ms <= oldest_ms and entry.transaction_first_offset == NO_OFFSET
        ]
        for producer_id in expired:
            del self._entries[producer_id]


def _follows(last_sequence: int, sequence: int) -> bool:
    return sequence == last_sequence + 1 or (sequence == 0 and last_sequence == _LARGEST_SEQUENCE)
