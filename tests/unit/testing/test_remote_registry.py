"""The simulation's registry elsewhere: what a lost connection tells."""

from random import Random

from barnabas.testing.simulation.sessions import RemoteRegistry
from barnabas.wire.registry.store import EventType, SessionState, WatchEvent
from tests.unit.memory_registry import memory_registry


async def test_who_watches_learns_that_the_connection_was_lost() -> None:
    near = await memory_registry()
    far = RemoteRegistry(near, Random(1))
    events: list[WatchEvent] = []
    states: list[SessionState] = []
    far.on_session(states.append)
    await far.create("/a")
    await far.get("/a", events.append)
    far.disconnect()
    assert (events, states) == ([WatchEvent(EventType.NONE, "")], [SessionState.SUSPENDED])
    await far.reconnect(is_expired=False)
    await far.set("/a", b"new")
    # That watch was of the connection before.
    assert (len(events), states[1:]) == (1, [SessionState.CONNECTED])
