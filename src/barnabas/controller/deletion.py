"""Takes a deleted topic out of the registry once all of its replicas are gone.

Order: brokers lose the topic from their metadata, then its replicas are deleted, and when every broker has confirmed
that, the topic's nodes go. A topic with a replica on a dead broker waits until that broker is back.

Source: semantics, controller (topic deletion); zookeeper.md, admin requests.
"""

from barnabas.controller.epoch_guard import write_as_controller
from barnabas.controller.state import ControllerState
from barnabas.registry import paths
from barnabas.registry.store import DeleteOp, NoNodeError, Op, Registry


def is_blocked(state: ControllerState, topic: str) -> bool:
    """Whether a replica of the topic lives on a broker that is dead."""
    return any(
        replica not in state.brokers
        for partition in state.partitions_of(topic)
        for replica in state.replicas(partition)
    )


async def delete_nodes(registry: Registry, state: ControllerState, topic: str) -> None:
    """Delete the topic's nodes and those of its configuration as one transaction; the request for it goes last.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    below = await _tree(registry, paths.topic(topic))
    ops: list[Op] = [DeleteOp(path) for path in reversed(below)]
    for path in (paths.topic_config(topic), paths.delete_topic(topic)):
        if await registry.exists(path) is not None:
            ops.append(DeleteOp(path))
    await write_as_controller(registry, state.epoch_zk_version, ops)


async def _tree(registry: Registry, path: str) -> list[str]:
    """A node and everything below it, parents first; nothing when it is not there."""
    try:
        names = await registry.children(path)
    except NoNodeError:
        return []
    found = [path]
    for name in names:
        found += await _tree(registry, paths.child(path, name))
    return found
