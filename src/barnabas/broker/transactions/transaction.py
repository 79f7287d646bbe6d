"""The state of one transactional id in its coordinator.

    EMPTY ─► ONGOING ─► PREPARE_COMMIT ─► COMPLETE_COMMIT ─► ONGOING, EMPTY
                   └──► PREPARE_ABORT ──► COMPLETE_ABORT ──► ONGOING, EMPTY

Invariants: a state is entered only when its record is in `__transaction_state`; until then it is the pending state, and
no other change begins. A prepared outcome is final, even if another broker becomes coordinator.

Source: KIP-98, KIP-360; semantics, transactions.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

LAST_EPOCH = 2**15 - 1
"""Never assigned to a producer, because fencing a producer needs one more epoch."""
# Memory of an id without its name, and of each of its partitions; a character of the name may take four bytes.
_ID_BYTES, _PARTITION_BYTES, _CHARACTER_BYTES = 2_000, 200, 4


class TransactionState(IntEnum):
    """The state of a transaction, with its number in the records.

    Kafka has one more state, only in memory: the fencing of a producer before its transaction is aborted. Here, fencing
    and abort are one step.
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6

    @property
    def is_prepared(self) -> bool:
        """Return whether the outcome is decided, but not all markers are written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Return whether the id has no unfinished transaction."""
        return self in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


class Transition(NamedTuple):
    """The next state of a transactional id, which applies once it is in the log.

    Attributes: see `Transaction`.
    """

    state: TransactionState
    producer_id: int
    producer_epoch: int
    last_producer_id: int
    last_producer_epoch: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    start_timestamp_ms: int
    update_timestamp_ms: int


@dataclass(slots=True, eq=False)
class Transaction:
    """One transactional id.

    Attributes:
        producer_id, producer_epoch: The producer that may write; -1 if none.
        last_producer_id, last_producer_epoch: The previous producer, which may repeat a request if it got no answer; -1
            if none. Not stored in the log.
        timeout_ms: The transaction timeout.
        partitions: The partitions in the transaction.
        start_timestamp_ms: When the transaction began; -1 if none.
        update_timestamp_ms: When the state last changed.
        pending: The next state, not in the log yet.
        has_failed_fence: Whether its epoch was raised to fence a producer, but the abort could not be stored. No
            producer got that epoch, so it need not be raised again.
        partition: Its partition of `__transaction_state`.
        counted_bytes: The memory that the coordinator has counted for it.
    """

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    last_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_EPOCH
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = field(default_factory=frozenset)
    start_timestamp_ms: int = NO_TIMESTAMP
    update_timestamp_ms: int = NO_TIMESTAMP
    pending: Transition | None = None
    has_failed_fence: bool = False
    partition: int = -1
    counted_bytes: int = 0

    @property
    def kept_bytes(self) -> int:
        """Its estimated memory."""
        return _ID_BYTES + _CHARACTER_BYTES * len(self.transactional_id) + _PARTITION_BYTES * len(self.partitions)

    @property
    def is_epoch_exhausted(self) -> bool:
        """Return whether this producer id has no more epochs for producers."""
        return self.producer_epoch >= LAST_EPOCH - 1

    def become(self, transition: Transition) -> None:
        """Apply a state that is now in the log."""
        self.state = transition.state
        self.producer_id = transition.producer_id
        self.producer_epoch = transition.producer_epoch
        self.last_producer_id = transition.last_producer_id
        self.last_producer_epoch = transition.last_producer_epoch
        self.timeout_ms = transition.timeout_ms
        self.partitions = transition.partitions
        self.start_timestamp_ms = transition.start_timestamp_ms
        self.update_timestamp_ms = transition.update_timestamp_ms
        self.pending = None
