"""Takes a deleted topic out of the registry once all of its replicas are gone.

Order: brokers lose the topic from their metadata, then its replicas are deleted, and when every broker has confirmed
that, the topic's nodes go. A topic with a replica on a dead broker waits until that broker is back.

Source: semantics, controller (topic deletion); zookeeper.md, admin requests.
"""

import asyncio

from barnabas.broker.controller.epoch_guard import write_as_controller
from barnabas.broker.controller.state import ControllerState
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import DeleteOp, NoNodeError, Registry

_NODES_PER_TURN = 500


def is_blocked(state: ControllerState, topic: str) -> bool:
    """Return whether a replica of the topic lives on a broker that is dead."""
    return any(
        replica not in state.brokers
        for partition in state.partitions_of(topic)
        for replica in state.replicas(partition)
    )


async def delete_nodes(registry: Registry, state: ControllerState, topic: str) -> None:
    """Delete the topic's nodes, those of its partitions first and some at a time: there may be very many.

    The topic itself, its configuration and the request for all of it go last, in one transaction: what a kill
    interrupts is done by the next controller.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    below = await _tree(registry, paths.topic(topic))
    below.reverse()
    last = below[-1:]
    for start in range(0, len(below) - 1, _NODES_PER_TURN):
        some = below[start : min(start + _NODES_PER_TURN, len(below) - 1)]
        await write_as_controller(registry, state.epoch_zk_version, [DeleteOp(path) for path in some])
    for path in (paths.topic_config(topic), paths.delete_topic(topic)):
        # Kafka has nothing below them, but anybody may.
        last += reversed(await _tree(registry, path))
    await write_as_controller(registry, state.epoch_zk_version, [DeleteOp(path) for path in last])


async def _tree(registry: Registry, path: str) -> list[str]:
    """A node and everything below it, parents first; nothing when it is not there."""
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
        if len(found) % _NODES_PER_TURN == 0:
            await asyncio.sleep(0)
    return found
