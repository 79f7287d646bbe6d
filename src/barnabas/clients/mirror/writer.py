"""Writes one partition's batches into the target, each once.

    a fresh writer:    fence main ─► read the table ─► fence the producers of its paths ─► read the table: its place
    each transaction:  batches that have passed the same clusters ─► the place after them, into the table ─► commit

In the target, a batch's producer id identifies the clusters that the batch has passed: a partition has one
transactional producer for each path of clusters. The producer of records sent to the source directly is the main one.
Its transactions also store the paths, its own included, and move the place if there is nothing to write.

Invariants:
- A commit contains batches and the place after them, or nothing. So a place always matches what the target's readers
  see.
- A path is in the table, and complete with all markers, before its producer's first batch: every reader of the batch
  can know the path.
- A fenced writer cannot commit. Suppose an old writer still runs, or fences a path's producer again after a new writer
  did. It cannot store another path, because its main producer is fenced. It read its place after it fenced its
  producers, so the records after that place were either committed before that read, or need the producer of the next
  batch. Either writer can fence that producer, but not both can use it. The writer that loses it stops; nothing
  after that batch can be committed without it.
- A writer stops after any error: the next writer finds out what was committed.

Source: KIP-98.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.mirror.batches import Outgoing
from barnabas.clients.mirror.offsets import (
    TABLE_TOPIC,
    BatchMark,
    Place,
    ProducerPath,
    Run,
    SourcePartition,
    advanced,
    path_record,
    path_tombstone,
    place_record,
    runs_of,
    segment_record,
    segment_tombstone,
)
from barnabas.clients.mirror.plan import PATIENCE_MS, MirrorFencedError
from barnabas.clients.mirror.table import OffsetTable
from barnabas.clients.mirror.transactional import TransactionalProducer
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.builder import BatchBuilder

# A transaction is committed after this many bytes or this time. Each commit costs two round trips and a marker.
_FULL_BYTES = 16 << 20
_FULL_S = 10.0
_TABLE = TopicPartition(TABLE_TOPIC, 0)
# The error codes of a batch that the broker will never accept.
_REFUSALS = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    }
)

TableRecord = tuple[bytes, bytes | None]


class RefusedBatchError(BarnabasError):
    """The target rejected a batch; `offset` is the source offset of its first record."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Route:
    """The source and target of one partition, and the process that mirrors it.

    Attributes:
        source: The mirror's key of the source partition.
        alias: The name of the source cluster.
        target: The partition that is written.
        generation: The generation of this process.
        timeout_ms: Transaction timeout.
    """

    source: SourcePartition
    alias: str
    target: TopicPartition
    generation: int
    timeout_ms: int

    @property
    def transactional_id(self) -> str:
        """Return the transactional id of the main producer."""
        mirror, cluster_id, topic, partition = self.source
        return f"barnabas-mirror-{mirror}-{cluster_id}-{topic}-{partition}"


