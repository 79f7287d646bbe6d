"""Sessions of ZooKeeper's clients: whose they are, and when they are over."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.zookeeper_server.sessions import LEAST_TIMEOUT_MS, Session, Sessions
from barnabas.broker.registry.zookeeper_server.state import END_AGAIN_MS
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from tests import zookeeper_client as zk
from tests.unit.broker.registry.zookeeper_server.harness import Client, World, play


def test_a_session_goes_on_with_its_password_alone() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, clock, Random(1), 5, lambda session: None, {})
    session, other = sessions.begin(LEAST_TIMEOUT_MS), sessions.begin(LEAST_TIMEOUT_MS)
    assert sessions.resume(session.id, other.password, LEAST_TIMEOUT_MS) is None
    assert sessions.resume(session.id, b"", LEAST_TIMEOUT_MS) is None
    assert sessions.resume(session.id + 9, session.password, LEAST_TIMEOUT_MS) is None
    assert sessions.resume(session.id, session.password, LEAST_TIMEOUT_MS) is session


def test_a_session_that_was_silent_for_too_long_is_none_any_more() -> None:
    clock = ManualClock()
    over: list[Session] = []
    sessions = Sessions(clock, clock, Random(1), 5, over.append, {})
    session = sessions.begin(LEAST_TIMEOUT_MS)
    clock.advance(LEAST_TIMEOUT_MS - 1)
    sessions.heard(session)
    clock.advance(LEAST_TIMEOUT_MS - 1)
    assert (over, len(sessions)) == ([], 1)
    clock.advance(1)
    assert (over, len(sessions)) == ([session], 0)
    assert sessions.resume(session.id, session.password, LEAST_TIMEOUT_MS) is None


def test_a_session_lives_on_with_its_nodes_when_the_registry_is_opened_again(tmp_path: Path) -> None:
    known: list[tuple[int, bytes]] = []

    async def before(world: World) -> None:
        gone, stays = await Client.connect(world), await Client.connect(world, timeout_ms=LEAST_TIMEOUT_MS)
        for number, client in enumerate((gone, stays)):
            client.request(zk.CREATE, zk.creation(f"/node-{number}", flags=1))
            await world.turn()
            assert client.heard() == [(1, 0)]
        gone.request(zk.CLOSE_SESSION)
        await world.registry.create("/own", ephemeral=True)
        await world.turn()
        known.append((stays.session_id, stays.password))

    async def after(world: World) -> None:
        assert await world.registry.children("/") == ["node-1"]
        client = await Client.connect(world, known[0])
        assert (client.session_id, client.password) == known[0]
        await world.advance(2 * LEAST_TIMEOUT_MS)
        assert await world.registry.children("/") == []
        assert world.registry.tree.sessions == {}

    async def at_last(world: World) -> None:
        assert len(world.state.sessions) == 0

    for story in (before, after, at_last):
        play(story, tmp_path / "registry.sqlite")


async def expire(world: World, client: Client) -> None:
    await world.advance(client.timeout_ms)


async def close(world: World, client: Client) -> None:
    client.request(zk.CLOSE_SESSION)
    await world.turn()


@pytest.mark.parametrize("end", [expire, close])
def test_the_end_of_a_session_is_stored_once_the_disk_works(
    tmp_path: Path, end: Callable[[World, Client], Awaitable[None]]
) -> None:
    async def story(world: World) -> None:
        client = await Client.connect(world, timeout_ms=LEAST_TIMEOUT_MS)
        client.request(zk.CREATE, zk.creation("/node", flags=1))
        await world.turn()
        assert client.heard() == [(1, 0)]
        world.fail_next_commit()
        await end(world, client)
        assert (client.heard(), client.peer.is_closed) == ([], True)
        assert await world.registry.children("/") == ["node"]
        await world.advance(END_AGAIN_MS)
        assert (await world.registry.children("/"), world.registry.tree.sessions) == ([], {})

    play(story, tmp_path / "registry.sqlite")


@pytest.mark.played(by=play)
async def test_nothing_is_done_after_the_end_of_a_session(world: World, /) -> None:
    client = await Client.connect(world)
    client.request(zk.CLOSE_SESSION)
    client.request(zk.CREATE, zk.creation("/node", flags=1))
    client.request(zk.GET_CHILDREN, zk.watching("/"))
    await world.turn()
    assert (client.heard(), client.peer.is_closed) == ([(1, 0)], True)
    assert await world.registry.children("/") == []


def test_a_node_whose_session_is_gone_is_deleted_when_the_registry_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"

    async def before(world: World) -> None:
        for number in range(2):
            client = await Client.connect(world)
            client.request(zk.CREATE, zk.creation(f"/node-{number}", flags=1))
            await world.turn()
        await world.registry.create("/kept")

    async def after(world: World) -> None:
        assert await world.registry.children("/") == ["kept", "node-1"]

    play(before, path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session WHERE id = (SELECT owner FROM znode WHERE path = '/node-0')")
    play(after, path)


def test_who_serves_nobody_ends_the_sessions_that_it_finds(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"

    async def serve(world: World) -> None:
        client = await Client.connect(world)
        client.request(zk.CREATE, zk.creation("/node", flags=1))
        await world.turn()

    async def look() -> None:
        registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor(), keeps_sessions=False)
        assert (await registry.children("/"), registry.tree.sessions) == ([], {})
        await registry.close()

    play(serve, path)
    asyncio.run(look())


def test_a_session_lasts_no_less_than_the_registry_says() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, clock, Random(1), 5, lambda session: None, {}, least_timeout_ms=1_000)
    assert [sessions.begin(wished_ms).timeout_ms for wished_ms in (1, 1_000, 2_000)] == [1_000, 1_000, 2_000]
