"""All addresses that a broker listens on, which may change while it runs, and the limits of their connections.

A new listener is open before it is advertised, and a removed one is closed after it is no longer advertised.

Source: semantics, quotas (connections); broker configs listeners, advertised.listeners, max.connections.
"""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.net.channel import Channel, SocketOptions
from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.net.connection_quotas import ConnectionQuotas
from barnabas.broker.net.listener import Listener
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.server.environment import Environment
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.config.listeners import parse_counts_by_host
from barnabas.core.config.settings import BROKER_SETTINGS
from barnabas.core.errors import ConfigError, StartupError
from barnabas.core.executor import Executor, submit

if TYPE_CHECKING:
    from barnabas.broker.server.listener_tls import ListenerTls

log = logging.getLogger(__name__)

CONNECTION_LIMITS = (
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
)
LISTENER_SETTINGS = ("advertised.listeners", "listener.security.protocol.map", "listeners")
TLS_SETTINGS = tuple(name for name in BROKER_SETTINGS if name.startswith(("ssl.", "barnabas.ssl.")))
_WITH_TLS = ("SSL", "SASL_SSL")
# Excess connections that are closed in one turn of the event loop.
_CLOSED_PER_TURN = 100

NewHandler = Callable[[Connection], FrameHandler]


class _Open(NamedTuple):
    """An open listener: its endpoint in the settings when it was opened, and its bound host and port."""

    endpoint: Endpoint
    address: tuple[str, int]
    listener: Listener

    @property
    def bound_endpoint(self) -> Endpoint:
        """Return the endpoint with its actual port, which the system chose if the setting is 0."""
        return self.endpoint._replace(port=self.address[1])


