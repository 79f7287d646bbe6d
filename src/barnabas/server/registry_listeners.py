"""Serves the cluster's state, which this broker keeps itself, to ZooKeeper's clients: `barnabas.registry.listeners`.

Imported only where that is set.

Source: broker configs; docs/zookeeper-clients.md.
"""

import logging

from barnabas.core.config import BrokerConfig
from barnabas.core.config.listeners import parse_addresses
from barnabas.core.errors import StartupError
from barnabas.net.channel import Acceptor, SocketOptions
from barnabas.net.reactor import Reactor
from barnabas.registry.embedded import EmbeddedRegistry
from barnabas.registry.store import Registry
from barnabas.server.environment import Environment
from barnabas.zookeeper.server import ZooKeeperServer
from barnabas.zookeeper.state import ServerState

log = logging.getLogger(__name__)

_LOOPBACK = ("127.", "::1")


class RegistryListeners:
    """The addresses, from the opening of the registry on.

    Attributes:
        addresses: Host and port of each.
    """

    def __init__(self, env: Environment, config: BrokerConfig, registry: Registry) -> None:
        """Take the addresses.

        Raises:
            StartupError: One can't be had, or the registry is not this broker's own.
        """
        if not isinstance(registry, EmbeddedRegistry):
            raise StartupError(
                "barnabas.registry.listeners serves the cluster's state that a broker keeps itself; "
                "here ZooKeeper keeps it (zookeeper.connect): remove one of them"
            )
        options = SocketOptions(max_descriptor=env.limits.highest_connection_descriptor())
        acceptors: list[Acceptor] = []
        try:
            for host, port in parse_addresses(config.barnabas_registry_listeners, "127.0.0.1:2181"):
                acceptors.append(env.network.bind(host, port, options))
        except StartupError:
            for acceptor in acceptors:
                acceptor.close()
            raise
        self.addresses = [acceptor.address for acceptor in acceptors]
        state = ServerState(registry, env.clock, env.timers, env.dice, self.addresses[0][1])
        self._server = ZooKeeperServer(state, acceptors)

    def start(self, reactor: Reactor) -> None:
        """Serve from now on."""
        self._server.start(reactor)
        for host, port in self.addresses:
            log.info("ZooKeeper's clients find the registry at %s:%d", f"[{host}]" if ":" in host else host, port)
            if not host.startswith(_LOOPBACK):
                log.warning(
                    "barnabas.registry.listeners: anybody who reaches %s port %d can read and change the cluster's "
                    "state, users' credentials and permissions too",
                    host,
                    port,
                )

    def close(self) -> None:
        """Serve nobody any more."""
        self._server.close()
