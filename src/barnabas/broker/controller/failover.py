"""Takes over as controller: reads everything, tells everybody who is alive, and goes on with all that was under way.

Order: what is known; all brokers hear of all brokers; replicas that are alive hear what they are (those that know it
refuse, those that started meanwhile need it), the others leave those in sync; partitions without a leader get one; then
reassignments, deletions and elections that were asked for go on.

Who was away when nobody looked (the controller itself, above all) failed and came: it leaves those in sync, and hears
what it is when the others lead.

Source: replication.md, failover; Kafka 2.7.2, KafkaController.onControllerFailover.
"""

import logging
from collections.abc import Mapping

from barnabas.broker.controller.brokers import Admits, read_brokers
from barnabas.broker.controller.decisions import unnoticed_returns
from barnabas.broker.controller.deletion import queue_deletions, try_deletions
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.notifications import drop_notifications
from barnabas.broker.controller.old_requests import elect_as_asked, reassign_as_asked
from barnabas.broker.controller.partition_states import bring_waiting_online, read_states
from barnabas.broker.controller.reassignment import resume_reassignments
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import PartitionPhase, Replica, ReplicaPhase
from barnabas.broker.controller.term import Term, in_turns
from barnabas.broker.controller.topics import take_in_topics
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children

log = logging.getLogger(__name__)


async def take_over(term: Term, admits: Admits) -> None:
    """Make every partition what it should be.

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
    returned = await _settle_replicas(term, written)
    await _settle_partitions(term)
    await bring_waiting_online(term)
    await change_replicas(term, returned, ReplicaPhase.ONLINE)
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


async def _settle_replicas(term: Term, written: Mapping[TopicPartition, int]) -> list[Replica]:
    """Tell replicas what they are; those that were away when nobody looked, and are offline as yet.

    Args:
        written: The transactions that wrote the partitions' states.
    """
    state = term.state
    online: list[Replica] = []
    others: list[Replica] = []
    returned: list[Replica] = []
    async for partition in in_turns(state.partitions(state.topics)):
        leadership = state.leaders.get(partition)
        # differs from Kafka (unnoticed-return): it takes them for what the state says, be it the leader (KIP-966).
        away = (
            []
            if leadership is None or partition.topic in state.deleting
            else unnoticed_returns(state, partition, leadership.node, written[partition])
        )
        for broker_id in state.replicas(partition):
            replica = Replica(partition, broker_id)
            if not state.is_online(broker_id, partition):
                state.set_replica_phase(replica, ReplicaPhase.DELETION_INELIGIBLE)
                others.append(replica)
                continue
            state.set_replica_phase(replica, ReplicaPhase.ONLINE)
            (returned if broker_id in away else online).append(replica)
    if returned:
        log.info("%d replicas were away when nobody looked", len(returned))
    await change_replicas(term, online, ReplicaPhase.ONLINE)
    await change_replicas(term, [*others, *returned], ReplicaPhase.OFFLINE)
    return returned


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
