"""Transactions as seen by coordinators and by partitions, and the abort of hanging ones.

A transaction hangs if a partition has records of it, no marker that ends it, and no coordinator that will write one:
its producer wrote to a partition that it had not announced, or the coordinator forgot it. Committed records behind it
stay unreadable, and nothing is compacted there. KIP-664 added requests to Kafka 3.0 that find such transactions. This
module uses data that Kafka 2.7 provides as well: the last stable offset, the batches behind it, and
`__transaction_state`.

Invariant: a transaction counts as hanging only if it is open in its partition both before and after the query to its
coordinator. If it ends between the two, its marker is in the partition before the second check.

Source: KIP-98, KIP-664; protocol guide, WriteTxnMarkers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from barnabas.clients.admin_calls import EARLIEST, LATEST, grouped, raise_for
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.pool import check_topic
from barnabas.clients.transaction_log import TransactionState, replay
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.record import iterate_records

Progress = Callable[[int, int, str], None]


@dataclass(slots=True, frozen=True)
class OpenTransaction:
    """A transaction without a marker in a partition.

    Attributes:
        first_offset: The offset of its first record in the partition.
        started_ms: That record's timestamp. Producers may set any, so it may differ from the time of the write.
        updated_ms: The newest timestamp of its records in the partition.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    first_offset: int
    started_ms: int
    updated_ms: int

    def __str__(self) -> str:
        return (
            f"the transaction of producer {self.producer_id} (epoch {self.producer_epoch}) in {self.partition} from "
            f"offset {self.first_offset} on"
        )


def track(header: BatchHeader, partition: TopicPartition, is_open: dict[int, OpenTransaction]) -> None:
    """Update a partition's open transactions, by producer id, with its next batch."""
    if header.is_control:
        is_open.pop(header.producer_id, None)
        return
    if not header.is_transactional:
        return
    begun = is_open.get(header.producer_id)
    first_ms = header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms
    is_open[header.producer_id] = OpenTransaction(
        partition,
        header.producer_id,
        header.producer_epoch,
        begun.first_offset if begun else header.base_offset,
        begun.started_ms if begun else first_ms,
        max(begun.updated_ms, header.max_timestamp_ms) if begun else header.max_timestamp_ms,
    )


