"""Changes the states of partitions: writes the first states of new ones, and elects leaders.

Invariants:

- Memory follows the registry: a state is applied after it was written here, or after another broker's write was read.
- Brokers get a state after it was written.
- Malformed nodes are not changed, and do not stop the handling of others.

Source: replication.md, state machines, elections; Kafka 2.7.2, ZkPartitionStateMachine; zookeeper.md, partition state.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from barnabas.broker.controller.context import PARTITIONS_PER_TURN, ControllerContext
from barnabas.broker.controller.leader_election import Elected, Strategy, elect, first_state
from barnabas.broker.controller.requests import RequestBatch
from barnabas.broker.controller.state import PARTITION_BEFORE, ControllerState, Leadership, PartitionPhase
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    BadVersionError,
    CreateOp,
    Found,
    NodeExistsError,
    NoNodeError,
    Op,
    Registry,
    RegistryError,
    SetOp,
    Stat,
)
from barnabas.wire.registry.znodes.configs import decode_config
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state

log = logging.getLogger(__name__)

_UNCLEAN = "unclean.leader.election.enable"
_NEW_TOGETHER = 300
"""Number of partitions that get their first state in one transaction. Each needs at most three operations, and a broker
that serves its registry accepts 1,000."""


# Reading states


async def read_states(
    registry: Registry, state: ControllerState, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Read the states of partitions into memory; new partitions have none.

    Returns:
        For each partition with a state, the transaction that wrote it.
    """
    wanted, written = list(partitions), {}
    for start in range(0, len(wanted), PARTITIONS_PER_TURN):
        some = wanted[start : start + PARTITIONS_PER_TURN]
        found = await registry.get_many([paths.partition_state(*partition) for partition in some])
        for partition, node in zip(some, found, strict=True):
            _take_over(state, partition, node)
            if node is not None:
                written[partition] = node[1].mzxid
        await asyncio.sleep(0)
    return written


def _take_over(state: ControllerState, partition: TopicPartition, found: Found) -> None:
    if found is None:
        state.leaders.pop(partition, None)
        state.unreadable.discard(partition)
        return
    data, stat = found
    path = paths.partition_state(*partition)
    try:
        leadership = Leadership(decode_partition_state(data), stat.version)
    except MalformedError as error:
        # differs from Kafka (impossible-state): Kafka fails the whole event, with all other partitions.
        if state.is_news(path, f"malformed: {error}"):
            log.warning("partition %s skipped: %s is malformed (%s)", partition, path, error)
        state.leaders.pop(partition, None)
        state.unreadable.add(partition)
    else:
        state.unreadable.discard(partition)
        state.leaders[partition] = leadership
        state.settle(path)


def possible_partitions(
    state: ControllerState, partitions: Iterable[TopicPartition], phase: PartitionPhase
) -> list[TopicPartition]:
    """Return the partitions that can change to this state, and log the others."""
    found = []
    for partition in partitions:
        if state.phase(partition) in PARTITION_BEFORE[phase]:
            found.append(partition)
        else:
            log.error("partition %s cannot go from %s to %s", partition, state.phase(partition).value, phase.value)
    return found


def set_phases(state: ControllerState, partitions: Iterable[TopicPartition], phase: PartitionPhase) -> None:
    """Change the states of partitions in memory only."""
    for partition in possible_partitions(state, partitions, phase):
        state.set_phase(partition, phase)


# Online


