"""Reading between a claim and a release of partitions: combines fetchers, streams and stored offsets.

Invariants:

- After `stop` or `drop` returns, no stream returns messages of the released partitions, and none of their offsets is
  stored.
- Offsets are stored one commit at a time, so the last stored offset is the last consumed one.

Source: design document, the consumer; Kafka 0.8.2.2, closeFetchersForQueues.
"""

import asyncio
import logging
from collections.abc import Callable

from barnabas.api.connector.assignment import Assignment
from barnabas.api.connector.cluster import Cluster
from barnabas.api.connector.fetcher import Fetchers
from barnabas.api.connector.offset_storage import OffsetStorage
from barnabas.api.connector.state import Registration
from barnabas.api.connector.stream import OwnedPartition, Sink
from barnabas.core.errors import BarnabasError
from barnabas.core.types import NO_OFFSET, TopicPartition
from barnabas.wire.registry.znodes.consumers import ConsumerThread

log = logging.getLogger(__name__)


class StreamConsumption:
    """A `Consumption` that reads into streams."""

    def __init__(
        self,
        cluster: Cluster,
        fetchers: Fetchers,
        storage: OffsetStorage,
        registration: Registration,
        sink_of: Callable[[TopicPartition, ConsumerThread], Sink],
        *,
        commits_on_stop: bool,
    ) -> None:
        """Args:
        sink_of: Returns the sink for messages of a partition that a thread owns.
        commits_on_stop: Whether offsets are stored when partitions are released (auto.commit.enable).
        """
        self._cluster = cluster
        self._fetchers = fetchers
        self._storage = storage
        self._registration = registration
        self._sink_of = sink_of
        self._commits_on_stop = commits_on_stop
        self._partitions: dict[TopicPartition, OwnedPartition] = {}
        # Offsets of released partitions whose commit was interrupted; the commit is retried.
        self._unstored: dict[TopicPartition, int] = {}
        self._storing = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    async def start(self, assignment: Assignment) -> None:
        await self._cluster.refresh()
        offsets = await self._storage.fetch(list(assignment))
        self._partitions = {
            partition: OwnedPartition(partition, self._sink_of(partition, thread), offsets.get(partition, NO_OFFSET))
            for partition, thread in assignment.items()
        }
        self._fetchers.start(self._partitions.values())

    async def stop(self) -> None:
        # Take the fence of the current session, before any await.
        fence = self._registration.fence
        self._unstored |= self._release()
        try:
            if self._commits_on_stop:
                async with self._storing:
                    await self._storage.commit(self._unstored, fence, is_auto=True)
            self._unstored = {}
        except BarnabasError:
            self._unstored = {}
            raise

    def drop(self) -> None:
        self._release()
        self._unstored = {}

    def note_brokers(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def commit(self, *, is_auto: bool) -> None:
        """Store the consumed offsets of the owned partitions. Raises BarnabasError."""
        async with self._storing:
            offsets = {
                name: partition.consumed_offset
                for name, partition in self._partitions.items()
                if partition.consumed_offset >= 0
            }
            await self._storage.commit(offsets, self._registration.fence, is_auto=is_auto)

    async def close(self) -> None:
        """Cancel running work."""
        await self._fetchers.close()
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def _release(self) -> dict[TopicPartition, int]:
        """Stop the streams' reading of the owned partitions; return the known consumed offsets."""
        self._fetchers.stop()
        partitions, self._partitions = self._partitions, {}
        offsets = {name: partition.release() for name, partition in partitions.items()}
        for sink in {partition.sink for partition in partitions.values()}:
            sink.clear()
        return {name: offset for name, offset in offsets.items() if offset >= 0}

    async def _refresh(self) -> None:
        try:
            await self._cluster.refresh()
        except BarnabasError as error:
            log.info("cannot read the registered brokers: %s", error)
