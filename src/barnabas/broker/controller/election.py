"""Election of the controller: the broker that creates /controller wins; the same transaction raises the epoch.

Invariant: two controllers never have the same epoch. The older one's writes fail, because every write checks the
version of /controller_epoch.

Source: zookeeper.md, controller election.
"""

import logging
from typing import NamedTuple

from barnabas.core.clock import Clock
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.store import (
    BadVersionError,
    CreateOp,
    NodeExistsError,
    NoNodeError,
    Registry,
    SetOp,
    Stat,
    Watch,
)
from barnabas.wire.registry.znodes.cluster import (
    INITIAL_CONTROLLER_EPOCH,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from barnabas.wire.registry.znodes.payload import MalformedError

log = logging.getLogger(__name__)


class Elected(NamedTuple):
    """The epoch of this broker as the controller.

    Attributes:
        epoch_zk_version: The version of /controller_epoch that every write of this controller checks.
    """

    epoch: int
    epoch_zk_version: int


async def elect(registry: Registry, broker_id: int, clock: Clock) -> Elected | None:
    """Try to become the controller.

    Returns:
        The epoch, or None if another broker is the controller.
    """
    epoch, zk_version = await _read_epoch(registry)
    try:
        results = await registry.multi(
            [
                CreateOp(paths.CONTROLLER, encode_controller(broker_id, clock.now_ms()), is_ephemeral=True),
                SetOp(paths.CONTROLLER_EPOCH, encode_controller_epoch(epoch + 1), zk_version),
            ]
        )
    except (NodeExistsError, BadVersionError):
        return None
    stat = results[1]
    assert isinstance(stat, Stat)
    return Elected(epoch + 1, stat.version)


class Incumbent(NamedTuple):
    """The current controller, from /controller.

    Attributes:
        broker_id: -1: unknown, because the node's data is unreadable.
        session_id: The session that owns the node. If it is another session of this broker, the node belongs to an
            earlier session that has not expired yet.
    """

    broker_id: int
    session_id: int


async def current_controller(registry: Registry, watch: Watch | None = None) -> Incumbent | None:
    """Return the controller, or None if none is elected; `watch` fires when that changes."""
    if await registry.exists(paths.CONTROLLER, watch) is None:
        return None
    try:
        data, stat = await registry.get(paths.CONTROLLER)
    except NoNodeError:
        return None
    if not stat.ephemeral_owner:
        # Kafka could never elect a controller again.
        log.error("%s is not ephemeral, so it belongs to no broker: deleting it", paths.CONTROLLER)
        await delete_with_children(registry, paths.CONTROLLER)
        return None
    return Incumbent(decode_controller(data), stat.ephemeral_owner)


async def still_elected(registry: Registry) -> Elected:
    """Return the epoch of a broker that is still the controller after it lost its connection to the registry."""
    return Elected(*await _read_epoch(registry))


async def _read_epoch(registry: Registry) -> tuple[int, int]:
    try:
        data, stat = await registry.get(paths.CONTROLLER_EPOCH)
    except NoNodeError:
        try:
            await registry.create(paths.CONTROLLER_EPOCH, INITIAL_CONTROLLER_EPOCH)
        except NodeExistsError:
            pass
        data, stat = await registry.get(paths.CONTROLLER_EPOCH)
    try:
        return decode_controller_epoch(data), stat.version
    except MalformedError as error:
        # Each election writes the node once, so its version is the number of elections.
        log.error("%s is malformed (%s): the epoch continues from %d", paths.CONTROLLER_EPOCH, error, stat.version)
        return stat.version, stat.version
