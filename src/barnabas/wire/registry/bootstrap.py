"""Preparation of the tree at a broker's start, before the broker registers.

Invariants:

- A start that finds everything in place writes only the broker's own registration.
- The registration is made by one transaction, so its node has version 1 from its first moment; the broker epoch is the
  transaction that created it.

Source: zookeeper.md, created at broker start, broker registration.
"""

import asyncio
import base64
import contextlib
from typing import TYPE_CHECKING

from barnabas.core.dice import new_uuid
from barnabas.core.errors import StartupError
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    CreateOp,
    NodeExistsError,
    NoNodeError,
    Op,
    Registry,
    SetOp,
)
from barnabas.wire.registry.znodes.brokers import BrokerRegistration, encode_registration
from barnabas.wire.registry.znodes.cluster import (
    KafkaVersionNode,
    decode_cluster_id,
    decode_kafka_version,
    encode_cluster_id,
)

if TYPE_CHECKING:
    from random import Random

_LOGIN_SECRET_BYTES = 32


async def create_with_parents(registry: Registry, path: str, data: bytes | None = None) -> None:
    """Create a persistent node and its missing ancestors.

    Raises:
        NodeExistsError: The node itself is there already.
    """
    for ancestor in paths.ancestors(path):
        if await registry.exists(ancestor) is None:
            try:
                await registry.create(ancestor)
            except NodeExistsError:
                continue
    await registry.create(path, data)


async def delete_with_children(registry: Registry, path: str) -> None:
    """Delete a node and its descendants; does nothing if it does not exist.

    Raises:
        NotEmptyError: Somebody goes on creating children.
    """
    waiting, found = [path], []
    while waiting:
        found.append(waiting.pop())
        with contextlib.suppress(NoNodeError):
            waiting += [paths.child(found[-1], name) for name in await registry.children(found[-1])]
    for each in reversed(found):
        with contextlib.suppress(NoNodeError):
            await registry.delete(each)


async def create_persistent_paths(registry: Registry) -> None:
    """Create the nodes that Kafka's brokers expect, in one transaction unless another client creates some meanwhile."""
    wanted = [node for path in paths.PERSISTENT for node in (*paths.ancestors(path), path)]
    missing = [path for path in dict.fromkeys(wanted) if await registry.exists(path) is None]
    if not missing:
        return
    try:
        await registry.multi([CreateOp(path) for path in missing])
    except NodeExistsError:
        for path in paths.PERSISTENT:
            if await registry.exists(path) is None:
                await _create_if_missing(registry, path)


async def cluster_id(registry: Registry) -> str | None:
    """Return the cluster id; None: the cluster has none yet."""
    try:
        data, _ = await registry.get(paths.CLUSTER_ID)
    except NoNodeError:
        return None
    return decode_cluster_id(data)


def new_cluster_id(dice: "Random") -> str:
    """Return a random UUID (RFC 4122, version 4) in URL-safe base 64, as Kafka writes it."""
    return base64.urlsafe_b64encode(new_uuid(dice)).decode().rstrip("=")


async def ensure_cluster_id(registry: Registry, dice: "Random") -> str:
    """Return the cluster id; the first broker creates it from a random UUID."""
    known = await cluster_id(registry)
    while known is None:
        if await registry.exists(paths.CLUSTER_ID) is not None:
            # Another broker may have made it just now.
            known = await cluster_id(registry)
            if known is not None:
                break
            raise StartupError(
                f"{paths.CLUSTER_ID} contains no cluster id; find it in meta.properties next to the logs"
            )
        new = new_cluster_id(dice)
        ops: list[Op] = [CreateOp(paths.CLUSTER_ID, encode_cluster_id(new))]
        if await registry.exists(paths.parent(paths.CLUSTER_ID)) is None:
            ops.insert(0, CreateOp(paths.parent(paths.CLUSTER_ID)))
        try:
            await registry.multi(ops)
            return new
        except NodeExistsError:
            known = await cluster_id(registry)
    return known


async def ensure_login_secret(registry: Registry, dice: "Random") -> bytes:
    """Return the brokers' shared secret for logins of unknown users; the first broker creates it."""
    while True:
        with contextlib.suppress(NoNodeError):
            data, _ = await registry.get(paths.LOGIN_SECRET)
            if data:
                return data
            # Another client emptied the node.
            await registry.delete(paths.LOGIN_SECRET)
        with contextlib.suppress(NodeExistsError):
            await create_with_parents(registry, paths.LOGIN_SECRET, dice.randbytes(_LOGIN_SECRET_BYTES).hex().encode())


async def generate_broker_id(registry: Registry, reserved_broker_max_id: int) -> int:
    """Return an unused broker id, above the ids that users may assign (`reserved.broker.max.id`)."""
    stat = await registry.set(paths.BROKER_SEQUENCE, b"")
    return reserved_broker_max_id + stat.version


class BrokerIdTakenError(StartupError):
    """Another session registered a broker with this id."""


async def update_registration(registry: Registry, broker: BrokerRegistration) -> None:
    """Update the registration of a broker whose addresses have changed."""
    await registry.set(paths.broker(broker.broker_id), encode_registration(broker))


async def register_broker(registry: Registry, broker: BrokerRegistration, previous_session: int = 0) -> int:
    """Register a broker for as long as the session lives.

    Args:
        registry: The session.
        broker: The registration.
        previous_session: An expired session of this process: its node is replaced. 0: there was none.

    Returns:
        The broker epoch.

    Raises:
        BrokerIdTakenError: Another session has this id: a broker that is alive, or was a moment ago.
    """
    path = paths.broker(broker.broker_id)
    ops: list[Op] = [CreateOp(path, None, is_ephemeral=True), SetOp(path, encode_registration(broker), 0)]
    while True:
        try:
            await registry.multi(ops)
        except NodeExistsError:
            stat = await registry.exists(path)
            if stat is None:
                continue
            if stat.ephemeral_owner in (0, previous_session):
                # ZooKeeper may keep it for a while after the session is gone (ZOOKEEPER-2985).
                # A node without a session does not belong to a broker.
                await delete_with_children(registry, path)
                continue
            if stat.ephemeral_owner != registry.session_id:
                raise BrokerIdTakenError(
                    f"broker id {broker.broker_id} is taken by a broker that is alive; set another broker.id"
                ) from None
            try:
                await registry.set(path, encode_registration(broker))
            except NoNodeError:
                # The session ended before it got there, and the node with it.
                continue
        registered = await registry.exists(path)
        # The session may have expired in the meantime, and the node with it.
        if registered is not None and registered.ephemeral_owner == registry.session_id:
            return registered.czxid


async def bootstrap(registry: Registry, dice: "Random") -> str:
    """Create the persistent paths and the cluster id, in a shared commit.

    Returns:
        The cluster id.
    """
    _, known = await asyncio.gather(create_persistent_paths(registry), ensure_cluster_id(registry, dice))
    return known


async def kafka_version(registry: Registry) -> KafkaVersionNode | None:
    """Return the oldest Kafka that must be able to read what is written; None: the newest."""
    try:
        data, _ = await registry.get(paths.KAFKA_VERSION)
    except NoNodeError:
        return None
    return decode_kafka_version(data)


async def _create_if_missing(registry: Registry, path: str) -> None:
    try:
        await create_with_parents(registry, path)
    except NodeExistsError:
        return
