"""Producer: sends records in batches.

Records of a partition are collected while the previous batch is in flight (or for `linger_ms`). One batch per partition
is in flight at a time, so records arrive in order. Transient errors are retried until `delivery_timeout_ms` has passed.
With `enable_idempotence`, each batch carries producer id, epoch and sequence, and the broker does not write a batch
twice: no record is lost or duplicated. A batch that exceeds the topic's max.message.bytes is sent in halves.

Invariant: every accepted record gets an outcome, whatever fails: rejection by the broker, an encoding error, a
malformed response, an internal error. So `flush` and `close` always end.

Source: design page, the producer; KIP-98 for idempotence; KIP-480 for the partition of records without a key.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.clients.channel import UnreachableError
from barnabas.clients.partitioner import StickyPartition, partition_for_key
from barnabas.clients.pool import RETRY_BACKOFF_MS, PartitionMetadata, Pool
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError, ProtocolError
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, TopicPartition
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.records.batch import SEQUENCE_MASK, Codec
from barnabas.wire.records.builder import RECORD_OVERHEAD_BYTES, BatchBuilder, Header

ACKS_ALL = -1

_SEQUENCE_ERRORS = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH}
)


class RecordMetadata(NamedTuple):
    """The position of a written record; `offset` is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class _Batch:
    """Records sent together, and the futures of their senders."""

    __slots__ = ("created", "deadline", "futures", "records", "size_bytes")

    def __init__(self, now: float, deadline: float) -> None:
        self.created = now
        self.deadline = deadline
        self.futures: list[asyncio.Future[RecordMetadata]] = []
        self.records: list[tuple[int, bytes | None, bytes | None, tuple[Header, ...]]] = []
        self.size_bytes = 0

    def halves(self) -> tuple["_Batch", "_Batch"]:
        """Return two batches with the first and the second half of the records; this batch must not be used again."""
        middle = len(self.records) // 2
        first, second = _Batch(self.created, self.deadline), _Batch(self.created, self.deadline)
        first.records, second.records = self.records[:middle], self.records[middle:]
        first.futures, second.futures = self.futures[:middle], self.futures[middle:]
        first.size_bytes = sum(_record_bytes(key, value) for _, key, value, _ in first.records)
        second.size_bytes = self.size_bytes - first.size_bytes
        return first, second


