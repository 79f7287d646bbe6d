"""What every registry does: the same tests run against the embedded one and against real ZooKeeper.

A subclass gives the fixture `open_registry`: an asynchronous function that opens a session on one and the same tree,
which is empty at the start of each test. One session at a time is open.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import Signature, iscoroutinefunction, signature

import pytest

from barnabas.wire.registry.store import (
    BadArgumentsError,
    BadVersionError,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Registry,
    SessionState,
    SetOp,
    Stat,
    WatchEvent,
)
from tests.patience import PATIENCE_S

OpenRegistry = Callable[[], Awaitable[Registry]]


def play(open_registry: OpenRegistry, *stories: Callable[[Registry], Awaitable[None]]) -> None:
    """Run each story in a session of its own, one after the other."""

    async def all_stories() -> None:
        for story in stories:
            registry = await open_registry()
            try:
                await story(registry)
            finally:
                await registry.close()

    asyncio.run(asyncio.wait_for(all_stories(), PATIENCE_S))


class Watcher:
    """Collects what a watch is told; one object is one watch."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self._is_told = asyncio.Event()

    def __call__(self, event: WatchEvent) -> None:
        self.events.append(event)
        self._is_told.set()

    async def told(self) -> list[WatchEvent]:
        """Wait until it was told of something."""
        await asyncio.wait_for(self._is_told.wait(), PATIENCE_S)
        return self.events


