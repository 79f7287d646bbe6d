"""What a feeder needs of a cluster: topics with any number of partitions, their last records, and appending in order.

Invariants: one batch of a partition is in flight at a time, acknowledged by all in-sync replicas before the next one of
that partition is sent, so that a partition never has a gap. A batch whose answer was lost may be there all the same:
who appends looks at the last records again.

Source: Kafka's protocol guide: CreateTopics, Metadata, Produce, ListOffsets, Fetch.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar

from barnabas.clients import Admin, Consumer, Pool, Producer
from barnabas.clients.admin import EARLIEST, LATEST, NewTopic
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition

T = TypeVar("T")

_TIMEOUT_MS = 5_000
# Well below max.message.bytes, so that what a partition is given at once is one batch.
_BATCH_SIZE_BYTES = 512 * 1024
_RECORD_OVERHEAD_BYTES = 100


class TopicUnavailableError(Exception):
    """The broker could not be asked, or did not answer in time: try again later."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record on its way; `timestamp_ms` None: when it is sent."""

    partition: TopicPartition
    key: bytes | None
    value: bytes
    timestamp_ms: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def size_bytes(self) -> int:
        """About what it takes in a batch."""
        headers_bytes = sum(len(name) + len(value) for name, value in self.headers)
        return len(self.key or b"") + len(self.value) + headers_bytes + _RECORD_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class LastRecord:
    """The record at a partition's end."""

    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def header(self, name: str) -> bytes | None:
        """Return the first header of this name; None where there is none."""
        return next((value for found, value in self.headers if found == name), None)


class Topics(Protocol):
    """Topics of one cluster, as a feeder sees them; any call may raise TopicUnavailableError."""

    def create(self, partition_counts: Mapping[str, int]) -> dict[str, int]:
        """Make sure that topics are there; one that is there already is taken as it is.

        Returns:
            How many partitions each has.
        """
        ...

    def last_records(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LastRecord]:
        """Return the last record of each partition that has one."""
        ...

    def append(self, records: Sequence[Outgoing]) -> None:
        """Append records, those of a partition in their order; returns once all are acknowledged."""
        ...

    def close(self) -> None:
        """Let go of the connections."""
        ...


class BrokerTopics:
    """Topics of a cluster, over the package's own clients; calls wait for their answers."""

    def __init__(self, bootstrap_servers: str, security: ClientSecurity | None = None) -> None:
        """Connections open when they are needed.

        Args:
            security: How; None: in the clear.

        Raises:
            BarnabasError: the address is no `host:port`.
        """
        self._bootstrap_servers = bootstrap_servers
        self._security = security
        self._runner = asyncio.Runner()
        self._pool = self._new_pool()
        self._producer: Producer | None = None

    def create(self, partition_counts: Mapping[str, int]) -> dict[str, int]:
        """Make sure that topics are there; new ones keep their records, however old."""
        return self._run(self._create(partition_counts))

    def last_records(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LastRecord]:
        """Return the last record of each partition that has one."""
        return self._run(self._last_records(list(partitions)))

    def append(self, records: Sequence[Outgoing]) -> None:
        """Append records in rounds, each of one batch per partition at the most."""
        for part in rounds(records):
            self._run(self._append(part))

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
            raise TopicUnavailableError(str(error)) from error

    def _new_pool(self) -> Pool:
        return Pool(self._bootstrap_servers, "barnabas-feeder", connect_timeout_ms=_TIMEOUT_MS, security=self._security)

    async def _create(self, partition_counts: Mapping[str, int]) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, count in partition_counts.items():
            topic = NewTopic(name, count, configs={"retention.ms": "-1"})
            try:
                await Admin(self._pool, _TIMEOUT_MS).create_topic(topic)
            except KafkaError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
            found[name] = len((await self._pool.topic(name)).partitions)
        return found

    async def _last_records(self, partitions: list[TopicPartition]) -> dict[TopicPartition, LastRecord]:
        admin = Admin(self._pool, _TIMEOUT_MS)
        starts = await admin.offsets(partitions, EARLIEST)
        ends = await admin.offsets(partitions, LATEST)
        wanted = {partition: end - 1 for partition, end in ends.items() if end > starts[partition]}
        found: dict[TopicPartition, LastRecord] = {}
        consumer = Consumer(self._pool, auto_offset_reset="none")
        try:
            while wanted:
                consumer.assign(wanted)
                fetched = await consumer.poll(_TIMEOUT_MS)
                if not fetched:
                    raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"no answer for the last records of {list(wanted)}")
                for batch in fetched:
                    record = batch.records[-1]
                    found[batch.partition] = LastRecord(record.value, tuple(record.headers))
                    del wanted[batch.partition]
        finally:
            await consumer.close()
        return found

    async def _append(self, records: Sequence[Outgoing]) -> None:
        if self._producer is None:
            # Records are collected until the flush below, so that those of a partition are one batch: all of it is
            # there or none.
            self._producer = Producer(
                self._pool,
                batch_size_bytes=2 * _BATCH_SIZE_BYTES,
                linger_ms=60_000,
                request_timeout_ms=_TIMEOUT_MS,
                delivery_timeout_ms=_TIMEOUT_MS,
                enable_idempotence=True,
            )
        sent = [
            await self._producer.send(
                record.partition.topic,
                record.value,
                record.key,
                partition=record.partition.partition,
                timestamp_ms=record.timestamp_ms,
                headers=record.headers,
            )
            for record in records
        ]
        await self._producer.flush()
        for outcome in sent:
            outcome.result()

    async def _close(self) -> None:
        if self._producer is not None:
            await self._producer.close()
            self._producer = None
        await self._pool.close()


def rounds(records: Sequence[Outgoing]) -> list[list[Outgoing]]:
    """Divide records so that in each part those of a partition fit into one batch; their order stays.

    A record that alone is larger than a batch stands alone in its partition's part.
    """
    parts: list[list[Outgoing]] = []
    # By partition: the part that its records go to now, and the bytes that are left there.
    places: dict[TopicPartition, tuple[int, int]] = {}
    for record in records:
        index, left_bytes = places.get(record.partition, (-1, 0))
        if record.size_bytes > left_bytes:
            index, left_bytes = index + 1, _BATCH_SIZE_BYTES
        if index == len(parts):
            parts.append([])
        parts[index].append(record)
        places[record.partition] = (index, left_bytes - record.size_bytes)
    return parts
