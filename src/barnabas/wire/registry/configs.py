"""Changes of an entity's settings that every broker of the cluster learns of.

Invariants:

- The entity's node and the notification are written in one transaction. (Kafka writes one after the other; readers see
  no difference, except for changes whose notification is missing.)
- No concurrent write is lost: after one, the new settings are computed again.

Source: zookeeper.md, configs; Kafka 2.7.2, kafka.zk.AdminZkClient.changeEntityConfig.
"""

from collections.abc import Callable, Mapping

from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    BadVersionError,
    CreateOp,
    NodeExistsError,
    NoNodeError,
    Op,
    Registry,
    SetOp,
    Stat,
)
from barnabas.wire.registry.znodes.configs import decode_config, encode_change, encode_config


async def change_config(registry: Registry, entity: str, overrides: Mapping[str, str]) -> None:
    """Replace an entity's settings, and notify the brokers.

    Args:
        entity: Below /config, such as `topics/t`, `brokers/<default>`, `users/u/clients/c`; names as `paths.sanitize`
            makes them.
    """
    path = paths.config(entity)
    while not await _write(registry, entity, overrides, await registry.exists(path)):
        continue


async def update_config(
    registry: Registry, entity: str, update: Callable[[dict[str, str]], Mapping[str, str] | None]
) -> None:
    """Update an entity's settings by a function, and notify the brokers.

    Args:
        entity: As above.
        update: Makes the new settings of those that are there; None: nothing is written. Called again where another
            change came first.
    """
    is_done = False
    while not is_done:
        data, stat = await _read(registry, paths.config(entity))
        overrides = update(decode_config(data))
        is_done = overrides is None or await _write(registry, entity, overrides, stat)


async def _read(registry: Registry, path: str) -> tuple[bytes | None, Stat | None]:
    try:
        return await registry.get(path)
    except NoNodeError:
        return None, None


async def _write(registry: Registry, entity: str, overrides: Mapping[str, str], stat: Stat | None) -> bool:
    """Write a node and its notification, unless the node was created, changed or deleted meanwhile.

    Args:
        stat: Of the node as it was seen; None: it was not there.

    Returns:
        Whether they are written.
    """
    path, data = paths.config(entity), encode_config(overrides)
    ops: list[Op] = [SetOp(path, data, stat.version)] if stat is not None else []
    if stat is None:
        missing = [each for each in paths.ancestors(path) if await registry.exists(each) is None]
        ops += [*(CreateOp(each) for each in missing), CreateOp(path, data)]
    notification = paths.child(paths.CONFIG_CHANGES, paths.CONFIG_CHANGE_PREFIX)
    ops.append(CreateOp(notification, encode_change(entity), is_sequence=True))
    try:
        await registry.multi(ops)
    except (NodeExistsError, NoNodeError, BadVersionError):
        return False
    return True