def in_a_session(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of a coroutine that takes a session: it takes the fixture `open_registry` in its place."""

    @wraps(story)
    def test(self: object, open_registry: OpenRegistry, **cases: object) -> None:
        play(open_registry, lambda registry: story(self, registry, **cases))

    parameters = list(signature(story).parameters.values())
    parameters[1] = parameters[1].replace(name="open_registry")
    setattr(test, "__signature__", Signature(parameters))  # noqa: B010  # functions have none for mypy
    return test


class RegistryContract:
    """Inherit, and give the fixture `open_registry`; coroutines run in a session."""

    def __init_subclass__(cls) -> None:
        for name, story in list(vars(RegistryContract).items()):
            if iscoroutinefunction(story):
                setattr(RegistryContract, name, in_a_session(story))

    async def test_a_created_node_has_its_data_and_version_0(self, registry: Registry) -> None:
        assert await registry.create("/a", b"one") == "/a"
        data, stat = await registry.get("/a")
        assert data == b"one"
        assert (stat.version, stat.cversion, stat.ephemeral_owner, stat.data_length) == (0, 0, 0, 3)
        assert stat.czxid == stat.mzxid == stat.pzxid
        assert stat.ctime == stat.mtime > 0

    async def test_null_data_stays_null(self, registry: Registry) -> None:
        await registry.create("/a")
        assert (await registry.get("/a"))[0] is None
        await registry.set("/a", b"x")
        await registry.set("/a", None)
        assert (await registry.get("/a"))[0] is None

    async def test_many_nodes_are_read_in_the_order_asked_for_with_their_watches(self, registry: Registry) -> None:
        names = [f"/n{number:03}" for number in range(100)]
        await registry.multi([CreateOp(name, name.encode()) for name in names])
        found = await registry.get_many([*names, "/missing", "/"])
        assert [None if node is None else node[0] for node in found[:101]] == [*(it.encode() for it in names), None]
        assert found[101] is not None
        watchers = {name: Watcher() for name in ("/n001", "/n002", "/missing")}
        await registry.get_many(list(watchers), watchers.__getitem__)
        await registry.set("/n002", b"new")
        assert await watchers["/n002"].told() == [WatchEvent(EventType.CHANGED, "/n002")]
        await registry.create("/missing")
        await registry.set("/n002", b"newer")
        assert (watchers["/n001"].events, watchers["/missing"].events) == ([], [])
        assert len(watchers["/n002"].events) == 1
        assert await registry.get_many([]) == []

    async def test_a_session_that_lasts_tells_nobody_anything(self, registry: Registry) -> None:
        told: list[SessionState] = []
        forget = registry.on_session(told.append)
        session_id = registry.session_id
        await registry.create("/a", ephemeral=True)
        assert (told, registry.session_id) == ([], session_id)
        forget()
        forget()

    async def test_creating_twice_or_below_nothing_is_refused(self, registry: Registry) -> None:
        await registry.create("/a")
        with pytest.raises(NodeExistsError):
            await registry.create("/a")
        with pytest.raises(NoNodeError):
            await registry.create("/b/c")

    @pytest.mark.parametrize("path", ["a", "/a/", "//a", "/a/../b", "/./a", "", "/a\0b"])
    async def test_a_path_that_is_none_is_refused(self, registry: Registry, path: str) -> None:
        with pytest.raises(BadArgumentsError):
            await registry.create(path)

    async def test_set_raises_the_version_and_the_transaction(self, registry: Registry) -> None:
        await registry.create("/a", b"one")
        _, before = await registry.get("/a")
        after = await registry.set("/a", b"two", before.version)
        assert (after.version, after.czxid) == (1, before.czxid)
        assert after.mzxid > before.mzxid
        assert await registry.get("/a") == (b"two", after)

    async def test_a_version_that_is_not_current_is_refused(self, registry: Registry) -> None:
        await registry.create("/a")
        await registry.set("/a", b"x")
        with pytest.raises(BadVersionError):
            await registry.set("/a", b"y", 0)
        with pytest.raises(BadVersionError):
            await registry.delete("/a", 0)
        assert (await registry.get("/a"))[0] == b"x"

    async def test_what_is_not_there_cannot_be_read_set_or_deleted(self, registry: Registry) -> None:
        with pytest.raises(NoNodeError):
            await registry.get("/a")
        with pytest.raises(NoNodeError):
            await registry.children("/a")
        with pytest.raises(NoNodeError):
            await registry.set("/a", b"")
        with pytest.raises(NoNodeError):
            await registry.delete("/a")
        assert await registry.exists("/a") is None

    async def test_only_a_node_without_children_can_be_deleted(self, registry: Registry) -> None:
        await registry.create("/a")
        await registry.create("/a/b")
        with pytest.raises(NotEmptyError):
            await registry.delete("/a")
        await registry.delete("/a/b")
        await registry.delete("/a")
        assert await registry.exists("/a") is None

    async def test_the_parent_counts_what_comes_and_goes(self, registry: Registry) -> None:
        await registry.create("/a")
        await registry.create("/a/c")
        await registry.create("/a/b")
        assert await registry.children("/a") == ["b", "c"]
        await registry.delete("/a/c")
        stat = await registry.exists("/a")
        assert stat is not None
        assert (stat.version, stat.cversion, stat.num_children) == (0, 3, 1)
        assert stat.pzxid > stat.mzxid

    async def test_sequence_numbers_rise_and_are_never_given_twice(self, registry: Registry) -> None:
        await registry.create("/q")
        assert await registry.create("/q/n_", sequence=True) == "/q/n_0000000000"
        second = await registry.create("/q/n_", sequence=True)
        await registry.delete(second)
        assert await registry.create("/q/n_", b"x", sequence=True) == "/q/n_0000000002"

    def test_an_ephemeral_node_ends_with_its_session(self, open_registry: OpenRegistry) -> None:
        stats: list[Stat | None] = []

        async def first(registry: Registry) -> None:
            await registry.create("/p")
            await registry.create("/p/e", b"x", ephemeral=True)
            stat = await registry.exists("/p/e")
            assert stat is not None
            assert stat.ephemeral_owner == registry.session_id != 0
            stats.append(stat)

        async def second(registry: Registry) -> None:
            assert await registry.children("/p") == []
            assert await registry.exists("/p/e") is None
            await registry.create("/p/e", ephemeral=True)
            again = await registry.exists("/p/e")
            assert again is not None
            assert stats[0] is not None
            assert again.czxid > stats[0].czxid

        play(open_registry, first, second)

    async def test_an_ephemeral_node_has_no_children(self, registry: Registry) -> None:
        await registry.create("/e", ephemeral=True)
        with pytest.raises(NoChildrenForEphemeralsError):
            await registry.create("/e/x")

    def test_what_was_written_is_there_in_the_next_session(self, open_registry: OpenRegistry) -> None:
        seen: list[tuple[bytes | None, Stat]] = []

        async def first(registry: Registry) -> None:
            await registry.create("/a")
            await registry.create("/a/b", b"x")
            await registry.create("/gone")
            await registry.set("/a/b", b"y")
            await registry.delete("/gone")
            await registry.create("/a/s", sequence=True)
            seen.append(await registry.get("/a/b"))
            seen.append(await registry.get("/a"))

        async def second(registry: Registry) -> None:
            assert await registry.get("/a/b") == seen[0]
            assert await registry.get("/a") == seen[1]
            assert await registry.exists("/gone") is None
            assert await registry.create("/a/s", sequence=True) == "/a/s0000000002"

        play(open_registry, first, second)

    async def test_multi_does_everything_as_one_transaction(self, registry: Registry) -> None:
        await registry.create("/v")
        await registry.create("/old")
        results = await registry.multi(
            [CheckOp("/v", 0), CreateOp("/a"), CreateOp("/a/b", b"x"), SetOp("/a/b", b"y", 0), DeleteOp("/old")]
        )
        assert results[0] is None
        assert results[1:3] == ["/a", "/a/b"]
        assert isinstance(results[3], Stat)
        assert results[3].version == 1
        _, parent = await registry.get("/a")
        assert await registry.get("/a/b") == (b"y", results[3])
        assert results[3].czxid == results[3].mzxid == parent.czxid
        assert await registry.exists("/old") is None

    async def test_multi_does_nothing_when_one_part_fails(self, registry: Registry) -> None:
        await registry.create("/v")
        await registry.create("/kept", b"x")
        _, before = await registry.get("/v")
        with pytest.raises(BadVersionError):
            await registry.multi(
                [CreateOp("/v/child"), SetOp("/v", b"new"), DeleteOp("/kept"), CreateOp("/a"), CheckOp("/a", 7)]
            )
        assert await registry.exists("/a") is None
        assert await registry.get("/v") == (None, before)
        assert (await registry.get("/kept"))[0] == b"x"
        assert await registry.children("/v") == []

    async def test_a_data_watch_is_told_once(self, registry: Registry) -> None:
        watch, later = Watcher(), Watcher()
        await registry.create("/a")
        await registry.get("/a", watch)
        await registry.get("/a", watch)
        await registry.set("/a", b"1")
        assert await watch.told() == [WatchEvent(EventType.CHANGED, "/a")]
        await registry.get("/a", later)
        await registry.set("/a", b"2")
        await later.told()
        assert len(watch.events) == 1

    async def test_an_exists_watch_sees_the_node_come(self, registry: Registry) -> None:
        watch = Watcher()
        assert await registry.exists("/a", watch) is None
        await registry.create("/a")
        assert await watch.told() == [WatchEvent(EventType.CREATED, "/a")]

    async def test_a_child_watch_sees_children_come_and_go_but_not_change(self, registry: Registry) -> None:
        come, go = Watcher(), Watcher()
        await registry.create("/a")
        await registry.children("/a", come)
        await registry.create("/a/b")
        assert await come.told() == [WatchEvent(EventType.CHILD, "/a")]
        await registry.children("/a", go)
        await registry.set("/a/b", b"x")
        await registry.set("/a", b"x")
        assert go.events == []
        await registry.delete("/a/b")
        assert await go.told() == [WatchEvent(EventType.CHILD, "/a")]

    async def test_deleting_a_node_tells_its_data_and_child_watches(self, registry: Registry) -> None:
        data, child, parent = Watcher(), Watcher(), Watcher()
        await registry.create("/p")
        await registry.create("/p/a")
        await registry.get("/p/a", data)
        await registry.children("/p/a", child)
        await registry.children("/p", parent)
        await registry.delete("/p/a")
        assert await data.told() == [WatchEvent(EventType.DELETED, "/p/a")]
        assert await child.told() == [WatchEvent(EventType.DELETED, "/p/a")]
        assert await parent.told() == [WatchEvent(EventType.CHILD, "/p")]

    async def test_a_refused_transaction_tells_nobody(self, registry: Registry) -> None:
        watch = Watcher()
        await registry.create("/a")
        await registry.get("/a", watch)
        with pytest.raises(NoNodeError):
            await registry.multi([SetOp("/a", b"1"), DeleteOp("/none")])
        assert watch.events == []
        await registry.set("/a", b"2")
        assert len(await watch.told()) == 1

    async def test_of_two_that_create_the_same_node_one_wins(self, registry: Registry) -> None:
        results = await asyncio.gather(registry.create("/a", b"1"), registry.create("/a", b"2"), return_exceptions=True)
        assert results[0] == "/a"
        assert isinstance(results[1], NodeExistsError)
        assert (await registry.get("/a"))[0] == b"1"
