"""What the pipeline's own processes need of a topic: put values at its end in order, and look at its last one.

Invariants: the topic has one partition, so that its order is the order of the log; one batch is in flight at a time,
and a batch is acknowledged by all in-sync replicas before the next is sent, so that there is never a gap in it.
A batch whose answer was lost may be there all the same: who appends looks for its place again.

Source: Kafka's protocol guide: CreateTopics, Produce, ListOffsets, Fetch.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar

from barnabas.clients import Admin, Consumer, Pool, Producer
from barnabas.clients.admin import LATEST, NewTopic
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition

T = TypeVar("T")

_TIMEOUT_MS = 5_000
# Well below max.message.bytes, so that what is appended at once is one batch.
_BATCH_SIZE_BYTES = 512 * 1024
_RECORD_OVERHEAD_BYTES = 100


class TopicUnavailableError(Exception):
    """The broker could not be asked, or did not answer in time: try again later."""


class TopicShapeError(Exception):
    """The topic is there, but is none that a replay can use: one line."""


class Topic(Protocol):
    """One topic with one partition, as a replay sees it."""

    def create(self) -> None:
        """Make sure that the topic is there; one that is there already is left as it is.

        Raises:
            TopicUnavailableError: no answer, or refused.
        """
        ...

    def last_value(self) -> bytes | None:
        """Give the value of the last record; None when the topic is empty or not there."""
        ...

    def append(self, values: Sequence[bytes]) -> None:
        """Append the values in order; returns once they are acknowledged (acks=all)."""
        ...

    def close(self) -> None:
        """Let go of the connections."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class BrokerTopic:
    """A topic of a cluster, over the package's own clients; calls wait for their answers."""

    def __init__(self, bootstrap_server: str, name: str) -> None:
        """Connections open when they are needed, so nothing fails here but an address that is none (BarnabasError)."""
        self._name = name
        self._partition = TopicPartition(name, 0)
        self._bootstrap_server = bootstrap_server
        self._runner = asyncio.Runner()
        self._pool = self._new_pool()
        self._producer: Producer | None = None

    def create(self) -> None:
        """Make sure that the topic is there, with one partition, and kept however old it is."""
        self._run(self._create())

    def last_value(self) -> bytes | None:
        """Give the value of the last record."""
        return self._run(self._last_value())

    def append(self, values: Sequence[bytes]) -> None:
        """Append the values in order, one batch after the other."""
        for chunk in _chunks(values):
            self._run(self._append(chunk))

    def close(self) -> None:
        """Let go of the connections."""
        self._runner.run(self._close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, call: Coroutine[object, object, T]) -> T:
        try:
            return self._runner.run(call)
        except BarnabasError as error:
            # Begin anew: the next call is not to meet what was left of this one.
            self._runner.run(self._close())
            self._pool = self._new_pool()
            raise TopicUnavailableError(f"topic {self._name}: {error}") from error

    def _new_pool(self) -> Pool:
        return Pool(self._bootstrap_server, "barnabas-replay", connect_timeout_ms=_TIMEOUT_MS)

    async def _create(self) -> None:
        topic = NewTopic(self._name, 1, 1, {"retention.ms": "-1"})
        try:
            await Admin(self._pool, _TIMEOUT_MS).create_topic(topic)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            found = await self._pool.topic(self._name)
            if len(found.partitions) != 1:
                raise TopicShapeError(
                    f"topic {self._name} has {len(found.partitions)} partitions, and must have 1"
                ) from None

    async def _last_value(self) -> bytes | None:
        try:
            ends = await Admin(self._pool, _TIMEOUT_MS).offsets([self._partition], LATEST)
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return None
            raise
        end_offset = ends[self._partition]
        if end_offset == 0:
            return None
        consumer = Consumer(self._pool, auto_offset_reset="none")
        consumer.assign({self._partition: end_offset - 1})
        try:
            fetched = await consumer.poll(_TIMEOUT_MS)
        finally:
            await consumer.close()
        if fetched:
            return fetched[-1].records[-1].value
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"no answer for the record at offset {end_offset - 1}")

    async def _append(self, values: Sequence[bytes]) -> None:
        if self._producer is None:
            # Records are collected until the flush below, so that they are one batch, and all of it is there or none.
            self._producer = Producer(
                self._pool,
                batch_size_bytes=2 * _BATCH_SIZE_BYTES,
                linger_ms=60_000,
                request_timeout_ms=_TIMEOUT_MS,
                delivery_timeout_ms=_TIMEOUT_MS,
                enable_idempotence=True,
            )
        sent = [await self._producer.send(self._name, value, partition=0) for value in values]
        await self._producer.flush()
        for outcome in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _close(self) -> None:
        if self._producer is not None:
            await self._producer.close()
            self._producer = None
        await self._pool.close()


def open_topic(bootstrap_server: str, name: str) -> BrokerTopic:
    """Give a topic of a cluster.

    Raises:
        BarnabasError: the address is no `host:port`.
    """
    return BrokerTopic(bootstrap_server, name)


def _chunks(values: Sequence[bytes]) -> list[list[bytes]]:
    """Cut values into runs that fit into one batch each; one that alone is larger stands alone."""
    chunks: list[list[bytes]] = []
    left_bytes = 0
    for value in values:
        size_bytes = len(value) + _RECORD_OVERHEAD_BYTES
        if size_bytes > left_bytes or not chunks:
            chunks.append([])
            left_bytes = _BATCH_SIZE_BYTES
        chunks[-1].append(value)
        left_bytes -= size_bytes
    return chunks
