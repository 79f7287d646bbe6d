"""Writes partition states: new ones, and those that follow from brokers coming and going.

Invariants:

- Every write checks the controller's epoch node, so a controller that was replaced changes nothing.
- Memory follows the registry: a state is taken over when its write was answered.

Source: semantics, controller (partition states); zookeeper.md, partition state.
"""

import asyncio
import logging
from collections.abc import Iterable

from barnabas.controller.state import ControllerState, Leadership, first_leader, next_state
from barnabas.core.types import TopicPartition
from barnabas.registry import paths
from barnabas.registry.store import CheckOp, CreateOp, NodeExistsError, NoNodeError, Op, Registry, SetOp, Stat
from barnabas.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state

log = logging.getLogger(__name__)


async def read_states(registry: Registry, state: ControllerState, topics: Iterable[str]) -> None:
    """Read the states of all partitions of these topics into memory; new partitions have none."""
    for topic in topics:
        for partition in state.partitions_of(topic):
            try:
                data, stat = await registry.get(paths.partition_state(*partition))
            except NoNodeError:
                continue
            state.leaders[partition] = Leadership(decode_partition_state(data), stat.version)


async def create_states(registry: Registry, state: ControllerState, topics: Iterable[str]) -> list[TopicPartition]:
    """Give every partition of these topics that has no state its first one, one transaction for each topic.

    Returns:
        The partitions that are led now.

    Raises:
        BadVersionError: This broker is controller no more.
    """
    made = await asyncio.gather(*(_create_topic_states(registry, state, topic) for topic in topics))
    return [partition for partitions in made for partition in partitions]


async def _create_topic_states(registry: Registry, state: ControllerState, topic: str) -> list[TopicPartition]:
    nodes: dict[TopicPartition, PartitionStateNode] = {}
    for partition in state.partitions_of(topic):
        if partition in state.leaders:
            continue
        node = first_leader(state.replicas(partition), state.brokers.keys(), state.epoch)
        if node is None:
            log.warning("partition %s has no leader: none of its replicas is alive", partition)
        else:
            nodes[partition] = node
    if not nodes:
        return []
    ops: list[Op] = [CheckOp(paths.CONTROLLER_EPOCH, state.epoch_zk_version)]
    if await registry.exists(paths.partitions(topic)) is None:
        ops.append(CreateOp(paths.partitions(topic)))
    for partition, node in nodes.items():
        if await registry.exists(paths.partition(*partition)) is None:
            ops.append(CreateOp(paths.partition(*partition)))
        ops.append(CreateOp(paths.partition_state(*partition), encode_partition_state(node)))
    try:
        await registry.multi(ops)
    except (NodeExistsError, NoNodeError):
        # The topic went away or came again while this was prepared: the watch on the topics tells.
        log.info("topic %s changed while its partitions were created", topic)
        return []
    state.leaders.update({partition: Leadership(node, 0) for partition, node in nodes.items()})
    return list(nodes)


async def reassess(
    registry: Registry, state: ControllerState, partitions: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """Bring states in line with the brokers that are alive: elect leaders, shrink in-sync replicas.

    Returns:
        The partitions whose state changed.

    Raises:
        BadVersionError: This broker is controller no more, or another one wrote a state.
    """
    changes: list[tuple[TopicPartition, PartitionStateNode]] = []
    for partition in partitions:
        leadership = state.leaders.get(partition)
        if leadership is None:
            continue
        node = next_state(leadership.node, state.replicas(partition), state.brokers.keys(), state.epoch)
        if node is not None:
            changes.append((partition, node))
    await asyncio.gather(*(_write_state(registry, state, partition, node) for partition, node in changes))
    return [partition for partition, _ in changes]


async def _write_state(
    registry: Registry, state: ControllerState, partition: TopicPartition, node: PartitionStateNode
) -> None:
    results = await registry.multi(
        [
            CheckOp(paths.CONTROLLER_EPOCH, state.epoch_zk_version),
            SetOp(paths.partition_state(*partition), encode_partition_state(node), state.leaders[partition].zk_version),
        ]
    )
    stat = results[1]
    assert isinstance(stat, Stat)
    state.leaders[partition] = Leadership(node, stat.version)
