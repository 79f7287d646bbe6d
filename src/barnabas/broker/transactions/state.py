"""The transaction state machine: applies one event to one transactional id. Pure.

Invariants: an event changes a transaction only through a new state that is in the log, except for the epoch that fences
a producer; while a state is pending, each request of the producer is answered with CONCURRENT_TRANSACTIONS; a prepared
outcome is never reversed.

Source: KIP-98, KIP-360; semantics, transactions.
"""

from typing import assert_never

from barnabas.broker.diagnostics.transactions import Abort, AbortReason
from barnabas.broker.transactions.events import (
    AddPartitions,
    Answer,
    Append,
    Appended,
    AppendFailed,
    AppendTombstone,
    Effect,
    End,
    Event,
    Expire,
    Forget,
    Initialize,
    Loaded,
    MarkersWritten,
    NeedProducerId,
    SendMarkers,
    TimeOut,
)
from barnabas.broker.transactions.transaction import LAST_EPOCH, Transaction, TransactionState, Transition
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_TIMESTAMP, TopicPartition

_FIRST_EPOCH = 0
_NOTHING: frozenset[TopicPartition] = frozenset()
_RETRY_MS = 100


def step(txn: Transaction, event: Event, now_ms: int) -> list[Effect]:
    """Apply an event, and return the effects.

    Args:
        txn: The transaction; changed in place.
        event: The event.
        now_ms: The wall clock time.

    Returns:
        The effects, in order.
    """
    match event:
        case AddPartitions():
            return _add_partitions(txn, event, now_ms)
        case End():
            return _end(txn, event, now_ms)
        case Appended():
            return _on_appended(txn, now_ms)
        case MarkersWritten():
            return _append_pending(txn)
        case Initialize():
            return _initialize(txn, event, now_ms)
        case AppendFailed():
            return _on_append_failed(txn, event)
        case TimeOut():
            return _time_out(txn, now_ms)
        case Expire():
            return _expire(txn, event, now_ms)
        case Loaded():
            return _send_markers(txn, now_ms) if txn.state.is_prepared else []
        case _:
            assert_never(event)


def _initialize(txn: Transaction, event: Initialize, now_ms: int) -> list[Effect]:
    expected = event.expected
    if txn.pending is not None:
        return [Answer(ErrorCode.CONCURRENT_TRANSACTIONS)]
    if expected is not None and not _may_continue(txn, *expected):
        return [Answer(ErrorCode.PRODUCER_FENCED)]
    if txn.state.is_prepared:
        return [Answer(ErrorCode.CONCURRENT_TRANSACTIONS)]
    if txn.state is TransactionState.ONGOING:
        # Fences the producer that began the transaction; the requester retries until the abort is complete.
        abort = Abort(AbortReason.NEWER_PRODUCER, event.client_id, event.client_host)
        return _abort_and_fence(txn, Answer(ErrorCode.CONCURRENT_TRANSACTIONS), abort, now_ms)
    expected_epoch = None if expected is None else expected[1]
    if txn.is_epoch_exhausted and expected_epoch in (None, txn.producer_epoch):
        if event.new_producer_id is None:
            return [NeedProducerId()]
        last_epoch = NO_EPOCH if expected is None else txn.producer_epoch
        return _give(txn, event, event.new_producer_id, _FIRST_EPOCH, last_epoch, now_ms)
    if expected_epoch is None:
        return _give(txn, event, txn.producer_id, txn.producer_epoch + 1, NO_EPOCH, now_ms)
    if expected_epoch == txn.producer_epoch or txn.producer_epoch == NO_EPOCH:
        return _give(txn, event, txn.producer_id, txn.producer_epoch + 1, txn.producer_epoch, now_ms)
    if expected_epoch == txn.last_producer_epoch:
        # A repeated request whose answer was lost: no other producer can have used the id since.
        # differs from Kafka (last-epoch-asked-again): Kafka returns UNKNOWN_SERVER_ERROR if that was the last epoch.
        return _give(txn, event, txn.producer_id, txn.producer_epoch, txn.last_producer_epoch, now_ms)
    return [Answer(ErrorCode.PRODUCER_FENCED)]


def _may_continue(txn: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """Return whether a producer may be the known one; the caller checks its epoch."""
    return (
        txn.producer_epoch == NO_EPOCH
        or producer_id == txn.producer_id
        or (producer_id == txn.last_producer_id and producer_epoch >= LAST_EPOCH - 1)
    )


def _give(
    txn: Transaction, event: Initialize, producer_id: int, producer_epoch: int, last_producer_epoch: int, now_ms: int
) -> list[Effect]:
    """Assign a producer id and epoch to a transactional id."""
    txn.pending = Transition(
        TransactionState.EMPTY,
        producer_id,
        producer_epoch,
        txn.producer_id,
        last_producer_epoch,
        event.timeout_ms,
        _NOTHING,
        NO_TIMESTAMP,
        now_ms,
    )
    return [Append(txn.pending, Answer(ErrorCode.NONE, producer_id, producer_epoch))]


def _add_partitions(txn: Transaction, event: AddPartitions, now_ms: int) -> list[Effect]:
    if txn.producer_id != event.producer_id:
        return [Answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)]
    if txn.producer_epoch != event.producer_epoch:
        return [Answer(ErrorCode.PRODUCER_FENCED)]
    if txn.pending is not None or txn.state.is_prepared:
        return [Answer(ErrorCode.CONCURRENT_TRANSACTIONS)]
    is_ongoing = txn.state is TransactionState.ONGOING
    if is_ongoing and event.partitions <= txn.partitions:
        return [Answer(ErrorCode.NONE)]
    txn.pending = _transition(
        txn,
        TransactionState.ONGOING,
        txn.partitions | event.partitions,
        txn.start_timestamp_ms if is_ongoing else now_ms,
        now_ms,
    )
    return [Append(txn.pending, Answer(ErrorCode.NONE))]


