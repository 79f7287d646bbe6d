"""A running consumer: its session, its membership and its streams, all on one event loop.

Source: design document, the consumer; Kafka 0.8.2.2, ZookeeperConsumerConnector.
"""

import asyncio
import logging
from collections.abc import Callable

from barnabas.api.connector.cluster import Cluster
from barnabas.api.connector.consumption import StreamConsumption
from barnabas.api.connector.fetcher import Fetchers, FetchOptions
from barnabas.api.connector.membership import Membership, MembershipOptions
from barnabas.api.connector.offset_storage import DualOffsets, KafkaOffsets, OffsetStorage, ZooKeeperOffsets
from barnabas.api.connector.state import Registration
from barnabas.api.connector.stream import Sink
from barnabas.api.settings import Settings
from barnabas.clients.environment import ClientEnvironment
from barnabas.clients.pool import Pool
from barnabas.clients.security import client_security
from barnabas.core.dice import new_uuid
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.store import Registry
from barnabas.wire.registry.znodes.consumers import ConsumerThread, Subscription

log = logging.getLogger(__name__)


def consumer_name(settings: Settings, env: ClientEnvironment, host_name: str) -> str:
    """Return the name below ids: `<group>_<host>-<ms>-<8 hex digits>`, or with consumer.id `<group>_<consumer.id>`."""
    given = settings.text("consumer.id")
    unique = given or f"{host_name}-{env.clock.now_ms()}-{new_uuid(env.dice).hex()[:8]}"
    return f"{settings.text('group.id')}_{unique}"


def uses_dual_commit(settings: Settings) -> bool:
    """Return whether offsets are stored in Kafka and in ZooKeeper."""
    if settings.text("offsets.storage") != "kafka":
        return False
    return "dual.commit.enabled" not in settings.given or settings.boolean("dual.commit.enabled")


class RunningConsumer:
    """One running consumer, from `start` to `stop`."""

    def __init__(
        self,
        registry: Registry,
        settings: Settings,
        env: ClientEnvironment,
        consumer: str,
        subscription: Subscription,
        sink_of: Callable[[TopicPartition, ConsumerThread], Sink],
    ) -> None:
        """Args:
        registry: The session of this consumer alone; closed by `stop`.
        consumer: Its name, see `consumer_name`.
        sink_of: Returns the sink for messages of a partition that a thread owns.
        """
        self._registry = registry
        group_id = settings.text("group.id")
        security = client_security(settings.security)

        def new_pool(servers: str) -> Pool:
            wait_ms = settings.integer("fetch.wait.max.ms")
            return Pool(
                servers,
                settings.text("client.id") or group_id,
                connect_timeout_ms=settings.integer("socket.timeout.ms"),
                request_timeout_ms=settings.integer("socket.timeout.ms") + wait_ms,
                env=env,
                security=security,
            )

        protocol = settings.security.get("security.protocol", "PLAINTEXT").upper()
        self._cluster = Cluster(registry, new_pool, protocol)
        self.fetchers = Fetchers(
            self._cluster,
            FetchOptions(
                settings.integer("fetch.message.max.bytes"),
                settings.integer("fetch.min.bytes"),
                settings.integer("fetch.wait.max.ms"),
                settings.integer("refresh.leader.backoff.ms"),
                settings.text("auto.offset.reset"),
            ),
        )
        registration = Registration(group_id, consumer)
        storage = self._new_storage(settings)
        self._commits_by_itself = settings.boolean("auto.commit.enable")
        self._commit_interval_ms = settings.integer("auto.commit.interval.ms")
        self.consumption = StreamConsumption(
            self._cluster, self.fetchers, storage, registration, sink_of, commits_on_stop=self._commits_by_itself
        )
        backoff = "rebalance.backoff.ms" if "rebalance.backoff.ms" in settings.given else "zookeeper.sync.time.ms"
        self.membership = Membership(
            registry,
            group_id,
            registration,
            subscription,
            self.consumption,
            MembershipOptions(
                settings.integer("rebalance.max.retries"),
                settings.integer(backoff),
                settings.text("partition.assignment.strategy"),
                settings.boolean("exclude.internal.topics"),
            ),
        )
        self._committing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Join the group and read the partitions assigned to this consumer.

        Raises:
            ConsumerRebalanceFailedError: The rebalance failed. The caller must still call `stop`.
        """
        await self.membership.join()
        if self._commits_by_itself:
            self._committing = asyncio.get_running_loop().create_task(self._commit_now_and_then())

    async def stop(self) -> None:
        """Leave the group and end the session.

        Raises:
            BarnabasError: The offsets could not be stored; the consumer has stopped all the same.
        """
        if self._committing is not None:
            self._committing.cancel()
            await asyncio.gather(self._committing, return_exceptions=True)
        try:
            await self.membership.leave()
        finally:
            await self.consumption.close()
            await self._cluster.close()
            await self._registry.close()

    async def commit_offsets(self) -> None:
        """Store the consumed offsets. Raises BarnabasError."""
        await self.consumption.commit(is_auto=False)

    def _new_storage(self, settings: Settings) -> OffsetStorage:
        group_id = settings.text("group.id")
        zookeeper = ZooKeeperOffsets(self._registry, group_id)
        if settings.text("offsets.storage") == "zookeeper":
            return zookeeper
        kafka = KafkaOffsets(
            self._cluster,
            self._registry,
            group_id,
            timeout_ms=settings.integer("offsets.channel.socket.timeout.ms"),
            backoff_ms=settings.integer("offsets.channel.backoff.ms"),
            max_retries=settings.integer("offsets.commit.max.retries"),
        )
        return DualOffsets(kafka, zookeeper) if uses_dual_commit(settings) else kafka

    async def _commit_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self._commit_interval_ms / 1000)
            try:
                await self.consumption.commit(is_auto=True)
            except BarnabasError as error:
                log.warning("%s: offsets were not stored: %s", self.membership.consumer, error)
