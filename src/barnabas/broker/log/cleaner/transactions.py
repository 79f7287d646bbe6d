"""Decides which batches of aborted transactions, and which markers, the cleaner may remove. Pure.

Invariants: batches are passed in the order of their offsets; a marker is retained as long as a batch of its
transaction is retained; an aborted transaction whose marker is retained stays in the transaction index.

Source: KIP-98; log-format facts, cleaner.
"""

from collections.abc import Iterable

from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.control import EndTransactionMarker, MarkerType


class CleanedTransactions:
    """The state of transactions during a walk over a log.

    Attributes:
        retained: Aborted transactions whose marker was passed and must be retained; the caller writes them to the
            index and clears the list.
    """

    __slots__ = ("_coming", "_ongoing_aborted", "_ongoing_committed", "retained")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Args:
        aborted: The log's aborted transactions.
        """
        # The next transaction to begin is the last entry.
        self._coming = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
        # By producer id: the transaction, and whether a batch of it was passed.
        self._ongoing_aborted: dict[int, tuple[AbortedTransaction, bool]] = {}
        self._ongoing_committed: set[int] = set()
        self.retained: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Note a data batch; return whether its transaction was aborted, so that none of its records is needed."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        ongoing = self._ongoing_aborted.get(header.producer_id)
        if ongoing is None:
            self._ongoing_committed.add(header.producer_id)
            return False
        self._ongoing_aborted[header.producer_id] = (ongoing[0], True)
        return True

    def may_drop_marker(self, header: BatchHeader, marker: EndTransactionMarker | None) -> bool:
        """Note a control batch; return whether the log contains no more batches of its transaction.

        Args:
            header: The batch's header.
            marker: The batch's marker; None if an earlier round emptied the batch.
        """
        self._begin_up_to(header.last_offset)
        if marker is None:
            return True
        if marker.marker_type is MarkerType.ABORT:
            ongoing = self._ongoing_aborted.pop(header.producer_id, None)
            if ongoing is None or not ongoing[1]:
                return True
            self.retained.append(ongoing[0])
            return False
        if header.producer_id in self._ongoing_committed:
            self._ongoing_committed.discard(header.producer_id)
            return False
        return True

    def _begin_up_to(self, offset: int) -> None:
        coming = self._coming
        while coming and coming[-1].first_offset <= offset:
            entry = coming.pop()
            self._ongoing_aborted.setdefault(entry.producer_id, (entry, False))
