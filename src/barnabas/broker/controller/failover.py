"""Takes over as controller: reads the registry, sends everything to the live brokers, and resumes unfinished work.

Order: read the registry; send all brokers to all brokers; remove from the ISR the replicas that were offline unnoticed
(above all those of the last controller); send live replicas their state (brokers that know it refuse, brokers that
started meanwhile need it), and remove the others from the ISR; elect leaders for partitions without one; then resume
reassignments, deletions and requested elections.

Source: replication.md, failover; Kafka 2.7.2, KafkaController.onControllerFailover.
"""

import logging
from collections.abc import Mapping

from barnabas.broker.controller.brokers import Admits, read_brokers
from barnabas.broker.controller.decisions import unnoticed_returns, without_replica
from barnabas.broker.controller.deletion import queue_deletions, try_deletions
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.notifications import drop_notifications
from barnabas.broker.controller.old_requests import elect_as_asked, reassign_as_asked
from barnabas.broker.controller.partition_states import bring_waiting_online, read_states, write_states
from barnabas.broker.controller.reassignment import resume_reassignments
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import PartitionPhase, Replica, ReplicaPhase
from barnabas.broker.controller.term import Term
from barnabas.broker.controller.topics import take_in_topics
from barnabas.core.turns import in_turns
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.znodes.topics import PartitionStateNode

log = logging.getLogger(__name__)


async def take_over(term: Term, admits: Admits) -> None:
    """Read the registry, then bring every partition to its correct state.

    Raises:
        ControllerMovedError: Another broker was elected meanwhile.
    """
    state = term.state
    await drop_notifications(term)
    state.brokers = await read_brokers(term, admits)
    asked = set(await term.registry.children(paths.DELETE_TOPICS, term.watch(Signal.DELETIONS_CHANGED)))
    await take_in_topics(term, await term.registry.children(paths.BROKER_TOPICS, term.watch(Signal.TOPICS_CHANGED)))
    written = await read_states(term.registry, state, state.partitions(state.topics))
    for broker_id in state.brokers:
        term.sender.add(broker_id)
    await _queue_deletions(term, asked)
    await term.tell_brokers()
    await _take_out_returned(term, written)
    await _settle_replicas(term)
    await _settle_partitions(term)
    await bring_waiting_online(term)
    await reassign_as_asked(term)
    await resume_reassignments(term)
    await try_deletions(term, state.deleting)
    await elect_as_asked(term)


async def _queue_deletions(term: Term, asked: set[str]) -> None:
    state = term.state
    kept = asked & state.topics.keys() if term.config.delete_topic_enable else set()
    queue_deletions(state, kept)
    for topic in sorted(asked - kept):
        await delete_with_children(term.registry, paths.delete_topic(topic))
    for replica in (each for topic in kept for each in state.topic_replicas(topic)):
        if not state.is_online(replica.broker_id, replica.partition):
            state.deletion_ineligible.add(replica.partition.topic)


async def _take_out_returned(term: Term, written: Mapping[TopicPartition, int]) -> None:
    """Remove from the ISR the replicas that restarted without the controller noticing.

    Args:
        written: The transactions that wrote the partitions' states.
    """
    # differs from Kafka (unnoticed-return): it takes them for what the state says, be it the leader (KIP-966).
    state = term.state
    returned: dict[TopicPartition, list[int]] = {}
    async for partition in in_turns(written):
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

    await write_states(term, returned, decide)


async def _settle_replicas(term: Term) -> None:
    state = term.state
    online: list[Replica] = []
    others: list[Replica] = []
    async for partition in in_turns(state.partitions(state.topics)):
        for broker_id in state.replicas(partition):
            replica = Replica(partition, broker_id)
            if state.is_online(broker_id, partition):
                state.set_replica_phase(replica, ReplicaPhase.ONLINE)
                online.append(replica)
            else:
                state.set_replica_phase(replica, ReplicaPhase.DELETION_INELIGIBLE)
                others.append(replica)
    await change_replicas(term, online, ReplicaPhase.ONLINE)
    await change_replicas(term, others, ReplicaPhase.OFFLINE)


async def _settle_partitions(term: Term) -> None:
    state = term.state
    async for partition in in_turns(state.partitions(state.topics)):
        leadership = state.leaders.get(partition)
        if leadership is None:
            phase = PartitionPhase.NEW
        elif state.is_online(leadership.node.leader, partition):
            phase = PartitionPhase.ONLINE
        else:
            phase = PartitionPhase.OFFLINE
        state.set_phase(partition, phase)
