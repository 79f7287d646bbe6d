"""The simulated ZooKeeper: servers that are behind, watches in their turn, sessions that end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from random import Random

import pytest

from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.testing.simulation.ensemble import Ensemble
from barnabas.testing.simulation.ensemble_session import EnsembleSession
from barnabas.testing.simulation.loop import CURRENT_PROCESS, Process
from barnabas.testing.simulation.world import Simulation
from barnabas.wire.registry.store import (
    BadVersionError,
    CheckOp,
    ConnectionLostError,
    CreateOp,
    EventType,
    NodeExistsError,
    RegistryClosedError,
    SessionState,
    SetOp,
    WatchEvent,
)

pytestmark = pytest.mark.played(by="play")

TIMEOUT_MS = 6_000
SERVERS = ("zk1", "zk2", "zk3")


class World:
    def __init__(self, seed: int) -> None:
        self.simulation = Simulation(seed)
        self.ensemble: Ensemble = self.simulation.add_ensemble(len(SERVERS))

    def client(self, name: str, seed: int = 1) -> Awaitable[EnsembleSession]:
        options = ZooKeeperOptions(self.ensemble.connect, TIMEOUT_MS)
        return EnsembleSession.open(self.ensemble, name, options, Random(seed))

    def cut_off(self, name: str) -> None:
        self.simulation.network.part([name], SERVERS)


@pytest.fixture(params=range(5))
def world(request):
    return World(request.param)


def run(world: World, story: Callable[[], Awaitable[None]]) -> None:
    world.simulation.run(story())  # type: ignore[arg-type]  # each is a coroutine
    assert world.simulation.loop.errors == []


@pytest.fixture
def play(world: World):
    return partial(run, world)


async def test_what_one_writes_the_others_find(world):
    a, b = await world.client("a"), await world.client("b")
    await a.create("/n", b"1")
    assert (await a.get("/n"))[0] == b"1"
    await a.multi([CreateOp("/m", b"x"), SetOp("/n", b"2", 0)])
    with pytest.raises(BadVersionError) as refused:
        await b.multi([CheckOp("/m", 0), SetOp("/n", b"3", 0)])
    assert refused.value.op_index == 1
    # Its write was decided after all that a wrote, and its own server has come as far.
    assert (await b.get("/n"))[0] == b"2"
    assert await b.get_many(["/m", "/none"]) == [await b.get("/m"), None]
    with pytest.raises(NodeExistsError):
        await b.create("/m")


async def test_a_server_that_is_behind_shows_what_was_and_never_goes_back(world):
    a = await world.client("a")
    await a.create("/n", b"0")
    b = await world.client("b")
    await b.exists("/n")
    await asyncio.sleep(1)
    for name in SERVERS:
        world.ensemble.set_lag(name, 2_000_000)
    await a.set("/n", b"1")
    # a has waited for its own server; whoever asks later may be told what was before.
    seen = [(await b.get("/n"))[1].version]
    for _ in range(40):
        await asyncio.sleep(0.1)
        world.ensemble.drop("b")
        with suppress(ConnectionLostError):
            seen.append((await b.get("/n"))[1].version)
    seen.append((await b.get("/n"))[1].version)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    for name in SERVERS:
        world.ensemble.set_lag(name, 0)
    assert {server.tree.zxid for server in world.ensemble.servers.values()} == {world.ensemble.tree.zxid}


async def test_a_watch_is_told_before_what_comes_after_the_change(world):
    a, b = await world.client("a"), await world.client("b")
    await a.create("/n", b"0")
    for number in range(20):
        events: list[WatchEvent] = []
        await asyncio.sleep(0.1)
        assert await b.exists("/n", events.append) is not None
        await a.set("/n", b"%d" % number)
        # Once the new data is seen the watch was told.
        while (await b.get("/n"))[0] != b"%d" % number:
            pass
        assert events == [WatchEvent(EventType.CHANGED, "/n")]


async def test_watches_of_children_and_of_what_is_not_there_yet(world):
    a, b = await world.client("a"), await world.client("b")
    await a.create("/p")
    events: list[WatchEvent] = []
    await asyncio.sleep(0.1)
    await b.children("/p", events.append)
    await b.exists("/p/c", events.append)
    await a.create("/p/c", ephemeral=True)
    await asyncio.sleep(1)
    assert events == [WatchEvent(EventType.CREATED, "/p/c"), WatchEvent(EventType.CHILD, "/p")]
    events.clear()
    assert await b.children("/p", events.append) == ["c"]
    await a.close()
    await asyncio.sleep(1)
    assert events == [WatchEvent(EventType.CHILD, "/p")]
    with pytest.raises(RegistryClosedError):
        await a.exists("/p")


async def test_a_client_that_is_cut_off_is_suspended_and_then_expires(world):
    a = await world.client("a")
    await a.create("/e", ephemeral=True)
    states: list[SessionState] = []
    events: list[WatchEvent] = []
    a.on_session(states.append)
    await a.exists("/e", events.append)
    first = a.session_id
    world.cut_off("a")
    await asyncio.sleep(TIMEOUT_MS / 1_000)
    # It knows that there is no connection, and no more.
    assert (states, events) == ([SessionState.SUSPENDED], [WatchEvent(EventType.NONE, "")])
    with pytest.raises(ConnectionLostError):
        await a.exists("/e")
    assert world.ensemble.tree.get("/e") is None
    world.simulation.network.heal()
    await asyncio.sleep(5)
    assert states[1:] == [SessionState.EXPIRED, SessionState.CONNECTED]
    assert a.session_id not in (0, first)
    await a.create("/e", ephemeral=True)


async def test_a_short_interruption_keeps_the_session(world):
    a = await world.client("a")
    await a.create("/e", ephemeral=True)
    states: list[SessionState] = []
    a.on_session(states.append)
    world.ensemble.drop("a")
    await asyncio.sleep(5)
    assert states == [SessionState.SUSPENDED, SessionState.CONNECTED]
    await asyncio.sleep(60)
    stat = await a.exists("/e")
    assert stat is not None
    assert stat.ephemeral_owner == a.session_id


async def test_a_process_that_stands_still_loses_its_session_and_learns_it_when_it_goes_on(world):
    loop, process = world.simulation.loop, Process("a")
    states: list[tuple[SessionState, float]] = []
    sessions: list[EnsembleSession] = []

    async def live() -> None:
        session = await world.client("a")
        session.on_session(lambda state: states.append((state, loop.time())))
        await session.create("/e", ephemeral=True)
        sessions.append(session)

    token = CURRENT_PROCESS.set(process)
    task = loop.create_task(live())
    CURRENT_PROCESS.reset(token)
    await task
    process.is_standing = True
    await asyncio.sleep(20)
    assert world.ensemble.tree.get("/e") is None
    assert states == []
    loop.go_on(process)
    went_on_s = loop.time()
    await asyncio.sleep(5)
    assert [state for state, _ in states] == [SessionState.SUSPENDED, SessionState.EXPIRED, SessionState.CONNECTED]
    assert states[0][1] == went_on_s


async def test_what_a_lost_connection_interrupts_may_have_been_done(world):
    a = await world.client("a")
    outcomes = []
    for number in range(40):
        asking = asyncio.ensure_future(a.create(f"/n{number}"))
        await asyncio.sleep(number / 10_000)
        world.ensemble.drop("a")
        try:
            await asking
        except ConnectionLostError:
            outcomes.append(world.ensemble.tree.get(f"/n{number}") is not None)
        await asyncio.sleep(2)
    assert set(outcomes) == {False, True}


async def test_without_most_servers_nothing_is_decided_and_no_session_ends(world):
    a = await world.client("a")
    await a.create("/e", ephemeral=True)
    world.ensemble.stop("zk1")
    await a.create("/x")
    world.ensemble.stop("zk2")
    with pytest.raises(ConnectionLostError):
        await a.create("/y")
    await asyncio.sleep(60)
    world.ensemble.start("zk1")
    await asyncio.sleep(5)
    assert (await a.exists("/e")) is not None
    assert await a.exists("/x") is not None
    world.ensemble.expire("a")
    await asyncio.sleep(5)
    assert await a.exists("/e") is None


def test_a_seed_gives_the_same_history() -> None:
    def history() -> list[str]:
        world = World(3)

        async def story() -> None:
            a, b = await world.client("a"), await world.client("b")
            for number in range(20):
                await a.create(f"/n{number}", ephemeral=True)
                await b.create(f"/m{number}")
            world.ensemble.expire("a")
            await asyncio.sleep(3)

        run(world, story)
        return world.simulation.history

    assert history() == history()
