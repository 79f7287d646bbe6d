"""Accepts connections on one address and closes those that are idle for longer than connections.max.idle.ms.

A connection counts as unauthenticated until it has logged in, or has sent a request where no login is needed. It is
closed if that takes longer than barnabas.login.timeout.ms.

When there is no room for a connection, it waits without an answer, and no later one is accepted
(`connection_quotas.py`).

Source: design page, network layer; broker configs.
"""

import errno
import logging
from collections import OrderedDict
from collections.abc import Callable
from itertools import islice

from barnabas.broker.net.channel import Acceptor, Channel
from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.net.connection_quotas import ConnectionQuotas
from barnabas.broker.net.reactor import Reactor, Unheard
from barnabas.core.process import give_memory_back
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

_ACCEPTS_PER_TURN = 64
_TICK_MS = 1_000
# A connection silent for this long releases its receive buffer, which is four fifths of an idle connection's memory.
_RESTING_TICKS = 10
# Checking thousands of silent connections every second would cost more than all else that an idle broker does.
_TICKS_BETWEEN_RESTS = 5
_PAUSE_MS = 500
# Maximum number closed, checked, or read ahead in one turn of the loop.
_MOST_CLOSED, _MOST_LOOKED_AT, _MOST_READING_ON = 100, 1_000, 32
_NO_DESCRIPTOR = "no file descriptor is left for a new connection: raise the limit (ulimit -n)"
_NO_MEMORY = "no memory is left for a new connection"
# Memory is returned to the system when the count is this far below its peak, or this many released buffers at once.
_GONE_CONNECTIONS = 200


