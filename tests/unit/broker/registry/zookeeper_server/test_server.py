from pathlib import Path

import pytest

from barnabas.broker.registry import embedded
from barnabas.broker.registry.zookeeper_server.connection import MOST_UNSENT_BYTES, MOST_WAITING, MOST_WAITING_BYTES
from barnabas.broker.registry.zookeeper_server.state import MOST_PER_HOST, MOST_WATCH_BYTES
from barnabas.wire.registry.store import CreateOp, EventType, WatchEvent
from tests import zookeeper_client as zk
from tests.unit.broker.registry.zookeeper_server.harness import Client, World, play

pytestmark = pytest.mark.played(by=play)


@pytest.mark.parametrize(("wished_ms", "given_ms"), [(-5, 6_000), (1, 6_000), (18_000, 18_000), (1 << 30, 60_000)])
async def test_a_session_lasts_from_2_to_20_ticks(world: World, /, wished_ms: int, given_ms: int) -> None:
    client = await Client.connect(world, timeout_ms=wished_ms)
    assert client.timeout_ms == given_ms


async def test_a_silent_session_expires_with_its_nodes_and_its_connection(world: World, /) -> None:
    silent, talkative = await Client.connect(world), await Client.connect(world)
    silent.request(zk.CREATE, zk.creation("/e", flags=1))
    talkative.request(zk.CREATE, zk.creation("/f", flags=1))
    await world.turn()
    talkative.request(zk.EXISTS, zk.watching("/e", True))
    for _ in range(3):
        await world.advance(3_333)
        talkative.request(zk.PING)
    assert world.state.tree.owners() == [silent.session_id, talkative.session_id]
    talkative.frames()
    await world.advance(1)
    assert world.state.tree.owners() == [talkative.session_id]
    assert silent.peer.is_closed
    assert talkative.heard() == [(-1, EventType.DELETED)]
    again = await Client.connect(world, (silent.session_id, silent.password))
    await world.turn()
    assert (again.session_id, again.timeout_ms) == (0, 0)
    assert again.peer.is_closed


async def test_a_session_outlives_its_connection_and_goes_on_in_another(world: World, /) -> None:
    first = await Client.connect(world)
    first.request(zk.CREATE, zk.creation("/e", flags=1))
    first.request(zk.EXISTS, zk.watching("/e", True))
    await world.turn()
    first.peer.has_ended = True
    assert first.peer.on_read is not None
    first.peer.on_read()
    assert world.state.watches.counts() == (0, 0, 0)
    await world.advance(9_000)
    second = await Client.connect(world, (first.session_id, first.password))
    assert second.session_id == first.session_id
    await world.advance(9_000)
    third = await Client.connect(world, (first.session_id, first.password))
    assert second.peer.is_closed
    assert third.session_id == first.session_id
    third.request(zk.CLOSE_SESSION)
    await world.turn()
    assert third.peer.is_closed
    assert world.state.tree.owners() == []
    assert len(world.state.sessions) == 0


async def test_who_asks_for_no_session_is_closed(world: World, /) -> None:
    peer = world.comes()
    await world.advance(10_000)
    assert peer.is_closed
    assert not world.state.connections


async def test_one_address_has_so_many_connections(world: World, /) -> None:
    peers = [world.comes() for _ in range(MOST_PER_HOST + 1)]
    assert [peer.is_closed for peer in peers] == [False] * MOST_PER_HOST + [True]
    peers[0].has_ended = True
    assert peers[0].on_read is not None
    peers[0].on_read()
    assert not world.comes().is_closed


async def test_the_brokers_watches_see_what_clients_write_and_theirs_what_it_writes(world: World, /) -> None:
    client, events = await Client.connect(world), list[WatchEvent]()
    await world.registry.exists("/theirs", events.append)
    client.request(zk.CREATE, zk.creation("/theirs"))
    client.request(zk.EXISTS, zk.watching("/ours", True))
    await world.turn()
    assert events == [WatchEvent(EventType.CREATED, "/theirs")]
    await world.registry.multi([CreateOp("/ours")])
    await world.turn()
    assert client.heard() == [(1, 0), (2, -101), (-1, EventType.CREATED)]


