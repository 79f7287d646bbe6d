"""Changes the settings of an entity so that every broker of the cluster learns of it.

Invariant: the entity's node and the notification are written together, or neither is. (Kafka writes one after the
other; nobody who reads them sees a difference, but for a change that nobody is told of.)

Source: zookeeper.md, configs; Kafka 2.7.2, kafka.zk.AdminZkClient.changeEntityConfig.
"""

from collections.abc import Mapping

from barnabas.registry import paths
from barnabas.registry.store import CreateOp, NodeExistsError, NoNodeError, Op, Registry, SetOp
from barnabas.registry.znodes.configs import encode_change, encode_config


async def change_config(registry: Registry, entity: str, overrides: Mapping[str, str]) -> None:
    """Give an entity exactly these settings, and notify the brokers.

    Args:
        entity: Below /config, such as `topics/t`, `brokers/<default>`, `users/u/clients/c`; names as `paths.sanitize`
            makes them.
    """
    path, data = paths.config(entity), encode_config(overrides)
    notification = CreateOp(
        paths.child(paths.CONFIG_CHANGES, paths.CONFIG_CHANGE_PREFIX), encode_change(entity), is_sequence=True
    )
    while True:
        try:
            await registry.multi([*await _written(registry, path, data), notification])
            return
        except (NodeExistsError, NoNodeError):
            # Somebody created or deleted the node meanwhile.
            continue


async def _written(registry: Registry, path: str, data: bytes) -> list[Op]:
    if await registry.exists(path) is not None:
        return [SetOp(path, data)]
    missing = [each for each in paths.ancestors(path) if await registry.exists(each) is None]
    return [*(CreateOp(each) for each in missing), CreateOp(path, data)]
