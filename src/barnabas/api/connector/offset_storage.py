"""Storage of a group's offsets: in ZooKeeper, in Kafka (`__consumer_offsets`), or in both during a migration.

    zookeeper            read from and written to ZooKeeper
    kafka                read from and written to Kafka
    kafka, dual commit   written to Kafka, then to ZooKeeper; read from both, and the larger offset is used

Invariant: every write to ZooKeeper is a transaction that fails if the session in which it was decided has expired. A
write that waited for a connection while the session expired changes nothing.

Source: configuration documents of 0.8.2, offsets.storage and dual.commit.enabled; Kafka 0.8.2.2,
ZookeeperConsumerConnector, commitOffsets and fetchOffsets.
"""

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from barnabas.api.connector.cluster import Cluster
from barnabas.api.connector.errors import OffsetCommitError
from barnabas.clients.admin_groups import GroupAdmin
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import CheckOp, CreateOp, NodeExistsError, NoNodeError, Registry, RegistryError, SetOp
from barnabas.wire.registry.znodes.consumers import decode_offset, encode_offset

T = TypeVar("T")

Offsets = Mapping[TopicPartition, int]


class OffsetStorage(Protocol):
    """Stores one group's offsets."""

    async def fetch(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the stored offsets of these partitions. Raises BarnabasError."""
        ...

    async def commit(self, offsets: Offsets, fence: CheckOp, *, is_auto: bool) -> None:
        """Store offsets; unchanged ones need not be written again.

        Args:
            fence: The fence of the session in which the partitions were owned.
            is_auto: The commit is automatic, and not retried, because another one follows soon.

        Raises:
            BarnabasError: Not all offsets were stored, or the outcome is unknown.
        """
        ...


class ZooKeeperOffsets:
    """Stores offsets in ZooKeeper."""

    def __init__(self, registry: Registry, group_id: str) -> None:
        self._registry = registry
        self._group_id = group_id
        # The offsets known to be stored.
        self._stored: dict[TopicPartition, int] = {}

    async def fetch(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        self._stored.clear()
        wanted = list(partitions)
        nodes = await self._registry.get_many([self._path(partition) for partition in wanted])
        self._stored = {
            partition: decode_offset(node[0])
            for partition, node in zip(wanted, nodes, strict=True)
            if node is not None and node[0]
        }
        return dict(self._stored)

    async def commit(self, offsets: Offsets, fence: CheckOp, *, is_auto: bool) -> None:
        changed = {partition: offset for partition, offset in offsets.items() if self._stored.get(partition) != offset}
        for partition, offset in changed.items():
            try:
                await self._write(self._path(partition), encode_offset(offset), fence)
            except RegistryError as error:
                raise OffsetCommitError(f"the offset of {partition} was not stored: {error}") from error
            self._stored[partition] = offset

    async def _write(self, path: str, data: bytes, fence: CheckOp) -> None:
        try:
            await self._registry.multi([fence, SetOp(path, data)])
            return
        except NoNodeError:
            if await self._registry.exists(fence.path) is None:
                raise OffsetCommitError(f"offsets not stored: {fence.path} is gone with its session") from None
        try:
            await create_with_parents(self._registry, paths.parent(path))
        except NodeExistsError:
            pass
        try:
            # Create the node with its data: a node without data, left by a consumer that died, would be unreadable.
            await self._registry.multi([fence, CreateOp(path, data)])
        except NodeExistsError:
            await self._registry.multi([fence, SetOp(path, data)])

    def _path(self, partition: TopicPartition) -> str:
        return paths.consumer_offset(self._group_id, partition.topic, partition.partition)


class KafkaOffsets:
    """Stores offsets with the group's coordinator, for a group without members there."""

    def __init__(
        self,
        cluster: Cluster,
        registry: Registry,
        group_id: str,
        *,
        timeout_ms: int,
        backoff_ms: int,
        max_retries: int,
    ) -> None:
        """Args:
        registry: The registry with this consumer's registration.
        timeout_ms: offsets.channel.socket.timeout.ms.
        backoff_ms: offsets.channel.backoff.ms.
        max_retries: offsets.commit.max.retries, for commits that are not automatic.
        """
        self._cluster = cluster
        self._registry = registry
        self._group_id = group_id
        self._timeout_ms = timeout_ms
        self._backoff_ms = backoff_ms
        self._max_retries = max_retries

    async def fetch(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if not partitions:
            return {}
        while True:
            try:
                return await self._in_time(
                    self._admin().committed_offsets(self._group_id, partitions, allow_auto_topic_creation=True)
                )
            except KafkaError as error:
                if error.code not in RETRIABLE:
                    raise
                # Retry forever, as Kafka does: another start offset would lose or repeat messages.
                await asyncio.sleep(self._backoff_ms / 1000)

    async def commit(self, offsets: Offsets, fence: CheckOp, *, is_auto: bool) -> None:
        if not offsets:
            return
        retries = 0 if is_auto else self._max_retries
        while True:
            await self._check_session(fence)
            try:
                await self._in_time(self._admin().commit_offsets(self._group_id, offsets))
                return
            except BarnabasError as error:
                if not retries:
                    raise OffsetCommitError(
                        f"the offsets of group {self._group_id} were not stored: {error}"
                    ) from error
            retries -= 1
            await asyncio.sleep(self._backoff_ms / 1000)

    async def _in_time(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                return await call
        except TimeoutError:
            text = f"the coordinator of group {self._group_id} did not answer within {self._timeout_ms} ms"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, text) from None

    def _admin(self) -> GroupAdmin:
        # Without retries.
        return GroupAdmin(self._cluster.pool, timeout_ms=0)

    async def _check_session(self, fence: CheckOp) -> None:
        """Raise OffsetCommitError if the session has expired, because the coordinator does not know the owners."""
        try:
            await self._registry.multi([fence])
        except RegistryError as error:
            raise OffsetCommitError(f"offsets not stored: {fence.path} is gone with its session") from error


class DualOffsets:
    """Stores offsets in both, while a group moves from ZooKeeper to Kafka or back."""

    def __init__(self, kafka: OffsetStorage, zookeeper: OffsetStorage) -> None:
        self._kafka = kafka
        self._zookeeper = zookeeper

    async def fetch(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        kafka = await self._kafka.fetch(partitions)
        zookeeper = await self._zookeeper.fetch(partitions)
        return {
            partition: max(offsets[partition] for offsets in (kafka, zookeeper) if partition in offsets)
            for partition in {**kafka, **zookeeper}
        }

    async def commit(self, offsets: Offsets, fence: CheckOp, *, is_auto: bool) -> None:
        await self._kafka.commit(offsets, fence, is_auto=is_auto)
        await self._zookeeper.commit(offsets, fence, is_auto=is_auto)