def _end(txn: Transaction, event: End, now_ms: int) -> list[Effect]:
    if txn.producer_id != event.producer_id:
        return [Answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)]
    if txn.producer_epoch != event.producer_epoch:
        return [Answer(ErrorCode.PRODUCER_FENCED)]
    if txn.pending is not None:
        return [Answer(ErrorCode.CONCURRENT_TRANSACTIONS)]
    match txn.state:
        case TransactionState.ONGOING:
            return _prepare(txn, event, now_ms)
        case TransactionState.COMPLETE_COMMIT | TransactionState.COMPLETE_ABORT:
            is_same = event.is_commit == (txn.state is TransactionState.COMPLETE_COMMIT)
            return [Answer(ErrorCode.NONE if is_same else ErrorCode.INVALID_TXN_STATE)]
        case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT:
            is_same = event.is_commit == (txn.state is TransactionState.PREPARE_COMMIT)
            return [Answer(ErrorCode.CONCURRENT_TRANSACTIONS if is_same else ErrorCode.INVALID_TXN_STATE)]
        case _:
            return [Answer(ErrorCode.INVALID_TXN_STATE)]


def _prepare(txn: Transaction, event: End, now_ms: int) -> list[Effect]:
    """Decide the outcome of the transaction."""
    state = TransactionState.PREPARE_COMMIT if event.is_commit else TransactionState.PREPARE_ABORT
    txn.pending = _transition(txn, state, txn.partitions, txn.start_timestamp_ms, now_ms)
    abort = None if event.is_commit else Abort(AbortReason.PRODUCER, event.client_id, event.client_host)
    return [Append(txn.pending, Answer(ErrorCode.NONE), abort=abort)]


def _abort_and_fence(txn: Transaction, answer: Answer | None, abort: Abort, now_ms: int) -> list[Effect]:
    """Abort a transaction and fence its producer."""
    if not txn.has_failed_fence and txn.producer_epoch < LAST_EPOCH:
        txn.producer_epoch += 1
    txn.last_producer_epoch = NO_EPOCH
    txn.pending = _transition(txn, TransactionState.PREPARE_ABORT, txn.partitions, txn.start_timestamp_ms, now_ms)
    return [Append(txn.pending, answer, is_fence=True, abort=abort)]


def _time_out(txn: Transaction, now_ms: int) -> list[Effect]:
    is_late = txn.start_timestamp_ms + txn.timeout_ms < now_ms
    if txn.state is not TransactionState.ONGOING or txn.pending is not None or not is_late:
        return []
    return _abort_and_fence(txn, None, Abort(AbortReason.TIMEOUT), now_ms)


def _expire(txn: Transaction, event: Expire, now_ms: int) -> list[Effect]:
    is_unused = txn.update_timestamp_ms <= now_ms - event.expiration_ms
    if not txn.state.is_idle or txn.pending is not None or not is_unused:
        return []
    txn.pending = _transition(txn, TransactionState.DEAD, _NOTHING, txn.start_timestamp_ms, txn.update_timestamp_ms)
    return [AppendTombstone()]


def _on_appended(txn: Transaction, now_ms: int) -> list[Effect]:
    pending = txn.pending
    assert pending is not None
    txn.become(pending)
    if pending.state.is_prepared:
        return _send_markers(txn, now_ms)
    if pending.state is TransactionState.DEAD:
        return [Forget()]
    if pending.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        txn.has_failed_fence = False
    return []


def _send_markers(txn: Transaction, now_ms: int) -> list[Effect]:
    """Request the markers; the next state of the transaction is pending from now on."""
    is_commit = txn.state is TransactionState.PREPARE_COMMIT
    state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
    txn.pending = _transition(txn, state, _NOTHING, txn.start_timestamp_ms, now_ms)
    return [SendMarkers(txn.producer_id, txn.producer_epoch, is_commit, txn.partitions)]


def _append_pending(txn: Transaction, after_ms: int = 0) -> list[Effect]:
    assert txn.pending is not None
    return [Append(txn.pending, after_ms=after_ms)]


def _on_append_failed(txn: Transaction, event: AppendFailed) -> list[Effect]:
    pending = txn.pending
    assert pending is not None
    if txn.state.is_prepared and event.error_code is not ErrorCode.NOT_COORDINATOR:
        # All partitions have their markers: nothing else may happen before the completed state is in the log.
        return _append_pending(txn, _RETRY_MS)
    txn.pending = None
    if event.is_fence:
        txn.has_failed_fence = True
    return []


def _transition(
    txn: Transaction,
    state: TransactionState,
    partitions: frozenset[TopicPartition],
    start_timestamp_ms: int,
    update_timestamp_ms: int,
) -> Transition:
    """Make a transition that keeps the producer."""
    return Transition(
        state,
        txn.producer_id,
        txn.producer_epoch,
        txn.producer_id,
        txn.last_producer_epoch,
        txn.timeout_ms,
        partitions,
        start_timestamp_ms,
        update_timestamp_ms,
    )
