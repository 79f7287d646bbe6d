"""Takes over as controller: reads the registry, sends everything to the live brokers, and resumes unfinished work.

Order: read the registry; send all brokers to all brokers; remove from the ISR the replicas that were offline unnoticed
(mostly those of the previous controller); send live replicas their state (brokers that have it reject it, brokers that
started meanwhile need it), and remove the others from the ISR; elect leaders for partitions without one; then resume
reassignments, deletions and requested elections.

Source: replication.md, failover; Kafka 2.7.2, KafkaController.onControllerFailover.
"""

import logging
from collections.abc import Mapping

from barnabas.broker.controller.brokers import Admits, read_brokers
from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.deletion import queue_deletions, try_deletions
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.leader_election import unnoticed_returns, without_replica
from barnabas.broker.controller.notifications import drop_notifications
from barnabas.broker.controller.partition_states import bring_waiting_online, read_states, write_states
from barnabas.broker.controller.reassignment import resume_reassignments
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import PartitionPhase, Replica, ReplicaPhase
from barnabas.broker.controller.topics import take_in_topics
from barnabas.broker.controller.znode_requests import elect_as_asked, reassign_as_asked
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.znodes.topics import PartitionStateNode

log = logging.getLogger(__name__)


async def take_over(context: ControllerContext, admits: Admits) -> None:
    """Read the registry, then bring every partition to its correct state.

    Raises:
        ControllerMovedError: Another broker was elected meanwhile.
    """
    state = context.state
    await drop_notifications(context)
    state.brokers = await read_brokers(context, admits)
    asked = set(await context.registry.children(paths.DELETE_TOPICS, context.watch(Signal.DELETIONS_CHANGED)))
    await take_in_topics(
        context, await context.registry.children(paths.BROKER_TOPICS, context.watch(Signal.TOPICS_CHANGED))
    )
    written = await read_states(context.registry, state, state.partitions(state.topics))
    for broker_id in state.brokers:
        context.sender.add(broker_id)
    await _queue_deletions(context, asked)
    await context.send_update_metadata()
    await _take_out_returned(context, written)
    await _settle_replicas(context)
    await _settle_partitions(context)
    await bring_waiting_online(context)
    await reassign_as_asked(context)
    await resume_reassignments(context)
    await try_deletions(context, state.deleting)
    await elect_as_asked(context)


async def _queue_deletions(context: ControllerContext, asked: set[str]) -> None:
    state = context.state
    kept = asked & state.topics.keys() if context.config.delete_topic_enable else set()
    queue_deletions(state, kept)
    for topic in sorted(asked - kept):
        await delete_with_children(context.registry, paths.delete_topic(topic))
    for replica in (each for topic in kept for each in state.topic_replicas(topic)):
        if not state.is_online(replica.broker_id, replica.partition):
            state.deletion_ineligible.add(replica.partition.topic)


async def _take_out_returned(context: ControllerContext, written: Mapping[TopicPartition, int]) -> None:
    """Remove from the ISR the replicas that restarted without the controller noticing.

    Args:
        written: For each partition, the transaction that wrote its state.
    """
    # differs from Kafka (unnoticed-return): Kafka trusts the state, even for a replica that leads (KIP-966).
    state = context.state
    returned: dict[TopicPartition, list[int]] = {}
    async for partition in in_time_slices(written):
        leadership = state.leaders.get(partition)
        if leadership is not None and partition.topic not in state.deleting:
            away = unnoticed_returns(state, partition, leadership.node, written[partition])
            if away:
                returned[partition] = away
    if not returned:
        return
    log.info("replicas of %d partitions were offline without a controller noticing", len(returned))

    def decide(partition: TopicPartition, current: PartitionStateNode) -> PartitionStateNode | None:
        left: PartitionStateNode | None = None
        for broker_id in returned[partition]:
            left = without_replica(left or current, broker_id, state.epoch) or left
        return left

    await write_states(context, returned, decide)


async def _settle_replicas(context: ControllerContext) -> None:
    state = context.state
    online: list[Replica] = []
    others: list[Replica] = []
    async for partition in in_time_slices(state.partitions(state.topics)):
        for broker_id in state.replicas(partition):
            replica = Replica(partition, broker_id)
            if state.is_online(broker_id, partition):
                state.set_replica_phase(replica, ReplicaPhase.ONLINE)
                online.append(replica)
            else:
                state.set_replica_phase(replica, ReplicaPhase.DELETION_INELIGIBLE)
                others.append(replica)
    await change_replicas(context, online, ReplicaPhase.ONLINE)
    await change_replicas(context, others, ReplicaPhase.OFFLINE)


async def _settle_partitions(context: ControllerContext) -> None:
    state = context.state
    async for partition in in_time_slices(state.partitions(state.topics)):
        leadership = state.leaders.get(partition)
        if leadership is None:
            phase = PartitionPhase.NEW
        elif state.is_online(leadership.node.leader, partition):
            phase = PartitionPhase.ONLINE
        else:
            phase = PartitionPhase.OFFLINE
        state.set_phase(partition, phase)
