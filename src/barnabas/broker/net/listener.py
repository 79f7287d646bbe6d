"""Accepts connections on one address and closes those that are idle for longer than connections.max.idle.ms.

Who comes is a stranger until it has logged in, or has asked for something where nobody has to log in; where there is a
deadline for that (barnabas.login.timeout.ms) it is closed then.

Somebody for whom there is no room yet waits, unanswered, and nobody after it is accepted (`connection_quotas.py`).

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
# Who is silent for so long holds no receive buffer any more: of what an idle connection takes that is four fifths.
_RESTING_TICKS = 10
# Looking at thousands of silent connections each second would cost more than everything else that an idle broker does.
_TICKS_BETWEEN_RESTS = 5
_PAUSE_MS = 500
# So many are closed, or looked at, in one turn of the loop.
_MOST_CLOSED, _MOST_LOOKED_AT, _MOST_READING_ON = 100, 1_000, 32
_NO_DESCRIPTOR = "no file descriptor is left for a new connection: raise the limit (ulimit -n)"
_NO_MEMORY = "no memory is left for a new connection"
# Memory is given back after so many connections more than there are now have gone, or have begun to rest together.
_GONE_CONNECTIONS = 200


class Listener:
    """An address that is listened on and the connections that came in through it.

    Attributes:
        name: As in `listeners`.
        tick: Counts seconds.
        accepted_count: How many connections there have been.
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
        acceptor: The address; owned from here on.
        max_frame_bytes: `socket.request.max.bytes`.
        max_idle_ms: `connections.max.idle.ms`; a negative value never closes.
        quotas: How many connections all listeners together may have; without it any number, and nobody is a stranger.
        login_timeout_ms: `barnabas.login.timeout.ms`; 0: a stranger may stay one.
        """
        self.name = name
        self._quotas = quotas
        # Who has come and must wait for room, or because others came too fast; nobody else is accepted meanwhile.
        self._waiting: tuple[Channel, tuple[str, int]] | None = None
        self._is_throttled = False
        self._acceptor = acceptor
        self._timers = timers
        self._max_frame_bytes = max_frame_bytes
        self._max_idle_ms = max_idle_ms
        self._login_timeout_ms = login_timeout_ms
        self._reactor: Reactor | None = None
        self._adopt: Callable[[Channel, tuple[str, int]], Connection] | None = None
        # In the order in which they came: what is done to all of them is done in that order.
        self._connections: dict[Connection, None] = {}
        self._timer: Timer | None = None
        self._is_closed = False
        self._peak_count = 0
        # Nobody is idle for too long before this tick.
        self._next_idle_tick = 0
        self.tick = 0
        self.accepted_count = 0

    def start(self, new_handler: Callable[[Connection], FrameHandler], reactor: Reactor) -> None:
        """Listen and accept from now on.

        Args:
            new_handler: Makes the frame handler of a fresh connection.
            reactor: What all connections share, those of other listeners too.
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
        """Refuse new connections; those that are open go on."""
        self._is_closed = True
        self._acceptor.close()
        if self._waiting is not None:
            self._waiting[0].close()
            self._waiting = None

    def by_idleness(self) -> list[tuple[int, Connection]]:
        """All connections, in the order in which they came, and for how many seconds each was not used."""
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
                    # Not one who came just now: it had no time to say anything.
                    if self._quotas is not None and self._quotas.displace(
                        self._quotas.neighbours(self.name), _PAUSE_MS
                    ):
                        continue
                    self._pause_accepting(_NO_DESCRIPTOR)
                    return
                # Gone before it was greeted.
                continue
            if self._quotas is not None and not self._may_come_in(self._quotas, peer, address):
                return
            if not self._take(adopt, peer, address):
                return

    def _take(
        self, adopt: Callable[[Channel, tuple[str, int]], Connection], peer: Channel, address: tuple[str, int]
    ) -> bool:
        """Begin a connection, or turn it away; whether others may come in now."""
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
        """Return whether a peer may come in now; else it waits, and whoever comes after it waits outside."""
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
        """Admit the waiting peer, if there is room now, and go on."""
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
        """Close who came too long ago to be a stranger still."""
        assert self._quotas is not None
        late = list(islice(self._quotas.overdue_logins(self.name, self._login_timeout_ms), _MOST_CLOSED))
        for connection in late:
            # differs from Kafka (login-deadline): it waits for connections.max.idle.ms.
            connection.close(f"it did not log in within barnabas.login.timeout.ms={self._login_timeout_ms}")
            self._quotas.on_refused(self.name, connection.peer_host, "barnabas.login.timeout.ms")
        if len(late) == _MOST_CLOSED:
            self._timers.call_later(0, self._close_late)

    def _look_for_peers(self, unheard: OrderedDict[Unheard, None]) -> None:
        """Find out who has left of those that nobody reads from, some at a time."""
        left = _MOST_READING_ON
        for connection in list(islice(unheard, _MOST_LOOKED_AT)):
            if left:
                unheard.move_to_end(connection)
                left -= connection.look_for_peer()

    def _let_rest(self) -> None:
        # Each once while it is silent: one of these ticks is its last.
        last_tick = self.tick - _RESTING_TICKS
        first_tick = last_tick - _TICKS_BETWEEN_RESTS + 1
        rested_count = sum(
            first_tick <= each.last_active_tick <= last_tick and each.rest() for each in self._connections
        )
        if rested_count >= _GONE_CONNECTIONS:
            give_memory_back()

    def _close_idle(self, most_ticks: int) -> None:
        """Close who said nothing for longer than so many ticks."""
        oldest_tick = self.tick - most_ticks
        idle = [each for each in self._connections if each.last_active_tick < oldest_tick and not each.is_parked]
        for connection in idle:
            connection.close(f"idle for longer than connections.max.idle.ms={self._max_idle_ms}")
        # A parked one is active when it goes on.
        left = (each.last_active_tick for each in self._connections if not each.is_parked)
        self._next_idle_tick = min(left, default=self.tick) + most_ticks + 1
