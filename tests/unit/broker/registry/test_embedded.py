import asyncio
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.registry.embedded import EmbeddedRegistry, Outcome
from barnabas.broker.registry.journal import Journal
from barnabas.broker.registry.tree import EndSessionOp, SetAclOp
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.executor import InlineExecutor, ThreadExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.acl import Acl, Author
from barnabas.wire.registry.store import CreateOp, EventType, NodeExistsError, RegistryClosedError, WatchEvent
from tests.unit.broker.registry.contract import OpenRegistry, RegistryContract
from tests.unit.memory_registry import memory_registry


class HeldExecutor:
    """Runs work when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def run(self, work, then, failed) -> None:
        self.waiting.append(lambda: InlineExecutor().run(work, then, failed))

    def release(self) -> None:
        self.waiting.pop(0)()


async def turn() -> None:
    """Let what is ready on the loop run."""
    for _ in range(3):
        await asyncio.sleep(0)


class TestEmbeddedRegistry(RegistryContract):
    @pytest.fixture
    def open_registry(self, tmp_path: Path) -> OpenRegistry:
        return lambda: EmbeddedRegistry.open(tmp_path / "registry.sqlite", ManualClock(), InlineExecutor())


async def held_registry(path: Path) -> tuple[EmbeddedRegistry, HeldExecutor]:
    executor = HeldExecutor()
    opening = asyncio.ensure_future(EmbeddedRegistry.open(path, ManualClock(), executor))
    await turn()
    executor.release()
    return await opening, executor


async def test_a_change_is_answered_and_seen_when_its_commit_is_done(tmp_path: Path) -> None:
    registry, executor = await held_registry(tmp_path / "registry.sqlite")
    events: list[WatchEvent] = []
    await registry.exists("/a", events.append)
    creating = asyncio.ensure_future(registry.create("/a"))
    await turn()
    assert not creating.done()
    assert events == []
    assert await registry.exists("/a") is None
    executor.release()
    assert await registry.exists("/a") is not None
    assert len(events) == 1
    assert await creating == "/a"


async def test_changes_that_come_together_share_a_commit(tmp_path: Path) -> None:
    registry, executor = await held_registry(tmp_path / "registry.sqlite")
    first = [asyncio.ensure_future(registry.create(f"/a{i}")) for i in range(10)]
    await turn()
    assert len(executor.waiting) == 1
    second = [asyncio.ensure_future(registry.create(f"/b{i}")) for i in range(10)]
    await turn()
    assert len(executor.waiting) == 1
    executor.release()
    await asyncio.gather(*first)
    assert not any(task.done() for task in second)
    executor.release()
    await asyncio.gather(*second)
    assert executor.waiting == []
    stats = [await registry.exists(f"/a{i}") for i in range(10)]
    assert len({stat.czxid for stat in stats if stat}) == 10


async def test_very_many_changes_take_several_commits_in_their_order(tmp_path: Path) -> None:
    registry, executor = await held_registry(tmp_path / "registry.sqlite")
    large = asyncio.ensure_future(registry.multi([CreateOp(f"/large{i}") for i in range(1_500)]))
    small = [asyncio.ensure_future(registry.create(f"/small{i}")) for i in range(1_500)]
    done_counts = []
    await turn()
    while executor.waiting:
        executor.release()
        await turn()
        done_counts.append(large.done() + sum(task.done() for task in small))
    assert done_counts == [1, 1_001, 1_501]
    assert (await registry.exists("/small0")).czxid < (await registry.exists("/small1499")).czxid


async def test_a_refusal_waits_for_what_it_was_judged_against(tmp_path: Path) -> None:
    registry, executor = await held_registry(tmp_path / "registry.sqlite")
    winner = asyncio.ensure_future(registry.create("/a"))
    loser = asyncio.ensure_future(registry.create("/a"))
    await turn()
    assert not loser.done()
    executor.release()
    assert await winner == "/a"
    with pytest.raises(NodeExistsError):
        await loser


async def test_a_commit_that_fails_changes_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    journal, tree = Journal.open(path, keeps_sessions=True)
    registry = EmbeddedRegistry(tree, journal, ManualClock(), InlineExecutor())
    connection: sqlite3.Connection = journal._connection
    page_count = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {page_count}")
    with pytest.raises(StorageError, match="full"):
        await registry.create("/big", bytes(1_000_000))
    assert await registry.exists("/big") is None
    assert await registry.create("/small") == "/small"
    await registry.close()


async def test_a_watch_that_fails_leaves_nobody_without_an_answer() -> None:
    reported: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
    registry = await memory_registry()

    def broken(event: WatchEvent) -> None:
        raise ValueError(event.path)

    await registry.exists("/a", broken)
    assert await registry.create("/a") == "/a"
    assert reported == ["a watch on /a failed"]


async def test_who_watches_the_children_of_a_node_is_told_when_it_goes() -> None:
    registry = await memory_registry()
    await registry.create("/a")
    told: list[WatchEvent] = []
    await registry.children("/a", told.append)
    await registry.delete("/a")
    assert told == [WatchEvent(EventType.DELETED, "/a")]
    await registry.close()


def test_a_commit_is_on_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    journal, _ = Journal.open(tmp_path / "registry.sqlite", keeps_sessions=True)
    # SQLite syncs its write-ahead log at each commit with FULL (2), and not with less.
    assert opened[0].execute("PRAGMA synchronous").fetchone() == (2,)
    journal.close()


async def test_after_close_everything_is_refused() -> None:
    registry = await memory_registry()
    await registry.close()
    await registry.close()
    with pytest.raises(RegistryClosedError):
        await registry.create("/a")
    with pytest.raises(RegistryClosedError):
        await registry.exists("/a")


async def test_close_finishes_what_was_asked_for(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    executor = ThreadExecutor(loop, "registry")
    registry = await EmbeddedRegistry.open(tmp_path / "r.sqlite", ManualClock(), executor)
    writes = [asyncio.ensure_future(registry.create(f"/a{i}")) for i in range(5)]
    await asyncio.sleep(0)
    await registry.close()
    assert await asyncio.gather(*writes) == [f"/a{i}" for i in range(5)]
    reopened = await EmbeddedRegistry.open(tmp_path / "r.sqlite", ManualClock(), executor)
    assert len(await reopened.children("/")) == 5
    await reopened.close()
    executor.close()


async def test_a_second_owner_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    with pytest.raises(StartupError, match="in use by another process"):
        await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    await registry.close()
    again = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    await again.close()


@pytest.mark.parametrize("content", [b"this is no database, but long enough to be read as one" * 20, b""])
async def test_a_file_that_is_no_registry_is_refused_unless_it_is_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "registry.sqlite"
    path.write_bytes(content)
    if content:
        with pytest.raises(StartupError, match="cannot open the registry"):
            await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
        assert path.read_bytes() == content
    else:
        await (await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())).close()


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
@pytest.mark.parametrize("put", [lambda path: path.symlink_to("other"), os.mkfifo], ids=["link", "pipe"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, suffix: str, put: Callable[[Path], None]) -> None:
    path = tmp_path / "registry.sqlite"
    put(tmp_path / f"registry.sqlite{suffix}")
    with pytest.raises(StartupError, match=rf"registry\.sqlite{suffix} is no regular file"):
        asyncio.run(EmbeddedRegistry.open(path, ManualClock(), InlineExecutor()))
    assert not (tmp_path / "other").exists()


async def test_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    await (await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = 4 WHERE key = 'format'")
    connection.close()
    with pytest.raises(StartupError, match="format 4"):
        await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE znode SET data = 'text'",
        "UPDATE znode SET version = 'many'",
        "UPDATE znode SET acls = '[['",
        "UPDATE meta SET value = x'ff' WHERE key = 'zxid'",
        "DELETE FROM meta WHERE key = 'zxid'",
        "UPDATE znode SET path = x'ff' WHERE path = '/a'",
    ],
)
async def test_a_damaged_registry_is_told(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "registry.sqlite"
    registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    await registry.create("/a", b"data")
    await registry.close()
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(StartupError, match=f"{path} is damaged"):
        await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())


async def test_a_registry_whose_schema_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    await (await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())).close()
    path.write_bytes(path.read_bytes().replace(b"znode", b"zn\xbede"))
    with pytest.raises(StartupError, match=f"the registry {path}|cannot open the registry"):
        await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())


async def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_bytes(b"")
    with pytest.raises(StartupError, match="cannot open the registry"):
        await EmbeddedRegistry.open(blocker / "registry.sqlite", ManualClock(), InlineExecutor())


def copy_of(directory: Path) -> Path:
    """The files of a directory as they are now."""
    copy = directory / "copy"
    copy.mkdir()
    for file in directory.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    return copy


async def test_what_was_answered_survives_a_copy_of_the_files_as_they_are(tmp_path: Path) -> None:
    """A kill leaves the files as they are at that moment; a copy of them is such a moment."""
    path = tmp_path / "registry.sqlite"
    registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    await registry.create("/a", b"x")
    await registry.create("/e", ephemeral=True)
    killed = copy_of(tmp_path)
    await registry.close()
    again = await EmbeddedRegistry.open(killed / "registry.sqlite", ManualClock(), InlineExecutor())
    assert await again.get("/a") is not None
    assert await again.children("/") == ["a"]
    created = await again.create("/e", ephemeral=True)
    stat = await again.exists(created)
    assert stat is not None
    assert stat.czxid == 3
    await again.close()
    assert os.listdir(killed) == ["registry.sqlite"]


async def test_a_file_of_the_first_format_is_read_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE znode (path TEXT PRIMARY KEY, data BLOB, czxid INTEGER, mzxid INTEGER, pzxid INTEGER,
            ctime INTEGER, mtime INTEGER, version INTEGER, created_count INTEGER) WITHOUT ROWID;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
        INSERT INTO meta VALUES ('format', 1), ('zxid', 9);
        INSERT INTO znode VALUES ('/', NULL, 0, 0, 5, 0, 0, 0, 1), ('/a', x'01', 5, 6, 5, 70, 80, 1, 0);
        """
    )
    connection.close()
    for zxid in (10, 11):
        registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
        assert await registry.children("/") == ["a"]
        stat = await registry.set("/a", b"2")
        assert (stat.czxid, stat.mzxid, stat.ctime, stat.version, stat.aversion) == (5, zxid, 70, zxid - 8, 0)
        await registry.close()


