"""Writes as the controller: they fail once another broker has been elected.

Invariant: every write of the controller is one transaction with a check of /controller_epoch. If that check fails, this
controller resigns; the caller handles other failures of the transaction.

Source: zookeeper.md, controller election.
"""

from collections.abc import Sequence

from barnabas.core.errors import BarnabasError
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import BadVersionError, CheckOp, NoNodeError, Op, OpResult, Registry


class ControllerMovedError(BarnabasError):
    """Another broker was elected: this one is no longer the controller."""


async def write_as_controller(registry: Registry, epoch_zk_version: int, ops: Sequence[Op]) -> list[OpResult]:
    """Execute all operations in one transaction.

    Args:
        epoch_zk_version: The version of /controller_epoch that this controller wrote.

    Returns:
        The results of `ops`.

    Raises:
        ControllerMovedError: /controller_epoch has another version, or does not exist.
        RegistryError: The error of the first of `ops` that failed.
    """
    try:
        results = await registry.multi([CheckOp(paths.CONTROLLER_EPOCH, epoch_zk_version), *ops])
    except (BadVersionError, NoNodeError) as error:
        if error.path == paths.CONTROLLER_EPOCH:
            raise ControllerMovedError("/controller_epoch was written by another broker") from None
        raise
    return results[1:]
