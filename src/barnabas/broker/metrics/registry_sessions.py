"""Counters for state changes of the registry session, as in Kafka's SessionExpireListener.

Source: metrics facts, SessionExpireListener.
"""

from collections.abc import Callable

from barnabas.broker.metrics.snapshot import Snapshot
from barnabas.wire.registry.store import SessionListener, SessionState

_PREFIX = "kafka_server_sessionexpirelistener_zookeeper"


class RegistrySessions:
    """Counts state changes of the registry session. Owned by the event loop.

    Attributes:
        is_connected: Whether the registry can be reached.
    """

    def __init__(self, listen: Callable[[SessionListener], object]) -> None:
        """Args:
        listen: The registry's `on_session`.
        """
        self.is_connected = True
        self._counts = dict.fromkeys(SessionState, 0)
        listen(self._note)

    def put(self, snapshot: Snapshot) -> None:
        """Add the counts to a snapshot."""
        snapshot.put("barnabas_registry_connected", int(self.is_connected))
        snapshot.put(f"{_PREFIX}disconnects_total", self._counts[SessionState.SUSPENDED])
        snapshot.put(f"{_PREFIX}expires_total", self._counts[SessionState.EXPIRED])
        snapshot.put(f"{_PREFIX}syncconnects_total", self._counts[SessionState.CONNECTED])

    def _note(self, state: SessionState) -> None:
        self._counts[state] += 1
        if state is not SessionState.EXPIRED:
            self.is_connected = state is SessionState.CONNECTED
