"""The sessions of ZooKeeper clients: they outlive a connection and this process, and expire after a timeout.

Invariants:

- A session has one connection at a time. Another connection can take it over with its password; then the first one is
  closed.
- A session that ended is never resumed: a client that tries gets the error that the session has expired.
- A confirmed session survives a kill: it is in the journal before the response.

Source: ZooKeeper programmer's guide, ZooKeeper sessions; ZooKeeper 3.5.9, SessionTrackerImpl.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.registry.tree import KeptSession
from barnabas.broker.registry.zookeeper_server.messages import PASSWORD_BYTES
from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers

if TYPE_CHECKING:
    from random import Random

# ZooKeeper's default tickTime: a session timeout is 2 to 20 ticks.
TICK_MS = 3_000
LEAST_TIMEOUT_MS = 2 * TICK_MS
MOST_TIMEOUT_MS = 20 * TICK_MS
_ID_BITS = 56
_TIME_SHIFT = 16


class Attached(Protocol):
    """The connection to which a session is attached."""

    def detach(self, reason: str) -> None:
        """Close the connection: the session moved to another connection, or ended."""
        ...


class Session:
    """One client.

    Attributes:
        id: The id; also the owner of its ephemeral nodes.
        timeout_ms: The session timeout.
        connection: Its connection; None while the client is disconnected.
    """

    __slots__ = ("connection", "deadline_ms", "id", "password", "timeout_ms", "timer")

    def __init__(self, session_id: int, password: bytes, timeout_ms: int) -> None:
        self.id = session_id
        self.password = password
        self.timeout_ms = timeout_ms
        self.deadline_ms = 0
        self.connection: Attached | None = None
        self.timer: Timer | None = None


class Sessions:
    """All live sessions. Owned by the event loop."""

    def __init__(
        self,
        clock: Clock,
        timers: Timers,
        dice: "Random",
        taken_id: int,
        on_expired: Callable[[Session], object],
        kept: Mapping[int, KeptSession],
        least_timeout_ms: int = LEAST_TIMEOUT_MS,
    ) -> None:
        """Args:
        taken_id: The id of the broker's own session.
        on_expired: Called with a session that has expired.
        kept: Sessions stored by an earlier process: their full timeout starts now.
        least_timeout_ms: The minimum timeout of a session.
        """
        self.least_timeout_ms = least_timeout_ms
        self._clock = clock
        self._timers = timers
        self._dice = dice
        self._taken_id = taken_id
        self._on_expired = on_expired
        self._next_id = (clock.now_ms() << _TIME_SHIFT) % (1 << _ID_BITS)
        self._sessions: dict[int, Session] = {}
        for session_id, (password, timeout_ms) in kept.items():
            self._add(Session(session_id, password, timeout_ms))

    def __len__(self) -> int:
        return len(self._sessions)

    def all(self) -> list[Session]:
        """Return the live sessions, in the order in which they began."""
        return list(self._sessions.values())

    def begin(self, wished_timeout_ms: int) -> Session:
        """Begin a new session, which is not stored in the tree yet."""
        self._next_id = (self._next_id + 1) % (1 << _ID_BITS)
        while self._next_id in (0, self._taken_id) or self._next_id in self._sessions:
            self._next_id += 1
        session = Session(self._next_id, self._dice.randbytes(PASSWORD_BYTES), self._negotiated(wished_timeout_ms))
        self._add(session)
        return session

    def _add(self, session: Session) -> None:
        self._sessions[session.id] = session
        self.heard(session)
        self._watch(session)

    def resume(self, session_id: int, password: bytes, wished_timeout_ms: int) -> Session | None:
        """Return a client's earlier session; None: it has expired, or the password is wrong."""
        from hmac import compare_digest

        session = self._sessions.get(session_id)
        if session is None or not compare_digest(session.password, password):
            return None
        before, session.connection = session.connection, None
        if before is not None:
            before.detach("its session moved to another connection")
        session.timeout_ms = self._negotiated(wished_timeout_ms)
        self.heard(session)
        if session.timer is not None:
            session.timer.cancel()
        self._watch(session)
        return session

    def heard(self, session: Session) -> None:
        """Restart the timeout of a session, after a request."""
        session.deadline_ms = self._clock.monotonic_ms() + session.timeout_ms

    def end(self, session: Session) -> None:
        """Remove a session; does nothing if it has ended already."""
        if self._sessions.get(session.id) is session:
            del self._sessions[session.id]
        if session.timer is not None:
            session.timer.cancel()
            session.timer = None

    def close(self) -> None:
        """Remove all sessions from memory; stored sessions remain in the tree."""
        for session in self.all():
            self.end(session)

    def _watch(self, session: Session) -> None:
        # The timer is set once per timeout, not at each request, because most sessions never expire.
        left_ms = session.deadline_ms - self._clock.monotonic_ms()
        session.timer = self._timers.call_later(max(left_ms, 1), self._look, session)

    def _look(self, session: Session) -> None:
        session.timer = None
        if self._clock.monotonic_ms() < session.deadline_ms:
            self._watch(session)
            return
        self.end(session)
        before, session.connection = session.connection, None
        if before is not None:
            before.detach("its session has expired")
        self._on_expired(session)

    def _negotiated(self, wished_ms: int) -> int:
        return min(max(wished_ms, self.least_timeout_ms), MOST_TIMEOUT_MS)