class Producer:
    """A producer over a shared pool; also an async context manager that flushes at its end.

    Attributes:
        acks: 0 (do not wait), 1 (wait for the leader) or -1 (wait for all in-sync replicas).
    """

    def __init__(
        self,
        pool: Pool,
        *,
        acks: int = ACKS_ALL,
        codec: Codec = Codec.NONE,
        batch_size_bytes: int = 16_384,
        linger_ms: float = 0,
        buffer_memory_bytes: int = 32 * 1024 * 1024,
        request_timeout_ms: int = 30_000,
        delivery_timeout_ms: int = 120_000,
        enable_idempotence: bool = False,
    ) -> None:
        """Args:
        buffer_memory_bytes: `send` waits while more than this is buffered.
        enable_idempotence: Needs acks=-1.
        """
        if enable_idempotence and acks != ACKS_ALL:
            raise ValueError("an idempotent producer needs acks=-1")
        self.acks = acks
        self._pool = pool
        self._codec = codec
        self._batch_size_bytes = batch_size_bytes
        self._linger_s = linger_ms / 1000
        self._buffer_memory_bytes = buffer_memory_bytes
        self._request_timeout_ms = request_timeout_ms
        self._delivery_timeout_s = delivery_timeout_ms / 1000
        self._is_idempotent = enable_idempotence
        self._clock = pool.env.clock
        self._dice = pool.env.dice
        self._producer_id = NO_PRODUCER_ID
        self._producer_epoch = NO_EPOCH
        self._id_lock = asyncio.Lock()
        self._queues: dict[TopicPartition, _Queue] = {}
        self._sticky: dict[str, StickyPartition] = {}
        self._buffered_bytes = 0
        self._room = asyncio.Event()
        self._is_closed = False

    async def __aenter__(self) -> "Producer":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] = (),
    ) -> "asyncio.Future[RecordMetadata]":
        """Queue one record for sending.

        Returns:
            A future with the record's position. Its exception is a BarnabasError: the broker's last KafkaError,
            REQUEST_TIMED_OUT after `delivery_timeout_ms`, UNKNOWN_SERVER_ERROR with its cause if the record could not
            be sent at all, or ProtocolError for a malformed response.

        Raises:
            KafkaError: The topic does not exist (and is not created), or has no such partition; or its partitions were
                not returned within `request_timeout_ms`.
            RuntimeError: The producer is closed, or was closed during the call.
        """
        self._check_open()
        # A copy: the caller may change its list before the batch is encoded, and a batch may be encoded twice.
        given = tuple(headers)
        size_bytes = _record_bytes(key, value)
        while self._buffered_bytes + size_bytes > self._buffer_memory_bytes and self._buffered_bytes:
            self._room.clear()
            await self._room.wait()
        topic_partition = TopicPartition(topic, await self._partition(topic, key, partition))
        self._check_open()
        queue = self._queues.get(topic_partition)
        if queue is None:
            queue = self._queues[topic_partition] = _Queue()
            queue.task = asyncio.get_running_loop().create_task(self._run(topic_partition, queue))
        batch = self._open_batch(queue, size_bytes)
        if batch.records == [] and len(queue.batches) > 1 and key is None and partition is None:
            self._sticky[topic].move_on()
        when_ms = self._clock.now_ms() if timestamp_ms is None else timestamp_ms
        batch.records.append((when_ms, key, value, given))
        batch.size_bytes += size_bytes
        self._buffered_bytes += size_bytes
        future: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        batch.futures.append(future)
        queue.wake.set()
        return future

    async def flush(self) -> None:
        """Wait until every record accepted so far is written or has failed."""
        waiting = []
        for queue in self._queues.values():
            queue.is_flushing = True
            queue.wake.set()
            waiting += [future for batch in queue.all_batches() for future in batch.futures if not future.done()]
        if waiting:
            await asyncio.wait(waiting)

    async def close(self) -> None:
        """Flush, then stop."""
        self._is_closed = True
        try:
            await self.flush()
        finally:
            tasks = [queue.task for queue in self._queues.values() if queue.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("the producer is closed")

    async def _partition(self, topic: str, key: bytes | None, partition: int | None) -> int:
        partitions = await self._partitions(topic)
        if partition is not None:
            if partition not in partitions:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} has no partition {partition}")
            return partition
        if key is not None:
            return partition_for_key(key, len(partitions))
        sticky = self._sticky.get(topic)
        if sticky is None:
            sticky = self._sticky[topic] = StickyPartition(self._dice)
        return sticky.choose(partitions)

    async def _partitions(self, topic: str) -> dict[int, PartitionMetadata]:
        deadline = _now() + self._request_timeout_ms / 1000
        while True:
            try:
                return (await self._pool.topic(topic, allow_auto_topic_creation=True)).partitions
            except KafkaError as error:
                # Retry: the request itself may have created the topic, whose leader is elected a moment later. If one
                # broker does not answer, another may.
                is_over = isinstance(error, UnreachableError) or _now() > deadline
                if is_over or error.code not in RETRIABLE or error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)

    def _open_batch(self, queue: "_Queue", size_bytes: int) -> _Batch:
        """Return the batch for the next record; a new one if the last is full or none exists."""
        if queue.batches and queue.batches[-1].size_bytes + size_bytes <= self._batch_size_bytes:
            return queue.batches[-1]
        now = _now()
        batch = _Batch(now, now + self._delivery_timeout_s)
        queue.batches.append(batch)
        return batch

    async def _run(self, partition: TopicPartition, queue: "_Queue") -> None:
        """Send the batches of one partition in sequence, until this task is cancelled."""
        try:
            while True:
                while not queue.batches:
                    queue.is_flushing = False
                    queue.wake.clear()
                    await queue.wake.wait()
                await self._linger(queue)
                batch = queue.in_flight = queue.batches.popleft()
                try:
                    response = await self._deliver(partition, queue, batch)
                except Exception as error:
                    if _is_too_large(error) and len(batch.records) > 1:
                        # Nothing of it was written, so the halves take its sequences.
                        queue.batches.extendleft(reversed(batch.halves()))
                    else:
                        self._fail(batch, _for_user(partition, error))
                else:
                    self._succeed(partition, batch, response)
                queue.in_flight = None
        finally:
            # No task sends the remaining or later records.
            self._is_closed = True
            for batch in queue.all_batches():
                self._fail(batch, KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer was closed"))
            queue.batches.clear()

    async def _linger(self, queue: "_Queue") -> None:
        while not queue.is_flushing and len(queue.batches) == 1:
            left = queue.batches[0].created + self._linger_s - _now()
            if left <= 0 or queue.batches[0].size_bytes >= self._batch_size_bytes:
                return
            queue.wake.clear()
            try:
                async with asyncio.timeout(left):
                    await queue.wake.wait()
            except TimeoutError:
                return

    async def _deliver(
        self, partition: TopicPartition, queue: "_Queue", batch: _Batch
    ) -> PartitionProduceResponse | None:
        if queue.failure is not None:
            raise queue.failure
        if _now() > batch.deadline:
            raise KafkaError(
                ErrorCode.REQUEST_TIMED_OUT, f"partition {partition}: the records before these took too long"
            )
        if self._is_idempotent:
            await self._ensure_producer_id()
        records = self._encode(queue, batch)
        while True:
            try:
                response = await self._attempt(partition, records)
                queue.next_sequence = (queue.next_sequence + len(batch.records)) & SEQUENCE_MASK
                return response
            except KafkaError as error:
                if error.code not in RETRIABLE or _now() + RETRY_BACKOFF_MS / 1000 > batch.deadline:
                    if error.code in RETRIABLE or error.code in _SEQUENCE_ERRORS:
                        self._stop_sequence(queue, error)
                    raise
                self._pool.forget(partition.topic)
            except Exception as error:
                self._stop_sequence(queue, _for_user(partition, error))
                raise
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)

    def _stop_sequence(self, queue: "_Queue", error: BarnabasError) -> None:
        """Fail all further records of an idempotent producer to this partition.

        Whether the batch was written is not known, so the next one must not take its sequences.
        """
        if self._is_idempotent:
            queue.failure = error

    def _encode(self, queue: "_Queue", batch: _Batch) -> bytearray:
        sequence = queue.next_sequence if self._is_idempotent else NO_SEQUENCE
        builder = BatchBuilder(self._codec, self._producer_id, self._producer_epoch, sequence)
        for timestamp_ms, key, value, headers in batch.records:
            builder.append(timestamp_ms, key, value, headers)
        return builder.build()

    async def _attempt(self, partition: TopicPartition, records: bytearray) -> PartitionProduceResponse | None:
        request = ProduceRequest(
            None,
            self.acks,
            self._request_timeout_ms,
            [TopicProduceData(partition.topic, partition_data=[PartitionProduceData(partition.partition, records)])],
        )
        channel = await self._pool.leader(partition)
        if self.acks == 0:
            await channel.send_without_answer(request, timeout_ms=self._request_timeout_ms)
            return None
        response = await channel.send(request, ProduceResponse, timeout_ms=self._request_timeout_ms)
        answers = [answer for topic in response.responses for answer in topic.partition_responses]
        if not answers:
            raise ProtocolError(f"{channel.host}:{channel.port} answered Produce without a partition")
        answer = answers[0]
        code = ErrorCode(answer.error_code)
        # An earlier attempt wrote the batch, but its response was lost.
        if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER and self._is_idempotent:
            return None
        if code is not ErrorCode.NONE:
            raise KafkaError(code, answer.error_message or f"partition {partition}: {code.name}")
        return answer

    async def _ensure_producer_id(self) -> None:
        async with self._id_lock:
            deadline = _now() + self._delivery_timeout_s
            while self._producer_id == NO_PRODUCER_ID:
                try:
                    channel = await self._pool.any_broker()
                    response = await channel.send(InitProducerIdRequest(None, 2**31 - 1), InitProducerIdResponse)
                    code = ErrorCode(response.error_code)
                    if code is not ErrorCode.NONE:
                        raise KafkaError(code, f"no producer id: {code.name}")
                    self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
                except KafkaError as error:
                    if error.code not in RETRIABLE or _now() > deadline:
                        raise
                    await asyncio.sleep(RETRY_BACKOFF_MS / 1000)

    def _fail(self, batch: _Batch, error: BarnabasError) -> None:
        self._release(batch)
        for future in batch.futures:
            if not future.done():
                future.set_exception(error)

    def _release(self, batch: _Batch) -> None:
        self._buffered_bytes -= batch.size_bytes
        self._room.set()

    def _succeed(self, partition: TopicPartition, batch: _Batch, response: PartitionProduceResponse | None) -> None:
        self._release(batch)
        base_offset = -1 if response is None else response.base_offset
        append_time_ms = -1 if response is None else response.log_append_time_ms
        for index, future in enumerate(batch.futures):
            if future.done():
                continue
            offset = base_offset + index if base_offset >= 0 else -1
            timestamp_ms = append_time_ms if append_time_ms >= 0 else batch.records[index][0]
            future.set_result(RecordMetadata(partition.topic, partition.partition, offset, timestamp_ms))


