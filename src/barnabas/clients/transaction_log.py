"""Transaction states in `__transaction_state`: one record per change; the newest record of an id counts.

    key    int16 type 0 | transactional id
    value  int16 version 0 | producer id, epoch, timeout, state, partitions, times; no value: the id is forgotten

Source: KIP-98; TransactionLogKey, TransactionLogValue.
"""

from collections.abc import Iterable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from barnabas.core.errors import ProtocolError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.transaction_log_key import TransactionLogKey
from barnabas.wire.protocol.messages.transaction_log_value import TransactionLogValue
from barnabas.wire.records.record import Record

_PREFIX = Struct(">h")
_KEY_TYPE = TransactionLogKey.API_KEY
_KEY_VERSION = 0


class TransactionStatus(IntEnum):
    """The status of a transaction; the codes of the log, and Kafka's names."""

    Empty = 0
    Ongoing = 1
    PrepareCommit = 2
    PrepareAbort = 3
    CompleteCommit = 4
    CompleteAbort = 5
    Dead = 6
    PrepareEpochFence = 7

    @property
    def is_open(self) -> bool:
        """Return whether the coordinator will still end the transaction."""
        return self in (self.Ongoing, self.PrepareCommit, self.PrepareAbort, self.PrepareEpochFence)

    @property
    def is_decided(self) -> bool:
        """Return whether the outcome is decided and only markers are missing; the timeout no longer applies."""
        return self in (self.PrepareCommit, self.PrepareAbort)


class TransactionState(NamedTuple):
    """The last logged state of a transactional id.

    Attributes:
        log_partition: Its partition of `__transaction_state`; that partition's leader is the coordinator.
        partitions: The partitions in the transaction; empty after its end.
        started_ms: When the transaction began; -1: the id has had no transaction.
    """

    transactional_id: str
    log_partition: int
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    status: TransactionStatus
    partitions: list[TopicPartition]
    updated_ms: int
    started_ms: int


def replay(records: Iterable[Record], log_partition: int, states: dict[str, TransactionState]) -> None:
    """Apply records of the log, in their order.

    Raises:
        ProtocolError: A record does not belong to a transaction log.
    """
    for record in records:
        transactional_id = _transactional_id(record)
        if transactional_id is None:
            continue
        if record.value is None:
            states.pop(transactional_id, None)
        else:
            states[transactional_id] = _state(transactional_id, log_partition, record.value)


def _transactional_id(record: Record) -> str | None:
    """Return the transactional id of a record; None: its type is unknown."""
    key = record.key or b""
    if len(key) < _PREFIX.size:
        raise ProtocolError(f"the key of record {record.offset} of a transaction log has {len(key)} bytes")
    if _PREFIX.unpack_from(key)[0] != _KEY_TYPE:
        return None
    return TransactionLogKey.decode(_KEY_VERSION, memoryview(key), _PREFIX.size)[0].transactional_id


def _state(transactional_id: str, log_partition: int, value: bytes) -> TransactionState:
    if len(value) < _PREFIX.size:
        raise ProtocolError(f"transactional id {transactional_id}: a value of {len(value)} bytes")
    (version,) = _PREFIX.unpack_from(value)
    decoded, _ = TransactionLogValue.decode(version, memoryview(value), _PREFIX.size)
    try:
        status = TransactionStatus(decoded.transaction_status)
    except ValueError:
        raise ProtocolError(f"transactional id {transactional_id}: state {decoded.transaction_status}") from None
    return TransactionState(
        transactional_id,
        log_partition,
        decoded.producer_id,
        decoded.producer_epoch,
        decoded.transaction_timeout_ms,
        status,
        sorted(
            TopicPartition(part.topic, index)
            for part in decoded.transaction_partitions or []
            for index in part.partition_ids
        ),
        decoded.transaction_last_update_timestamp_ms,
        decoded.transaction_start_timestamp_ms,
    )
