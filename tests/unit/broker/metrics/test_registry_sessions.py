"""Losses and expired sessions of the registry, in numbers."""

from barnabas.broker.metrics.registry_sessions import RegistrySessions
from barnabas.broker.metrics.snapshot import Snapshot
from barnabas.wire.registry.store import SessionState

PREFIX = "kafka_server_sessionexpirelistener_zookeeper"


def figures(sessions):
    snapshot = Snapshot()
    sessions.put(snapshot)
    return {name.removeprefix(PREFIX): rows[0].value for name, rows in snapshot.rows.items()}


def test_losses_and_expired_sessions_are_counted():
    listeners = []
    sessions = RegistrySessions(listeners.append)
    (tell,) = listeners
    assert figures(sessions)["barnabas_registry_connected"] == 1
    tell(SessionState.SUSPENDED)
    assert figures(sessions)["barnabas_registry_connected"] == 0
    tell(SessionState.EXPIRED)
    tell(SessionState.CONNECTED)
    tell(SessionState.SUSPENDED)
    tell(SessionState.CONNECTED)
    assert figures(sessions) == {
        "barnabas_registry_connected": 1,
        "disconnects_total": 2,
        "expires_total": 1,
        "syncconnects_total": 2,
    }
