"""Connection quotas: the number of connections per address, per listener and in all, and their creation rate.

A connection from an address at its limit is closed at once. When a listener or the broker is at its limit, or
connections arrive faster than allowed, new ones wait: the listener accepts none until there is room. Unauthenticated
connections have a share of the places; when this share or all places are taken, the oldest one is closed. The
inter-broker listener, if it is separate, has only its own limits; the other listeners make room for it.

Limits are read at each use: they may change while the broker runs.

Source: semantics, quotas (connections); Kafka 2.7.2, kafka.network.ConnectionQuotas; KIP-402, KIP-612.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from barnabas.broker.net.unauthenticated import Guest, UnauthenticatedConnections
from barnabas.core.addresses import canonical_address
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.windowed_rate import WindowedRate

# Unauthenticated connections may use one part in this many of the places and file descriptors.
_PART_OF_UNAUTHENTICATED = 2
# The most unauthenticated connections closed for one new connection. One may not suffice: other waiting listeners may
# take the first free places.
_MOST_GIVING_WAY = 16


class ConnectionQuotas:
    """Counts the connections of all of a broker's listeners. Owned by the event loop.

    Attributes:
        count: The number of connections.
        on_excess: Called when `count` exceeds max.connections: another connection must close.
        on_refused: Called with the listener, the host and the reason when a connection is refused or must wait.
    """

    __slots__ = (
        "_by_host",
        "_by_listener",
        "_clock",
        "_config",
        "_counts_by_host",
        "_most_open",
        "_rates",
        "_unauthenticated",
        "_waiting",
        "count",
        "on_excess",
        "on_refused",
    )

    def __init__(self, config: BrokerConfig, clock: Clock, most_open: int = -1) -> None:
        """Args:
        most_open: The number of connections that there are file descriptors for; -1: no limit.
        """
        self.count = 0
        self.on_excess: Callable[[], object] = lambda: None
        self.on_refused: Callable[[str, str, str], object] = lambda listener_name, host, reason: None
        self._config = config
        self._clock = clock
        self._counts_by_host: Mapping[str, int] = {}
        self._by_host: dict[str, int] = {}
        self._by_listener: dict[str, int] = {}
        self._rates: dict[str, WindowedRate] = {}
        self._waiting: dict[Callable[[], object], None] = {}
        self._most_open = most_open
        self._unauthenticated = UnauthenticatedConnections()

    def set_counts_by_host(self, counts: Mapping[str, int]) -> None:
        """Set limits for individual addresses, which override max.connections.per.ip."""
        self._counts_by_host = {canonical_address(host): count for host, count in counts.items()}

    def is_protected(self, listener_name: str) -> bool:
        """Return whether broker-wide limits exclude this listener: it is the inter-broker one, and there are others."""
        config = self._config
        return listener_name == config.inter_broker_listener and len(config.endpoints) > 1

    def note_arrival(self, listener_name: str) -> int:
        """Count a new connection; return how many milliseconds the listener must wait because of its rate."""
        config = self._config
        limits = [("", config.max_connection_creation_rate)] if not self.is_protected(listener_name) else []
        own = config.of_listener(listener_name, "max.connection.creation.rate")
        if isinstance(own, int):
            limits.append((listener_name, own))
        window_ms = config.quota_window_size_seconds * 1_000
        now_ms = self._clock.monotonic_ms()
        wait_ms = 0
        for name, limit_per_s in limits:
            rate = self._rates.get(name)
            if rate is None:
                rate = self._rates[name] = WindowedRate(window_ms, config.quota_window_num)
            rate.record(now_ms)
            wait_ms = max(wait_ms, min(rate.excess_ms(now_ms, limit_per_s), window_ms) if limit_per_s else window_ms)
        return wait_ms

    def make_room(self, listener_name: str) -> bool:
        """Close unauthenticated connections if necessary; return whether the listener may take another connection."""
        left = _MOST_GIVING_WAY
        while (crowded := self._crowded(listener_name)) and left and self.displace(crowded):
            left -= 1
        return not crowded

    def displace(self, listener_names: Collection[str], least_stay_ms: int = 0) -> bool:
        """Close the oldest unauthenticated connection of some listeners that is at least `least_stay_ms` old.

        Returns whether such a connection existed.
        """
        guest = self._unauthenticated.oldest(listener_names, self._clock.monotonic_ms() - least_stay_ms)
        if guest is not None:
            # differs from Kafka (strangers-give-way): Kafka makes a new connection wait until another one closes.
            guest.close("it has neither logged in nor asked for anything, and others want its place")
        return guest is not None

    def _crowded(self, listener_name: str) -> Collection[str]:
        """Return the listeners that must close a connection before this one accepts another; empty: none."""
        config = self._config
        own = config.of_listener(listener_name, "max.connections")
        if isinstance(own, int) and self._by_listener.get(listener_name, 0) >= own:
            return (listener_name,)
        neighbours = self.neighbours(listener_name)
        share = max(self._most_connections() // _PART_OF_UNAUTHENTICATED, 1)
        is_full = not self.is_protected(listener_name) and self.count >= config.max_connections
        return neighbours if is_full or self._unauthenticated.count(neighbours) >= share else ()

    def neighbours(self, listener_name: str) -> Collection[str]:
        """Return the listeners that share their limits with this one, including itself."""
        if self.is_protected(listener_name):
            return (listener_name,)
        return [name for each in self._config.endpoints if not self.is_protected(name := each.listener_name)]

    def _most_connections(self) -> int:
        most = self._config.max_connections
        return most if self._most_open < 0 else min(most, self._most_open)

    def greet(self, listener_name: str, guest: Guest) -> None:
        """Count a connection as unauthenticated until `know`."""
        self._unauthenticated.add(listener_name, guest, self._clock.monotonic_ms())

    def know(self, listener_name: str, guest: Guest) -> None:
        """Stop counting a connection as unauthenticated: it is authenticated or closed."""
        self._unauthenticated.remove(listener_name, guest)

    def overdue_logins(self, listener_name: str, timeout_ms: int) -> Iterable[Guest]:
        """Return the unauthenticated connections older than `timeout_ms`, oldest first."""
        return self._unauthenticated.before(listener_name, self._clock.monotonic_ms() - timeout_ms)

    def take(self, listener_name: str, host: str) -> bool:
        """Count a connection; return False, without counting it, if its address is at its limit."""
        count = self._by_host.get(host, 0)
        if count >= self._counts_by_host.get(host, self._config.max_connections_per_ip):
            return False
        self._by_host[host] = count + 1
        self._by_listener[listener_name] = self._by_listener.get(listener_name, 0) + 1
        self.count += 1
        if self.count > self._config.max_connections:
            self.on_excess()
        return True

    def give_back(self, listener_name: str, host: str) -> None:
        """Stop counting a connection, which is closed."""
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._by_listener[listener_name] -= 1
        self.count -= 1
        self.look_again()

    def excess_count(self) -> int:
        """Return by how much the number of connections exceeds max.connections."""
        return max(self.count - self._config.max_connections, 0)

    def wait_for_room(self, on_change: Callable[[], object]) -> None:
        """Call `on_change` once when there may be room."""
        self._waiting[on_change] = None

    def look_again(self) -> None:
        """Call back waiting listeners: a connection has closed, or limits have changed."""
        waiting, self._waiting = self._waiting, {}
        for on_change in waiting:
            on_change()