async def bring_online(
    context: ControllerContext, partitions: Iterable[TopicPartition], strategy: Strategy
) -> set[TopicPartition]:
    """Elect leaders for partitions: new ones get their first state, others an election.

    Returns:
        The partitions that have a leader now.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    state = context.state
    new: list[TopicPartition] = []
    old: list[TopicPartition] = []
    async for partition in in_time_slices(partitions):
        if possible_partitions(state, [partition], PartitionPhase.ONLINE) and partition not in state.unreadable:
            (new if state.phase(partition) is PartitionPhase.NEW else old).append(partition)
    batch = context.new_batch()
    done: set[TopicPartition] = set()
    try:
        for start in range(0, len(new), _NEW_TOGETHER):
            done.update(await _create_states(context, batch, new[start : start + _NEW_TOGETHER]))
            # If no replica is alive, nothing was written, and no await has let other work run.
            await asyncio.sleep(0)
        for start in range(0, len(old), PARTITIONS_PER_TURN):
            done.update(await _elect_some(context, batch, old[start : start + PARTITIONS_PER_TURN], strategy))
        async for partition in in_time_slices(done):
            state.set_phase(partition, PartitionPhase.ONLINE)
    finally:
        # Send what was written, even if the rest failed.
        await context.send(batch)
    return done


async def bring_waiting_online(context: ControllerContext, topic: str | None = None) -> None:
    """Elect leaders for all new and offline partitions, or those of a topic, except those being deleted."""
    by_topic: dict[str, list[int]] = {}
    async for partition in in_time_slices(list(context.state.waiting)):
        if partition.topic not in context.state.deleting and (topic is None or partition.topic == topic):
            by_topic.setdefault(partition.topic, []).append(partition.partition)
    if by_topic:
        waiting = (TopicPartition(name, index) for name in sorted(by_topic) for index in sorted(by_topic[name]))
        await bring_online(context, waiting, Strategy.OFFLINE)


async def _create_states(
    context: ControllerContext, batch: RequestBatch, partitions: Sequence[TopicPartition]
) -> list[TopicPartition]:
    """Write the first state of new partitions, all topics together; one by one if that is rejected."""
    state = context.state
    nodes: dict[TopicPartition, PartitionStateNode] = {}
    for partition in partitions:
        node, path = first_state(state, partition), paths.partition_state(*partition)
        if node is not None:
            state.settle(path)
            nodes[partition] = node
        elif state.is_news(path, "no leader"):
            log.warning("partition %s has no leader: none of its replicas is alive", partition)
    results = await context.write_each(await _creations(context.registry, nodes))
    made = []
    for topic, result in results.items():
        of_topic = [partition for partition in nodes if partition.topic == topic]
        if isinstance(result, RegistryError):
            made += await _take_over_made(context, topic, of_topic, result)
        else:
            state.leaders.update({partition: Leadership(nodes[partition], 0) for partition in of_topic})
            made += of_topic
    for partition in made:
        batch.lead(state.leaders[partition].node.isr, partition, is_new=True)
    return made


async def _creations(registry: Registry, nodes: Mapping[TopicPartition, PartitionStateNode]) -> dict[str, Sequence[Op]]:
    """Return the operations that create the nodes of partitions, by topic; existing parents are kept."""
    topics = list(dict.fromkeys(partition.topic for partition in nodes))
    wanted = [paths.partitions(topic) for topic in topics] + [paths.partition(*partition) for partition in nodes]
    found = dict(zip(wanted, await registry.get_many(wanted), strict=True))
    creations: dict[str, list[Op]] = {}
    for topic in topics:
        path = paths.partitions(topic)
        creations[topic] = [] if found[path] is not None else [CreateOp(path)]
    for partition, node in nodes.items():
        ops, path = creations[partition.topic], paths.partition(*partition)
        if found[path] is None:
            ops.append(CreateOp(path))
        ops.append(CreateOp(paths.partition_state(*partition), encode_partition_state(node)))
    return dict(creations.items())


async def _take_over_made(
    context: ControllerContext, topic: str, partitions: Sequence[TopicPartition], error: RegistryError
) -> list[TopicPartition]:
    """Handle a topic whose partition states could not be created; return the partitions that have one anyway."""
    if isinstance(error, NodeExistsError):
        # Another writer created some of them.
        await read_states(context.registry, context.state, partitions)
        return [partition for partition in partitions if partition in context.state.leaders]
    if isinstance(error, NoNodeError):
        # The watch on the topics handles this.
        log.info("topic %s was deleted while its partitions were created", topic)
    else:
        log.warning("topic %s skipped: %s is ephemeral and cannot have children", topic, error.path)
    return []


async def _elect_some(
    context: ControllerContext, batch: RequestBatch, partitions: Sequence[TopicPartition], strategy: Strategy
) -> list[TopicPartition]:
    """Elect leaders; return the partitions that have one."""
    state = context.state
    await read_states(context.registry, state, partitions)
    unclean = await _unclean_partitions(context, partitions) if strategy is Strategy.OFFLINE else set()
    recipients: dict[TopicPartition, list[int]] = {}

    def decide(partition: TopicPartition, current: PartitionStateNode) -> PartitionStateNode | None:
        if current.controller_epoch > state.epoch:
            log.warning("no leader elected for %s: a newer controller wrote its state", partition)
            return None
        elected: Elected = elect(state, partition, current, strategy, partition in unclean)
        recipients[partition] = elected.recipients
        if elected.node is None:
            # A broker that is shutting down gets these partitions in the response.
            level = logging.INFO if strategy is Strategy.CONTROLLED_SHUTDOWN else logging.WARNING
            log.log(level, "no leader can be elected for %s (%s)", partition, strategy.value)
        elif elected.node.leader not in current.isr:
            context.meters.unclean_election_count += 1
            log.warning("unclean election: broker %d leads %s, but is not in sync", elected.node.leader, partition)
        return elected.node

    written = await write_states(context, partitions, decide)
    for partition in written:
        batch.lead(recipients[partition], partition)
    return written


async def _unclean_partitions(context: ControllerContext, partitions: Sequence[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions without a live in-sync replica that allow an unclean election."""
    state = context.state
    lost = [
        partition
        for partition in partitions
        if (leadership := state.leaders.get(partition)) is not None
        and not any(state.is_online(replica, partition) for replica in leadership.node.isr)
    ]
    topics = list(dict.fromkeys(partition.topic for partition in lost))
    found = await context.registry.get_many([paths.topic_config(topic) for topic in topics])
    default = str(context.config.unclean_leader_election_enable).lower()
    allowed = {
        topic
        for topic, node in zip(topics, found, strict=True)
        if decode_config(None if node is None else node[0]).get(_UNCLEAN, default).lower() == "true"
    }
    return {partition for partition in lost if partition.topic in allowed}


