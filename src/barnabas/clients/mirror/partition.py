"""Mirrors one partition: reads the source's log, skips records that come from the target, and writes the rest."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from barnabas.clients.mirror.batches import REWRITTEN_BYTES, FoundBatch, outgoing
from barnabas.clients.mirror.offsets import BatchMark, SourcePartition
from barnabas.clients.mirror.plan import MirrorPlan
from barnabas.clients.mirror.source_log import read_log, read_mark
from barnabas.clients.mirror.table import OffsetTable, SourcePaths
from barnabas.clients.mirror.writer import PartitionWriter, RefusedBatchError, Route
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.errors import CorruptRecordsError


class UnmirrorableError(BarnabasError):
    """The target cannot store a source record: one line that names the partition and the offset."""


class Link:
    """Connections to a source and a target, and the state of their tables.

    Attributes:
        plan: The plan of the mirror.
        source, target: Connections.
        table: The target's offset table.
        source_id, target_id: The cluster ids; empty before they are known.
        generation: Sequence number of this process among the mirror's processes; 0 before it is known.
    """

    def __init__(self, plan: MirrorPlan) -> None:
        """Create a link without connections. Raises BarnabasError: an option or an address is invalid."""
        self.plan = plan
        self.source = plan.source.pool()
        self.target = plan.target.pool()
        self.table = OffsetTable(self.target)
        self.paths = SourcePaths(OffsetTable(self.source))
        self.source_id = self.target_id = ""
        self.generation = 0

    def partition(self, topic: str, number: int) -> SourcePartition:
        """Return the key of a source partition in the table."""
        return SourcePartition(self.plan.name, self.source_id, topic, number)

    def target_partition(self, topic: str, number: int) -> TopicPartition:
        """Return the target's partition for a source partition."""
        return TopicPartition(self.plan.target_topic(topic), number)

    async def open_writer(self, topic: str, number: int, start_offset: int) -> PartitionWriter:
        """Return a writer of one partition, which resumes from its place; without one, from an offset.

        Raises:
            KafkaError, MirrorFencedError: As `PartitionWriter.open`.
        """
        source, target = self.partition(topic, number), self.target_partition(topic, number)
        timeout_ms = self.plan.target.transaction_timeout_ms
        route = Route(source, self.plan.alias, target, self.generation, timeout_ms)
        return await PartitionWriter.open(route, self.target, self.table, start_offset)

    async def close(self) -> None:
        """Close the connections."""
        await self.source.close()
        await self.target.close()


@dataclass(slots=True)
class Mirrored:
    """What was mirrored of a range of offsets.

    Attributes:
        position: The next offset to be mirrored.
        record_count, payload_bytes: Records written to the target, and the bytes of their batches.
        skipped_count: Records that were skipped, because they came from the target.
    """

    position: int
    record_count: int = 0
    payload_bytes: int = 0
    skipped_count: int = 0

    def take(self, more: "Mirrored") -> None:
        """Add another part and its position; its counts become 0."""
        self.position = more.position
        self.record_count += more.record_count
        self.payload_bytes += more.payload_bytes
        self.skipped_count += more.skipped_count
        more.record_count = more.payload_bytes = more.skipped_count = 0