def _now() -> float:
    """Return the loop's time, in seconds."""
    return asyncio.get_running_loop().time()


def _record_bytes(key: bytes | None, value: bytes | None) -> int:
    """Return a record's share of the buffer."""
    return len(key or b"") + len(value or b"") + RECORD_OVERHEAD_BYTES


def _is_too_large(error: Exception) -> bool:
    """Return whether the broker refused a batch because of its size."""
    return isinstance(error, KafkaError) and error.code is ErrorCode.MESSAGE_TOO_LARGE


def _for_user(partition: TopicPartition, error: Exception) -> BarnabasError:
    """Return the exception for a record's future: a BarnabasError, or UNKNOWN_SERVER_ERROR with the cause."""
    if isinstance(error, BarnabasError):
        return error
    failure = KafkaError(
        ErrorCode.UNKNOWN_SERVER_ERROR, f"partition {partition} could not be sent to: {type(error).__name__}: {error}"
    )
    failure.__cause__ = error
    return failure


class _Queue:
    """The waiting batches of one partition, in order, and the one in flight."""

    __slots__ = ("batches", "failure", "in_flight", "is_flushing", "next_sequence", "task", "wake")

    def __init__(self) -> None:
        self.batches: deque[_Batch] = deque()
        self.in_flight: _Batch | None = None
        self.failure: BarnabasError | None = None
        self.is_flushing = False
        self.next_sequence = 0
        self.task: asyncio.Task[None] | None = None
        self.wake = asyncio.Event()

    def all_batches(self) -> list[_Batch]:
        """Return all batches, in flight or waiting."""
        return [*([self.in_flight] if self.in_flight is not None else []), *self.batches]
