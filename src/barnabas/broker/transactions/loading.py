"""Reads the transactional ids of one partition of `__transaction_state`. Runs off the event loop.

Invariants: only the last record of a key counts; memory grows with the live contents of the partition; the result
consists of new objects that no other code uses yet.

Source: KIP-98; semantics, coordinator moves.
"""

import logging
from collections.abc import Callable, Iterable

from barnabas.broker.coordination.interfaces import StateLog
from barnabas.broker.coordination.ownership import LoadedPartition
from barnabas.broker.transactions.storage import decode_key, decode_value
from barnabas.broker.transactions.transaction import Transaction, TransactionState
from barnabas.core.errors import ProtocolError, StorageError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import iterate_any_records, read_any_header
from barnabas.wire.records.record import Record

log = logging.getLogger(__name__)


def read_transactions(
    batches: Iterable[memoryview], is_stopped: Callable[[], bool] = lambda: False
) -> LoadedPartition[Transaction]:
    """Read a whole partition.

    Args:
        batches: Its record batches, oldest first.
        is_stopped: Called before each batch; if it returns True, the result is incomplete and must not be used.
    """
    loaded: LoadedPartition[Transaction] = LoadedPartition()
    found: dict[str, Transaction] = {}
    for batch in batches:
        if is_stopped():
            break
        header = read_any_header(batch)
        if header.is_control:
            continue
        try:
            for record in iterate_any_records(batch):
                loaded.record_count += 1
                _read(found, record)
        except (CorruptRecordsError, ProtocolError) as error:
            # differs from Kafka (transaction-record-unreadable): unreadable batches are skipped; Kafka 2.7 stops
            # loading at the first one, and ignores the rest.
            loaded.skipped_count += 1
            log.warning("skipped the batch at offset %d of __transaction_state: %s", header.last_offset, error)
    loaded.items = list(found.values())
    return loaded


def coordinated_transactions(logs: Iterable[StateLog]) -> frozenset[tuple[int, TopicPartition]]:
    """Return producer id and partition of each unfinished transaction in `__transaction_state`. Blocks.

    Args:
        logs: The logs of its partitions; logs that can't be read are skipped.
    """
    found = []
    for log_of_state in logs:
        start_offset, end_offset = log_of_state.log_start_offset, log_of_state.log_end_offset
        try:
            loaded = read_transactions(log_of_state.batches(start_offset, end_offset))
        except (StorageError, CorruptRecordsError) as error:
            log.warning("cannot read a partition of __transaction_state: %s", error)
            continue
        for txn in loaded.items:
            if txn.state is TransactionState.ONGOING or txn.state.is_prepared:
                found += [(txn.producer_id, partition) for partition in txn.partitions]
    return frozenset(found)


def _read(found: dict[str, Transaction], record: Record) -> None:
    transactional_id = decode_key(record.key or b"")
    if transactional_id is None:
        raise ProtocolError("unknown key version")
    found.pop(transactional_id, None)
    if record.value is not None:
        transaction = decode_value(transactional_id, record.value)
        if transaction.state is not TransactionState.DEAD:
            found[transactional_id] = transaction
