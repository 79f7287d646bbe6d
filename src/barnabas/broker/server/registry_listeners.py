"""Serves this broker's embedded registry to ZooKeeper clients, at `barnabas.registry.listeners`.

Imported only where that is set.

Source: broker configs; docs/zookeeper-clients.md.
"""

import logging
from typing import TYPE_CHECKING

from barnabas.broker.net.channel import Acceptor, SocketOptions
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.zookeeper_server.server import ZooKeeperServer
from barnabas.broker.registry.zookeeper_server.state import ServerState
from barnabas.broker.server.environment import Environment
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.config.listeners import parse_addresses
from barnabas.core.errors import BarnabasError, StartupError
from barnabas.wire.registry.acl import super_users
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from barnabas.broker.server.listener_tls import ListenerTls

log = logging.getLogger(__name__)

# As in listener.name.registry.ssl.keystore.location.
NAME = "REGISTRY"
_LOOPBACK = ("127.", "::1")


class RegistryListeners:
    """The listeners for ZooKeeper clients, bound as soon as the registry is open.

    Attributes:
        addresses: Host and port of each.
    """

    def __init__(self, env: Environment, config: BrokerConfig, registry: Registry) -> None:
        """Bind the addresses.

        Raises:
            StartupError: An address cannot be bound, or the registry is not this broker's own.
        """
        if not isinstance(registry, EmbeddedRegistry):
            raise StartupError(
                "barnabas.registry.listeners serves the cluster's state that a broker keeps itself; "
                "here ZooKeeper keeps it (zookeeper.connect): remove one of them"
            )
        options = SocketOptions(max_descriptor=env.limits.highest_connection_descriptor())
        plain = parse_addresses(config.barnabas_registry_listeners, "127.0.0.1:2181")
        secret = parse_addresses(config.barnabas_registry_ssl_listeners, "127.0.0.1:2182")
        acceptors: list[Acceptor] = []
        self._tls: ListenerTls | None = None
        try:
            supers = super_users(config.barnabas_registry_super_users or "")
            for host, port in [*plain, *secret]:
                acceptors.append(env.network.bind(host, port, options))
            for index in range(len(plain), len(acceptors)):
                acceptors[index] = self._with_tls(config, env, acceptors[index])
        except BarnabasError:
            for acceptor in acceptors:
                acceptor.close()
            self._close_tls()
            raise
        self.addresses = [acceptor.address for acceptor in acceptors]
        if config.zookeeper_set_acl and not supers and not registry.tree.is_brokers_own:
            log.warning(
                "zookeeper.set.acl=true without barnabas.registry.super.users: nobody can change the tree, and brokers "
                "cannot start with this registry: set barnabas.registry.super.users"
            )
        registry.tree.is_secured = self._is_secured = config.zookeeper_set_acl or bool(supers)
        least_ms = config.barnabas_registry_min_session_timeout_ms
        state = ServerState(registry, env.clock, env.timers, env.dice, self.addresses[0][1], supers, least_ms)
        self._server = ZooKeeperServer(state, acceptors)

    def _with_tls(self, config: BrokerConfig, env: Environment, acceptor: Acceptor) -> Acceptor:
        """Wrap an address's connections in TLS.

        Raises:
            StartupError: The keys are unusable.
        """
        endpoint = Endpoint(NAME, *acceptor.address, "SSL")
        if self._tls is None:
            # Imported here, because a registry without TLS does not need it.
            from barnabas.broker.server.listener_tls import ListenerTls

            self._tls = ListenerTls(config, env, lambda: [endpoint])
            self._tls.prepare(endpoint)
        return self._tls.acceptor(acceptor, endpoint)

    def _close_tls(self) -> None:
        if self._tls is not None:
            self._tls.close()

    def start(self, reactor: Reactor) -> None:
        """Begin to serve clients."""
        self._server.start(reactor)
        for host, port in self.addresses:
            log.info("registry for ZooKeeper clients: %s:%d", f"[{host}]" if ":" in host else host, port)
            if not host.startswith(_LOOPBACK) and not self._is_secured:
                log.warning(
                    "barnabas.registry.listeners: everyone who can reach %s port %d can read and change the cluster's "
                    "state, including credentials and permissions: set barnabas.registry.super.users",
                    host,
                    port,
                )

    def close(self) -> None:
        """Stop serving."""
        self._server.close()
        self._close_tls()
