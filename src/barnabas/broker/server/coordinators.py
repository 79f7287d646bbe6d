"""The coordinators of this broker: groups and transactions.

Source: semantics, groups and transactions.
"""

from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.coordination.partitioning import coordinated_partition_count
from barnabas.broker.facts.store import Facts
from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.server.node_context import NodeContext
from barnabas.broker.server.replication import Replication
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.types import TopicPartition


async def build_groups(
    context: NodeContext, *, replicas: ReplicaManager, most_bytes: int, facts: Facts | None
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
        None if facts is None else facts.rebalances,
    )


async def build_transactions(
    context: NodeContext, *, replication: Replication, producer_ids: ProducerIds, most_bytes: int, facts: Facts | None
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
        None if facts is None else facts.aborts,
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
