"""What each idempotent producer last wrote to one partition: finds duplicates and gaps.

Invariants:
    - the last five batches of a producer are remembered; only the last one survives a restart;
    - `check` changes nothing; `update` is called once the batch is in the log, and for every batch that is replayed.

Source: KIP-98, KIP-185; semantics facts, Produce, idempotence.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_OFFSET, NO_SEQUENCE
from barnabas.records.batch import BatchHeader

REMEMBERED_BATCHES = 5

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
        epoch: Newest seen; -1 unknown.
        batches: The newest, oldest first; empty when only markers were seen.
        last_timestamp_ms: Of the last batch or marker.
        coordinator_epoch: Of the last marker; -1 none.
        transaction_first_offset: Where its open transaction begins; -1 none.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp_ms", "transaction_first_offset")

    def __init__(
        self,
        epoch: int = NO_EPOCH,
        batches: list[ProducerBatch] | None = None,
        last_timestamp_ms: int = -1,
        coordinator_epoch: int = NO_EPOCH,
        transaction_first_offset: int = NO_OFFSET,
    ) -> None:
        self.epoch = epoch
        self.batches: list[ProducerBatch] = [] if batches is None else batches
        self.last_timestamp_ms = last_timestamp_ms
        self.coordinator_epoch = coordinator_epoch
        self.transaction_first_offset = transaction_first_offset

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerState:
    """All producers of one partition."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[int, ProducerEntry]]:
        """Producer ids with their entries."""
        return iter(self._entries.items())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def put(self, producer_id: int, entry: ProducerEntry) -> None:
        """Set a producer, as a snapshot says."""
        self._entries[producer_id] = entry

    def find_duplicate(self, header: BatchHeader) -> ProducerBatch | None:
        """The remembered batch that this one repeats."""
        entry = self._entries.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        first_sequence, last_sequence = header.base_sequence, header.last_sequence
        for batch in entry.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def check(self, header: BatchHeader) -> tuple[ErrorCode, str] | None:
        """Why a data batch of a producer must be refused; None when it follows what was written."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None
        if header.producer_epoch < entry.epoch:
            return (
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {entry.epoch}, the batch {header.producer_epoch}",
            )
        if header.producer_epoch != entry.epoch:
            # An entry without an epoch says nothing about sequences.
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

    def update(self, header: BatchHeader, base_offset: int, timestamp_ms: int) -> None:
        """Note a data batch that is in the log at `base_offset`."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry()
        if entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches = []
        delta = header.last_offset_delta
        batches = entry.batches
        batches.append(
            ProducerBatch(header.base_sequence, header.last_sequence, base_offset + delta, delta, timestamp_ms)
        )
        if len(batches) > REMEMBERED_BATCHES:
            del batches[0]
        entry.last_timestamp_ms = timestamp_ms
        if header.is_transactional and entry.transaction_first_offset == NO_OFFSET:
            entry.transaction_first_offset = base_offset

    def end_transaction(self, header: BatchHeader, coordinator_epoch: int) -> None:
        """Note a marker that ends a producer's transaction."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry()
        if entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches = []
        entry.transaction_first_offset = NO_OFFSET
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp_ms = header.max_timestamp_ms

    def remove_expired(self, oldest_ms: int) -> None:
        """Forget the producers that wrote nothing since `oldest_ms` and have no open transaction."""
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if entry.last_timestamp_ms < oldest_ms and entry.transaction_first_offset == NO_OFFSET
        ]
        for producer_id in expired:
            del self._entries[producer_id]

    def clear(self) -> None:
        """Forget all producers."""
        self._entries.clear()


def _follows(last_sequence: int, sequence: int) -> bool:
    return sequence == last_sequence + 1 or (sequence == 0 and last_sequence == _LARGEST_SEQUENCE)
