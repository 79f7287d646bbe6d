"""Deletes topics: first the replicas, and their znodes once all brokers have confirmed.

A topic in `deletion_ineligible` waits for a dead broker of one of its replicas, a failed log directory, or the end of a
reassignment. Its other replicas are deleted meanwhile and stay deleted.

Order: brokers remove the topic from their metadata; each replica goes offline (and leaves the partition's state); its
broker stops it, then deletes it; the partitions' znodes are deleted; last the topic, its settings and the request.

Source: replication.md, topics (deletion); Kafka 2.7.2, TopicDeletionManager; zookeeper.md, admin requests.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from barnabas.broker.controller.context import PARTITIONS_PER_TURN, ControllerContext
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.partition_states import set_phases
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import REPLICA_BEFORE, ControllerState, PartitionPhase, Replica, ReplicaPhase
from barnabas.broker.controller.topics import add_topics
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.store import DeleteOp, NoNodeError, Registry

log = logging.getLogger(__name__)


async def deletions_changed(context: ControllerContext) -> None:
    """Start the deletions that administrators requested."""
    state = context.state
    names = await context.registry.children(paths.DELETE_TOPICS, context.watch(Signal.DELETIONS_CHANGED))
    wanted = []
    for topic in names:
        if topic in state.deleting:
            continue
        # A topic that was created and deleted in quick succession may not have been read yet. Its partitions need their
        # states, even if it is deleted: otherwise its replicas can never be deleted.
        is_known = topic in state.topics or await add_topics(context, [topic])
        if is_known and context.config.delete_topic_enable:
            wanted.append(topic)
        else:
            await delete_with_children(context.registry, paths.delete_topic(topic))
    queue_deletions(state, wanted)
    await try_deletions(context, wanted)


def queue_deletions(state: ControllerState, topics: Iterable[str]) -> None:
    """Queue topics for deletion; topics with a partition under reassignment wait."""
    for topic in topics:
        state.deleting.add(topic)
        if state.is_reassigning(topic):
            state.deletion_ineligible.add(topic)


def pause_deletions(state: ControllerState, topics: Iterable[str]) -> None:
    """Postpone the deletion of topics."""
    state.deletion_ineligible.update(state.deleting.intersection(topics))


async def resume_deletion(context: ControllerContext, topics: Iterable[str]) -> None:
    """Resume the deletion of topics if they may no longer have to wait."""
    resumed = context.state.deleting.intersection(topics)
    if resumed:
        context.state.deletion_ineligible -= resumed
        await try_deletions(context, resumed)


async def fail_deletion(context: ControllerContext, replicas: Sequence[Replica]) -> None:
    """Record that replicas could not be deleted: their topics wait."""
    failed = [replica for replica in replicas if replica.partition.topic in context.state.deleting]
    if not failed:
        return
    possible = REPLICA_BEFORE[ReplicaPhase.DELETION_INELIGIBLE]
    lost = [replica for replica in failed if context.state.replica_phase(replica) in possible]
    await change_replicas(context, lost, ReplicaPhase.DELETION_INELIGIBLE)
    topics = {replica.partition.topic for replica in failed}
    log.info("deletion of topics %s waits until all their replicas can be deleted", sorted(topics))
    pause_deletions(context.state, topics)
    await try_deletions(context, topics)


async def replicas_stopped(
    context: ControllerContext, broker_id: int, deleted: Iterable[TopicPartition], failed: Iterable[TopicPartition]
) -> None:
    """Record a broker's answers about deleted replicas; topics whose deletion has not started are ignored."""

    def started(partitions: Iterable[TopicPartition]) -> list[Replica]:
        replicas = [Replica(each, broker_id) for each in partitions if each.topic in context.state.deletion_started]
        return [each for each in replicas if context.state.replica_phase(each) is ReplicaPhase.DELETION_STARTED]

    lost = started(failed)
    if lost:
        log.warning("broker %d could not delete its replicas of %s", broker_id, lost)
        await fail_deletion(context, lost)
    done = started(deleted)
    if done:
        await change_replicas(context, done, ReplicaPhase.DELETION_SUCCESSFUL)
        await try_deletions(context, {replica.partition.topic for replica in done})


