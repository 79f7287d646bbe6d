"""Writes partition states: new ones, and those that follow from brokers coming and going.

Invariants:

- Every write checks the controller's epoch node, so a controller that was replaced changes nothing.
- Memory follows the registry: a state is taken over when its write was answered, or when somebody else's was found.
- What makes no sense in the registry is left alone, and is in nobody else's way.

Source: semantics, controller (partition states); zookeeper.md, partition state.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from barnabas.broker.controller.epoch_guard import write_as_controller
from barnabas.broker.controller.state import ControllerState, Leadership, first_leader, next_state
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    BadVersionError,
    CreateOp,
    Found,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    Op,
    Registry,
    SetOp,
    Stat,
)
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state

log = logging.getLogger(__name__)

T = TypeVar("T")

# A topic may have very many: so many are read and written before the loop looks after others.
_PARTITIONS_PER_TURN = 500


async def read_states(registry: Registry, state: ControllerState, topics: Iterable[str]) -> None:
    """Read the states of all partitions of these topics into memory; new partitions have none."""
    partitions = (partition for topic in topics for partition in state.partitions_of(topic))
    while some := list(islice(partitions, _PARTITIONS_PER_TURN)):
        await _read_some(registry, state, some)
        await asyncio.sleep(0)


async def _read_some(registry: Registry, state: ControllerState, partitions: Sequence[TopicPartition]) -> None:
    """Take over what the registry says of some partitions."""
    found = await registry.get_many([paths.partition_state(*partition) for partition in partitions])
    for partition, node in zip(partitions, found, strict=True):
        _take_over(state, partition, node)


def _take_over(state: ControllerState, partition: TopicPartition, found: Found) -> None:
    if found is None:
        state.leaders.pop(partition, None)
        state.unreadable.discard(partition)
        state.unled.add(partition.topic)
        return
    data, stat = found
    try:
        leadership = Leadership(decode_partition_state(data), stat.version)
    except MalformedError as error:
        # differs from Kafka (impossible-state): there the whole event fails, and with it all other partitions.
        path = paths.partition_state(*partition)
        if state.is_news(path, f"malformed: {error}"):
            log.warning("partition %s is left as it is: %s is malformed (%s)", partition, path, error)
        state.leaders.pop(partition, None)
        state.unreadable.add(partition)
    else:
        state.unreadable.discard(partition)
        state.leaders[partition] = leadership
        state.settle(paths.partition_state(*partition))


async def create_states(registry: Registry, state: ControllerState, topics: Iterable[str]) -> list[TopicPartition]:
    """Give every partition of these topics that has no state its first one, one transaction for each topic.

    Returns:
        The partitions that are led now.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    made: list[TopicPartition] = []
    some: list[str] = []
    partition_count = 0
    for topic in topics:
        some.append(topic)
        partition_count += len(state.topics[topic].replicas) if topic in state.topics else 0
        if partition_count >= _PARTITIONS_PER_TURN:
            made += await _create_states_together(registry, state, some)
            some, partition_count = [], 0
    return made + await _create_states_together(registry, state, some)


async def _create_states_together(
    registry: Registry, state: ControllerState, topics: Iterable[str]
) -> list[TopicPartition]:
    made = await _all(_create_topic_states(registry, state, topic) for topic in topics)
    return [partition for partitions in made for partition in partitions]


async def _create_topic_states(registry: Registry, state: ControllerState, topic: str) -> list[TopicPartition]:
    nodes: dict[TopicPartition, PartitionStateNode] = {}
    for partition in state.partitions_of(topic):
        if partition in state.leaders or partition in state.unreadable:
            continue
        node = first_leader(state.replicas(partition), state.brokers.keys(), state.epoch)
        if node is not None:
            state.settle(paths.partition_state(*partition))
            nodes[partition] = node
        elif state.is_news(paths.partition_state(*partition), "no leader"):
            log.warning("partition %s has no leader: none of its replicas is alive", partition)
    made = []
    for start in range(0, len(nodes), _PARTITIONS_PER_TURN):
        some = dict(islice(nodes.items(), start, start + _PARTITIONS_PER_TURN))
        made += await _create_partition_states(registry, state, topic, some)
    return made


async def _create_partition_states(
    registry: Registry, state: ControllerState, topic: str, nodes: Mapping[TopicPartition, PartitionStateNode]
) -> list[TopicPartition]:
    ops: list[Op] = []
    if await registry.exists(paths.partitions(topic)) is None:
        ops.append(CreateOp(paths.partitions(topic)))
    there = await registry.get_many([paths.partition(*partition) for partition in nodes])
    for (partition, node), found in zip(nodes.items(), there, strict=True):
        if found is None:
            ops.append(CreateOp(paths.partition(*partition)))
        ops.append(CreateOp(paths.partition_state(*partition), encode_partition_state(node)))
    try:
        await write_as_controller(registry, state.epoch_zk_version, ops)
    except NoNodeError:
        # The watch on the topics tells of it.
        log.info("topic %s went away while its partitions were created", topic)
        return []
    except NodeExistsError:
        # Somebody else made them; or we did, and the answer was lost with the connection.
        before = set(state.leaders)
        await read_states(registry, state, [topic])
        return [partition for partition in state.partitions_of(topic) if partition in state.leaders.keys() - before]
    except NoChildrenForEphemeralsError as error:
        log.warning("topic %s is left as it is: %s is ephemeral, so nothing can be below it", topic, error.path)
        return []
    state.leaders.update({partition: Leadership(node, 0) for partition, node in nodes.items()})
    return list(nodes)


async def reassess(
    registry: Registry, state: ControllerState, partitions: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """Bring states in line with the brokers that are alive: elect leaders, shrink in-sync replicas.

    Returns:
        The partitions whose state changed, also where somebody else changed it.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    wanting = [partition for partition in partitions if _next_state(state, partition) is not None]
    await _all(_reassess_one(registry, state, partition) for partition in wanting)
    return wanting


async def _all(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run them together; when this raises none of them is under way any more."""
    results = await asyncio.gather(*coroutines, return_exceptions=True)
    done = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done


def _next_state(state: ControllerState, partition: TopicPartition) -> PartitionStateNode | None:
    leadership = state.leaders.get(partition)
    if leadership is None:
        return None
    return next_state(leadership.node, state.replicas(partition), state.brokers.keys(), state.epoch)


async def _reassess_one(registry: Registry, state: ControllerState, partition: TopicPartition) -> None:
    await change_state(registry, state, partition, lambda _: _next_state(state, partition))


async def change_state(
    registry: Registry,
    state: ControllerState,
    partition: TopicPartition,
    decide: Callable[[PartitionStateNode], PartitionStateNode | None],
) -> bool:
    """Write the state that follows from a partition's; read it again as often as its leader wrote it meanwhile.

    Args:
        decide: Gives the next state, or None where it stays as it is.

    Returns:
        Whether it was written.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    path = paths.partition_state(*partition)
    while (leadership := state.leaders.get(partition)) is not None:
        node = decide(leadership.node)
        if node is None:
            return False
        write = SetOp(path, encode_partition_state(node), leadership.zk_version)
        try:
            (stat,) = await write_as_controller(registry, state.epoch_zk_version, [write])
        except (BadVersionError, NoNodeError):
            log.info("the state of partition %s was changed by its leader, or is gone: it is read again", partition)
            await _read_some(registry, state, [partition])
            continue
        assert isinstance(stat, Stat)
        state.leaders[partition] = Leadership(node, stat.version)
        return True
    return False
