"""The replicas of this broker, their replication, and the coordinators of groups and transactions.

    follower replicas ─► fetchers ─────────────────────► their leaders
    leader replicas ───► changes of in-sync replicas ──► the controller, or before 2.7-IV2 the registry

Source: semantics, replication, groups and transactions; `inter.broker.protocol.version`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.cluster.image import ImageChange
from barnabas.broker.coordination.partitioning import coordinated_partition_count
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.interbroker.channels import ISR_LANE, BrokerChannels
from barnabas.broker.interbroker.versions import NOT_USED, version_of
from barnabas.broker.log.manager import LogManager
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.alter_isr_manager import AlterIsrManager
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.broker.replicas.leader_replicas import LeaderReplicas
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.replicas.registry_isr_changes import RegistryIsrChanges
from barnabas.broker.server.node_context import NodeContext
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from barnabas.core.config import TopicConfig
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Pending
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse

# The first version of a fetch that has the leader epoch.
_FETCH_WITH_EPOCHS = 9


@dataclass(frozen=True, slots=True)
class Replication:
    """Attributes:
    fetchers: Fetch the partitions that this broker follows.
    channels: Channels to the inter-broker listeners.
    controller_channels: Channels to the controller, which may have a listener for that purpose only.
    """

    replicas: ReplicaManager
    fetchers: Fetchers
    channels: BrokerChannels
    controller_channels: BrokerChannels


def build_replication(
    context: NodeContext,
    *,
    logs: LogManager,
    topic_config: Callable[[str], TopicConfig],
    fetches: Purgatory,
    quota: ReplicationQuota,
) -> Replication:
    """Build the replication of recovered logs.

    Args:
        quota: The quota of throttled partitions.
    """
    env, config, broker_id, view = context.env, context.config, context.broker_id, context.view
    replicas = ReplicaManager(
        broker_id,
        logs,
        fetches,
        topic_config,
        context.executors.append,
        env.loop.call_soon,
        LeaderReplicas(
            broker_id,
            env.clock,
            env.timers,
            fetches,
            lambda: config.replica_lag_time_max_ms,
            lambda broker_id: broker_id in view.image.brokers,
            expels_losers=version_of(ApiKey.FETCH, config.inter_broker_protocol_version) >= _FETCH_WITH_EPOCHS,
        ),
    )
    logs.watch_high_watermarks(replicas.high_watermarks)
    channels, controller_channels = (
        context.build_channels(listener_name, f"broker-{broker_id}", lambda: config.request_timeout_ms)
        for listener_name in (config.inter_broker_listener, config.control_plane_listener)
    )
    if version_of(ApiKey.ALTER_ISR, config.inter_broker_protocol_version) == NOT_USED:
        replicas.leader_replicas.changes = RegistryIsrChanges(context.registry, env.clock, env.timers, context.spawner)
    else:
        replicas.leader_replicas.changes = AlterIsrSender(context, controller_channels).changes
    fetchers = replicas.fetchers = Fetchers(broker_id, config, channels, quota, env.timers, env.clock)
    return Replication(replicas, fetchers, channels, controller_channels)


class AlterIsrSender:
    """Sends ISR changes to the current controller. Owned by the event loop."""

    def __init__(self, context: NodeContext, channels: BrokerChannels) -> None:
        config, view = context.config, context.view
        self._view = view
        self._channels = channels
        self._controller = (-1, 0)
        self._version = version_of(ApiKey.ALTER_ISR, config.inter_broker_protocol_version)
        self._timeout_ms = config.controller_socket_timeout_ms
        self.changes = AlterIsrManager(
            context.broker_id, lambda: view.broker_epoch, self._alter_isr, context.env.timers
        )
        view.on_change(self._on_image)

    def _alter_isr(self, request: AlterIsrRequest) -> Pending[AlterIsrResponse]:
        controller_id = self._view.image.controller_id
        return self._channels.send(controller_id, request, self._version, AlterIsrResponse, ISR_LANE, self._timeout_ms)

    def _on_image(self, change: ImageChange) -> None:
        image = change.image
        controller = image.controller_id, image.controller_epoch
        if controller != self._controller:
            # The previous controller may never answer.
            before, self._controller = self._controller, controller
            self.changes.controller_changed()
            self._channels.drop(before[0], ISR_LANE)


async def build_groups(
    context: NodeContext, *, replicas: ReplicaManager, most_bytes: int, diagnostics: DiagnosticStore | None
) -> GroupCoordinator:
    """Build the group coordinator; the caller starts it."""
    config, env, topic = context.config, context.env, GROUP_OFFSETS_TOPIC
    return GroupCoordinator(
        config,
        env.clock,
        env.timers,
        context.executors.log,
        replicas,
        await coordinated_partition_count(context.registry, topic, config.offsets_topic_num_partitions),
        env.dice,
        most_bytes,
        None if diagnostics is None else diagnostics.rebalances,
    )


async def build_transactions(
    context: NodeContext,
    *,
    replication: Replication,
    producer_ids: ProducerIds,
    most_bytes: int,
    diagnostics: DiagnosticStore | None,
) -> TransactionCoordinator:
    """Build the transaction coordinator; the caller starts it."""
    config, env, topic = context.config, context.env, TRANSACTION_STATE_TOPIC
    return TransactionCoordinator(
        config,
        env.clock,
        env.timers,
        context.executors.log,
        replication.replicas,
        await coordinated_partition_count(context.registry, topic, config.transaction_state_log_num_partitions),
        context.view,
        replication.channels,
        producer_ids,
        context.spawner,
        most_bytes,
        None if diagnostics is None else diagnostics.aborts,
    )


def follow_leadership(
    *, replicas: ReplicaManager, groups: GroupCoordinator, transactions: TransactionCoordinator
) -> None:
    """Load and unload the coordinators' partitions whenever this broker starts or stops leading them."""
    coordinators: dict[str, GroupCoordinator | TransactionCoordinator] = {
        GROUP_OFFSETS_TOPIC: groups,
        TRANSACTION_STATE_TOPIC: transactions,
    }

    def on_leadership(led: list[Partition], resigned: list[TopicPartition]) -> None:
        for partition in led:
            coordinator = coordinators.get(partition.topic_partition.topic)
            if coordinator is not None:
                coordinator.on_partition_leader(partition.topic_partition.partition, partition.leader_epoch)
        for topic_partition in resigned:
            coordinator = coordinators.get(topic_partition.topic)
            if coordinator is not None:
                coordinator.on_partition_resigned(topic_partition.partition)

    replicas.on_leadership = on_leadership
