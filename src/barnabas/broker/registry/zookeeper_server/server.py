"""The embedded registry as a ZooKeeper server: its addresses and connections.

Source: ZooKeeper 3.5.9, NIOServerCnxnFactory.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.broker.net.channel import Acceptor
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.listener import Listener
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.registry.zookeeper_server.acceptor import ZooKeeperAcceptor
from barnabas.broker.registry.zookeeper_server.connection import ZooKeeperConnection
from barnabas.broker.registry.zookeeper_server.state import MOST_PER_HOST, ServerState

MOST_FRAME_BYTES: Final = 0xFFFFF
"""ZooKeeper's default of jute.maxbuffer."""


class ZooKeeperServer:
    """Serves one registry at one or more addresses. Owned by the event loop."""

    def __init__(self, state: ServerState, acceptors: Sequence[Acceptor]) -> None:
        """Args:
        state: The shared state; the owner of its registry closes the registry after this server.
        acceptors: The addresses; owned by this server from now on.
        """
        self._state = state
        counts: dict[str, int] = {}
        self._listeners = [
            # No idle limit: the session timeout closes connections.
            Listener(ZooKeeperAcceptor(acceptor, MOST_PER_HOST, counts), state.timers, MOST_FRAME_BYTES, -1)
            for acceptor in acceptors
        ]

    def start(self, reactor: Reactor) -> None:
        """Accept connections from now on."""
        self._state.registry.observe(self._state.on_event)
        for listener in self._listeners:
            listener.start(self._new_connection, reactor)

    def close(self) -> None:
        """Close every connection and drop the sessions."""
        self._state.sessions.close()
        for listener in self._listeners:
            listener.close()

    def _new_connection(self, connection: Connection) -> ZooKeeperConnection:
        made = ZooKeeperConnection(self._state, connection)
        self._state.connections[made] = None
        return made