class Listener:
    """A listening address and the connections accepted through it.

    Attributes:
        name: As in `listeners`.
        tick: Counts seconds.
        accepted_count: Number of connections accepted so far.
    """

    def __init__(
        self,
        acceptor: Acceptor,
        timers: Timers,
        max_frame_bytes: int,
        max_idle_ms: int,
        name: str = "",
        quotas: ConnectionQuotas | None = None,
        login_timeout_ms: int = 0,
    ) -> None:
        """Args:
        acceptor: The address; owned by the listener.
        max_frame_bytes: `socket.request.max.bytes`.
        max_idle_ms: `connections.max.idle.ms`; negative: no limit.
        quotas: Limits for all listeners together; None: no limits, and no connection counts as unauthenticated.
        login_timeout_ms: `barnabas.login.timeout.ms`; 0: no deadline.
        """
        self.name = name
        self._quotas = quotas
        # A connection that waits for room, or for the creation rate; no other is accepted meanwhile.
        self._waiting: tuple[Channel, tuple[str, int]] | None = None
        self._is_throttled = False
        self._acceptor = acceptor
        self._timers = timers
        self._max_frame_bytes = max_frame_bytes
        self._max_idle_ms = max_idle_ms
        self._login_timeout_ms = login_timeout_ms
        self._reactor: Reactor | None = None
        self._adopt: Callable[[Channel, tuple[str, int]], Connection] | None = None
        # In order of arrival, which is also the order in which they are processed.
        self._connections: dict[Connection, None] = {}
        self._timer: Timer | None = None
        self._is_closed = False
        self._peak_count = 0
        # No connection can exceed the idle limit before this tick.
        self._next_idle_tick = 0
        self.tick = 0
        self.accepted_count = 0

    def start(self, new_handler: Callable[[Connection], FrameHandler], reactor: Reactor) -> None:
        """Start listening and accepting.

        Args:
            new_handler: Creates the frame handler of a new connection.
            reactor: State shared by all connections, including those of other listeners.
        """

        def adopt(peer: Channel, address: tuple[str, int]) -> Connection:
            connection = Connection(reactor, peer, address, self._max_frame_bytes, self, self._forget)
            if self._quotas is not None:
                connection.confine(self._admit)
                self._quotas.greet(self.name, connection)
            try:
                connection.start(new_handler(connection))
            except MemoryError:
                self._admit(connection)
                raise
            return connection

        self._adopt, self._reactor = adopt, reactor
        self._acceptor.listen(self._accept)
        self._timer = self._timers.call_later(_TICK_MS, self._on_tick)

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def stop_accepting(self) -> None:
        """Refuse new connections; open ones stay open."""
        self._is_closed = True
        self._acceptor.close()
        if self._waiting is not None:
            self._waiting[0].close()
            self._waiting = None

    def by_idleness(self) -> list[tuple[int, Connection]]:
        """Return all connections in order of arrival, each with the seconds since its last activity."""
        return [(self.tick - each.last_active_tick, each) for each in self._connections]

    def close(self) -> None:
        """Stop accepting and close every connection."""
        self.stop_accepting()
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._connections):
            connection.close()

    def _accept(self) -> None:
        adopt = self._adopt
        if self._is_closed or adopt is None:
            return
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                peer, address = self._acceptor.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    # Spare recent connections: they had no time to send anything.
                    if self._quotas is not None and self._quotas.displace(
                        self._quotas.neighbours(self.name), _PAUSE_MS
                    ):
                        continue
                    self._pause_accepting(_NO_DESCRIPTOR)
                    return
                # The peer left before it was accepted.
                continue
            if self._quotas is not None and not self._may_come_in(self._quotas, peer, address):
                return
            if not self._take(adopt, peer, address):
                return

    def _take(
        self, adopt: Callable[[Channel, tuple[str, int]], Connection], peer: Channel, address: tuple[str, int]
    ) -> bool:
        """Start a connection or refuse it; return whether others may be accepted now."""
        if self._quotas is not None and not self._quotas.take(self.name, address[0]):
            log.info("a connection from %s is refused: it has its maximum number of connections", address[0])
            self._quotas.on_refused(self.name, address[0], "max.connections.per.ip")
            peer.close()
            return True
        try:
            self._connections[adopt(peer, address)] = None
        except MemoryError:
            if self._quotas is not None:
                self._quotas.give_back(self.name, address[0])
            peer.close()
            self._pause_accepting(_NO_MEMORY)
            return False
        self._peak_count = max(self._peak_count, len(self._connections))
        self.accepted_count += 1
        return True

    def _may_come_in(self, quotas: ConnectionQuotas, peer: Channel, address: tuple[str, int]) -> bool:
        """Return whether a peer may connect now. If not, it waits, and no other peer is accepted."""
        throttle_ms = quotas.note_arrival(self.name)
        if throttle_ms == 0 and quotas.make_room(self.name):
            return True
        self._waiting = (peer, address)
        self._acceptor.pause()
        if throttle_ms > 0:
            self._is_throttled = True
            quotas.on_refused(self.name, address[0], "max.connection.creation.rate")
            self._timers.call_later(throttle_ms, self._end_throttle)
        else:
            quotas.on_refused(self.name, address[0], "max.connections")
            quotas.wait_for_room(self._let_in)
        return False

    def _end_throttle(self) -> None:
        self._is_throttled = False
        self._let_in()

    def _let_in(self) -> None:
        """Admit the waiting peer if there is room, and resume accepting."""
        adopt, waiting, quotas = self._adopt, self._waiting, self._quotas
        if waiting is None or adopt is None or quotas is None or self._is_throttled:
            return
        if not quotas.make_room(self.name):
            quotas.wait_for_room(self._let_in)
            return
        self._waiting = None
        if self._take(adopt, *waiting):
            self._acceptor.resume()

    def _pause_accepting(self, reason: str) -> None:
        log.error("%s", reason)
        self._acceptor.pause()
        self._timers.call_later(_PAUSE_MS, self._go_on)

    def _go_on(self) -> None:
        if self._waiting is None:
            self._acceptor.resume()

    def _admit(self, connection: Connection) -> None:
        if self._quotas is not None:
            self._quotas.know(self.name, connection)

    def _forget(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        if self._quotas is not None:
            self._quotas.know(self.name, connection)
            self._quotas.give_back(self.name, connection.peer_host)

    def _on_tick(self) -> None:
        self.tick += 1
        self._timer = self._timers.call_later(_TICK_MS, self._on_tick)
        if self._peak_count - len(self._connections) >= _GONE_CONNECTIONS:
            self._peak_count = len(self._connections)
            give_memory_back()
        if self.tick % _TICKS_BETWEEN_RESTS == 0:
            self._let_rest()
        if self._login_timeout_ms:
            self._close_late()
        if self._reactor is not None and self._reactor.unheard:
            self._look_for_peers(self._reactor.unheard)
        if self._max_idle_ms >= 0 and self.tick >= self._next_idle_tick:
            self._close_idle(self._max_idle_ms // _TICK_MS + 1)

    def _close_late(self) -> None:
        """Close connections that have been unauthenticated for too long."""
        assert self._quotas is not None
        late = list(islice(self._quotas.overdue_logins(self.name, self._login_timeout_ms), _MOST_CLOSED))
        for connection in late:
            # differs from Kafka (login-deadline): Kafka waits for connections.max.idle.ms.
            connection.close(f"it did not log in within barnabas.login.timeout.ms={self._login_timeout_ms}")
            self._quotas.on_refused(self.name, connection.peer_host, "barnabas.login.timeout.ms")
        if len(late) == _MOST_CLOSED:
            self._timers.call_later(0, self._close_late)

    def _look_for_peers(self, unheard: OrderedDict[Unheard, None]) -> None:
        """Find connections whose peer has left, among those that are not being read from; a limited number per call."""
        left = _MOST_READING_ON
        for connection in list(islice(unheard, _MOST_LOOKED_AT)):
            if left:
                unheard.move_to_end(connection)
                left -= connection.look_for_peer()

    def _let_rest(self) -> None:
        # Check each silent connection once: exactly one of these calls finds its last active tick in this range.
        last_tick = self.tick - _RESTING_TICKS
        first_tick = last_tick - _TICKS_BETWEEN_RESTS + 1
        rested_count = sum(
            first_tick <= each.last_active_tick <= last_tick and each.rest() for each in self._connections
        )
        if rested_count >= _GONE_CONNECTIONS:
            give_memory_back()

    def _close_idle(self, most_ticks: int) -> None:
        """Close connections without activity for more than `most_ticks` ticks."""
        oldest_tick = self.tick - most_ticks
        idle = [each for each in self._connections if each.last_active_tick < oldest_tick and not each.is_parked]
        for connection in idle:
            connection.close(f"idle for longer than connections.max.idle.ms={self._max_idle_ms}")
        # A parked connection becomes active when it resumes.
        left = (each.last_active_tick for each in self._connections if not each.is_parked)
        self._next_idle_tick = min(left, default=self.tick) + most_ticks + 1
