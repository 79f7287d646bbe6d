"""The state of one transactional id in its coordinator.

    EMPTY ─► ONGOING ─► PREPARE_COMMIT ─► COMPLETE_COMMIT ─► ONGOING, EMPTY
                   └──► PREPARE_ABORT ──► COMPLETE_ABORT ──► ONGOING, EMPTY

Invariants: a state is entered when its record is in `__transaction_state`, not before; until then it is the pending
one, and nothing else begins. A prepared outcome is final, whichever broker coordinates it.

Source: KIP-98, KIP-360; semantics, transactions.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

LAST_EPOCH = 2**15 - 1
"""Never given to a producer: what it fences needs one more."""
# What is kept of an id, and of each partition, beside the id; a character may take four bytes.
_ID_BYTES, _PARTITION_BYTES, _CHARACTER_BYTES = 2_000, 200, 4


class TransactionState(IntEnum):
    """The state of a transaction; the numbers are those of the records.

    Kafka has one more in memory, the fencing of a producer before its transaction is aborted: here that is one step
    with the abort.
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
        """Return whether the outcome is decided, and not all markers are written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Return whether there is no unfinished transaction."""
        return self in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


class Transition(NamedTuple):
    """The next state of a transactional id, in force once it is in the log.

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
        producer_id, producer_epoch: The producer that may write; -1: none yet.
        last_producer_id, last_producer_epoch: The previous one, which may repeat a request without an answer; -1: none.
            They are not stored.
        timeout_ms: How long a transaction may take.
        partitions: The partitions that it wrote to.
        start_timestamp_ms: When it began; -1: none did.
        update_timestamp_ms: When it changed last.
        pending: The next state, not in the log yet.
        has_failed_fence: Whether its epoch was raised to fence a producer, and the abort could not be stored: nobody
            was told that epoch, so that it need not be raised again.
        partition: Of `__transaction_state`.
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
        """Its memory, an estimate."""
        return _ID_BYTES + _CHARACTER_BYTES * len(self.transactional_id) + _PARTITION_BYTES * len(self.partitions)

    @property
    def is_epoch_exhausted(self) -> bool:
        """Return whether no producer can get another epoch of this producer id."""
        return self.producer_epoch >= LAST_EPOCH - 1

    def become(self, transition: Transition) -> None:
        """Apply the state that is in the log now."""
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
