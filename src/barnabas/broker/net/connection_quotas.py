"""Connection quotas: the number of connections per address, per listener and in all, and their creation rate.

A connection from an address at its limit is closed at once. When a listener or the broker is at its limit, or
connections arrive faster than allowed, new ones wait: the listener accepts none until there is room. Unauthenticated
connections have a share of the places; when this share or all places are taken, the oldest one is closed. The
inter-broker listener, if it is a listener of its own, is bound by its own limits only: other listeners make room.

The limits are read when they are needed: they may change while the broker runs.

Source: semantics, quotas (connections); Kafka 2.7.2, kafka.network.ConnectionQuotas; KIP-402, KIP-612.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from barnabas.broker.net.unauthenticated import Guest, UnauthenticatedConnections
from barnabas.core.addresses import canonical_address
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.windowed_rate import WindowedRate

# Unauthenticated connections have this part of the places, and of the file descriptors.
_PART_OF_UNAUTHENTICATED = 2
# So many of them give way to one who comes: others who waited may take the first places.
_MOST_GIVING_WAY = 16


class ConnectionQuotas:
    """Counts the connections of all listeners of a broker. Owned by the event loop.

    Attributes:
        count: How many there are.
        on_excess: Called where there are more than there may be: somebody else must go.
        on_refused: Told the listener, the host and the reason where somebody is turned away, or must wait.
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
        most_open: How many connections there are descriptors for; -1: any number.
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
        """Set the limits of single addresses, which stand above max.connections.per.ip."""
        self._counts_by_host = {canonical_address(host): count for host, count in counts.items()}

    def is_protected(self, listener_name: str) -> bool:
        """Return whether the broker's own limits leave this listener out: brokers meet on it, and there are others."""
        config = self._config
        return listener_name == config.inter_broker_listener and len(config.endpoints) > 1

    def note_arrival(self, listener_name: str) -> int:
        """Count somebody who has come; how many milliseconds the listener must wait for that."""
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
        """Return whether a listener may take another connection, now that strangers gave way where that was needed."""
        left = _MOST_GIVING_WAY
        while (crowded := self._crowded(listener_name)) and left and self.displace(crowded):
            left -= 1
        return not crowded

    def displace(self, listener_names: Collection[str], least_stay_ms: int = 0) -> bool:
        """Have the oldest stranger at some listeners give way; whether there was one, who came so long ago."""
        guest = self._unauthenticated.oldest(listener_names, self._clock.monotonic_ms() - least_stay_ms)
        if guest is not None:
            # differs from Kafka (strangers-give-way): who comes waits until somebody leaves.
            guest.close("it has neither logged in nor asked for anything, and others want its place")
        return guest is not None

    def _crowded(self, listener_name: str) -> Collection[str]:
        """The listeners that have one connection too many for another one at this listener; none: there is room."""
        config = self._config
        own = config.of_listener(listener_name, "max.connections")
        if isinstance(own, int) and self._by_listener.get(listener_name, 0) >= own:
            return (listener_name,)
        neighbours = self.neighbours(listener_name)
        share = max(self._most_connections() // _PART_OF_UNAUTHENTICATED, 1)
        is_full = not self.is_protected(listener_name) and self.count >= config.max_connections
        return neighbours if is_full or self._unauthenticated.count(neighbours) >= share else ()

    def neighbours(self, listener_name: str) -> Collection[str]:
        """The listeners that share their room with this one, itself too."""
        if self.is_protected(listener_name):
            return (listener_name,)
        return [name for each in self._config.endpoints if not self.is_protected(name := each.listener_name)]

    def _most_connections(self) -> int:
        most = self._config.max_connections
        return most if self._most_open < 0 else min(most, self._most_open)

    def greet(self, listener_name: str, guest: Guest) -> None:
        """A connection is a stranger's until `know`."""
        self._unauthenticated.add(listener_name, guest, self._clock.monotonic_ms())

    def know(self, listener_name: str, guest: Guest) -> None:
        """A connection is a stranger's no longer, or gone."""
        self._unauthenticated.remove(listener_name, guest)

    def overdue_logins(self, listener_name: str, timeout_ms: int) -> Iterable[Guest]:
        """Those who came longer ago than so, in their order."""
        return self._unauthenticated.before(listener_name, self._clock.monotonic_ms() - timeout_ms)

    def take(self, listener_name: str, host: str) -> bool:
        """Count a connection, unless its address has all that it may have; whether it was counted."""
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
        """A connection that was counted is gone."""
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._by_listener[listener_name] -= 1
        self.count -= 1
        self.look_again()

    def excess_count(self) -> int:
        """Return by how much the connections are more than there may be in all."""
        return max(self.count - self._config.max_connections, 0)

    def wait_for_room(self, on_change: Callable[[], object]) -> None:
        """Have a listener look again, once, when there may be room."""
        self._waiting[on_change] = None

    def look_again(self) -> None:
        """Have those who wait look: a connection has gone, or limits have changed."""
        waiting, self._waiting = self._waiting, {}
        for on_change in waiting:
            on_change()
