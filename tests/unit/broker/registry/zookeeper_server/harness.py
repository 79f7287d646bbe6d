"""A server of the registry for clients in memory, on a clock that a test moves."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.registry.embedded import CommitLog, EmbeddedRegistry
from barnabas.broker.registry.tree import Stage
from barnabas.broker.registry.zookeeper_server.server import ZooKeeperServer
from barnabas.broker.registry.zookeeper_server.state import ServerState
from barnabas.core.errors import StorageError
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from tests import zookeeper_client as zk
from tests.unit.broker.net.memory_channel import MemoryAcceptor, MemoryPeer


class Client:
    """A client in memory.

    Attributes:
        peer: What it says and hears.
        session_id, password, timeout_ms: As the server gave them.
    """

    def __init__(self, peer: MemoryPeer) -> None:
        self.peer = peer
        self._xid = 0
        self.session_id = self.timeout_ms = 0
        self.password = zk.NOBODY

    @classmethod
    async def connect(
        cls, world: "World", wish: tuple[int, bytes] = (0, zk.NOBODY), timeout_ms: int = 10_000
    ) -> "Client":
        """Begin a session, or go on with one."""
        client = cls(world.comes())
        client.say_frame(struct.pack(">iqiq", 0, 0, timeout_ms, wish[0]) + zk.buffer(wish[1]) + b"\0")
        await world.turn()
        (frame,) = client.frames()
        _, client.timeout_ms, client.session_id, _, client.password = struct.unpack_from(">iiqi16s", frame)
        return client

    def say_frame(self, frame: bytes) -> None:
        self.peer.say(zk.integer(len(frame)) + frame)

    def request(self, operation: int, body: bytes = b"") -> None:
        self._xid += 1
        self.say_frame(struct.pack(">ii", self._xid, operation) + body)

    def frames(self) -> list[bytes]:
        """What was heard since the last time."""
        heard, frames = bytes(self.peer.taken), []
        self.peer.taken.clear()
        while heard:
            (length,) = struct.unpack_from(">i", heard)
            frames.append(heard[4 : 4 + length])
            heard = heard[4 + length :]
        return frames

    def heard(self) -> list[tuple[int, int]]:
        """xid and error of what was heard; (-1, kind) for an event."""
        found = []
        for frame in self.frames():
            xid, _, error = struct.unpack_from(">iqi", frame)
            found.append((xid, struct.unpack_from(">i", frame, 16)[0] if xid == -1 else error))
        return found


class FullOnce:
    """A journal on a disk that is full at the first commit."""

    def __init__(self, journal: CommitLog) -> None:
        self._journal = journal
        self._is_full = True

    def commit(self, stage: Stage, own_session_id: int) -> None:
        if self._is_full:
            self._is_full = False
            raise StorageError("the disk is full")
        self._journal.commit(stage, own_session_id)

    def close(self) -> None:
        self._journal.close()


class World:
    """A registry, its server, and a clock."""

    def __init__(self, registry: EmbeddedRegistry, clock: ManualClock) -> None:
        loop = asyncio.get_running_loop()
        self.clock, self.registry = clock, registry
        self.acceptor = MemoryAcceptor(("127.0.0.1", 2181), ("127.0.0.1", 50_000))
        self.state = ServerState(registry, clock, clock, Random(1), self.acceptor.address[1])
        self.server = ZooKeeperServer(self.state, [self.acceptor])
        scheduler = Scheduler(loop.call_soon, clock.monotonic_ns)
        self.server.start(Reactor(ReceiveMemory(1 << 20), scheduler, clock.monotonic_ns))

    def comes(self) -> MemoryPeer:
        """Somebody who connects."""
        peer = MemoryPeer()
        self.acceptor.waiting.append(peer)
        self.acceptor.on_connection()
        return peer

    async def advance(self, by_ms: int) -> None:
        """Let time pass, and what is due then be done."""
        self.clock.advance(by_ms)
        await self.turn()

    def fail_next_commit(self) -> None:
        """Let the disk be full at the next commit."""
        journal = self.registry._journal
        assert journal is not None
        self.registry._journal = FullOnce(journal)

    async def turn(self) -> None:
        """Let what is ready run, commits too."""
        for _ in range(8):
            await asyncio.sleep(0)


def play(story: Callable[[World], Awaitable[None]], path: Path | None = None) -> None:
    """Run a story with a registry that is empty, or with one in a file."""

    async def run() -> None:
        clock = ManualClock()
        registry = await EmbeddedRegistry.open(path, clock, InlineExecutor())
        world = World(registry, clock)
        await story(world)
        world.server.close()
        await registry.close()

    asyncio.run(run())
