"""The state that the connections of one registry server share.

Source: ZooKeeper 3.5.9, ZooKeeperServer, ServerStats.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.broker.registry.embedded import EmbeddedRegistry, Outcome
from barnabas.broker.registry.tree import EndSessionOp, Tree
from barnabas.broker.registry.zookeeper_server.sessions import LEAST_TIMEOUT_MS, Session, Sessions
from barnabas.broker.registry.zookeeper_server.watches import Watches
from barnabas.core.clock import Clock
from barnabas.core.timers import Timers
from barnabas.wire.registry.acl import Author, Identity
from barnabas.wire.registry.store import RegistryClosedError, RegistryError, WatchEvent

if TYPE_CHECKING:
    from random import Random

END_AGAIN_MS: Final = 1_000
"""Pause before the end of a session is stored again, after a failed commit."""
MOST_PER_HOST: Final = 60
"""ZooKeeper's default of maxClientCnxns."""
# differs from Kafka (registry-bounds): in ZooKeeper only the heap limits watches.
MOST_WATCH_BYTES: Final = 128 * 1024 * 1024
"""The most memory for the watches of all connections: about 250,000 watches on topics."""
_NS_PER_MS = 1_000_000


class Statistics:
    """Request counts and latencies, for the four-letter words."""

    def __init__(self) -> None:
        self.received_count = self.sent_count = 0
        self._least_ns = self._most_ns = self._sum_ns = 0

    def note(self, duration_ns: int) -> None:
        """Count an answered request and its latency."""
        self._least_ns = min(self._least_ns, duration_ns) if self.received_count else duration_ns
        self._most_ns = max(self._most_ns, duration_ns)
        self._sum_ns += duration_ns
        self.received_count += 1

    @property
    def least_ms(self) -> int:
        return self._least_ns // _NS_PER_MS

    @property
    def average_ms(self) -> int:
        return self._sum_ns // _NS_PER_MS // max(self.received_count, 1)

    @property
    def most_ms(self) -> int:
        return self._most_ns // _NS_PER_MS


class ClientConnection(Protocol):
    """The interface of one connection for the others."""

    @property
    def peer(self) -> str:
        """The client's address and port."""
        ...

    @property
    def session(self) -> Session | None:
        """Return the connection's session."""
        ...

    @property
    def outstanding_count(self) -> int:
        """The number of requests that are not answered."""
        ...

    @property
    def received_count(self) -> int: ...

    @property
    def sent_count(self) -> int: ...

    def on_event(self, event: WatchEvent) -> None:
        """Queue a watch event; called in the middle of a commit."""
        ...

    def end(self, reason: str) -> None:
        """Close the connection at the end of the current turn; its session may continue on another one."""
        ...


class ServerState:
    """The state that all connections share. Owned by the event loop.

    Attributes:
        registry, tree: The served registry and its tree.
        supers: The super users.
        connections: The open connections, in order of arrival.
        port: The port of the first address.
        now_ns: Returns monotonic nanoseconds, for measurements.
    """

    def __init__(
        self,
        registry: EmbeddedRegistry,
        clock: Clock,
        timers: Timers,
        dice: "Random",
        port: int,
        supers: frozenset[Identity] = frozenset(),
        least_timeout_ms: int = LEAST_TIMEOUT_MS,
    ) -> None:
        self.registry = registry
        self.supers = supers
        # differs from Kafka (registry-root): in ZooKeeper the tree also contains ZooKeeper's own nodes.
        self.tree: Tree = registry.tree
        self.timers = timers
        self.now_ns: Callable[[], int] = clock.monotonic_ns
        self.watches: Watches[ClientConnection] = Watches()
        kept = registry.tree.sessions
        self.sessions = Sessions(clock, timers, dice, registry.session_id, self._on_expired, kept, least_timeout_ms)
        self.statistics = Statistics()
        self.connections: dict[ClientConnection, None] = {}
        self.port = port

    @property
    def outstanding_count(self) -> int:
        """The number of requests that are not answered."""
        return sum(each.outstanding_count for each in self.connections)

    def on_event(self, event: WatchEvent) -> None:
        """Fire the watches of an event in the tree."""
        for connection in self.watches.trigger(event):
            connection.on_event(event)

    def bound_watches(self) -> None:
        """Close the connection with the largest watches if all watches take too much memory."""
        if self.watches.kept_bytes > MOST_WATCH_BYTES:
            self.watches.dismiss_largest().end("its watches take too much memory")

    def _on_expired(self, session: Session) -> None:
        self.store_end(session.id)

    def store_end(self, session_id: int, answer: Callable[[Outcome], object] | None = None) -> None:
        """Store the end of a session; after a failed commit (disk full), try again until it is stored.

        Args:
            answer: Gets the first outcome; see `EmbeddedRegistry.perform`.
        """

        def ended(outcome: Outcome) -> None:
            if not isinstance(outcome.result, list | RegistryError):
                self.timers.call_later(END_AGAIN_MS, self.store_end, session_id)
            if answer is not None:
                answer(outcome)

        try:
            self.registry.perform([EndSessionOp(session_id)], Author(session_id), ended)
        except RegistryClosedError:
            # The broker stops: the session will expire again after a restart.
            return
