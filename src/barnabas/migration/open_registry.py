"""Opens a registry for a command: of a stopped broker's directory, or in ZooKeeper."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.clock import SystemClock
from barnabas.core.errors import BarnabasError
from barnabas.core.executor import InlineExecutor
from barnabas.migration.apply import locked, open_zookeeper
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.wire.registry.store import Registry


@contextlib.asynccontextmanager
async def open_registry(log_dir: Path | None, connect: str | None, *, creates: bool = False) -> AsyncIterator[Registry]:
    """Open a registry; its directory is locked against brokers while it is open.

    Args:
        log_dir: The directory; None for a ZooKeeper.
        connect: Address as in zookeeper.connect.
        creates: Create the registry or the chroot if it does not exist.

    Raises:
        StartupError: A broker has the directory open, or no ZooKeeper answers.
        BarnabasError: The registry does not exist.
    """
    if log_dir is None:
        assert connect is not None
        target = await open_zookeeper(connect)
        try:
            if creates:
                await target.create_chroot()
            yield target
        finally:
            await target.close()
        return
    _check(log_dir, creates)
    with locked([log_dir]):
        registry = await EmbeddedRegistry.open(log_dir / REGISTRY_FILE, SystemClock(), InlineExecutor())
        try:
            yield registry
        finally:
            await registry.close()


def _check(log_dir: Path, creates: bool) -> None:
    if not log_dir.is_dir() or not (creates or (log_dir / REGISTRY_FILE).exists()):
        raise BarnabasError(f"{log_dir}: {REGISTRY_FILE} does not exist: the broker keeps its state elsewhere")
