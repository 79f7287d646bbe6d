"""The transaction coordinator: the shell around the pure transaction state machine.

It finds the transactional id, applies one event to it, and carries out the effects: records of `__transaction_state`,
markers, answers. Owned by the event loop.

Invariants: all ids in memory belong to partitions that this broker owns or is loading; appends and markers that
complete after an id was unloaded change nothing, and requests that wait for them get NOT_COORDINATOR.

Source: KIP-98, KIP-360, KIP-447; semantics, transactions.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Protocol, assert_never

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.coordination.interfaces import Replicas
from barnabas.broker.coordination.ownership import OwnedPartitions
from barnabas.broker.coordination.partitioning import partition_of
from barnabas.broker.diagnostics.transactions import Aborts
from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.transactions.errors import append_error
from barnabas.broker.transactions.events import (
    AddPartitions,
    Answer,
    Append,
    Appended,
    AppendFailed,
    AppendTombstone,
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
from barnabas.broker.transactions.loading import read_transactions
from barnabas.broker.transactions.markers import Channels, MarkerSender
from barnabas.broker.transactions.state import step
from barnabas.broker.transactions.storage import tombstone_batches, transition_batch
from barnabas.broker.transactions.transaction import Transaction, TransactionState
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Pending, Spawner, completed
from barnabas.core.timers import Timer, Timers
from barnabas.core.types import TopicPartition

log = logging.getLogger(__name__)

_IDS_PER_TURN = 200
_ALL_IN_SYNC = -1

Caller = Pending[Answer]


class ProducerIds(Protocol):
    """The source of new producer ids, such as `administration.ProducerIds`."""

    def take(self) -> int | None: ...

    async def fetch(self) -> int: ...


class TransactionCoordinator:
    """The transactional ids of one broker.

    Attributes:
        kept_bytes: Their estimated memory.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        timers: Timers,
        executor: Executor,
        replicas: Replicas,
        partition_count: int,
        cluster: ClusterView,
        channels: Channels,
        producer_ids: ProducerIds,
        spawner: Spawner,
        most_bytes: int = 1 << 28,
        aborts: Aborts | None = None,
    ) -> None:
        """Args:
        executor: Reads partitions of `__transaction_state`.
        partition_count: Number of these partitions, or the number to create.
        channels: The channels to the brokers, for markers.
        spawner: Runs the fetch of producer ids.
        most_bytes: The memory limit for all transactional ids.
        aborts: Records the causes of aborts; None disables that.
        """
        self._aborts = aborts
        self._most_bytes = most_bytes
        self._partition_count = partition_count
        self.kept_bytes = 0
        self._config = config
        self._clock = clock
        self._timers = timers
        self._replicas = replicas
        self._producer_ids = producer_ids
        self._spawner = spawner
        self._markers = MarkerSender(channels, cluster, timers)
        # In the order of their last change, the oldest first.
        self._transactions: OrderedDict[str, Transaction] = OrderedDict()
        # The ongoing transactions, which may exceed their timeout.
        self._ongoing: dict[str, Transaction] = {}
        # By transactional id: functions that stop sending its markers.
        self._given_up_by: dict[str, Callable[[], object]] = {}
        self._leader_epochs: dict[int, int] = {}
        # By partition being loaded: transactions whose markers must be sent again.
        self._prepared: dict[int, list[Transaction]] = {}
        self._partitions: OwnedPartitions[Transaction] = OwnedPartitions(
            TRANSACTION_STATE_TOPIC,
            replicas,
            executor,
            timers,
            read_transactions,
            self._take_over,
            self._on_loaded,
        )
        self._watches: list[Timer] = []
        self._is_active = False

    def start(self) -> None:
        """Begin to serve, and to check for transactions that exceed their timeout and for expired ids."""
        self._is_active = True
        config = self._config
        self._watch(0, lambda: config.transaction_abort_timed_out_transaction_cleanup_interval_ms, self._look_for_late)
        self._watch(
            1, lambda: config.transaction_remove_expired_transaction_cleanup_interval_ms, self._look_for_expired
        )

    def begin_markers(self) -> None:
        """Send pending markers, and later ones at once; call this when this broker's own listener is open."""
        self._markers.open()

    def close(self) -> None:
        """Stop serving; waiting requests are answered when their pending operations end."""
        self._is_active = False
        for timer in self._watches:
            timer.cancel()
        self._markers.close()
        self._partitions.close()
        self._transactions.clear()
        self.kept_bytes = 0
        self._ongoing.clear()

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` for an id; another broker may lead it."""
        return partition_of(transactional_id, self._partition_count)

    def on_partition_leader(self, partition: int, leader_epoch: int) -> None:
        """Load the ids of a partition of `__transaction_state` of which this broker has become leader."""
        self._leader_epochs[partition] = leader_epoch
        self._partitions.begin(partition)

    def on_partition_resigned(self, partition: int) -> None:
        """Unload the ids of a partition of `__transaction_state` that this broker no longer leads."""
        self._partitions.drop(partition)
        self._leader_epochs.pop(partition, None)
        self._prepared.pop(partition, None)
        for txn in [txn for txn in self._transactions.values() if txn.partition == partition]:
            self._forget(txn)

    def knows(self, producer_id: int) -> bool:
        """Return whether a producer id belongs to a transactional id that is coordinated here."""
        return any(txn.producer_id == producer_id for txn in self._transactions.values())

    # --- requests

    def initialize(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: tuple[int, int] | None = None,
        client_id: str = "",
        client_host: str = "",
    ) -> Pending[Answer]:
        """Handle InitProducerId with a transactional id.

        Args:
            transactional_id: The transactional id.
            timeout_ms: The transaction timeout.
            expected: The producer's current id and epoch; None if it is new.
            client_id, client_host: The requester.
        """
        if not transactional_id:
            return completed(Answer(ErrorCode.INVALID_REQUEST))
        if not 0 < timeout_ms <= self._config.transaction_max_timeout_ms:
            return completed(Answer(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        caller = Caller()
        event = Initialize(timeout_ms, expected, client_id=client_id, client_host=client_host)
        self._initialize(transactional_id, event, caller)
        return caller

    def add_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: frozenset[TopicPartition]
    ) -> Pending[Answer]:
        """Handle AddPartitionsToTxn and AddOffsetsToTxn."""
        if self._is_full(transactional_id, partitions):
            return completed(Answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return self._request(transactional_id, AddPartitions(producer_id, producer_epoch, partitions))

    def _is_full(self, transactional_id: str, partitions: frozenset[TopicPartition]) -> bool:
        """Return whether the memory limit forbids a new id or more partitions; if so, evict some unused ids."""
        # differs from Kafka (transactional-id-bytes): in Kafka, memory is the only limit.
        if self.kept_bytes <= self._most_bytes:
            return False
        txn = self._transactions.get(transactional_id)
        if txn is not None and txn.partitions >= partitions:
            return False
        some = list(islice(self._transactions.values(), _IDS_PER_TURN))
        for each in some:
            # At the end of the order, so that the next call checks other ids.
            self._transactions.move_to_end(each.transactional_id)
        self._look_at(Expire(0), some)
        return True

    def end(self, transactional_id: str, event: End) -> Pending[Answer]:
        """Handle EndTxn; answered when the outcome is in the log, before the markers are written."""
        return self._request(transactional_id, event)

    def unended(self, transactional_ids: Iterable[str] | None = None) -> Iterator[Transaction]:
        """Return the transactions that are open, or whose markers are not all written; read-only.

        Args:
            transactional_ids: The ids to return; None for all.
        """
        if transactional_ids is None:
            transactional_ids = [*self._ongoing, *self._given_up_by]
        found = (self._transactions.get(each) for each in transactional_ids)
        return (txn for txn in found if txn is not None and not txn.state.is_idle)

    def _request(self, transactional_id: str, event: Event) -> Pending[Answer]:
        if not transactional_id:
            return completed(Answer(ErrorCode.INVALID_REQUEST))
        error_code = self._refusal(transactional_id)
        if error_code is not ErrorCode.NONE:
            return completed(Answer(error_code))
        txn = self._transactions.get(transactional_id)
        if txn is None:
            return completed(Answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        caller = Caller()
        self._happen(txn, event, caller)
        return caller

    def _refusal(self, transactional_id: str) -> ErrorCode:
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = self.partition_for(transactional_id)
        if self._partitions.owns(partition):
            return ErrorCode.NONE
        if self._partitions.loads(partition):
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def _initialize(self, transactional_id: str, event: Initialize, caller: Caller) -> None:
        """Handle InitProducerId; the first request of an id waits for a new producer id."""
        error_code = self._refusal(transactional_id)
        if error_code is not ErrorCode.NONE:
            caller.complete(Answer(error_code))
            return
        txn = self._transactions.get(transactional_id)
        if txn is None:
            producer_id = event.new_producer_id
            if self._is_full(transactional_id, frozenset()):
                # Clients retry after a backoff.
                caller.complete(Answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
                return
            if producer_id is None:
                self._with_new_producer_id(transactional_id, event, caller)
                return
            txn = self._transactions[transactional_id] = Transaction(
                transactional_id,
                producer_id,
                timeout_ms=event.timeout_ms,
                update_timestamp_ms=self._clock.now_ms(),
                partition=self.partition_for(transactional_id),
            )
            self._note_state(txn)
            event = event._replace(new_producer_id=None)
        self._happen(txn, event, caller)

    def _with_new_producer_id(self, transactional_id: str, event: Initialize, caller: Caller) -> None:
        producer_id = self._producer_ids.take()
        if producer_id is not None:
            self._initialize(transactional_id, event._replace(new_producer_id=producer_id), caller)
            return
        self._spawner.spawn(self._producer_ids.fetch()).then(
            lambda fetched: self._initialize(transactional_id, event._replace(new_producer_id=fetched), caller),
            lambda error: caller.complete(Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)),
        )

    # --- loading

    def _take_over(self, txn: Transaction, partition: int) -> None:
        txn.partition = partition
        self._transactions[txn.transactional_id] = txn
        self._note_state(txn)
        if txn.state.is_prepared:
            self._prepared.setdefault(partition, []).append(txn)

    def _on_loaded(self, partition: int) -> None:
        for txn in self._prepared.pop(partition, ()):
            log.info("%s is in state %s: sending its markers again", txn.transactional_id, txn.state.name)
            self._happen(txn, Loaded())

    def _forget(self, txn: Transaction) -> None:
        transactional_id = txn.transactional_id
        del self._transactions[transactional_id]
        self.kept_bytes -= txn.counted_bytes
        self._ongoing.pop(transactional_id, None)
        give_up = self._given_up_by.pop(transactional_id, None)
        if give_up is not None:
            give_up()

    def _is_ours(self, txn: Transaction) -> bool:
        return self._transactions.get(txn.transactional_id) is txn

    def _note_state(self, txn: Transaction) -> None:
        """Update the indexes and memory counts after a transaction was added or changed."""
        self._transactions.move_to_end(txn.transactional_id)
        kept_bytes = txn.kept_bytes
        self.kept_bytes += kept_bytes - txn.counted_bytes
        txn.counted_bytes = kept_bytes
        if txn.state is TransactionState.ONGOING:
            self._ongoing[txn.transactional_id] = txn
        else:
            self._ongoing.pop(txn.transactional_id, None)

    # --- events

    def _happen(self, txn: Transaction, event: Event, caller: Caller | None = None) -> bool:
        """Apply an event, and carry out its effects.

        Returns:
            Whether the id must be removed; the caller removes several ids together.
        """
        is_removed = False
        for effect in step(txn, event, self._clock.now_ms()):
            match effect:
                case Answer():
                    if caller is not None:
                        caller.complete(effect)
                case Append():
                    self._append(txn, effect, caller)
                case SendMarkers():
                    self._given_up_by[txn.transactional_id] = self._markers.send(
                        effect, self._leader_epochs.get(txn.partition, -1), partial(self._on_markers_written, txn)
                    )
                case NeedProducerId():
                    assert caller is not None
                    assert isinstance(event, Initialize)
                    self._with_new_producer_id(txn.transactional_id, event, caller)
                case AppendTombstone():
                    is_removed = True
                case Forget():
                    self._forget(txn)
                case _:
                    assert_never(effect)
        return is_removed

    def _on_markers_written(self, txn: Transaction) -> None:
        if self._is_ours(txn):
            self._given_up_by.pop(txn.transactional_id, None)
            self._happen(txn, MarkersWritten())

    def _append(self, txn: Transaction, effect: Append, caller: Caller | None) -> None:
        if effect.after_ms:
            self._timers.call_later(effect.after_ms, self._append, txn, effect._replace(after_ms=0), caller)
            return
        if not self._is_ours(txn):
            return
        batch = transition_batch(txn.transactional_id, effect.transition, self._clock.now_ms())
        self._write(
            txn.partition,
            batch,
            effect.transition.timeout_ms,
            lambda error_code: self._on_appended(txn, effect, caller, error_code),
        )

    def _write(self, partition: int, batch: bytearray, timeout_ms: int, then: Callable[[ErrorCode], object]) -> None:
        """Append a batch; `then` gets the error code for clients, even if the append raised or failed later."""
        topic_partition = TopicPartition(TRANSACTION_STATE_TOPIC, partition)

        def written(result: AppendResult) -> None:
            then(append_error(result.error_code))

        def failed(error: BaseException) -> None:
            log.error("cannot append to %s", topic_partition, exc_info=error)
            is_disk = isinstance(error, StorageError)
            written(AppendResult(ErrorCode.KAFKA_STORAGE_ERROR if is_disk else ErrorCode.UNKNOWN_SERVER_ERROR))

        try:
            appended = self._replicas.append(topic_partition, batch, _ALL_IN_SYNC, timeout_ms)
        except Exception as error:
            failed(error)
            return
        appended.then(written, failed)

    def _on_appended(self, txn: Transaction, effect: Append, caller: Caller | None, error_code: ErrorCode) -> None:
        answer = Answer(error_code)
        if not self._is_ours(txn):
            answer = Answer(ErrorCode.NOT_COORDINATOR)
        elif error_code is ErrorCode.NONE:
            if effect.abort is not None and self._aborts is not None:
                self._aborts.note(txn, effect.abort, self._clock.now_ms())
            self._happen(txn, Appended())
            self._note_state(txn)
            answer = effect.answer or answer
        else:
            log.warning(
                "%s cannot go to state %s: %s", txn.transactional_id, effect.transition.state.name, error_code.name
            )
            self._happen(txn, AppendFailed(error_code, effect.is_fence))
        if caller is not None:
            caller.complete(answer)

    # --- timeouts and expiration

    def _watch(self, index: int, interval_ms: Callable[[], int], look: Callable[[], object]) -> None:
        def fire() -> None:
            self._watches[index] = self._timers.call_later(interval_ms(), fire)
            look()

        self._watches.append(self._timers.call_later(interval_ms(), fire))

    def _look_for_late(self) -> None:
        self._look_at_some(TimeOut(), iter(list(self._ongoing.values())))

    def _look_for_expired(self) -> None:
        event = Expire(self._config.transactional_id_expiration_ms)
        self._look_at_some(event, iter(list(self._transactions.values())))

    def _look_at_some(self, event: TimeOut | Expire, transactions: Iterator[Transaction]) -> None:
        """Check ids, some in each turn of the event loop."""
        if not self._is_active:
            return
        some = list(islice(transactions, _IDS_PER_TURN))
        self._look_at(event, some)
        if some:
            self._timers.call_later(0, self._look_at_some, event, transactions)

    def _look_at(self, event: TimeOut | Expire, transactions: Iterable[Transaction]) -> None:
        removed: dict[int, list[Transaction]] = {}
        for txn in transactions:
            if self._is_ours(txn) and self._partitions.owns(txn.partition) and self._happen(txn, event):
                removed.setdefault(txn.partition, []).append(txn)
        for partition, gone in removed.items():
            self._remove(partition, gone)

    def _remove(self, partition: int, gone: list[Transaction]) -> None:
        """Remove ids of one partition from the log, then from memory."""
        for some, batch in tombstone_batches(gone, self._clock.now_ms()):
            self._write(partition, batch, self._config.request_timeout_ms, partial(self._on_removed, some))

    def _on_removed(self, gone: list[Transaction], error_code: ErrorCode) -> None:
        if error_code is not ErrorCode.NONE:
            log.warning("cannot remove %d expired transactional ids: %s", len(gone), error_code.name)
        event = Appended() if error_code is ErrorCode.NONE else AppendFailed(error_code)
        for txn in gone:
            if self._is_ours(txn):
                self._happen(txn, event)
