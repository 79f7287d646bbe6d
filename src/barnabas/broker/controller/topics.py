"""Handles new topics and partitions in the registry.

Source: replication.md, topics; Kafka 2.7.2, KafkaController.processTopicChange, processPartitionModifications.
"""

import logging
from collections.abc import Iterable, Sequence

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.events import QueueEvent, Signal, TopicSet
from barnabas.broker.controller.leader_election import Strategy
from barnabas.broker.controller.partition_states import bring_online, bring_waiting_online, read_states, set_phases
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import PartitionPhase, Replica, ReplicaPhase
from barnabas.broker.controller.topic_assignments import assignment_of, read_topics
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths

log = logging.getLogger(__name__)


async def take_in_topics(context: ControllerContext, topics: Iterable[str]) -> list[str]:
    """Read and watch the assignments of topics that exist."""

    def watch(path: str) -> QueueEvent:
        return context.watch(TopicSet(paths.name(path)))

    return await read_topics(context.registry, context.state, topics, watch)


async def add_topics(context: ControllerContext, topics: Iterable[str]) -> list[str]:
    """Take in new topics, as far as they exist, and create their partitions; return these topics."""
    found = await take_in_topics(context, topics)
    await make_partitions(context, list(context.state.partitions(found)))
    return found


async def topics_changed(context: ControllerContext) -> None:
    """Create partitions of new topics, and forget deleted topics."""
    state = context.state
    names = set(await context.registry.children(paths.BROKER_TOPICS, context.watch(Signal.TOPICS_CHANGED)))
    for topic in sorted(state.topics.keys() - names - state.deleting):
        log.warning("topic %s disappeared from the registry without a deletion", topic)
        state.forget_topic(topic)
    for path in [each for each in state.told if paths.parent(each) == paths.BROKER_TOPICS]:
        if paths.name(path) not in names:
            state.settle(path)
    # Partitions whose first states could not be written (disk full) are retried with every change.
    await bring_waiting_online(context)
    await add_topics(context, sorted(names - state.topics.keys()))


async def make_partitions(context: ControllerContext, partitions: Sequence[TopicPartition]) -> None:
    """Create new partitions."""
    if not partitions:
        return
    state = context.state
    replicas: list[Replica] = []
    async for partition in in_time_slices(partitions):
        set_phases(state, [partition], PartitionPhase.NEW)
        replicas += [Replica(partition, broker_id) for broker_id in state.replicas(partition)]
    await read_states(context.registry, state, partitions)
    await change_replicas(context, replicas, ReplicaPhase.NEW)
    await bring_online(context, partitions, Strategy.OFFLINE)
    await change_replicas(context, replicas, ReplicaPhase.ONLINE)


async def topic_set(context: ControllerContext, topic: str) -> None:
    """Create the partitions that were added to a topic's node."""
    state = context.state
    (node,) = await context.registry.get_many([paths.topic(topic)], lambda path: context.watch(TopicSet(topic)))
    known, found = state.topics.get(topic), await assignment_of(state, topic, node)
    if known is None or found is None:
        return
    # Changed replicas of known partitions are ignored: a reassignment needs a request.
    new = {index: replicas for index, replicas in found.replicas.items() if index not in known.replicas}
    if not new:
        return
    if topic in state.deleting:
        # Kafka removes the new partitions from the node. Here the node is deleted with the topic anyway.
        return
    log.info("topic %s has %d more partitions", topic, len(new))
    known.replicas.update(new)
    await make_partitions(context, [TopicPartition(topic, index) for index in new])