async def test_a_read_waits_for_the_writes_before_it_and_writes_share_a_commit(world: World, /) -> None:
    client = await Client.connect(world)
    client.request(zk.CREATE, zk.creation("/a"))
    client.request(zk.CREATE, zk.creation("/b"))
    client.request(zk.EXISTS, zk.watching("/b"))
    client.request(zk.DELETE, zk.versioned("/b"))
    client.request(zk.EXISTS, zk.watching("/b"))
    assert client.heard() == []
    await world.turn()
    assert client.heard() == [(1, 0), (2, 0), (3, 0), (4, 0), (5, -101)]


def test_a_write_that_cannot_be_stored_ends_the_connection_but_not_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each write has its own commit: the second is stored, but an answer would be taken for the answer to the first.
    monkeypatch.setattr(embedded, "_OPS_PER_COMMIT", 1)

    async def story(world: World) -> None:
        client = await Client.connect(world)
        client.request(zk.CREATE, zk.creation("/before", flags=1))
        await world.turn()
        assert client.heard() == [(1, 0)]
        world.fail_next_commit()
        client.request(zk.CREATE, zk.creation("/first"))
        client.request(zk.CREATE, zk.creation("/second"))
        await world.turn()
        assert (client.heard(), client.peer.is_closed) == ([], True)
        again = await Client.connect(world, (client.session_id, client.password))
        assert again.session_id == client.session_id
        again.request(zk.CREATE, zk.creation("/first"))
        await world.turn()
        assert again.heard() == [(1, 0)]
        assert await world.registry.children("/") == ["before", "first", "second"]

    play(story, tmp_path / "registry.sqlite")


async def test_so_many_requests_wait_and_no_more_are_read(world: World, /) -> None:
    client = await Client.connect(world)
    creation = zk.creation("/a")
    for _ in range(MOST_WAITING + 500):
        client.request(zk.CREATE, creation)
    assert world.state.outstanding_count <= MOST_WAITING
    heard = client.heard()
    for _ in range(MOST_WAITING):
        await world.turn()
        heard += client.heard()
    assert [xid for xid, _ in heard] == list(range(1, MOST_WAITING + 501))


@pytest.mark.parametrize("pieces", [[b"ruok"], [b"r", b"uo", b"k"]])
async def test_a_four_letter_word_is_answered_and_ends_the_connection(world: World, /, pieces: list[bytes]) -> None:
    peer = world.comes()
    for piece in pieces:
        peer.inbox += piece
        assert peer.on_read is not None
        peer.on_read()
    await world.turn()
    assert bytes(peer.taken) == b"imok"
    assert peer.is_closed


async def test_words_tell_of_clients_nodes_and_watches(world: World, /) -> None:
    client = await Client.connect(world)
    client.request(zk.CREATE, zk.creation("/e", flags=1))
    client.request(zk.EXISTS, zk.watching("/e", True))
    await world.turn()

    async def told(word: bytes) -> str:
        peer = world.comes()
        peer.say(word)
        await world.turn()
        return peer.taken.decode()

    assert "Mode: standalone\nNode count: 2\n" in await told(b"srvr")
    assert "/127.0.0.1:50000[1](queued=0,recved=2,sent=2)" in await told(b"stat")
    assert "zk_ephemerals_count\t1\n" in await told(b"mntr")
    assert "clientPort=2181\ntickTime=3000\nmaxClientCnxns=60\n" in await told(b"conf")
    assert f"sid={client.session_id:#x},to=10000" in await told(b"cons")
    assert "zookeeper.version=3.5.9-barnabas" in await told(b"envi")
    assert f"{client.session_id:#x}:\n\t/e\n" in await told(b"dump")
    assert await told(b"wchs") == "1 connections watching 1 paths\nTotal watches:1\n"
    assert await told(b"isro") == "rw"
    assert await told(b"crst") == "crst is not executed because it is not in the whitelist.\n"