class BrokerListeners:
    """Binds, starts, limits and closes all listeners. Owned by the event loop."""

    def __init__(self, config: BrokerConfig, env: Environment, executor: Executor) -> None:
        """Args:
        executor: Looks up host names.
        """
        self._config = config
        self._env = env
        self._executor = executor
        self._open: dict[str, _Open] = {}
        self._reactor: Reactor | None = None
        self._new_handler_of: Callable[[str], NewHandler] | None = None
        self._is_closing_some = False
        self._tls: ListenerTls | None = None
        self._on_handshake: Callable[[str, str, str], object] = lambda listener_name, host, reason: None
        self._quotas = ConnectionQuotas(config, env.clock, env.limits.highest_connection_descriptor())
        self._quotas.on_excess = self._close_some

    def report_refusals(
        self, on_limit: Callable[[str, str, str], object], on_handshake: Callable[[str, str, str], object]
    ) -> None:
        """Set callbacks for connections that a limit rejects or delays, and for failed TLS handshakes.

        Args:
            on_limit, on_handshake: Called with the listener, the host and the reason.
        """
        self._quotas.on_refused, self._on_handshake = on_limit, on_handshake
        if self._tls is not None:
            self._tls.on_refused = on_handshake

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first listener."""
        return self.address_of(self._config.endpoints[0].listener_name)

    def address_of(self, listener_name: str) -> tuple[str, int]:
        """Host and port of a listener."""
        return self._open[listener_name].address

    def bind(self) -> list[Endpoint]:
        """Bind the ports of new listeners in the settings, and close listeners that are no longer in them.

        Returns:
            The new listeners.

        Raises:
            StartupError: A port cannot be bound.
        """
        for gone in self._gone():
            gone.listener.close()
        missing = list(self._missing())
        for endpoint in missing:
            self._bind(endpoint)
        return missing

    def prepare(self, endpoints: Iterable[Endpoint] | None = None) -> None:
        """Read the keys of TLS listeners from the current settings: of some listeners, or of all open ones.

        Raises:
            StartupError: The keys are unusable.
        """
        for endpoint in [each.endpoint for each in self._open.values()] if endpoints is None else endpoints:
            self._prepare(endpoint)

    def check(self, config: BrokerConfig) -> None:
        """Refuse settings with unusable keys. Raises ConfigError."""
        if self._tls is not None:
            self._tls.check(config)

    def tls_changed(self) -> None:
        """Apply the current TLS settings."""
        if self._tls is not None:
            self._tls.settings_changed()

    def identify(self, connection: Connection, info: ConnectionInfo, handler: FrameHandler) -> FrameHandler:
        """Return the handler of a new connection: on TLS listeners, one that first determines the principal."""
        if info.security_protocol != "SSL" or self._tls is None:
            return handler
        return self._tls.identify(connection, info, handler)

    def wrap_link(self, channel: Channel, listener_name: str, host: str) -> Channel:
        """Return a connection to another broker's listener of this name, with TLS if that listener uses it."""
        return channel if self._tls is None else self._tls.wrap_link(channel, listener_name, host)

    def start(self, new_handler_of: Callable[[str], NewHandler], reactor: Reactor) -> None:
        """Begin to accept connections.

        Args:
            new_handler_of: Takes a listener's name; returns a function that makes a new connection's frame handler.
        """
        self._new_handler_of, self._reactor = new_handler_of, reactor
        self.limits_changed()
        for each in self._open.values():
            each.listener.start(new_handler_of(each.endpoint.listener_name), reactor)

    def open_new(self) -> Callable[[], None]:
        """Open new listeners in the settings; failures are logged.

        Returns:
            A function that closes removed listeners; call it once the new endpoints are advertised.
        """
        gone = self._gone()
        taken = {endpoint.port for endpoint in self._missing()}
        for each in gone:
            if each.address[1] in taken:
                # A new listener needs its port.
                each.listener.stop_accepting()
        for endpoint in self._missing():
            try:
                new_handler = None if self._new_handler_of is None else self._new_handler_of(endpoint.listener_name)
                self._prepare(endpoint)
                self._bind(endpoint)
            except (StartupError, ConfigError) as error:
                log.error("cannot open listener %s: %s", endpoint.listener_name, error)
                continue
            if new_handler is not None and self._reactor is not None:
                self._open[endpoint.listener_name].listener.start(new_handler, self._reactor)

        def close() -> None:
            for each in gone:
                each.listener.close()

        return close

    def advertised(self) -> tuple[Endpoint, ...]:
        """Return the advertised endpoints, without listeners that could not be opened."""
        told = []
        for endpoint in self._config.advertised_endpoints:
            found = self._open.get(endpoint.listener_name)
            if found is not None:
                host, port = found.address
                told.append(endpoint._replace(host=endpoint.host or self._host_name(host), port=endpoint.port or port))
        return tuple(told)

    def counts(self) -> list[tuple[str, int, int]]:
        """Return name, open connections and total connections of each listener."""
        return [
            (name, each.listener.connection_count, each.listener.accepted_count) for name, each in self._open.items()
        ]

    def closed(self) -> list[str]:
        """Return the names of the configured listeners that do not accept connections."""
        is_open = self._new_handler_of is not None
        return [
            name for each in self._config.endpoints if (name := each.listener_name) not in self._open or not is_open
        ]

    def stop_accepting(self) -> None:
        """Refuse new connections; open ones continue."""
        for each in self._open.values():
            each.listener.stop_accepting()

    def close(self) -> None:
        """Close every connection."""
        for each in self._open.values():
            each.listener.close()
        if self._tls is not None:
            self._tls.close()

    def limits_changed(self) -> None:
        """Apply changed connection limits: accept waiting connections, or close excess ones."""
        counts = parse_counts_by_host(self._config.max_connections_per_ip_overrides)
        names = [host for host in counts if not _is_address(host)]
        if names:
            self._look_up(names, counts)
        else:
            self._quotas.set_counts_by_host(counts)
        self._quotas.look_again()
        self._close_some()

    def _gone(self) -> list["_Open"]:
        """Remove and return the open listeners that are not in the settings, or differ from them."""
        # differs from Kafka (listener-address): Kafka compares only the names.
        wanted = self._config.endpoints
        gone = [
            each for each in self._open.values() if each.endpoint not in wanted and each.bound_endpoint not in wanted
        ]
        for each in gone:
            del self._open[each.endpoint.listener_name]
        return gone

    def _missing(self) -> list[Endpoint]:
        return [each for each in self._config.endpoints if each.listener_name not in self._open]

    def _host_name(self, bound_host: str) -> str:
        """Return the advertised host: this machine's name if the listener is bound to every interface."""
        return bound_host if bound_host not in ("0.0.0.0", "::") else self._env.network.host_name()

    def _bind(self, endpoint: Endpoint) -> None:
        config = self._config
        options = SocketOptions(
            config.socket_send_buffer_bytes,
            config.socket_receive_buffer_bytes,
            self._env.limits.highest_connection_descriptor(),
        )
        acceptor = self._env.network.bind(endpoint.host, endpoint.port, options)
        if endpoint.security_protocol in _WITH_TLS:
            acceptor = self._tls_of_listeners().acceptor(acceptor, endpoint)
        listener = Listener(
            acceptor,
            self._env.timers,
            config.socket_request_max_bytes,
            config.connections_max_idle_ms,
            endpoint.listener_name,
            self._quotas,
            # Without logins, clients may stay silent for any time.
            config.barnabas_login_timeout_ms if endpoint.security_protocol != "PLAINTEXT" else 0,
        )
        self._open[endpoint.listener_name] = _Open(endpoint, acceptor.address, listener)

    def _prepare(self, endpoint: Endpoint) -> None:
        if endpoint.security_protocol in _WITH_TLS:
            self._tls_of_listeners().prepare(endpoint)

    def _tls_of_listeners(self) -> "ListenerTls":
        if self._tls is None:
            # Imported here, because a broker without TLS does not need it.
            from barnabas.broker.server.listener_tls import ListenerTls

            self._tls = ListenerTls(self._config, self._env)
            self._tls.on_refused = self._on_handshake
        return self._tls

    def _look_up(self, names: Iterable[str], counts: dict[str, int]) -> None:
        """Find the addresses of hosts in max.connections.per.ip.overrides that are given by name."""

        def work() -> dict[str, list[str]]:
            return {name: self._env.network.addresses(name) for name in names}

        def take(found: dict[str, list[str]]) -> None:
            unknown = [name for name, addresses in found.items() if not addresses]
            if unknown:
                # Keep the old limits, so that no client is rejected that they admit.
                log.error("max.connections.per.ip.overrides not changed: unknown hosts: %s", ", ".join(unknown))
            elif parse_counts_by_host(self._config.max_connections_per_ip_overrides) == counts:
                by_address = {address: counts[name] for name in found for address in found[name]}
                self._quotas.set_counts_by_host({**counts, **by_address})

        submit(self._executor, work).then(take, lambda error: log.error("cannot look up hosts", exc_info=error))

    def _close_some(self) -> None:
        """Close connections while there are more than max.connections, the least recently used ones first."""
        if self._quotas.excess_count() and not self._is_closing_some:
            self._is_closing_some = True
            self._env.timers.call_later(0, self._close_next)

    def _close_next(self) -> None:
        self._is_closing_some = False
        count = min(self._quotas.excess_count(), _CLOSED_PER_TURN)
        listeners = [each.listener for name, each in self._open.items() if not self._quotas.is_protected(name)]
        idle = [found for listener in listeners for found in listener.by_idleness()]
        # By the idle time alone: connections with the same idle time stay in order of arrival.
        idle.sort(key=lambda found: -found[0])
        for _, connection in idle[:count]:
            connection.close("the broker has more connections than max.connections")
        if idle:
            self._close_some()


def _is_address(host: str) -> bool:
    return ":" in host or all(part.isdecimal() for part in host.split("."))
