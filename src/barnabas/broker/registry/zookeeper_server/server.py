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
"""jute.maxbuffer, as ZooKeeper has it unless told otherwise."""


class ZooKeeperServer:
    """Serves one registry at some addresses. Owned by the event loop."""

    def __init__(self, state: ServerState, acceptors: Sequence[Acceptor]) -> None:
        """Args:
        state: Its registry is closed by its owner, after this.
        acceptors: The addresses; owned from here on.
        """
        self._state = state
        counts: dict[str, int] = {}
        self._listeners = [
            # Not closed for being idle: a connection goes with its session.
            Listener(ZooKeeperAcceptor(acceptor, MOST_PER_HOST, counts), state.timers, MOST_FRAME_BYTES, -1)
            for acceptor in acceptors
        ]

    def start(self, reactor: Reactor) -> None:
        """Accept from now on."""
        self._state.registry.observe(self._state.on_event)
        for listener in self._listeners:
            listener.start(self._new_connection, reactor)

    def close(self) -> None:
        """Close every connection and forget the sessions."""
        self._state.sessions.close()
        for listener in self._listeners:
            listener.close()

    def _new_connection(self, connection: Connection) -> ZooKeeperConnection:
        made = ZooKeeperConnection(self._state, connection)
        self._state.connections[made] = None
        return made
