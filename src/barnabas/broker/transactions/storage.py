"""Encodes and decodes the records of `__transaction_state` in Kafka 2.7's format.

| part | prefix | fields |
| --- | --- | --- |
| key | int16 version 0 | transactional id |
| value | int16 version 0 | producer id, epoch, timeout, state, partitions (null when empty), last update, start |

A null value is a tombstone. All integers are big-endian. Batches are not compressed.

Source: TransactionLogKey, TransactionLogValue; KIP-98.
"""

from collections.abc import Iterable
from struct import Struct

from barnabas.broker.transactions.transaction import Transaction, TransactionState, Transition
from barnabas.core.errors import ProtocolError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.transaction_log_key import TransactionLogKey
from barnabas.wire.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from barnabas.wire.protocol.wire import Message, WireBuffer
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder

_KEY_VERSION = 0
_VALUE_VERSION = 0
_PREFIX = Struct(">h")

# The largest batch of tombstones: far below any reasonable max.message.bytes.
_TOMBSTONE_BATCH_BYTES = 256 * 1024


def encode_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id."""
    return _prefixed(_KEY_VERSION, TransactionLogKey(transactional_id))


def encode_value(transition: Transition) -> bytes:
    """Return the record value for the new state of a transactional id."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transition.partitions):
        by_topic.setdefault(topic, []).append(partition)
    value = TransactionLogValue(
        transition.producer_id,
        transition.producer_epoch,
        transition.timeout_ms,
        transition.state,
        None
        if transition.state is TransactionState.EMPTY
        else [PartitionsSchema(topic, partitions) for topic, partitions in by_topic.items()],
        transition.update_timestamp_ms,
        transition.start_timestamp_ms,
    )
    return _prefixed(_VALUE_VERSION, value)


def transition_batch(transactional_id: str, transition: Transition, now_ms: int) -> bytearray:
    """Return the batch that stores a transactional id's new state."""
    builder = BatchBuilder(Codec.NONE)
    builder.append(now_ms, encode_key(transactional_id), encode_value(transition))
    return builder.build()


def tombstone_batches(transactions: Iterable[Transaction], now_ms: int) -> list[tuple[list[Transaction], bytearray]]:
    """Return the batches with tombstones for transactional ids of a partition, and the transactions of each batch."""
    found = []
    some: list[Transaction] = []
    builder = BatchBuilder(Codec.NONE)
    for txn in transactions:
        some.append(txn)
        builder.append(now_ms, encode_key(txn.transactional_id), None)
        if builder.uncompressed_bytes > _TOMBSTONE_BATCH_BYTES:
            found.append((some, builder.build()))
            some, builder = [], BatchBuilder(Codec.NONE)
    if some:
        found.append((some, builder.build()))
    return found


def decode_key(key: bytes) -> str | None:
    """Return the transactional id of a record's key; None for an unknown version.

    Raises:
        ProtocolError: The key is malformed.
    """
    if _read_prefix(key) != _KEY_VERSION:
        return None
    decoded, _ = TransactionLogKey.decode(_KEY_VERSION, memoryview(key), _PREFIX.size)
    return decoded.transactional_id


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """Decode a record's value into a transaction.

    Raises:
        ProtocolError: The value is malformed, or has an unknown version.
    """
    decoded, _ = TransactionLogValue.decode(_read_prefix(value), memoryview(value), _PREFIX.size)
    try:
        state = TransactionState(decoded.transaction_status)
    except ValueError:
        raise ProtocolError(f"unknown transaction state {decoded.transaction_status}") from None
    partitions = frozenset(
        TopicPartition(part.topic, partition)
        for part in decoded.transaction_partitions or ()
        for partition in part.partition_ids
    )
    return Transaction(
        transactional_id,
        decoded.producer_id,
        decoded.producer_epoch,
        timeout_ms=decoded.transaction_timeout_ms,
        state=state,
        partitions=partitions,
        start_timestamp_ms=decoded.transaction_start_timestamp_ms,
        update_timestamp_ms=decoded.transaction_last_update_timestamp_ms,
    )


def _prefixed(version: int, message: Message) -> bytes:
    out = WireBuffer(_PREFIX.pack(version))
    message.encode(version, out)
    return bytes(out)


def _read_prefix(data: bytes) -> int:
    if len(data) < _PREFIX.size:
        raise ProtocolError("a record of __transaction_state is too short for its version")
    (prefix,) = _PREFIX.unpack_from(data)
    return int(prefix)
