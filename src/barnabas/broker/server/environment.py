"""Everything that a broker uses of the outside world: time, random numbers, threads, disk, network, registry.

`lifecycle` builds the machine's own environment; a simulation builds another one. All other parts of a broker receive
these things when they are built, and never access the outside world themselves
(tests/unit/broker/server/test_one_environment.py).

Source: design page, section 2; style page, one direction.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.log.disk.files import FileSystem, LocalFileSystem
from barnabas.broker.log.disk.page_cache import PageCache, system_page_cache
from barnabas.broker.net.channel import Network
from barnabas.broker.net.sockets import SocketNetwork
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.server.process_resources import (
    highest_connection_descriptor,
    most_partitions,
    process_figures,
    receive_memory_bytes,
)
from barnabas.broker.server.watchdog import CoreUse, ThreadCoreUse
from barnabas.core.clock import Clock, SystemClock
from barnabas.core.dice import system_dice
from barnabas.core.executor import Executor, OwnedExecutor, StopSignal, ThreadExecutor, new_stop_signal
from barnabas.core.timers import LoopTimers, Timers
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from random import Random

    from barnabas.broker.metrics.pages import Pages
    from barnabas.clients.zookeeper.options import ZooKeeperOptions


class Limits(Protocol):
    """The machine's limits."""

    def highest_connection_descriptor(self) -> int:
        """Return the highest file descriptor for connections; -1 sets no limit."""
        ...

    def most_partitions(self) -> int:
        """Return how many partitions this broker accepts before it refuses new ones."""
        ...

    def receive_memory_bytes(self, configured_bytes: int) -> int:
        """Return the bound of the receive memory; `configured_bytes` is queued.max.request.bytes."""
        ...

    def core_use(self) -> CoreUse:
        """Return the event loop thread's use of cores; zero if unknown."""
        ...

    def close(self) -> None:
        """Close the files from which the limits are read."""
        ...


class RegistryOpener(Protocol):
    """Opens a broker's session with the registry, which stores the cluster's state."""

    def holds(self, path: Path) -> bool:
        """Return whether a registry exists at this path."""
        ...

    async def open(self, path: Path, clock: Clock, executor: Executor, keeps_sessions: bool) -> Registry:
        """Begin a session.

        Args:
            path: The file of a single broker's registry.
            executor: A single thread of its own, for everything that blocks.
            keeps_sessions: Keep other processes' sessions.

        Raises:
            StartupError: Another process uses the registry, or it cannot be read.
        """
        ...


class HttpListeners(Protocol):
    """Addresses at which pages are served.

    Attributes:
        addresses: The bound host and port of each.
    """

    addresses: list[tuple[str, int]]

    def close(self) -> None:
        """Stop serving."""
        ...


class HttpEndpoint(Protocol):
    """Serves pages about the broker over HTTP without blocking it."""

    def open(self, addresses: Sequence[tuple[str, int]], pages: "Pages") -> HttpListeners:
        """Begin to serve pages.

        Raises:
            StartupError: An address cannot be bound.
        """
        ...

    def process(self) -> Mapping[str, float]:
        """Return the process metrics by their Prometheus names; not for the event loop."""
        ...


async def _open_zookeeper(options: "ZooKeeperOptions") -> Registry:
    # Imported here, because a broker with an embedded registry does not need it.
    from barnabas.broker.server.zookeeper import open_zookeeper

    return await open_zookeeper(options)


@dataclass(slots=True)
class Environment:
    """A broker's access to the outside world: time, disk, network, registry, threads.

    Attributes:
        loop: The event loop; only `timers` uses its time.
        clock, timers: Time.
        dice: Random numbers, also for new ids.
        new_executor: Makes an executor with a name and a number of threads; with one thread, work runs in order.
        new_stop_signal: Makes the flags that tell work in executors to stop.
        files, page_cache: The disk.
        network: Addresses and connections.
        registry: Opens the embedded registry, in which a single broker stores the cluster's state.
        limits: The number of connections, partitions and bytes that the machine allows.
        http: The HTTP server for pages about the broker.
        open_zookeeper: Begins a session with ZooKeeper, if the cluster's state is there.
    """

    loop: asyncio.AbstractEventLoop
    clock: Clock
    timers: Timers
    dice: "Random"
    new_executor: Callable[[str, int], OwnedExecutor]
    new_stop_signal: Callable[[], StopSignal]
    files: FileSystem
    page_cache: PageCache
    network: Network
    registry: RegistryOpener
    limits: Limits
    http: HttpEndpoint
    open_zookeeper: "Callable[[ZooKeeperOptions], Awaitable[Registry]]" = _open_zookeeper


class MachineLimits:
    """The limits of this process on this machine; see `Limits`."""

    def __init__(self) -> None:
        self._core_use = ThreadCoreUse()
        self.core_use: Callable[[], CoreUse] = self._core_use

    def highest_connection_descriptor(self) -> int:
        return highest_connection_descriptor()

    def most_partitions(self) -> int:
        return most_partitions()

    def receive_memory_bytes(self, configured_bytes: int) -> int:
        return receive_memory_bytes(configured_bytes)

    def close(self) -> None:
        self._core_use.close()


class SqliteRegistry:
    """A registry in a file of this machine; see `RegistryOpener`."""

    def holds(self, path: Path) -> bool:
        return path.exists()

    async def open(self, path: Path, clock: Clock, executor: Executor, keeps_sessions: bool) -> EmbeddedRegistry:
        return await EmbeddedRegistry.open(path, clock, executor, keeps_sessions)


class MachineHttp:
    """A thread of this process; see `HttpEndpoint`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def open(self, addresses: Sequence[tuple[str, int]], pages: "Pages") -> HttpListeners:
        # Imported here, because a broker without metrics does not need it.
        from barnabas.broker.server.http_server import HttpServer

        return HttpServer(self._loop, addresses, pages)

    def process(self) -> Mapping[str, float]:
        return process_figures()


def machine_environment(loop: asyncio.AbstractEventLoop) -> Environment:
    """Return the environment of this machine."""
    clock = SystemClock()
    return Environment(
        loop,
        clock,
        LoopTimers(loop),
        system_dice(),
        lambda name, thread_count: ThreadExecutor(loop, name, thread_count),
        new_stop_signal,
        LocalFileSystem(),
        system_page_cache(),
        SocketNetwork(loop, clock.monotonic_ns),
        SqliteRegistry(),
        MachineLimits(),
        MachineHttp(loop),
    )
