"""A standalone registry: serves the tree to several brokers by ZooKeeper's protocol, without being a broker.

It is a single server. Sessions and their ephemeral nodes outlive it: if it restarts within their timeout, brokers
continue without noticing. While it is down clients still produce and consume, and no leader is elected.

Source: docs/zookeeper-clients.md; ADR 17.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.receive_memory_watch import watch
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.registry.embedded import REGISTRY_FILE, EmbeddedRegistry
from barnabas.broker.server.environment import Environment, machine_environment
from barnabas.broker.server.registry_listeners import RegistryListeners
from barnabas.broker.server.server_loop import StopRequest, run_on_loop, write_ready
from barnabas.core.config import BrokerConfig
from barnabas.core.process import has_started

if TYPE_CHECKING:
    from barnabas.broker.server.http_pages import RegistryHealth

# Memory of requests that are not yet complete; each takes at most a megabyte.
_RECEIVE_BYTES: Final = 64 * 1024 * 1024


class RegistryServer:
    """Serves the tree of one directory.

    Attributes:
        addresses: Host and port of each listener.
    """

    def __init__(self, env: Environment, config: BrokerConfig) -> None:
        """Args:
        env: The outside world.
        config: `log.dirs` names the directory of the tree, `barnabas.registry.*` its listeners.
        """
        self._env = env
        self._config = config
        self._executor = env.new_executor("registry", 1)
        self._registry: EmbeddedRegistry | None = None
        self._listeners: RegistryListeners | None = None
        self._health: RegistryHealth | None = None
        self.addresses: list[tuple[str, int]] = []

    async def start(self) -> None:
        """Start; once this returns clients can connect.

        Raises:
            BarnabasError: It cannot start; one line with the reason.
        """
        env, config = self._env, self._config
        if config.barnabas_http_listeners:
            # Imported here, because a registry without health pages does not need it.
            from barnabas.broker.server.http_pages import RegistryHealth

            self._health = RegistryHealth(env, config)
        path = Path(config.log_dirs[0]) / REGISTRY_FILE
        registry = self._registry = await EmbeddedRegistry.open(path, env.clock, self._executor)
        # Brokers connect like all other clients.
        registry.tree.is_brokers_own = False
        self._listeners = RegistryListeners(env, config, registry)
        self.addresses = self._listeners.addresses
        memory = ReceiveMemory(_RECEIVE_BYTES)
        reactor = Reactor(memory, Scheduler(env.loop.call_soon, env.clock.monotonic_ns), env.clock.monotonic_ns)
        for each in (memory, reactor.unauthenticated_memory):
            watch(each, env.timers, env.clock.monotonic_ns)
        self._listeners.start(reactor)
        if self._health is not None:
            self._health.is_serving = True

    async def stop(self) -> None:
        """Stop after pending requests are finished; sessions are kept."""
        if self._health is not None:
            self._health.is_serving = False
        if self._listeners is not None:
            self._listeners.close()
        if self._registry is not None:
            await self._registry.close()
        self._executor.close()
        if self._health is not None:
            self._health.close()


def run(config: BrokerConfig, ready_fd: int | None = None) -> None:
    """Serve until a signal stops it.

    Args:
        ready_fd: Receives one line of JSON once clients can connect, and is then closed.

    Raises:
        BarnabasError: It cannot start.
    """
    run_on_loop(_serve(config, ready_fd))


async def _serve(config: BrokerConfig, ready_fd: int | None) -> None:
    loop = asyncio.get_running_loop()
    stop = StopRequest(loop)
    server = RegistryServer(machine_environment(loop), config)
    try:
        if not await stop.is_before_end_of(server.start()):
            host, port = server.addresses[0]
            if ready_fd is not None:
                write_ready(ready_fd, {"host": host, "port": port})
            has_started()
            await stop.wait()
    finally:
        await server.stop()