async def test_permissions_are_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    mine = (Acl(31, "digest", "a:b"), Acl(1, "world", "anyone"))
    registry.perform([CreateOp("/a", b"", acls=mine), SetAclOp("/a", mine[:1])], None, lambda outcome: None)
    await registry.create("/b")
    await registry.close()
    journal, tree = Journal.open(path, keeps_sessions=True)
    journal.close()
    node, other = tree.get("/a"), tree.get("/b")
    assert node is not None
    assert other is not None
    assert (node.acls, node.aversion) == (mine[:1], 1)
    assert (other.acls, other.aversion) == ((), 0)


async def test_the_end_of_a_session_takes_its_nodes_those_too_that_are_not_committed_yet() -> None:
    registry = await memory_registry()
    events: list[WatchEvent] = []
    registry.observe(events.append)
    outcomes: list[Outcome] = []
    theirs, others = Author(1), Author(2)
    registry.perform([CreateOp("/a", is_ephemeral=True)], theirs, outcomes.append)
    registry.perform([CreateOp("/b", is_ephemeral=True)], others, outcomes.append)
    await turn()
    registry.perform([CreateOp("/c", is_ephemeral=True)], theirs, outcomes.append)
    registry.perform([EndSessionOp(1)], theirs, outcomes.append)
    await turn()
    assert [outcome.zxid for outcome in outcomes] == [1, 2, 3, 4]
    assert await registry.children("/") == ["b"]
    assert registry.tree.owners() == [2]
    assert [event.path for event in events if event.type is EventType.DELETED] == ["/a", "/c"]


async def test_each_author_is_answered_between_what_happened_before_and_after() -> None:
    registry = await memory_registry()
    told: list[object] = []
    registry.observe(lambda event: told.append(event.path) if event.type is EventType.CREATED else None)
    for path in ("/a", "/b"):
        registry.perform([CreateOp(path)], None, lambda outcome: told.append(outcome.zxid))
    await turn()
    assert told == ["/a", 1, "/b", 2]