class PartitionWriter:
    """One partition's producers, and their committed progress.

    Attributes:
        path: The path of the open transaction; None: none is open.
        place: The committed progress.
    """

    def __init__(self, route: Route, pool: Pool, table: OffsetTable) -> None:
        """Create a writer; call `open` instead."""
        self.path: tuple[str, ...] | None = None
        self.place = Place(route.target.topic, 0, route.generation, ())
        self._route = route
        self._pool = pool
        self._table = table
        self._main = TransactionalProducer(pool, route.transactional_id, route.timeout_ms)
        # The producers in the table, by path.
        self._producers: dict[tuple[str, ...], TransactionalProducer] = {}
        self._sent: list[tuple[asyncio.Task[int], Outgoing]] = []
        self._sent_bytes = 0
        self._full_at_s = 0.0

    @classmethod
    async def open(cls, route: Route, pool: Pool, table: OffsetTable, start_offset: int) -> "PartitionWriter":
        """Fence earlier writers of this partition, and find its position.

        Args:
            route: The partition.
            pool: The connections to the target.
            table: The target's offset table.
            start_offset: Where to begin if the table has no place.

        Raises:
            KafkaError: a request to the target failed.
            MirrorFencedError: a later process mirrors the same source, or the source is mirrored to another topic.
        """
        writer = cls(route, pool, table)
        await writer._main.fence()
        await table.refresh()
        own = (route.source.cluster_id,)
        for path in {each.path for each in table.offsets.producers.values() if each.source == route.source}:
            producer = writer._main if path == own else writer._new_producer(path)
            if producer is not writer._main:
                await producer.fence()
            known = table.offsets.producers.get(producer.producer_id)
            # If the coordinator expired the transactional id, the producer has a new id, which must still be stored.
            if known is not None and known.path == path:
                writer._producers[path] = producer
        await table.refresh()
        table.check_owner(route.source.mirror, route.alias, route.source.cluster_id, route.generation)
        found = table.offsets.places.get(route.source)
        if found is None:
            writer.place = replace(writer.place, position=start_offset, begin=start_offset)
        elif found.target_topic != route.target.topic:
            raise MirrorFencedError(mirrored_elsewhere(route.source, found, route.target.topic))
        else:
            writer.place = replace(found, generation=route.generation)
        return writer

    @property
    def position(self) -> int:
        """Return the next source offset to mirror, by the committed place."""
        return self.place.position

    @property
    def is_full(self) -> bool:
        """Return whether the open transaction should be committed."""
        return self._sent_bytes >= _FULL_BYTES or asyncio.get_running_loop().time() >= self._full_at_s

    async def add(self, path: tuple[str, ...], batch: Outgoing) -> None:
        """Write a batch, invisible until `commit`. An open transaction must have the same path.

        Raises:
            RefusedBatchError: The target rejected this batch or an earlier one.
            KafkaError: The batch was not written; this writer must not be used any more.
        """
        if self.path is None:
            producer = await self._producer(path)
            await producer.begin(self._route.target, _TABLE)
            self.path = path
            self._full_at_s = asyncio.get_running_loop().time() + _FULL_S
        size = len(batch.data)
        try:
            task = await self._producers[path].send(self._route.target, batch.data, len(batch.source_offsets))
        except KafkaError as error:
            raise self._refusal() or error from None
        self._sent.append((task, batch._replace(data=bytearray())))
        self._sent_bytes += size

    async def commit(self, position: int, mark: BatchMark | None, forgotten: Sequence[tuple[int, int]] = ()) -> None:
        """Commit the added batches, and the place after them.

        Args:
            position: The next source offset to be mirrored.
            mark: The last batch that was read; None: unchanged.
            forgotten: Segments to delete from the table, by first source offset and end.

        Raises:
            RefusedBatchError: The target rejected a batch.
            KafkaError: The outcome is unknown; this writer must not be used any more.
        """
        source = self._route.source
        runs: list[Run] = []
        try:
            for task, batch in self._sent:
                runs += runs_of(batch.source_offsets, await task)
        except KafkaError as error:
            raise self._refusal() or error from None
        place, segments = advanced(self.place, position, mark, runs, (end for _, end in forgotten))
        await self._put(
            [
                *((segment_tombstone(source, first), None) for first, _ in forgotten),
                *(segment_record(source, segment) for segment in segments),
            ],
            place,
        )

    async def reset(self, position: int | None, segments: Iterable[int]) -> None:
        """Move the place to another source offset, after the records there were replaced.

        Args:
            position: Where to continue; None: the partition does not exist any more, and its place is deleted.
            segments: The partition's old segments in the table, by first source offset.

        Raises:
            KafkaError: The outcome is unknown.
        """
        source, route = self._route.source, self._route
        forgotten: list[TableRecord] = [(segment_tombstone(source, first), None) for first in segments]
        if position is None:
            await self._transact(self._main, [*forgotten, (place_record(source, self.place)[0], None)])
        else:
            await self._put(forgotten, Place(route.target.topic, position, route.generation, (), position))

    def close(self) -> None:
        """Discard the writer. Uncommitted records are aborted."""
        for producer in {self._main, *self._producers.values()}:
            producer.close()

    def _new_producer(self, path: tuple[str, ...]) -> TransactionalProducer:
        # Topic names contain no slash, so the ids of different partitions differ.
        before = ",".join(path[:-1])
        return TransactionalProducer(self._pool, f"{self._route.transactional_id}/{before}", self._route.timeout_ms)

    async def _producer(self, path: tuple[str, ...]) -> TransactionalProducer:
        """Return the producer of a path, after storing the path if it is new."""
        producer = self._producers.get(path)
        if producer is None:
            if path == (self._route.source.cluster_id,):
                producer = self._main
            else:
                producer = self._new_producer(path)
                await producer.fence()
            await self._write_path(producer.producer_id, path)
            self._producers[path] = producer
        return producer

    async def _write_path(self, producer_id: int, path: tuple[str, ...]) -> None:
        """Store a producer's path, and close or delete the paths that it replaces."""
        own = ProducerPath(self._route.source, path)
        records: list[TableRecord] = [path_record(producer_id, own)]
        replaced = {
            number: each
            for number, each in self._table.offsets.producers.items()
            if (each.source, each.path) == (own.source, own.path) and number != producer_id
        }
        if replaced:
            admin = OffsetAdmin(self._pool, PATIENCE_MS)
            (start,) = (await admin.offsets([self._route.target], EARLIEST)).values()
            (end,) = (await admin.offsets([self._route.target], LATEST)).values()
            for number, each in replaced.items():
                if each.end_offset is None:
                    records.append(path_record(number, each._replace(end_offset=end)))
                elif each.end_offset <= start:
                    records.append((path_tombstone(number, each), None))
        await self._transact(self._main, records)
        # A new transaction can begin only after the previous one is complete.
        await self._main.begin(_TABLE)
        await self._main.abort()

    async def _put(self, records: Sequence[TableRecord], place: Place) -> None:
        """Write records of the table and the place in one commit."""
        producer = self._main if self.path is None else self._producers[self.path]
        await self._transact(producer, [*records, place_record(self._route.source, place)])
        self.place = place
        self._sent, self._sent_bytes, self.path = [], 0, None

    async def _transact(self, producer: TransactionalProducer, records: Iterable[TableRecord]) -> None:
        """Write records of the table and commit, in the open transaction or in a new one."""
        if self.path is None:
            await producer.begin(_TABLE)
        builder = BatchBuilder()
        now_ms = self._pool.env.clock.now_ms()
        for key, value in records:
            builder.append(now_ms, key, value)
        await producer.send(_TABLE, builder.build(), builder.record_count)
        await producer.commit()

    def _refusal(self) -> RefusedBatchError | None:
        """Return the first rejected batch; None: the failure had another cause."""
        for task, batch in self._sent:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                if isinstance(error, KafkaError) and error.code in _REFUSALS:
                    return RefusedBatchError(batch.source_offsets[0], str(error))
                return None
        return None


def mirrored_elsewhere(source: SourcePartition, place: Place, target_topic: str) -> str:
    """Describe the conflict of a place with another target topic, whose records and offsets differ."""
    return (
        f"mirror {source.mirror}: {source.topic} of this cluster is mirrored to {place.target_topic}, not to "
        f"{target_topic}: give this one another --name"
    )