async def write_states(
    context: ControllerContext,
    partitions: Iterable[TopicPartition],
    decide: Callable[[TopicPartition, PartitionStateNode], PartitionStateNode | None],
) -> list[TopicPartition]:
    """Write new states; if the leader wrote one meanwhile, read it and decide again.

    Args:
        decide: Returns the next state, or None to keep the current one.

    Returns:
        The partitions whose state was written, in the order of the writes.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    state, written = context.state, []
    left = list(partitions)
    while left:
        nodes: dict[TopicPartition, PartitionStateNode] = {}
        ops: dict[TopicPartition, Sequence[Op]] = {}
        for partition in left:
            leadership = state.leaders.get(partition)
            node = None if leadership is None else decide(partition, leadership.node)
            if leadership is not None and node is not None:
                nodes[partition] = node
                path = paths.partition_state(*partition)
                ops[partition] = [SetOp(path, encode_partition_state(node), leadership.zk_version)]
        left = []
        for partition, result in (await context.write_each(ops)).items():
            if isinstance(result, BadVersionError | NoNodeError):
                log.info("the leader changed or removed the state of partition %s: reading it again", partition)
                left.append(partition)
            elif isinstance(result, RegistryError):
                log.warning("cannot write the state of partition %s: %s", partition, result)
            else:
                (stat,) = result
                assert isinstance(stat, Stat)
                state.leaders[partition] = Leadership(nodes[partition], stat.version)
                written.append(partition)
        await read_states(context.registry, state, left)
    return written
