"""Writes batches in transactions; only the producer fields of each batch change.

    fence ─► begin ─► send, send, ... ─► commit ─► begin ...

A few batches of a transaction are in flight at a time over one connection, so they arrive in order. Failures are not
retried here, except a coordinator's errors about its own state: after an error the caller discards this producer, and
the next producer with its id ends the open transaction (`fence`).

Source: KIP-98; protocol guide, InitProducerId, AddPartitionsToTxn, Produce, EndTxn.
"""

import asyncio
from collections import deque
from typing import Final, TypeVar

from barnabas.clients.admin_calls import grouped, raise_for
from barnabas.clients.mirror.batches import stamp
from barnabas.clients.pool import Pool
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition
from barnabas.wire.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.protocol.wire import Message
from barnabas.wire.records.batch import SEQUENCE_MASK

R = TypeVar("R", bound=Message)

ACKS_ALL: Final = -1
# Brokers remember the last five batches of a producer in a partition.
_MOST_UNDER_WAY: Final = 5
_MOST_BYTES_UNDER_WAY: Final = 4 << 20
# Maximum time to retry while a coordinator is busy, for example with the end of the last transaction. Other partitions
# may wait meanwhile.
_PATIENCE_S: Final = 10.0
_RETRY_S: Final = 0.01
_LEAST_PRODUCE_VERSION: Final = 3


class TransactionalProducer:
    """The producer of one transactional id.

    Attributes:
        transactional_id: Its id.
        producer_id: -1 before `fence`.
    """

    def __init__(self, pool: Pool, transactional_id: str, timeout_ms: int) -> None:
        """Create a producer; no request is sent yet.

        Args:
            pool: The connections to the cluster.
            transactional_id: The next producer with this id aborts the open transaction.
            timeout_ms: Transaction timeout.
        """
        self.transactional_id = transactional_id
        self.producer_id = NO_PRODUCER_ID
        self._epoch = NO_EPOCH
        self._pool = pool
        self._timeout_ms = timeout_ms
        self._sequences: dict[TopicPartition, int] = {}
        self._under_way: deque[tuple[asyncio.Task[int], int]] = deque()
        self._pause_until_s = 0.0

    async def fence(self) -> None:
        """Abort the open transaction of earlier producers with this id, and fence them. Raises KafkaError."""
        request = InitProducerIdRequest(self.transactional_id, self._timeout_ms)
        answer = await self._ask(request, InitProducerIdResponse)
        self.producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    async def begin(self, *partitions: TopicPartition) -> None:
        """Begin a transaction in partitions, after the previous one is complete. Raises KafkaError."""
        topics = [AddPartitionsToTxnTopic(topic, numbers) for topic, numbers in grouped(partitions)]
        request = AddPartitionsToTxnRequest(self.transactional_id, self.producer_id, self._epoch, topics)
        await self._ask(request, AddPartitionsToTxnResponse)

    async def send(self, partition: TopicPartition, batch: bytearray, record_count: int) -> asyncio.Task[int]:
        """Send a batch of the transaction, after waiting while too much is in flight.

        Args:
            partition: The target partition.
            batch: The batch, which is changed.
            record_count: The number of its records.

        Returns:
            A task with the base offset. Await it before `commit`, in the order of the calls. Raises KafkaError.

        Raises:
            KafkaError: An earlier batch was rejected.
        """
        size = len(batch)
        while self._under_way and (
            len(self._under_way) >= _MOST_UNDER_WAY
            or sum(each for _, each in self._under_way) + size > _MOST_BYTES_UNDER_WAY
        ):
            await self._under_way.popleft()[0]
        pause_s = self._pause_until_s - asyncio.get_running_loop().time()
        if pause_s > 0:
            await asyncio.sleep(pause_s)
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = (sequence + record_count) & SEQUENCE_MASK
        stamp(batch, self.producer_id, self._epoch, sequence)
        task = asyncio.get_running_loop().create_task(self._produce(partition, batch))
        self._under_way.append((task, size))
        return task

    async def commit(self) -> None:
        """Commit the sent batches. Raises KafkaError: the outcome is unknown."""
        await self._end(is_committed=True)

    async def abort(self) -> None:
        """Abort the sent batches. Raises KafkaError."""
        await self._end(is_committed=False)

    def close(self) -> None:
        """Discard batches in flight."""
        for task, _ in self._under_way:
            task.cancel()
            task.add_done_callback(_forget)
        self._under_way.clear()

    async def _end(self, *, is_committed: bool) -> None:
        while self._under_way:
            await self._under_way.popleft()[0]
        request = EndTxnRequest(self.transactional_id, self.producer_id, self._epoch, is_committed)
        await self._ask(request, EndTxnResponse)

    async def _produce(self, partition: TopicPartition, batch: bytearray) -> int:
        data = [TopicProduceData(partition.topic, partition_data=[PartitionProduceData(partition.partition, batch)])]
        request = ProduceRequest(self.transactional_id, ACKS_ALL, self._pool.request_timeout_ms, data)
        channel = await self._pool.leader(partition)
        if channel.version_of(request.API_KEY) < _LEAST_PRODUCE_VERSION:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"the broker at {channel.host} knows no transactions")
        answer = await channel.send(request, ProduceResponse)
        self._pause_until_s = asyncio.get_running_loop().time() + answer.throttle_time_ms / 1000
        for topic in answer.responses:
            for part in topic.partition_responses:
                if part.error_code:
                    self._pool.forget(partition.topic)
                    code = ErrorCode(part.error_code)
                    raise KafkaError(code, f"partition {partition}: {part.error_message or code.name}")
                return part.base_offset
        raise ProtocolError(f"{channel.host}:{channel.port} answered Produce, and no partition of it")

    async def _ask(self, request: Message, answer: type[R]) -> R:
        """Send a request to the coordinator until the coordinator is ready to answer."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_S
        while True:
            try:
                channel = await self._pool.transaction_coordinator(self.transactional_id)
                response = await channel.send(request, answer)
                raise_for(_error_code(response), f"transactional id {self.transactional_id}: {answer.__name__}")
                return response
            except KafkaError as error:
                is_busy = error.code is ErrorCode.CONCURRENT_TRANSACTIONS
                if (not is_busy and error.code not in RETRIABLE) or loop.time() > deadline:
                    raise
                if not is_busy:
                    self._pool.forget_transaction_coordinator(self.transactional_id)
            await asyncio.sleep(_RETRY_S if is_busy else 10 * _RETRY_S)


def _error_code(response: Message) -> int:
    if isinstance(response, AddPartitionsToTxnResponse):
        codes = [part.error_code for topic in response.results for part in topic.results]
        # If one partition fails, none is added: the others have OPERATION_NOT_ATTEMPTED.
        refusals = [code for code in codes if code not in (0, ErrorCode.OPERATION_NOT_ATTEMPTED)]
        return next(iter(refusals), max(codes, default=0))
    code: int = getattr(response, "error_code")  # noqa: B009  # the others have it
    return code


def _forget(task: "asyncio.Task[int]") -> None:
    """Retrieve a task's exception, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()