def test_no_word_and_no_log_tells_a_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    async def story(world: World) -> None:
        client = await Client.connect(world)
        client.request(zk.AUTH, zk.integer(0) + zk.text("digest") + zk.buffer(b"alice:secret-word"))
        client.say_frame(b"\0")
        assert client.peer.is_closed

    play(story)
    assert "secret-word" not in caplog.text
    assert "closing the connection" in caplog.text


async def test_very_many_watches_come_and_go_some_in_a_turn_and_in_order(world: World, /) -> None:
    client = await Client.connect(world)
    client.request(zk.CREATE, zk.creation("/a"))
    await world.turn()
    paths = [f"/none-{number}" for number in range(5_000)]
    client.request(zk.SET_WATCHES, zk.watch_lists(0, ["/a"], paths, []))
    client.request(zk.EXISTS, zk.watching("/a"))
    assert world.state.watches.counts()[2] < 5_000
    client.frames()
    await world.turn()
    assert world.state.watches.counts() == (1, 5_000, 5_000)
    assert client.heard() == [(2, 0), (3, 0)]
    client.peer.has_ended = True
    assert client.peer.on_read is not None
    client.peer.on_read()
    assert world.state.watches.counts()[2] == 4_000
    await world.registry.create("/none-1")
    await world.turn()
    assert world.state.watches.counts() == (0, 0, 0)


async def test_where_watches_take_too_much_the_connection_with_the_largest_is_closed(world: World, /) -> None:
    honest, greedy = await Client.connect(world), await Client.connect(world)
    honest.request(zk.EXISTS, zk.watching("/a", True))
    long = "x" * 900_000
    for number in range(MOST_WATCH_BYTES // len(long) + 2):
        assert world.state.watches.kept_bytes < MOST_WATCH_BYTES + 2 * len(long)
        greedy.request(zk.EXISTS, zk.watching(f"/{number}{long}", True))
        await world.turn()
        if greedy.peer.is_closed:
            break
    assert greedy.peer.is_closed
    await world.registry.create("/a")
    await world.turn()
    assert honest.heard() == [(1, -101), (-1, 1)]
    assert world.state.watches.counts() == (0, 0, 0)
    # Its session goes on.
    again = await Client.connect(world, (greedy.session_id, greedy.password))
    assert not again.peer.is_closed


async def test_of_so_many_bytes_requests_wait_and_no_more_are_read(world: World, /) -> None:
    client = await Client.connect(world)
    data = bytes(1_000_000)
    for number in range(20):
        client.request(zk.CREATE, zk.creation(f"/{number}", data))
    assert world.state.outstanding_count <= MOST_WAITING_BYTES // len(data) + 1
    heard = client.heard()
    while len(heard) < 20:
        await world.turn()
        heard += client.heard()
        if client.peer.on_read is not None:
            client.peer.on_read()
        assert world.state.outstanding_count <= MOST_WAITING_BYTES // len(data) + 1
    assert heard == [(number, 0) for number in range(1, 21)]


async def test_reads_behind_a_write_are_answered_as_the_client_takes_the_answers(world: World, /) -> None:
    client, other = await Client.connect(world), await Client.connect(world)
    data, count = bytes(100_000), 100
    client.request(zk.CREATE, zk.creation("/big", data))
    await world.turn()
    client.frames()
    client.peer.room_bytes = 0
    client.request(zk.CREATE, zk.creation("/small"))
    for _ in range(count):
        client.request(zk.GET_DATA, zk.watching("/big", True))
    await world.turn()
    for _ in range(10):
        # It is told of these, but gets no more answers because of that.
        other.request(zk.SET_DATA, zk.setting("/big", data))
        await world.turn()
    for turn in range(count):
        answered_bytes = (count - world.state.outstanding_count) * len(data)
        assert answered_bytes <= turn * len(data) + MOST_UNSENT_BYTES + len(data)
        client.peer.take(len(data))
        await world.turn()
    client.peer.take(count * len(data))
    await world.turn()
    assert [each for each in client.heard() if each[0] > 0] == [(xid, 0) for xid in range(2, count + 3)]
