"""All addresses that a broker listens on, and how many connections they may have together.

Source: semantics, quotas (connections); broker configs listeners, advertised.listeners, max.connections.
"""

import logging
from collections.abc import Callable, Iterable

from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.config.listeners import parse_counts_by_host
from barnabas.core.executor import Executor, submit
from barnabas.net.channel import SocketOptions
from barnabas.net.connection import Connection, FrameHandler
from barnabas.net.connection_quotas import ConnectionQuotas
from barnabas.net.listener import Listener
from barnabas.net.reactor import Reactor
from barnabas.server.environment import Environment

log = logging.getLogger(__name__)

CONNECTION_LIMITS = (
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
)
# So many connections that are too many are closed in one turn of the loop.
_CLOSED_PER_TURN = 100

NewHandler = Callable[[Connection], FrameHandler]


class BrokerListeners:
    """Binds, starts, limits and closes them. Owned by the event loop."""

    def __init__(self, config: BrokerConfig, env: Environment, executor: Executor) -> None:
        """Args:
        executor: Where names of hosts are looked up.
        """
        self._config = config
        self._env = env
        self._executor = executor
        self._listeners: dict[str, Listener] = {}
        self._is_closing_some = False
        self._quotas = ConnectionQuotas(config, env.clock)
        self._quotas.on_excess = self._close_some

    def bind(self) -> list[tuple[str, int]]:
        """Take the ports; the addresses in their order.

        Raises:
            StartupError: One can't be had.
        """
        return [self._bind(endpoint) for endpoint in self._config.endpoints]

    def start(self, new_handler_of: Callable[[str], NewHandler], reactor: Reactor) -> None:
        """Accept from now on.

        Args:
            new_handler_of: For a listener's name: makes the frame handler of a fresh connection.
        """
        self.limits_changed()
        for name, listener in self._listeners.items():
            listener.start(new_handler_of(name), reactor)

    def stop_accepting(self) -> None:
        """Refuse new connections; those that are open go on."""
        for listener in self._listeners.values():
            listener.stop_accepting()

    def close(self) -> None:
        """Close every connection."""
        for listener in self._listeners.values():
            listener.close()

    def limits_changed(self) -> None:
        """Go by the limits as they are now: whoever waits may come in, and who is too much must go."""
        counts = parse_counts_by_host(self._config.max_connections_per_ip_overrides)
        names = [host for host in counts if not _is_address(host)]
        self._quotas.set_counts_by_host(counts)
        if names:
            self._look_up(names, counts)
        self._quotas.look_again()
        self._close_some()

    def _bind(self, endpoint: Endpoint) -> tuple[str, int]:
        config = self._config
        options = SocketOptions(
            config.socket_send_buffer_bytes,
            config.socket_receive_buffer_bytes,
            self._env.limits.highest_connection_descriptor(),
        )
        acceptor = self._env.network.bind(endpoint.host, endpoint.port, options)
        self._listeners[endpoint.listener_name] = Listener(
            acceptor,
            self._env.timers,
            config.socket_request_max_bytes,
            config.connections_max_idle_ms,
            endpoint.listener_name,
            self._quotas,
        )
        return acceptor.address

    def _look_up(self, names: Iterable[str], counts: dict[str, int]) -> None:
        """Find the addresses of hosts in max.connections.per.ip.overrides that are given by name."""

        def work() -> dict[str, int]:
            return {address: counts[name] for name in names for address in self._env.network.addresses(name)}

        def take(found: dict[str, int]) -> None:
            if parse_counts_by_host(self._config.max_connections_per_ip_overrides) == counts:
                self._quotas.set_counts_by_host({**counts, **found})

        submit(self._executor, work).then(take, lambda error: log.error("no host could be looked up", exc_info=error))

    def _close_some(self) -> None:
        """Close connections while there are more than max.connections, the least recently used ones first."""
        if self._quotas.excess_count() and not self._is_closing_some:
            self._is_closing_some = True
            self._env.timers.call_later(0, self._close_next)

    def _close_next(self) -> None:
        self._is_closing_some = False
        count = min(self._quotas.excess_count(), _CLOSED_PER_TURN)
        listeners = [each for name, each in self._listeners.items() if not self._quotas.is_protected(name)]
        idle = [found for listener in listeners for found in listener.by_idleness()]
        # By the first alone: where that is the same, in the order in which they came.
        idle.sort(key=lambda found: -found[0])
        for _, connection in idle[:count]:
            connection.close("there are more connections than max.connections")
        if idle:
            self._close_some()


def _is_address(host: str) -> bool:
    return ":" in host or all(part.isdecimal() for part in host.split("."))