class PartitionMirror:
    """The mirror of one partition; keeps its writer between ranges."""

    def __init__(self, link: Link, source: TopicPartition) -> None:
        """Create a partition mirror; no request is sent yet."""
        self._link = link
        self._source = source
        self._writer: PartitionWriter | None = None

    async def mirror(
        self,
        done: Mirrored,
        end_offset: int,
        forgotten: Sequence[tuple[int, int]] = (),
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Mirror a range of offsets, starting from the partition's place.

        Args:
            done: What is committed is added to it, also before an error. Its position is where to begin if the target
                has no place of this partition.
            end_offset: Exclusive end; at most the last stable offset.
            forgotten: Segments to delete from the table, by first source offset and end.
            is_stopped: Returns whether to stop after the current transaction.

        Raises:
            UnmirrorableError: A record cannot be mirrored.
            MirrorFencedError: Another process has taken over.
            KafkaError: A request failed; a retry may succeed. OFFSET_OUT_OF_RANGE: records were deleted before they
                were mirrored, or the topic was deleted and created again.
        """
        refusal: RefusedBatchError | None = None
        for rewritten_bytes in (None, REWRITTEN_BYTES, 1):
            try:
                if self._writer is None:
                    # Without a leader, a transaction could be neither committed nor aborted.
                    await self._link.target.leader(self._link.target_partition(*self._source))
                    self._writer = await self._link.open_writer(*self._source, done.position)
                await self._check_source(self._writer.place.batch)
                await self._copy(self._writer, done, end_offset, forgotten, is_stopped, rewritten_bytes)
                return
            except RefusedBatchError as error:
                # The target rejects the batch as it is: try again with smaller, rewritten batches.
                self.close()
                refusal = error
            except CorruptRecordsError as error:
                self.close()
                raise UnmirrorableError(f"the source's data is damaged: {error}") from None
            except BaseException:
                self.close()
                raise
        assert refusal is not None
        raise UnmirrorableError(f"partition {self._source}, offset {refusal.offset}: the target refuses it: {refusal}")

    def close(self) -> None:
        """Close the writer. Uncommitted records are aborted."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _check_source(self, mark: BatchMark | None) -> None:
        """Check that the last read batch is unchanged, before its mark is replaced. Raises KafkaError."""
        there = None if mark is None else await read_mark(self._link.source, self._source, mark.offset)
        if mark is not None and there not in (None, mark):
            text = f"partition {self._source}: another batch is at offset {mark.offset}: the topic was created again"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, text)

    async def _copy(
        self,
        writer: PartitionWriter,
        done: Mirrored,
        end_offset: int,
        forgotten: Sequence[tuple[int, int]],
        is_stopped: Callable[[], bool],
        rewritten_bytes: int | None,
    ) -> None:
        # Since the last commit.
        read = Mirrored(writer.position)
        mark = None
        log = read_log(self._link.source, self._source, writer.position, end_offset)
        async with aclosing(log):
            async for batches in log:
                if is_stopped():
                    end_offset = 0
                    break
                for batch in batches:
                    path = await self._path_of(batch, read)
                    if path is not None:
                        if writer.path is not None and (writer.path != path or writer.is_full):
                            await writer.commit(read.position, mark)
                            done.take(read)
                        await self._write(writer, path, batch, read, rewritten_bytes)
                    read.position, mark = batch.end_offset, batch.mark
        read.position = max(read.position, end_offset)
        if read.position > writer.position or writer.path is not None:
            await writer.commit(read.position, mark, forgotten)
        done.take(read)

    async def _path_of(self, batch: FoundBatch, read: Mirrored) -> tuple[str, ...] | None:
        """Return the clusters that a batch has passed, the source included; None: it must be skipped."""
        if not batch.is_data:
            return None
        path = await self._link.paths.path_of(batch.header.producer_id)
        if self._link.target_id in path:
            if isinstance(batch.header, BatchHeader):
                read.skipped_count += batch.header.record_count
            return None
        return (*path, self._link.source_id)

    async def _write(
        self,
        writer: PartitionWriter,
        path: tuple[str, ...],
        batch: FoundBatch,
        read: Mirrored,
        rewritten_bytes: int | None,
    ) -> None:
        try:
            for each in outgoing(batch, read.position, rewritten_bytes):
                size = len(each.data)
                await writer.add(path, each)
                read.record_count += len(each.source_offsets)
                read.payload_bytes += size
        except CorruptRecordsError as error:
            place = f"partition {self._source}, at offset {read.position}"
            raise CorruptRecordsError(f"{place}: {error}") from None