async def try_deletions(context: ControllerContext, topics: Iterable[str]) -> None:
    """Advance the deletion of queued topics as far as possible now."""
    state = context.state
    retried: list[Replica] = []
    begun: list[str] = []
    for topic in sorted(state.deleting.intersection(topics)):
        await asyncio.sleep(0)
        replicas = state.topic_replicas(topic)
        phases = [state.replica_phase(replica) for replica in replicas]
        if all(phase is ReplicaPhase.DELETION_SUCCESSFUL for phase in phases):
            await _complete(context, topic)
            continue
        if ReplicaPhase.DELETION_STARTED in phases:
            continue
        retried += [
            replica
            for replica, phase in zip(replicas, phases, strict=True)
            if phase is ReplicaPhase.DELETION_INELIGIBLE
        ]
        if topic not in state.deletion_ineligible:
            begun.append(topic)
    await change_replicas(context, retried, ReplicaPhase.OFFLINE)
    while begun:
        some = _some_topics(state, begun)
        del begun[: len(some)]
        await _begin(context, some)


async def _begin(context: ControllerContext, topics: Sequence[str]) -> None:
    state = context.state
    partitions = list(state.partitions(topics))
    unseen = [partition for partition in partitions if partition.topic not in state.deletion_started]
    set_phases(state, unseen, PartitionPhase.OFFLINE)
    set_phases(state, unseen, PartitionPhase.NON_EXISTENT)
    state.deletion_started.update(topics)
    await context.send_update_metadata(None, partitions)
    dead: list[Replica] = []
    alive: list[Replica] = []
    async for partition in in_time_slices(partitions):
        for broker_id in state.replicas(partition):
            replica = Replica(partition, broker_id)
            # A deleted replica stays deleted, even if its broker is dead now.
            if state.replica_phase(replica) is not ReplicaPhase.DELETION_SUCCESSFUL:
                (alive if state.is_online(broker_id, partition) else dead).append(replica)
    # Replicas on a stopping broker are not offline yet.
    leaving = [replica for replica in dead if state.replica_phase(replica) in (ReplicaPhase.NEW, ReplicaPhase.ONLINE)]
    await change_replicas(context, leaving, ReplicaPhase.OFFLINE)
    await change_replicas(context, dead, ReplicaPhase.DELETION_INELIGIBLE)
    await change_replicas(context, alive, ReplicaPhase.OFFLINE)
    await change_replicas(context, alive, ReplicaPhase.DELETION_STARTED)
    pause_deletions(state, {replica.partition.topic for replica in dead})


async def _complete(context: ControllerContext, topic: str) -> None:
    # The watch on the topic's node is handled afterwards, and finds the topic already forgotten.
    await _delete_nodes(context, topic)
    context.state.forget_topic(topic)
    log.info("topic %s is deleted", topic)


async def _delete_nodes(context: ControllerContext, topic: str) -> None:
    """Delete a topic's znodes in batches, its partitions first, because there may be very many.

    One transaction deletes the topic itself, its configuration and the request last: if the controller is killed
    before, the next one continues.
    """
    below = await _tree(context.registry, paths.topic(topic))
    below.reverse()
    last = below[-1:]
    for start in range(0, len(below) - 1, PARTITIONS_PER_TURN):
        some = below[start : min(start + PARTITIONS_PER_TURN, len(below) - 1)]
        await context.write([DeleteOp(path) for path in some])
    for path in (paths.topic_config(topic), paths.delete_topic(topic)):
        # Kafka creates no nodes below these, but others may.
        last += reversed(await _tree(context.registry, path))
    await context.write([DeleteOp(path) for path in last])


async def _tree(registry: Registry, path: str) -> list[str]:
    """Return a node and all nodes below it, parents first; empty if it does not exist."""
    found: list[str] = []
    waiting = [path]
    while waiting:
        parent = waiting.pop()
        try:
            names = await registry.children(parent)
        except NoNodeError:
            continue
        found.append(parent)
        waiting += [paths.child(parent, name) for name in names]
        if len(found) % PARTITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    return found


def _some_topics(state: ControllerState, topics: Sequence[str]) -> list[str]:
    """Return the first topics, at least one, whose partitions fit into one turn of the event loop."""
    partition_count = 0
    for count, topic in enumerate(topics):
        partition_count += len(state.topics[topic].replicas)
        if count and partition_count > PARTITIONS_PER_TURN:
            return list(topics[:count])
    return list(topics)