class TransactionAdmin(OffsetAdmin):
    """Administration of transactions."""

    async def coordinated(self) -> dict[str, TransactionState]:
        """Return all transactional ids in order, with their last logged state.

        Changes that a coordinator has not yet written to the log are missing.

        Raises:
            KafkaError: `__transaction_state` cannot be read (TOPIC_AUTHORIZATION_FAILED, ...).
            ProtocolError: The topic contains a record that is not a transaction state.
        """

        # Any broker's answer will do: the controller may be gone.
        metadata = await self.retry(lambda: self.pool.metadata([TRANSACTION_STATE_TOPIC]))
        topic = metadata.topics[TRANSACTION_STATE_TOPIC]
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return {}
        check_topic(TRANSACTION_STATE_TOPIC, topic)
        logs = [TopicPartition(TRANSACTION_STATE_TOPIC, index) for index in topic.partitions]
        first, end = await self.offsets(logs, EARLIEST), await self.offsets(logs, LATEST)
        states: dict[str, TransactionState] = {}
        for log in logs:
            async for header, batch in read_batches(self, log, first[log], end[log]):
                if not header.is_control:
                    replay(iterate_records(batch), log.partition, states)
        return dict(sorted(states.items()))

    async def coordinators(self) -> dict[int, int]:
        """Return the coordinating broker for each partition of `__transaction_state`; -1: none now."""
        metadata = await self.retry(lambda: self.pool.metadata([TRANSACTION_STATE_TOPIC]))
        return {part.partition: part.leader_id for part in metadata.topics[TRANSACTION_STATE_TOPIC].partitions.values()}

    async def open_transactions(
        self, partitions: Iterable[TopicPartition], tell: Progress = lambda done, total, what: None
    ) -> list[OpenTransaction]:
        """Return the transactions that are open in partitions, by partition and offset.

        Args:
            partitions: The partitions to search.
            tell: Receives the progress: the current partition and their number.

        Raises:
            KafkaError: A partition cannot be read.
        """
        wanted = sorted(partitions)
        # In this order, a transaction that ends between the two requests is not read needlessly. A transaction that
        # begins between them is found the next time.
        stable = await self.offsets(wanted, LATEST, is_read_committed=True)
        end = await self.offsets(wanted, LATEST)
        unstable = [partition for partition in wanted if stable[partition] < end[partition]]
        found: list[OpenTransaction] = []
        for index, partition in enumerate(unstable):
            tell(index, len(unstable), str(partition))
            is_open: dict[int, OpenTransaction] = {}
            async for header, _ in read_batches(self, partition, stable[partition], end[partition]):
                track(header, partition, is_open)
            found += sorted(is_open.values(), key=lambda transaction: transaction.first_offset)
        return found

    async def uncoordinated(self, suspects: Iterable[OpenTransaction]) -> list[OpenTransaction]:
        """Return the open transactions that no coordinator will end.

        Raises:
            KafkaError: A partition, or `__transaction_state`, cannot be read.
        """
        seen = list(suspects)
        if not seen:
            return []
        known = {
            (state.producer_id, partition)
            for state in (await self.coordinated()).values()
            if state.status.is_open
            for partition in state.partitions
        }
        left = [each for each in seen if (each.producer_id, each.partition) not in known]
        still = {
            (each.partition, each.producer_id, each.first_offset)
            for each in await self.open_transactions({each.partition for each in left})
        }
        return [each for each in left if (each.partition, each.producer_id, each.first_offset) in still]

    async def find_hanging(
        self, partition: TopicPartition, is_meant: Callable[[OpenTransaction], bool]
    ) -> OpenTransaction:
        """Return the hanging transaction of a partition that `is_meant` selects.

        Raises:
            BarnabasError: The transaction does not exist, or does not hang.
        """
        found = await self.open_transactions([partition])
        for each in found:
            if is_meant(each):
                await self.check_hanging(each)
                return each
        if not found:
            raise BarnabasError(f"no transaction is open in {partition}")
        begun = ", ".join(
            f"{each.first_offset} (producer {each.producer_id}, epoch {each.producer_epoch})" for each in found
        )
        raise BarnabasError(f"no such transaction is open in {partition}; those that are begin at {begun}")

    async def check_hanging(self, transaction: OpenTransaction) -> None:
        """Raise BarnabasError with the reason if an open transaction does not hang."""
        if await self.uncoordinated([transaction]):
            return
        for state in (await self.coordinated()).values():
            if state.producer_id == transaction.producer_id and state.status.is_open:
                end = (
                    "writes the missing markers as soon as the partitions accept them"
                    if state.status.is_decided
                    else f"ends it after {state.timeout_ms} ms"
                )
                raise BarnabasError(
                    f"{transaction} does not hang: it is {state.status.name} for transactional id "
                    f"{state.transactional_id}, and its coordinator {end}"
                )
        raise BarnabasError(f"{transaction} has just ended")

    async def abort(self, transaction: OpenTransaction, coordinator_epoch: int | None = None) -> int:
        """Write the marker that aborts a transaction into its partition. Call `uncoordinated` first.

        Args:
            transaction: The hanging transaction.
            coordinator_epoch: The coordinator epoch in the marker. None: the smallest that the partition accepts, which
                is the epoch of the producer's last marker there. A larger one would fence the producer's coordinator.

        Returns:
            The coordinator epoch of the marker.

        Raises:
            KafkaError: The leader rejected the marker (TRANSACTION_COORDINATOR_FENCED, INVALID_PRODUCER_EPOCH, ...).
        """
        if coordinator_epoch is not None:
            await self._write_marker(transaction, coordinator_epoch)
            return coordinator_epoch
        most = await self._largest_coordinator_epoch()
        epoch = 0
        while True:
            try:
                await self._write_marker(transaction, epoch)
                return epoch
            except KafkaError as error:
                if error.code is not ErrorCode.TRANSACTION_COORDINATOR_FENCED or epoch >= most:
                    raise
            epoch += 1

    async def _write_marker(self, transaction: OpenTransaction, coordinator_epoch: int) -> None:
        from barnabas.wire.protocol.messages.write_txn_markers import (
            WritableTxnMarker,
            WritableTxnMarkerTopic,
            WriteTxnMarkersRequest,
            WriteTxnMarkersResponse,
        )

        topics = [WritableTxnMarkerTopic(topic, indexes) for topic, indexes in grouped([transaction.partition])]
        marker = WritableTxnMarker(
            transaction.producer_id, transaction.producer_epoch, False, topics, coordinator_epoch
        )

        async def attempt() -> None:
            channel = await self.pool.leader(transaction.partition)
            request = WriteTxnMarkersRequest([marker])
            response = await channel.send(request, WriteTxnMarkersResponse)
            for written in response.markers:
                for topic in written.topics:
                    for part in topic.partitions:
                        if part.error_code:
                            self.pool.forget(topic.name)
                        name = ErrorCode(part.error_code).name
                        raise_for(part.error_code, f"partition {transaction.partition} refuses the marker: {name}")

        await self.retry(attempt)

    async def _largest_coordinator_epoch(self) -> int:
        """Return the largest possible coordinator epoch: the largest leader epoch in `__transaction_state`."""
        metadata = await self.retry(lambda: self.pool.metadata([TRANSACTION_STATE_TOPIC]))
        topic = metadata.topics.get(TRANSACTION_STATE_TOPIC)
        return max((part.leader_epoch for part in topic.partitions.values()), default=0) if topic else 0
